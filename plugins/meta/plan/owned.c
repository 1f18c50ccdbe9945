/*
 * Experts dealt out to the ranks: the result of a mul_mat_id cut along its experts is more
 * than a partial sum.  In the slot (u, t) the rank that owns expert ids[u,t] holds the value
 * and all others hold zeros: the slot is *owned*.  What works slot by slot and makes zeros
 * of zeros leaves it so, however little linear it is, and another mul_mat_id of the same
 * experts by the same ids takes it as it is, for no rank looks at slots that it does not
 * own.  So a block of experts needs one reduction, at its end.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <string.h>

#include "planner.h"

/* As the value is first held, if its slots are owned. */
static const meta_place *owned(meta_planner *p, int32_t value)
{
    const meta_version *v = value >= 0 ? meta_versions(p, value) : NULL;
    return v && v->place.kind == META_PARTIAL && v->place.owner ? &v->place : NULL;
}

static bool same_slots(const eng_tensor *a, const eng_tensor *b)
{
    return memcmp(&a->ne[1], &b->ne[1], (ENG_MAX_RANK - 1) * sizeof *a->ne) == 0;
}

/* Does the op, slot by slot, make zeros of the zeros in the operands of `set`?  A quotient does
 * not: the divisor may be zero. */
static bool keeps_zero(const eng_node *n, uint32_t set)
{
    switch (n->op) {
    case ENG_OP_UNARY:
        return meta_function_is(n, ENG_FUNCTION_ZERO);
    case ENG_OP_GLU: /* f(0) = 0 for all kinds; with a negative limit 0 is cut down */
        return (set & 1u) && (n->ip[ENG_GLU_KIND] != ENG_GLU_SWIGLU_OAI || n->fp[ENG_GLU_LIMIT] >= 0);
    case ENG_OP_MUL: /* but by an infinite factor, such as no router's weights are: NaN for inf */
        return true;
    case ENG_OP_ADD:
    case ENG_OP_SUB:
        return set == 3;
    case ENG_OP_SCALE:
        return n->fp[ENG_SCALE_B] == 0 && isfinite(n->fp[ENG_SCALE_S]);
    case ENG_OP_RMS_NORM:
    case ENG_OP_L2_NORM:
        return set == 1 && n->fp[ENG_NORM_EPS] > 0;
    case ENG_OP_HADAMARD:
        return true;
    default:
        return false;
    }
}

bool meta_owned_apply(meta_planner *p, const eng_node *node, meta_strategy *s)
{
    const meta_place *place = NULL;
    uint32_t set = 0;

    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        const meta_place *own = owned(p, node->in[i]);
        if (!own || (place && !meta_place_equal(own, place)))
            continue;
        place = own;
        set |= 1u << i;
    }
    if (!place || node->out[0] < 0 || node->out[1] >= 0 || !keeps_zero(node, set))
        return false;
    const eng_tensor *out = meta_tensor_of(p, node->out[0]);
    if (out->type != ENG_TYPE_F32)
        return false;
    memset(s, 0, sizeof *s);
    s->rebase = -1;
    s->ranks = place->ranks;
    s->out[0] = *place;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        s->in[i] = set >> i & 1u ? *place : meta_place_replicated();
        if ((set >> i & 1u) && !same_slots(meta_tensor_of(p, node->in[i]), out))
            return false;
    }
    return true;
}

void meta_owned_result(const eng_node *node, meta_strategy *s)
{
    if (node->op != ENG_OP_MUL_MAT_ID || s->rebase < 0 || s->out[0].kind != META_PARTIAL)
        return;
    s->out[0].owner = node->in[s->rebase] + 1;
    s->out[0].owners = s->part;
    s->out[0].owner_inner = s->rebase_inner;
}

bool meta_owned_operand(meta_planner *p, const eng_node *node, meta_strategy *s)
{
    const meta_place *have = owned(p, node->in[1]);

    if (!have || !s->out[0].owner || !meta_place_equal(have, &s->out[0]))
        return false;
    const eng_tensor *b = meta_tensor_of(p, node->in[1]), *ids = meta_tensor_of(p, node->in[s->rebase]);
    if (b->ne[1] != ids->ne[0] || b->ne[2] != ids->ne[1])
        return false;
    s->in[1] = *have;
    return true;
}
