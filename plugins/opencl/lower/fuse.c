/*
 * Fusion: neighbouring nodes that work element by element, with a norm of rows
 * among them or without, become one launch of kernels/chain.cl.  The text that
 * is special to a chain is written here.
 *
 * Around a norm each node reads the one before.  Without one they only have one shape, and read of one another what they like.
 *
 * The engine has placed memory for ops that run one after the other, so a result
 * may lie where an operand of an earlier op of the chain has been.  That is
 * harmless where both are the same elements at the same addresses, for an element
 * is read before it is written; any other overlap ends the chain.
 */
#include "../host.h"

#include <stdarg.h>

#include "../ops/each.h"
#include "../ops/rows.h"

enum { MOST_STAGES = 8, MOST_OPERANDS = 10, MOST_CONSTANTS = 2 * MOST_STAGES, TEXT = 12000 };

typedef struct stage {
    const eng_node *node;
    uint32_t index;
    int operand[2];   /* of the chain, or -1                                    */
    int from[2];      /* the stage whose value it takes instead, or -1          */
    const char *expression; /* NULL: a norm                                     */
    int constant;     /* first of its two; -1: none                             */
    int keep;         /* operand that its value is stored to, or -1             */
    bool norm;
} stage;

typedef struct chain {
    cl_recorder *r;
    stage stages[MOST_STAGES];
    unsigned n;
    int norm;                       /* its stage, or -1                         */
    unsigned line, line_operands;   /* from here on each stage reads the one before; operands until there */
    int32_t tensor[MOST_OPERANDS];
    bool one[MOST_OPERANDS];        /* one element a row                        */
    bool written[MOST_OPERANDS];
    unsigned n_operands;
    float constant[MOST_CONSTANTS];
    unsigned n_constants;
    char text[TEXT];
    size_t at;
} chain;

/* -- which nodes ------------------------------------------------------------------ */

static const eng_op_info *op_info(const cl_device *device, uint32_t op)
{
    return device->sv->op_info(device->sv->host, op);
}

static bool is_norm(const eng_node *node)
{
    return node->op == ENG_OP_RMS_NORM || node->op == ENG_OP_NORM || node->op == ENG_OP_L2_NORM;
}

/* Of two operands, or of one: not halves of rows. */
static bool fusible(const cl_device *device, const eng_node *node)
{
    const eng_op_info *info = op_info(device, node->op);
    return is_norm(node) || (cl_each_expression(node) && (info->n_in == 1 || node->in[1] >= 0));
}

static int64_t extent(const eng_tensor *t, unsigned d)
{
    return d < t->rank ? t->ne[d] : 1;
}

static bool same_shape(const eng_tensor *a, const eng_tensor *b)
{
    for (unsigned d = 0; d < ENG_MAX_RANK; d++)
        if (extent(a, d) != extent(b, d))
            return false;
    return true;
}

bool cl_in_one_piece(const cl_recorder *r, const eng_tensor *t)
{
    cl_split s;
    return cl_split_of(r->device, r->graph, t, &s) == ENG_OK && s.n == 1;
}

/* -- where memory is --------------------------------------------------------------- */

cl_covered cl_covered_by(const eng_plan_state *plan, int32_t tensor)
{
    const eng_subgraph *g = plan->graph;
    const eng_tensor *t = eng_subgraph_tensor(g, tensor), *root = eng_subgraph_tensor(g, t->root);
    cl_covered e = {.first = t->offset};
    if (root->binding >= 0) {
        e.space = -1 - (int64_t)root->binding;
    } else {
        e.space = plan->slots[t->root].block;
        e.first += plan->slots[t->root].at;
    }
    e.last = e.first + cl_type_bytes(t->type) - 1;
    for (unsigned d = 0; d < t->rank; d++)
        e.last += (uint64_t)((t->ne[d] - 1) * t->nb[d]);
    return e;
}

static bool same_elements(const chain *c, int32_t a, int32_t b)
{
    const eng_tensor *x = eng_subgraph_tensor(c->r->graph, a), *y = eng_subgraph_tensor(c->r->graph, b);
    for (unsigned d = 0; d < ENG_MAX_RANK; d++)
        if (extent(x, d) != extent(y, d) || (extent(x, d) > 1 && x->nb[d] != y->nb[d]))
            return false;
    return cl_covered_by(c->r->plan, a).first == cl_covered_by(c->r->plan, b).first;
}

