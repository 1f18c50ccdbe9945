/*
 * On the cpu plugin a token's logits are the same bits whether tokens are decoded one by one or in passes of any
 * size, and with any number of threads; but for passes of more than 16 tokens through gated delta nets.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

#define TOKENS 70

/* Logits of all tokens, in passes of n; NULL: it failed. */
static float *logits(const char *path, const char *threads, uint32_t n, uint32_t type_k, uint32_t type_v,
                     uint32_t *n_vocab)
{
    eng_context *engine = NULL;
    subject s;
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = 800; /* more than a part of attention */
    p.n_batch = 64;
    p.type_k = type_k;
    p.type_v = type_v;
    if (eng_context_create(NULL, &engine) != ENG_OK ||
        eng_context_set_option(engine, "cpu.threads", threads) != ENG_OK ||
        subject_open(&s, engine, "cpu", path, NULL, &p) != ENG_OK) {
        printf("# %s\n", eng_last_error());
        eng_context_destroy(engine);
        return NULL;
    }
    *n_vocab = s.n_vocab;
    float *all = calloc((size_t)TOKENS * s.n_vocab, sizeof *all);
    bool good = all != NULL;
    for (uint32_t first = 0; good && first < TOKENS; first += n) {
        int32_t ids[TOKENS];
        uint8_t wanted[TOKENS];
        uint32_t here = TOKENS - first < n ? TOKENS - first : n;
        memset(wanted, 1, sizeof wanted);
        for (uint32_t i = 0; i < here; i++)
            ids[i] = (int32_t)(((first + i) * 37 + 11) % s.n_vocab);
        eng_lm_batch b = {.size = sizeof b, .n_tokens = here, .tokens = ids, .logits = wanted};
        good = eng_lm_decode(s.context, &b) == ENG_OK;
        for (uint32_t i = 0; good && i < here; i++)
            memcpy(all + (size_t)(first + i) * s.n_vocab, eng_lm_logits(s.context, i), s.n_vocab * sizeof *all);
    }
    subject_close(&s);
    eng_context_destroy(engine);
    if (good)
        return all;
    free(all);
    return NULL;
}

static void check(const char *name, const char *path, const uint32_t *passes, uint32_t type_k, uint32_t type_v)
{
    uint32_t n_vocab = 0;
    float *one = logits(path, "1", 1, type_k, type_v, &n_vocab);
    for (; *passes; passes++)
        for (int t = 1; t <= 3; t += 2) {
            float *some = one ? logits(path, t == 1 ? "1" : "3", *passes, type_k, type_v, &n_vocab) : NULL;
            uint32_t i = 0;
            while (some && i < TOKENS && memcmp(some + i * n_vocab, one + i * n_vocab, n_vocab * sizeof *some) == 0)
                i++;
            tap_check(i == TOKENS, "%s, caches of %s and %s, passes of %u, %d threads: the bits of %u tokens", name,
                      eng_type_name(type_k), eng_type_name(type_v), *passes, t, i);
            free(some);
        }
    free(one);
}

int main(void)
{
    static const uint32_t plain[] = {5, 7, 64, 0}, recurrent[] = {5, 7, 16, 0};
    char path[256];
    eng_context *context = tap_begin();
    if (!context)
        return tap_end(context);
    scratch_path("passes.gguf", path);
    check("the bundled model", data_path("tiny-hybrid-f16.gguf"), recurrent, ENG_TYPE_F16, ENG_TYPE_F16);
    tap_check(subject_make("--arch qwen3moe --embd 256 --layers 3 --type q4_K", path) == 0, "a random model");
    check("qwen3moe of q4_K", path, plain, ENG_TYPE_F16, ENG_TYPE_F16);
    tap_check(subject_make("--arch llama --embd 128 --layers 3 --type q4_0", path) == 0, "a random model");
    check("llama of q4_0", path, plain, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0);
    tap_check(subject_make("--arch deepseek32 --kv-heads 1 --layers 2 --index-top 9 --index-heads 5", path) == 0,
              "a random model");
    check("deepseek32, nine tokens seen", path, plain, ENG_TYPE_F16, ENG_TYPE_F16);
    remove(path);
    return tap_end(context);
}
