/*
 * Rules by letters.  An operand's cut is found in one letter of the op's row;
 * the letter's class says what that means, and every operand and result with
 * the letter is cut alike.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "libengine/util/util.h"
#include "rule.h"

bool meta_place_equal(const meta_place *a, const meta_place *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case META_SHARDED:
        return meta_cut_equal(&a->cut, &b->cut);
    case META_PARTIAL:
        return a->ranks == b->ranks && a->owner == b->owner &&
               (!a->owner || (a->owners == b->owners && a->owner_inner == b->owner_inner));
    case META_SINGLE:
        return a->rank == b->rank;
    default:
        return true;
    }
}

bool meta_rule_linear(const eng_op_info *op, const eng_node *node, uint32_t partial)
{
    uint32_t present = 0;

    for (uint32_t i = 0; i < op->n_in; i++)
        if (node->in[i] >= 0)
            present |= 1u << i;
    if (op->linear_together)
        return partial == (present & 3u);
    if (node->op == ENG_OP_SCALE)
        return partial == 1 && node->fp[ENG_SCALE_B] == 0;
    /* linear in each alone: exactly one of the operands may be partial */
    if (partial & (partial - 1))
        return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (partial == 1u << i)
            return op->in[i].linear && !op->in[i].inout;
    return false;
}

/* -- letters ------------------------------------------------------------------ */

typedef struct letters {
    const eng_services *services;
    const eng_op_info *op;
    const eng_subgraph *graph;
    const eng_node *node;
    int64_t extent[ENG_MAX_LETTERS];
} letters;

/* A dimension of the rule as this node means it: with grouped heads the products
 * of gated_delta_net are in the other order. */
static eng_rule_dim rule_dim(const letters *l, const eng_rule_operand *o, uint32_t d)
{
    eng_rule_dim rd = o->dims[d];
    if (l->node->op == ENG_OP_GATED_DELTA_NET && l->node->ip[ENG_GDN_GROUPED] && rd.n_letters == 2) {
        uint8_t t = rd.letters[0];
        rd.letters[0] = rd.letters[1];
        rd.letters[1] = t;
    }
    return rd;
}

/* The extents of a node's operands and results; NULL where there is none. */
static void shapes_of(const eng_subgraph *graph, const int32_t *tensors, uint32_t n, const int64_t **ne)
{
    for (uint32_t i = 0; i < n; i++)
        ne[i] = tensors[i] >= 0 ? eng_subgraph_tensor(graph, tensors[i])->ne : NULL;
}

static void learn_extents(letters *l)
{
    const int64_t *in[ENG_MAX_INPUTS], *out[ENG_MAX_OUTPUTS];

    shapes_of(l->graph, l->node->in, ENG_MAX_INPUTS, in);
    shapes_of(l->graph, l->node->out, ENG_MAX_OUTPUTS, out);
    eu_rule_bind(l->op, in, out, l->extent);
}

static bool all_agree(const letters *l, const eng_rule_operand *rules, const int32_t *tensors, uint32_t n)
{
    int64_t want;

    for (uint32_t i = 0; i < n; i++)
        if (tensors[i] >= 0 &&
            eu_rule_disagrees(&rules[i], eng_subgraph_tensor(l->graph, tensors[i])->ne, l->extent, &want) >= 0)
            return false;
    return true;
}

bool meta_rule_agrees(const eng_services *services, const eng_subgraph *graph, const eng_node *node)
{
    letters l = {.services = services, .op = services->op_info(services->host, node->op), .graph = graph, .node = node};

    if (!l.op || (l.op->flags & ENG_OPF_FOLLOW))
        return l.op != NULL;
    learn_extents(&l);
    return all_agree(&l, l.op->in, node->in, l.op->n_in) && all_agree(&l, l.op->out, node->out, l.op->n_out);
}

