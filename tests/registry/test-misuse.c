/* What a host gets wrong is refused with a text that says what it was, and never crashes. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

static eng_context *context;
static eng_device *device;
static eng_store *store; /* x and y, f32[4,2], and a position, i32[1]; y is an output */

static eng_store_tensor tensor(uint32_t use)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = ENG_TYPE_F32, .rank = 2, .use = use, .ne = {4, 2},
                              .name = "t", .layer = -1};
}

static void open_context(eng_context **c, eng_device **d)
{
    char folder[1024];
    const char *build = getenv("top_builddir");
    ck_assert_msg(build != NULL, "run me through make check: top_builddir is not set");
    snprintf(folder, sizeof folder, "%s/plugins/null/.libs", build);
    eng_context_params params = {.size = sizeof params, .plugin_path = folder};
    ck_assert_int_eq(eng_context_create(&params, c), ENG_OK);
    ck_assert_int_eq(eng_device_open(*c, "null", d), ENG_OK);
}

static void setup(void)
{
    eng_store_tensor t[] = {tensor(ENG_USE_INPUT), tensor(ENG_USE_OUTPUT), tensor(ENG_USE_INPUT)};
    t[2].type = ENG_TYPE_I32;
    t[2].ne[0] = t[2].ne[1] = 1;
    open_context(&context, &device);
    ck_assert_int_eq(eng_store_create(device, t, 3, &store), ENG_OK);
}

static void teardown(void)
{
    eng_store_destroy(store);
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
}

static void says(int status, int want, const char *text)
{
    ck_assert_int_eq(status, want);
    ck_assert_msg(strstr(eng_last_error(), text) != NULL, "\"%s\" is not in: %s", text, eng_last_error());
}

static eng_graph *graph(uint32_t n_params)
{
    eng_graph *g;
    ck_assert_int_eq(eng_graph_create(context, n_params, &g), ENG_OK);
    return g;
}

/* The graph's first error is told when it is sealed. */
static void seal_says(eng_graph *g, const char *text)
{
    says(eng_graph_seal(g), ENG_ERR_INVALID, text);
    eng_graph_destroy(g);
}

START_TEST(nothing)
{
    ck_assert_uint_eq(eng_store_count(NULL), 0);
    ck_assert_ptr_null(eng_store_get(NULL, 0));
    ck_assert_uint_eq(eng_store_bytes(NULL, 0), 0);
    ck_assert_uint_eq(eng_context_axis(NULL, "a"), ENG_AXIS_NONE);
    ck_assert_uint_eq(eng_context_axis(context, NULL), ENG_AXIS_NONE);
    ck_assert_str_eq(eng_axis_name(NULL, 1), "");
    ck_assert_int_lt(eng_add(NULL, 0, 0), 0);
    says(ENG_OK, ENG_OK, "graph is NULL");
    ck_assert_int_lt(eng_attention(NULL, 0, 0, 0, NULL), 0);
    eng_device_info info = {.size = sizeof info};
    says(eng_device_get_info(NULL, &info), ENG_ERR_INVALID, "eng_device_get_info");
    says(eng_device_get_info(device, NULL), ENG_ERR_INVALID, "eng_device_get_info");
}
END_TEST

/* More segments or factors than the engine takes would silently have no axes. */
START_TEST(axes)
{
    eng_factor factors[ENG_MAX_FACTORS + 1];
    eng_segment segments[ENG_MAX_SEGMENTS + 1];
    eng_dim dims[2] = {{.n_segments = 1}, {0}};
    eng_store_tensor t = tensor(ENG_USE_WEIGHT);
    eng_store *s = NULL;
    t.dims = dims;
    says(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID, "NULL");
    dims[0].segments = segments;
    segments[0] = (eng_segment){.n_factors = 2};
    says(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID, "NULL");
    for (int i = 0; i <= ENG_MAX_FACTORS; i++)
        factors[i] = (eng_factor){.axis = i == 0, .extent = i == 0 ? 4 : 1};
    segments[0] = (eng_segment){.n_factors = ENG_MAX_FACTORS + 1, .factors = factors};
    says(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID, "at most 12");
    for (int i = 0; i <= ENG_MAX_SEGMENTS; i++)
        segments[i] = (eng_segment){.n_factors = 1, .factors = &factors[1]};
    dims[0].n_segments = ENG_MAX_SEGMENTS + 1;
    says(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID, "at most 16");
    factors[0] = (eng_factor){.axis = 1, .extent = INT64_MAX}; /* the dimension is 0 long, but the axis is not */
    factors[1] = (eng_factor){.extent = 0};
    segments[0] = (eng_segment){.n_factors = 2, .factors = factors};
    dims[0].n_segments = 1;
    t.ne[0] = 0;
    says(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID, "impossible extent");
    ck_assert_ptr_null(s);
}
END_TEST

