/* The cells of a case: which placements are asked for, and running them. */
#include "config.h"

#include "placements_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FORCES 96 /* of one operand */
#define SAMPLE 8      /* cells of a case in a sample */

/* -- what can be asked of an operand ------------------------------------------------- */

typedef struct forces {
    cf_force f[MAX_FORCES];
    uint32_t n;
} forces;

static void add_force(forces *l, uint32_t at, cf_how how, uint32_t kind, uint32_t where, const char *axis)
{
    cf_force *f = &l->f[l->n];

    if (l->n == MAX_FORCES)
        return;
    *f = (cf_force){.at = (uint8_t)at, .how = (uint8_t)how, .kind = (uint8_t)kind, .where = (uint8_t)where};
    snprintf(f->axis, sizeof f->axis, "%s", axis);
    l->n++;
}

static void add_splits(forces *l, uint32_t at, cf_how how, const cf_splits *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        add_force(l, at, how, ENG_PLACE_SHARDED, 0, s->name[i]);
}

/* Every placement of a value: bound or computed. */
static void add_values(forces *l, const cf_operand *o, uint32_t at, cf_how how)
{
    add_force(l, at, how, ENG_PLACE_REPLICATED, 0, "");
    add_splits(l, at, how, &o->seen_splits);
    if (o->type == ENG_TYPE_F32 && (!o->inout || o->is_output))
        add_force(l, at, how, ENG_PLACE_PARTIAL, 0, "");
    for (uint32_t where = 0; where < 3; where++)
        add_force(l, at, how, ENG_PLACE_SINGLE, where, "");
}

static void add_stored(forces *l, const cf_operand *o, uint32_t at)
{
    if (!o->is_output)
        add_force(l, at, CF_STORED, ENG_PLACE_REPLICATED, 0, "");
    add_splits(l, at, CF_STORED, &o->splits);
    for (uint32_t where = 0; where < 3; where++)
        add_force(l, at, CF_STORED, ENG_PLACE_SINGLE, where, "");
}

/* Everything that can be asked of operand or result `at`. */
static void list_forces(cf_case *c, uint32_t at, forces *l)
{
    const cf_operand *o = cf_owner_at(c, at);

    l->n = 0;
    if (!o)
        return;
    add_stored(l, o, at);
    if (o->is_output) {
        add_values(l, o, at, CF_COMPUTED);
        return;
    }
    add_values(l, o, at, CF_BOUND);
    if (!o->inout)
        add_values(l, o, at, CF_COMPUTED);
}

static bool same_place(const cf_force *a, const cf_force *b)
{
    return a->kind == b->kind && a->where == b->where && strcmp(a->axis, b->axis) == 0;
}

/* -- cells -------------------------------------------------------------------------------- */

static const char *operand_name(cf_case *c, uint32_t at)
{
    return cf_operand_at(c, at)->name;
}

static int spell_force(cf_case *c, const cf_force *f, char *text, size_t n)
{
    static const char *const hows[] = {"bound", "computed", "stored"};
    static const char *const wheres[] = {"first", "last", "guest"};
    static const char *const kinds[] = {"auto", "replicated", "split", "partial", "single"};
    bool axis = f->kind == ENG_PLACE_SHARDED, single = f->kind == ENG_PLACE_SINGLE;

    return snprintf(text, n, "%s:%s:%s%s%s%s ", operand_name(c, f->at), hows[f->how], kinds[f->kind],
                    axis || single ? "(" : "", axis ? f->axis : single ? wheres[f->where] : "",
                    axis || single ? ")" : "");
}

