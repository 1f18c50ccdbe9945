/*
 * Random graphs on tensors that hold anything: not numbers, infinities, the largest and the
 * least numbers, blocks of random bytes.
 *
 *     test-hostile [--graphs N] [--nodes N] [--seed S] [DEVICE]...
 *
 * Each graph runs twice.  Once every op's result is kept, and the oracle computes it from the
 * device's own operands: where it is finite the device is near, where it is not the device's
 * is not finite either, and what is not finite in an operand stays in the results that are made
 * of it.  Once as it is, with what devices make one of several ops: what is finite and what is not is
 * the same.
 *
 * Beside the operands as they are (lane 0) the oracle is given them with NaN for what is not finite (lane 1),
 * and for what is so large that f32 does not hold its square (lane 2): results that are NaN there
 * are made of it, and the device may have what it likes.  Nothing is said of floats as integers that do
 * not hold them, and of what encoders make of them (test conformance does).
 */
#include "config.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#include "../tap.h"

#define HUGE_ENOUGH 1e17
enum { EXACT, NO_INFINITE, NO_HUGE, LANES };

typedef struct run {
    eng_context *context;
    const char *device;
    pg_program *p;
    pg_results kept, fused;
    uint32_t n_tensors, n_ops;           /* before results were kept                     */
    int tensor_of[2][PG_MAX_OPS];        /* where they are: tensor, or -1                */
    bool vague[PG_MAX_TENSORS];          /* written to in a way that may be an error off */
    uint64_t judged, special;
    char text[400];
} run;

/* -- the program, kept ----------------------------------------------------------------- */

static bool poison(pg_program *p)
{
    for (uint32_t i = 0; i < p->n_tensors; i++) {
        p->tensors[i].hostile = true;
        p->tensors[i].forced = 0;
        p->tensors[i].place.kind = ENG_PLACE_AUTO;
    }
    for (uint32_t k = 0; k < p->n_ops; k++)
        p->ops[k].place.kind = ENG_PLACE_AUTO;
    p->runs = 1;
    return !p->searches;
}

/* Any op of the program that stores, to make others like it. */
static const pg_op *some_store(const pg_program *p)
{
    for (uint32_t k = 0; k < p->n_ops; k++)
        if (p->ops[k].op == ENG_OP_STORE && p->ops[k].in[0] <= -2 &&
            p->tensors[-2 - p->ops[k].in[0]].use == ENG_USE_OUTPUT)
            return &p->ops[k];
    return NULL;
}

static void keep(run *r, uint32_t k, int which, const pg_op *store)
{
    pg_program *p = r->p;
    const pg_op *o = &p->ops[k];
    pg_tensor *t = &p->tensors[p->n_tensors];

    if (o->out_type[which] == ENG_TYPE_LIMIT || p->n_tensors >= PG_MAX_TENSORS || p->n_ops >= PG_MAX_OPS)
        return;
    *t = (pg_tensor){.type = o->out_type[which], .rank = ENG_MAX_RANK, .use = ENG_USE_OUTPUT, .seed = 2};
    memcpy(t->ne, o->out_ne[which], sizeof t->ne);
    snprintf(t->name, sizeof t->name, "r%u", (unsigned)k);
    p->ops[p->n_ops] = *store;
    p->ops[p->n_ops].in[0] = -2 - (int)p->n_tensors;
    p->ops[p->n_ops].in[1] = which ? PG_SECOND + (int)k : (int)k;
    p->ops[p->n_ops++].tap = -1;
    r->tensor_of[which][k] = (int)p->n_tensors++;
}

static bool writes(const pg_op *o)
{
    for (uint32_t i = 0; i < o->n_in; i++)
        if (eng_op_get(o->op)->in[i].inout)
            return true;
    return false;
}