START_TEST(set_axes)
{
    const int64_t wrong[][2] = {{-1, -4},
                                {INT64_C(1) << 62, 8},
                                {INT64_C(1) << 33, (INT64_C(1) << 33) + 4},
                                {INT64_MAX, 0}};
    for (int i = 0; i < 5; i++) {
        eng_factor factors[] = {{.axis = 1, .extent = wrong[i % 4][0]}, {.extent = wrong[i % 4][1]}};
        eng_segment segment = {.n_factors = 2, .factors = i < 4 ? factors : NULL};
        eng_dim dims[] = {{.n_segments = 1, .segments = &segment}};
        eng_graph *g = graph(0);
        eng_value x = eng_unary(g, eng_graph_tensor(g, 0, store, 0), ENG_UNARY_NEG);
        says(eng_graph_set_axes(g, x, dims, 1), ENG_ERR_INVALID, "must multiply to its extent");
        seal_says(g, "must multiply to its extent");
    }
    /* factors of no axis are as good as any, here as in a store */
    eng_graph *g = graph(0);
    eng_value x = eng_unary(g, eng_graph_tensor(g, 0, store, 0), ENG_UNARY_NEG);
    const eng_factor whole = {.extent = eng_graph_get(g, x)->ne[0]};
    const eng_dim dim = {.n_segments = 1, .segments = &(eng_segment){.n_factors = 1, .factors = &whole}};
    ck_assert_msg(eng_graph_set_axes(g, x, &dim, 1) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
    eng_graph_destroy(g);
}
END_TEST

START_TEST(sizes)
{
    const int64_t extents[] = {INT64_MAX, INT64_MAX / 4, INT64_C(1) << 60}; /* graphs could not bind the last two */
    eng_store *s = NULL;
    for (int i = 0; i < 3; i++) {
        eng_store_tensor t = tensor(ENG_USE_STATE);
        t.rank = 1;
        t.ne[0] = extents[i];
        says(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID, "larger than memory can be");
    }
    eng_store_tensor t = tensor(ENG_USE_STATE); /* no bytes, but devices count with the other extents */
    t.ne[0] = 0;
    t.ne[1] = INT64_MAX;
    says(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID, "larger than memory can be");
    ck_assert_ptr_null(s);
}
END_TEST

/* Parameters at the ends of their range (sanitizers watch the sums). */
START_TEST(extremes)
{
    const int64_t ends[] = {INT64_MIN, -1, INT64_MAX - 1, INT64_MAX};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            eng_graph *g = graph(0);
            eng_slice(g, eng_graph_tensor(g, 0, store, 0), 0, ends[a], ends[b]);
            seal_says(g, "must be within");
            g = graph(0);
            eng_rope_params p;
            eng_rope_defaults(&p);
            p.offset = ends[a];
            p.n_dims = ends[b];
            eng_rope(g, eng_graph_tensor(g, 0, store, 0), eng_graph_tensor(g, 0, store, 2), ENG_NO_VALUE, &p);
            seal_says(g, "must be an even range");
        }
}
END_TEST

START_TEST(arrays)
{
    eng_graph *g = graph(0);
    ck_assert_int_lt(eng_graph_op(g, ENG_OP_ADD, NULL, 2, NULL, 0, NULL, 0, NULL), 0);
    seal_says(g, "operands is NULL");
    g = graph(0);
    eng_value x = eng_graph_tensor(g, 0, store, 0);
    ck_assert_int_lt(eng_graph_op(g, ENG_OP_UNARY, &x, 1, NULL, 1, NULL, 0, NULL), 0);
    seal_says(g, "parameters are NULL");
    g = graph(0);
    ck_assert_int_lt(eng_reshape(g, eng_graph_tensor(g, 0, store, 0), NULL, 2), 0);
    seal_says(g, "reshape");
    g = graph(0);
    ck_assert_int_lt(eng_permute(g, eng_graph_tensor(g, 0, store, 0), (int[]){0, 1}, ENG_MAX_RANK + 1), 0);
    seal_says(g, "permute");
    g = graph(0);
    ck_assert_int_lt(eng_pad(g, eng_graph_tensor(g, 0, store, 0), NULL, NULL, 1), 0);
    seal_says(g, "pad");
    g = graph(0);
    ck_assert_int_lt(eng_attention(g, 0, 0, 0, NULL), 0);
    seal_says(g, "eng_attention_defaults");
    g = graph(0);
    ck_assert_int_lt(eng_rope(g, 0, 0, ENG_NO_VALUE, &(eng_rope_params){0}), 0);
    seal_says(g, "eng_rope_defaults");
    for (int i = 0; i < 4; i++) {
        eng_rope_params p;
        g = graph(0);
        eng_rope_defaults(&p);
        p.mode = ENG_ROPE_MROPE;
        p.sections[i] = i % 2 ? -1 : INT64_C(1) << 40;
        eng_rope(g, eng_graph_tensor(g, 0, store, 0), eng_graph_tensor(g, 0, store, 2), ENG_NO_VALUE, &p);
        seal_says(g, "must be a number of pairs");
    }
}
END_TEST

