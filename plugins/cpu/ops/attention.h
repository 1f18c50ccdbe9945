/* What attention.c, attention_sight.c and attention_values.c share. */
#ifndef CPU_ATTENTION_H
#define CPU_ATTENTION_H

#include "product.h"

#define CPU_ATTN_CELLS 64 /* cells of a block: weights of a column lie beside one another */
#define CPU_ATTN_FEW 8    /* columns for which a row of V is better decoded again and again than once */

typedef struct attn_shape {
    int64_t d, e, heads, kv_heads, group, tokens, cells;
    int64_t chunk;   /* tokens of a chunk                                    */
    int64_t chunks;
    int64_t columns; /* chunk * group                                        */
    bool cut;        /* parts are shared out                                 */
    int64_t parts;   /* at most, for the whole cache                         */
} attn_shape;

/* n rows of V, e elements of a type each, `stride` bytes apart. */
typedef struct cpu_rows {
    const uint8_t *at;
    int64_t stride, n, e;
    uint32_t type;
    bool together; /* without gaps */
    const uint8_t *next; /* the rows to ask for, or NULL */
} cpu_rows;

typedef struct attn_work {
    const cpu_task *task;
    const cpu_run *run;
    attn_shape s;
    int64_t kv_head, t0, t1;  /* tokens of the chunk                         */
    int64_t columns;          /* (t1 - t0) * group                           */
    float scale, softcap;
    double max_bias;
    const cpu_attn_unit *unit;   /* what has blocks as a whole; NULL: nothing */
    cpu_attn_shape shape;        /* for it                                   */
    const cpu_products *product; /* of K and queries                         */
    uint8_t *gemm;               /* scratch of one or the other               */
    uint8_t *packed;          /* the chunk's queries                         */
    float *score;             /* [column][CPU_ATTN_CELLS]                    */
    bool by_turns;            /* K of a block and V of the one before (attention_turns.c)   */
    float *weights;           /* if so, those of the block before, and its rows of V; n: 0 if none wait */
    cpu_rows waiting;
    float *value;             /* [CPU_ATTN_CELLS][e]: V decoded, or for a unit K, too */
    float *bias;              /* [token][CPU_ATTN_CELLS]: added to scores; -inf: unseen */
    float *sum;               /* [column][e]                                 */
    float *max, *total, *slope;
    float *all_sum, *all_max, *all_total; /* of the parts before             */
    const uint8_t **q;
    float **score_at;
} attn_work;

/* What a block of cells is to the chunk's tokens. */
typedef enum block_sight { UNSEEN, PARTLY, FULLY } block_sight;

/* Cells j0 .. j0 + n - 1 of those here, which lie from cell0 on: fills w->bias. */
block_sight CPU_V(cpu_attn_look)(const attn_work *w, int64_t j0, int64_t cell0, int64_t n);

CPU_INLINE int64_t row_size(const cpu_tensor *t)
{
    return t->ne[0] / t->block * t->block_bytes;
}

CPU_INLINE int32_t int_at(const cpu_tensor *t, int64_t i)
{
    int32_t v;
    memcpy(&v, t->data + i * t->nb[0], 4);
    return v;
}

/* Are K and V read by turns (attention_turns.c)? */
bool CPU_V(cpu_attn_takes_turns)(const attn_work *w);
/* Raw products of rows of K to w->score, and the rows of V that wait, times w->weights, to w->sum; none of one of them, or of
 * both, if its n is 0. */
void CPU_V(cpu_attn_turns)(const attn_work *w, const cpu_rows *keys, const cpu_rows *values);

/* Are rows of that type taken as they are for so many columns, or decoded before? */
bool CPU_V(cpu_attn_takes)(uint32_t type, int64_t columns);
/* sum[c][0 .. e - 1] += over j < n of p[c][j] * row j, of a type that is taken. */
void CPU_V(cpu_attn_values)(const float *p, const cpu_rows *v, float *sum, int64_t columns);

#endif
