/*
 * What products with weights are given, for hosts that want to know which weights count (importance matrices).
 *
 * A pass' graph is built, looked through for products with weights, and built again with their operands kept: the
 * numbers of values do not depend on what is kept.  Nothing else changes, so that logits stay what they are.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

/* The weights that a tensor is, or is a part of; NULL: it is something else. */
static const eng_tensor *weights_of(const eng_subgraph *g, int32_t i)
{
    const eng_tensor *t = eng_subgraph_tensor(g, i);
    while (t && t->binding < 0 && t->root >= 0)
        t = eng_subgraph_tensor(g, t->root);
    return t && t->binding >= 0 && (t->use & ENG_USE_MASK) == ENG_USE_WEIGHT ? t : NULL;
}

/* A part of a stack of experts has a range in its name (weights.c): the stack's name, and the first of the part. */
static int take_name(lm_collected *item, const char *name)
{
    const char *range = strstr(name, "_exps.");
    item->name = strdup(name);
    if (!item->name)
        return eng_fail_code(EU_NO_MEMORY("the name of a tensor"));
    if (range && range[6] >= '0' && range[6] <= '9') {
        item->first = strtoll(range + 6, NULL, 10);
        strcpy(item->name + (range + 5 - name), strrchr(name, '.'));
    }
    return ENG_OK;
}

static int add(eng_lm_context *c, lm_pass *p, const eng_subgraph *g, const eng_node *node)
{
    const bool experts = node->op == ENG_OP_MUL_MAT_ID;
    const eng_tensor *w = weights_of(g, node->in[0]), *x = eng_subgraph_tensor(g, node->in[1]);
    if (!w || !x || x->type != ENG_TYPE_F32)
        return ENG_OK;
    if (!eu_reserve(p->collected, p->collected_room, (size_t)p->n_collected + 1))
        return eng_fail_code(EU_NO_MEMORY("what is collected"));
    lm_collected *item = &p->collected[p->n_collected];
    *item = (lm_collected){.x = node->in[1], .ids = experts ? node->in[2] : ENG_NO_VALUE};
    p->n_collected++;
    memcpy(item->ne, x->ne, sizeof item->ne);
    for (uint32_t i = x->rank; i < 4; i++)
        item->ne[i] = 1;
    item->sets = experts ? c->model->n.n_experts : w->rank > 2 ? w->ne[2] : 1;
    if (experts)
        item->used = eng_subgraph_tensor(g, node->in[2])->ne[0];
    return take_name(item, w->name);
}

int lm_collect_look(eng_lm_context *c, lm_pass *p, const eng_graph *graph)
{
    const eng_subgraph *g = eng_graph_view(graph);
    int status = ENG_OK;
    for (uint32_t i = 0; i < g->n_nodes && !status; i++) {
        const eng_node *node = eng_subgraph_node(g, i);
        if (node->op == ENG_OP_MUL_MAT || node->op == ENG_OP_MUL_MAT_ID)
            status = add(c, p, g, node);
    }
    return status;
}

void lm_collect_keep(const lm_pass *p, eng_graph *g)
{
    for (uint32_t i = 0; i < p->n_collected; i++) {
        eng_graph_keep(g, p->collected[i].x);
        if (p->collected[i].ids != ENG_NO_VALUE)
            eng_graph_keep(g, p->collected[i].ids);
    }
}

void lm_collect_free(lm_pass *p)
{
    for (uint32_t i = 0; i < p->n_collected; i++)
        free(p->collected[i].name);
    free(p->collected);
}

static int read_value(eng_lm_context *c, lm_pass *p, eng_value v, void *to, uint64_t bytes)
{
    eng_fence fence;
    const eng_region out = eng_range(to, 0, bytes);
    int status = eng_instance_read(c->queue, NULL, 0, p->instance, v, &out, 1, &fence);
    return status ? status : eng_fence_wait(fence, UINT64_MAX);
}

/* Each chosen expert is given the token's row, or, of several for each token, its own. */
static void give_experts(eng_lm_context *c, const lm_collected *item, int64_t tokens)
{
    const int64_t columns = item->ne[0], rows = item->ne[1];
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < item->used; i++) {
            const int32_t expert = c->collected_ids[t * item->used + i];
            if (expert >= 0) /* padding, and experts of another part, are -1 */
                c->collect(c->collect_user, item->name, item->first + expert, item->sets,
                           c->collected_rows + (t * rows + (rows > 1 ? i : 0)) * columns, columns, 1);
        }
}

/* Of matrices for single heads each is given its own rows. */
static void give_rows(eng_lm_context *c, const lm_collected *item, int64_t tokens)
{
    const int64_t columns = item->ne[0], of = item->ne[2] / item->sets;
    for (int64_t i = 0; i < item->ne[2] * item->ne[3]; i++)
        c->collect(c->collect_user, item->name, of > 0 ? i % item->ne[2] / of : 0, item->sets,
                   c->collected_rows + i * item->ne[1] * columns, columns, tokens);
}

/* Rows that are no padding: of all tokens or, if these are fewer, of those wanted. */
static int64_t live(const lm_pass *p, int64_t rows, uint32_t n, uint32_t wanted)
{
    if (rows == p->n_out && p->n_out != p->n_tokens)
        return wanted;
    return rows == p->n_tokens ? n : rows;
}

int lm_collect(eng_lm_context *c, lm_pass *p, uint32_t n, uint32_t wanted)
{
    eng_value last = ENG_NO_VALUE, last_ids = ENG_NO_VALUE;
    int status = ENG_OK;
    for (uint32_t i = 0; i < p->n_collected && !status; i++) {
        const lm_collected *item = &p->collected[i];
        const bool experts = item->ids != ENG_NO_VALUE;
        const int64_t all = item->ne[0] * item->ne[1] * item->ne[2] * item->ne[3];
        const int64_t rows = experts ? item->ne[2] : item->ne[1];
        if (!eu_reserve(c->collected_rows, c->collected_rows_room, (size_t)all) ||
            (experts && !eu_reserve(c->collected_ids, c->collected_ids_room, (size_t)(item->used * rows))))
            return eng_fail_code(EU_NO_MEMORY("what is collected"));
        if (item->x != last) /* several matrices are given the same */
            status = read_value(c, p, last = item->x, c->collected_rows, (uint64_t)all * sizeof(float));
        if (!status && experts && item->ids != last_ids)
            status = read_value(c, p, last_ids = item->ids, c->collected_ids,
                                (uint64_t)(item->used * rows) * sizeof(int32_t));
        if (!status && experts)
            give_experts(c, item, live(p, rows, n, wanted));
        else if (!status)
            give_rows(c, item, live(p, rows, n, wanted));
    }
    return status;
}
