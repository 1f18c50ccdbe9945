/*
 * The opencl plugin beyond what the conformance suite sees op by op: tensors in
 * pieces, fused chains, queues, the cache of binaries, families, parts, errors.
 * Runs on opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none.
 */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"

/* The device tested, or with "/2.1" a part of it. */
static const char *named(const char *part)
{
    static char names[4][48];
    static unsigned next;
    const char *device = getenv("ENG_TEST_OPENCL");
    char *name = names[next++ % 4];
    snprintf(name, sizeof names[0], "%s%s", device && *device ? device : "opencl:0", part);
    return name;
}

typedef struct fixture {
    eng_context *context;
    eng_device *device;
} fixture;

/* options: "opencl.family", "vec", ..., NULL */
static fixture open_with(const char *name, const char *const *options)
{
    fixture f;
    ck_assert_int_eq(eng_context_create(NULL, &f.context), ENG_OK);
    for (; options && options[0]; options += 2)
        ck_assert_msg(eng_context_set_option(f.context, options[0], options[1]) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_device_open(f.context, name, &f.device) == ENG_OK, "%s", eng_last_error());
    return f;
}

static void close_all(fixture f)
{
    eng_device_close(f.device);
    ck_assert_int_eq(eng_context_destroy(f.context), ENG_OK);
}

static eng_store_tensor declare(const char *name, uint32_t type, uint32_t use, int64_t n0, int64_t n1, int64_t n2)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = type, .rank = 3, .use = use, .ne = {n0, n1, n2},
                              .name = name, .layer = -1};
}

static float value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

/* -- tensors in pieces --------------------------------------------------------- */

START_TEST(pieces_move_exactly)
{
    static const char *const options[] = {"opencl.max_alloc", "1024", NULL};
    fixture f = open_with(named(""), options);
    enum { N = 37, ROWS = 101, PLANES = 3, ALL = N * ROWS * PLANES };
    eng_store_tensor t = declare("t", ENG_TYPE_I32, ENG_USE_STATE, N, ROWS, PLANES);
    eng_store *store;
    eng_queue *queue;
    eng_fence fence;
    int32_t *in = malloc(ALL * 4), *out = calloc(ALL, 4);
    for (int i = 0; i < ALL; i++)
        in[i] = i * 7 + 1;
    ck_assert_msg(eng_store_create(f.device, &t, 1, &store) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_store_read(store, 0, 0, ALL * 4, out), ENG_OK);
    for (int i = 0; i < ALL; i++)
        ck_assert_int_eq(out[i], 0);
    ck_assert_int_eq(eng_store_write(store, 0, 0, ALL * 4, in), ENG_OK);
    /* an odd range, across several pieces, through a queue */
    ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
    int32_t patch[1000];
    for (int i = 0; i < 1000; i++)
        in[333 + i] = patch[i] = -i;
    ck_assert_int_eq(eng_queue_write(queue, NULL, 0, store, 0,
                                     (const eng_region[]){eng_range(patch, 333 * 4, sizeof patch)}, 1, NULL), ENG_OK);
    ck_assert_int_eq(eng_queue_read(queue, NULL, 0, store, 0,
                                    (const eng_region[]){eng_range(out, 0, ALL * 4)}, 1, &fence), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(fence, UINT64_MAX), ENG_OK);
    ck_assert(memcmp(in, out, ALL * 4) == 0);
    ck_assert_int_ne(eng_queue_read(queue, NULL, 0, store, 0,
                                    (const eng_region[]){eng_range(out, ALL * 4 - 8, 16)}, 1, &fence), ENG_OK);
    eng_queue_destroy(queue);
    eng_store_destroy(store);
    free(in);
    free(out);
    close_all(f);
}
END_TEST

/* -- fusion -------------------------------------------------------------------- */

enum { COLUMNS = 83, HEADS = 5, TOKENS = 3, LAYERS = 3, X = COLUMNS * HEADS * TOKENS, MATRICES = 5, Y = 6 + MATRICES };
static const int64_t rows[MATRICES] = {37, 3, 64, 5, 70};

