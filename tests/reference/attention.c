/* Attention over a cache of cells. */
#include "config.h"

#include "ref.h"

#include <math.h>
#include <stdlib.h>

enum { Q, K, V, POS, SEQ, CPOS, CSEQ, MASK, SINKS, TABLE, CLAST };

static double at1(const ref_tensor *t, int64_t i)
{
    return t->data[i * t->st[0]];
}

struct row {
    double *score, *noise; /* of every visible cell, and the score's magnitude */
    int64_t *cell, n;
};

/* The memory cell of position j, or of cell j without a table; -1: none. */
static int64_t cell_of(const ref_call *c, int64_t j, int64_t t)
{
    const ref_tensor *table = c->in[TABLE];
    int64_t block = c->ip[ENG_ATTN_BLOCK];

    if (!table)
        return j;
    int64_t seq = c->in[SEQ] ? ref_index(at1(c->in[SEQ], t), table->ne[1]) : 0;
    if (seq < 0 || j / block >= table->ne[0])
        return -1;
    double b = table->data[ref_at4(table, j / block, seq, 0, 0)];
    return b < 0 ? -1 : ref_index(b * (double)block + (double)(j % block), c->in[K]->ne[1]);
}

/* Where cell j stands in the cache that these cells are a part of. */
static double number_of(const ref_call *c, int64_t j)
{
    double number = (double)c->ip[ENG_ATTN_FIRST];

    if (c->ip[ENG_ATTN_PERIOD])
        for (; j >= c->ip[ENG_ATTN_RUN]; j -= c->ip[ENG_ATTN_RUN])
            number += (double)c->ip[ENG_ATTN_PERIOD];
    return number + (double)j;
}

/* Cell j, which lies at `cell`: by that the mask knows it. */
static bool visible(const ref_call *c, int64_t j, int64_t cell, int64_t t, double *cell_pos)
{
    int64_t param = c->ip[ENG_ATTN_KV_PARAM];
    double pos = at1(c->in[POS], t), number = number_of(c, j), mine = c->in[CPOS] ? at1(c->in[CPOS], j) : number;

    *cell_pos = mine;
    if (param >= 0 && c->params && number >= (double)c->params[param])
        return false;
    if (c->in[SEQ] && c->in[CSEQ]) {
        double seq = at1(c->in[SEQ], t), first = at1(c->in[CSEQ], j),
               last = c->in[CLAST] ? at1(c->in[CLAST], j) : first;
        if (seq < first || seq > last)
            return false;
    }
    if (c->ip[ENG_ATTN_CAUSAL] && mine > pos)
        return false;
    if (c->ip[ENG_ATTN_WINDOW] && pos - mine >= (double)c->ip[ENG_ATTN_WINDOW])
        return false;
    return !c->in[MASK] || c->in[MASK]->data[ref_at4(c->in[MASK], cell, t, 0, 0)] != -INFINITY;
}

static void score_row(const ref_call *c, struct row *r, int64_t t, int64_t h, int64_t kvh, int64_t cells)
{
    const ref_tensor *q = c->in[Q], *k = c->in[K];
    double scale = c->fp[ENG_ATTN_SCALE], cap = c->fp[ENG_ATTN_SOFTCAP], bias = c->fp[ENG_ATTN_MAX_BIAS];

    r->n = 0;
    for (int64_t j = 0; j < cells; j++) {
        double dot = 0, mag = 0, cpos, add = 0;
        int64_t cell = cell_of(c, j, t);
        if (cell < 0 || !visible(c, j, cell, t, &cpos))
            continue;
        for (int64_t i = 0; i < q->ne[0]; i++) {
            double p = q->data[ref_at4(q, i, h, t, 0)] * k->data[ref_at4(k, i, cell, kvh, 0)];
            dot += p;
            mag += fabs(p);
        }
        dot *= scale;
        mag *= fabs(scale);
        if (cap != 0) {
            dot = cap * tanh(dot / cap);
            mag += fabs(cap);
        }
        if (c->in[MASK])
            add = c->in[MASK]->data[ref_at4(c->in[MASK], cell, t, 0, 0)];
        else if (bias > 0)
            add = cpos - at1(c->in[POS], t);
        add *= ref_slope(bias, h, q->ne[1]);
        r->score[r->n] = dot + add;
        r->noise[r->n] = mag + fabs(add);
        r->cell[r->n++] = cell;
    }
}

