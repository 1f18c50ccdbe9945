/*
 * The model's own block for drafting: its guesses against the reference's of the trained model and against the oracle's
 * on random models, several tokens deep; so an assistant's that reads the model's caches; after guesses that were right
 * and wrong; the text is the same with and without.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "libengine-lm/draft/draft.h"
#include "tests/reference/model.h"

#define OK(call) ck_assert_msg((call) == ENG_OK, "%s: %s", #call, eng_last_error())
#define MODEL "tiny-hybrid-f16.gguf"

static const char *const devices[] = {
    "cpu",
#ifdef HAVE_META
    "cpu/3@5:2:1",
#endif
#ifdef HAVE_OPENCL
    "opencl:0",
#ifdef HAVE_META
    "cpu+opencl:0@3:1",
#endif
#endif
};
#define N_DEVICES ((int)(sizeof devices / sizeof *devices))

typedef struct host {
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model, *assistant;
    eng_lm_context *context;
    eng_lm_sampler *sampler;
    eng_lm_draft *draft;
} host;

static eng_lm_context_params context_params(void)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = 128;
    p.n_snapshots = 6;
    p.n_sequences = 2;
    p.type_k = p.type_v = ENG_TYPE_F32;
    p.outputs = ENG_LM_HIDDEN_ALL;
    return p;
}

/* assistant: of it guesses come; NULL: of the model's block */
static void host_open(host *h, const char *device, const char *path, const char *assistant, uint32_t split)
{
    eng_lm_model_params p;
    eng_lm_sampler_params s;
    eng_lm_model_defaults(&p);
    p.flags = assistant ? 0 : ENG_LM_DRAFTS;
    p.placement.split = split;
    memset(h, 0, sizeof *h);
    OK(eng_context_create(NULL, &h->engine));
    OK(eng_device_open(h->engine, device, &h->device));
    OK(eng_lm_model_open(h->engine, h->device, path, &p, &h->model));
    if (assistant)
        OK(eng_lm_model_open(h->engine, h->device, assistant, &p, &h->assistant));
    eng_lm_context_params c = context_params();
    c.placement.split = split;
    OK(eng_lm_context_create(h->model, &c, &h->context));
    eng_lm_sampler_defaults(&s);
    s.temperature = 0;
    OK(eng_lm_sampler_create(h->model, &s, &h->sampler));
}

static void host_close(host *h)
{
    eng_lm_draft_destroy(h->draft);
    eng_lm_sampler_destroy(h->sampler);
    eng_lm_context_destroy(h->context);
    eng_lm_model_close(h->assistant);
    eng_lm_model_close(h->model);
    eng_device_close(h->device);
    eng_context_destroy(h->engine);
}

static void begin_draft(host *h, uint32_t max)
{
    eng_lm_draft_params p;
    eng_lm_draft_defaults(&p);
    p.from = h->assistant ? ENG_LM_DRAFT_MODEL : ENG_LM_DRAFT_BLOCK;
    p.model = h->assistant;
    p.max = max;
    p.flags = ENG_LM_DRAFT_ALWAYS | ENG_LM_DRAFT_PAST_END;
    OK(eng_lm_draft_create(h->context, &p, &h->draft));
}

/* Runs a prompt beside another sequence's tokens, so that places in the batch are not those in the sequence. */
static int32_t prompt(host *h, const int32_t *ids, uint32_t n)
{
    int32_t tokens[160], sequences[160], next;
    uint8_t wanted[160] = {0};
    uint32_t all = 0, last = 0;
    OK(eng_lm_sequence_remove(h->context, 0));
    OK(eng_lm_sequence_remove(h->context, 1));
    for (uint32_t i = 0; i < n; i++) {
        if (i % 3 == 1) {
            tokens[all] = 7;
            sequences[all++] = 1;
        }
        tokens[all] = ids[i];
        sequences[last = all++] = 0;
    }
    wanted[last] = 1;
    eng_lm_batch b = {.size = sizeof b, .n_tokens = all, .tokens = tokens, .sequences = sequences, .logits = wanted};
    OK(eng_lm_decode(h->context, &b));
    OK(eng_lm_sampler_choose(h->sampler, eng_lm_logits(h->context, last), &next));
    return next;
}

/* -- the trained model against the reference --------------------------------------------------- */

