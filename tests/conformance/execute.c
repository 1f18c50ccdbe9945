/* A case on a device, through the public interface only. */
#include "config.h"

#include "placements.h"
#include "suite.h"
#include "../matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND 1000000000u
#define MOST_DIRT (1u << 20)

cf_operand *cf_operand_at(cf_case *c, uint32_t i)
{
    cf_operand *o = i < c->n_in ? &c->in[i] : &c->out[i - c->n_in];

    return o->present ? o : NULL;
}

cf_operand *cf_owner_at(cf_case *c, uint32_t i)
{
    cf_operand *o = cf_operand_at(c, i);

    return o && o->alias_of < 0 ? o : NULL;
}

struct run {
    cf_case *c;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    uint32_t index[ENG_MAX_INPUTS + ENG_MAX_OUTPUTS]; /* operand -> tensor of the store */
    uint32_t dirt;         /* a tensor of NaN that is copied about before the op; UINT32_MAX: none */
    cf_addends addends[2]; /* of what the cell forces to be partial */
    const char *stage;
};

/* What the cell asks for operand i; NULL: nothing. */
static const cf_force *forced(const cf_case *c, uint32_t i)
{
    for (uint32_t k = 0; c->cell && k < c->cell->n; k++)
        if (c->cell->force[k].at == i)
            return &c->cell->force[k];
    return NULL;
}

/* Where the store is to keep a tensor in a placed run.  Inputs are everywhere, so
 * what is asked for elsewhere, or in blocks, is declared as a weight. */
static void declare_placed(const cf_case *c, uint32_t i, eng_store_tensor *t)
{
    const cf_force *f = forced(c, i);
    bool stored = f && f->how == CF_STORED;

    if ((t->use & ENG_USE_MASK) == ENG_USE_INPUT && (stored || ref_block(t->type) > 1))
        t->use = (t->use & ~(uint32_t)ENG_USE_MASK) | ENG_USE_WEIGHT;
    if (!stored)
        return;
    if (f->kind == ENG_PLACE_REPLICATED)
        t->axis = ENG_AXIS_WHOLE;
    else if (f->kind == ENG_PLACE_SHARDED)
        t->axis = cf_axis_number(c->suite, f->axis);
    else
        t->device = c->suite->ranks[f->where];
}

/* As large as all operands, if that is not much, and not placed: so results come to lie where NaN was, and what an op does not
 * write is seen. */
static void declare_dirt(struct run *r, eng_store_tensor *t, uint32_t *n)
{
    uint64_t all = 20480; /* so much that its place is used again at once (libengine/plan/place.c) */

    r->dirt = UINT32_MAX;
    for (uint32_t i = 0; i < r->c->n_in + ENG_MAX_OUTPUTS; i++) {
        const cf_operand *o = cf_operand_at(r->c, i);
        all += o ? o->n_bytes : 0;
    }
    if (r->c->cell || r->c->split || all > MOST_DIRT)
        return;
    r->dirt = *n;
    t[(*n)++] = (eng_store_tensor){.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_STATE, .name = "dirt",
                                   .ne = {(int64_t)(all / sizeof(float))}, .layer = -1};
}

static int declare(struct run *r)
{
    cf_case *c = r->c;
    eng_store_tensor t[ENG_MAX_INPUTS + ENG_MAX_OUTPUTS + 5];
    uint32_t n = 0, split = c->split ? eng_context_axis(c->suite->context, c->split) : ENG_AXIS_NONE;

    memset(t, 0, sizeof t);
    for (uint32_t i = 0; i < c->n_in + ENG_MAX_OUTPUTS; i++) {
        cf_operand *o = cf_owner_at(c, i);
        if (!o)
            continue;
        r->index[i] = n;
        t[n] = (eng_store_tensor){.size = sizeof *t, .type = o->type, .rank = o->rank, .use = o->use, .name = o->name,
                                  .dims = o->axes.any ? o->axes.dims : NULL, .layer = -1};
        memcpy(t[n].ne, o->ne, sizeof t[n].ne);
        bool named = false;
        for (uint32_t f = 0; f < o->axes.n_factors; f++)
            named |= o->axes.factors[f].axis == split;
        if (c->split)
            t[n].axis = named ? split : ENG_AXIS_WHOLE;
        const cf_force *f = forced(c, i);
        if (c->cell)
            declare_placed(c, i, &t[n]);
        if (!f || f->how != CF_COMPUTED) /* else a copy reads it, and the op reads that */
            test_declare_matrix(&t[n]);
        n++;
    }
    r->stage = "store";
    declare_dirt(r, t, &n);
    for (uint32_t k = 0; c->cell && k < c->cell->n; k++)
        if (!cf_addends_declare(&r->addends[k], c, &c->cell->force[k], t, &n))
            return eng_fail(ENG_ERR_NOMEM, "no memory for the addends of an operand");
    return eng_store_create(c->suite->device, t, n, &r->store);
}

