/* engine-quantize and make-model. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "quantize.h"
#include "sha256.h"

START_TEST(random_models)
{
    static const char *const archs[] = {"qwen35", "qwen35moe", "llama", "qwen2", "qwen3", "qwen3moe"};
    char first[65], second[65];

    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        for (int k = 0; k < 2; k++) {
            runs(run("tests/tools/make-model --arch %s --seed 7 %s", archs[i], OUT), 0);
            eng_gguf *g = opened(OUT);
            const eng_gguf_tensor *t = eng_gguf_tensor_get(g, eng_gguf_tensor_count(g) - 1);
            sha256(t->data, t->bytes, k ? second : first);
            eng_gguf_close(g);
        }
        ck_assert_str_eq(first, second);
    }
    runs(run("tests/tools/make-model --heads 3 --kv-heads 2 %s", OUT), 64);
    runs(run("tests/tools/make-model --vocab 10 %s", OUT), 64);
    clean();
}
END_TEST

/* A model in several files becomes the same file as if it were in one. */
START_TEST(several_files)
{
    char parts[3][64], *one, *other;
    long n[2];

    for (int i = 0; i < 3; i++)
        snprintf(parts[i], sizeof parts[i], "test-quantize-%05d-of-00003.gguf", i + 1);
    runs(run("tests/tools/make-model --arch qwen3moe --split 3 %s", OUT), 0);
    runs(run("engine-quantize -q %s %s q8_0", parts[0], OTHER), 0);
    one = contents(OTHER, &n[0]);
    runs(run("engine-quantize -q --force %s %s q8_0", parts[1], OTHER), 0);
    other = contents(OTHER, &n[1]);
    ck_assert_int_eq(n[0], n[1]);
    ck_assert_mem_eq(one, other, (size_t)n[0]);
    free(other);
    runs(run("tests/tools/make-model --arch qwen3moe %s", OUT), 0);
    runs(run("engine-quantize -q --force %s %s q8_0", OUT, OTHER), 0);
    other = contents(OTHER, &n[1]);
    ck_assert_int_eq(n[0], n[1]);
    ck_assert_mem_eq(one, other, (size_t)n[0]);
    free(one);
    free(other);
    for (int i = 0; i < 3; i++)
        unlink(parts[i]);
    clean();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantize");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    quantize_types(all);
    quantize_writing(all);
    quantize_importance(all);
    tcase_add_test(all, random_models);
    tcase_add_test(all, several_files);
    tcase_set_timeout(all, 600);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
