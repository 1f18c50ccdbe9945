/* The gated delta rule: what its two forms, token by token and in chunks, know of a unit of work. */
#ifndef CPU_DELTA_H
#define CPU_DELTA_H

#include "pool.h"

#define DELTA_BLOCK 32 /* columns of a unit: a multiple of this, or the last ones */

typedef struct delta_unit {
    int64_t s;      /* keys                                                  */
    int64_t head, qk_head, seq, column, columns;
} delta_unit;

/* Tokens after which the state is written. */
CPU_INLINE int64_t delta_snapshots(const cpu_task *task)
{
    return pool_snapshots(task->node->ip[ENG_GDN_SLOTS], task->in[7]);
}

/* Tokens begin .. end - 1 of the unit's sequence in chunks (delta_chunks.c). */
void CPU_V(cpu_delta_chunks)(const cpu_task *task, const delta_unit *u, int64_t begin, int64_t end, uint8_t *scratch);
size_t CPU_V(cpu_delta_chunks_scratch)(int64_t s);

#endif