/* Does what the chain writes leave alone what it reads, or write in place? */
static bool harmless(const chain *c)
{
    for (unsigned w = 0; w < c->n_operands; w++) {
        cl_covered to = cl_covered_by(c->r->plan, c->tensor[w]);
        for (unsigned i = 0; i < c->n_operands && c->written[w]; i++) {
            cl_covered from = cl_covered_by(c->r->plan, c->tensor[i]);
            if (i != w && cl_overlap(&from, &to) && !same_elements(c, c->tensor[w], c->tensor[i]))
                return false;
        }
    }
    return true;
}

/* -- collecting -------------------------------------------------------------------- */

/* Operand number of a tensor, or -1 if it cannot be one. */
static int operand(chain *c, int32_t tensor, const eng_tensor *space, bool written)
{
    const eng_tensor *t = eng_subgraph_tensor(c->r->graph, tensor);
    if (c->n_operands == MOST_OPERANDS || t->type != ENG_TYPE_F32 || cl_elements(t) == 0)
        return -1;
    bool one = extent(t, 0) == 1 && extent(space, 0) != 1;
    if (!one && extent(t, 0) != 1 && t->nb[0] != 4)
        return -1;
    for (unsigned d = 0; d < ENG_MAX_RANK; d++)
        if (extent(t, d) != extent(space, d) && extent(t, d) != 1)
            return -1;
    if (!cl_in_one_piece(c->r, t))
        return -1;
    c->tensor[c->n_operands] = tensor;
    c->one[c->n_operands] = one;
    c->written[c->n_operands] = written;
    return (int)c->n_operands++;
}

/* The stage whose value a tensor is, or -1. */
static int made_by(const chain *c, int32_t tensor)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->stages[i].node->out[0] == tensor)
            return (int)i;
    return -1;
}

/* Is the tensor in memory that a stage writes, but for the value itself?  It would be read before it is there. */
static bool is_view_of_one(const chain *c, int32_t tensor)
{
    const eng_subgraph *g = c->r->graph;
    for (unsigned i = 0; i < c->n; i++)
        if (eng_subgraph_tensor(g, c->stages[i].node->out[0])->root == eng_subgraph_tensor(g, tensor)->root)
            return true;
    return false;
}

/* What the stage takes: operands, and values of stages that have its shape. */
static bool take_operands(chain *c, stage *s, const eng_tensor *out)
{
    for (unsigned i = 0; i < 2; i++) {
        const int32_t in = s->node->in[i];
        s->from[i] = in < 0 ? -1 : made_by(c, in);
        if (s->from[i] >= 0) {
            if ((i > 0 && s->norm) || !same_shape(eng_subgraph_tensor(c->r->graph, in), out))
                return false;
        } else if (in >= 0 && (is_view_of_one(c, in) || (s->operand[i] = operand(c, in, out, false)) < 0)) {
            return false;
        }
    }
    return true;
}

/* Does it read the stage before and no other? */
static bool goes_on(const chain *c, const stage *s)
{
    const int before = (int)c->n - 1;
    bool reads = false, others = false;
    for (unsigned i = 0; i < 2; i++) {
        reads |= s->from[i] == before;
        others |= s->from[i] >= 0 && s->from[i] != before;
    }
    return reads && !others;
}

/* Fills the next stage from its node. */
static bool take(chain *c, const eng_node *node, uint32_t index)
{
    const eng_tensor *out = cl_out(c->r->graph, node, 0);
    stage s = {.node = node, .index = index, .operand = {-1, -1}, .constant = -1, .keep = -1, .norm = is_norm(node)};
    const unsigned saved = c->n_operands;
    if (c->n == MOST_STAGES || !fusible(c->r->device, node) || out->type != ENG_TYPE_F32 || (s.norm && c->norm >= 0) ||
        (node->op == ENG_OP_NORM && node->in[2] >= 0))
        return false;
    s.expression = s.norm ? NULL : cl_each_expression(node);
    const bool good = take_operands(c, &s, out), line = c->n == 0 || goes_on(c, &s);
    if (!good || (!line && (s.norm || c->norm >= 0 || !same_shape(cl_out(c->r->graph, c->stages[0].node, 0), out)))) {
        c->n_operands = saved;
        return false;
    }
    if (!line) {
        c->line = c->n;
        c->line_operands = saved;
    }
    if (s.norm)
        c->norm = (int)c->n;
    c->stages[c->n++] = s;
    return true;
}

/* -- text ---------------------------------------------------------------------------- */