/* Gives a value the placement that the cell asks for. */
static void place(struct run *r, uint32_t i, eng_value v)
{
    const cf_force *f = forced(r->c, i);
    cf_suite *s = r->c->suite;

    if (!f || f->how == CF_STORED)
        return;
    eng_placement p = {.size = sizeof p, .kind = f->kind};
    if (f->kind == ENG_PLACE_SHARDED)
        p.axis = cf_axis_number(s, f->axis);
    if (f->kind == ENG_PLACE_SINGLE)
        p.device = s->ranks[f->where];
    eng_graph_place(r->graph, v, &p);
}

static void name_dims(struct run *r, const cf_operand *o, eng_value v)
{
    if (r->c->cell && v >= 0 && o->seen_axes.any)
        eng_graph_set_axes(r->graph, v, o->seen_axes.dims, eng_graph_get(r->graph, v)->rank);
}

static const cf_addends *addends_of(const struct run *r, uint32_t i)
{
    for (uint32_t k = 0; r->c->cell && k < r->c->cell->n; k++)
        if (r->c->cell->force[k].at == i && r->addends[k].parts)
            return &r->addends[k];
    return NULL;
}

/* The value of operand i as the op sees it. */
static eng_value through_views(struct run *r, uint32_t i)
{
    cf_operand *o = cf_operand_at(r->c, i);

    if (!o)
        return ENG_NO_VALUE;
    uint32_t at = r->index[o->alias_of >= 0 ? (uint32_t)o->alias_of : i];
    eng_value v = eng_graph_tensor(r->graph, 0, r->store, at);
    const cf_addends *sum = addends_of(r, i);
    if (sum) {
        v = cf_addends_sum(sum, o, r->graph, r->store);
    } else if (o->scratch) {
        int64_t ip[2] = {o->type, 0};
        v = eng_graph_op(r->graph, ENG_OP_CPY, &v, 1, ip, 2, NULL, 0, NULL);
    }
    for (int k = 0; k < o->n_views; k++)
        v = eng_graph_op(r->graph, o->view[k].op, &v, 1, o->view[k].ip, ENG_MAX_RANK, NULL, 0, NULL);
    if (i < r->c->n_in && (o->scratch || o->n_views))
        name_dims(r, o, v);
    if (i < r->c->n_in)
        place(r, i, v);
    return v;
}

/* What the cell's reader makes of a result. */
static eng_value read_result(struct run *r, eng_value v)
{
    const eng_tensor *t = eng_graph_get(r->graph, v);
    uint8_t then = r->c->cell->then;

    if (!t || t->type != ENG_TYPE_F32 || then == CF_THEN_END)
        return v;
    if (t->nb[0] != (int64_t)sizeof(float)) /* a permuted view: rows that only cont reads */
        v = eng_cont(r->graph, v);
    return then == CF_THEN_SCALE ? eng_scale(r->graph, v, -2, 0) : eng_unary(r->graph, v, ENG_UNARY_RELU);
}

/* Results into their OUTPUT tensors; in a placed run, placed, and perhaps read by
 * another op before. */