/* A cell's weight, before it is divided by their sum; NaN is not hidden. */
static double weight_of(double score, double max)
{
    return score == -INFINITY ? 0 : exp(score - max);
}

/* The weighted sum of values; *lse: the logarithm of the denominator, and how large the terms were that made it. */
static void mix_row(const ref_call *c, const struct row *r, ref_tensor *o, int64_t t, int64_t h, int64_t kvh,
                    double *lse, double *lse_mag)
{
    const ref_tensor *v = c->in[V], *sinks = c->in[SINKS];
    double max = sinks ? at1(sinks, h) : -INFINITY, sum = 0, noise = 0;

    for (int64_t j = 0; j < r->n; j++)
        max = fmax(max, r->score[j]);
    for (int64_t j = 0; j < r->n; j++) {
        double p = weight_of(r->score[j], max);
        sum += p;
        noise += p * r->noise[j];
    }
    noise = sum > 0 ? noise / sum : 0;
    if (sinks)
        sum += weight_of(at1(sinks, h), max);
    *lse = isnan(sum) ? NAN : max == -INFINITY ? -INFINITY : max + log(sum);
    *lse_mag = max == -INFINITY ? 0 : 1 + fabs(max) + fabs(log(sum)) + noise;
    for (int64_t e = 0; e < v->ne[0]; e++) {
        double out = 0, mag = 0;
        for (int64_t j = 0; j < r->n; j++) {
            double p = weight_of(r->score[j], max) / sum * v->data[ref_at4(v, e, r->cell[j], kvh, 0)];
            if (r->score[j] == -INFINITY)
                continue;
            out += p;
            mag += fabs(p) * (1 + r->noise[j] + noise);
        }
        int64_t at = ref_at4(o, e, h, t, 0);
        o->data[at] = r->n && sum != 0 ? out : 0;
        o->mag[at] = r->n ? mag : 0;
    }
}

/* All tokens and heads, when memory is there. */
static void attend(ref_call *c, struct row *r, int64_t cells)
{
    ref_tensor *o = &c->out[0], *lse = c->n_out > 1 ? &c->out[1] : NULL;
    int64_t heads = o->ne[1], group = heads / c->in[K]->ne[2];

    for (int64_t t = 0; t < o->ne[2]; t++)
        for (int64_t h = 0; h < heads; h++) {
            bool padding = at1(c->in[POS], t) == -1;
            double sum, mag;
            r->n = 0; /* a token of padding sees nothing */
            if (!padding)
                score_row(c, r, t, h, h / group, cells);
            mix_row(c, r, o, t, h, h / group, &sum, &mag);
            if (lse) {
                lse->data[ref_at4(lse, h, t, 0, 0)] = sum;
                lse->mag[ref_at4(lse, h, t, 0, 0)] = mag;
            }
        }
}

int ref_op_attention(ref_call *c)
{
    const ref_tensor *q = c->in[Q], *k = c->in[K], *v = c->in[V];
    int64_t heads = q->ne[1], kvh = k->ne[2];
    int64_t cells = c->in[TABLE] ? c->in[TABLE]->ne[0] * c->ip[ENG_ATTN_BLOCK] : k->ne[1];
    int64_t ne[3] = {v->ne[0], heads, q->ne[2]};
    struct row r = {NULL, NULL, NULL, 0};
    int status = -1;

    if (!kvh || heads % kvh || v->ne[2] != kvh || v->ne[1] != k->ne[1])
        return -2;
    r.score = calloc((size_t)cells + 1, sizeof *r.score);
    r.noise = calloc((size_t)cells + 1, sizeof *r.noise);
    r.cell = calloc((size_t)cells + 1, sizeof *r.cell);
    if (r.score && r.noise && r.cell && ref_alloc(&c->out[0], ne, 3, true, false) &&
        (!c->ip[ENG_ATTN_LSE] || ref_alloc(&c->out[1], ne + 1, 2, true, false))) {
        c->n_out = c->ip[ENG_ATTN_LSE] ? 2 : 1;
        status = 0;
        attend(c, &r, cells);
    }
    free(r.score);
    free(r.noise);
    free(r.cell);
    return status;
}