/* The first error stays the first, whatever is made of what failed. */
START_TEST(bound_tensors)
{
    eng_store_tensor t[] = {tensor(ENG_USE_INPUT), tensor(ENG_USE_STATE)};
    eng_store *other, *far;
    eng_context *c;
    eng_device *d;
    ck_assert_int_eq(eng_store_create(device, t, 2, &other), ENG_OK);
    eng_graph *g = graph(0);
    ck_assert_int_lt(eng_unary(g, eng_graph_tensor(g, 0, NULL, 0), ENG_UNARY_NEG), 0);
    seal_says(g, "store is NULL");
    g = graph(0);
    ck_assert_int_ge(eng_graph_tensor(g, 0, store, 0), 0);
    ck_assert_int_lt(eng_graph_tensor(g, 0, other, 1), 0);
    seal_says(g, "slot 0 already is another store");
    g = graph(0);
    ck_assert_int_lt(eng_graph_tensor(g, UINT32_MAX, store, 0), 0); /* one more than that is 0 */
    seal_says(g, "slots");
    open_context(&c, &d);
    ck_assert_int_eq(eng_store_create(d, t, 2, &far), ENG_OK);
    g = graph(0);
    ck_assert_int_lt(eng_graph_tensor(g, 0, far, 0), 0);
    seal_says(g, "another context");
    eng_store_destroy(far);
    eng_store_destroy(other);
    eng_device_close(d);
    ck_assert_int_eq(eng_context_destroy(c), ENG_OK);
}
END_TEST

START_TEST(kv_param)
{
    eng_store_tensor t =
        {.size = sizeof t, .type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_CACHE, .ne = {4, 2, 1}, .layer = -1};
    eng_store_tensor all[] = {t, t, t, t};
    eng_store *s;
    all[3] = (eng_store_tensor){.size = sizeof t, .type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {1}};
    ck_assert_int_eq(eng_store_create(device, all, 4, &s), ENG_OK);
    for (int32_t param = -2; param <= 1; param++) {
        eng_graph *g = graph(1);
        eng_attention_params p;
        eng_attention_defaults(&p);
        p.kv_param = param;
        p.pos = eng_graph_tensor(g, 0, s, 3);
        eng_value q = eng_reshape(g, eng_slice(g, eng_graph_tensor(g, 0, s, 0), 1, 0, 1), (int64_t[]){4, 1, 1}, 3);
        eng_value o = eng_attention(g, q, eng_graph_tensor(g, 0, s, 1), eng_graph_tensor(g, 0, s, 2), &p);
        ck_assert_int_eq(o >= 0, param == -1 || param == 0);
        if (o < 0)
            seal_says(g, "kv_param");
        else
            eng_graph_destroy(g);
    }
    eng_store_destroy(s);
}
END_TEST

/* A graph's axes are its context's; a device that is opened twice is two devices. */
START_TEST(strangers)
{
    eng_context *c;
    eng_device *d, *again;
    eng_plan *p;
    eng_instance *i;
    eng_queue *q;
    eng_store *s;
    eng_store_tensor t[] = {tensor(ENG_USE_INPUT), tensor(ENG_USE_OUTPUT)};
    eng_graph *g = graph(0);
    eng_store_value(g, eng_graph_tensor(g, 0, store, 1), eng_graph_tensor(g, 0, store, 0));
    open_context(&c, &d);
    says(eng_plan_create(d, g, &p), ENG_ERR_STATE, "sealed");
    ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
    says(eng_plan_create(d, g, &p), ENG_ERR_INVALID, "another context");
    eng_device_close(d);
    ck_assert_int_eq(eng_context_destroy(c), ENG_OK);

    ck_assert_int_eq(eng_device_open(context, "null", &again), ENG_OK);
    ck_assert_int_eq(eng_store_create(again, t, 2, &s), ENG_OK);
    ck_assert_int_eq(eng_queue_create(again, &q), ENG_OK);
    ck_assert_int_eq(eng_plan_create(device, g, &p), ENG_OK);
    says(eng_instance_create(p, &s, 1, &i), ENG_ERR_INVALID, "opened another time");
    ck_assert_int_eq(eng_instance_create(p, &store, 1, &i), ENG_OK);
    says(eng_queue_submit(q, NULL, 0, i, NULL, 0, NULL), ENG_ERR_INVALID, "opened another time");
    says(eng_queue_read(q, NULL, 0, store, 0, (const eng_region[]){eng_range(&(float){0}, 0, 4)}, 1, NULL),
         ENG_ERR_INVALID, "opened another time");
    eng_queue_destroy(q);
    eng_instance_destroy(i);
    eng_plan_release(p);
    eng_graph_destroy(g);
    eng_store_destroy(s);
    eng_device_close(again);
}
END_TEST