/* Products of the same two columns, each result used: their sums are added to h. */
static eng_value products(eng_graph *g, eng_value h, const eng_value *matrix, int column)
{
    const int64_t flat[] = {COLUMNS, (int64_t)HEADS * TOKENS};
    eng_value b = eng_slice(g, eng_reshape(g, h, flat, 2), 1, column, 2), p[MATRICES];
    for (int i = 0; i < MATRICES; i++)
        p[i] = eng_mul_mat(g, matrix[i], b);
    for (int i = 0; i < MATRICES; i++) {
        const int64_t all[] = {2 * rows[i]};
        h = eng_add(g, h, eng_scale(g, eng_sum_rows(g, eng_reshape(g, p[i], all, 1)), 0.01, 0));
    }
    return h;
}

/* Layers of small ops of every kind that is fused, results used once and twice. */
static eng_value layers(eng_graph *g, const eng_value *t)
{
    eng_value h = t[0];
    for (int i = 0; i < LAYERS; i++) {
        eng_value sum = eng_add(g, h, t[1]);                             /* kept: used below */
        eng_value n = eng_rms_norm(g, sum, t[2], 1e-5);
        eng_value act = eng_unary(g, n, ENG_UNARY_SILU);
        eng_value gated = eng_mul(g, act, t[3]);                         /* one value a row  */
        eng_value s = eng_scale(g, eng_sub(g, gated, t[1]), 0.5, 0.25 * i);
        eng_value glu = eng_glu(g, t[4], s, ENG_GLU_GEGLU, NULL);
        eng_value n2 = eng_norm(g, eng_div(g, glu, t[5]), t[2], ENG_NO_VALUE, 1e-4);
        eng_value l2 = eng_l2_norm(g, eng_add(g, n2, sum), 1e-6);
        h = eng_unary(g, eng_add(g, l2, eng_unary(g, sum, ENG_UNARY_TANH)), ENG_UNARY_SOFTPLUS);
        h = products(g, h, t + 6, 4 * i);
        h = eng_add(g, h, eng_scale(g, eng_l2_norm(g, t[4], 1e-6), 3, 0)); /* begins with a norm, all operands whole */
    }
    return h;
}

static void count_launches(void *ctx, const char *text)
{
    unsigned n;
    if (sscanf(text, "%*s %*u nodes, %u launches", &n) == 1)
        *(unsigned *)ctx = n;
}

static unsigned run_layers(const char *const *options, float *out)
{
    fixture f = open_with(named(""), options);
    eng_store_tensor t[] = {
        declare("x", ENG_TYPE_F32, ENG_USE_INPUT, COLUMNS, HEADS, TOKENS),
        declare("r", ENG_TYPE_F32, ENG_USE_INPUT, COLUMNS, HEADS, TOKENS),
        declare("w", ENG_TYPE_F32, ENG_USE_WEIGHT, COLUMNS, 1, 1),
        declare("one", ENG_TYPE_F32, ENG_USE_INPUT, 1, HEADS, TOKENS),
        declare("gate", ENG_TYPE_F32, ENG_USE_INPUT, COLUMNS, HEADS, TOKENS),
        declare("bias", ENG_TYPE_F32, ENG_USE_WEIGHT, COLUMNS, HEADS, 1),
        declare("m0", ENG_TYPE_F32, ENG_USE_WEIGHT, COLUMNS, rows[0], 1),
        declare("m1", ENG_TYPE_F32, ENG_USE_WEIGHT, COLUMNS, rows[1], 1),
        declare("m2", ENG_TYPE_F32, ENG_USE_WEIGHT, COLUMNS, rows[2], 1),
        declare("m3", ENG_TYPE_F32, ENG_USE_WEIGHT, COLUMNS, rows[3], 1),
        declare("m4", ENG_TYPE_F32, ENG_USE_WEIGHT, COLUMNS, rows[4], 1),
        declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, COLUMNS, HEADS, TOKENS),
    };
    enum { COUNT = sizeof t / sizeof *t };
    eng_store *store;
    eng_graph *g;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    eng_fence fence;
    eng_value v[COUNT];
    unsigned launches = 0;
    uint32_t state = 17;
    ck_assert_msg(eng_store_create(f.device, t, COUNT, &store) == ENG_OK, "%s", eng_last_error());
    for (uint32_t i = 0; i + 1 < COUNT; i++) {
        static float data[COLUMNS * 100];
        uint64_t bytes = eng_store_bytes(store, i);
        for (uint64_t k = 0; k < bytes / 4; k++)
            data[k] = value(&state) + (i == 5 ? 2.5f : 0);
        ck_assert_int_eq(eng_store_write(store, i, 0, bytes, data), ENG_OK);
    }
    ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        v[i] = eng_graph_tensor(g, 0, store, i);
    eng_store_value(g, v[Y], layers(g, v));
    ck_assert_msg(eng_graph_seal(g) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_plan_create(f.device, g, &plan) == ENG_OK, "%s", eng_last_error());
    eng_plan_explain(plan, ENG_EXPLAIN_TEXT, count_launches, &launches);
    ck_assert_msg(eng_instance_create(plan, &store, 1, &instance) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
    for (int again = 0; again < 2; again++)
        ck_assert_msg(eng_queue_submit(queue, NULL, 0, instance, NULL, 0, NULL) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_queue_read(queue, NULL, 0, store, Y,
                                    (const eng_region[]){eng_range(out, 0, X * 4)}, 1, &fence), ENG_OK);
    ck_assert_msg(eng_fence_wait(fence, UINT64_MAX) == ENG_OK, "%s", eng_last_error());
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
    close_all(f);
    return launches;
}