static void keep_all(run *r)
{
    const pg_op *store = some_store(r->p);
    uint32_t n = r->p->n_ops;

    r->n_tensors = r->p->n_tensors;
    r->n_ops = n;
    memset(r->tensor_of, 0xff, sizeof r->tensor_of);
    for (uint32_t k = 0; k < n && store; k++) {
        const pg_op *o = &r->p->ops[k];
        if (o->op == ENG_OP_NONE || o->op == ENG_OP_STORE || (eng_op_get(o->op)->flags & ENG_OPF_VIEW))
            continue;
        if (!writes(o) || o->op == ENG_OP_GATED_DELTA_NET || o->op == ENG_OP_SSM_CONV ||
            o->op == ENG_OP_SSM_SCAN)
            for (int which = 0; which < 2; which++)
                keep(r, k, which, store);
    }
}

/* -- one op ---------------------------------------------------------------------------- */

/* Does the op add up products or squares of what it is given? */
static bool sums(uint32_t op)
{
    switch (op) {
    case ENG_OP_ADD: case ENG_OP_SUB: case ENG_OP_MUL: case ENG_OP_DIV: case ENG_OP_SCALE: case ENG_OP_CLAMP:
    case ENG_OP_UNARY: case ENG_OP_CONCAT: case ENG_OP_REPEAT: case ENG_OP_PAD: case ENG_OP_GET_ROWS:
    case ENG_OP_CPY: case ENG_OP_DEQUANTIZE: case ENG_OP_ARGMAX: case ENG_OP_TOP_K: case ENG_OP_ARGSORT:
    case ENG_OP_ADD_ID: return false;
    default: return true;
    }
}

static double biggest(const ref_tensor *t)
{
    double most = 0;
    int64_t i[ENG_MAX_RANK] = {0};

    if (ref_count(t))
        do {
            double x = fabs(t->data[ref_at(t, i)]);
            most = isfinite(x) && x < HUGE_ENOUGH ? fmax(most, x) : most;
        } while (ref_next(t->ne, i));
    return most;
}

/* Beside a result's own magnitude: the opencl plugin takes codes as they are and what they are too large by from the
 * sums, so that of blocks a weight of zero is as good as the largest.  And a gate is zero where e^-x is no number of f32,
 * at up to 2^-121, before it meets the other operand, which may be of any size. */
static double offset_of(pg_oracle *o, const pg_op *op)
{
    if (op->op == ENG_OP_GLU)
        return biggest(&pg_oracle_value(o, EXACT, op->in[op->in[1] == -1 ? 0 : 1])->t) * 0x1p-109; /* fits(): 2^-12 of it */
    if (op->op != ENG_OP_MUL_MAT && op->op != ENG_OP_MUL_MAT_ID)
        return 0;
    const pg_value *a = pg_oracle_value(o, EXACT, op->in[0]), *b = pg_oracle_value(o, EXACT, op->in[1]);
    return ref_block(a->type) > 1 ? biggest(&a->t) * biggest(&b->t) : 0;
}

/* A divisor of frequencies with which f32 does not hold the angle? */
static bool tiny(const ref_tensor *t)
{
    for (int64_t i = 0; i < t->ne[0]; i++)
        if (t->data[i * t->st[0]] != 0 && fabs(t->data[i * t->st[0]]) < 1e-30)
            return true;
    return false;
}

/* Operands of which nothing is said. */
static bool unknown(const run *r, pg_oracle *o, const pg_op *op)
{
    for (uint32_t i = 0; i < op->n_in; i++) {
        const pg_value *v = op->in[i] == -1 ? NULL : pg_oracle_value(o, 0, op->in[i]);
        if (v && v->root >= 0 && r->vague[v->root])
            return true;
        if (v && op->op == ENG_OP_ROPE && i == 2 && tiny(&v->t))
            return true;
    }
    return false;
}

static double seen_in(int lane, double x)
{
    return lane == EXACT || (isfinite(x) && (lane == NO_INFINITE || fabs(x) < HUGE_ENOUGH)) ? x : NAN;
}