static uint64_t hash_text(const char *p, uint64_t seed)
{
    uint64_t h = 0xcbf29ce484222325u ^ seed * 0x9e3779b97f4a7c15u;

    for (; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

static void spell_cell(cf_case *c, cf_cell *cell)
{
    static const char *const thens[] = {"end", "scale", "relu"};
    static const char *const namings[] = {"", " axes=outer", " axes=inner", " axes=segments"};
    size_t at = 0;

    cell->text[0] = '\0';
    for (uint32_t k = 0; k < cell->n; k++)
        at += (size_t)spell_force(c, &cell->force[k], cell->text + at, sizeof cell->text - at);
    snprintf(cell->text + at, sizeof cell->text - at, "then %s%s", thens[cell->then], namings[cell->naming]);
}

/* How a case's cells are gone through. */
typedef struct walk {
    cf_case *c;
    forces at[ENG_MAX_INPUTS + ENG_MAX_OUTPUTS]; /* all of naming `naming`               */
    int naming;
    bool counting;
    uint64_t n_singles, n_pairs;                 /* counted                              */
    double singles, pairs;                       /* share of them that is wanted         */
    bool base_scratch[ENG_MAX_INPUTS];
} walk;

static bool has_f32_result(const cf_case *c)
{
    return c->out[0].present && c->out[0].type == ENG_TYPE_F32;
}

/* A partition lasts as long as its device: a cell has a device of its own, or, where
 * opening one takes long, axes of its own. */
static int reopen(walk *w)
{
    cf_suite *s = w->c->suite;

    if (s->o.oracle)
        return ENG_OK;
    if (!s->reopens) {
        s->tag++;
        cf_name_axes(w->c, w->naming);
        return ENG_OK;
    }
    eng_queue_destroy(s->queue);
    eng_device_close(s->device);
    s->queue = NULL;
    s->device = NULL;
    int status = eng_device_open(s->context, s->device_name, &s->device);
    return status ? status : eng_queue_create(s->device, &s->queue);
}

static double largest(const ref_tensor *t)
{
    double most = 0;

    for (int64_t i = 0; i < ref_count(t); i++)
        most = isfinite(t->data[i]) ? fmax(most, fabs(t->data[i])) : most;
    return most;
}

/* What sums that flow through an op that is linear in both its operands may add to the
 * magnitude of a result: addends are twice and once a value, and the op rounds their sums. */
static double more_magnitude(cf_case *c, const cf_cell *cell)
{
    bool partial = false;

    for (uint32_t k = 0; k < cell->n; k++)
        partial |= cell->force[k].at < c->n_in && cell->force[k].kind == ENG_PLACE_PARTIAL;
    return partial && eng_op_get(c->op)->linear_together ? 3 * (largest(&c->in[0].all) + largest(&c->in[1].all)) : 0;
}

/* The results as the cell's reader makes them, exactly; values and magnitudes before go
 * to `kept`, which give_back_expected puts back. */
static void expect(cf_case *c, const cf_cell *cell, double *kept[ENG_MAX_OUTPUTS])
{
    double more = more_magnitude(c, cell);

    for (uint32_t k = 0; k < ENG_MAX_OUTPUTS; k++) {
        cf_operand *o = &c->out[k];
        size_t n = o->present && o->type == ENG_TYPE_F32 ? (size_t)ref_count(&o->all) : 0;
        kept[k] = n ? malloc(2 * n * sizeof **kept) : NULL;
        if (n && !kept[k])
            c->suite->status = eng_fail(ENG_ERR_NOMEM, "no memory for the results of %s", c->name);
        for (size_t i = 0; kept[k] && i < n; i++) {
            double x = kept[k][i] = o->all.data[i];
            kept[k][n + i] = o->all.mag[i];
            if (o->all.touched[i] != 1)
                continue;
            o->all.data[i] = cell->then == CF_THEN_SCALE ? -2 * x : cell->then == CF_THEN_RELU && x < 0 ? 0 : x;
            o->all.mag[i] = (o->all.mag[i] + more) * (cell->then == CF_THEN_SCALE ? 2 : 1);
        }
    }
}

static void give_back_expected(cf_case *c, double *kept[ENG_MAX_OUTPUTS])
{
    for (uint32_t k = 0; k < ENG_MAX_OUTPUTS; k++) {
        cf_operand *o = &c->out[k];
        size_t n = kept[k] ? (size_t)ref_count(&o->all) : 0;
        if (n) {
            memcpy(o->all.data, kept[k], n * sizeof **kept);
            memcpy(o->all.mag, kept[k] + n, n * sizeof **kept);
        }
        free(kept[k]);
    }
}

static void run_cell(walk *w, cf_cell *cell)
{
    cf_case *c = w->c;
    double *kept[ENG_MAX_OUTPUTS];

    c->cell = cell;
    c->random[0] = hash_text(cell->text, c->suite->sum.seed);
    for (uint32_t i = 0; i < c->n_in; i++)
        c->in[i].scratch = w->base_scratch[i];
    for (uint32_t k = 0; k < cell->n; k++)
        if (cell->force[k].at < c->n_in)
            c->in[cell->force[k].at].scratch = cell->force[k].how == CF_COMPUTED;
    c->suite->status = reopen(w);
    if (c->suite->status)
        return;
    expect(c, cell, kept);
    if (!c->suite->status)
        cf_run_once(c);
    give_back_expected(c, kept);
    c->cell = NULL;
}

/* The reader of a pair's result goes by chance; singles have each. */
static cf_then some_then(walk *w, const cf_cell *cell)
{
    cf_cell plain = *cell;

    if (!has_f32_result(w->c))
        return CF_THEN_END;
    plain.then = CF_THEN_END;
    spell_cell(w->c, &plain);
    return (cf_then)(hash_text(plain.text, 7) % 3);
}

/* A sample has all operands as true partial sums: what most is wrong with at once. */
static bool always(walk *w, const cf_cell *cell)
{
    const cf_force *f = &cell->force[0];

    return cell->n == 1 && f->kind == ENG_PLACE_PARTIAL && f->how == CF_COMPUTED && f->at < w->c->n_in &&
           cell->then == some_then(w, cell);
}

/* Counts a cell, or runs it if it is among those wanted. */
static void visit(walk *w, cf_cell *cell)
{
    const cf_suite *s = w->c->suite;
    uint64_t *n = cell->n < 2 ? &w->n_singles : &w->n_pairs;
    double share = cell->n < 2 ? w->singles : w->pairs;

    if (s->status)
        return;
    spell_cell(w->c, cell);
    if (w->counting) {
        ++*n;
        return;
    }
    if (s->o.cell ? strcmp(s->o.cell, cell->text) == 0
                  : always(w, cell) || (double)(hash_text(cell->text, s->sum.seed + w->c->op) >> 11) * 0x1p-53 < share)
        run_cell(w, cell);
}

static void walk_singles(walk *w)
{
    for (uint32_t i = 0; i < w->c->n_in + ENG_MAX_OUTPUTS; i++)
        for (uint32_t k = 0; k < w->at[i].n; k++) {
            cf_cell cell = {.naming = (uint8_t)w->naming, .n = 1, .force = {w->at[i].f[k]}};
            if (w->naming && cell.force[0].kind != ENG_PLACE_SHARDED)
                continue; /* the names of axes make no difference */
            if (w->naming) {
                cell.then = (uint8_t)some_then(w, &cell);
                visit(w, &cell);
                continue;
            }
            for (int then = 0; then < (has_f32_result(w->c) ? 3 : 1); then++) {
                cell.then = (uint8_t)then;
                visit(w, &cell);
            }
        }
}

/* Of forces that differ only in how the value comes there, a pair has one. */
static bool taken_for_pairs(const forces *l, uint32_t k, uint64_t chance)
{
    uint32_t n = 0, me = 0;

    for (uint32_t i = 0; i < l->n; i++)
        if (same_place(&l->f[i], &l->f[k])) {
            me = i == k ? n : me;
            n++;
        }
    return chance % n == me;
}

static void walk_pairs(walk *w)
{
    uint32_t n = w->c->n_in + ENG_MAX_OUTPUTS;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            for (uint32_t a = 0; a < w->at[i].n; a++)
                for (uint32_t b = 0; b < w->at[j].n; b++) {
                    cf_cell cell = {.naming = (uint8_t)w->naming, .n = 2, .force = {w->at[i].f[a], w->at[j].f[b]}};
                    char text[48];
                    snprintf(text, sizeof text, "%u %u %u %u", cell.force[0].kind + 8u * cell.force[0].where,
                             cell.force[1].kind + 8u * cell.force[1].where, i, j);
                    uint64_t h = hash_text(text, w->c->op) ^ hash_text(cell.force[0].axis, 1) ^
                                 hash_text(cell.force[1].axis, 2);
                    if (!taken_for_pairs(&w->at[i], a, h) || !taken_for_pairs(&w->at[j], b, h >> 20))
                        continue;
                    cell.then = (uint8_t)some_then(w, &cell);
                    visit(w, &cell);
                }
}

static void walk_all(walk *w)
{
    for (w->naming = 0; w->naming < CF_NAMINGS; w->naming++) {
        cf_name_axes(w->c, w->naming);
        for (uint32_t i = 0; i < w->c->n_in + ENG_MAX_OUTPUTS; i++)
            list_forces(w->c, i, &w->at[i]);
        walk_singles(w);
        if (w->naming == 0)
            walk_pairs(w);
    }
}

void cf_placing_run(cf_case *c)
{
    walk *w = calloc(1, sizeof *w);

    if (!w) {
        c->suite->status = eng_fail(ENG_ERR_NOMEM, "no memory for the placements of %s", c->name);
        return;
    }
    w->c = c;
    w->singles = w->pairs = 1;
    for (uint32_t i = 0; i < c->n_in; i++)
        w->base_scratch[i] = c->in[i].scratch;
    c->split = NULL;
    w->counting = true;
    walk_all(w);
    w->counting = false;
    if (c->suite->o.placements == ENG_PLACEMENTS_SINGLES)
        w->pairs = fmin(1, 2.0 * (double)w->n_singles / (double)(w->n_pairs + 1));
    else if (c->suite->o.placements == ENG_PLACEMENTS_SAMPLE) {
        w->singles = SAMPLE / 2 / (double)(w->n_singles + 1);
        w->pairs = SAMPLE / 2 / (double)(w->n_pairs + 1);
    }
    walk_all(w);
    free(w);
}

void cf_placing_complain(cf_suite *s, uint32_t op, const char *text)
{
    eng_conformance_result r = {.size = sizeof r, .device = s->device_name, .op = eng_op_get(op)->name,
                                .name = "(none)", .seed = s->sum.seed, .outcome = ENG_CONFORMANCE_FAIL, .detail = text};

    s->sum.cells++;
    s->sum.failed++;
    if (s->o.report)
        s->o.report(s->o.ctx, &r);
}
