/* Random programs: evaluated op by op by the oracle. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define UNIT 0x1p-24 /* half a unit in the last place of f32 */

/* -- values ---------------------------------------------------------------------- */

pg_oracle *pg_oracle_create(uint32_t lanes, uint64_t seed)
{
    pg_oracle *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->state = seed;
    for (; o->n_lanes < lanes; o->n_lanes++)
        if (!(o->lanes[o->n_lanes] = calloc(1, sizeof(pg_lane)))) {
            pg_oracle_free(o);
            return NULL;
        }
    return o;
}

static void drop(pg_value *v)
{
    if (v->owned)
        ref_free(&v->t);
    memset(v, 0, sizeof *v);
}

void pg_oracle_free(pg_oracle *o)
{
    for (uint32_t l = 0; o && l < o->n_lanes; l++) {
        for (int i = 0; i < PG_MAX_TENSORS; i++)
            drop(&o->lanes[l]->tensors[i]);
        for (int i = 0; i < 2 * PG_MAX_OPS; i++)
            drop(&o->lanes[l]->values[i / PG_MAX_OPS][i % PG_MAX_OPS]);
        free(o->lanes[l]);
    }
    free(o);
}

void pg_oracle_next_run(pg_oracle *o, const pg_program *p)
{
    for (uint32_t l = 0; l < o->n_lanes; l++)
        for (uint32_t k = 0; k < p->n_ops; k++)
            for (int r = 0; r < 2; r++)
                drop(&o->lanes[l]->values[r][k]);
}

pg_value *pg_oracle_value(pg_oracle *o, uint32_t lane, int ref)
{
    pg_lane *n = o->lanes[lane];
    return ref < 0              ? &n->tensors[-2 - ref]
           : ref >= PG_SECOND ? &n->values[1][ref - PG_SECOND]
                              : &n->values[0][ref];
}

static bool out_of_memory(pg_oracle *o)
{
    snprintf(o->error, sizeof o->error, "the oracle is out of memory");
    return false;
}

bool pg_oracle_add(pg_oracle *o, const pg_program *p, uint32_t tensor)
{
    const pg_tensor *t = &p->tensors[tensor];
    bool weight = (t->use & ENG_USE_MASK) == ENG_USE_WEIGHT;
    void *bytes = calloc(1, pg_bytes(t) + 16);

    if (!bytes)
        return out_of_memory(o);
    pg_fill(t, bytes);
    for (uint32_t l = 0; l < o->n_lanes; l++) {
        pg_value *v = &o->lanes[l]->tensors[tensor];
        if (!ref_alloc(&v->t, t->ne, ENG_MAX_RANK, !weight, !weight)) {
            free(bytes);
            return out_of_memory(o);
        }
        v->type = t->type;
        v->root = (int)tensor;
        v->owned = true;
        ref_decode(t->type, bytes, v->t.data, (int64_t)pg_count(t));
    }
    free(bytes);
    return true;
}

bool pg_oracle_flatten(pg_oracle *o, int ref, double **x)
{
    memset(x, 0, PG_MAX_LANES * sizeof *x);
    for (uint32_t l = 0; l < o->n_lanes; l++) {
        const ref_tensor *t = &pg_oracle_value(o, l, ref)->t;
        int64_t i[ENG_MAX_RANK] = {0}, n = 0;
        x[l] = calloc((size_t)ref_count(t) + 1, sizeof **x);
        if (!x[l]) {
            while (l--)
                free(x[l]);
            return out_of_memory(o);
        }
        if (ref_count(t))
            do
                x[l][n++] = t->data[ref_at(t, i)];
            while (ref_next(t->ne, i));
    }
    return true;
}

/* Short rows are taken together: a few lanes say little about one element.  f32 has a
 * smallest value, and devices may flush those near it. */
double pg_tolerance(double *const *x, uint32_t n_lanes, int64_t n, int64_t row, int64_t at)
{
    int64_t length = row < 1 ? 1 : row;
    while (length < 32 && length < n)
        length *= 2;
    int64_t begin = at / length * length, end = begin + length < n ? begin + length : n;
    double spread = 0, most = 0;
    for (int64_t i = begin; i < end; i++) {
        if (isfinite(x[0][i]))
            most = fmax(most, fabs(x[0][i]));
        for (uint32_t l = 1; l < n_lanes; l++)
            spread = fmax(spread, fabs(x[l][i] - x[0][i]));
    }
    return PG_SLACK * spread + 1e-6 * most + 1e-36;
}