START_TEST(fences)
{
    eng_queue *q;
    eng_fence f;
    float x[8];
    ck_assert_int_eq(eng_queue_create(device, &q), ENG_OK);
    ck_assert_int_eq(eng_queue_read(q, NULL, 0, store, 0, (const eng_region[]){eng_range(x, 0, sizeof x)}, 1, &f),
                     ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, 0), ENG_OK);
    f.ticket += 1000;
    says(eng_fence_wait(f, 0), ENG_ERR_INVALID, "no fence");
    ck_assert_int_eq(eng_fence_wait((eng_fence){0}, 0), ENG_OK);
    eng_queue_destroy(q);
}
END_TEST

#ifdef HAVE_CPU
/* 0 elements in each of 2^50 rows: nothing to compute, in whole and in parts. */
START_TEST(rows_without_number)
{
#ifdef HAVE_META
    const char *const names[] = {"cpu", "cpu/2"};
#else
    const char *const names[] = {"cpu"};
#endif
    eng_store_tensor t = tensor(ENG_USE_STATE);
    t.ne[0] = 0;
    t.ne[1] = INT64_C(1) << 50;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        eng_context *c;
        eng_device *d;
        eng_store *s;
        eng_graph *g;
        eng_plan *p;
        eng_instance *instance;
        eng_queue *q;
        eng_fence f;
        ck_assert_int_eq(eng_context_create(NULL, &c), ENG_OK);
        ck_assert_msg(eng_device_open(c, names[i], &d) == ENG_OK, "%s", eng_last_error());
        ck_assert_int_eq(eng_store_create(d, &t, 1, &s), ENG_OK);
        ck_assert_int_eq(eng_graph_create(c, 0, &g), ENG_OK);
        eng_value x = eng_graph_tensor(g, 0, s, 0);
        eng_value y = eng_add(g, eng_unary(g, x, ENG_UNARY_SILU), eng_rms_norm(g, x, ENG_NO_VALUE, 1e-6));
        eng_store_value(g, x,
                        eng_cont(g,
                                 eng_permute(g, eng_cont(g, eng_permute(g, y, (int[]){1, 0}, 2)), (int[]){1, 0}, 2)));
        ck_assert_msg(eng_graph_seal(g) == ENG_OK, "%s", eng_last_error());
        ck_assert_msg(eng_plan_create(d, g, &p) == ENG_OK, "%s", eng_last_error());
        ck_assert_msg(eng_instance_create(p, &s, 1, &instance) == ENG_OK, "%s", eng_last_error());
        ck_assert_int_eq(eng_queue_create(d, &q), ENG_OK);
        ck_assert_int_eq(eng_queue_submit(q, NULL, 0, instance, NULL, 0, &f), ENG_OK);
        ck_assert_msg(eng_fence_wait(f, UINT64_MAX) == ENG_OK, "%s", eng_last_error());
        eng_queue_destroy(q);
        eng_instance_destroy(instance);
        eng_plan_release(p);
        eng_graph_destroy(g);
        eng_store_destroy(s);
        eng_device_close(d);
        ck_assert_int_eq(eng_context_destroy(c), ENG_OK);
    }
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("misuse");
    TCase *t = tcase_create("misuse");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, nothing);
    tcase_add_test(t, axes);
    tcase_add_test(t, set_axes);
    tcase_add_test(t, sizes);
    tcase_add_test(t, extremes);
    tcase_add_test(t, arrays);
    tcase_add_test(t, bound_tensors);
    tcase_add_test(t, kv_param);
    tcase_add_test(t, strangers);
    tcase_add_test(t, fences);
#ifdef HAVE_CPU
    tcase_add_test(t, rows_without_number);
#endif
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
