/*
 * What is done to the rows of heads between products and attention - norms, rope, Hadamard transforms, storing in a cache -
 * for queries, keys and values becomes one launch of kernels/heads.cl.
 *
 * A line is a chain of such nodes, each of which reads what the one before wrote and nobody else reads; its steps come
 * in the order norm, scale, rope, Hadamard, set_rows.  Lines of the same tokens stand side by side.  Work-items see
 * rows in any order, so no line may write what another reads.
 */
#include "../host.h"

#include "../ops/hot.h"
#include "../ops/rope.h"
#include "../ops/rows.h"

enum { MOST = 3, MOST_ELEMENTS = 512 }; /* lines (as kernels/heads.cl); of a row */
enum { NORM, SCALE, ROPE, TURN, INTO, STEPS };

typedef struct line {
    const eng_node *step[STEPS];
    int32_t from, end;            /* tensors                                    */
    int64_t elements, heads, tokens;
    int64_t head, token;          /* strides of `from`                          */
} line;

typedef struct heads {
    cl_recorder *r;
    line lines[MOST];
    unsigned n, nodes;
    const eng_node *step[STEPS];  /* of any line: what they have in common      */
} heads;

/* Which step a node is; STEPS: none. */
static unsigned step_of(const eng_node *node)
{
    switch (node->op) {
    case ENG_OP_RMS_NORM: return NORM;
    case ENG_OP_SCALE: return node->fp[1] == 0 ? SCALE : STEPS;
    case ENG_OP_ROPE: return ROPE;
    case ENG_OP_HADAMARD: return node->ip[ENG_HADAMARD_GROUP] >= 16 ? TURN : STEPS;
    case ENG_OP_SET_ROWS: return INTO;
    default: return STEPS;
    }
}

static const eng_tensor *tensor(const heads *h, int32_t index)
{
    return eng_subgraph_tensor(h->r->graph, index);
}

static bool one_piece(const heads *h, int32_t index)
{
    return index < 0 || cl_in_one_piece(h->r, tensor(h, index));
}

/* -- lines ------------------------------------------------------------------------- */

/* A line that begins with the node: rows of x, or, where it stores them, [elements, tokens, heads]. */
static bool begin(const heads *h, line *l, const eng_node *node, unsigned step)
{
    const int32_t from = node->in[step == INTO];
    const eng_tensor *x = tensor(h, from);
    const unsigned head = step == INTO ? 2 : 1, token = step == INTO ? 1 : 2;
    if (step == SCALE || x->type != ENG_TYPE_F32 || x->nb[0] != 4 || cl_ne(x, 3) != 1 || cl_elements(x) == 0 ||
        cl_ne(x, 0) > MOST_ELEMENTS)
        return false;
    *l = (line){.from = from, .end = from, .elements = cl_ne(x, 0), .heads = cl_ne(x, head), .tokens = cl_ne(x, token),
                .head = cl_nb(x, head), .token = cl_nb(x, token)};
    return true;
}

static bool same_stride(const eng_tensor *a, unsigned da, const eng_tensor *b, unsigned db)
{
    return cl_ne(a, da) == cl_ne(b, db) && (cl_ne(a, da) == 1 || cl_nb(a, da) == cl_nb(b, db));
}

/* Is the node's operand what the line ends with, as it is or, where it is stored, with heads and tokens exchanged? */
static bool goes_on(const heads *h, const line *l, const eng_node *node, unsigned step)
{
    const eng_tensor *x = tensor(h, node->in[step == INTO]), *end = tensor(h, l->end);
    return x->root == end->root && x->offset == end->offset && cl_ne(x, 3) == 1 && same_stride(x, 0, end, 0) &&
           same_stride(x, 1, end, step == INTO ? 2 : 1) && same_stride(x, 2, end, step == INTO ? 1 : 2);
}

/* Reads an operand of the node, `but` one, what a line of this launch makes? */
static bool reads_result(const heads *h, const eng_node *node, unsigned but)
{
    for (unsigned i = 0; i < h->n; i++)
        for (unsigned k = 0; k < ENG_MAX_INPUTS; k++)
            if (k != but && node->in[k] >= 0 && h->lines[i].end != h->lines[i].from &&
                tensor(h, node->in[k])->root == tensor(h, h->lines[i].end)->root)
                return true;
    return false;
}

/* Has the node what its step needs, and what the lines have in common? */
static bool suits(const heads *h, const eng_node *node, unsigned step)
{
    const eng_node *first = h->step[step];
    if (step == ROPE)
        return !first || (first->in[1] == node->in[1] && first->in[2] == node->in[2] &&
                          !memcmp(first->ip, node->ip, sizeof node->ip) && !memcmp(first->fp, node->fp, sizeof node->fp) &&
                          cl_ne(tensor(h, first->in[0]), 0) == cl_ne(tensor(h, node->in[0]), 0));
    if (step == TURN)
        return !first || first->ip[ENG_HADAMARD_GROUP] == node->ip[ENG_HADAMARD_GROUP];
    if (step == INTO) {
        const eng_tensor *a = tensor(h, node->in[0]), *ids = tensor(h, node->in[2]);
        return (!first || first->in[2] == node->in[2]) && cl_encodes_32(a->type) && a->layout == 0 && cl_ne(a, 3) == 1 &&
               cl_ne(ids, 1) == 1 && cl_ne(ids, 2) == 1;
    }
    return true;
}

