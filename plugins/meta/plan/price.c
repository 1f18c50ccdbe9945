/* What a way to run a node costs: work, operands brought there, exchanges to come. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "choose.h"

#define RETURNED 1.05 /* times the price of an exchange: see leaves_the_rest */

/* Of a value at that place, the busiest rank's part. */
static double share_of(const meta_place *place)
{
    double most = 0;

    if (place->kind != META_SHARDED)
        return 1;
    for (uint32_t r = 0; r < place->cut.part->n_ranks; r++) {
        double part = (double)meta_part_length(place->cut.part, r) / (double)place->cut.part->extent;
        most = part > most ? part : most;
    }
    return most;
}

static double bytes_of(const meta_planner *p, int32_t value, const meta_place *place)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    int64_t nb[ENG_MAX_RANK];

    return (double)meta_tensor_layout(p, t->type, t->ne, nb) * share_of(place);
}

/* Does the op sum over that dimension of an operand? */
static bool summed(const eng_op_info *op, uint32_t operand, uint32_t dim)
{
    const eng_rule_dim *rule = &op->in[operand].dims[dim];
    return rule->n_letters == 1 && rule->letters[0] != ENG_LETTER_PRIVATE &&
           op->letter_class[rule->letters[0]] == ENG_CLASS_REDUCE;
}

double meta_operations(const meta_chooser *c)
{
    for (uint32_t i = 0; i < c->op->n_in; i++)
        for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
            if (summed(c->op, i, d))
                return eu_row_work(c->op, c->p->graph, c->node).operations;
    return 0;
}

/* The busiest rank's part of them: of the result, or of an operand cut along what is summed. */
static double operations_share(const meta_chooser *c, const meta_strategy *s)
{
    double least = 1;

    if (s->out[0].kind != META_PARTIAL)
        return share_of(&s->out[0]);
    for (uint32_t i = 0; i < c->op->n_in; i++) {
        if (c->node->in[i] < 0 || s->in[i].kind != META_SHARDED || !summed(c->op, i, s->in[i].cut.dim))
            continue;
        double share = share_of(&s->in[i]);
        least = share < least ? share : least;
    }
    return least;
}

/* Work of the busiest rank. */
static double work(const meta_chooser *c, const meta_strategy *s)
{
    const eng_node *n = c->node;
    double bytes = 0;

    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        if (n->in[i] >= 0)
            bytes += bytes_of(c->p, n->in[i], &s->in[i]);
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        if (n->out[i] >= 0)
            bytes += bytes_of(c->p, n->out[i], &s->out[i]);
    return meta_cost_touched(bytes) + meta_cost_flops(c->operations * operations_share(c, s));
}

/* Will the other ranks want the result of a node that runs on one?  Yes if they have an operand,
 * and if they are likely to get one: what several ops read is not all read on one rank. */
static bool wanted_by_others(const meta_chooser *c, bool main)
{
    for (uint32_t i = 0; i < c->op->n_in; i++) {
        int32_t in = c->node->in[i];
        if (in < 0 || c->p->values[in].maker < 0)
            continue;
        if (main && c->p->values[in].n_readers > 1)
            return true;
        for (const meta_version *v = meta_versions(c->p, in); v; v = v->next)
            if (v->place.kind != META_SINGLE)
                return true;
    }
    return false;
}

/* Of a result on one rank that others will want.  On one of the main ranks it is a little more
 * than to bring the operand to all: that serves whoever else reads the operand, and leaves the
 * result where nothing has to be brought again.  If all that is made of it is made from tensors
 * that are each on one rank, it is brought to these when they need it. */
static double leaves_the_rest(const meta_chooser *c, const meta_strategy *s)
{
    const eng_device_state *device = c->p->device;
    int32_t out = c->node->out[0];

    if (s->out[0].kind != META_SINGLE)
        return 0;
    bool main = device->main_mask >> s->out[0].rank & 1u;
    if (!main)
        return wanted_by_others(c, main) ? meta_cost_meet(device, device->main_mask, 0) / 2 : 0;
    if (out < 0 || c->p->values[out].n_readers == 0)
        return 0;
    const meta_value *v = &c->p->values[out];
    uint32_t rank = 1u << s->out[0].rank;
    if (!v->everywhere)
        return v->wanted & ~rank && !(v->wanted & rank)
                   ? meta_cost_meet(device, v->wanted | rank, bytes_of(c->p, out, &s->out[0]))
                   : 0;
    return wanted_by_others(c, main)
               ? meta_cost_meet(device, device->main_mask, bytes_of(c->p, out, &s->out[0])) * RETURNED
               : 0;
}

/* Of one number for each row of the result. */
static double number_bytes(const meta_chooser *c)
{
    const eng_tensor *t = meta_tensor_of(c->p, c->node->out[0]);
    double bytes = sizeof(float);

    for (uint32_t d = 1; d < ENG_MAX_RANK; d++)
        bytes *= (double)t->ne[d];
    return bytes;
}

void meta_consider(meta_chooser *c, const meta_strategy *s)
{
    double cost = work(c, s) + leaves_the_rest(c, s);

    for (uint32_t i = 0; i < ENG_MAX_INPUTS && cost < c->cost; i++) {
        if (c->node->in[i] < 0)
            continue;
        bool again = false; /* the same operand twice moves once */
        for (uint32_t k = 0; k < i; k++)
            again |= c->node->in[k] == c->node->in[i] && meta_place_equal(&s->in[k], &s->in[i]);
        if (!again)
            cost += meta_version_cost(c->p, c->node->in[i], &s->in[i]);
    }
    if (s->merge || s->lengths) /* norms twice: a result on shards may have to be gathered next */
        cost += meta_cost_meet(c->p->device, s->ranks, number_bytes(c)) * (s->lengths ? 2 : 1);
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        if (c->node->out[i] >= 0 && s->out[i].kind == META_PARTIAL)
            cost += meta_cost_all_reduce(c->p->device, s->out[i].ranks, c->p->device->main_mask,
                                         bytes_of(c->p, c->node->out[i], &s->out[i]));
    if (cost < c->cost) {
        c->cost = cost;
        c->best = *s;
    }
}
