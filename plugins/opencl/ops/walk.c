/* Walks: an op's space of rows, cut so that every operand lies in one piece. */
#include "../opencl.h"

void cl_walk_begin(cl_walk *w, const eng_tensor *t)
{
    memset(w, 0, sizeof *w);
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        w->ne[d] = d < t->rank ? t->ne[d] : 1;
}

void cl_walk_add(cl_walk *w, const eng_subgraph *g, int32_t tensor)
{
    unsigned i = w->n++;
    const eng_tensor *t = eng_subgraph_tensor(g, tensor);
    w->tensor[i] = tensor;
    if (!t)
        return;
    uint64_t block = cl_type_block(t->type), bytes = cl_type_bytes(t->type);
    uint64_t blocks = block && t->rank ? ((uint64_t)t->ne[0] + block - 1) / block : 1;
    w->row_bytes[i] = blocks ? (blocks - 1) * (uint64_t)(t->rank && blocks > 1 ? t->nb[0] : 0) + bytes : 0;
    for (uint32_t d = 0; d < t->rank; d++)
        w->nb[i][d] = t->ne[d] == 1 ? 0 : t->nb[d];
}

static bool joins(const cl_walk *w, unsigned d)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->tensor[i] >= 0 && w->nb[i][d + 1] != w->nb[i][d] * w->ne[d])
            return false;
    return true;
}

void cl_walk_join(cl_walk *w, unsigned from)
{
    unsigned last = from;
    for (unsigned d = from + 1; d < ENG_MAX_RANK; d++) {
        if (w->ne[d] == 1)
            continue;
        cl_walk t = *w;
        bool free_slot = w->ne[last] == 1;
        /* bring dimension d next to the last one kept, then try to join them */
        if (!free_slot && d != last + 1) {
            t.ne[last + 1] = w->ne[d];
            for (unsigned i = 0; i < w->n; i++)
                t.nb[i][last + 1] = w->nb[i][d];
        }
        if (free_slot) {
            w->ne[last] = w->ne[d];
            for (unsigned i = 0; i < w->n; i++)
                w->nb[i][last] = w->nb[i][d];
        } else if (joins(&t, last)) {
            w->ne[last] *= w->ne[d];
        } else {
            last++;
            if (last == d)
                continue;
            w->ne[last] = w->ne[d];
            for (unsigned i = 0; i < w->n; i++)
                w->nb[i][last] = w->nb[i][d];
        }
        w->ne[d] = 1;
        for (unsigned i = 0; i < w->n; i++)
            w->nb[i][d] = 0;
    }
}

void cl_walk_flatten(const cl_recorder *r, cl_walk *w)
{
    cl_split s;
    for (unsigned i = 0; i < w->n; i++) {
        const eng_tensor *t = eng_subgraph_tensor(r->graph, w->tensor[i]);
        if (t && (cl_split_of(r->device, r->graph, t, &s) != ENG_OK || s.n != 1)) {
            cl_walk_join(w, 1);
            return;
        }
    }
    cl_walk flat = *w;
    cl_walk_join(&flat, 0);
    /* a column of rows of one element has become a row: is it dense? */
    for (unsigned i = 0; i < w->n; i++) {
        const eng_tensor *t = eng_subgraph_tensor(r->graph, w->tensor[i]);
        if (t && w->ne[0] == 1 && flat.ne[0] > 1 && flat.nb[i][0] != (int64_t)cl_type_bytes(t->type)) {
            cl_walk_join(w, 1);
            return;
        }
    }
    *w = flat;
}

/* Does operand i of w lie in one piece? */
static bool whole(const cl_recorder *r, const cl_walk *w, unsigned i)
{
    const eng_tensor *t = eng_subgraph_tensor(r->graph, w->tensor[i]);
    cl_split s;
    if (!t || w->row_bytes[i] == 0 || cl_split_of(r->device, r->graph, t, &s) != ENG_OK || s.n == 1)
        return true;
    uint64_t first = t->offset + w->offset[i], last = first + w->row_bytes[i] - 1;
    for (unsigned d = 1; d < ENG_MAX_RANK; d++)
        last += (uint64_t)(w->ne[d] - 1) * (uint64_t)w->nb[i][d];
    return first / s.piece_bytes == last / s.piece_bytes;
}

static void part_of(const cl_recorder *r, cl_walk *part, unsigned d, int64_t first, int64_t count)
{
    part->first[d] += first;
    part->ne[d] = count;
    for (unsigned i = 0; i < part->n; i++) {
        part->offset[i] += (uint64_t)first * (uint64_t)part->nb[i][d];
        if (d == 0 && part->nb[i][0] > 0) {
            const eng_tensor *t = eng_subgraph_tensor(r->graph, part->tensor[i]);
            part->row_bytes[i] = (uint64_t)((count - 1) * part->nb[i][0]) + cl_type_bytes(t->type);
        }
    }
}

/* Where dimension d is cut in two: rows that lie side by side in a layout stay together.  0: it cannot be. */
static int64_t half_of(const cl_recorder *r, const cl_walk *w, unsigned d)
{
    const int64_t n = w->ne[d];
    int64_t together = 1;
    cl_split s;
    for (unsigned i = 0; i < w->n; i++) {
        const eng_tensor *t = eng_subgraph_tensor(r->graph, w->tensor[i]);
        if (t && t->layout && w->nb[i][d] == t->nb[1] && cl_split_of(r->device, r->graph, t, &s) == ENG_OK &&
            (int64_t)s.group > together)
            together = (int64_t)s.group;
    }
    return n / 2 >= together ? n / 2 / together * together : n > together ? together : 0;
}

int cl_walk_run(cl_recorder *r, const cl_walk *w, unsigned dims,
                void (*fn)(cl_recorder *r, const cl_walk *part, void *ctx), void *ctx)
{
    unsigned cut = 0;
    bool fits = true;
    for (unsigned d = 0; d < ENG_MAX_RANK; d++) {
        if (w->ne[d] == 0)
            return r->status;
        if (d > 0 && w->ne[d] > 1)
            cut = d;
    }
    for (unsigned i = 0; i < w->n && fits; i++)
        fits = w->tensor[i] < 0 || whole(r, w, i);
    if (fits && cut < dims) {
        if (r->status == ENG_OK)
            fn(r, w, ctx);
        return r->status;
    }
    /* the outermost dimension, in halves: few parts, each as large as it may be */
    const int64_t n = w->ne[cut], half = half_of(r, w, cut);
    if (half == 0 || (cut == 0 && !w->elements))
        return cl_refuse(r, ENG_ERR_UNSUPPORTED,
                         "%s: a row of an operand of node '%s' lies in several allocations of %llu bytes; make the "
                         "tensor "
                         "contiguous first, or raise opencl.max_alloc",
                         r->device->info.name, r->node->name, (unsigned long long)r->device->max_alloc);
    cl_walk a = *w, b = *w;
    part_of(r, &a, cut, 0, half);
    part_of(r, &b, cut, half, n - half);
    if (cl_walk_run(r, &a, dims, fn, ctx) == ENG_OK)
        cl_walk_run(r, &b, dims, fn, ctx);
    return r->status;
}

void cl_arg_walk(cl_recorder *r, const cl_walk *part, unsigned i)
{
    if (part->tensor[i] < 0)
        cl_arg_none(r);
    else
        cl_arg_tensor(r, part->tensor[i], part->offset[i]);
}
