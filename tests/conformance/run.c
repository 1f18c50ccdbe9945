/* Running cases: the oracle's result, the device's, the verdict. */
#include "config.h"

#include "placements.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_SEED 20240917u

/* The oracle's view of an operand: decoded memory and the views on it. */
static bool decode_operand(cf_operand *o, bool inout)
{
    if (!ref_alloc(&o->all, o->ne, o->rank, inout, inout))
        return false;
    ref_decode(o->type, o->bytes, o->all.data, ref_count(&o->all));
    for (int64_t i = 0; inout && i < ref_count(&o->all); i++)
        o->all.mag[i] = fabs(o->all.data[i]);
    return true;
}

static bool apply_views(cf_operand *o)
{
    o->seen = o->all;
    for (int k = 0; k < o->n_views; k++) {
        const int64_t *ip = o->view[k].ip;
        if (o->view[k].op == ENG_OP_HADAMARD) {
            ref_call call = {.op = ENG_OP_HADAMARD, .in = {&o->seen}, .ip = {ip[0]}};
            if (ref_eval(&call))
                return false;
            o->seen = o->made = call.out[0];
            continue;
        }
        o->seen = o->view[k].op == ENG_OP_PERMUTE
                      ? ref_permute(&o->seen, ip)
                      : ref_slice(&o->seen, (int)ip[ENG_SLICE_DIM], ip[ENG_SLICE_BEGIN], ip[ENG_SLICE_LENGTH]);
    }
    return true;
}

static bool decode_all(cf_case *c)
{
    for (uint32_t i = 0; i < c->n_in; i++) {
        cf_operand *o = &c->in[i];
        if (!o->present)
            continue;
        if (o->alias_of >= 0)
            o->all = c->in[o->alias_of].all;
        else if (!o->bytes || !decode_operand(o, o->inout))
            return false;
        if (!apply_views(o))
            return false;
    }
    return true;
}

/* An OUTPUT tensor: poisoned, and now and then the middle of a larger one. */
static bool make_output(cf_case *c, uint32_t k, const ref_tensor *result)
{
    cf_operand *o = &c->out[k];
    int64_t i[ENG_MAX_RANK] = {0};

    o->present = o->inout = o->is_output = true;
    o->alias_of = -1;
    o->name = k ? "second" : "out";
    o->type = k ? ENG_TYPE_F32 : c->out_type;
    o->use = ENG_USE_OUTPUT;
    memcpy(o->ne, result->ne, sizeof o->ne);
    o->rank = ENG_MAX_RANK;
    while (o->rank > 1 && o->ne[o->rank - 1] == 1)
        o->rank--;
    if (o->rank >= 2 && !o->axes.any && (cf_random(c) & 1)) {
        int64_t n = o->ne[o->rank - 1];
        o->ne[o->rank - 1] += 2;
        cf_slice(o, (int)o->rank - 1, 1, n);
    }
    o->n_bytes = (uint64_t)cf_elements(o) / ref_block(o->type) * ref_block_bytes(o->type);
    o->bytes = malloc(o->n_bytes + 1);
    if (!o->bytes || !ref_alloc(&o->all, o->ne, o->rank, true, true))
        return false;
    memset(o->bytes, 0xff, o->n_bytes);
    apply_views(o);
    if (!ref_count(result))
        return true;
    do {
        int64_t at = ref_at(&o->seen, i), from = ref_at(result, i);
        o->seen.data[at] = result->data[from];
        o->seen.mag[at] = result->mag ? result->mag[from] : 0;
        o->seen.touched[at] = result->touched && !result->touched[from] ? CF_ANY : 1;
    } while (ref_next(result->ne, i));
    return true;
}

/* What a perfect device would leave in an operand. */
static bool imitate_operand(cf_case *c, cf_operand *o)
{
    uint32_t block = ref_block(o->type), bytes = ref_block_bytes(o->type);
    unsigned char *blocks = calloc(o->n_bytes + 1, 1);

    if (o->inout && block > 1 && c->judge == CF_EXACT) { /* encoding again is not the identity */
        free(blocks);
        return false;
    }
    free(o->after);
    o->after = malloc(o->n_bytes + 1);
    if (!blocks || !o->after) {
        free(blocks);
        return false;
    }
    memcpy(o->after, o->bytes, o->n_bytes);
    bool ok = !o->inout || ref_encode(o->type, o->all.data, blocks, ref_count(&o->all), c->search);
    for (int64_t i = 0; o->inout && ok && i < ref_count(&o->all); i += block)
        if (o->all.touched[i])
            memcpy(o->after + (uint64_t)(i / block) * bytes, blocks + (uint64_t)(i / block) * bytes, bytes);
    free(blocks);
    return ok;
}

