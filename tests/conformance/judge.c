/* Judging a result: row by row, and every byte that must not have changed. */
#include "config.h"

#include "suite.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 0x1p-24

static const struct {
    uint32_t op, precision;
    double element, row, per_root;
    const char *text;
} tolerances[] = {
#define CF_TOLERANCE(op, element, row, per_root, reason)                                                               \
    {ENG_OP_##op, ENG_PRECISION_EXACT, element, row, per_root,                                                         \
     #op ": element " #element ", row " #row ", per root of terms " #per_root ": " reason},
#define CF_FAST(op, element, row, per_root, reason)                                                                    \
    {ENG_OP_##op, ENG_PRECISION_FAST, element, row, per_root,                                                          \
     #op ", fast: element " #element ", row " #row ", per root of terms " #per_root ": " reason},
#include "tolerances.h"
#undef CF_TOLERANCE
#undef CF_FAST
};

void cf_tolerance(uint32_t op, uint32_t precision, double terms, double *element, double *row)
{
    *element = *row = 0;
    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++)
        if (tolerances[i].op == op && tolerances[i].precision == precision) {
            *element = tolerances[i].element + 3 * tolerances[i].per_root * sqrt(terms);
            *row = tolerances[i].row + tolerances[i].per_root * sqrt(terms);
        }
}

const char *eng_conformance_tolerance(uint32_t index)
{
    return index < sizeof tolerances / sizeof *tolerances ? tolerances[index].text : NULL;
}

struct judge {
    const cf_case *c;
    const cf_operand *o;
    const ref_tensor *want; /* contiguous, the operand's memory */
    double *got, *step;     /* decoded; encoded formats: one step */
    double *model;          /* encoded formats: what the oracle's encoder makes of `want`; NULL: it searches */
    cf_errors *e;
    char *detail;
    size_t n;
};

static bool wrong(struct judge *j, int64_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool wrong(struct judge *j, int64_t at, const char *format, ...)
{
    va_list args;
    int64_t i[4] = {0};
    char text[256];

    for (int d = 0; d < 4; d++) {
        i[d] = at % j->want->ne[d];
        at /= j->want->ne[d];
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(j->detail, j->n, "'%s' at [%lld,%lld,%lld,%lld]: %s", j->o->name, (long long)i[0], (long long)i[1],
             (long long)i[2], (long long)i[3], text);
    return false;
}

/* Not numbers and infinities: true if the pair needs no further look. */
static bool special(struct judge *j, int64_t at, bool *fine)
{
    double w = j->want->data[at], g = j->got[at];
    double shown = fabs(w) > FLT_MAX && j->o->type == ENG_TYPE_F32 ? copysign(INFINITY, w) : w;

    *fine = true;
    if (!isnan(w) && !isnan(g) && !isinf(shown) && !isinf(g))
        return false;
    if (isnan(w) != isnan(g) || (!isnan(w) && g != shown))
        *fine = wrong(j, at, "is %g, should be %g", g, w);
    return true;
}

static bool untouched(struct judge *j, int64_t at)
{
    uint32_t block = ref_block(j->o->type), bytes = ref_block_bytes(j->o->type);
    uint64_t off = (uint64_t)(at / block) * bytes;

    if (memcmp(j->o->bytes + off, j->o->after + off, bytes) == 0)
        return true;
    return wrong(j, at, "was written and must not be (now %g)", j->got[at]);
}

static void note(struct judge *j, double abs_error, double row_error)
{
    j->e->abs = fmax(j->e->abs, abs_error);
    j->e->row = fmax(j->e->row, row_error);
}

/* One row of plain values within the op's tolerance. */
static bool near_row(struct judge *j, int64_t first, int64_t n)
{
    double element, row, err2 = 0, mag2 = 0, type_step = 0;
    bool fine, ok = true;
    /* gates: so may an e^x that the operands, here below 2^10, are then multiplied by */
    double factor = j->c->op == ENG_OP_UNARY || j->c->op == ENG_OP_GLU ? 0x1p10 : 1;

    cf_tolerance(j->c->op, j->c->precision, j->c->terms, &element, &row);
    row += (element - row) / sqrt((double)n);
    if (j->o->type == ENG_TYPE_F16)
        type_step = 0x1p-11;
    else if (j->o->type == ENG_TYPE_BF16)
        type_step = 0x1p-8;
    for (int64_t i = first; i < first + n && ok; i++) {
        if (special(j, i, &fine)) {
            ok = fine;
            continue;
        }
        double w = j->want->data[i], e = fabs(j->got[i] - w), m = fmax(j->want->mag ? j->want->mag[i] : 0, fabs(w));
        double floor = j->o->type == ENG_TYPE_F16 ? 0x1p-24 : factor * 0x1p-126; /* results below may be flushed */
        double allowed = element * UNIT * m + type_step * fabs(w) + floor;
        note(j, e, allowed > 0 ? 0 : e > 0 ? INFINITY : 0);
        if (!(e <= allowed))
            ok = wrong(j, i, "is %.9g, should be %.9g: off by %.3g, tolerated %.3g", j->got[i], w, e, allowed);
        double over = fmax(0, e - type_step * fabs(w) - floor);
        err2 += over * over;
        mag2 += m * m;
    }
    if (!ok)
        return false;
    double relative = mag2 > 0 ? sqrt(err2 / mag2) / UNIT : 0;
    note(j, 0, row > 0 ? relative / row : relative);
    if (!(relative <= row) && relative > 0)
        return wrong(j, first, "the row's relative error is %.3g units of 2^-24, tolerated %.3g", relative, row);
    return true;
}

static bool exact_row(struct judge *j, int64_t first, int64_t n)
{
    bool fine;

    for (int64_t i = first; i < first + n; i++) {
        if (special(j, i, &fine)) {
            if (!fine)
                return false;
        } else if (j->got[i] != j->want->data[i]) {
            note(j, fabs(j->got[i] - j->want->data[i]), INFINITY);
            return wrong(j, i, "is %.9g, should be exactly %.9g", j->got[i], j->want->data[i]);
        }
    }
    return true;
}

/* Relative squared error that a searching encoder may leave on a row of values without structure. */
static double search_bound(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_Q2_K: return 9e-2;
    case ENG_TYPE_Q3_K: return 3e-2;
    case ENG_TYPE_Q4_K: return 6e-3;
    case ENG_TYPE_Q5_K: return 1.5e-3;
    case ENG_TYPE_Q6_K: return 4e-4;
    default: return 1e-2; /* iq4_xs, iq4_nl */
    }
}

/* One row of encoded values: no step away from the oracle's encoding, and as a row
 * hardly worse; where the encoder searches, a bound on the row's error. */
static bool encoded_row(struct judge *j, int64_t first, int64_t n)
{
    double mine = 0, model = 0, square = 0, slack = 0, peak = 0;

    for (int64_t i = first; i < first + n; i++) {
        double w = j->want->data[i];
        if (!isfinite(w) || fabs(w) > 1e30) {
            if (!isfinite(j->got[i]))
                return wrong(j, i, "is %g: no block type holds such a value (encoded from %g)", j->got[i], w);
            w = 0;
        }
        if (!isfinite(j->got[i]))
            return wrong(j, i, "decodes to %g (encoded from %g)", j->got[i], w);
        note(j, fabs(j->got[i] - w), 0);
        if (j->model) {
            double step = fmax(j->step[i], 1e-30);
            if (!(fabs(j->got[i] - j->model[i]) <= 1.01 * step))
                return wrong(j, i, "encodes %.9g as %.9g, more than a step (%.3g) from %.9g", j->want->data[i],
                             j->got[i], step, j->model[i]);
            model += (j->model[i] - w) * (j->model[i] - w);
            slack += 1e-3 * step * step;
        }
        mine += (j->got[i] - w) * (j->got[i] - w);
        square += w * w;
        peak = fmax(peak, fabs(w));
    }
    if (j->c->corners)
        return true;
    double bound = j->model ? 1.05 * model + slack : search_bound(j->o->type) * square + 1e-30;
    note(j, 0, bound > 0 ? sqrt(mine / bound) : 0);
    if (!(mine <= bound))
        return wrong(j, first, "the row's squared error is %.4g, tolerated %.4g (largest value %.3g)", mine, bound,
                     peak);
    return true;
}

/* Plain types rounded to nearest: exact. */
static bool rounded_row(struct judge *j, int64_t first, int64_t n)
{
    for (int64_t i = first; i < first + n; i++) {
        double slack = j->c->inexact ? 1.01 * j->step[i] : 0;
        bool same = j->got[i] == j->model[i] || (isnan(j->got[i]) && isnan(j->model[i])) ||
                    fabs(j->got[i] - j->model[i]) <= slack;
        if (!same)
            return wrong(j, i, "is %.9g, should be %.9g (%.9g rounded)", j->got[i], j->model[i], j->want->data[i]);
    }
    return true;
}

static bool judge_row(struct judge *j, int64_t first, int64_t n)
{
    if (j->c->judge == CF_NEAR)
        return near_row(j, first, n);
    if (j->c->judge == CF_EXACT)
        return exact_row(j, first, n);
    return ref_block(j->o->type) == 1 ? rounded_row(j, first, n) : encoded_row(j, first, n);
}

/* Stretches of equal treatment within each row: written ones are judged, the
 * others must be as they were. */
static bool judge_rows(struct judge *j)
{
    int64_t n = j->want->ne[0], rows = ref_rows(j->want);
    const unsigned char *touched = j->want->touched;

    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = r * n, end = i + n; i < end;) {
            int64_t first = i;
            unsigned char how = touched ? touched[i] : 1;
            for (; i < end && (!touched || touched[i] == how); i++)
                if (!how && !untouched(j, i))
                    return false;
            if (how != 1)
                continue;
            j->e->values += (uint64_t)(i - first);
            if (!judge_row(j, first, i - first))
                return false;
        }
    return true;
}

bool cf_judge_operand(const cf_case *c, const cf_operand *o, const ref_tensor *want, cf_errors *e, char *detail,
                      size_t n)
{
    struct judge j = {.c = c, .o = o, .want = want, .e = e, .detail = detail, .n = n};
    int64_t count = ref_count(want);
    bool ok = false;

    j.got = malloc(sizeof *j.got * (size_t)(count + 1));
    if (j.got && c->judge == CF_ENCODED && ref_can_encode(o->type, c->search)) {
        j.model = malloc(sizeof *j.model * (size_t)(count + 1));
        j.step = malloc(sizeof *j.step * (size_t)(count + 1));
    }
    unsigned char *blocks = j.model ? calloc(o->n_bytes + 1, 1) : NULL;
    if (!j.got || (j.model && (!j.step || !blocks))) {
        snprintf(detail, n, "no memory to judge '%s'", o->name);
    } else {
        ref_decode(o->type, o->after, j.got, count);
        if (j.model) {
            ref_encode(o->type, want->data, blocks, count, c->search);
            ref_decode(o->type, blocks, j.model, count);
            ref_steps(o->type, blocks, j.step, count);
        }
        ok = judge_rows(&j);
    }
    free(blocks);
    free(j.got);
    free(j.model);
    free(j.step);
    return ok;
}
