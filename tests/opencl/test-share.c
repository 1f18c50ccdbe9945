/*
 * Option compile: in which order a share of the programs is compiled, and that nothing else is done.  The bundled model, whose
 * programs are known by what the log says of each.
 * On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none, or it is no processor.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lm.h"

#include "../tap.h"
#include "interposer.h"

enum { MOST = 64, NAME = 24, TOKENS = 6 };

typedef struct programs {
    char name[MOST][NAME]; /* in the order in which they were compiled */
    unsigned n;
    unsigned long launches;
} programs;

static programs *compiling; /* what the log is read for */

static void on_log(void *user, int level, const char *source, const char *text)
{
    (void)user, (void)level, (void)source;
    const char *count = strstr(text, "compiling kernels "), *name = count ? strstr(count, ": ") : NULL;
    if (name && compiling && compiling->n < MOST)
        snprintf(compiling->name[compiling->n++], NAME, "%s", name + 2);
}

static eng_device *open_device(eng_context **context, const char *compile)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    const eng_context_params logged = {.size = sizeof logged, .log = on_log, .log_level = ENG_LOG_DEBUG};
    eng_device *device = NULL;
    if (eng_context_create(&logged, context) || eng_context_set_option(*context, "opencl.cache", "no") ||
        eng_context_set_option(*context, "opencl.compile", compile) ||
        eng_device_open(*context, name && *name ? name : "opencl:0", &device))
        return NULL;
    return device;
}

/* The programs of a first pass, and its launches. */
static bool compile(const char *share, programs *p)
{
    static const int32_t tokens[TOKENS] = {65, 66, 67, 68, 69, 70};
    const eng_lm_batch batch = {.size = sizeof batch, .n_tokens = TOKENS, .tokens = tokens};
    const char *top = getenv("top_srcdir");
    char path[1024];
    eng_context *context = NULL;
    eng_device *device = open_device(&context, share);
    eng_lm_model *model = NULL;
    eng_lm_context *run = NULL;
    eng_lm_context_params params;
    snprintf(path, sizeof path, "%s/tests/data/tiny-hybrid-f16.gguf", top && *top ? top : ".");
    eng_lm_context_defaults(&params);
    params.n_cells = 64;
    bool good = device && !eng_lm_model_open(context, device, path, NULL, &model) &&
                !eng_lm_context_create(model, &params, &run);
    *p = (programs){.n = 0};
    compiling = p;
    interposer_reset();
    good = good && !eng_lm_decode(run, &batch);
    p->launches = interposer_count("clEnqueueNDRangeKernel");
    compiling = NULL;
    if (!good)
        printf("# %s\n", eng_last_error());
    eng_lm_context_destroy(run);
    eng_lm_model_close(model);
    eng_device_close(device);
    eng_context_destroy(context);
    return good && p->n > 4;
}

/* Is `p` the programs of `all` from number `begin` - 1 on, backwards and round the end? */
static bool is_order(const programs *all, const programs *p, unsigned begin)
{
    for (unsigned i = 0; i < all->n && p->n == all->n; i++)
        if (strcmp(p->name[i], all->name[(begin + all->n - 1 - i) % all->n]) != 0)
            return false;
    return p->n == all->n;
}

static void check_orders(void)
{
    programs all, p;
    const bool runs = compile("no", &all);
    if (!tap_check(runs, "a pass that runs: %u programs, %lu launches", all.n, all.launches))
        return;
    tap_check(compile("1/1", &p) && is_order(&all, &p, all.n), "1/1 compiles them from the last to the first");
    tap_check(p.launches == all.launches, "and launches each kernel: %lu times", p.launches);
    tap_check(compile("1/3", &p) && is_order(&all, &p, all.n / 3), "1/3 begins behind the first third");
    tap_check(compile("3/3", &p) && is_order(&all, &p, all.n), "3/3 with the last");
    tap_check(compile("1/64", &p) && is_order(&all, &p, all.n / 64), "1/64, of fewer programs, with one of them");
}