/* -- one op ------------------------------------------------------------------------ */

static bool is_view(uint32_t op)
{
    return (eng_op_get(op)->flags & ENG_OPF_VIEW) != 0;
}

static int written_operand(uint32_t op)
{
    const eng_op_info *info = eng_op_get(op);

    for (int i = 0; i < info->n_in; i++)
        if (info->in[i].inout)
            return i;
    return -1;
}

/* Roundings of f32 in an op that does no more than move what it is given: none. */
static double roundings(uint32_t op, uint32_t from)
{
    bool plain = ref_block(from) == 1;
    switch (op) {
    case ENG_OP_CONCAT:
    case ENG_OP_REPEAT:
    case ENG_OP_PAD:
    case ENG_OP_CPY:
    case ENG_OP_STORE:
    case ENG_OP_SET_ROWS:
    case ENG_OP_DEQUANTIZE:
    case ENG_OP_GET_ROWS: return plain ? 0 : 1;
    case ENG_OP_UNARY:
    case ENG_OP_GLU:
    case ENG_OP_ROPE:
    case ENG_OP_ATTENTION:
    case ENG_OP_GATED_DELTA_NET: return 8;
    default: return 4;
    }
}

static void move(pg_oracle *o, double units, uint32_t lane, double *x, const double *mag, int64_t n,
                 const unsigned char *touched)
{
    for (int64_t i = 0; units > 0 && mag && i < n; i++)
        if ((!touched || touched[i]) && isfinite(x[i]) && isfinite(mag[i]))
            x[i] += (pg_random(&o->state) & (1u << (lane + 8)) ? units : -units) * UNIT * mag[i];
}

/* A view shares the memory of what it is of. */
static bool view(pg_oracle *o, const pg_op *op, uint32_t lane, uint32_t k)
{
    pg_value *x = pg_oracle_value(o, lane, op->in[0]), *y = pg_oracle_value(o, lane, (int)k);

    *y = *x;
    y->owned = false;
    if (op->op == ENG_OP_PERMUTE) {
        y->t = ref_permute(&x->t, op->ip);
    } else if (op->op == ENG_OP_SLICE) {
        y->t = ref_slice(&x->t, (int)op->ip[ENG_SLICE_DIM], op->ip[ENG_SLICE_BEGIN], op->ip[ENG_SLICE_LENGTH]);
    } else {
        int64_t st = 1; /* of contiguous values */
        for (int d = 0; d < ENG_MAX_RANK; d++) {
            if (x->t.ne[d] != 1 && x->t.st[d] != st) {
                snprintf(o->error, sizeof o->error, "the oracle takes reshapes and layouts of contiguous values only");
                return false;
            }
            st *= x->t.ne[d];
        }
        y->t = op->op == ENG_OP_VIEW ? ref_layout(&x->t, x->type, op->ip) : ref_reshape(&x->t, op->ip, ENG_MAX_RANK);
    }
    return true;
}

static bool evaluate(pg_oracle *o, const pg_program *p, uint32_t k, uint32_t lane)
{
    const pg_op *op = &p->ops[k];
    ref_call call = {.op = op->op, .out_type = op->out_type[0], .params = &p->cells};

    for (uint32_t i = 0; i < op->n_in; i++)
        call.in[i] = op->in[i] == -1 ? NULL : &pg_oracle_value(o, lane, op->in[i])->t;
    memcpy(call.ip, op->ip, sizeof call.ip);
    memcpy(call.fp, op->fp, sizeof call.fp);
    int status = ref_eval(&call);
    for (uint32_t r = 0; r < 2; r++) {
        pg_value *y = &o->lanes[lane]->values[r][k];
        if (r < call.n_out)
            *y = (pg_value){.t = call.out[r], .type = op->out_type[r], .root = -1, .owned = true};
        if (status == 0 && op->out_type[r] != ENG_TYPE_LIMIT &&
            (r >= call.n_out || memcmp(y->t.ne, op->out_ne[r], sizeof y->t.ne) != 0))
            status = -2;
    }
    if (status != 0)
        snprintf(o->error, sizeof o->error, "the oracle does not take op %" PRIu32 " (%s)", k,
                 eng_op_get(op->op)->name);
    return status == 0;
}

