/* Building a case: names, seeds, operands, views, axes. */
#include "config.h"

#include "placements.h"
#include "suite.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cf_layout_name(cf_layout layout)
{
    static const char *const names[] = {"plain", "swap12", "offset", "inner", "swap01"};

    return names[layout];
}

/* Steele, Lea, Flood: SplitMix64. */
static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t cf_random(cf_case *c)
{
    return split_mix(c->random);
}

static uint64_t random_bits(void *ctx)
{
    return split_mix(ctx);
}

int64_t cf_below(cf_case *c, int64_t n)
{
    return n > 0 ? (int64_t)(cf_random(c) >> 1) % n : 0;
}

double cf_uniform(cf_case *c, double lo, double hi)
{
    return lo + (hi - lo) * (double)(cf_random(c) >> 11) * 0x1p-53;
}

bool cf_wanted(const cf_suite *s, uint32_t op)
{
    const eng_op_info *info = eng_op_get(op);
    const char *p = s->o.ops;

    if (s->status || !info)
        return false;
    if (s->precision != ENG_PRECISION_EXACT && !(info->flags & ENG_OPF_PRECISION))
        return false;
    while (p && *p) {
        size_t n = strcspn(p, ",");
        if (strlen(info->name) == n && strncmp(p, info->name, n) == 0)
            return true;
        p += n + (p[n] == ',');
    }
    return !s->o.ops;
}

static void report_name(cf_suite *s)
{
    eng_conformance_result r = {.size = sizeof r, .device = s->device_name, .op = eng_op_get(s->current.op)->name,
                                .name = s->current.name, .seed = s->sum.seed, .detail = ""};

    s->sum.cells++;
    if (s->o.report)
        s->o.report(s->o.ctx, &r);
}

/* The parts of the filter, with '*' between them, are in the name in this order. */
static bool matches(const char *name, const char *filter)
{
    for (size_t n; *filter; filter += n + (filter[n] == '*')) {
        char part[160];
        n = strcspn(filter, "*");
        snprintf(part, sizeof part, "%.*s", (int)n, filter);
        name = strstr(name, part);
        if (!name)
            return false;
        name += strlen(part);
    }
    return true;
}