static void compare(const float *a, const float *b)
{
    for (int i = 0; i < X; i++)
        ck_assert_msg(fabsf(a[i] - b[i]) <= 2e-5f * (1 + fabsf(a[i])), "element %d is %g, should be %g", i,
                      (double)b[i], (double)a[i]);
}

START_TEST(fused_as_unfused)
{
    static const char *const ways[][7] = {
        {"opencl.fuse", "no", NULL},
        {"opencl.fuse", "yes", "opencl.family", "vec", NULL},
        {"opencl.fuse", "yes", "opencl.family", "simt", NULL},
        {"opencl.fuse", "yes", "opencl.max_alloc", "512", NULL},
        {"opencl.fuse", "yes", "opencl.apart", "yes", NULL},
        {"opencl.fuse", "no", "opencl.apart", "yes", "opencl.family", "simt", NULL},
        {"opencl.fuse", "yes", "opencl.capabilities", "none", "opencl.cache", "no"},
    };
    static float right[X], got[X];
    unsigned plain = run_layers(ways[0], right);
    for (size_t i = 1; i < sizeof ways / sizeof *ways; i++) {
        unsigned launches = run_layers(ways[i], got);
        compare(right, got);
        if (i < 3)
            ck_assert_msg(3 * launches <= 2 * plain, "%u launches, %u without fusion", launches, plain);
    }
}
END_TEST

/* -- the cache of binaries ------------------------------------------------------- */

/* Truncates, or turns a byte of, every file of the plugin's cache. */
static unsigned damage(const char *folder, int how)
{
    char path[1024];
    unsigned n = 0;
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        ck_assert_int_eq(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            n += damage(path, how);
            continue;
        }
        n++;
        if (how == 0) {
            ck_assert_int_eq(truncate(path, st.st_size / 2), 0);
            continue;
        }
        FILE *f = fopen(path, "r+b");
        ck_assert_ptr_nonnull(f);
        fseek(f, st.st_size - 100, SEEK_SET);
        int c = fgetc(f);
        fseek(f, st.st_size - 100, SEEK_SET);
        fputc(c ^ 1, f);
        fclose(f);
    }
    closedir(dir);
    return n;
}

static void remove_all(const char *folder)
{
    char path[1024];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (remove(path) != 0)
            remove_all(path);
    }
    if (dir)
        closedir(dir);
    remove(folder);
}

typedef struct told {
    bool head, exact, fast;
} told;

static void note_precision(void *ctx, const char *text)
{
    told *t = ctx;
    size_t n = strlen(text);
    t->head |= strstr(text, "precision: fast in 1 node\n") != NULL;
    t->fast |= strncmp(text, "  mul_mat#", 10) == 0 && n > 7 && strcmp(text + n - 7, ", fast\n") == 0;
    t->exact |= strncmp(text, "  mul_mat#", 10) == 0 && strstr(text, ", fast") == NULL;
}