START_TEST(reference)
{
    reference_prompt prompts[MAX_PROMPTS];
    int n = reference_read(MODEL, prompts);
    host h;
    host_open(&h, devices[_i], data_path(MODEL), NULL, ENG_LM_SPLIT_TENSOR);
    begin_draft(&h, 1);
    ck_assert_int_gt(n, 0);
    for (int k = 0; k < n; k++) {
        const reference_prompt *p = &prompts[k];
        int32_t text[64 + N_GREEDY];
        size_t at = (size_t)p->n_ids, end = at + N_GREEDY - 2;
        memcpy(text, p->ids, at * sizeof *text);
        text[at++] = prompt(&h, p->ids, (uint32_t)p->n_ids);
        OK(eng_lm_draft_begin(h.draft, text, at));
        while (at < end) {
            uint32_t given;
            size_t i = at - (size_t)p->n_ids - 1;
            OK(eng_lm_draft_step(h.draft, h.sampler, 8, text + at, &given));
            ck_assert_uint_eq(h.draft->guess.n, 1);
            ck_assert_msg(h.draft->guess.tokens[0] == p->drafts[i], "%s, prompt %d: guess %zu is %d, expected %d",
                          devices[_i], k, i, h.draft->guess.tokens[0], p->drafts[i]);
            ck_assert_uint_eq(given, p->drafts[i] == p->greedy[i + 1] ? 2 : 1);
            at += given;
        }
        ck_assert_mem_eq(text + p->n_ids, p->greedy, (N_GREEDY - 2) * sizeof *text);
    }
    host_close(&h);
}
END_TEST

/* -- random models against the oracle ------------------------------------------------------------- */


/* With a block, or with an assistant. */
static const struct {
    const char *options, *assistant;
} models[] = {
    {"--arch qwen35 --seed 71 --mtp 1 --layers 3 --interval 2", NULL},
    {"--arch qwen35 --seed 72 --mtp 2 --tied --type q8_0 --layers 2 --interval 2", NULL},
    {"--arch qwen35moe --seed 73 --mtp 1 --experts 6 --used 2 --layers 2 --interval 2", NULL},
    {"--arch qwen3next --seed 74 --mtp 1 --experts 5 --used 2 --k-heads 2 --v-heads 4 --layers 2 --interval 2", NULL},
    {"--arch glm4moe --seed 75 --mtp 1 --experts 5 --used 2 --layers 2 --dense-lead 1 --head-norms", NULL},
    {"--arch deepseek2 --seed 76 --mtp 1 --experts 6 --used 2 --layers 2 --dense-lead 1 --q-lora 24 --kv-heads 1 --choice-bias "
     "--own-ends", NULL},
    {"--arch deepseek32 --seed 77 --mtp 1 --experts 4 --used 2 --layers 2 --kv-heads 1 --index-top 7 --index-heads 5", NULL},
    {"--arch glm-dsa --seed 78 --mtp 1 --experts 4 --used 2 --layers 3 --index-period 2 --kv-heads 1 --index-top 9 --own-ends "
     "--tied", NULL},
    {"--arch gemma4 --seed 79 --layers 5 --period 3 --heads 4 --kv-heads 2 --full-kv-heads 1 --head 48 --local-head 24 --freqs --tied",
     "--arch gemma4-assistant --seed 79 --layers 4 --period 2 --heads 6 --kv-heads 2 --full-kv-heads 1 --head 48 --local-head 24 "
     "--freqs --embd 64 --ffn 96 --window 6 --layer-scales"},
    {"--arch gemma4 --seed 81 --layers 6 --period 2 --heads 4 --kv-heads 2 --head 32 --shared-caches 3 --input 8 --window 4",
     "--arch gemma4-assistant --seed 81 --layers 2 --period 2 --heads 4 --kv-heads 2 --head 32 --embd 48 --window 4 --type q8_0"},
};
#define N_MODELS ((int)(sizeof models / sizeof *models))

static int32_t best(const double *logits, int64_t n)
{
    int64_t found = 0;
    for (int64_t i = 1; i < n; i++)
        found = logits[i] > logits[found] ? i : found;
    return (int32_t)found;
}

/* Logits for the tokens after tokens[n], the first with the model's states, the others with the block's own and
 * the guesses given. */
