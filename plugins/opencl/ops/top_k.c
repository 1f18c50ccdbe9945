/*
 * top_k, and argmax with k = 1.  A small k: chosen one after the other (kernels/top_k.cl), in chunks and then among the
 * chunks' candidates; the time grows with n k.  A larger one: the row is sorted.
 */
#include "rows.h"
#include "sort.h"

enum { CHUNK = 8192, MOST_CHOSEN = 64, MOST_FROM_CHUNKS = 512 };

typedef struct pass {
    bool indexed, last;
    int64_t ne[4], nb[4]; /* rows that it reads                                */
    int64_t chunk, chunks, k;
    uint64_t values, indices; /* temporary memory that it writes               */
    uint64_t from_values, from_indices;
} pass;

static void launch(cl_recorder *r, const cl_walk *w, const pass *p)
{
    char options[96];
    size_t group = r->device->vec ? 1 : cl_group_of(r->device);
    cl_row_options(r->device, options, sizeof options, "%s%s%s", r->node->op == ENG_OP_ARGMAX ? "-DARGMAX=1 " : "",
                   p->indexed ? "-DINDEXED=1 " : "", p->last ? "-DLAST=1" : "");
    cl_launch(r, "top_k", "top_k", options);
    if (p->indexed) {
        cl_arg_temporary(r, p->from_values);
        cl_arg_temporary(r, p->from_indices);
    } else {
        cl_arg_walk(r, w, 0);
        cl_arg_none(r);
    }
    if (p->last) {
        cl_arg_none(r);
        cl_arg_walk(r, w, 1);
    } else {
        cl_arg_temporary(r, p->values);
        cl_arg_temporary(r, p->indices);
    }
    cl_arg_long4(r, p->ne);
    cl_arg_long4(r, p->nb);
    cl_arg_int(r, (int32_t)p->chunk);
    cl_arg_int(r, (int32_t)p->chunks);
    cl_arg_int(r, (int32_t)p->k);
    cl_size1(r, (uint64_t)(p->ne[1] * p->ne[2] * p->ne[3] * p->chunks) * group, group);
}

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    int64_t n = w->ne[0], k = *(const int64_t *)ctx, rows = w->ne[1] * w->ne[2] * w->ne[3];
    int64_t chunks = (n + CHUNK - 1) / CHUNK;
    pass p = {.last = true, .ne = {n, w->ne[1], w->ne[2], w->ne[3]}, .chunk = n, .chunks = 1, .k = k};
    memcpy(p.nb, w->nb[0], sizeof p.nb);
    if (chunks > 1 && k <= MOST_FROM_CHUNKS) {
        p.last = false;
        p.chunk = CHUNK;
        p.chunks = chunks;
        p.values = cl_temporary(r, (uint64_t)(rows * chunks * k) * 4);
        p.indices = cl_temporary(r, (uint64_t)(rows * chunks * k) * 4);
        launch(r, w, &p);
        pass merge = {.indexed = true, .last = true, .ne = {chunks * k, rows, 1, 1}, .nb = {4, chunks * k * 4, 0, 0},
                      .chunk = chunks * k, .chunks = 1, .k = k, .from_values = p.values, .from_indices = p.indices};
        p = merge;
    }
    launch(r, w, &p);
}

static int64_t k_of(const eng_node *node)
{
    return node->op == ENG_OP_TOP_K ? node->ip[ENG_TOP_K_K] : 1;
}

eng_support cl_top_k_supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason,
                              size_t bytes)
{
    const eng_tensor *x = cl_in(g, node, 0);
    const int64_t n = x->ne[0], k = k_of(node);
    if (n >= INT32_MAX)
        return cl_no(reason, bytes, "rows of %lld elements are too long for i32 indices", (long long)n);
    if (k > MOST_CHOSEN && !cl_sort_fits(device, n))
        return cl_slow(reason, bytes, "an allocation of %llu bytes does not do for sorting a row of %lld elements: it is "
                       "read %lld times", (unsigned long long)device->hard_limit, (long long)n, (long long)k);
    return ENG_SUPPORT_YES;
}

int cl_top_k_record(cl_recorder *r, const eng_node *node)
{
    const eng_tensor *x = cl_in(r->graph, node, 0);
    int64_t k = k_of(node);
    cl_walk w;
    cl_walk_begin(&w, x);
    cl_walk_add(&w, r->graph, node->in[0]);
    /* the result: k indices a row, dense in the order of the rows */
    w.tensor[w.n] = node->out[0];
    w.row_bytes[w.n] = (uint64_t)k * 4;
    int64_t step = k * 4;
    for (unsigned d = 1; d < ENG_MAX_RANK; d++) {
        w.nb[w.n][d] = w.ne[d] == 1 ? 0 : step;
        step *= w.ne[d];
    }
    w.n++;
    cl_walk_join(&w, 1);
    if (k > MOST_CHOSEN && cl_sort_fits(r->device, x->ne[0]))
        return cl_sort_record(r, &w, &(cl_order){.k = k});
    return cl_walk_run(r, &w, 4, part, &k);
}

const cl_op cl_op_top_k = {.supports = cl_top_k_supports, .record = cl_top_k_record};