/* The report on a plan tells a product that may be fast from one that may not. */
START_TEST(precision_is_told)
{
    fixture f = open_with(named(""), NULL);
    const eng_store_tensor t[] = {declare("w", ENG_TYPE_F32, ENG_USE_WEIGHT, 64, 64, 1),
                                  declare("x", ENG_TYPE_F32, ENG_USE_INPUT, 64, 2, 1),
                                  declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, 64, 2, 1)};
    eng_store *store;
    eng_graph *g;
    eng_plan *plan;
    told report = {false};
    ck_assert_msg(eng_store_create(f.device, t, 3, &store) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
    eng_value w = eng_graph_tensor(g, 0, store, 0), x = eng_graph_tensor(g, 0, store, 1);
    eng_value y = eng_graph_tensor(g, 0, store, 2);
    eng_value exact = eng_mul_mat(g, w, x);
    ck_assert_int_eq(eng_graph_precision(g, ENG_PRECISION_FAST), ENG_OK);
    eng_store_value(g, y, eng_mul_mat(g, w, exact));
    ck_assert_msg(eng_graph_seal(g) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_plan_create(f.device, g, &plan) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_plan_explain(plan, ENG_EXPLAIN_TEXT, note_precision, &report), ENG_OK);
    ck_assert(report.head && report.exact && report.fast);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
    close_all(f);
}
END_TEST

START_TEST(damaged_cache_is_built_again)
{
    static float right[X], got[X];
    char here[800], folder[900];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    snprintf(folder, sizeof folder, "%s/opencl-cache-%ld", here, (long)getpid());
    mkdir(folder, 0700);
    const char *const options[] = {"opencl.fuse", "no", "engine.cache_dir", folder, NULL};
    run_layers(options, right);
    for (int how = 0; how < 2; how++) {
        ck_assert_uint_gt(damage(folder, how), 0);
        run_layers(options, got);
        ck_assert(memcmp(right, got, sizeof right) == 0);
    }
    remove_all(folder);
}
END_TEST

/* -- queues, parts, errors --------------------------------------------------------- */

START_TEST(a_wait_can_end_before_the_work)
{
    fixture f = open_with(named(""), NULL);
    eng_store_tensor t = declare("t", ENG_TYPE_F32, ENG_USE_STATE, 1 << 20, 8, 1);
    eng_store *store;
    eng_queue *queue;
    eng_fence fence;
    float *data = calloc(8u << 20, 4);
    ck_assert_int_eq(eng_store_create(f.device, &t, 1, &store), ENG_OK);
    ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
    /* more submissions than a queue notes at once */
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(eng_queue_write(queue, NULL, 0, store, 0,
                                         (const eng_region[]){eng_range(data, (uint64_t)i * 4, 4)}, 1, &fence), ENG_OK);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(eng_queue_write(queue, NULL, 0, store, 0,
                                         (const eng_region[]){eng_range(data, 0, 32u << 20)}, 1, &fence), ENG_OK);
    int status = eng_fence_wait(fence, 0);
    ck_assert(status == ENG_OK || status == ENG_ERR_TIMEOUT);
    ck_assert_int_eq(eng_fence_wait(fence, UINT64_C(60000000000)), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(fence, 0), ENG_OK);
    eng_queue_destroy(queue);
    eng_store_destroy(store);
    free(data);
    close_all(f);
}
END_TEST

/* What a plan keeps for itself (here the frequencies of rope) is there when it first runs: a new
 * plan and one run at once, many times. */