/* The letter that a cut of dimension cut->dim of an operand lies in; -1: none. */
static int find_letter(const letters *l, const eng_rule_operand *o, const meta_cut *cut, meta_cut *letter)
{
    eng_rule_dim rd = rule_dim(l, o, cut->dim);
    int64_t extents[3];

    if (!rd.n_letters || rd.letters[0] == ENG_LETTER_PRIVATE)
        return -1;
    for (uint32_t j = 0; j < rd.n_letters; j++)
        extents[j] = l->extent[rd.letters[j]];
    int at = meta_cut_to_letter(cut, extents, rd.n_letters, letter);
    return at < 0 ? -1 : rd.letters[at];
}

enum { CUT_NONE, CUT_YES, CUT_IMPOSSIBLE };

/* How an operand or result with the letter cut is cut itself. */
static int cut_operand(const letters *l, const eng_rule_operand *o, int32_t tensor, int letter, const meta_cut *lcut,
                       meta_cut *cut)
{
    const eng_tensor *t = eng_subgraph_tensor(l->graph, tensor);
    const eng_type_info *type = l->services->type_info(l->services->host, t->type);
    const int64_t *ne = t->ne;
    int found = type ? CUT_NONE : CUT_IMPOSSIBLE;

    for (uint32_t d = 0; type && d < ENG_MAX_RANK; d++) {
        eng_rule_dim rd = rule_dim(l, o, d);
        int64_t extents[3];
        int at = -1;
        for (uint32_t j = 0; j < rd.n_letters; j++) {
            extents[j] = rd.letters[j] == ENG_LETTER_PRIVATE ? ne[d] : l->extent[rd.letters[j]];
            if (rd.letters[j] == letter)
                at = (int)j;
        }
        if (at < 0 || (rd.broadcast && ne[d] == 1))
            continue;
        if (found != CUT_NONE || !meta_cut_from_letter(lcut, extents, rd.n_letters, (uint32_t)at, d, cut) ||
            meta_cut_full(cut) != ne[d] || !meta_cut_aligned(cut, type->block))
            return CUT_IMPOSSIBLE;
        found = CUT_YES;
    }
    return found;
}

/* -- classes ------------------------------------------------------------------- */

/* What a cut of this letter means for this node: its class, but for the cases in
 * which the parameters decide. */
static uint8_t class_of(const letters *l, int letter, const meta_cut *cut)
{
    uint8_t class = l->op->letter_class[letter];
    const eng_node *n = l->node;

    /* heads are numbered in the slopes of ALiBi: a shard would count anew */
    if (n->op == ENG_OP_ATTENTION && n->fp[ENG_ATTN_MAX_BIAS] > 0 && class == ENG_CLASS_PASS &&
        strcmp(l->op->letter_name[letter], "t") != 0)
        return ENG_CLASS_WHOLE;
    if (n->op == ENG_OP_SOFT_MAX && n->fp[ENG_SOFT_MAX_MAX_BIAS] > 0 &&
        strcmp(l->op->letter_name[letter], "h") == 0)
        return ENG_CLASS_WHOLE;
    /* groups inside longer rows do not see one another */
    if (n->op == ENG_OP_HADAMARD && class == ENG_CLASS_WHOLE) {
        for (uint32_t s = 0; s < cut->n_segs; s++)
            if (n->ip[ENG_HADAMARD_GROUP] < 1 || cut->segs[s].inner % n->ip[ENG_HADAMARD_GROUP])
                return class;
        return ENG_CLASS_PASS;
    }
    return class;
}

/* The rows of a rank as ranges of every period: not in segments of different periods. */
static bool take_ranges(const meta_cut *lcut, meta_strategy *s)
{
    s->rebase_inner = lcut->segs[0].inner;
    s->rebase_repeats = lcut->segs[0].outer > 1;
    return lcut->n_segs == 1;
}

/* Ranks attend to ranges of the cells: not if they are found by a table, or if the host
 * itself wants the denominators, or has taken its cells in runs of which a range is none. */