cf_case *cf_begin(cf_suite *s, uint32_t op, const char *format, ...)
{
    cf_case *c = &s->current;
    va_list args;
    uint64_t hash = 0xcbf29ce484222325u;

    if (!cf_wanted(s, op))
        return NULL;
    memset(c, 0, sizeof *c);
    va_start(args, format);
    vsnprintf(c->name, sizeof c->name, format, args);
    va_end(args);
    if (s->precision != ENG_PRECISION_EXACT) {
        size_t n = strlen(c->name);
        snprintf(c->name + n, sizeof c->name - n, " %s", eng_precision_name(s->precision));
    }
    for (const char *p = c->name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    if (s->o.filter ? !matches(c->name, s->o.filter) : s->o.quick && s->thin > 1 && (hash >> 20) % s->thin)
        return NULL;
    if (s->placing && !cf_placing_wants(s, op, c->name))
        return NULL;
    c->suite = s;
    c->op = op;
    c->precision = s->precision;
    c->out_type = ENG_TYPE_F32;
    c->terms = 1;
    if (s->o.list) {
        report_name(s);
        return NULL;
    }
    c->random[0] = hash ^ s->sum.seed * 0x9e3779b97f4a7c15u ^ op;
    return c;
}

void cf_thin(cf_suite *s, uint32_t one_in)
{
    s->thin = one_in;
}

int64_t cf_elements(const cf_operand *o)
{
    int64_t n = 1;

    for (uint32_t d = 0; d < o->rank; d++)
        n *= o->ne[d];
    return n;
}

void cf_slice(cf_operand *o, int dim, int64_t begin, int64_t length)
{
    o->view[o->n_views].op = ENG_OP_SLICE;
    o->view[o->n_views].ip[ENG_SLICE_DIM] = dim;
    o->view[o->n_views].ip[ENG_SLICE_BEGIN] = begin;
    o->view[o->n_views++].ip[ENG_SLICE_LENGTH] = length;
}

void cf_permute(cf_operand *o, int a, int b)
{
    int64_t *ip = o->view[o->n_views].ip;

    o->view[o->n_views++].op = ENG_OP_PERMUTE;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        ip[d] = d == a ? b : d == b ? a : d;
}

void cf_hadamard(cf_operand *o, int64_t group)
{
    o->view[o->n_views].op = ENG_OP_HADAMARD;
    o->view[o->n_views++].ip[ENG_HADAMARD_GROUP] = group;
}

/* Extents in memory for the layout, and the views that undo it. */
static void lay_out(cf_operand *o, cf_layout layout, const int64_t *ne, uint32_t rank)
{
    int64_t block = ref_block(o->type), keep;

    o->rank = rank;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        o->ne[d] = d < rank ? ne[d] : 1;
    switch (layout) {
    case CF_PLAIN: break;
    case CF_SWAP12:
    case CF_SWAP01:
        o->rank = layout == CF_SWAP12 && rank < 3 ? 3 : rank < 2 ? 2 : rank;
        int a = layout == CF_SWAP12 ? 1 : 0;
        keep = o->ne[a];
        o->ne[a] = o->ne[a + 1];
        o->ne[a + 1] = keep;
        cf_permute(o, a, a + 1);
        break;
    case CF_OFFSET:
        o->rank = rank < 2 ? 2 : rank;
        keep = o->ne[1];
        o->ne[1] += 5;
        cf_slice(o, 1, 3, keep);
        break;
    case CF_INNER:
        keep = o->ne[0];
        o->ne[0] += 2 * (block == 1 ? 3 : block);
        cf_slice(o, 0, block == 1 ? 3 : block, keep);
        break;
    }
}

cf_operand *cf_in(cf_case *c, int slot, const char *name, uint32_t type, uint32_t use, cf_layout layout,
                  const int64_t *ne, uint32_t rank)
{
    cf_operand *o = &c->in[slot];

    memset(o, 0, sizeof *o);
    o->present = true;
    o->name = name;
    o->type = type;
    o->use = use;
    o->alias_of = -1;
    lay_out(o, layout, ne, rank);
    if (c->n_in <= (uint32_t)slot)
        c->n_in = (uint32_t)slot + 1;
    if (cf_only_describes(c->suite))
        return o;
    o->n_bytes = (uint64_t)cf_elements(o) / ref_block(type) * ref_block_bytes(type);
    o->bytes = calloc(o->n_bytes + 1, 1);
    if (!o->bytes)
        c->suite->status = eng_fail(ENG_ERR_NOMEM, "no memory for operand '%s' of %s", name, c->name);
    else if (ref_block(type) > 1)
        ref_random_blocks(type, o->bytes, cf_elements(o), 1, random_bits, c->random);
    else if (type != ENG_TYPE_I32 && type != ENG_TYPE_I64)
        cf_fill(c, o, -1, 1);
    return o;
}

cf_operand *cf_alias(cf_case *c, int slot, const char *name, int of)
{
    cf_operand *o = &c->in[slot];

    *o = c->in[of];
    o->name = name;
    o->alias_of = of;
    o->bytes = NULL;
    o->after = NULL;
    o->n_views = 0;
    if (c->n_in <= (uint32_t)slot)
        c->n_in = (uint32_t)slot + 1;
    return o;
}

void cf_set(cf_operand *o, int64_t i, double v)
{
    if (o->bytes)
        ref_encode(o->type, &v, o->bytes + (uint64_t)i * ref_block_bytes(o->type), 1, false);
}

void cf_fill(cf_case *c, cf_operand *o, double lo, double hi)
{
    for (int64_t i = 0; i < cf_elements(o); i++)
        cf_set(o, i, cf_uniform(c, lo, hi));
}

uint32_t cf_axis_number(const cf_suite *s, const char *name)
{
    char text[48];

    if (s->tag)
        snprintf(text, sizeof text, "%s.%u", name, (unsigned)s->tag);
    else
        snprintf(text, sizeof text, "%s", name);
    return s->context ? eng_context_axis(s->context, text) : ENG_AXIS_NONE;
}

/* One "axis:extent"; returns what follows it. */
static const char *factor(const cf_suite *s, cf_axes *a, const char *p)
{
    char axis[32];
    size_t n = strcspn(p, ":");
    char *end;

    snprintf(axis, sizeof axis, "%.*s", (int)n, p);
    eng_factor *f = &a->factors[a->n_factors++];
    f->axis = axis[0] == '*' ? ENG_AXIS_NONE : cf_axis_number(s, axis);
    f->extent = strtoll(p + n + 1, &end, 10);
    a->any = true;
    return end;
}

void cf_axes_add(const cf_suite *s, cf_axes *a, int dim, const char *text)
{
    eng_dim *d = &a->dims[dim];

    d->segments = &a->segments[a->n_segments];
    for (const char *p = text; *p;) {
        eng_segment *g = &a->segments[a->n_segments++];
        g->factors = &a->factors[a->n_factors];
        while (*p && *p != '|') {
            p = factor(s, a, p);
            g->n_factors++;
            p += strspn(p, " ");
        }
        d->n_segments++;
        p += strspn(p, "| ");
    }
}

void cf_axis(cf_case *c, cf_operand *o, int dim, const char *format, ...)
{
    char text[160];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cf_axes_add(c->suite, &o->axes, dim, text);
}