/* The device's number got for want, whose parts add up to mag. */
static bool fits(const pg_op *op, uint32_t type, double want, double mag, double got)
{
    bool f16 = type == ENG_TYPE_F16;

    if (type == ENG_TYPE_I32 || type == ENG_TYPE_I64)
        return got == want;
    if (!isfinite(want))
        return !isfinite(got);
    double m = isfinite(mag) ? fmax(mag, fabs(want)) : fabs(want);
    double allowed = m * (op->op == ENG_OP_UNARY || op->op == ENG_OP_GLU ? 0x1p-12 : 0x1p-14) +
                     (f16 ? fabs(want) * 0x1p-10 + 1e-7 : 1e-35);
    return m * 1.001 > (f16 ? 65504 : FLT_MAX) || fabs(got - want) <= allowed;
}

/* Result `which` of op k as the oracle has it, then as the device has it. */
static bool judge_result(run *r, pg_oracle *o, uint32_t k, int which, bool vague)
{
    const pg_op *op = &r->p->ops[k];
    uint32_t type = op->out_type[which];
    const pg_value *v = &o->lanes[EXACT]->values[which][k];
    const double *doubtful = o->lanes[sums(op->op) ? NO_HUGE : NO_INFINITE]->values[which][k].t.data;
    double offset = offset_of(o, op);
    bool judged = !vague && ref_block(type) == 1 &&
                  (op->op != ENG_OP_CPY || type == ENG_TYPE_F32 || type == ENG_TYPE_F16);

    for (int64_t i = 0, n = r->tensor_of[which][k] < 0 ? 0 : ref_count(&v->t); i < n; i++) {
        double got = r->kept.data[0][r->tensor_of[which][k]][i], want = v->t.data[i];
        r->judged++;
        r->special += !isfinite(want);
        if (judged && (!v->t.touched || v->t.touched[i]) && (isfinite(doubtful[i]) || !isfinite(want)) &&
            !fits(op, type, want, (v->t.mag ? v->t.mag[i] : fabs(want)) + offset, got)) {
            snprintf(r->text, sizeof r->text, "op %u, %s: [%" PRId64 "] is %.9g, should be %.9g", (unsigned)k,
                     eng_op_get(op->op)->name, i, got, want);
            return false;
        }
        for (int l = 0; l < LANES; l++)
            o->lanes[l]->values[which][k].t.data[i] = seen_in(l, got);
    }
    return true;
}

static void note_written(run *r, pg_oracle *o, const pg_op *op, bool vague)
{
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!eng_op_get(op->op)->in[i].inout)
            continue;
        const pg_value *v = pg_oracle_value(o, EXACT, op->in[i]);
        bool moved = v->type == ENG_TYPE_F32 && op->op != ENG_OP_GATED_DELTA_NET;
        if (v->root >= 0)
            r->vague[v->root] |= vague || !moved;
    }
}

/* Masks stay as they are: -infinity is what they are made of. */
static bool add_tensor(const run *r, pg_oracle *o, uint32_t i)
{
    if (!pg_oracle_add(o, r->p, i))
        return false;
    for (int l = 1; l < LANES && r->p->tensors[i].contents != PG_MASK; l++)
        for (uint64_t e = 0; e < pg_count(&r->p->tensors[i]); e++)
            o->lanes[l]->tensors[i].t.data[e] = seen_in(l, o->lanes[l]->tensors[i].t.data[e]);
    return true;
}

static bool judge(run *r)
{
    pg_oracle *o = pg_oracle_create(LANES, 1);
    bool good = o != NULL;

    memset(r->vague, 0, sizeof r->vague);
    for (uint32_t i = 0; i < r->n_tensors && good; i++)
        good = add_tensor(r, o, i);
    for (uint32_t k = 0; k < r->n_ops && good; k++) {
        const pg_op *op = &r->p->ops[k];
        bool vague = op->op != ENG_OP_NONE && unknown(r, o, op);
        if (!pg_oracle_step(o, r->p, k, NULL)) {
            snprintf(r->text, sizeof r->text, "%s", o->error);
            good = false;
        }
        if (op->op == ENG_OP_NONE || (eng_op_get(op->op)->flags & ENG_OPF_VIEW))
            continue;
        for (int which = 0; which < 2 && good; which++)
            good = judge_result(r, o, k, which, vague);
        note_written(r, o, op, vague);
    }
    pg_oracle_free(o);
    return good;
}