static bool merge_strategy(const letters *l, const meta_cut *lcut, meta_strategy *s)
{
    const eng_node *n = l->node;

    if (n->op != ENG_OP_ATTENTION || n->in[ENG_ATTN_IN_TABLE] >= 0 || n->ip[ENG_ATTN_LSE] || n->ip[ENG_ATTN_PERIOD] > 0)
        return false;
    s->merge = true;
    return take_ranges(lcut, s);
}

/* Indices of cut ranges of rows: the operand "ids" is rebased. */
static bool index_strategy(const letters *l, const meta_cut *lcut, meta_strategy *s)
{
    for (uint32_t i = 0; i < l->op->n_in; i++) {
        if (strcmp(l->op->in[i].name, "ids") != 0)
            continue;
        if (eng_subgraph_tensor(l->graph, l->node->in[i])->type != ENG_TYPE_I32)
            return false;
        s->rebase = (int)i;
        return take_ranges(lcut, s);
    }
    return false;
}

static bool partial_results(const letters *l, meta_strategy *s)
{
    for (uint32_t i = 0; i < l->op->n_out; i++) {
        if (l->node->out[i] < 0)
            continue;
        if (eng_subgraph_tensor(l->graph, l->node->out[i])->type != ENG_TYPE_F32)
            return false;
        s->out[i] = (meta_place){.kind = META_PARTIAL, .ranks = s->ranks};
    }
    return true;
}

/* -- the strategy ---------------------------------------------------------------- */

/* Operands without the letter are whole. */
static bool cut_operands(const letters *l, int letter, const meta_cut *lcut, meta_strategy *s)
{
    meta_cut own;

    for (uint32_t i = 0; i < l->op->n_in; i++) {
        if (l->node->in[i] < 0)
            continue;
        int how = cut_operand(l, &l->op->in[i], l->node->in[i], letter, lcut, &own);
        if (how == CUT_IMPOSSIBLE)
            return false;
        s->in[i] = how == CUT_YES ? meta_place_sharded(&own) : meta_place_replicated();
    }
    return true;
}

static bool cut_results(const letters *l, int letter, const meta_cut *lcut, meta_strategy *s)
{
    meta_cut own;

    for (uint32_t i = 0; i < l->op->n_out; i++) {
        if (l->node->out[i] < 0)
            continue;
        if (cut_operand(l, &l->op->out[i], l->node->out[i], letter, lcut, &own) != CUT_YES)
            return false;
        s->out[i] = meta_place_sharded(&own);
    }
    return true;
}

static bool follow_class(const letters *l, int letter, const meta_cut *lcut, meta_strategy *s)
{
    switch (class_of(l, letter, lcut)) {
    case ENG_CLASS_PASS:
        return cut_results(l, letter, lcut, s);
    case ENG_CLASS_REDUCE:
        return partial_results(l, s);
    case ENG_CLASS_INDEX:
        return index_strategy(l, lcut, s) && partial_results(l, s);
    case ENG_CLASS_LSE:
        return merge_strategy(l, lcut, s) && partial_results(l, s);
    case ENG_CLASS_SUMSQ:
        s->lengths = true;
        return cut_results(l, letter, lcut, s);
    default:
        return false;
    }
}

bool meta_rule_apply(const eng_services *services, const eng_subgraph *graph, const eng_node *node, uint32_t which,
                     const meta_cut *cut, const meta_cut *const *have, meta_strategy *strategy)
{
    letters l = {.services = services, .op = services->op_info(services->host, node->op), .graph = graph, .node = node};
    meta_cut lcut;

    if (!l.op || which >= l.op->n_in || !cut->n_segs)
        return false;
    memset(strategy, 0, sizeof *strategy);
    strategy->rebase = -1;
    strategy->part = cut->part;
    strategy->ranks = meta_part_mask(cut->part);
    if (l.op->flags & ENG_OPF_FOLLOW)
        return meta_follow_apply(services, graph, node, which, cut, have, strategy);
    learn_extents(&l);
    int letter = find_letter(&l, &l.op->in[which], cut, &lcut);
    return letter >= 0 && cut_operands(&l, letter, &lcut, strategy) && follow_class(&l, letter, &lcut, strategy);
}
