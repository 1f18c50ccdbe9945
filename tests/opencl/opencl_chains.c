/* The opencl plugin: fused chains, and the cache of binaries that they are in. */
#include "config.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

static float value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

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

/* Nodes that read one another in any order, or not at all; behind them a line that has a norm. */
static eng_value strands(eng_graph *g, eng_value h, const eng_value *t)
{
    eng_value a = eng_unary(g, t[1], ENG_UNARY_SIGMOID), b = eng_scale(g, t[4], 0.3, 0.1);
    eng_value c = eng_mul(g, a, b), d = eng_add(g, c, a);        /* reads one that is not the last */
    eng_value e = eng_unary(g, t[4], ENG_UNARY_TANH);            /* read below, beside others      */
    eng_value f = eng_mul(g, d, d), sum = eng_add(g, eng_add(g, h, f), eng_mul(g, e, e));
    return eng_add(g, eng_rms_norm(g, sum, t[2], 1e-5), sum);
}

/* Nodes that read a value and a view of it, of the same elements and of others, and nobody else does. */
static eng_value views(eng_graph *g, eng_value h, const eng_value *t)
{
    eng_value a = eng_unary(g, h, ENG_UNARY_TANH), b = eng_add(g, a, eng_slice(g, a, 1, 1, 1));
    eng_value c = eng_sub(g, b, eng_slice(g, b, 0, 2, 1)), d = eng_add(g, c, t[1]);
    eng_value e = eng_mul(g, d, eng_reshape(g, d, (const int64_t[]){COLUMNS, HEADS, TOKENS}, 3));
    eng_value row = eng_slice(g, eng_reshape(g, eng_scale(g, e, 0.5, 0.1), (const int64_t[]){COLUMNS, HEADS * TOKENS}, 2), 1, 3, 1);
    eng_value sum = eng_unary(g, row, ENG_UNARY_SOFTPLUS), flat = eng_reshape(g, sum, (const int64_t[]){COLUMNS}, 1);
    return eng_add(g, h, eng_add(g, e, eng_rms_norm(g, sum, flat, 1e-5)));
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
        h = views(g, strands(g, h, t), t);
        eng_value both = eng_add(g, h, t[1]), normed = eng_rms_norm(g, both, t[2], 1e-5);
        h = i + 1 < LAYERS ? eng_sub(g, both, products(g, normed, t + 6, 2 * i)) : normed; /* the last sum is not read again */
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

void opencl_chains(TCase *tests)
{
    tcase_add_test(tests, fused_as_unfused);
    tcase_add_test(tests, damaged_cache_is_built_again);
}
