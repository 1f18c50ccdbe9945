/* Which cases are placed: for each op a few small ones that together show as much as
 * possible of what its cases have. */
#include "config.h"

#include "placements_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS 40000 /* of all operands: larger cases show nothing else */

/* Something that a case has, as a number. */
static void feature(cf_described *d, const char *what, int64_t i, int64_t k, int64_t v)
{
    uint64_t h = 0xcbf29ce484222325u;
    int64_t n[3] = {i, k, v};

    for (const char *p = what; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    for (size_t b = 0; b < sizeof n; b++)
        h = (h ^ ((const unsigned char *)n)[b]) * 0x100000001b3u;
    if (d->n_features < CF_FEATURES)
        d->features[d->n_features++] = h;
}

static int64_t size_class(int64_t n)
{
    return n < 2 ? n : n < 4 ? 2 : n < 8 ? 4 : 8;
}

/* Extents that the op sees of an operand that is only described. */
static void seen_extents(const cf_operand *o, int64_t *ne)
{
    memcpy(ne, o->ne, ENG_MAX_RANK * sizeof *ne);
    for (int k = 0; k < o->n_views; k++) {
        const int64_t *ip = o->view[k].ip;
        int64_t from[ENG_MAX_RANK];
        memcpy(from, ne, sizeof from);
        for (int d = 0; o->view[k].op == ENG_OP_PERMUTE && d < ENG_MAX_RANK; d++)
            ne[d] = from[ip[d]];
        if (o->view[k].op == ENG_OP_SLICE)
            ne[ip[ENG_SLICE_DIM]] = ip[ENG_SLICE_LENGTH];
    }
}

/* Extents of 1 show nothing: every case has some. */
static void extents_of(cf_described *d, uint32_t i, const int64_t *ne, int64_t block)
{
    for (int k = 0; k < 4; k++) {
        int64_t n = k || block < 2 ? ne[k] : ne[k] / block;
        if (n == 1)
            continue;
        feature(d, "extent", i, k, size_class(n));
        feature(d, "even", i, k, n % 2);
    }
}

/* Letters, and letters that make a dimension together, in each of the op's first modes. */
static void letters_of(cf_described *d, cf_case *c)
{
    const eng_op_info *info = eng_op_get(c->op);
    int64_t extent[ENG_MAX_LETTERS];

    cf_letter_extents(c, extent);
    for (uint32_t i = 0; i < info->n_letters; i++)
        if (extent[i] > 1)
            feature(d, "letter", i, size_class(extent[i]), c->ip[0] & 1);
    for (uint32_t i = 0; i < c->n_in; i++)
        for (uint32_t k = 0; k < ENG_MAX_RANK; k++) {
            const eng_rule_dim *rd = &info->in[i].dims[k];
            if (rd->n_letters < 2 || extent[rd->letters[0]] < 2 || extent[rd->letters[1]] < 2)
                continue;
            int64_t a = extent[rd->letters[0]], b = extent[rd->letters[1]];
            feature(d, "product", c->ip[0] & 1, a == b, 0);
            feature(d, "product", c->ip[0] & 1, size_class(a), size_class(b));
        }
}

static void features_of(cf_described *d, cf_case *c)
{
    int64_t all = 0;

    for (uint32_t i = 0; i < c->n_in; i++) {
        cf_operand *o = &c->in[i];
        int64_t *ne = o->seen.ne, block = o->present ? ref_block(o->type) : 0;
        all = 2 * all + o->present;
        feature(d, "present", i, o->present, 0);
        if (!o->present)
            continue;
        seen_extents(o, ne);
        extents_of(d, i, ne, block);
        feature(d, "type", i, block, o->type == ENG_TYPE_I32 || o->type == ENG_TYPE_I64);
        feature(d, "views", i, o->n_views ? o->view[0].op : 0, o->alias_of >= 0);
    }
    letters_of(d, c);
    for (int k = 0; k < ENG_MAX_FPARAMS; k++)
        all = 2 * all + (c->fp[k] != 0);
    feature(d, "operands", all, 0, 0);
    for (int k = 0; k < ENG_MAX_IPARAMS; k++)
        if (c->ip[k] >= -1 && c->ip[k] < 64)
            feature(d, "integer", k, c->ip[k], 0);
    for (int k = 0; k < ENG_MAX_FPARAMS; k++)
        feature(d, "number", k, c->fp[k] != 0, 0);
    feature(d, "judge", c->judge, c->out_type, 0);
}

void cf_placing_note(cf_case *c)
{
    struct cf_placing *p = c->suite->placing;
    cf_described *d;

    if (p->n == p->room) {
        uint32_t room = p->room ? 2 * p->room : 512;
        cf_described *more = realloc(p->described, room * sizeof *more);
        if (!more) {
            c->suite->status = eng_fail(ENG_ERR_NOMEM, "no memory for the cases of the suite");
            return;
        }
        p->described = more;
        p->room = room;
    }
    d = &p->described[p->n++];
    memset(d, 0, sizeof *d);
    d->op = c->op;
    snprintf(d->name, sizeof d->name, "%s", c->name);
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i].present && c->in[i].alias_of < 0)
            d->elements += cf_elements(&c->in[i]);
    d->odd = c->corners;
    for (uint32_t i = 0; i < c->n_in; i++)
        d->odd |= p->sparse && c->in[i].present && (ref_block(c->in[i].type) > 1 || c->in[i].type == ENG_TYPE_BF16);
    features_of(d, c);
}

