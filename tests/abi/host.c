/*
 * A host as others build them: against the installed headers and libraries, and then kept.  Its binary in
 * tests/abi/<version>/ is run with every later library (abi.sh).
 *
 *   host PLUGIN-DEVICE MODEL     a device of the kept plugin; a model for libengine-lm
 *
 * It uses what structs and calls of the public headers are made of, and prints a line for each part; a program that
 * has come to the end has printed "kept host: done".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <engine/engine.h>
#include <engine/lm.h>

#define K 64
#define M 8

static int fail(const char *what)
{
    printf("kept host: %s: %s\n", what, eng_last_error());
    return 1;
}

static int released, progressed;

static void release(void *user)
{
    released += user == &released;
}

static int progress(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    progressed += done <= total;
    return 0;
}

static void emit(void *ctx, const char *text)
{
    *(size_t *)ctx += strlen(text);
}

/* What is there: devices, plugins, options, ops, types. */
static int look_around(eng_context *c)
{
    eng_device_info device = {.size = sizeof device};
    eng_plugin_info plugin = {.size = sizeof plugin};
    eng_option_info option = {.size = sizeof option};
    unsigned devices = 0, plugins = 0, options = 0;
    while (eng_context_device_info(c, devices, &device) == ENG_OK)
        devices++;
    while (eng_context_plugin(c, plugins, &plugin) == ENG_OK)
        plugins++;
    while (eng_context_option(c, options, &option) == ENG_OK)
        options++;
    const eng_op_info *op = eng_op_find("mul_mat");
    const eng_type_info *type = eng_type_find("q8_0");
    if (!devices || !plugins || !options || !op || op->n_in != 2 || strcmp(op->in[0].name, "a") != 0 || !type ||
        type->block_bytes != 34 || eng_row_bytes(ENG_TYPE_Q8_0, 64) != 68)
        return fail("what is there");
    printf("kept host: devices, plugins, options\n");
    return 0;
}

/* A wrong call: the error in its parts. */
static int look_at_errors(eng_context *c)
{
    eng_device *device = NULL;
    eng_error error = {.size = sizeof error};
    int status = eng_device_open(c, "nobody:7", &device);
    if (status >= 0 || eng_last_error_info(&error) != ENG_OK || error.status != status || !error.cause[0])
        return fail("an error");
    printf("kept host: errors in parts\n");
    return 0;
}

typedef struct work {
    eng_device *device;
    eng_store *weights, *io;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    eng_value kept;
} work;

static int declare(work *w, const float *data)
{
    static const eng_reader readers[] = {{.op = ENG_OP_MUL_MAT, .precisions = ENG_ANY_PRECISION}};
    const eng_store_tensor weight = {.size = sizeof weight, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, M},
                                     .name = "w", .layer = -1, .readers = readers, .n_readers = 1, .data = data};
    const eng_store_tensor io[] = {
        {.size = sizeof *io, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {K}, .name = "x", .layer = -1},
        {.size = sizeof *io, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {M}, .name = "y", .layer = -1}};
    const eng_store_data from = {.size = sizeof from, .user = &released, .release = release, .progress = progress};
    int status = eng_store_load(w->device, &weight, 1, &from, &w->weights);
    return status < 0 ? status : eng_store_create(w->device, io, 2, &w->io);
}

static int build(eng_context *c, work *w)
{
    eng_glu_params glu = {.size = sizeof glu};
    int status = eng_graph_create(c, 0, &w->graph);
    if (status < 0)
        return status;
    eng_graph *g = w->graph;
    eng_glu_defaults(&glu);
    eng_value y = eng_mul_mat(g, eng_graph_tensor(g, 1, w->weights, 0), eng_graph_tensor(g, 0, w->io, 0));
    eng_graph_name(g, y, "product");
    w->kept = y;
    eng_graph_keep(g, y);
    y = eng_add(g, eng_scale(g, y, 2, 1), eng_unary(g, y, ENG_UNARY_RELU));
    eng_store_value(g, eng_graph_tensor(g, 0, w->io, 1), eng_clamp(g, y, -1e6, 1e6));
    return eng_graph_seal(g);
}

