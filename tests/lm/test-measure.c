/*
 * Cross entropies of a text: what is counted of each chunk, and what it begins with, must be what the logits of single
 * tokens say.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

#define TEXT 75

static int32_t text[TEXT];

/* -ln of the next token's part of the sum, from logits that are decoded one by one. */
static double counted(subject *s, const eng_lm_perplexity_params *p, uint32_t chunks)
{
    double sum = 0;
    for (uint32_t i = 0; i < chunks; i++) {
        eng_lm_sequence_remove(s->context, 0);
        for (uint32_t j = 0; j + 1 < p->chunk; j++) {
            double parts = 0;
            int32_t id = j == 0 && p->begin >= 0 ? p->begin : text[i * p->chunk + j];
            const float *logits = subject_run(s, &id, 1);
            for (uint32_t k = 0; logits && k < s->n_vocab; k++)
                parts += exp((double)logits[k]);
            if (j + 1 >= p->first)
                sum += logits ? log(parts) - (double)logits[text[i * p->chunk + j + 1]] : INFINITY;
        }
    }
    return sum / (chunks * (p->chunk - p->first));
}

static void check(subject *s, uint32_t chunk, uint32_t first, int32_t begin, uint32_t most)
{
    eng_lm_perplexity_params p;
    eng_lm_perplexity_result r = {.size = sizeof r};
    uint32_t chunks = most && most < TEXT / chunk ? most : TEXT / chunk;
    eng_lm_perplexity_defaults(&p);
    p.chunk = chunk;
    p.first = first;
    p.begin = begin;
    p.max_chunks = most;
    int status = eng_lm_perplexity_counted(s->context, text, TEXT, &p, NULL, NULL, &r);
    double want = counted(s, &p, chunks);
    tap_check(!status && r.chunks == chunks && r.tokens == (uint64_t)chunks * (chunk - first) &&
                  fabs(r.cross_entropy - want) < 1e-4 && fabs(r.perplexity - exp(want)) < 1e-3 * exp(want),
              "chunks of %u, counted from %u on, begun with %d: %.6f nats, not %.6f", chunk, first, begin,
              r.cross_entropy, want);
}

/* The older call is the newer with what is known by default. */
static void check_default(subject *s)
{
    eng_lm_perplexity_params p;
    eng_lm_perplexity_result a = {.size = sizeof a}, b = {.size = sizeof b};
    eng_lm_perplexity_defaults(&p);
    p.chunk = 16;
    int status = eng_lm_perplexity(s->context, text, TEXT, 16, 0, NULL, NULL, &a);
    status = status ? status : eng_lm_perplexity_counted(s->context, text, TEXT, &p, NULL, NULL, &b);
    tap_check(!status && a.cross_entropy == b.cross_entropy && a.tokens == 4 * 15 && b.tokens == a.tokens,
              "what is counted by default");
}

static void check_refused(subject *s, uint32_t chunk, uint32_t first, int32_t begin, const char *says)
{
    eng_lm_perplexity_params p = {.size = sizeof p, .chunk = chunk, .first = first, .begin = begin};
    eng_lm_perplexity_result r = {.size = sizeof r};
    int status = eng_lm_perplexity_counted(s->context, text, TEXT, &p, NULL, NULL, &r);
    tap_check(status == ENG_ERR_INVALID && strstr(eng_last_error(), says), "refused: %s",
              status ? eng_last_error() : "it is not");
}

int main(void)
{
    eng_context *engine = tap_begin();
    subject s;
    eng_lm_context_params p;
    for (int i = 0; i < TEXT; i++)
        text[i] = (i * 37 + 11) % 900;
    eng_lm_context_defaults(&p);
    p.n_cells = 64;
    p.n_batch = 8; /* so a chunk takes several passes */
    if (engine && subject_open(&s, engine, "cpu", data_path("tiny-hybrid-f16.gguf"), NULL, &p) == ENG_OK) {
        check(&s, 32, 1, -1, 0);
        check(&s, 32, 17, 3, 0); /* llama.cpp's way */
        check(&s, 25, 13, 0, 0);
        check(&s, 16, 15, -1, 3);
        check(&s, 4, 3, 7, 1);
        check_default(&s);
        check_refused(&s, 32, 0, -1, "1 to 31 are possible");
        check_refused(&s, 32, 32, -1, "1 to 31 are possible");
        check_refused(&s, 1, 1, -1, "chunks of 1 tokens");
        check_refused(&s, 32, 1, 1 << 20, "begin with token 1048576");
        check_refused(&s, 65, 1, 1 << 20, "begin with token");
        subject_close(&s);
    } else {
        tap_check(false, "%s", eng_last_error());
    }
    return tap_end(engine);
}