/* -- memory ------------------------------------------------------------------------ */

/* What a line writes. */
static int32_t target(const line *l)
{
    return l->step[INTO] ? l->step[INTO]->in[0] : l->end;
}

static bool overlaps(const heads *h, int32_t a, int32_t b)
{
    cl_covered x = cl_covered_by(h->r->plan, a), y = cl_covered_by(h->r->plan, b);
    return cl_overlap(&x, &y);
}

/* A line in place: the same rows at the same addresses. */
static bool in_place(const heads *h, const line *l)
{
    const eng_tensor *x = tensor(h, l->from), *y = tensor(h, l->end);
    return !l->step[INTO] && cl_covered_by(h->r->plan, l->from).first == cl_covered_by(h->r->plan, l->end).first &&
           same_stride(x, 0, y, 0) && same_stride(x, 1, y, 1) && same_stride(x, 2, y, 2);
}

static bool harmless(const heads *h)
{
    for (unsigned w = 0; w < h->n; w++) {
        const line *writer = &h->lines[w];
        const int32_t to = target(writer);
        for (unsigned i = 0; i < h->n; i++) {
            const line *l = &h->lines[i];
            if (overlaps(h, to, l->from) && !(i == w && in_place(h, l)))
                return false;
            if (i != w && overlaps(h, to, target(l)))
                return false;
            for (unsigned s = 0; s < STEPS; s++)
                for (unsigned k = 1; k < ENG_MAX_INPUTS && l->step[s]; k++)
                    if (l->step[s]->in[k] >= 0 && !(s == INTO && k == 1) && overlaps(h, to, l->step[s]->in[k]))
                        return false;
        }
    }
    return true;
}

/* -- collecting --------------------------------------------------------------------- */

/* The node as a further step of a line, or as the begin of one. */
static bool add(heads *h, const eng_node *node)
{
    const unsigned step = step_of(node);
    if (step == STEPS || !suits(h, node, step))
        return false;
    for (unsigned k = 0; k < ENG_MAX_INPUTS; k++)
        if (!one_piece(h, node->in[k]))
            return false;
    line *l = NULL;
    for (unsigned i = 0; i < h->n && !l; i++)
        if (!h->lines[i].step[INTO] && h->lines[i].end != h->lines[i].from && goes_on(h, &h->lines[i], node, step))
            l = &h->lines[i];
    if (l) {
        for (unsigned s = step; s < STEPS; s++)
            if (l->step[s])
                return false;
        if (cl_used_elsewhere(h->r, tensor(h, l->end)->root, node) || reads_result(h, node, step == INTO))
            return false;
    } else {
        if (h->n == MOST || reads_result(h, node, ENG_MAX_INPUTS) || !begin(h, &h->lines[h->n], node, step) ||
            (h->n && h->lines[h->n].tokens != h->lines[0].tokens))
            return false;
        l = &h->lines[h->n++];
    }
    l->step[step] = node;
    h->step[step] = h->step[step] ? h->step[step] : node;
    if (step != INTO)
        l->end = node->out[0];
    h->nodes++;
    return step == INTO || one_piece(h, l->end);
}

/* As many nodes from `index` on as can be, *last the last of them.  What is not harmless may become so: a value for which
 * the engine has placed memory goes into a cache at once when its line gets that step. */
static void collect(heads *h, uint32_t index, uint32_t *last)
{
    const eng_subgraph *g = h->r->graph;
    const int32_t section = eng_subgraph_node(g, index)->section;
    heads best = *h;
    for (uint32_t k = index; k < g->n_nodes; k++) {
        const eng_node *node = eng_subgraph_node(g, k);
        if (k > index && cl_is_view(h->r->device, node))
            continue;
        if (node->section != section || !add(h, node))
            break;
        if (harmless(h)) {
            best = *h;
            *last = k;
        }
    }
    *h = best;
}

/* -- recording ---------------------------------------------------------------------- */

/* Work-items for a row. */
static size_t items_of(const heads *h)
{
    return h->r->device->vec ? 1 : cl_group_of(h->r->device);
}