static int imitate(cf_case *c)
{
    for (uint32_t i = 0; i < c->n_in + ENG_MAX_OUTPUTS; i++) {
        cf_operand *o = cf_owner_at(c, i);
        if (o && !imitate_operand(c, o))
            return ENG_ERR_UNSUPPORTED;
    }
    return ENG_OK;
}

static bool judge_all(cf_case *c, cf_errors *e, char *detail, size_t n)
{
    for (uint32_t i = 0; i < c->n_in + ENG_MAX_OUTPUTS; i++) {
        cf_operand *o = cf_owner_at(c, i);
        if (!o || !o->n_bytes)
            continue;
        if (o->inout && c->suite->o.tamper)
            c->suite->o.tamper(c->suite->o.ctx, o->name, o->type, o->after, o->n_bytes);
        if (!o->inout && memcmp(o->bytes, o->after, o->n_bytes) != 0) {
            snprintf(detail, n, "operand '%s' was changed; the op only reads it", o->name);
            return false;
        }
        if (o->inout && !cf_judge_operand(c, o, &o->all, e, detail, n))
            return false;
    }
    return true;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void release(cf_case *c)
{
    for (uint32_t i = 0; i < ENG_MAX_INPUTS + ENG_MAX_OUTPUTS; i++) {
        cf_operand *o = i < ENG_MAX_INPUTS ? &c->in[i] : &c->out[i - ENG_MAX_INPUTS];
        if (!o->present || o->alias_of >= 0)
            continue;
        free(o->bytes);
        free(o->after);
        ref_free(&o->all);
        ref_free(&o->made);
        o->bytes = o->after = NULL;
    }
}

static void report(cf_case *c, eng_conformance_result *r)
{
    cf_suite *s = c->suite;

    s->sum.cells++;
    s->sum.values += r->values;
    s->sum.passed += r->outcome == ENG_CONFORMANCE_PASS;
    s->sum.failed += r->outcome == ENG_CONFORMANCE_FAIL;
    s->sum.unsupported += r->outcome == ENG_CONFORMANCE_UNSUPPORTED;
    if (s->o.report)
        s->o.report(s->o.ctx, r);
}

void cf_run_once(cf_case *c)
{
    cf_suite *s = c->suite;
    cf_errors e = {0, 0, 0};
    bool fine = false;
    double began = now();

    s->detail[0] = '\0';
    int status = s->o.oracle ? imitate(c) : cf_execute(c, s->detail, sizeof s->detail);
    double took = now() - began;
    s->spent[c->op] += took;
    if (!status)
        fine = judge_all(c, &e, s->detail, sizeof s->detail);
    bool excused = status == ENG_ERR_UNSUPPORTED && (c->optional || s->o.oracle || s->o.lenient);
    char *line = cf_line(c);
    eng_conformance_result r = {.size = sizeof r,
                                .device = s->device_name,
                                .op = eng_op_get(c->op)->name,
                                .name = c->name,
                                .seed = s->sum.seed,
                                .outcome = fine      ? ENG_CONFORMANCE_PASS
                                           : excused ? ENG_CONFORMANCE_UNSUPPORTED
                                                     : ENG_CONFORMANCE_FAIL,
                                .values = e.values,
                                .row_error = e.row,
                                .abs_error = e.abs,
                                .detail = s->detail,
                                .seconds = took,
                                .cell = c->cell ? c->cell->text : NULL,
                                .line = line ? line : ""};
    report(c, &r);
    free(line);
    if (status == ENG_ERR_LOST)
        s->status = status;
}

static void defect(cf_case *c, const char *text)
{
    eng_conformance_result r = {.size = sizeof r, .device = c->suite->device_name, .op = eng_op_get(c->op)->name,
                                .name = c->name, .seed = c->suite->sum.seed, .outcome = ENG_CONFORMANCE_FAIL,
                                .detail = text};
    report(c, &r);
}

/* Beyond what the caller has time for? */
static bool too_much(const cf_case *c, const ref_call *call)
{
    const cf_suite *s = c->suite;
    int64_t n = 0;

    for (uint32_t i = 0; i < c->n_in; i++)
        n += c->in[i].present ? cf_elements(&c->in[i]) : 0;
    for (uint32_t k = 0; k < call->n_out; k++)
        n += ref_count(&call->out[k]);
    return (s->o.largest && (uint64_t)n > s->o.largest) || (s->o.seconds > 0 && s->spent[c->op] > s->o.seconds);
}

void cf_run(cf_case *c)
{
    cf_suite *s = c->suite;
    ref_call call = {.op = c->op, .out_type = c->out_type, .params = c->params};
    int refused = 0;

    if (cf_only_describes(s)) {
        cf_placing_note(c);
        return;
    }
    for (uint32_t i = 0; i < c->n_in; i++) /* some operands are results of the same graph */
        c->in[i].scratch = (c->in[i].use & ENG_USE_MASK) == ENG_USE_INPUT && !c->in[i].inout && (cf_random(c) & 3) == 0;
    if (!s->status && !decode_all(c))
        s->status = eng_fail(ENG_ERR_NOMEM, "no memory for the operands of %s", c->name);
    for (uint32_t i = 0; i < c->n_in; i++)
        call.in[i] = c->in[i].present ? &c->in[i].seen : NULL;
    memcpy(call.ip, c->ip, sizeof call.ip);
    memcpy(call.fp, c->fp, sizeof call.fp);
    if (!s->status)
        refused = ref_eval(&call);
    for (uint32_t k = 0; !s->status && !refused && k < call.n_out; k++)
        if (!make_output(c, k, &call.out[k]))
            s->status = eng_fail(ENG_ERR_NOMEM, "no memory for the result of %s", c->name);
    if (!s->status && !refused && too_much(c, &call))
        s->sum.skipped++;
    else if (!s->status && refused)
        defect(c, "the oracle does not take these operands: a defect of the suite");
    else if (!s->status && s->placing)
        cf_placing_run(c);
    else if (!s->status)
        cf_run_once(c);
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        ref_free(&call.out[i]);
    release(c);
}

/* The names that placements give to the first and the last rank and to a guest. */
static void name_ranks(cf_suite *s)
{
    eng_device_info leaf = {.size = sizeof leaf};
    eng_device_stats stats = {.size = sizeof stats};

    snprintf(s->ranks[2], sizeof s->ranks[2], "%s", s->o.guest ? s->o.guest : "cpu/7.6");
    s->reopens = strncmp(s->ranks[2], "cpu", 3) == 0;
    for (uint32_t i = 0; eng_device_leaf(s->device, i, &leaf, &stats) == ENG_OK; i++) {
        s->n_main += stats.share > 0;
        s->reopens &= strncmp(leaf.name, "cpu", 3) == 0;
        snprintf(s->ranks[1], sizeof s->ranks[1], "%s", leaf.name);
        if (i == 0)
            snprintf(s->ranks[0], sizeof s->ranks[0], "%s", leaf.name);
    }
}

static int open_device(cf_suite *s)
{
    eng_device_info info = {.size = sizeof info};
    int status = eng_device_open(s->context, s->device_name, &s->device);

    if (!status)
        status = eng_queue_create(s->device, &s->queue);
    if (!status)
        status = eng_device_get_info(s->device, &info);
    s->composed = !status && info.kind == ENG_DEVICE_META;
    if (!status)
        name_ranks(s);
    return status;
}

/* Every op as exact as it can be, then those that can be fast so; placements cut both alike. */
static int run_cases(cf_suite *s)
{
    static void (*const cases[])(cf_suite *) = {
#define CF_CASES(name) cf_cases_##name,
#include "cases.def"
#undef CF_CASES
    };

    for (uint32_t p = 0; p < (s->placing ? 1 : ENG_PRECISIONS); p++) {
        s->precision = p;
        if (s->o.precision && s->o.precision != 1 + (int)p)
            continue;
        for (size_t i = 0; i < sizeof cases / sizeof *cases && !s->status; i++)
            cases[i](s);
    }
    s->precision = ENG_PRECISION_EXACT;
    return s->status;
}

static int run_suite(cf_suite *s)
{
    int status = ENG_OK;

    if (s->o.placements) {
        status = cf_placing_begin(s);
        if (!status)
            status = run_cases(s);
        if (!status)
            status = cf_placing_choose(s);
    }
    if (!status)
        status = run_cases(s);
    if (!status && !s->sum.cells && !s->sum.skipped)
        status = eng_fail(ENG_ERR_NOTFOUND, "no case of the conformance suite matches ops '%s', filter '%s'%s%s",
                          s->o.ops ? s->o.ops : "(all)", s->o.filter ? s->o.filter : "(all)",
                          s->o.cell ? ", cell " : "", s->o.cell ? s->o.cell : "");
    cf_placing_end(s);
    return status;
}

int eng_conformance_run(eng_context *context, const char *device, const eng_conformance_options *options,
                        eng_conformance_summary *summary)
{
    cf_suite *s = calloc(1, sizeof *s);
    int status = 0;

    if (!s)
        return eng_fail(ENG_ERR_NOMEM, "no memory for the conformance suite");
    if (options)
        memcpy(&s->o, options, options->size < sizeof s->o ? options->size : sizeof s->o);
    s->context = context;
    s->device_name = device ? device : "oracle";
    s->sum.size = sizeof s->sum;
    s->sum.seed = s->o.seed ? s->o.seed : DEFAULT_SEED;
    s->sum.seconds = now();
    if (!s->o.oracle && !s->o.list)
        status = open_device(s);
    if (!status)
        status = run_suite(s);
    s->sum.seconds = now() - s->sum.seconds;
    if (!status && summary)
        memcpy(summary, &s->sum, sizeof s->sum);
    eng_queue_destroy(s->queue);
    eng_device_close(s->device);
    free(s);
    return status;
}