/* What is finite is so however many ops are one. */
static bool alike(run *r)
{
    for (uint32_t i = 0; i < r->n_tensors; i++) {
        const pg_tensor *t = &r->p->tensors[i];
        const double *a = r->kept.data[0][i], *b = r->fused.data[0][i];
        if (!pg_is_result(t) || ref_block(t->type) > 1)
            continue;
        for (uint64_t e = 0; e < pg_count(t); e++)
            if (isfinite(a[e]) != isfinite(b[e]) && !(isfinite(a[e]) && fabs(a[e]) > 1e30) &&
                !(isfinite(b[e]) && fabs(b[e]) > 1e30)) {
                snprintf(r->text, sizeof r->text, "%s[%" PRIu64 "] is %g, but %g if every result is kept", t->name, e,
                         b[e], a[e]);
                return false;
            }
    }
    return true;
}

/* -- graphs ----------------------------------------------------------------------------- */

static bool run_graph(run *r)
{
    bool good = pg_run(r->context, r->device, r->p, &r->fused, NULL) == ENG_OK;

    if (good)
        keep_all(r);
    good = good && pg_run(r->context, r->device, r->p, &r->kept, NULL) == ENG_OK;
    if (!good)
        snprintf(r->text, sizeof r->text, "%s", eng_last_error());
    good = good && judge(r) && alike(r);
    pg_results_free(&r->kept);
    pg_results_free(&r->fused);
    return good;
}

static void test_device(run *r, uint64_t seed, uint64_t graphs, uint64_t nodes)
{
    uint64_t bad = 0, done = 0;

    r->judged = r->special = 0;
    for (; done < graphs && bad < 3; done++) {
        if (!pg_make(r->context, seed + done, (uint32_t)(nodes / 2 + (seed + done) % (nodes / 2)), r->p)) {
            bad++;
            printf("# seed %" PRIu64 ": the graph is not right: %s\n", seed + done, eng_last_error());
        } else if (poison(r->p) && !run_graph(r)) {
            bad++;
            printf("# repeat: tests/meta/test-hostile --seed %" PRIu64 " --graphs 1 --nodes %" PRIu64 " %s\n#   %s\n",
                   seed + done, nodes, r->device, r->text);
        }
    }
    tap_check(!bad && (graphs < 10 || r->special * 200 > r->judged),
              "%" PRIu64 " graphs on %s: %" PRIu64 " numbers, %" PRIu64 " not finite", done, r->device,
              r->judged, r->special);
}

static bool opens(eng_context *context, const char *name)
{
    eng_device *device = NULL;
    bool good = eng_device_open(context, name, &device) == ENG_OK;
    eng_device_close(device);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, graphs = 12, nodes = 40;
    const char *devices[8] = {"cpu", "opencl:0"};
    int n = 0;
    run *r = calloc(1, sizeof *r);

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--graphs") == 0 && i + 1 < argc)
            graphs = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--nodes") == 0 && i + 1 < argc)
            nodes = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (n < 8)
            devices[n++] = argv[i];
    }
    if (!r || !(r->p = malloc(sizeof *r->p)) || !(r->context = tap_begin()))
        return 1;
    for (int i = 0; i < (n ? n : 2); i++) {
        r->device = devices[i];
        if (n || opens(r->context, devices[i]))
            test_device(r, seed, graphs, nodes < 8 ? 8 : nodes);
    }
    free(r->p);
    eng_context *context = r->context;
    free(r);
    return tap_end(context);
}
