/* The opencl plugin: reports and errors. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

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
        {"opencl.matrix", "perhaps", "auto, no, mma, wmma, dpas, in-c"},
        {"opencl.shuffle", "perhaps", "auto, no or in-c"},
        {"opencl.dot4", "perhaps", "auto, no, yes or in-c"},
        {"opencl.dot2", "perhaps", "auto, no, yes or in-c"},
        {"opencl.bf16", "perhaps", "auto, no or in-c"},
        {"opencl.tiles", "perhaps", "auto, no or in-c"},
        {"opencl.series", "perhaps", "auto, yes or no"},
        {"opencl.stream", "perhaps", "auto, yes or no"},
        {"opencl.fuse", "off", "yes or no"},
        {"opencl.cache", "never", "yes or no"},
        {"opencl.capabilities", "fp16", "unified divide int-dot"},
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

static void write_kernel(const char *folder, const char *name, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* A kernel that does not compile: the compiler's own words are in the error.  It gets its word from a file that is put in
 * once, where it is read: not in a branch that is not. */
START_TEST(build_errors_are_told)
{
    char folder[64];
    snprintf(folder, sizeof folder, "opencl-kernels-%ld", (long)getpid());
    mkdir(folder, 0700);
    write_kernel(folder, "word.clh", "/* a guard behind\n * a comment */\n#ifndef WORD_CLH\n#define WORD_CLH\n"
                                     "#define WORD no_such_thing\n#endif\n");
    write_kernel(folder, "around.clh", "#ifndef AROUND_CLH\n#define AROUND_CLH\n#include \"word.clh\"\n#endif\n");
    write_kernel(folder, "each.cl", "#if 0\n#include \"word.clh\"\n#elif 0\n#include \"around.clh\"\n#else\n#define ELSE 1\n"
                                    "#include \"around.clh\"\n#endif\n#undef WORD\n#undef WORD_CLH\n#include \"word.clh\"\n"
                                    "__kernel void each(int a) { a = ELSE + WORD; }\n");
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

void opencl_told(TCase *tests)
{
    tcase_add_test(tests, precision_is_told);
    tcase_add_test(tests, wrong_options_are_told);
    tcase_add_test(tests, build_errors_are_told);
}
