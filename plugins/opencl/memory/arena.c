/*
 * Scratch memory.  As a rule the engine has placed every scratch tensor in one
 * arena.  If that is larger than one allocation may be, the tensors are placed
 * here again, over several buffers: largest first, each at the lowest place where
 * nothing that lives at the same time is in its way; or, where the option is set,
 * each in a buffer of its own.
 */
#include "../host.h"

typedef struct owner {
    uint32_t tensor;
    uint32_t first, last; /* nodes between which it is alive                  */
    uint64_t bytes;
    cl_slot slot;
} owner;

/* Nodes that happen at the same time as `node`: of a section's barrier nodes (EXTERN)
 * all, for whoever submits the plan serves them together, in any order. */
static void span_of(const eng_subgraph *g, uint32_t node, uint32_t *first, uint32_t *last)
{
    const int32_t section = eng_subgraph_node(g, node)->section;
    *first = *last = node;
    if (eng_subgraph_node(g, node)->op != ENG_OP_EXTERN)
        return;
    while (*first > 0 && eng_subgraph_node(g, *first - 1)->section == section &&
           eng_subgraph_node(g, *first - 1)->op == ENG_OP_EXTERN)
        --*first;
    while (*last + 1 < g->n_nodes && eng_subgraph_node(g, *last + 1)->section == section)
        ++*last;
}

/* Marks the life of the owner of tensor i as including nodes first .. last. */
static void touch(owner *owners, const int32_t *index, const eng_subgraph *g, int32_t i, uint32_t first, uint32_t last)
{
    const eng_tensor *t = eng_subgraph_tensor(g, i);
    if (!t || index[t->root] < 0)
        return;
    owner *o = &owners[index[t->root]];
    if (o->first > first)
        o->first = first;
    if (o->last < last)
        o->last = last;
}

static int larger_first(const void *a, const void *b)
{
    const owner *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* The lowest place in `block` for o; false if there is none. */
static bool fit(owner *owners, uint32_t n, owner *o, uint32_t block, uint64_t limit)
{
    uint64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < n; i++) {
            const owner *x = &owners[i];
            if (x->slot.block != block || x->first > o->last || x->last < o->first)
                continue;
            if (x->slot.at < at + o->bytes && at < x->slot.at + x->bytes) {
                at = x->slot.at + x->bytes;
                moved = true;
            }
        }
        if (at + o->bytes > limit)
            return false;
    }
    o->slot = (cl_slot){block, at};
    return true;
}

static int place_all(eng_plan_state *plan, owner *owners, uint32_t n)
{
    cl_device *device = plan->device;
    uint64_t limit = device->max_alloc;
    qsort(owners, n, sizeof *owners, larger_first);
    if (n && owners[0].bytes > limit)
        limit = owners[0].bytes;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t block = device->apart ? plan->n_arena : 0;
        while (block < plan->n_arena && !fit(owners, i, &owners[i], block, limit))
            block++;
        if (block == plan->n_arena) {
            if (!eu_reserve(plan->arena, plan->arena_room, (size_t)plan->n_arena + 1))
                return cl_no_memory(device, "the places of tensors");
            plan->arena[plan->n_arena++] = 0;
            owners[i].slot = (cl_slot){block, 0};
        }
        if (plan->arena[block] < owners[i].slot.at + owners[i].bytes)
            plan->arena[block] = owners[i].slot.at + owners[i].bytes;
        plan->slots[owners[i].tensor] = owners[i].slot;
    }
    return ENG_OK;
}

static int place_again(eng_plan_state *plan)
{
    const eng_subgraph *g = plan->graph;
    cl_device *device = plan->device;
    owner *owners = calloc(g->n_tensors ? g->n_tensors : 1, sizeof *owners);
    int32_t *index = malloc((g->n_tensors ? g->n_tensors : 1) * sizeof *index);
    uint32_t n = 0;
    int status = ENG_OK;
    if (!owners || !index) {
        status = cl_no_memory(device, "the places of tensors");
        goto done;
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
        index[i] = -1;
        if (t->root != (int32_t)i || t->binding >= 0 || t->bytes == 0)
            continue;
        if (t->bytes > device->hard_limit) {
            status = cl_fail(device, ENG_ERR_UNSUPPORTED,
                             "%s" ENG_CAUSE "tensor '%s' takes %llu bytes, the largest allocation is %llu" ENG_ADVICE
                             "use smaller batches, "
                             "more devices, or another type",
                             device->info.name, t->name, (unsigned long long)t->bytes,
                             (unsigned long long)device->hard_limit);
            goto done;
        }
        index[i] = (int32_t)n;
        owners[n++] = (owner){.tensor = i, .first = UINT32_MAX,
                              .bytes = device->apart ? t->bytes : (t->bytes + CL_ALIGN - 1) / CL_ALIGN * CL_ALIGN};
    }
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const eng_node *node = eng_subgraph_node(g, k);
        uint32_t first, last;
        span_of(g, k, &first, &last);
        for (unsigned j = 0; j < ENG_MAX_INPUTS; j++)
            touch(owners, index, g, node->in[j], k, last);
        for (unsigned j = 0; j < ENG_MAX_OUTPUTS; j++)
            touch(owners, index, g, node->out[j], first, last);
    }
    status = place_all(plan, owners, n);
done:
    free(owners);
    free(index);
    return status;
}

int cl_arena_place(eng_plan_state *plan)
{
    const eng_subgraph *g = plan->graph;
    plan->slots = calloc(g->n_tensors ? g->n_tensors : 1, sizeof *plan->slots);
    if (!plan->slots)
        return cl_no_memory(plan->device, "the places of tensors");
    if (g->arena_bytes > plan->device->max_alloc || (plan->device->apart && g->arena_bytes))
        return place_again(plan);
    if (g->arena_bytes == 0)
        return ENG_OK;
    if (!eu_reserve(plan->arena, plan->arena_room, 1))
        return cl_no_memory(plan->device, "the places of tensors");
    plan->arena[0] = g->arena_bytes;
    plan->n_arena = 1;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        plan->slots[i].at = eng_subgraph_tensor(g, (int32_t)i)->arena_offset;
    return ENG_OK;
}