static int compile(work *w)
{
    eng_store *stores[] = {w->io, w->weights};
    eng_plan_info info = {.size = sizeof info};
    eng_support support = ENG_SUPPORT_NO;
    size_t text = 0;
    int status = eng_device_supports(w->device, w->graph, 0, &support, NULL, 0);
    if (status >= 0)
        status = eng_plan_create(w->device, w->graph, &w->plan);
    if (status >= 0)
        status = eng_plan_get_info(w->plan, &info);
    if (status >= 0)
        status = eng_plan_explain(w->plan, ENG_EXPLAIN_TEXT, emit, &text);
    if (status >= 0)
        status = eng_instance_create(w->plan, stores, 2, &w->instance);
    if (status >= 0)
        status = eng_queue_create(w->device, &w->queue);
    if (status >= 0 && (support != ENG_SUPPORT_YES || info.n_nodes < 5 || text == 0))
        status = eng_fail(ENG_ERR_INTERNAL, "support %d, %u nodes, %zu characters", (int)support, info.n_nodes, text);
    return status;
}

static int run(work *w, const float *x, float *y, float *kept)
{
    const eng_region in = eng_range(x, 0, K * sizeof *x), out = eng_range(y, 0, M * sizeof *y);
    const eng_region mid = eng_range(kept, 0, M * sizeof *kept);
    eng_fence written, ran, read, looked;
    int status = eng_queue_write(w->queue, NULL, 0, w->io, 0, &in, 1, &written);
    if (status >= 0)
        status = eng_queue_submit(w->queue, &written, 1, w->instance, NULL, 0, &ran);
    if (status >= 0)
        status = eng_queue_read(w->queue, &ran, 1, w->io, 1, &out, 1, &read);
    if (status >= 0)
        status = eng_instance_read(w->queue, &ran, 1, w->instance, w->kept, &mid, 1, &looked);
    if (status >= 0)
        status = eng_fence_wait(read, UINT64_MAX);
    return status < 0 ? status : eng_fence_wait(looked, UINT64_MAX);
}

static void end(work *w)
{
    eng_queue_destroy(w->queue);
    eng_instance_destroy(w->instance);
    eng_plan_release(w->plan);
    eng_graph_destroy(w->graph);
    eng_store_destroy(w->io);
    eng_store_destroy(w->weights);
    eng_device_close(w->device);
}

/* y = 2 z + 1 + max(z, 0) of z = transpose(w) x; a device that computes nothing is only asked to go through with it. */
static int compute(eng_context *c, const char *name, int numbers)
{
    float *data = aligned_alloc(64, K * M * sizeof *data), x[K], y[M], kept[M];
    work w = {0};
    eng_device_stats stats = {.size = sizeof stats};
    for (int i = 0; i < K * M; i++)
        data[i] = (float)(i % 13) - 6;
    for (int i = 0; i < K; i++)
        x[i] = (float)(i % 5) - 2;
    memset(y, 0xff, sizeof y);
    released = 0;
    int status = eng_device_open(c, name, &w.device);
    if (status >= 0)
        status = declare(&w, data);
    if (status >= 0)
        status = build(c, &w);
    if (status >= 0)
        status = compile(&w);
    if (status >= 0)
        status = run(&w, x, y, kept);
    if (status >= 0)
        status = eng_device_get_stats(w.device, &stats);
    int wrong = status < 0 || stats.submits < 1 ? fail(name) : 0;
    for (int m = 0; m < M && numbers && !wrong; m++) {
        double z = 0;
        for (int k = 0; k < K; k++)
            z += (double)data[m * K + k] * x[k];
        wrong = fabs(kept[m] - z) > 1e-4 || fabs(y[m] - (2 * z + 1 + (z > 0 ? z : 0))) > 1e-4 ? fail("numbers") : 0;
    }
    end(&w);
    free(data);
    if (!wrong && (released != 1 || progressed == 0))
        wrong = fail("memory that is given back");
    if (!wrong)
        printf("kept host: a graph on %s\n", numbers ? name : "the kept plugin");
    return wrong;
}