static void oracle_chain(const ref_model *m, const int32_t *tokens, size_t n, const int32_t *guess, uint32_t depth,
                         double *logits)
{
    int64_t width = ref_model_vocab(m);
    ref_sequence *text = ref_sequence_create(m), *block = ref_sequence_create(ref_model_block(m));
    ck_assert(text && block);
    for (size_t i = 0; i + 1 < n; i++) {
        ck_assert(ref_sequence_step(text, tokens[i], NULL));
        ck_assert(ref_block_step(block, tokens[i + 1], ref_sequence_state(text), logits));
    }
    for (uint32_t i = 1; i < depth; i++)
        ck_assert(ref_block_step(block, guess[i - 1], ref_sequence_state(block), logits + i * width));
    ref_sequence_destroy(text);
    ref_sequence_destroy(block);
}

/* The same of an assistant: all guesses are made from the place of tokens[n - 1]. */
static void assistant_chain(const ref_model *m, const ref_model *a, const int32_t *tokens, size_t n,
                            const int32_t *guess, uint32_t depth, double *logits)
{
    double state[256];
    ref_sequence *text = ref_sequence_create(m), *own = ref_sequence_create(a);
    ck_assert(text && own);
    for (size_t i = 0; i + 1 < n; i++)
        ck_assert(ref_sequence_step(text, tokens[i], NULL));
    memcpy(state, ref_sequence_state(text), 128 * sizeof *state);
    for (uint32_t i = 0; i < depth; i++)
        ck_assert(ref_assistant_step(own, text, i ? guess[i - 1] : tokens[n - 1], state,
                                     logits + i * ref_model_vocab(m), state));
    ref_sequence_destroy(text);
    ref_sequence_destroy(own);
}

/* a: the assistant, or NULL */
static void check_guess(const host *h, const ref_model *m, const ref_model *a, const int32_t *text, size_t n,
                        const char *what)
{
    enum { DEPTH = 3 };
    const lm_guess *g = &h->draft->guess;
    int64_t width = ref_model_vocab(m);
    double *logits = calloc((size_t)(DEPTH * width), sizeof *logits), most = 0, size = 0;
    ck_assert_uint_eq(g->n, DEPTH);
    if (a)
        assistant_chain(m, a, text, n, g->tokens, DEPTH, logits);
    else
        oracle_chain(m, text, n, g->tokens, DEPTH, logits);
    for (int i = 0; i < DEPTH; i++) {
        const double *row = logits + i * width;
        int32_t right = best(row, width);
        ck_assert_msg(g->tokens[i] == right || row[right] - row[g->tokens[i]] < 1e-4,
                      "%s, %zu tokens: guess %d is %d, expected %d", what, n, i, g->tokens[i], right);
    }
    /* of the last guess */
    const float *got = eng_lm_logits(a ? h->draft->assistant.context : h->draft->block.context, 0);
    for (int64_t i = 0; i < width; i++) {
        double d = fabs(got[i] - logits[(DEPTH - 1) * width + i]);
        most = isnan(d) ? INFINITY : fmax(most, d);
        size += logits[(DEPTH - 1) * width + i] * logits[(DEPTH - 1) * width + i];
    }
    ck_assert_msg(most < 1e-4 * sqrt(size / (double)width), "%s, %zu tokens: logits are off by %g", what, n,
                  most / sqrt(size / (double)width));
    free(logits);
}

/* Model and device by number; the layers whole in every second. */
START_TEST(random_models)
{
    char path[256], small[256], error[256];
    const char *options = models[_i / N_DEVICES].options, *device = devices[_i % N_DEVICES];
    const char *assistant = models[_i / N_DEVICES].assistant;
    host h;
    int32_t text[96];
    size_t at = 21;
    ck_assert_int_eq(subject_make(options, scratch_path("block.gguf", path)), 0);
    ref_model *m = ref_model_open(path, error, sizeof error);
    ck_assert_msg(m && (assistant || ref_model_block(m)), "%s", m ? "no block" : error);
    if (assistant)
        ck_assert_int_eq(subject_make(assistant, scratch_path("assistant.gguf", small)), 0);
    ref_model *a = assistant ? ref_model_open(small, error, sizeof error) : NULL;
    ck_assert_msg(a || !assistant, "%s", error);
    host_open(&h, device, path, assistant ? small : NULL,
              _i % 2 && strchr(device, '+') ? ENG_LM_SPLIT_LAYER : ENG_LM_SPLIT_TENSOR);
    remove(path);
    if (assistant)
        remove(small);
    begin_draft(&h, 3);
    for (size_t i = 0; i < at; i++)
        text[i] = (int32_t)(i * 2654435761u >> 7) & 0xff;
    text[at] = prompt(&h, text, (uint32_t)at);
    at++;
    OK(eng_lm_draft_begin(h.draft, text, at));
    for (int step = 0; step < 6; step++) {
        uint32_t given;
        OK(eng_lm_draft_step(h.draft, h.sampler, 8, text + at, &given));
        check_guess(&h, m, a, text, at, options);
        at += given;
    }
    ref_model_close(m);
    ref_model_close(a);
    host_close(&h);
}
END_TEST