static bool is_integer(uint32_t type)
{
    return type == ENG_TYPE_I32 || type == ENG_TYPE_I64;
}

/* What was computed in double becomes a value of the result's type. */
static bool settle(pg_oracle *o, const pg_op *op, int ref, uint32_t from, const unsigned char *touched,
                   const double *got)
{
    double *x[PG_MAX_LANES] = {NULL};
    const pg_value *v = pg_oracle_value(o, 0, ref);
    int64_t n = ref_count(&v->t);

    for (uint32_t l = 0; l < o->n_lanes; l++)
        x[l] = pg_oracle_value(o, l, ref)->t.data;
    if (v->type != ENG_TYPE_F32 && v->type != from && !(is_integer(v->type) && is_integer(from))) {
        if (op->tap >= 0 || v->type != ENG_TYPE_F16)
            return pg_convert(o, v->type, x, n, v->t.ne[0], touched, got);
        for (uint32_t l = 1; l < o->n_lanes; l++) /* f16: either of two neighbours */
            move(o, 0x1p13, l, x[l], x[0], n, touched);
        return true;
    }
    for (uint32_t l = 1; l < o->n_lanes && v->type == ENG_TYPE_F32; l++)
        move(o, roundings(op->op, from), l, x[l], pg_oracle_value(o, l, ref)->t.mag, n, touched);
    return true;
}

static bool choose(pg_oracle *o, const pg_op *op, uint32_t k, const double *got)
{
    const ref_tensor *y = &pg_oracle_value(o, 0, (int)k)->t, *in = &pg_oracle_value(o, 0, op->in[0])->t;
    int64_t n = ref_count(y), rows = in->ne[0] ? ref_count(in) / in->ne[0] : 0;
    double *x[PG_MAX_LANES];

    if (got) {
        if (!pg_oracle_flatten(o, op->in[0], x))
            return false;
        bool fits = pg_choice_fits(o, op, x, in->ne[0], rows, got, rows ? n / rows : 0);
        for (uint32_t l = 0; l < o->n_lanes; l++)
            free(x[l]);
        if (!fits)
            return false;
    }
    for (uint32_t l = 0; l < o->n_lanes; l++)
        memcpy(pg_oracle_value(o, l, (int)k)->t.data, got ? got : y->data, (size_t)n * sizeof(double));
    return true;
}

static bool settle_all(pg_oracle *o, const pg_program *p, uint32_t k, const double *got)
{
    const pg_op *op = &p->ops[k];
    int written = written_operand(op->op);
    uint32_t from = pg_oracle_value(o, 0, op->in[op->op == ENG_OP_STORE || op->op == ENG_OP_SET_ROWS])->type;

    if (eng_op_get(op->op)->flags & ENG_OPF_DISCRETE)
        return choose(o, op, k, got);
    for (int r = 0; r < 2; r++)
        if (op->out_type[r] != ENG_TYPE_LIMIT &&
            !settle(o, op, r ? PG_SECOND + (int)k : (int)k, from, NULL, written < 0 ? got : NULL))
            return false;
    if (written < 0)
        return true;
    int root = pg_oracle_value(o, 0, op->in[written])->root;
    bool good = settle(o, op, -2 - root, from, o->lanes[0]->tensors[root].t.touched, got);
    for (uint32_t l = 0; l < o->n_lanes; l++) {
        ref_tensor *t = &o->lanes[l]->tensors[root].t;
        memset(t->touched, 0, (size_t)ref_count(t));
    }
    return good;
}

bool pg_oracle_step(pg_oracle *o, const pg_program *p, uint32_t k, double *const *device)
{
    const pg_op *op = &p->ops[k];

    if (op->op == ENG_OP_NONE)
        return true;
    for (uint32_t l = 0; l < o->n_lanes; l++)
        if (!(is_view(op->op) ? view(o, op, l, k) : evaluate(o, p, k, l)))
            return false;
    if (is_view(op->op))
        return true;
    if (settle_all(o, p, k, device && op->tap >= 0 ? device[op->tap] : NULL))
        return true;
    size_t at = strlen(o->error);
    snprintf(o->error + at, sizeof o->error - at, " (%s, op %" PRIu32 ")", eng_op_get(op->op)->name, k);
    return false;
}
