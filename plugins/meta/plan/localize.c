/* One rank's part of a node: its operands, its results and the parameters that change. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

/* Global indices as the owner of one range of rows, or of one in each repetition, sees them, for
 * the node `origin`. */
static int32_t rebased(meta_planner *p, uint32_t rank, int32_t origin, int32_t ids, const meta_strategy *s)
{
    ids = meta_local_contiguous(p, rank, ids);
    if (ids < 0)
        return -1;
    eng_tensor t = p->ranks[rank].tensors[ids];
    int32_t out = meta_local_scratch(p, rank, &t, t.ne);
    eng_node *n = out < 0 ? NULL : meta_local_node(p, rank, ENG_OP_REBASE, meta_node_of(p, origin)->name, origin);

    if (!n)
        return -1;
    n->in[0] = ids;
    n->out[0] = out;
    n->ip[ENG_REBASE_BEGIN] = meta_part_begin(s->part, rank) * s->rebase_inner;
    n->ip[ENG_REBASE_END] = n->ip[ENG_REBASE_BEGIN] + meta_part_length(s->part, rank) * s->rebase_inner;
    n->ip[ENG_REBASE_PERIOD] = s->rebase_repeats ? s->part->extent * s->rebase_inner : 0;
    return out;
}

/* Of a sum of two sums of different ranks, on a rank that has a part of one only: that. */
static bool pass_on(meta_planner *p, uint32_t rank, int32_t origin, const meta_strategy *s, meta_version *const *in,
                    meta_version *out)
{
    const eng_node *global = meta_node_of(p, origin);

    if ((global->op != ENG_OP_ADD && global->op != ENG_OP_SUB) || s->out[0].kind != META_PARTIAL ||
        s->in[0].kind != META_PARTIAL || s->in[1].kind != META_PARTIAL)
        return false;
    uint32_t present = in[0]->local[rank] >= 0 ? 0 : 1;
    if (in[1 - present]->local[rank] >= 0 || in[present]->local[rank] < 0)
        return false;
    const eng_tensor *t = meta_tensor_of(p, global->out[0]);
    int32_t x = meta_local_operand(p, rank, global->in[present], in[present]);
    int32_t y = out->local[rank] = x < 0 ? -1 : meta_local_scratch(p, rank, t, t->ne);
    eng_node *n = y < 0 ? NULL : meta_local_node(p, rank, ENG_OP_SCALE, global->name, origin);
    if (n) {
        n->in[0] = x;
        n->out[0] = y;
        n->fp[ENG_SCALE_S] = present == 1 && global->op == ENG_OP_SUB ? -1 : 1;
    }
    return true;
}

int32_t meta_local_operand(meta_planner *p, uint32_t rank, int32_t value, const meta_version *version)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    int32_t local = version->local[rank];
    int64_t step = meta_type_info(p->device, t->type)->block_bytes;

    if (local >= 0 && t->nb[0] == step && p->ranks[rank].tensors[local].nb[0] != step)
        return meta_local_contiguous(p, rank, local);
    return local;
}

eng_node *meta_local_form(meta_planner *p, uint32_t rank, int32_t origin, const int32_t *operands)
{
    const eng_node *global = meta_node_of(p, origin);
    eng_node *n = meta_local_node(p, rank, global->op, global->name, origin);

    if (!n)
        return NULL;
    memcpy(n->in, operands, sizeof n->in);
    memcpy(n->ip, global->ip, sizeof n->ip);
    memcpy(n->fp, global->fp, sizeof n->fp);
    n->precision = global->precision;
    return n;
}

void meta_local_op(meta_planner *p, uint32_t rank, int32_t origin, const meta_strategy *s, meta_version *const *in,
                   meta_version *const *out)
{
    const eng_node *global = meta_node_of(p, origin);
    int32_t operands[ENG_MAX_INPUTS], results[ENG_MAX_OUTPUTS];
    int64_t ne[ENG_MAX_RANK];

    if (pass_on(p, rank, origin, s, in, out[0]))
        return;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        operands[i] = global->in[i] >= 0 ? meta_local_operand(p, rank, global->in[i], in[i]) : -1;
        if (operands[i] >= 0 && s->rebase == (int)i)
            operands[i] = rebased(p, rank, origin, operands[i], s);
        if (global->in[i] >= 0 && operands[i] < 0 && !meta_failed(p))
            p->status = META_FAIL(p->device, ENG_ERR_INTERNAL,
                                  "%s" ENG_CAUSE "operand %u is missing on %s" ENG_ADVICE
                                  "please report the graph", global->name,
                                  (unsigned)i, p->device->ranks[rank].name);
    }
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++) {
        results[i] = -1;
        if (global->out[i] < 0 || meta_failed(p))
            continue;
        const eng_tensor *t = meta_tensor_of(p, global->out[i]);
        meta_local_ne(&out[i]->place, rank, t->ne, ne);
        results[i] = out[i]->local[rank] = meta_local_scratch(p, rank, t, ne);
    }
    eng_node *n = meta_local_form(p, rank, origin, operands);
    if (!n)
        return;
    memcpy(n->out, results, sizeof results);
    if (global->op == ENG_OP_REPEAT)
        memcpy(&n->ip[ENG_RESHAPE_NE0], p->ranks[rank].tensors[results[0]].ne, sizeof ne);
}