START_TEST(constants_are_there_at_once)
{
    fixture f = open_with(named(""), NULL);
    eng_store_tensor t[3] = {declare("x", ENG_TYPE_F32, ENG_USE_INPUT, 2, 1, 1),
                             declare("pos", ENG_TYPE_I32, ENG_USE_INPUT, 1, 1, 1),
                             declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, 2, 1, 1)};
    const float x[2] = {1, 0};
    const int32_t pos = 1;
    eng_store *store;
    eng_queue *queue;
    ck_assert_msg(eng_store_create(f.device, t, 3, &store) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
    ck_assert_int_eq(eng_store_write(store, 0, 0, sizeof x, x), ENG_OK);
    ck_assert_int_eq(eng_store_write(store, 1, 0, sizeof pos, &pos), ENG_OK);
    for (int i = 0; i < 64; i++) {
        const int64_t ip[ENG_MAX_IPARAMS] = {[ENG_ROPE_N_DIMS] = 2, [ENG_ROPE_N_CTX_ORIG] = 64};
        const double fp[ENG_MAX_FPARAMS] = {[ENG_ROPE_BASE] = 10000, [ENG_ROPE_FREQ_SCALE] = 1 + i,
                                            [ENG_ROPE_ATTN_FACTOR] = 1};
        float y[2] = {0};
        eng_graph *g;
        eng_plan *plan;
        eng_instance *instance;
        eng_fence fence;
        ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
        const eng_value in[2] = {eng_graph_tensor(g, 0, store, 0),
                                 eng_reshape(g, eng_graph_tensor(g, 0, store, 1), (const int64_t[]){1}, 1)};
        eng_value turned;
        eng_graph_op(g, ENG_OP_ROPE, in, 2, ip, ENG_MAX_IPARAMS, fp, ENG_MAX_FPARAMS, &turned);
        eng_store_value(g, eng_graph_tensor(g, 0, store, 2), turned);
        ck_assert_msg(eng_graph_seal(g) == ENG_OK, "%s", eng_last_error());
        ck_assert_msg(eng_plan_create(f.device, g, &plan) == ENG_OK, "%s", eng_last_error());
        ck_assert_int_eq(eng_instance_create(plan, &store, 1, &instance), ENG_OK);
        ck_assert_int_eq(eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence), ENG_OK);
        ck_assert_int_eq(eng_queue_read(queue, NULL, 0, store, 2,
                                        (const eng_region[]){eng_range(y, 0, sizeof y)}, 1, &fence), ENG_OK);
        ck_assert_int_eq(eng_fence_wait(fence, UINT64_MAX), ENG_OK);
        ck_assert_float_eq_tol(y[0], cos(1 + i), 1e-4);
        ck_assert_float_eq_tol(y[1], sin(1 + i), 1e-4);
        eng_instance_destroy(instance);
        eng_plan_release(plan);
        eng_graph_destroy(g);
    }
    eng_queue_destroy(queue);
    eng_store_destroy(store);
    close_all(f);
}
END_TEST

START_TEST(parts_are_devices)
{
    const char *const names[] = {named("/2.0"), named("/2.1"), named("/7.6")};
    for (int i = 0; i < 3; i++) {
        fixture f = open_with(names[i], NULL);
        eng_device_info info = {.size = sizeof info};
        ck_assert_int_eq(eng_device_get_info(f.device, &info), ENG_OK);
        ck_assert_str_eq(info.name, names[i]);
        ck_assert_uint_ge(info.compute_units, 1);
        close_all(f);
    }
}
END_TEST

/* What a device does not have is refused at once, and what was given back can be had again. */
START_TEST(memory_is_not_promised_twice)
{
    static const char *const options[] = {"opencl.memory", "4M", NULL};
    fixture f = open_with(named(""), options);
    eng_store_tensor most = declare("most", ENG_TYPE_F32, ENG_USE_CACHE, 1024, 768, 1); /* 3 MiB */
    eng_store_tensor more = declare("more", ENG_TYPE_F32, ENG_USE_STATE, 1024, 512, 1); /* 2 MiB */
    eng_store_tensor huge = declare("huge", ENG_TYPE_F32, ENG_USE_CACHE, 1024, INT64_C(1) << 40, 1);
    eng_store *a, *b;
    ck_assert_msg(eng_store_create(f.device, &most, 1, &a) == ENG_OK, "%s", eng_last_error());
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(eng_store_create(f.device, i ? &huge : &more, 1, &b), ENG_ERR_NOMEM);
        ck_assert_msg(strstr(eng_last_error(), "has 4.0 MiB, of which 3.0 are taken"), "%s", eng_last_error());
    }
    eng_store_destroy(a);
    ck_assert_msg(eng_store_create(f.device, &more, 1, &b) == ENG_OK, "%s", eng_last_error());
    eng_store_destroy(b);
    close_all(f);
}
END_TEST

