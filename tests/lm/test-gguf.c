/* GGUF files: what is read and written, what is refused and how it is said, damaged files. */
#include "config.h"

#include <stdlib.h>

#include "gguf_file.h"

int main(void)
{
    Suite *suite = suite_create("gguf");
    TCase *good = tcase_create("good files"), *bad = tcase_create("refusals"), *damaged = tcase_create("damaged");
    SRunner *runner = srunner_create(suite);

    gguf_good(good);
    gguf_writing(good);
    gguf_refused(bad);
    gguf_damaged(damaged);
    tcase_set_timeout(damaged, 120);
    suite_add_tcase(suite, good);
    suite_add_tcase(suite, bad);
    suite_add_tcase(suite, damaged);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
