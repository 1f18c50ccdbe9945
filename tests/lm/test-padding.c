/*
 * A pass is padded to a power of two tokens, or to the context's largest.  Padding changes no
 * logits, and no device looks at experts for it: in passes that may have any, the ids of every
 * product with experts come from those of the router through what skips padding.  Tokens whose
 * logits nobody wants have no query in the last layer.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

#define LAYERS 3
#define MOST 13 /* tokens of a batch */

static eng_context *engine;
static char path[256];

/* Logits of the tokens asked for, one row each; 0: it failed. */
static uint32_t run(const char *device, const eng_lm_placement *placement, uint32_t n_batch, uint32_t n,
                    const uint8_t *wanted, float **rows, uint32_t *n_vocab)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = 64;
    p.n_batch = n_batch;
    subject s;
    int32_t ids[MOST];
    uint32_t found = 0;
    if (subject_open(&s, engine, device, path, placement, &p) != ENG_OK)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (int32_t)((i * 37 + 11) % s.n_vocab);
    eng_lm_batch b = {.size = sizeof b, .n_tokens = n, .tokens = ids, .logits = wanted};
    *n_vocab = s.n_vocab;
    *rows = calloc((size_t)MOST * s.n_vocab, sizeof **rows);
    bool good = *rows && eng_lm_decode(s.context, &b) == ENG_OK;
    for (uint32_t i = 0; i < n && good; i++)
        if (wanted[i])
            memcpy(*rows + (size_t)found++ * s.n_vocab, eng_lm_logits(s.context, i), s.n_vocab * sizeof **rows);
    subject_close(&s);
    return found;
}

static void check_logits(const char *device, bool dealt_out)
{
    static const struct {
        uint32_t n, batch; /* tokens, and what they are padded to                       */
        uint8_t wanted[MOST];
    } cases[] = {
        {3, 4, {0, 0, 1}},
        {3, 3, {1, 1, 1}},
        {5, 8, {1, 0, 1, 0, 1}},
        {9, 16, {0, 0, 0, 0, 0, 0, 0, 0, 1}},
        {11, 12, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
        {13, 4, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}}, /* several passes, of some nothing is wanted */
    };
    eng_lm_placement placement = {.size = sizeof placement,
                                  .experts = dealt_out ? ENG_LM_EXPERTS_PARALLEL : ENG_LM_EXPERTS_FFN};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *a = NULL, *b = NULL;
        uint32_t n_vocab = 0, n = run("cpu", NULL, 1, cases[i].n, cases[i].wanted, &a, &n_vocab);
        uint32_t m = run(device, &placement, cases[i].batch, cases[i].n, cases[i].wanted, &b, &n_vocab);
        double most = n ? 0 : 1;
        for (uint32_t r = 0; r < n && n == m; r++) {
            double d = relative(b + (size_t)r * n_vocab, a + (size_t)r * n_vocab, n_vocab);
            most = !(d <= most) ? d : most;
        }
        if (n != m)
            printf("# %s\n", eng_last_error());
        tap_check(n == m && most < 2e-3, "%s%s: %u tokens in passes of up to %u, %u wanted: %.2g", device,
                  dealt_out ? ", experts dealt out" : "", cases[i].n, cases[i].batch, n, most);
        free(a);
        free(b);
    }
}

/* -- the graph ----------------------------------------------------------------------------- */

typedef struct text {
    char data[1 << 17];
    size_t length;
} text;

static void append(void *ctx, const char *piece)
{
    text *t = ctx;
    size_t n = strlen(piece);
    if (t->length + n >= sizeof t->data)
        return;
    memcpy(t->data + t->length, piece, n + 1);
    t->length += n;
}

/* The value that the line which makes `value` has as its operand `name`, if that line is one of `op`; -1. */
static int operand(const text *t, int value, const char *op, const char *name)
{
    char begin[64];
    snprintf(begin, sizeof begin, "\n  %%%d = %s(", value, op);
    const char *line = strstr(t->data, begin);
    if (!line)
        return -1;
    size_t length = strcspn(line + 1, "\n");
    snprintf(begin, sizeof begin, "%s=%%", name);
    const char *at = strstr(line, begin);
    return at && at < line + length ? atoi(at + strlen(begin)) : -1;
}

static void check_graph(subject *s, uint32_t n, bool padded)
{
    static text t;
    int products = 0, skipping = 0;
    t.length = 0;
    bool good = eng_lm_context_dump(s->context, n, ENG_EXPLAIN_TEXT, append, &t) == ENG_OK;
    for (const char *at = t.data; good && (at = strstr(at, " = mul_mat_id(")) != NULL; at++) {
        const char *ids = strstr(at, "ids=%");
        int table = operand(&t, ids ? atoi(ids + 5) : -1, "get_rows", "a"), router = operand(&t, table, "concat", "b");
        products++;
        skipping += operand(&t, router, "top_k", "x") >= 0;
    }
    tap_check(good && products == 3 * LAYERS && skipping == (padded ? products : 0),
              "a pass of %u: %d products with experts, %d that skip padding", n, products, skipping);
}

/* The rows that each layer's attention gives in a pass of 8 tokens, of which one is wanted. */
static void check_queries(subject *s)
{
    static text t;
    int all = 0, one = 0;
    t.length = 0;
    bool good = eng_lm_context_dump(s->context, 8, ENG_EXPLAIN_TEXT, append, &t) == ENG_OK;
    for (const char *at = t.data; good && (at = strstr(at, " = attention(")) != NULL; at++) {
        size_t length = strcspn(at, "\n");
        bool whole = length > 4 && strncmp(at + length - 4, ", 8]", 4) == 0;
        all += whole && one == 0;
        one += !whole;
    }
    tap_check(good && all == LAYERS - 1 && one == 1,
              "queries of all tokens in %d layers, of the wanted one in the last %d", all, one);
}

/* Q, K and V in one matrix. */
static void check_fused(void)
{
    subject s;
    if (!tap_check(subject_make("--arch llama --seed 4 --layers 3 --fused-qkv --biases", path) == 0 &&
                       subject_open(&s, engine, "cpu", path, NULL, NULL) == ENG_OK, "Q, K and V in one matrix"))
        return;
    check_queries(&s);
    subject_close(&s);
    check_logits("cpu", false);
#ifdef HAVE_META
    check_logits("cpu/2", false);
    check_logits("cpu/3@2:1:1", false); /* fewer heads than devices */
#endif
}

int main(void)
{
    subject s;
    if (!(engine = tap_begin()))
        return 1;
    scratch_path("padding.gguf", path);
    if (subject_make("--arch qwen3moe --seed 7 --layers 3 --experts 6 --used 2", path) != 0) {
        printf("Bail out! no model\n");
        return 1;
    }
    if (tap_check(subject_open(&s, engine, "cpu", path, NULL, NULL) == ENG_OK, "the model")) {
        check_graph(&s, 1, false);
        check_graph(&s, 2, false);
        check_graph(&s, 3, true);
        check_graph(&s, 33, true);
        check_queries(&s);
        subject_close(&s);
    }
    check_logits("cpu", false);
#ifdef HAVE_META
    check_logits("cpu/2", false);
    check_logits("cpu/3@2:1:1", true);
#endif
    check_fused();
    remove(path);
    return tap_end(engine);
}
