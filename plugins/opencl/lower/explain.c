/* What a plan consists of, and, with option profile, what its launches took. */
#include "../host.h"

typedef void (*emitter)(void *ctx, const char *text);

static double microseconds(const cl_spent *s)
{
    const uint64_t runs = atomic_load_explicit(&s->runs, memory_order_relaxed);
    return runs ? (double)atomic_load_explicit(&s->ns, memory_order_relaxed) / (double)runs / 1e3 : 0;
}

static void tell_launch(const eng_plan_state *plan, uint32_t i, emitter emit, void *ctx)
{
    const cl_recorded *l = &plan->launches[i];
    const eng_node *node = eng_subgraph_node(plan->graph, l->node);
    char line[256], took[32] = "";
    if (plan->spent && atomic_load_explicit(&plan->spent[i].runs, memory_order_relaxed))
        snprintf(took, sizeof took, ", %.1f us", microseconds(&plan->spent[i]));
    snprintf(line, sizeof line, "  %s: %s%s%s, %zu x %zu x %zu work-items%s%s%s\n", node->name, l->kernel,
             l->variant ? " " : "", l->variant ? l->variant : "", l->global[0],
             l->dims > 1 ? l->global[1] : 1, l->dims > 2 ? l->global[2] : 1, l->dynamic ? ", by plan parameters" : "",
             node->precision != ENG_PRECISION_EXACT ? ", fast" : "", took);
    emit(ctx, line);
}

/* A kernel, all its launches together. */
typedef struct kernel_time { const char *name, *variant; uint32_t launches; double us; } kernel_time;

static int longest_first(const void *a, const void *b)
{
    const double x = ((const kernel_time *)a)->us, y = ((const kernel_time *)b)->us;
    return (x < y) - (x > y);
}

/* What each kernel takes in a run, those that take the longest first. */
static void tell_kernels(const eng_plan_state *plan, emitter emit, void *ctx)
{
    kernel_time *kernels = calloc(plan->n_launches + 1, sizeof *kernels);
    uint32_t n = 0;
    double all = 0;
    for (uint32_t i = 0; i < plan->n_launches && kernels; i++) {
        uint32_t k = 0;
        const cl_recorded *l = &plan->launches[i];
        while (k < n && (strcmp(kernels[k].name, l->kernel) != 0 || kernels[k].variant != l->variant))
            k++;
        n += k == n;
        kernels[k].name = l->kernel;
        kernels[k].variant = l->variant;
        kernels[k].launches++;
        kernels[k].us += microseconds(&plan->spent[i]);
        all += microseconds(&plan->spent[i]);
    }
    if (n)
        qsort(kernels, n, sizeof *kernels, longest_first);
    char line[160];
    snprintf(line, sizeof line, "kernels take %.1f us a run, by events:\n", all);
    emit(ctx, line);
    for (uint32_t k = 0; k < n; k++) {
        snprintf(line, sizeof line, "  %-20s %-9s %4u launches %10.1f us %5.1f %%\n", kernels[k].name,
                 kernels[k].variant ? kernels[k].variant : "", kernels[k].launches, kernels[k].us,
                 all > 0 ? 100 * kernels[k].us / all : 0.0);
        emit(ctx, line);
    }
    free(kernels);
}

int cl_plan_explain(eng_plan_state *plan, uint32_t format, emitter emit, void *ctx)
{
    if (format != ENG_EXPLAIN_TEXT)
        return ENG_ERR_UNSUPPORTED;
    char line[256];
    uint64_t arena = 0, runs = 0;
    for (uint32_t i = 0; i < plan->n_arena; i++)
        arena += plan->arena[i];
    snprintf(line, sizeof line,
             "%s: %u nodes, %u launches, family %s, scratch %llu bytes in %u buffers, temporary %llu\n",
             plan->device->info.name, plan->graph->n_nodes, plan->n_launches, plan->device->vec ? "vec" : "simt",
             (unsigned long long)arena, plan->n_arena, (unsigned long long)plan->temporary);
    emit(ctx, line);
    for (uint32_t i = 0; i < plan->n_launches; i++) {
        tell_launch(plan, i, emit, ctx);
        runs += plan->spent ? atomic_load_explicit(&plan->spent[i].runs, memory_order_relaxed) : 0;
    }
    if (runs)
        tell_kernels(plan, emit, ctx);
    return ENG_OK;
}
