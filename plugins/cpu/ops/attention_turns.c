/*
 * A block's products of K with few columns, and the weighted sums of the block's V before it, by turns: a page of the one and
 * one of the other, while as much as that is asked for of what comes next.  What looks ahead in the hardware follows
 * ascending lines within a page, and a core alone has too few places for lines on their way to read as fast as memory
 * gives (docs/performance-cpu-rows.md).  The sums are those of gemm_short.c and attention_values.c, in their order.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "short_tile.h"
#include "values_tile.h"

#define PAGE 4096

bool CPU_V(cpu_attn_takes_turns)(const attn_work *w)
{
    const cpu_tensor *k = w->task->in[1], *v = w->task->in[2];
    return !w->unit && k->block == 1 && CPU_V(cpu_attn_takes)(k->type, w->s.columns) && v->type == k->type && w->s.d == w->s.e &&
           w->s.d > 0 && w->s.d % (4 * CPU_VL) == 0 && w->s.d <= CPU_GEMM_SHORT && w->s.columns <= CPU_ATTN_FEW &&
           w->product->pack == CPU_V(cpu_gemm_pack);
}

/* Sums of four rows and so many columns; or of two rows and four columns. */
CPU_INLINE void leave_scores(vf (*acc)[MOST], const int rows, const int cols, float *score)
{
    if (rows == 2) {
        CPU_UNROLL
        for (int i = 0; i < 2; i++) {
            const four total = sums_of(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
            CPU_UNROLL
            for (int c = 0; c < 4; c++)
                score[c * CELLS + i] = total[c];
        }
        return;
    }
    vf sums[16];
    float total[4][4];
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        sums[i] = i / 4 < cols ? acc[i % 4][i / 4] : (vf){0};
    v_sum4_four_times(sums, total);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        memcpy(score + c * CELLS, total[c], sizeof total[c]);
}

/* Raw products of rows j .. end - 1 with `cols` columns of w->columns from the c-th on. */
CPU_INLINE void keys_of(const attn_work *w, const cpu_rows *keys, int64_t j, int64_t end, int64_t c, const int cols,
                        const source from, int64_t length, const int step, later_rows *later)
{
    const int rows = CPU_REGISTERS < 32 && cols == 4 ? 2 : 4;
    const float *x = (const float *)w->packed + c * length;
    for (; j < end; j += rows) {
        vf acc[8][MOST];
        const uint8_t *row[4];
        CPU_UNROLL
        for (int i = 0; i < rows; i++) /* the last one again for those that are not there: CELLS are whole tiles */
            row[i] = keys->at + (j + i < keys->n ? j + i : keys->n - 1) * keys->stride;
        add_products(row, x, length, w->columns, rows, cols, acc, from, step, later, true);
        leave_scores(acc, rows, cols, w->score + c * CELLS + j);
    }
}

CPU_INLINE void some_keys(const attn_work *w, const cpu_rows *keys, int64_t j, int64_t piece, later_rows later,
                          const source from, int64_t length, const int step)
{
    const int64_t end = keys->n - j < piece ? keys->n : j + piece;
    for (int64_t c = 0; c < w->columns; c += 4, later.row = NULL)
        switch (w->columns - c) {
        case 1: keys_of(w, keys, j, end, c, 1, from, length, step, &later); break;
        case 2: keys_of(w, keys, j, end, c, 2, from, length, step, &later); break;
        case 3: keys_of(w, keys, j, end, c, 3, from, length, step, &later); break;
        default: keys_of(w, keys, j, end, c, 4, from, length, step, &later); break;
        }
}

CPU_INLINE void some_values(const attn_work *w, const cpu_rows *values, int64_t j, int64_t piece, later_rows later,
                            const row_kind kind)
{
    cpu_rows v = *values;
    v.at += j * v.stride;
    v.n = v.n - j < piece ? v.n - j : piece;
    columns_by_four(w->weights + j, v, w->sum, w->columns, kind, later, true);
}

/* The rows from the j-th on, to be asked for. */
CPU_INLINE later_rows rows_from(const cpu_rows *r, int64_t j, int64_t bytes)
{
    return later_rows_from(r->at + j * r->stride, r->stride, bytes);
}

/* `length` of a chain, and vectors of it that are taken without looking for the end. */
CPU_INLINE void turns(const attn_work *w, const cpu_rows *keys, const cpu_rows *values, const source from, int64_t length,
                      const int step)
{
    const row_kind kind = {(uint32_t)from, from == ROWS_F32 ? 4 * BLOCK : 2 * BLOCK, NULL};
    const int64_t bytes = w->s.d * kind.bytes / BLOCK, rows = PAGE / bytes / 4 * 4,
                  piece = rows > CELLS ? CELLS : rows > 4 ? rows : 4;
    for (int64_t j = 0; j < keys->n || j < values->n; j += piece) {
        if (j < keys->n)
            some_keys(w, keys, j, piece, values->n > j ? rows_from(values, j, bytes) : rows_from(keys, j + piece, bytes),
                      from, length, step);
        if (j < values->n)
            some_values(w, values, j, piece, rows_from(keys->n > 0 ? keys : values, j + piece, bytes), kind);
    }
}

#define TURNS_OF(source)                                                                                               \
    static void turns_##source(const attn_work *w, const cpu_rows *keys, const cpu_rows *values)                       \
    {                                                                                                                  \
        const int64_t length = w->s.d / 4;                                                                             \
        if (length == COMMON)                                                                                          \
            turns(w, keys, values, source, COMMON, COMMON / CPU_VL);                                                   \
        else if (length % (2 * CPU_VL))                                                                                \
            turns(w, keys, values, source, length, 1);                                                                 \
        else                                                                                                           \
            turns(w, keys, values, source, length, 2);                                                                 \
    }
TURNS_OF(ROWS_F32)
TURNS_OF(ROWS_F16)
TURNS_OF(ROWS_BF16)

void CPU_V(cpu_attn_turns)(const attn_work *w, const cpu_rows *keys, const cpu_rows *values)
{
    switch (w->task->in[1]->type) {
    case ENG_TYPE_F16: turns_ROWS_F16(w, keys, values); break;
    case ENG_TYPE_BF16: turns_ROWS_BF16(w, keys, values); break;
    default: turns_ROWS_F32(w, keys, values); break;
    }
}
