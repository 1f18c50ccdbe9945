/* Which cells a token sees: by position, sequence, window and mask.  Compiled once per variant. */
#include "attention.h"

#define CELLS CPU_ATTN_CELLS

static float mask_at(const cpu_tensor *mask, int64_t cell, int64_t token)
{
    const uint8_t *p = mask->data + cell * mask->nb[0] + token * mask->nb[1];
    return mask->type == ENG_TYPE_F16 ? f16_load(p) : tail_f32(p);
}

/* The number in the whole cache of cell j of those here. */
CPU_INLINE int64_t cell_number(const int64_t *ip, int64_t j)
{
    int64_t run = ip[ENG_ATTN_RUN];
    return ip[ENG_ATTN_FIRST] + (ip[ENG_ATTN_PERIOD] ? j / run * ip[ENG_ATTN_PERIOD] + j % run : j);
}

/* Cell j of those here, which lies at `cell`, seen from one token: what is added to its score (before
 * the head's slope), or -inf. */
CPU_INLINE float cell_bias(const attn_work *w, int64_t j, int64_t cell, int64_t token, int64_t position)
{
    const cpu_tensor *seq = w->task->in[4], *cpos = w->task->in[5], *cseq = w->task->in[6], *mask = w->task->in[7];
    const cpu_tensor *clast = w->task->in[ENG_ATTN_IN_CLAST];
    const int64_t *ip = w->task->node->ip;
    int64_t at = cpos ? int_at(cpos, j) : cell_number(ip, j);
    if (seq && cseq && (int_at(cseq, j) > int_at(seq, token) || int_at(clast ? clast : cseq, j) < int_at(seq, token)))
        return -INFINITY;
    if (ip[ENG_ATTN_CAUSAL] && at > position)
        return -INFINITY;
    if (ip[ENG_ATTN_WINDOW] > 0 && position - at >= ip[ENG_ATTN_WINDOW])
        return -INFINITY;
    if (mask)
        return mask_at(mask, cell, token);
    return w->max_bias > 0 ? (float)(at - position) : 0;
}

static bool plain_ints(const cpu_tensor *t)
{
    return !t || t->nb[0] == 4;
}

/* The same as cell_bias for whole vectors of cells: counts the cells seen. */
static int64_t row_bias(const attn_work *w, int64_t j0, int64_t cell0, int64_t n, int64_t token, int32_t position,
                        float *bias)
{
    const cpu_tensor *seq = w->task->in[4], *cpos = w->task->in[5], *cseq = w->task->in[6], *mask = w->task->in[7];
    const int64_t *ip = w->task->node->ip;
    int64_t window = ip[ENG_ATTN_WINDOW] > 0 && ip[ENG_ATTN_WINDOW] < INT32_MAX ? ip[ENG_ATTN_WINDOW] : 0;
    /* at <= last and at > first, without overflow where positions are sane */
    vi last = v_seti(ip[ENG_ATTN_CAUSAL] ? position : INT32_MAX);
    vi first = v_seti(window ? (int32_t)(position - window) : INT32_MIN), seen = {0};
    vi mine = v_seti(seq && cseq ? int_at(seq, token) : 0);
    int64_t begin = ip[ENG_ATTN_FIRST] + j0; /* position of the first cell, without cpos */
    int32_t numbers[CELLS];                  /* positions without cpos, in runs */
    const uint8_t *at_row = cpos ? cpos->data + j0 * 4 : ip[ENG_ATTN_PERIOD] ? (const uint8_t *)numbers : NULL;
    const cpu_tensor *clast = w->task->in[ENG_ATTN_IN_CLAST];
    const uint8_t *seq_row = seq && cseq ? cseq->data + j0 * 4 : NULL,
                  *last_row = clast ? clast->data + j0 * 4 : seq_row;
    const uint8_t *mask_row = mask ? mask->data + cell0 * mask->nb[0] + token * mask->nb[1] : NULL;
    for (int64_t j = 0; at_row == (const uint8_t *)numbers && j < n; j++)
        numbers[j] = (int32_t)cell_number(ip, j0 + j);
    for (int64_t j = 0; j < n; j += CPU_VL) {
        vi at = at_row ? v_loadi(at_row + 4 * j) : v_ramp() + (int32_t)(begin + j),
           visible = (at <= last) & (first < at);
        if (!window)
            visible = at <= last;
        if (seq_row)
            visible &= (v_loadi(seq_row + 4 * j) <= mine) & (mine <= v_loadi(last_row + 4 * j));
        vf add = {0};
        if (mask_row)
            add = mask->type == ENG_TYPE_F16 ? v_f16(mask_row + 2 * j) : v_load((const float *)mask_row + j);
        else if (w->max_bias > 0)
            add = v_cvt(at - position);
        visible &= add != v_set1(-INFINITY);
        v_store(bias + j, v_select(visible, add, v_set1(-INFINITY)));
        seen -= visible;
    }
    int64_t total = 0;
    for (int i = 0; i < CPU_VL; i++)
        total += seen[i];
    return total;
}

block_sight CPU_V(cpu_attn_look)(const attn_work *w, int64_t j0, int64_t cell0, int64_t n)
{
    const cpu_tensor *cpos = w->task->in[5], *cseq = w->task->in[6], *mask = w->task->in[7];
    bool vectors = n % CPU_VL == 0 && cell_number(w->task->node->ip, j0 + n) < INT32_MAX && plain_ints(cpos) &&
                   plain_ints(cseq) && plain_ints(w->task->in[ENG_ATTN_IN_CLAST]) &&
                   (!mask || mask->nb[0] == mask->block_bytes);
    int64_t seen = 0, all = (w->t1 - w->t0) * n;
    for (int64_t t = w->t0; t < w->t1; t++) {
        int32_t position = int_at(w->task->in[3], t);
        float *bias = w->bias + (t - w->t0) * CELLS;
        if (position >= 0 && vectors) {
            seen += row_bias(w, j0, cell0, n, t, position, bias);
            continue;
        }
        for (int64_t j = 0; j < n; j++) {
            bias[j] = position < 0 ? -INFINITY : cell_bias(w, j0 + j, cell0 + j, t, position);
            seen += bias[j] != -INFINITY;
        }
    }
    return seen == 0 ? UNSEEN : seen == all ? FULLY : PARTLY;
}