static void write_options(const heads *h, const cl_rope *rope, char *text, size_t bytes)
{
    char common[CL_ROPE_OPTIONS] = "";
    int64_t most = 0;
    size_t at;
    if (h->step[ROPE])
        cl_rope_options(h->step[ROPE], rope, common);
    at = (size_t)snprintf(text, bytes, "-DLINES=%u %s-DANGLES=%d -DPAIRS=%lld -DG=%lld", h->n, common, h->step[ROPE] != NULL,
                          (long long)rope->pairs, h->step[TURN] ? (long long)h->step[TURN]->ip[ENG_HADAMARD_GROUP] : 1);
    if (h->step[INTO] && tensor(h, h->step[INTO]->in[2])->type == ENG_TYPE_I64)
        at += (size_t)snprintf(text + at, bytes - at, " -DWIDE");
    for (unsigned i = 0; i < h->n; i++) {
        const line *l = &h->lines[i];
        most = cl_max(most, l->elements);
        at += (size_t)snprintf(text + at, bytes - at, " -DD%u=%lld -DNORM%u=%d -DROPE%u=%d -DTURN%u=%d -DINTO%u=%d -DTO%u=%s",
                               i, (long long)l->elements, i, !l->step[NORM] ? 0 : l->step[NORM]->in[1] >= 0 ? 2 : 1, i,
                               l->step[ROPE] != NULL, i, l->step[TURN] != NULL, i, l->step[INTO] != NULL, i,
                               l->step[INTO] ? cl_type_name(tensor(h, l->step[INTO]->in[0])->type) : "f32");
    }
    snprintf(text + at, bytes - at, " -DMOST=%lld -DLOCAL=%zu", (long long)most, items_of(h));
}

static void give(cl_recorder *r, int32_t tensor)
{
    if (tensor >= 0)
        cl_arg_tensor(r, tensor, 0);
    else
        cl_arg_none(r);
}

/* The line's numbers as LINE_NUMBERS of kernels/heads.cl has them. */
static void give_line(const heads *h, const line *l)
{
    cl_recorder *r = h->r;
    const eng_tensor *to = tensor(h, target(l));
    const bool into = l->step[INTO] != NULL;
    give(r, l->from);
    give(r, l->step[NORM] ? l->step[NORM]->in[1] : -1);
    give(r, target(l));
    cl_arg_long4(r, (int64_t[4]){l->head, l->token, cl_nb(to, into ? 2 : 1), cl_nb(to, into ? 1 : 2)});
    cl_arg_long(r, into ? cl_ne(to, 1) : l->tokens);
    cl_arg_int(r, (int32_t)l->heads);
    cl_arg_float(r, l->step[NORM] ? (float)l->step[NORM]->fp[ENG_NORM_EPS] : 0.0f);
    cl_arg_float(r, l->step[SCALE] ? (float)l->step[SCALE]->fp[0] : 1.0f);
}

static void launch(const heads *h)
{
    cl_recorder *r = h->r;
    const eng_node *const *s = h->step;
    cl_rope rope = {.pairs = 1};
    char options[640];
    int64_t rows = 0;
    if (s[ROPE] && cl_rope_prepare(r, s[ROPE], &rope) != ENG_OK)
        return;
    write_options(h, &rope, options, sizeof options);
    cl_launch(r, "heads", "heads", options);
    give(r, s[ROPE] ? s[ROPE]->in[1] : -1);
    give(r, s[ROPE] ? s[ROPE]->in[2] : -1);
    if (s[ROPE])
        cl_arg_constant(r, rope.table);
    else
        cl_arg_none(r);
    give(r, s[INTO] ? s[INTO]->in[2] : -1);
    cl_arg_long(r, rope.step);
    cl_arg_long(r, rope.stream);
    cl_arg_long(r, s[INTO] ? cl_nb(tensor(h, s[INTO]->in[2]), 0) : 0);
    for (unsigned i = 0; i < h->n; i++)
        rows += h->lines[i].heads;
    const int64_t tokens = h->lines[0].tokens, share = rows * tokens / (8 * (int64_t)r->device->compute_units) + 1;
    const int64_t least = 2048 / h->lines[0].elements + 1, each = r->device->vec ? cl_min(rows, cl_max(share, least)) : 1;
    const int64_t parts = cl_ceil(rows, each);
    cl_arg_long(r, rows);
    cl_arg_long(r, parts);
    cl_arg_long(r, each);
    cl_arg_int(r, s[ROPE] ? (int32_t)s[ROPE]->ip[ENG_ROPE_OFFSET] : 0);
    cl_arg_int(r, s[ROPE] ? (int32_t)rope.pairs : 0);
    cl_arg_int(r, (int32_t)rope.distance);
    cl_arg_float(r, rope.scale);
    cl_arg_float(r, s[ROPE] && s[ROPE]->ip[ENG_ROPE_INVERSE] ? -1.0f : 1.0f);
    cl_arg_float(r, s[TURN] ? (float)(1.0 / __builtin_sqrt((double)s[TURN]->ip[ENG_HADAMARD_GROUP])) : 1.0f);
    for (unsigned i = 0; i < h->n; i++)
        give_line(h, &h->lines[i]);
    cl_size1(r, (uint64_t)(tokens * parts) * items_of(h), items_of(h));
}

uint32_t cl_fuse_heads(cl_recorder *r, uint32_t index)
{
    heads h = {.r = r};
    uint32_t last = index;
    collect(&h, index, &last);
    if (h.nodes < 2)
        return 0;
    launch(&h);
    return last - index + 1;
}