/* How many of a case's features none of those chosen has. */
static uint32_t news(const cf_described *d, const uint64_t *seen, uint32_t n_seen)
{
    uint32_t n = 0;

    for (uint32_t f = 0; f < d->n_features; f++) {
        bool known = false;
        for (uint32_t k = 0; k < n_seen && !known; k++)
            known = seen[k] == d->features[f];
        n += !known;
    }
    return n;
}

/* The case of an op with most that is new, for its size. */
static cf_described *best_of(struct cf_placing *p, uint32_t op, const uint64_t *seen, uint32_t n_seen)
{
    cf_described *best = NULL;
    double most = 0;

    for (uint32_t i = 0; i < p->n; i++) {
        cf_described *d = &p->described[i];
        if (d->op != op || d->chosen)
            continue;
        double score = news(d, seen, n_seen) / (12 + log2((double)(d->elements + 1)));
        if (d->elements > ELEMENTS || d->odd) /* only if there is nothing else */
            score = n_seen ? 0 : 1e-3 * score / ((double)d->elements + 1);
        if (score > most) {
            most = score;
            best = d;
        }
    }
    return best;
}

/* Chooses the op's cases; how many. */
static uint32_t choose(struct cf_placing *p, uint32_t op, uint32_t wanted)
{
    uint64_t seen[CF_CASES * CF_FEATURES];
    uint32_t n = 0, n_seen = 0;
    cf_described *d;

    while (n < wanted && (d = best_of(p, op, seen, n_seen)) != NULL) {
        d->chosen = true;
        n++;
        memcpy(seen + n_seen, d->features, d->n_features * sizeof *seen);
        n_seen += d->n_features;
    }
    return n;
}

int cf_placing_choose(cf_suite *s)
{
    struct cf_placing *p = s->placing;

    for (uint32_t op = 1; op < ENG_OP_LIMIT && !s->status; op++) {
        const eng_op_info *info = eng_op_get(op);
        if (!info || !cf_wanted(s, op) || (info->flags & ENG_OPF_BARRIER))
            continue;
        uint32_t wanted = info->n_in > 5 ? CF_CASES : CF_CASES - 3; /* more operands, more combinations */
        wanted = p->sparse ? 1 : s->o.placements == ENG_PLACEMENTS_SAMPLE ? wanted / 2 : wanted;
        if (choose(p, op, wanted) || s->o.filter)
            continue;
        char text[160];
        snprintf(text, sizeof text,
                 "%s has a row in the op table but no case to place: write a generator of it "
                 "(tests/conformance/gen_*.c) and its oracle (tests/reference)", info->name);
        cf_placing_complain(s, op, text);
    }
    p->describing = false;
    return s->status;
}

bool cf_only_describes(const cf_suite *s)
{
    return s->placing && s->placing->describing;
}

bool cf_placing_wants(cf_suite *s, uint32_t op, const char *name)
{
    const struct cf_placing *p = s->placing;

    if (p->describing)
        return true;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->described[i].chosen && p->described[i].op == op && strcmp(p->described[i].name, name) == 0)
            return true;
    return false;
}

int cf_placing_begin(cf_suite *s)
{
    s->placing = calloc(1, sizeof *s->placing);
    if (!s->placing)
        return eng_fail(ENG_ERR_NOMEM, "no memory for the matrix of placements");
    s->placing->describing = true;
    s->placing->sparse = s->o.quick && s->o.placements == ENG_PLACEMENTS_SAMPLE && !s->reopens && !s->o.oracle;
    s->o.quick = 0; /* all cases are there to be chosen from */
    return ENG_OK;
}

void cf_placing_end(cf_suite *s)
{
    if (s->placing)
        free(s->placing->described);
    free(s->placing);
    s->placing = NULL;
}
