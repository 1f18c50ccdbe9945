/* The gated delta rule: what its two forms, token by token and in chunks, know of a unit of work. */
#ifndef CPU_DELTA_H
#define CPU_DELTA_H

#include "op.h"

#define DELTA_BLOCK 32 /* columns of a unit: a multiple of this, or the last ones */

typedef struct delta_unit {
    int64_t s;      /* keys                                                  */
    int64_t head, qk_head, seq, column, columns;
} delta_unit;

CPU_INLINE int32_t delta_index(const cpu_tensor *t, int64_t i, int64_t j)
{
    return (int32_t)index_at(t, t->data + i * t->nb[0] + j * t->nb[1]);
}

/* A column of the state in row `row` of the pool. */
CPU_INLINE float *delta_column(const cpu_tensor *state, const delta_unit *u, int64_t column, int64_t row)
{
    return (float *)(state->data + column * state->nb[1] + u->head * state->nb[2] + row * state->nb[3]);
}

CPU_INLINE bool delta_row(const cpu_tensor *state, int64_t row)
{
    return row >= 0 && row < state->ne[3];
}

/* Row of operand x that belongs to a head and a token. */
CPU_INLINE const float *delta_vector(const cpu_tensor *x, int64_t head, int64_t token)
{
    return (const float *)(x->data + head * x->nb[1] + token * x->nb[2]);
}

/* Tokens whose state is written: the last ones. */
CPU_INLINE int64_t delta_snapshots(const cpu_task *task)
{
    const int64_t slots = task->node->ip[ENG_GDN_SLOTS], there = task->in[7]->ne[0];
    return slots < there ? slots : there;
}

/* Tokens begin .. end - 1 of the unit's sequence in chunks (delta_chunks.c). */
void CPU_V(cpu_delta_chunks)(const cpu_task *task, const delta_unit *u, int64_t begin, int64_t end, uint8_t *scratch);
size_t CPU_V(cpu_delta_chunks_scratch)(int64_t s);

#endif