typedef struct computation {
    eng_context *context;
    eng_device *device;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
} computation;

/* output = weight + input, of a device that only compiles. */
static bool begin(computation *c)
{
    enum { N = 4 };
    const eng_store_tensor t[] = {
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_WEIGHT, .ne = {N}, .name = "weight", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {N}, .name = "input", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {N}, .name = "output", .layer = -1}};
    *c = (computation){.context = NULL};
    c->device = open_device(&c->context, "1/1");
    if (!c->device || eng_store_create(c->device, t, 3, &c->store) || eng_graph_create(c->context, 0, &c->graph))
        return false;
    eng_value sum = eng_add(c->graph, eng_graph_tensor(c->graph, 0, c->store, 0), eng_graph_tensor(c->graph, 0, c->store, 1));
    eng_store_value(c->graph, eng_graph_tensor(c->graph, 0, c->store, 2), sum);
    return !eng_graph_seal(c->graph) && !eng_plan_create(c->device, c->graph, &c->plan) &&
           !eng_instance_create(c->plan, &c->store, 1, &c->instance) && !eng_queue_create(c->device, &c->queue);
}

static void end(computation *c)
{
    eng_queue_destroy(c->queue);
    eng_instance_destroy(c->instance);
    eng_plan_release(c->plan);
    eng_graph_destroy(c->graph);
    eng_store_destroy(c->store);
    eng_device_close(c->device);
    eng_context_destroy(c->context);
}

static void check_nothing(void)
{
    float numbers[4] = {1, 2, 3, 4}, before[4] = {9, 8, 7, 6}, got[3][4] = {{9}, {9}, {9}};
    const float zeros[4] = {0};
    const eng_region region = {.bytes = sizeof numbers, .count = 1, .data = numbers};
    computation c;
    eng_fence fence;
    bool good = begin(&c);
    for (uint32_t i = 0; i < 3 && good; i++)
        good = !eng_store_write(c.store, i, 0, sizeof numbers, i == 2 ? before : numbers);
    good = good && !eng_queue_write(c.queue, NULL, 0, c.store, 0, &region, 1, &fence) && !eng_fence_wait(fence, UINT64_MAX) &&
           !eng_queue_submit(c.queue, NULL, 0, c.instance, NULL, 0, &fence) && !eng_fence_wait(fence, UINT64_MAX);
    for (uint32_t i = 0; i < 3 && good; i++)
        good = !eng_store_read(c.store, i, 0, sizeof numbers, got[i]);
    if (!good)
        printf("# %s\n", eng_last_error());
    tap_check(good && !memcmp(got[0], zeros, sizeof zeros) && !memcmp(got[1], numbers, sizeof zeros), "weights are not written, inputs are");
    tap_check(good && !memcmp(got[2], before, sizeof before), "and nothing is computed");
    end(&c);
}

static void check_words(void)
{
    static const char *const wrong[] = {"yes", "1", "0/2", "3/2", "1/65", "1/2x", "-1/2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        eng_context *context = NULL;
        eng_device *device = open_device(&context, wrong[i]);
        tap_check(!device && strstr(eng_last_error(), "opencl.compile is"), "refused: %s", device ? wrong[i] : eng_last_error());
        eng_device_close(device);
        eng_context_destroy(context);
    }
}

int main(void)
{
    eng_context *context = tap_begin(), *own = NULL;
    eng_device *device = context ? open_device(&own, "no") : NULL;
    eng_device_info info = {.size = sizeof info};
    const bool there = device && !eng_device_get_info(device, &info);
    eng_device_close(device);
    eng_context_destroy(own);
    if (there && info.kind == ENG_DEVICE_CPU) {
        check_orders();
        check_nothing();
        check_words();
    } else {
        printf("ok 1 # SKIP %s\n", there ? "the device is no processor" : eng_last_error());
    }
    return tap_end(context);
}
