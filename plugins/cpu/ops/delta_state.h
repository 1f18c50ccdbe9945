/* A unit's state in strips of two vectors of columns, [strip][key][DELTA_WIDE], as the forms in chunks have it. */
#ifndef CPU_DELTA_STATE_H
#define CPU_DELTA_STATE_H

#include "delta.h"
#include "transpose.h"

#define DELTA_WIDE (2 * CPU_VL)

CPU_INLINE int64_t delta_strips(const delta_unit *u)
{
    return (u->columns + DELTA_WIDE - 1) / DELTA_WIDE;
}

/* Columns of a strip that there are. */
CPU_INLINE int64_t delta_columns(const delta_unit *u, int64_t strip)
{
    const int64_t left = u->columns - strip * DELTA_WIDE;
    return left < DELTA_WIDE ? left : DELTA_WIDE;
}

CPU_INLINE void delta_load(const cpu_task *task, const delta_unit *u, float *m, int64_t row)
{
    const cpu_tensor *state = task->in[5];
    const int64_t s = u->s, pitch = state->nb[1] / 4, strips = delta_strips(u);
    const bool there = pool_has(state, row);
    for (int64_t p = 0; p < strips; p++, m += s * DELTA_WIDE) {
        const int64_t columns = delta_columns(u, p);
        int64_t i = 0;
        if (!there || columns < DELTA_WIDE)
            memset(m, 0, (size_t)(s * DELTA_WIDE) * sizeof *m);
        if (!there)
            continue;
        const float *from = pool_column(state, u->column + p * DELTA_WIDE, u->head, row);
        for (; columns == DELTA_WIDE && i + CPU_VL <= s; i += CPU_VL)
            for (int half = 0; half < 2; half++)
                transpose_vl(from + half * CPU_VL * pitch + i, pitch, m + i * DELTA_WIDE + half * CPU_VL, DELTA_WIDE);
        for (; i < s; i++)
            for (int64_t c = 0; c < columns; c++)
                m[i * DELTA_WIDE + c] = from[c * pitch + i];
    }
}

CPU_INLINE void delta_save(const cpu_task *task, const delta_unit *u, const float *m, int64_t row)
{
    const cpu_tensor *state = task->in[5];
    const int64_t s = u->s, pitch = state->nb[1] / 4, strips = delta_strips(u);
    for (int64_t p = 0; p < strips && pool_has(state, row); p++, m += s * DELTA_WIDE) {
        const int64_t columns = delta_columns(u, p);
        int64_t i = 0;
        float *to = pool_column(state, u->column + p * DELTA_WIDE, u->head, row);
        for (; columns == DELTA_WIDE && i + CPU_VL <= s; i += CPU_VL)
            for (int half = 0; half < 2; half++)
                transpose_vl(m + i * DELTA_WIDE + half * CPU_VL, DELTA_WIDE, to + half * CPU_VL * pitch + i, pitch);
        for (; i < s; i++)
            for (int64_t c = 0; c < columns; c++)
                to[c * pitch + i] = m[i * DELTA_WIDE + c];
    }
}

/* The first chunk from token `first` on: `most` tokens at most, and it ends at each token whose state is wanted. */
CPU_INLINE int64_t delta_chunk(int64_t first, int64_t end, int64_t snapshots, int64_t most)
{
    const int64_t wanted = end - snapshots > first ? end - snapshots + 1 : first + 1;
    const int64_t n = (wanted < end ? wanted : end) - first;
    return n < most ? n : most;
}

#endif
