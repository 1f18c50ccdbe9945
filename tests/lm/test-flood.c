/*
 * Files whose author has chosen the names so that they collide in a table without a key: they open as others do.
 * Such tables took half a minute for 160,000 names; what is compared here is the processor's time for the same number
 * of ordinary ones.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libengine-lm/tokenizer/tokenizer.h"
#include "tests/tap.h"
#include "tests/util/colliding.h"

#define PATH "test-flood.tmp"
enum { NAMES = 160000 };

typedef char name[COLLIDING_BYTES];

static void put_tensors(eng_gguf_writer *w, const name *names)
{
    static const float value = 1;
    const int64_t ne = 1;
    int status = ENG_OK;
    for (uint32_t i = 0; i < NAMES && !status; i++)
        status = eng_gguf_writer_tensor(w, names[i], ENG_TYPE_F32, &ne, 1, &value);
    tap_check(status == ENG_OK, "%d tensors are written", NAMES);
}

static void put_keys(eng_gguf_writer *w, const name *names)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < NAMES && !status; i++)
        status = eng_gguf_writer_integer(w, names[i], ENG_GGUF_U8, 1);
    tap_check(status == ENG_OK, "%d keys are written", NAMES);
}

static void put_tokens(eng_gguf_writer *w, const name *names)
{
    eng_gguf_string *list = calloc(NAMES, sizeof *list);
    float *scores = calloc(NAMES, sizeof *scores);
    for (uint32_t i = 0; list && i < NAMES; i++)
        list[i] = (eng_gguf_string){names[i], strlen(names[i])};
    eng_gguf_key key = {{"tokenizer.ggml.scores", 21}, ENG_GGUF_ARRAY, ENG_GGUF_F32, NAMES, scores};
    bool good = list && scores && eng_gguf_writer_text(w, "tokenizer.ggml.model", "llama") == ENG_OK &&
                eng_gguf_writer_texts(w, "tokenizer.ggml.tokens", list, NAMES) == ENG_OK &&
                eng_gguf_writer_key(w, &key) == ENG_OK &&
                eng_gguf_writer_integer(w, "tokenizer.ggml.unknown_token_id", ENG_GGUF_U32, 0) == ENG_OK;
    tap_check(good, "%d tokens are written", NAMES);
    free(list);
    free(scores);
}

/* Processor time for writing, opening and using a file with these names, in seconds. */
static double use(void (*put)(eng_gguf_writer *w, const name *names), int fold, const char *what)
{
    name *names = colliding_names(NAMES, fold);
    eng_gguf_writer *w = NULL;
    eng_gguf *g = NULL;
    eng_tokenizer *t = NULL;
    if (!names || eng_gguf_writer_create(&w)) {
        tap_check(false, "there is memory for %d names", NAMES);
        return 0;
    }
    clock_t begin = clock();
    put(w, names);
    int status = eng_gguf_writer_save(w, PATH);
    if (!status)
        status = eng_gguf_open(PATH, &g);
    if (!status && put == put_tokens)
        status = eng_tokenizer_create(g, &t);
    bool found = true;
    for (uint32_t i = 0; i < NAMES && !status; i++)
        found &= put == put_tokens ? eng_tokenizer_find(t, names[i]) == (int32_t)i
                 : put == put_keys ? eng_gguf_key_find(g, names[i]) != NULL
                                   : eng_gguf_tensor_find(g, names[i]) == eng_gguf_tensor_get(g, i);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    tap_check(status == ENG_OK && found, "%s: every one of them is found%s%s", what, status ? ": " : "",
              status ? eng_last_error() : "");
    eng_tokenizer_destroy(t);
    eng_gguf_close(g);
    eng_gguf_writer_destroy(w);
    unlink(PATH);
    free(names);
    return seconds;
}

int main(void)
{
    static const struct {
        void (*put)(eng_gguf_writer *w, const name *names);
        int fold;
        const char *what;
    } cases[] = {{put_tensors, 32, "tensors"}, {put_keys, 32, "keys"}, {put_tokens, 29, "tokens"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ordinary = use(cases[i].put, 0, cases[i].what);
        double chosen = use(cases[i].put, cases[i].fold, cases[i].what);
        printf("# %s: %.3f s of the processor, with names chosen to collide %.3f s\n", cases[i].what, ordinary, chosen);
        tap_check(chosen < 8 * (ordinary + 0.05), "%s whose names were chosen to collide are as good as others",
                  cases[i].what);
    }
    return tap_end(NULL);
}