static int write_and_read(void)
{
    const char *path = "kept-host.gguf";
    const int64_t ne[] = {4};
    const float data[] = {1, 2, 3, 4};
    int64_t value = 0;
    eng_gguf_writer *writer = NULL;
    eng_gguf *gguf = NULL;
    int status = eng_gguf_writer_create(&writer);
    if (status >= 0)
        status = eng_gguf_writer_integer(writer, "a.key", ENG_GGUF_U32, 7);
    if (status >= 0)
        status = eng_gguf_writer_tensor(writer, "t", ENG_TYPE_F32, ne, 1, data);
    if (status >= 0)
        status = eng_gguf_writer_save(writer, path);
    if (status >= 0)
        status = eng_gguf_open(path, &gguf);
    if (status >= 0)
        status = eng_gguf_integer(gguf, "a.key", 0, &value);
    const eng_gguf_tensor *t = gguf ? eng_gguf_tensor_find(gguf, "t") : NULL;
    int wrong = status < 0 || value != 7 || !t || t->bytes != sizeof data || memcmp(t->data, data, sizeof data) != 0;
    eng_gguf_close(gguf);
    eng_gguf_writer_destroy(writer);
    remove(path);
    if (wrong)
        return fail("a GGUF file");
    printf("kept host: a GGUF file\n");
    return 0;
}

static int speak(eng_context *c, const char *path)
{
    eng_device *device = NULL;
    eng_lm_model *model = NULL;
    eng_lm_context *context = NULL;
    eng_lm_sampler *sampler = NULL;
    eng_lm_model_params mp = {.size = sizeof mp};
    eng_lm_context_params cp = {.size = sizeof cp};
    eng_lm_sampler_params sp = {.size = sizeof sp};
    eng_lm_model_info info = {.size = sizeof info};
    int32_t *ids = NULL;
    size_t n = 0;
    eng_lm_model_defaults(&mp);
    eng_lm_context_defaults(&cp);
    eng_lm_sampler_defaults(&sp);
    cp.n_cells = 64;
    sp.temperature = 0;
    int status = eng_device_open(c, "cpu", &device);
    if (status >= 0)
        status = eng_lm_model_open(c, device, path, &mp, &model);
    if (status >= 0)
        status = eng_lm_model_get_info(model, &info);
    if (status >= 0)
        status = eng_lm_tokenize(model, "The", 3, ENG_LM_ADD_SPECIAL, &ids, &n);
    if (status >= 0)
        status = eng_lm_context_create(model, &cp, &context);
    if (status >= 0)
        status = eng_lm_sampler_create(model, &sp, &sampler);
    if (status >= 0 && (info.n_layers == 0 || n == 0 || strcmp(info.architecture, "qwen35") != 0))
        status = eng_fail(ENG_ERR_INTERNAL, "%u layers, %zu tokens, %s", info.n_layers, n, info.architecture);
    int wrong = status < 0 ? fail("a language model") : 0;
    eng_lm_sampler_destroy(sampler);
    eng_lm_context_destroy(context);
    eng_lm_free(ids);
    eng_lm_model_close(model);
    eng_device_close(device);
    if (!wrong)
        printf("kept host: a language model\n");
    return wrong;
}

int main(int argc, char **argv)
{
    eng_context_params params = {.size = sizeof params};
    eng_context *c = NULL;
    if (argc != 3)
        return 64;
    if (eng_context_create(&params, &c) < 0)
        return fail("a context");
    if (eng_context_set_option(c, "null.accept", "all") < 0)
        return fail("an option of the kept plugin");
    int wrong = look_around(c) || look_at_errors(c) || compute(c, argv[1], 0) || compute(c, "cpu", 1) ||
                compute(c, "cpu/2", 1) || write_and_read() || speak(c, argv[2]);
    if (!wrong && eng_context_destroy(c) < 0)
        wrong = fail("the end");
    if (!wrong)
        printf("kept host: done\n");
    return wrong;
}