static void put(chain *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(chain *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (c->at < TEXT) {
        int n = vsnprintf(c->text + c->at, TEXT - c->at, format, args);
        c->at += n > 0 ? (size_t)n : 0;
    }
    va_end(args);
}

/* The expression that loads operand i at column c. */
static void put_load(chain *c, int i, unsigned width)
{
    if (c->one[i])
        put(c, "o%d[0]", i);
    else if (width == 16)
        put(c, "vload16(0, o%d + c)", i);
    else
        put(c, "o%d[c]", i);
}

/* The name of a stage's value: one each, or what becomes of one along the line that has a norm. */
static void put_name(chain *c, int i)
{
    if (c->norm >= 0)
        put(c, i < c->norm ? "u" : "v");
    else
        put(c, "v%d", i);
}

/* Operand `which` of a stage: loaded, or a stage's value. */
static void put_operand(chain *c, const stage *s, unsigned which, unsigned width)
{
    if (s->operand[which] >= 0)
        put_load(c, s->operand[which], width);
    else
        put_name(c, s->from[which]);
}

/* One stage: a value is what its function makes of its operands. */
static void put_stage(chain *c, unsigned i, unsigned width)
{
    const stage *s = &c->stages[i];
    const char *vector = width == 16 ? "float16" : "float";
    put(c, " ");
    if (c->norm < 0)
        put(c, "%s ", vector);
    put_name(c, (int)i);
    put(c, " = f%u_%s(", i, vector);
    put_operand(c, s, 0, width);
    put(c, ", ");
    put_operand(c, s, s->node->in[1] >= 0 ? 1 : 0, width);
    if (s->constant >= 0)
        put(c, ", k%d, k%d);", s->constant, s->constant + 1);
    else
        put(c, ", 0.0f, 0.0f);");
}

static void put_store(chain *c, unsigned i, unsigned width)
{
    const int keep = c->stages[i].keep;
    if (keep < 0)
        return;
    if (width == 16)
        put(c, " vstore16(");
    else
        put(c, " o%d[c] = ", keep);
    put_name(c, (int)i);
    if (width == 16)
        put(c, ", 0, o%d + c);", keep);
    else
        put(c, ";");
}

/* Stages from .. to - 1, each followed by the store of what is kept. */
static void put_stages(chain *c, unsigned from, unsigned to, unsigned width, bool stores)
{
    for (unsigned i = from; i < to; i++) {
        put_stage(c, i, width);
        if (stores)
            put_store(c, i, width);
    }
}

static void put_norm(chain *c, unsigned width)
{
    unsigned norm = (unsigned)c->norm;
    const char *vector = width == 16 ? "float16" : "float";
    const stage *s = &c->stages[norm];
    int kept = norm ? c->stages[norm - 1].keep : -1;
    put(c, "#define HEAD%u(u) %s u;", width, vector);
    if (norm == 0) {
        put(c, " u = ");
        put_load(c, s->operand[0], width);
        put(c, ";");
    }
    put_stages(c, 0, norm, width, false);
    /* what comes before the last stage of the head is never kept (see collect) */
    put(c, "\n#define KEEP%u(u)", width);
    if (norm)
        put_store(c, norm - 1, width);
    put(c, "\n#define AGAIN%u(u) %s", width, kept < 0 ? "" : vector);
    if (kept < 0) {
        put(c, "HEAD%u(u)", width);
    } else {
        put(c, " u = ");
        put_load(c, kept, width);
        put(c, ";");
    }
    if (width == 1) { /* the weight apart, so that it can be loaded long before */
        put(c, "\n#define WEIGHT1 ");
        if (s->operand[1] >= 0)
            put_load(c, s->operand[1], width);
        else
            put(c, "1.0f");
        put(c, "\n#define TAIL1(v, w)%s", s->operand[1] >= 0 ? " v = v * (w);" : "");
    } else {
        put(c, "\n#define TAIL%u(v)", width);
        if (s->operand[1] >= 0) {
            put(c, " v = v * ");
            put_load(c, s->operand[1], width);
            put(c, ";");
        }
    }
    put_store(c, norm, width);
    put_stages(c, norm + 1, c->n, width, true);
    put(c, "\n");
}

static void put_functions(chain *c)
{
    put(c, "#include \"row.clh\"\n");
    for (unsigned i = 0; i < c->n; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        int n = c->stages[i].expression && c->at < TEXT
                    ? cl_each_function(c->text + c->at, TEXT - c->at, name, c->stages[i].expression)
                    : 0;
        c->at += n > 0 ? (size_t)n : 0;
    }
}

static void put_all(chain *c)
{
    put_functions(c);
    put(c, "#define BUFFERS(B)");
    for (unsigned i = 0; i < c->n_operands; i++)
        put(c, " B(%s, p%u)", c->written[i] ? "gbytes" : "cbytes", i);
    put(c, "\n#define OPERANDS(N)");
    for (unsigned i = 0; i < c->n_operands; i++)
        put(c, " N(ulong, at%u)", i);
    for (unsigned i = 0; i < c->n_operands; i++)
        put(c, " N(long4, s%u)", i);
    for (unsigned i = 0; i < c->n_constants; i++)
        put(c, " N(float, k%u)", i);
    put(c, "\n#define SETUP");
    for (unsigned i = 0; i < c->n_operands; i++)
        put(c, " %s o%u = (%s)(p%u + at%u + row_at(r, ne, s%u));", c->written[i] ? "fout" : "fin", i,
            c->written[i] ? "fout" : "fin", i, i, i);
    put(c, "\n");
    for (unsigned width = 16; width; width = width == 16 ? 1 : 0) {
        if (c->norm >= 0) {
            put_norm(c, width);
            continue;
        }
        put(c, "#define HEAD%u", width);
        put_stages(c, 0, c->n, width, true);
        put(c, "\n");
    }
}

/* -- recording ------------------------------------------------------------------------ */

/* The walk and the text; false: the chain is too much for one launch. */
static bool prepare(chain *c, cl_walk *w)
{
    const eng_node *last = c->stages[c->n - 1].node;
    cl_walk_begin(w, cl_out(c->r->graph, last, 0));
    for (unsigned i = 0; i < c->n_operands; i++)
        cl_walk_add(w, c->r->graph, c->tensor[i]);
    if (c->norm < 0)
        cl_walk_flatten(c->r, w);
    else
        cl_walk_join(w, 1);
    for (unsigned d = 4; d < ENG_MAX_RANK; d++)
        if (w->ne[d] != 1)
            return false;
    put_all(c);
    return c->at < TEXT;
}

/* Is the chain's text one that the plan has already?  *hash: the text's. */
static bool is_known(const chain *c, cl_hash *hash)
{
    const eng_plan_state *plan = c->r->plan;
    *hash = (cl_hash){1, 2};
    cl_hash_add(hash, c->text, c->at);
    for (uint32_t i = 0; i < plan->n_chains; i++)
        if (plan->chains[i].a == hash->a && plan->chains[i].b == hash->b)
            return true;
    return false;
}

static void note(eng_plan_state *plan, const cl_hash *hash)
{
    if (eu_reserve(plan->chains, plan->chain_room, (size_t)plan->n_chains + 1))
        plan->chains[plan->n_chains++] = *hash;
}

/* Work-items of a card for a row with a norm: of up to eight elements each, which they have in registers (kernels/chain.cl). */
static size_t row_group(const cl_device *device, int64_t columns)
{
    size_t group = cl_group_of(device);
    while (group < 512 && 2 * group <= device->max_group && columns > 8 * (int64_t)group)
        group *= 2;
    return group;
}

static void launch(chain *c, const cl_walk *w)
{
    cl_recorder *r = c->r;
    char options[96];
    const eng_node *norm = c->norm >= 0 ? c->stages[c->norm].node : NULL;
    const size_t group = row_group(r->device, w->ne[0]);
    if (norm && !r->device->vec)
        snprintf(options, sizeof options, "-DNORM=1 %s -DGROUP=%zu",
                 norm->op == ENG_OP_NORM ? "-DMEAN=1" : norm->op == ENG_OP_L2_NORM ? "-DL2=1" : "", group);
    else
        cl_row_options(r->device, options, sizeof options, "%s%s", norm ? "-DNORM=1 " : "",
                       !norm ? "" : norm->op == ENG_OP_NORM ? "-DMEAN=1" : norm->op == ENG_OP_L2_NORM ? "-DL2=1" : "");
    cl_launch_with(r, "chain", "chain", options, c->text);
    for (unsigned i = 0; i < c->n_operands; i++)
        cl_arg_walk(r, w, i);
    for (unsigned i = 0; i < c->n_operands; i++)
        cl_arg_strides(r, w, i);
    for (unsigned i = 0; i < c->n_constants; i++)
        cl_arg_float(r, c->constant[i]);
    if (norm)
        cl_arg_float(r, (float)norm->fp[ENG_NORM_EPS]);
    cl_arg_extents(r, w);
    if (norm && !r->device->vec) {
        cl_arg_int(r, 1);
        cl_size1(r, (uint64_t)(w->ne[1] * w->ne[2] * w->ne[3]) * group, group);
    } else if (norm) {
        cl_each_row(r, w);
    } else {
        cl_each(r, w);
    }
}

/* Does anybody but one stage need the value of stage i? */
static bool is_kept(const chain *c, unsigned i)
{
    const int32_t out = c->stages[i].node->out[0];
    const eng_tensor *t = eng_subgraph_tensor(c->r->graph, out);
    unsigned reader = i + 1;
    while (reader < c->n && c->stages[reader].from[0] != (int)i && c->stages[reader].from[1] != (int)i)
        reader++;
    return reader == c->n || t->root != out || t->binding >= 0 || cl_used_elsewhere(c->r, out, c->stages[reader].node);
}

/* Constants and stores, once the stages are known.  all: what goes into a norm is stored whether it is needed or not. */
static bool complete(chain *c, bool all)
{
    for (unsigned i = 0; i < c->n; i++) {
        stage *s = &c->stages[i];
        const int32_t out = s->node->out[0];
        if (s->expression && op_info(c->r->device, s->node->op)->n_fp > 0) {
            s->constant = (int)c->n_constants;
            c->constant[c->n_constants++] = (float)s->node->fp[0];
            c->constant[c->n_constants++] = (float)s->node->fp[1];
        }
        if (!is_kept(c, i) && !(all && (int)i + 1 == c->norm))
            continue;
        /* the values before a norm's last operand are computed twice: not kept */
        if (c->norm >= 0 && (int)i + 1 < c->norm)
            return false;
        s->keep = operand(c, out, eng_subgraph_tensor(c->r->graph, out), true);
        if (s->keep < 0)
            return false;
    }
    return harmless(c);
}

/* A chain of the first `most` nodes that can be one, from `index` on.  What leads to a norm in a line is a chain of its own. */
static void collect(chain *c, uint32_t index, unsigned most)
{
    const eng_subgraph *g = c->r->graph;
    const eng_node *first = eng_subgraph_node(g, index);
    c->norm = -1;
    for (uint32_t k = index; k < g->n_nodes && c->n < most; k++) {
        const eng_node *node = eng_subgraph_node(g, k);
        if (k > index && cl_is_view(c->r->device, node))
            continue;
        if (c->line > 0 && is_norm(node) && node->in[0] == c->stages[c->n - 1].node->out[0]) {
            c->n = c->line;
            c->n_operands = c->line_operands;
            break;
        }
        if (node->section != first->section || !take(c, node, k))
            break;
    }
}

/* The chain of the first `most` nodes that can be one; false: there is none, and of shorter ones only if it has two stages. */
static bool make(chain *c, cl_recorder *r, uint32_t index, unsigned most, bool all, cl_walk *w)
{
    memset(c, 0, sizeof *c);
    c->r = r;
    collect(c, index, most);
    return c->n >= 2 && complete(c, all) && prepare(c, w);
}

/*
 * A sum that goes into a norm is stored for the next layer's sum, but in the last one: storing it there, too, makes that
 * chain's program one that there is, and a program takes the device's compiler as long as thousands of launches take.
 */
static bool take_known(chain *c, uint32_t index, cl_walk *w)
{
    cl_hash hash;
    cl_walk other;
    chain *all = c->norm > 0 && c->stages[c->norm - 1].keep < 0 ? calloc(1, sizeof *all) : NULL;
    const bool known = all && make(all, c->r, index, c->n, true, &other) && all->n == c->n && is_known(all, &hash);
    if (known) {
        *c = *all;
        *w = other;
    }
    free(all);
    return known;
}

uint32_t cl_fuse(cl_recorder *r, uint32_t index)
{
    uint32_t done = 0;
    chain *c = calloc(1, sizeof *c);
    if (!c)
        return 0; /* slower, not wrong */
    cl_walk w;
    bool made = false;
    for (unsigned most = MOST_STAGES; most >= 2 && !made; most = c->n > 0 ? c->n - 1 : 0)
        made = make(c, r, index, most, false, &w);
    if (made) {
        cl_hash hash;
        if (!is_known(c, &hash) && !take_known(c, index, &w))
            note(r->plan, &hash);
        launch(c, &w);
        done = c->stages[c->n - 1].index - index + 1;
    }
    free(c);
    return done;
}