/* What one who opens it now is told to be free. */
static uint64_t left_of(eng_context *context, const char *name)
{
    eng_device_info info = {.size = sizeof info};
    eng_device *device;
    ck_assert_int_eq(eng_device_open(context, name, &device), ENG_OK);
    ck_assert_int_eq(eng_device_get_info(device, &info), ENG_OK);
    eng_device_close(device);
    return info.memory_free;
}

/* The memory is the device's, however often it is opened, whole or in parts. */
START_TEST(memory_is_one_for_all_openings)
{
    static const char *const options[] = {"opencl.memory", "4M", NULL};
    fixture f = open_with(named(""), options);
    eng_device *other, *part;
    eng_store_tensor t = declare("t", ENG_TYPE_F32, ENG_USE_CACHE, 1024, 640, 1); /* 2.5 MiB */
    eng_store *a, *b;
    ck_assert_int_eq(eng_device_open(f.context, named(""), &other), ENG_OK);
    ck_assert_int_eq(eng_device_open(f.context, named("/2.1"), &part), ENG_OK);
    ck_assert_uint_eq(left_of(f.context, named("/2.1")), 2u << 20);
    ck_assert_int_eq(eng_store_create(part, &t, 1, &a), ENG_OK); /* more than half */
    ck_assert_uint_eq(left_of(f.context, named("")), 3u << 19);
    ck_assert_uint_eq(left_of(f.context, named("/2.0")), 3u << 18);
    ck_assert_int_eq(eng_store_create(other, &t, 1, &b), ENG_ERR_NOMEM);
    ck_assert_msg(strstr(eng_last_error(), "has 4.0 MiB, of which 2.5 are taken"), "%s", eng_last_error());
    eng_store_destroy(a);
    ck_assert_int_eq(eng_store_create(other, &t, 1, &b), ENG_OK);
    eng_store_destroy(b);
    ck_assert_uint_eq(left_of(f.context, named("")), 4u << 20);
    eng_device_close(part);
    eng_device_close(other);
    close_all(f);
}
END_TEST

/* Values of a plan need memory as tensors do. */
START_TEST(scratch_is_not_promised_either)
{
    static const char *const options[] = {"opencl.memory", "4M", NULL};
    fixture f = open_with(named(""), options);
    eng_store_tensor t[] = {declare("x", ENG_TYPE_F32, ENG_USE_STATE, 1024, 384, 1), /* 1.5 MiB */
                            declare("more", ENG_TYPE_F32, ENG_USE_STATE, 1024, 384, 1)};
    eng_store *a, *b;
    eng_graph *g;
    eng_plan *plan;
    eng_instance *instance;
    ck_assert_int_eq(eng_store_create(f.device, t, 1, &a), ENG_OK);
    ck_assert_int_eq(eng_store_create(f.device, t + 1, 1, &b), ENG_OK);
    ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
    eng_value x = eng_graph_tensor(g, 0, a, 0);
    eng_store_value(g, x, eng_soft_max(g, x, ENG_NO_VALUE, ENG_NO_VALUE, 1, 0));
    ck_assert_msg(eng_graph_seal(g) == ENG_OK && eng_plan_create(f.device, g, &plan) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_instance_create(plan, &a, 1, &instance), ENG_ERR_NOMEM);
    ck_assert_msg(strstr(eng_last_error(), "1.5 MiB for the values of a plan, but the device has 4.0 MiB, of which 3.0"),
                  "%s", eng_last_error());
    eng_store_destroy(b);
    ck_assert_uint_eq(left_of(f.context, named("")), 5u << 19);
    ck_assert_msg(eng_instance_create(plan, &a, 1, &instance) == ENG_OK, "%s", eng_last_error());
    ck_assert_uint_eq(left_of(f.context, named("")), 1u << 20);
    eng_instance_destroy(instance);
    ck_assert_uint_eq(left_of(f.context, named("")), 5u << 19);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(a);
    close_all(f);
}
END_TEST

