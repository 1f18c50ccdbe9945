/* GGUF models in several files: found, joined, and refused if they do not belong together. */
#include "config.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"

#define OK(call) ck_assert_msg((call) == ENG_OK, "%s: %s", #call, eng_last_error())
#define N_PARTS 3
#define NAME "parts-test"

static char folder[64];

static const char *file(int no, int count)
{
    static char path[2][128];
    static int next;
    char *to = path[next++ % 2];
    snprintf(to, sizeof path[0], "%s/" NAME "-%05d-of-%05d.gguf", folder, no, count);
    return to;
}

/* What to write wrongly in one of the parts; the rest of it is right. */
typedef struct fault {
    int part;            /* 1-based; 0: none */
    int no, count, total; /* instead of what is right; -1: no such key, 0: right */
    const char *tensor;  /* name of its first tensor */
    const char *name;    /* what it says in general.name, which another than the first need not say; and in other
                          * keys */
    int file_type, length;
    const char *template;
} fault;

static int value(int wrong, int right)
{
    return wrong ? wrong : right;
}

static void key(eng_gguf_writer *w, const char *name, int n)
{
    if (n >= 0)
        OK(eng_gguf_writer_integer(w, name, ENG_GGUF_U16, n));
}

/* Tensor t.i of the whole: 8 numbers, of which the first is i.  Part p has tensors 2p - 2 and 2p - 1; the first has
 * none of these but "only". */
static void write_part(int part, const fault *f, const char *path)
{
    static const int64_t ne[] = {8};
    bool faulty = f && f->part == part;
    float data[2][8] = {{(float)(2 * part - 2)}, {(float)(2 * part - 1)}};
    char name[16];
    eng_gguf_writer *w;
    OK(eng_gguf_writer_create(&w));
    if (part == 1 || (faulty && f->name))
        OK(eng_gguf_writer_text(w, "general.name", faulty && f->name ? f->name : "several"));
    if (part == 1 || (faulty && f->template))
        OK(eng_gguf_writer_text(w, "tokenizer.chat_template", faulty && f->template ? f->template : "hello"));
    if (part == 1 || (faulty && f->file_type))
        OK(eng_gguf_writer_integer(w, "general.file_type", ENG_GGUF_U32, value(faulty ? f->file_type : 0, 7)));
    if (part == 1 || (faulty && f->length))
        OK(eng_gguf_writer_integer(w, "llama.context_length", ENG_GGUF_U32, value(faulty ? f->length : 0, 64)));
    key(w, "split.no", faulty && f->no ? f->no == -1 ? -1 : f->no - 1 : part - 1);
    key(w, "split.count", value(faulty ? f->count : 0, N_PARTS));
    key(w, "split.tensors.count", value(faulty ? f->total : 0, 2 * N_PARTS - 1));
    for (int i = part == 1; i < 2; i++) {
        snprintf(name, sizeof name, part == 1 ? "only" : "t.%d", 2 * part - 2 + i);
        OK(eng_gguf_writer_tensor(w, faulty && f->tensor && i == (part == 1) ? f->tensor : name, ENG_TYPE_F32, ne, 1,
                                  data[i]));
    }
    OK(eng_gguf_writer_save(w, path));
    eng_gguf_writer_destroy(w);
}

static void write_all(const fault *f)
{
    for (int p = 1; p <= N_PARTS; p++)
        write_part(p, f, file(p, N_PARTS));
}

static void remove_all(void)
{
    for (int p = 1; p <= N_PARTS; p++)
        remove(file(p, N_PARTS));
}