/* Of a context as large as a batch, which drops its oldest tokens, the block has one that is full, too. */
START_TEST(full_contexts)
{
    char path[256];
    host h;
    int32_t tokens[16], text[4] = {1, 2, 3};
    const eng_lm_batch first = {.size = sizeof first, .n_tokens = 3, .tokens = text};
    uint32_t given;
    ck_assert_int_eq(subject_make("--arch qwen35moe --seed 73 --mtp 1 --experts 6 --used 2 --layers 2 --interval 2",
                                  scratch_path("full.gguf", path)), 0);
    host_open(&h, "cpu", path, NULL, ENG_LM_SPLIT_TENSOR);
    remove(path);
    eng_lm_context_destroy(h.context);
    eng_lm_context_params c = context_params();
    c.n_cells = c.n_batch = 32;
    c.n_sequences = 1;
    c.on_full = ENG_LM_FULL_DROP;
    OK(eng_lm_context_create(h.model, &c, &h.context));
    begin_draft(&h, 3);
    OK(eng_lm_decode(h.context, &first));
    OK(eng_lm_sampler_choose(h.sampler, eng_lm_logits(h.context, 2), &text[3]));
    OK(eng_lm_draft_begin(h.draft, text, 4));
    for (int step = 0; step < 150; step++) /* with room for one token nobody asks for guesses */
        ck_assert_msg(eng_lm_draft_step(h.draft, h.sampler, step < 100 ? 1 : 4, tokens, &given) == ENG_OK, "step %d: %s",
                      step, eng_last_error());
    host_close(&h);
}
END_TEST

/* -- what is possible without it ------------------------------------------------------------------- */

/* Nothing is known of a text that was not run last: guesses begin after a step. */
START_TEST(unknown_text)
{
    reference_prompt prompts[MAX_PROMPTS];
    host h;
    uint32_t given;
    reference_read(MODEL, prompts);
    host_open(&h, "cpu", data_path(MODEL), NULL, ENG_LM_SPLIT_TENSOR);
    begin_draft(&h, 2);
    int32_t text[64], n = prompts[0].n_ids, again = 3;
    memcpy(text, prompts[0].ids, (size_t)n * sizeof *text);
    text[n] = prompt(&h, text, (uint32_t)n);
    eng_lm_batch other = {.size = sizeof other, .n_tokens = 1, .tokens = &again, .sequences = &(int32_t){1}};
    OK(eng_lm_decode(h.context, &other));
    OK(eng_lm_draft_begin(h.draft, text, (size_t)n + 1));
    OK(eng_lm_draft_step(h.draft, h.sampler, 4, text + n + 1, &given));
    ck_assert_uint_eq(h.draft->guess.n, 0);
    ck_assert_uint_eq(given, 1);
    OK(eng_lm_draft_step(h.draft, h.sampler, 4, text + n + 2, &given));
    ck_assert_uint_eq(h.draft->guess.n, 2);
    ck_assert_mem_eq(text + n, prompts[0].greedy, 3 * sizeof *text);
    host_close(&h);
}
END_TEST

static void refused(eng_lm_context *context, const char *says)
{
    eng_lm_draft_params p;
    eng_lm_draft *draft = NULL;
    eng_lm_draft_defaults(&p);
    p.from = ENG_LM_DRAFT_BLOCK;
    ck_assert_int_eq(eng_lm_draft_create(context, &p, &draft), ENG_ERR_STATE);
    ck_assert_msg(strstr(eng_last_error(), says) != NULL, "%s", eng_last_error());
}