static void take_results(struct run *r, const eng_value *results)
{
    cf_case *c = r->c;

    for (uint32_t k = 0; k < ENG_MAX_OUTPUTS; k++) {
        eng_value v = results[k];
        if (!c->out[k].present)
            continue;
        if (c->cell) {
            name_dims(r, &c->out[k], v);
            place(r, c->n_in + k, v);
            v = read_result(r, v);
        }
        eng_store_value(r->graph, through_views(r, c->n_in + k), v);
    }
}

/* A plan that is refused: was that to be known before?  Hosts give a graph to a device by what it supports. */
static int refused(const cf_case *c, const struct run *r)
{
    char why[400], reason[100];
    eng_support answer = ENG_SUPPORT_YES;
    snprintf(why, sizeof why, "%s", eng_last_error());
    for (uint32_t node = 0; answer != ENG_SUPPORT_NO; node++)
        if (eng_device_supports(c->suite->device, r->graph, node, &answer, reason, sizeof reason) != ENG_OK)
            return eng_fail(ENG_ERR_INTERNAL, "the device supports every node, and refuses the plan: %s", why);
    return eng_fail(ENG_ERR_UNSUPPORTED, "%s", why);
}

static int build(struct run *r)
{
    cf_case *c = r->c;
    eng_value in[ENG_MAX_INPUTS], results[ENG_MAX_OUTPUTS] = {ENG_NO_VALUE, ENG_NO_VALUE};
    int status = eng_graph_create(c->suite->context, c->n_params, &r->graph);

    r->stage = "graph";
    if (status)
        return status;
    if (r->dirt != UINT32_MAX) { /* a value of the plan's memory, not the store's */
        eng_value dirt = eng_graph_tensor(r->graph, 0, r->store, r->dirt);
        const int64_t ip[2] = {ENG_TYPE_F32, 0};
        eng_store_value(r->graph, dirt, eng_graph_op(r->graph, ENG_OP_CPY, &dirt, 1, ip, 2, NULL, 0, NULL));
    }
    for (uint32_t i = 0; i < c->n_in; i++)
        in[i] = through_views(r, i);
    eng_graph_precision(r->graph, (eng_precision)c->precision);
    eng_graph_op(r->graph, c->op, in, c->n_in, c->ip, ENG_MAX_IPARAMS, c->fp, ENG_MAX_FPARAMS, results);
    take_results(r, results);
    status = eng_graph_seal(r->graph);
    if (status)
        return status;
    r->stage = "plan";
    status = eng_plan_create(c->suite->device, r->graph, &r->plan);
    if (status == ENG_ERR_UNSUPPORTED && !c->cell && !c->suite->o.lenient)
        return refused(c, r);
    if (status)
        return status;
    r->stage = "instance";
    return eng_instance_create(r->plan, &r->store, 1, &r->instance);
}

static bool is_input(const struct run *r, uint32_t i)
{
    uint32_t use = eng_store_get(r->store, r->index[i])->use & ENG_USE_MASK;

    return use == ENG_USE_INPUT || use == ENG_USE_OUTPUT;
}

static int upload_dirt(struct run *r)
{
    uint64_t bytes = (uint64_t)eng_store_get(r->store, r->dirt)->ne[0] * sizeof(float);
    unsigned char *nan = malloc((size_t)bytes);
    int status = nan ? ENG_OK : eng_fail(ENG_ERR_NOMEM, "no memory for dirt");

    if (nan) {
        memset(nan, 0xff, (size_t)bytes);
        status = eng_store_write(r->store, r->dirt, 0, bytes, nan);
    }
    free(nan);
    return status;
}

/* Writes what the run may change (all: everything). */
static int upload(struct run *r, bool all)
{
    cf_case *c = r->c;

    r->stage = "upload";
    for (uint32_t i = 0; i < c->n_in + ENG_MAX_OUTPUTS; i++) {
        cf_operand *o = cf_owner_at(c, i);
        int status = 0;
        if (!o || !o->n_bytes || !(all || o->inout))
            continue;
        if (is_input(r, i))
            status = eng_queue_write(c->suite->queue, NULL, 0, r->store, r->index[i],
                                     (const eng_region[]){eng_range(o->bytes, 0, o->n_bytes)}, 1, NULL);
        else
            status = eng_store_write(r->store, r->index[i], 0, o->n_bytes, o->bytes);
        if (status)
            return status;
    }
    if (all && r->dirt != UINT32_MAX) {
        int status = upload_dirt(r);
        if (status)
            return status;
    }
    for (uint32_t k = 0; all && k < 2; k++) {
        int status = cf_addends_upload(&r->addends[k], r->store);
        if (status)
            return status;
    }
    return ENG_OK;
}