static void setup(void)
{
    snprintf(folder, sizeof folder, "parts-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    remove_all();
    rmdir(folder);
}

static void refused(const char *path, int status, const char *text)
{
    eng_gguf *g = NULL;
    ck_assert_int_eq(eng_gguf_open(path, &g), status);
    ck_assert_ptr_null(g);
    ck_assert_msg(strstr(eng_last_error(), text) != NULL, "\"%s\" does not say \"%s\"", eng_last_error(), text);
}

START_TEST(joined)
{
    eng_gguf *g;
    eng_gguf_string name;
    write_all(NULL);
    OK(eng_gguf_open(file(1, N_PARTS), &g));
    ck_assert_uint_eq(eng_gguf_tensor_count(g), 2 * N_PARTS - 1);
    OK(eng_gguf_text(g, "general.name", 0, &name));
    ck_assert(name.length == 7 && memcmp(name.data, "several", 7) == 0);
    for (int i = 1; i < 2 * N_PARTS; i++) {
        char tensor[16];
        float first;
        snprintf(tensor, sizeof tensor, i == 1 ? "only" : "t.%d", i);
        const eng_gguf_tensor *t = eng_gguf_tensor_find(g, tensor);
        ck_assert_msg(t != NULL, "%s is missing", tensor);
        ck_assert_ptr_eq(t, eng_gguf_tensor_get(g, (uint32_t)i - 1));
        ck_assert_str_eq(t->name, tensor);
        ck_assert_uint_eq(t->bytes, 32);
        memcpy(&first, t->data, sizeof first);
        ck_assert(first == (float)i);
    }
    ck_assert_ptr_null(eng_gguf_tensor_find(g, "t.6"));
    ck_assert_ptr_null(eng_gguf_tensor_get(g, 2 * N_PARTS - 1));
    eng_gguf_close(g);
}
END_TEST

/* Whichever file is named, the model is the same. */
START_TEST(any_finds_the_others)
{
    char other[128];
    write_all(NULL);
    for (int p = 2; p <= N_PARTS; p++) {
        eng_gguf *g;
        eng_gguf_string name;
        OK(eng_gguf_open(file(p, N_PARTS), &g));
        ck_assert_uint_eq(eng_gguf_tensor_count(g), 2 * N_PARTS - 1);
        ck_assert_str_eq(eng_gguf_tensor_get(g, 0)->name, "only");
        OK(eng_gguf_text(g, "general.name", 0, &name));
        eng_gguf_close(g);
    }
    snprintf(other, sizeof other, "%s/second.gguf", folder);
    ck_assert_int_eq(rename(file(2, N_PARTS), other), 0);
    refused(other, ENG_ERR_FORMAT, "is file 2 of 3 of a model, but its name does not end in -00002-of-00003.gguf");
    remove(other);
    write_all(NULL);
    remove(file(1, N_PARTS));
    refused(file(3, N_PARTS), ENG_ERR_NOTFOUND, "-00001-of-00003.gguf is missing");
    ck_assert_int_eq(rename(file(2, N_PARTS), file(1, N_PARTS)), 0);
    refused(file(3, N_PARTS), ENG_ERR_FORMAT, "holds part 2 of 3");
}
END_TEST

START_TEST(missing)
{
    write_all(NULL);
    remove(file(2, N_PARTS));
    refused(file(1, N_PARTS), ENG_ERR_NOTFOUND, NAME "-00002-of-00003.gguf is missing");
    FILE *f = fopen(file(2, N_PARTS), "wb"); /* there, but nothing in it */
    ck_assert_ptr_nonnull(f);
    fclose(f);
    refused(file(1, N_PARTS), ENG_ERR_FORMAT, "-00002-of-00003.gguf is empty");
}
END_TEST

START_TEST(renamed)
{
    char other[128];
    write_all(NULL);
    snprintf(other, sizeof other, "%s/model.gguf", folder);
    ck_assert_int_eq(rename(file(1, N_PARTS), other), 0);
    refused(other, ENG_ERR_FORMAT, "does not end in -00001-of-00003.gguf");
    remove(other);
    write_all(NULL);
    ck_assert_int_eq(rename(file(3, N_PARTS), file(2, N_PARTS)), 0);
    refused(file(1, N_PARTS), ENG_ERR_FORMAT, "holds part 3 of 3");
}
END_TEST

START_TEST(faults)
{
    static const struct {
        fault f;
        const char *text;
    } cases[] = {
        {{.part = 2, .no = 3}, "part 3 of 3"},
        {{.part = 2, .count = 4}, "part 2 of 4"},
        {{.part = 2, .count = -1}, "part 1 of 1"},
        {{.part = 2, .no = -1}, "split.no"},
        {{.part = 3, .no = 7}, "split.no"},
        {{.part = 1, .no = -1}, "split.no"},
        {{.part = 1, .count = 2}, "does not end in -00001-of-00002.gguf"},
        {{.part = 1, .total = 6}, "have 5 tensors"},
        {{.part = 3, .total = 9}, "of a model of 9 tensors by its keys"},
        {{.part = 3, .tensor = "t.2"}, "\"t.2\" is in another"},
        {{.part = 3, .tensor = "only"}, "\"only\" is in another"},
        {{.part = 2, .name = "Several"}, "differ in key \"general.name\""},
        {{.part = 2, .name = "several, too"}, "differ in key \"general.name\""},
        {{.part = 3, .file_type = 2}, "differ in key \"general.file_type\""},
        {{.part = 3, .name = "several", .length = 65}, "differ in key \"llama.context_length\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_all(&cases[i].f);
        refused(file(1, N_PARTS), ENG_ERR_FORMAT, cases[i].text);
    }
    static const fault fine[] = {{.part = 1, .total = -1}, /* nobody says how many there are */
                                 {.part = 2, .name = "several", .file_type = 7, .length = 64},
                                 {.part = 3, .template = "mended"}}; /* the first file's is the model's */
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        eng_gguf *g;
        write_all(&fine[i]);
        OK(eng_gguf_open(file(1, N_PARTS), &g));
        eng_gguf_close(g);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parts");
    TCase *t = tcase_create("parts");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, joined);
    tcase_add_test(t, any_finds_the_others);
    tcase_add_test(t, missing);
    tcase_add_test(t, renamed);
    tcase_add_test(t, faults);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