START_TEST(wrong_options_are_told)
{
    static const char *const wrong[][3] = {
        {"opencl.family", "gpu", "auto, vec or simt"},
        {"opencl.max_alloc", "-1", "bytes"},
        {"opencl.max_alloc", "10", "at least"},
        {"opencl.max_alloc", "7Q", "bytes"},
        {"opencl.capabilities", "fp16,teeth", "names to keep"},
        {"opencl.svm", "always", "auto or off"},
        {"opencl.apart", "maybe", "yes or no"},
        {"opencl.matrix", "perhaps", "auto, no, yes or in-c"},
        {"opencl.dot4", "perhaps", "auto, no, yes or in-c"},
        {"opencl.dot2", "perhaps", "auto, no, yes or in-c"},
        {"opencl.fuse", "off", "yes or no"},
        {"opencl.cache", "never", "yes or no"},
        {"opencl.capabilities", "fp16", "unified divide subgroups int-dot"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        eng_context *context;
        eng_device *device;
        ck_assert_int_eq(eng_context_create(NULL, &context), ENG_OK);
        ck_assert_int_eq(eng_context_set_option(context, wrong[i][0], wrong[i][1]), ENG_OK);
        ck_assert_int_eq(eng_device_open(context, named(""), &device), ENG_ERR_INVALID);
        ck_assert_msg(strstr(eng_last_error(), wrong[i][2]), "%s", eng_last_error());
        eng_context_destroy(context);
    }
}
END_TEST

/* A kernel that does not compile: the compiler's own words are in the error. */
START_TEST(build_errors_are_told)
{
    char folder[64], path[96];
    snprintf(folder, sizeof folder, "opencl-kernels-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/each.cl", folder);
    mkdir(folder, 0700);
    FILE *file = fopen(path, "w");
    fputs("__kernel void each(int a) { a = no_such_thing; }\n", file);
    fclose(file);
    const char *const options[] = {"opencl.kernels", folder, NULL};
    fixture f = open_with(named(""), options);
    eng_store_tensor t = declare("t", ENG_TYPE_F32, ENG_USE_STATE, 64, 1, 1);
    eng_store *store;
    eng_graph *g;
    eng_plan *plan;
    ck_assert_int_eq(eng_store_create(f.device, &t, 1, &store), ENG_OK);
    ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
    eng_value x = eng_graph_tensor(g, 0, store, 0);
    eng_store_value(g, x, eng_unary(g, x, ENG_UNARY_EXP));
    ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
    ck_assert_int_eq(eng_plan_create(f.device, g, &plan), ENG_ERR_DEVICE);
    ck_assert_msg(strstr(eng_last_error(), "no_such_thing"), "%s", eng_last_error());
    eng_graph_destroy(g);
    eng_store_destroy(store);
    close_all(f);
    remove_all(folder);
}
END_TEST

static int usable(void)
{
    eng_context *context;
    eng_device *device;
    int status = eng_context_create(NULL, &context);
    if (status == ENG_OK) {
        status = eng_device_open(context, named(""), &device);
        if (status == ENG_OK)
            eng_device_close(device);
        eng_context_destroy(context);
    }
    return status == ENG_OK;
}

int main(void)
{
    if (!usable()) {
        printf("1..0 # SKIP no OpenCL device: %s\n", eng_last_error());
        return 0;
    }
    Suite *suite = suite_create("opencl");
    TCase *tests = tcase_create("opencl");
    /* the first builds of a device's compiler take seconds */
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, pieces_move_exactly);
    tcase_add_test(tests, fused_as_unfused);
    tcase_add_test(tests, precision_is_told);
    tcase_add_test(tests, damaged_cache_is_built_again);
    tcase_add_test(tests, a_wait_can_end_before_the_work);
    tcase_add_test(tests, constants_are_there_at_once);
    tcase_add_test(tests, parts_are_devices);
    tcase_add_test(tests, memory_is_not_promised_twice);
    tcase_add_test(tests, memory_is_one_for_all_openings);
    tcase_add_test(tests, scratch_is_not_promised_either);
    tcase_add_test(tests, wrong_options_are_told);
    tcase_add_test(tests, build_errors_are_told);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    /* compilers of OpenCL drivers do not survive a fork */
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