static int run_once(struct run *r)
{
    cf_case *c = r->c;
    eng_fence fence;

    r->stage = "run";
    int status = eng_queue_submit(c->suite->queue, NULL, 0, r->instance, c->params, c->n_params, &fence);
    return status ? status : eng_fence_wait(fence, 300 * (uint64_t)NS_PER_SECOND);
}

/* Reads all that the run may have changed, or everything, into `after`. */
static int download(struct run *r, bool all, bool compare)
{
    cf_case *c = r->c;

    r->stage = "download";
    for (uint32_t i = 0; i < c->n_in + ENG_MAX_OUTPUTS; i++) {
        cf_operand *o = cf_owner_at(c, i);
        if (!o || !o->n_bytes || !(all || o->inout))
            continue;
        unsigned char *to = calloc(o->n_bytes, 1);
        if (!to)
            return eng_fail(ENG_ERR_NOMEM, "no memory to read operand '%s'", o->name);
        eng_fence fence;
        int status = eng_queue_read(c->suite->queue, NULL, 0, r->store, r->index[i],
                                    (const eng_region[]){eng_range(to, 0, o->n_bytes)}, 1, &fence);
        if (!status)
            status = eng_fence_wait(fence, 300 * (uint64_t)NS_PER_SECOND);
        if (!status && compare && memcmp(to, o->after, o->n_bytes) != 0)
            status = eng_fail(ENG_ERR_INTERNAL, "a second run gave other bits in '%s'", o->name);
        if (o->after && !compare)
            free(o->after);
        if (compare)
            free(to);
        else
            o->after = to;
        if (status)
            return status;
    }
    return ENG_OK;
}

/* A guest that a cell names has joined the device, or the placement was not carried out. */
static int check_guest(struct run *r)
{
    const cf_case *c = r->c;
    eng_device_info leaf = {.size = sizeof leaf};
    bool wanted = false, found = false;

    for (uint32_t k = 0; c->cell && k < c->cell->n; k++)
        wanted |= c->cell->force[k].kind == ENG_PLACE_SINGLE && c->cell->force[k].where == 2;
    for (uint32_t i = 0; wanted && eng_device_leaf(c->suite->device, i, &leaf, NULL) == ENG_OK; i++)
        found |= strcmp(leaf.name, c->suite->ranks[2]) == 0;
    r->stage = "guest";
    if (wanted && !found)
        return eng_fail(ENG_ERR_INTERNAL, "%s is not among the devices: a placement was not carried out",
                        c->suite->ranks[2]);
    return ENG_OK;
}

int cf_execute(cf_case *c, char *detail, size_t n)
{
    struct run r = {.c = c};
    bool twice = (cf_random(c) & 3) == 0;
    int status = declare(&r);

    if (!status)
        status = build(&r);
    if (!status)
        status = upload(&r, true);
    if (!status)
        status = run_once(&r);
    if (!status)
        status = check_guest(&r);
    if (!status)
        status = download(&r, true, false);
    if (!status && twice)
        status = upload(&r, false);
    if (!status && twice)
        status = run_once(&r);
    if (!status && twice)
        status = download(&r, false, true);
    if (status)
        snprintf(detail, n, "%s: %s: %s", r.stage, eng_status_name(status), eng_last_error());
    free(r.addends[0].parts);
    free(r.addends[1].parts);
    eng_instance_destroy(r.instance);
    eng_plan_release(r.plan);
    eng_graph_destroy(r.graph);
    eng_store_destroy(r.store);
    /* only a plan may be refused */
    return status == ENG_ERR_UNSUPPORTED && strcmp(r.stage, "plan") != 0 ? ENG_ERR_INTERNAL : status;
}
