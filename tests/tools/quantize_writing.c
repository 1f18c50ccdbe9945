/* engine-quantize: command lines, and where it is written. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "quantize.h"

START_TEST(usage)
{
    runs(run("engine-quantize --help"), 0);
    says("usage: engine-quantize");
    runs(run("engine-quantize --version"), 0);
    says(eng_version());
    runs(run("engine-quantize"), 64);
    runs(run("engine-quantize --no-such-option a b q4_0"), 64);
    runs(run("engine-quantize a b q4_7"), 64);
    says("q4_7");
    runs(run("engine-quantize a b i32"), 64);
    runs(run("engine-quantize a b q4_0 -T x=i64"), 64);
    says("\"i64\" is no type of weights");
    runs(run("engine-quantize a b q4_0 -T x"), 64);
    runs(run("engine-quantize a b q4_0 -T '[=q4_0'"), 64);
    runs(run("engine-quantize a b q4_0 -T x=nothing"), 64);
}
END_TEST

START_TEST(failures)
{
    char before[8192];

    runs(run("engine-quantize no-such-file %s q4_0", OUT), 1);
    says("no-such-file");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    runs(run("engine-quantize %s no/such/folder/x q4_0", model()), 1);
    says("no/such/folder");
    runs(run("engine-quantize -d no-such-device %s %s q4_0", model(), OUT), 1);
    says("no-such-device");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    runs(run("engine-quantize %s %s q4_0 -T 'nothing like it=f16'", model(), OUT), 1);
    says("nothing like it");
    /* a truncated file is not begun with */
    snprintf(before, sizeof before, "head -c 5000000 %s > %s", model(), OTHER);
    ck_assert_int_eq(system(before), 0);
    runs(run("engine-quantize %s %s q4_0", OTHER, OUT), 1);
    says("truncated");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    clean();
}
END_TEST

static void refused_onto(const char *from, const char *to, const char *text, const char *before, long n)
{
    long now;

    runs(run("engine-quantize --force %s %s q4_0", from, to), 1);
    says(text);
    char *after = contents(OUT, &now);
    ck_assert_int_eq(now, n);
    ck_assert_mem_eq(before, after, (size_t)n);
    free(after);
}

/* A model is never written onto itself, by whatever name. */
START_TEST(onto_itself)
{
    static const char text[] = "is a file that the model is read from";
    char folder_name[2048];
    long n;

    unlink(OTHER);
    runs(run("tests/tools/make-model --layers 1 %s", OUT), 0);
    char *before = contents(OUT, &n);
    refused_onto(OUT, OUT, text, before, n);
    ck_assert(getcwd(folder_name, sizeof folder_name) != NULL);
    strcat(folder_name, "/" OUT);
    refused_onto(OUT, folder_name, text, before, n);
    ck_assert_int_eq(symlink(OUT, OTHER), 0);
    refused_onto(OUT, OTHER, text, before, n);
    refused_onto(OTHER, OUT, text, before, n);
    unlink(OTHER);
    ck_assert_int_eq(link(OUT, OTHER), 0);
    refused_onto(OUT, OTHER, text, before, n);
    free(before);
    clean();
}
END_TEST

/* Nor onto another part of itself. */
START_TEST(onto_parts)
{
    char parts[2][64];
    long n, now;

    for (int i = 0; i < 2; i++)
        snprintf(parts[i], sizeof parts[i], "test-quantize-%05d-of-00002.gguf", i + 1);
    runs(run("tests/tools/make-model --layers 1 --split 2 %s", OUT), 0);
    char *before = contents(parts[1], &n);
    runs(run("engine-quantize --force %s %s q4_0", parts[0], parts[1]), 1);
    says("is a file that the model is read from");
    char *after = contents(parts[1], &now);
    ck_assert_int_eq(now, n);
    ck_assert_mem_eq(before, after, (size_t)n);
    free(before);
    free(after);
    unlink(parts[0]);
    unlink(parts[1]);
}
END_TEST

START_TEST(onto_another)
{
    long n, now;

    clean();
    runs(run("tests/tools/make-model --layers 1 %s", OUT), 0);
    runs(run("engine-quantize -q %s %s q4_0", OUT, OTHER), 0);
    char *before = contents(OTHER, &n);
    runs(run("engine-quantize -q %s %s q8_0", OUT, OTHER), 1);
    says(OTHER " exists: give OUT another name, or --force to replace it");
    char *after = contents(OTHER, &now);
    ck_assert_int_eq(now, n);
    ck_assert_mem_eq(before, after, (size_t)n);
    runs(run("engine-quantize -q --force %s %s q8_0", OUT, OTHER), 0);
    eng_gguf *g = opened(OTHER);
    ck_assert_uint_eq(type_of(g, "output.weight"), ENG_TYPE_Q8_0);
    eng_gguf_close(g);
    runs(run("engine-quantize -q %s /dev/null q8_0", OUT), 0); /* a device is no file to replace */
    free(before);
    free(after);
    clean();
}
END_TEST

/* A signal in the midst of writing ends the program by that signal, and what was begun is gone. */
START_TEST(interrupts)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    char program[4096], part[128];
    int status;

    snprintf(program, sizeof program, "%s/engine-quantize", folder("top_builddir"));
    clean();
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < 3; i++)
            signal(numbers[i], SIG_DFL); /* a shell in the background has them ignored */
        execl(program, program, "-q", model(), OUT, "q2_K", (char *)NULL);
        _exit(127);
    }
    snprintf(part, sizeof part, OUT ".part-%ld", (long)child);
    while (access(part, F_OK) != 0 && waitpid(child, &status, WNOHANG) == 0)
        usleep(500);
    ck_assert_msg(kill(child, numbers[_i]) == 0, "it had ended before it began to write");
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == numbers[_i], "status %x", status);
    ck_assert_int_ne(access(part, F_OK), 0);
    ck_assert_int_ne(access(OUT, F_OK), 0);
}
END_TEST

void quantize_writing(TCase *all)
{
    tcase_add_test(all, usage);
    tcase_add_test(all, failures);
    tcase_add_test(all, onto_itself);
    tcase_add_test(all, onto_parts);
    tcase_add_test(all, onto_another);
    tcase_add_loop_test(all, interrupts, 0, 3);
}
