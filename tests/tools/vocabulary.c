/*
 * A vocabulary for random models: the 256 bytes, merges of random pairs until it is
 * as large as wanted, and <|endoftext|> as the last token.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define LONGEST 24 /* bytes of a token's spelling */
#define END "<|endoftext|>"

typedef struct vocabulary {
    char (*spelling)[LONGEST + 1];
    char (*merges)[2 * LONGEST + 2];
    uint32_t *slots; /* of spellings, index + 1 */
    uint64_t mask;
    uint32_t n, n_merges;
} vocabulary;

static uint32_t *slot_of(const vocabulary *v, const char *text)
{
    for (uint64_t i = model_stream(0, text);; i++) {
        uint32_t *slot = &v->slots[i & v->mask];
        if (*slot == 0 || strcmp(v->spelling[*slot - 1], text) == 0)
            return slot;
    }
}

static void add(vocabulary *v, const char *text)
{
    *slot_of(v, text) = v->n + 1;
    strcpy(v->spelling[v->n++], text);
}

/* The byte alphabet: printable bytes first, then the others as U+0100 ... */
static void add_bytes(vocabulary *v)
{
    uint32_t others = 0;

    for (int pass = 0; pass < 2; pass++)
        for (uint32_t b = 0; b < 256; b++) {
            int printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
            if (printable != (pass == 0))
                continue;
            uint32_t c = printable ? b : 0x100 + others++;
            char text[3] = {(char)(c < 0x80 ? c : 0xc0 | c >> 6), (char)(c < 0x80 ? 0 : 0x80 | (c & 0x3f)), 0};
            add(v, text);
        }
}

/* Pairs of small letters and what has come of them; some begin with a space. */
static void add_merges(vocabulary *v, uint64_t seed, uint32_t wanted)
{
    uint64_t stream = model_stream(seed, "vocabulary");
    uint32_t letters = *slot_of(v, "a") - 1, space = *slot_of(v, "\xc4\xa0") - 1;

    for (uint64_t i = 0; v->n < wanted; i++) {
        uint64_t r = model_random(stream, i);
        uint32_t made = v->n - 256, pick[2];
        for (int k = 0; k < 2; k++) {
            uint32_t x = (uint32_t)(r >> (32 * k));
            /* the share of letters falls as there are more tokens to choose from */
            pick[k] = x % (made + 27) < made     ? 256 + x % (made + 27)
                      : k == 0 && (x >> 28) == 0 ? space
                                                 : letters + x % 26;
        }
        char joined[2 * LONGEST + 1];
        snprintf(joined, sizeof joined, "%s%s", v->spelling[pick[0]], v->spelling[pick[1]]);
        if (strlen(joined) > LONGEST || strstr(joined + 1, "\xc4\xa0") || *slot_of(v, joined))
            continue;
        snprintf(v->merges[v->n_merges++], sizeof *v->merges, "%s %s", v->spelling[pick[0]], v->spelling[pick[1]]);
        add(v, joined);
    }
}

static int texts(eng_gguf_writer *w, const char *name, const char *first, size_t step, uint32_t n)
{
    eng_gguf_string *list = malloc((n ? n : 1) * sizeof *list);

    if (!list)
        return eng_fail(ENG_ERR_NOMEM, "out of memory for the vocabulary");
    for (uint32_t i = 0; i < n; i++)
        list[i] = (eng_gguf_string){first + i * step, strlen(first + i * step)};
    int status = eng_gguf_writer_texts(w, name, list, n);
    free(list);
    return status;
}

static int write_types(eng_gguf_writer *w, uint32_t n)
{
    static const char name[] = "tokenizer.ggml.token_type";
    int32_t *types = malloc(n * sizeof *types);

    if (!types)
        return eng_fail(ENG_ERR_NOMEM, "out of memory for the vocabulary");
    for (uint32_t i = 0; i < n; i++)
        types[i] = i + 1 == n ? 3 : 1; /* control, normal */
    eng_gguf_key key = {{name, sizeof name - 1}, ENG_GGUF_ARRAY, ENG_GGUF_I32, n, types};
    int status = eng_gguf_writer_key(w, &key);
    free(types);
    return status;
}

static int write_keys(const model *m, eng_gguf_writer *w, const vocabulary *v)
{
    const char *pre = strncmp(m->arch, "qwen35", 6) == 0 ? "qwen35"
                      : strcmp(m->arch, "llama") == 0    ? "llama-bpe"
                                                         : "qwen2";
    int status = eng_gguf_writer_text(w, "tokenizer.ggml.model", "gpt2");

    if (!status)
        status = eng_gguf_writer_text(w, "tokenizer.ggml.pre", pre);
    if (!status)
        status = texts(w, "tokenizer.ggml.tokens", v->spelling[0], sizeof *v->spelling, v->n);
    if (!status)
        status = write_types(w, v->n);
    if (!status)
        status = texts(w, "tokenizer.ggml.merges", v->merges[0], sizeof *v->merges, v->n_merges);
    if (!status)
        status = eng_gguf_writer_integer(w, "tokenizer.ggml.eos_token_id", ENG_GGUF_U32, v->n - 1);
    if (!status)
        status = eng_gguf_writer_integer(w, "tokenizer.ggml.bos_token_id", ENG_GGUF_U32, v->n - 1);
    if (!status)
        status = eng_gguf_writer_integer(w, "tokenizer.ggml.padding_token_id", ENG_GGUF_U32, v->n - 1);
    return status ? status : eng_gguf_writer_integer(w, "tokenizer.ggml.add_bos_token", ENG_GGUF_BOOL, 0);
}

int model_vocabulary(const model *m, eng_gguf_writer *w)
{
    uint32_t n = (uint32_t)m->vocab;
    vocabulary v = {.mask = 1023};

    while (v.mask < 2 * (uint64_t)n)
        v.mask = v.mask * 2 + 1;
    v.spelling = calloc(n, sizeof *v.spelling);
    v.merges = calloc(n, sizeof *v.merges);
    v.slots = calloc(v.mask + 1, sizeof *v.slots);
    int status = ENG_OK;
    if (v.spelling && v.merges && v.slots) {
        add_bytes(&v);
        add_merges(&v, m->seed, n - 1);
        add(&v, END);
        status = write_keys(m, w, &v);
    } else {
        status = eng_fail(ENG_ERR_NOMEM, "out of memory for the vocabulary");
    }
    free(v.spelling);
    free(v.merges);
    free(v.slots);
    return status;
}