START_TEST(refusals)
{
    bench b;
    host h;
    eng_lm_context *plain;
    bench_open(&b, "cpu", data_path(MODEL), NULL);
    refused(b.context, "ENG_LM_DRAFTS");
    bench_close(&b);
    host_open(&h, "cpu", data_path(MODEL), NULL, ENG_LM_SPLIT_TENSOR);
    OK(eng_lm_context_create(h.model, NULL, &plain));
    refused(plain, "ENG_LM_HIDDEN");
    eng_lm_context_destroy(plain);
    host_close(&h);
}
END_TEST


/* A file without a block, and an architecture whose block is not known. */
START_TEST(no_block)
{
    static const struct {
        const char *options, *says;
    } cases[] = {
        {"--arch qwen35 --seed 5", "nextn_predict_layers"},
        {"--arch llama --seed 5 --layers 2 --int nextn_predict_layers=1", "nextn_predict_layers"},
    };
    char path[256];
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model;
    eng_lm_model_params p;
    eng_lm_model_defaults(&p);
    p.flags = ENG_LM_DRAFTS;
    OK(eng_context_create(NULL, &engine));
    OK(eng_device_open(engine, "cpu", &device));
    ck_assert_int_eq(subject_make(cases[_i].options, scratch_path("none.gguf", path)), 0);
    ck_assert_int_eq(eng_lm_model_open(engine, device, path, &p, &model), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(), cases[_i].says) != NULL, "%s", eng_last_error());
    remove(path);
    eng_device_close(device);
    eng_context_destroy(engine);
}
END_TEST

/* An assistant by itself, and with a model of another width, or without hidden states. */
START_TEST(assistants)
{
    static const struct {
        const char *options;
        uint32_t outputs;
        const char *says;
    } cases[] = {
        {"--arch gemma4 --seed 5 --embd 96", ENG_LM_HIDDEN, "hidden states of 128"},
        {"--arch gemma4 --seed 5", 0, "ENG_LM_HIDDEN"},
        {"--arch gemma4 --seed 5 --head 48", ENG_LM_HIDDEN, "reads a cache of 2 heads of 32"},
        {"--arch gemma4 --seed 6", ENG_LM_HIDDEN, "vocabulary"},
    };
    char path[256], small[256];
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model, *assistant;
    eng_lm_context *context;
    eng_lm_context_params c = context_params();
    eng_lm_draft_params p;
    eng_lm_draft *draft = NULL;
    ck_assert_int_eq(subject_make(cases[_i].options, scratch_path("first.gguf", path)), 0);
    ck_assert_int_eq(subject_make("--arch gemma4-assistant --seed 5 --layers 2", scratch_path("second.gguf", small)),
                     0);
    OK(eng_context_create(NULL, &engine));
    OK(eng_device_open(engine, "cpu", &device));
    OK(eng_lm_model_open(engine, device, path, NULL, &model));
    OK(eng_lm_model_open(engine, device, small, NULL, &assistant));
    ck_assert_int_eq(eng_lm_context_create(assistant, NULL, &context), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(), "of another model") != NULL, "%s", eng_last_error());
    c.outputs = cases[_i].outputs;
    OK(eng_lm_context_create(model, &c, &context));
    eng_lm_draft_defaults(&p);
    p.from = ENG_LM_DRAFT_MODEL;
    p.model = assistant;
    ck_assert_int_ne(eng_lm_draft_create(context, &p, &draft), ENG_OK);
    ck_assert_msg(strstr(eng_last_error(), cases[_i].says) != NULL, "%s", eng_last_error());
    eng_lm_context_destroy(context);
    eng_lm_model_close(assistant);
    eng_lm_model_close(model);
    eng_device_close(device);
    eng_context_destroy(engine);
    remove(path);
    remove(small);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("block");
    TCase *c = tcase_create("reference");
    tcase_add_loop_test(c, reference, 0, N_DEVICES);
    tcase_add_test(c, unknown_text);
    tcase_add_test(c, full_contexts);
    tcase_add_test(c, refusals);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    c = tcase_create("random");
    tcase_add_loop_test(c, random_models, 0, N_MODELS * N_DEVICES);
    tcase_add_loop_test(c, no_block, 0, 2);
    tcase_add_loop_test(c, assistants, 0, 4);
    tcase_set_timeout(c, 300);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
