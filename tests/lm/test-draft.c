/* Drafting with the trained model: the text is the same whatever is guessed, on every kind of device. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grammar.h"
#include "bench.h"

#define OK(call) ck_assert_msg((call) == ENG_OK, "%s: %s", #call, eng_last_error())
#define MODEL "tiny-hybrid-f16.gguf"
#define N_TEXT 56 /* tokens generated                                             */

static const char *const devices[] = {
    "cpu",
#ifdef HAVE_META
    "cpu/2",
#endif
#ifdef HAVE_OPENCL
    "opencl:0",
#endif
};
#define N_DEVICES ((int)(sizeof devices / sizeof *devices))

/* Guesses of the text that is known to come, each right with a probability; sometimes none at all. */
typedef struct prophet {
    const int32_t *text; /* prompt and what follows                               */
    size_t n;
    double right, silent;
    uint64_t seed;
    uint32_t asked;
} prophet;

static double draw(prophet *p)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(p->seed >> 11) * 0x1p-53;
}

static int prophesy(void *user, const int32_t *tokens, size_t n_tokens, uint32_t most, int32_t *guess, uint32_t *n)
{
    prophet *p = user;
    (void)tokens;
    p->asked++;
    *n = 0;
    if (draw(p) < p->silent)
        return ENG_OK;
    for (; *n < most && n_tokens + *n < p->n; ++*n) {
        int32_t token = p->text[n_tokens + *n];
        guess[*n] = draw(p) < p->right ? token : (token + 1) % 256;
    }
    return ENG_OK;
}

/* The trained model in another type; 0, or what system() answers. */
static int quantize(const char *type, const char *path)
{
    char command[1024];
    const char *top = getenv("top_builddir");
    snprintf(command, sizeof command, "'%s/engine-quantize' -q '%s' '%s' %s", top ? top : ".", data_path(MODEL), path,
             type);
    return system(command);
}

/* -- what a run gives --------------------------------------------------------------- */

typedef struct setting {
    uint32_t from, max, flags;
    float temperature, p_min;
    eng_lm_model *model;
    prophet *prophet;
} setting;

static const eng_lm_grammar *grammar; /* what texts follow, or NULL */

static eng_lm_sampler *sampler_of(const bench *b, float temperature)
{
    eng_lm_sampler_params p;
    eng_lm_sampler *sampler;
    eng_lm_sampler_defaults(&p);
    p.temperature = temperature;
    p.seed = 11;
    p.penalty_last = temperature > 0 ? 16 : 0;
    p.repeat_penalty = temperature > 0 ? 1.1f : 1;
    OK(eng_lm_sampler_create(b->model, &p, &sampler));
    OK(eng_lm_sampler_set_grammar(sampler, grammar));
    return sampler;
}

static int32_t choose(eng_lm_sampler *sampler, const float *logits)
{
    int32_t token;
    OK(eng_lm_sampler_choose(sampler, logits, &token));
    eng_lm_sampler_accept(sampler, token);
    return token;
}

/* The prompt and N_TEXT tokens, one by one. */
static size_t plain(bench *b, const reference_prompt *prompt, float temperature, int32_t *text)
{
    size_t n = (size_t)prompt->n_ids;
    eng_lm_sampler *sampler = sampler_of(b, temperature);
    memcpy(text, prompt->ids, n * sizeof *text);
    OK(eng_lm_sequence_remove(b->context, 0));
    const float *logits = bench_run(b, text, (uint32_t)n);
    for (int i = 0; i < N_TEXT; i++, n++) {
        text[n] = choose(sampler, logits);
        logits = bench_run(b, &text[n], 1);
    }
    eng_lm_sampler_destroy(sampler);
    return n;
}

/* The same with drafts. */
static void drafted(bench *b, const reference_prompt *prompt, const setting *s, int32_t *text, eng_lm_draft_stats
                    *stats)
{
    size_t n = (size_t)prompt->n_ids, end = n + N_TEXT;
    eng_lm_draft_params p;
    eng_lm_draft *draft;
    eng_lm_stats held = {.size = sizeof held};
    eng_lm_sampler *sampler = sampler_of(b, s->temperature);
    eng_lm_draft_defaults(&p);
    p.from = s->from;
    p.max = s->max;
    p.flags = s->flags | ENG_LM_DRAFT_PAST_END;
    p.guess = prophesy;
    p.guess_user = s->prophet;
    p.model = s->model;
    p.p_min = s->p_min;
    memcpy(text, prompt->ids, n * sizeof *text);
    OK(eng_lm_sequence_remove(b->context, 0));
    text[n++] = choose(sampler, bench_run(b, prompt->ids, (uint32_t)prompt->n_ids));
    OK(eng_lm_draft_create(b->context, &p, &draft));
    OK(eng_lm_draft_begin(draft, text, n));
    while (n < end) {
        uint32_t more = 0;
        OK(eng_lm_draft_step(draft, sampler, (uint32_t)(end - n), text + n, &more));
        ck_assert_uint_ge(more, 1);
        ck_assert_uint_le(more, end - n);
        n += more;
        OK(eng_lm_context_get_stats(b->context, &held));
        ck_assert_int_eq(eng_lm_sequence_length(b->context, 0) + (int64_t)held.tokens_dropped, (int64_t)n - 1);
    }
    *stats = (eng_lm_draft_stats){.size = sizeof *stats};
    OK(eng_lm_draft_get_stats(draft, stats));
    ck_assert_uint_eq(stats->tokens, N_TEXT - 1);
    ck_assert_uint_eq(stats->tokens, stats->steps + stats->accepted);
    eng_lm_draft_destroy(draft);
    eng_lm_sampler_destroy(sampler);
}

/* Equal, at least up to the first choice between tokens that are nearly as likely. */
static void same(const int32_t *a, const int32_t *b, size_t n, const eng_lm_draft_stats *s, const char *what)
{
    for (size_t i = 0; i < n && i < s->first_near_tie; i++)
        ck_assert_msg(a[i] == b[i], "%s: token %zu is %d, without drafts %d (near ties: %llu)", what, i, a[i], b[i],
                      (unsigned long long)s->near_ties);
}

static void open_with(bench *b, int device, uint32_t n_snapshots)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = 256;
    p.n_snapshots = n_snapshots;
    bench_open(b, devices[device], data_path(MODEL), &p);
}

/* -- tests ------------------------------------------------------------------------------ */

/* Guesses of 1 to 8 tokens that are all right, all wrong, right at 0.7 and sometimes silent; and n-grams. */
START_TEST(text_is_the_same)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int32_t want[64 + N_TEXT], got[64 + N_TEXT];
    int n_prompts = reference_read(MODEL, prompts);
    open_with(&b, _i, 9);
    for (int i = 0; i < n_prompts; i++) {
        size_t n = plain(&b, &prompts[i], 0, want);
        for (uint32_t max = 1; max <= 8; max++) {
            static const double rights[] = {1, 0, 0.7};
            for (int k = 0; k < 4; k++) {
                prophet p = {want, n, k < 3 ? rights[k] : 0, k == 2 ? 0.2 : 0, 100 * max + (uint64_t)k, 0};
                setting s = {.from = k < 3 ? ENG_LM_DRAFT_HOST : ENG_LM_DRAFT_NGRAM, .max = max,
                             .flags = ENG_LM_DRAFT_ALWAYS, .prophet = &p};
                eng_lm_draft_stats stats;
                char what[96];
                snprintf(what, sizeof what, "%s, prompt %d, %u guesses, kind %d", devices[_i], i, max, k);
                drafted(&b, &prompts[i], &s, got, &stats);
                same(got, want, n, &stats, what);
                if (stats.near_ties == 0 && k < 2)
                    ck_assert_uint_eq(stats.accepted, k == 0 ? stats.drafted : 0);
                if (stats.near_ties == 0 && k == 0)
                    ck_assert_uint_eq(stats.steps, (N_TEXT - 1 + max) / (max + 1));
            }
        }
    }
    bench_close(&b);
}
END_TEST

/* Drawn tokens: a guess is taken if the sampler draws it, so one seed gives one text. */
START_TEST(drawn_text_is_the_same)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int32_t want[64 + N_TEXT], got[64 + N_TEXT];
    reference_read(MODEL, prompts);
    open_with(&b, _i, 5);
    size_t n = plain(&b, &prompts[0], 0.8f, want);
    for (int k = 0; k < 3; k++) {
        prophet p = {want, n, k == 0 ? 1 : 0.5, 0, 5, 0};
        setting s = {.from = k < 2 ? ENG_LM_DRAFT_HOST : ENG_LM_DRAFT_NGRAM, .max = 4, .flags = ENG_LM_DRAFT_ALWAYS,
                     .temperature = 0.8f, .prophet = &p};
        eng_lm_draft_stats stats;
        drafted(&b, &prompts[0], &s, got, &stats);
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(got[i] == want[i], "%s, kind %d: token %zu is %d, without drafts %d", devices[_i], k, i,
                          got[i],
                          want[i]);
        ck_assert_uint_eq(stats.near_ties, 0);
    }
    bench_close(&b);
}
END_TEST

/* The pace decides how many are run (test-pace.c: as it should); whatever it does, the text is the same. */
START_TEST(pace)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int32_t want[64 + N_TEXT], got[64 + N_TEXT];
    eng_lm_draft_stats stats;
    reference_read(MODEL, prompts);
    open_with(&b, _i, 5);
    size_t n = plain(&b, &prompts[0], 0, want);
    for (int k = 0; k < 2; k++) {
        prophet p = {want, n, k == 0, 0, 5, 0};
        setting s = {.from = ENG_LM_DRAFT_HOST, .max = 4, .prophet = &p};
        drafted(&b, &prompts[0], &s, got, &stats);
        same(got, want, n, &stats, devices[_i]);
        ck_assert(stats.verify_ns > 0 && stats.pass_seconds >= 0);
    }
    bench_close(&b);
}
END_TEST

/* A second model: the same one, whose guesses are all right; one with other weights and a vocabulary without bytes,
 * which
 * is refused; and the same one rounded to 4 bits. */
START_TEST(second_model)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int32_t want[64 + N_TEXT], got[64 + N_TEXT];
    eng_lm_draft_stats stats;
    char path[256];
    reference_read(MODEL, prompts);
    open_with(&b, _i, 9);
    size_t n = plain(&b, &prompts[0], 0, want);
    eng_lm_model *second;
    OK(eng_lm_model_open(b.engine, b.device, data_path(MODEL), NULL, &second));
    for (uint32_t max = 1; max <= 8; max += 3) {
        setting s = {.from = ENG_LM_DRAFT_MODEL, .max = max, .flags = ENG_LM_DRAFT_ALWAYS, .model = second};
        drafted(&b, &prompts[0], &s, got, &stats);
        same(got, want, n, &stats, devices[_i]);
        if (stats.near_ties == 0)
            ck_assert_uint_eq(stats.steps, (N_TEXT - 1 + max) / (max + 1));
        s.p_min = 0.5f; /* shorter guesses, the same text */
        uint64_t drafts = stats.drafted;
        drafted(&b, &prompts[0], &s, got, &stats);
        same(got, want, n, &stats, "p_min");
        ck_assert_uint_lt(stats.drafted, drafts);
        s.temperature = 0.8f; /* one distribution, but for penalties on what the same guess has guessed before */
        s.p_min = 0;
        drafted(&b, &prompts[0], &s, got, &stats);
        ck_assert_msg(5 * stats.accepted >= 4 * stats.drafted, "%s: %llu of %llu", devices[_i],
                      (unsigned long long)stats.accepted, (unsigned long long)stats.drafted);
    }
    eng_lm_model_close(second);
    ck_assert_int_eq(quantize("q4_0", scratch_path("draft.gguf", path)), 0);
    OK(eng_lm_model_open(b.engine, b.device, path, NULL, &second));
    setting s = {.from = ENG_LM_DRAFT_MODEL, .max = 4, .flags = ENG_LM_DRAFT_ALWAYS, .model = second};
    drafted(&b, &prompts[0], &s, got, &stats);
    same(got, want, n, &stats, "q4_0");
    ck_assert_uint_gt(stats.accepted, stats.drafted / 4);
    s.temperature = 0.8f;
    drafted(&b, &prompts[0], &s, got, &stats);
    ck_assert_uint_gt(stats.accepted, stats.drafted / 4);
    eng_lm_model_close(second);
    remove(path);
    /* another architecture with another vocabulary: what it guesses is translated */
    const char *tiny = "--arch llama --layers 1 --embd 32 --ffn 32 --vocab 300 --heads 1 --kv-heads 1 --head 32";
    ck_assert_int_eq(subject_make(tiny, path), 0);
    OK(eng_lm_model_open(b.engine, b.device, path, NULL, &second));
    s = (setting){.from = ENG_LM_DRAFT_MODEL, .max = 4, .flags = ENG_LM_DRAFT_ALWAYS, .model = second};
    drafted(&b, &prompts[0], &s, got, &stats);
    same(got, want, n, &stats, "another vocabulary");
    ck_assert_uint_gt(stats.drafted, 0);
    eng_lm_model_close(second);
    remove(path);
    bench_close(&b);
}
END_TEST

/* Does what was generated follow the grammar? */
static void follows(const bench *b, const eng_lm_grammar *g, const int32_t *text, size_t n)
{
    char *bytes;
    size_t length;
    uint32_t state;
    OK(eng_lm_text(b->model, text + n - N_TEXT, N_TEXT, 1, &bytes, &length));
    /* the text of a list has no space before its first word, which the grammar does not want either */
    OK(eng_lm_grammar_test(g, bytes, length, &state));
    ck_assert_msg(state != ENG_LM_GRAMMAR_LEFT, "'%s'", bytes);
    eng_lm_free(bytes);
}

/* Guesses that a grammar forbids are never taken, and the text is that without drafts. */
START_TEST(under_a_grammar)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int32_t free_text[64 + N_TEXT], want[64 + N_TEXT], got[64 + N_TEXT];
    eng_lm_draft_stats stats;
    eng_lm_grammar *g;
    eng_lm_model *second;
    reference_read(MODEL, prompts);
    open_with(&b, _i, 9);
    OK(eng_lm_model_open(b.engine, b.device, data_path(MODEL), NULL, &second));
    OK(eng_lm_grammar_create(b.model, "root ::= ([a-m]{2,4} [.,] \" \"){1000}", NULL, &g));
    plain(&b, &prompts[0], 0, free_text);
    for (int drawn = 0; drawn < 2; drawn++) {
        grammar = g;
        size_t n = plain(&b, &prompts[0], drawn ? 0.8f : 0, want);
        follows(&b, g, want, n);
        /* guesses of the text that there is without the grammar; of the right one; n-grams; a model's */
        for (int k = 0; k < 4; k++) {
            prophet p = {k == 0 ? free_text : want, n, k == 1 ? 0.7 : 1, 0, 5, 0};
            setting s = {.from = k < 2 ? ENG_LM_DRAFT_HOST : k == 2 ? ENG_LM_DRAFT_NGRAM : ENG_LM_DRAFT_MODEL, .max = 4, .flags = ENG_LM_DRAFT_ALWAYS,
                         .temperature = drawn ? 0.8f : 0, .prophet = &p, .model = second};
            drafted(&b, &prompts[0], &s, got, &stats);
            follows(&b, g, got, n);
            if (!drawn)
                same(got, want, n, &stats, "under a grammar");
            else if (k < 3)
                ck_assert_mem_eq(got, want, n * sizeof *got);
            if (k == 1 && stats.near_ties == 0)
                ck_assert_uint_gt(stats.accepted, 0);
        }
        grammar = NULL;
    }
    eng_lm_grammar_destroy(g);
    eng_lm_model_close(second);
    bench_close(&b);
}
END_TEST

/* Fewer snapshots, cells or logits shorten the guesses; nothing fails, up to the last cell. */
START_TEST(limits)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int32_t want[64 + N_TEXT], got[64 + N_TEXT];
    reference_read(MODEL, prompts);
    open_with(&b, 0, 1);
    size_t n = plain(&b, &prompts[0], 0, want);
    for (int k = 0; k < 4; k++) {
        eng_lm_context_params c;
        eng_lm_draft_stats stats;
        eng_lm_context_defaults(&c);
        c.n_cells = k == 1 ? (uint32_t)n - 1 : 256; /* the last token needs none */
        c.n_snapshots = k == 0 ? 3 : 9;
        c.n_logits = k == 2 ? 2 : 0;
        c.n_batch = k == 3 ? 4 : 64;
        bench_context(&b, &c);
        prophet p = {want, n, 1, 0, 5, 0};
        setting s = {.from = ENG_LM_DRAFT_HOST, .max = 8, .flags = ENG_LM_DRAFT_ALWAYS, .prophet = &p};
        drafted(&b, &prompts[0], &s, got, &stats);
        same(got, want, n, &stats, "limits");
        if (stats.near_ties == 0 && k != 1) {
            uint32_t most = k == 0 ? 2 : k == 2 ? 1 : 3;
            ck_assert_msg(stats.steps == (N_TEXT - 1 + most) / (most + 1), "limit %d: %llu steps", k,
                          (unsigned long long)stats.steps);
        }
    }
    bench_close(&b);
}
END_TEST

/* A context that is full drops its oldest tokens for tokens of the text, and none for guesses, whatever becomes of
 * them. */
START_TEST(full_contexts)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int32_t want[64 + N_TEXT], got[64 + N_TEXT];
    eng_lm_context_params c;
    eng_lm_draft_stats stats;
    reference_read(MODEL, prompts);
    open_with(&b, _i, 5);
    eng_lm_context_defaults(&c);
    c.n_cells = (uint32_t)prompts[0].n_ids + N_TEXT / 2;
    c.n_snapshots = 5;
    c.on_full = ENG_LM_FULL_DROP;
    for (int k = 0; k < 4; k++) {
        float temperature = k % 2 ? 0.8f : 0;
        bench_context(&b, &c);
        size_t n = plain(&b, &prompts[0], temperature, want);
        bench_context(&b, &c);
        prophet p = {want, n, k < 2 ? 0.5 : 0, 0, 5, 0};
        setting s = {.from = ENG_LM_DRAFT_HOST, .max = 4, .flags = ENG_LM_DRAFT_ALWAYS, .temperature = temperature, .prophet = &p};
        drafted(&b, &prompts[0], &s, got, &stats);
        same(got, want, n, &stats, devices[_i]);
        ck_assert_uint_gt(stats.drafted, 0);
    }
    bench_close(&b);
}
END_TEST

/* A token that ends a text is the last of its step, be it guessed or not. */
START_TEST(ends)
{
    bench b;
    eng_lm_draft *draft;
    eng_lm_draft_params p;
    int32_t end = -1, tokens[8], text[8 + N_TEXT];
    eng_lm_model_info info = {.size = sizeof info};
    open_with(&b, 0, 5);
    OK(eng_lm_model_get_info(b.model, &info));
    for (uint32_t i = 0; i < info.n_vocab && end < 0; i++)
        end = eng_lm_is_end(b.model, (int32_t)i) ? (int32_t)i : -1;
    ck_assert_int_ge(end, 0);
    /* a text that ends: the most likely token after a while of ends is one */
    eng_lm_sampler *sampler = sampler_of(&b, 0);
    for (int i = 0; i < 8; i++)
        text[i] = i < 4 ? 65 + i : end;
    prophet all = {text, 8, 1, 0, 1, 0};
    eng_lm_draft_defaults(&p);
    p.from = ENG_LM_DRAFT_HOST;
    p.guess = prophesy;
    p.guess_user = &all;
    p.flags = ENG_LM_DRAFT_ALWAYS;
    OK(eng_lm_draft_create(b.context, &p, &draft));
    bench_run(&b, text, 3);
    OK(eng_lm_draft_begin(draft, text, 4));
    uint32_t n;
    OK(eng_lm_draft_step(draft, sampler, 8, tokens, &n));
    eng_lm_draft_stats stats = {.size = sizeof stats};
    OK(eng_lm_draft_get_stats(draft, &stats));
    ck_assert_uint_eq(stats.drafted, 1); /* what would follow an end is not run */
    for (uint32_t i = 0; i + 1 < n; i++)
        ck_assert(!eng_lm_is_end(b.model, tokens[i]));
    eng_lm_draft_destroy(draft);
    eng_lm_sampler_destroy(sampler);
    bench_close(&b);
}
END_TEST

static int fail_to_guess(void *user, const int32_t *tokens, size_t n_tokens, uint32_t most, int32_t *guess, uint32_t *n)
{
    (void)user, (void)tokens, (void)n_tokens, (void)most, (void)guess, (void)n;
    return eng_fail(ENG_ERR_IO, "the oracle is silent");
}

static int guess_too_much(void *user, const int32_t *tokens, size_t n_tokens, uint32_t most, int32_t *guess, uint32_t
                          *n)
{
    (void)user, (void)tokens, (void)n_tokens;
    memset(guess, 0, most * sizeof *guess);
    *n = most + 1;
    return ENG_OK;
}

/* Gives the file's tokenizer a name that is not known. */
static void forget_tokenizer(const char *path)
{
    size_t length;
    char *file = read_file(path, &length), *at = memmem(file, length, "gpt2", 4);
    ck_assert_ptr_nonnull(at);
    memcpy(at, "none", 4);
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(file, 1, length, f) == length && fclose(f) == 0);
    free(file);
}

/* A second model without a tokenizer cannot be compared. */
START_TEST(unknown_vocabulary)
{
    bench b;
    char path[256];
    eng_lm_model *second;
    eng_lm_draft_params p;
    eng_lm_draft *draft = NULL;
    const char *tiny = "--arch llama --layers 1 --embd 32 --ffn 32 --vocab 300 --heads 1 --kv-heads 1 --head 32";
    open_with(&b, 0, 5);
    ck_assert_int_eq(subject_make(tiny, scratch_path("draft.gguf", path)), 0);
    forget_tokenizer(path);
    OK(eng_lm_model_open(b.engine, b.device, path, NULL, &second));
    eng_lm_draft_defaults(&p);
    p.from = ENG_LM_DRAFT_MODEL;
    p.model = second;
    ck_assert_int_eq(eng_lm_draft_create(b.context, &p, &draft), ENG_ERR_UNSUPPORTED);
    ck_assert_ptr_null(draft);
    ck_assert_msg(strstr(eng_last_error(), "has no tokenizer") != NULL, "%s", eng_last_error());
    eng_lm_model_close(second);
    remove(path);
    bench_close(&b);
}
END_TEST

START_TEST(refusals)
{
    bench b;
    eng_lm_draft *draft = NULL;
    eng_lm_draft_params p;
    int32_t text[] = {65, 66, 67, 68}, tokens[8];
    uint32_t n = 77;
    open_with(&b, 0, 5);
    eng_lm_sampler *sampler = sampler_of(&b, 0);
    eng_lm_draft_defaults(&p);
    const struct {
        uint32_t from, max, min, sequence;
        float p_min;
    } bad[] = {{99, 4, 1, 0, 0}, {0, 0, 1, 0, 0}, {0, ENG_LM_DRAFT_MOST + 1, 1, 0, 0}, {0, 4, 5, 0, 0}, {0, 4, 0, 0, 0},
               {0, 4, 1, 1, 0}, {0, 4, 1, 0, 2}, {ENG_LM_DRAFT_HOST, 4, 1, 0, 0}, {ENG_LM_DRAFT_MODEL, 4, 1, 0, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        p.from = bad[i].from;
        p.max = bad[i].max;
        p.min = bad[i].min;
        p.sequence = bad[i].sequence;
        p.p_min = bad[i].p_min;
        ck_assert_msg(eng_lm_draft_create(b.context, &p, &draft) == ENG_ERR_INVALID, "parameters %zu", i);
        ck_assert_ptr_null(draft);
    }
    ck_assert_int_eq(eng_lm_draft_create(NULL, NULL, &draft), ENG_ERR_INVALID);
    eng_lm_draft_defaults(&p);
    p.from = ENG_LM_DRAFT_HOST;
    p.guess = fail_to_guess;
    OK(eng_lm_draft_create(b.context, &p, &draft));
    ck_assert_int_eq(eng_lm_draft_step(draft, sampler, 8, tokens, &n), ENG_ERR_STATE); /* before begin */
    bench_run(&b, text, 3);
    ck_assert_int_eq(eng_lm_draft_begin(draft, text, 3), ENG_ERR_STATE);
    OK(eng_lm_draft_begin(draft, text, 4));
    ck_assert_int_eq(eng_lm_draft_step(draft, sampler, 0, tokens, &n), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_lm_draft_step(draft, sampler, 8, tokens, &n), ENG_ERR_IO);
    ck_assert_int_eq(eng_lm_sequence_length(b.context, 0), 3);
    ck_assert_uint_eq(n, 77);
    OK(eng_lm_sequence_rollback(b.context, 0, 1)); /* by somebody else */
    ck_assert_int_eq(eng_lm_draft_step(draft, sampler, 8, tokens, &n), ENG_ERR_STATE);
    eng_lm_draft_destroy(draft);
    p.guess = guess_too_much;
    OK(eng_lm_draft_create(b.context, &p, &draft));
    OK(eng_lm_draft_begin(draft, text, 3));
    ck_assert_int_eq(eng_lm_draft_step(draft, sampler, 8, tokens, &n), ENG_ERR_INVALID);
    eng_lm_draft_destroy(draft);
    eng_lm_draft_destroy(NULL);
    eng_lm_sampler_destroy(sampler);
    bench_close(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("draft");
    TCase *t = tcase_create("devices");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, text_is_the_same, 0, N_DEVICES);
    tcase_add_loop_test(t, drawn_text_is_the_same, 0, N_DEVICES);
    tcase_add_loop_test(t, pace, 0, N_DEVICES);
    tcase_add_loop_test(t, second_model, 0, N_DEVICES);
    tcase_add_loop_test(t, under_a_grammar, 0, N_DEVICES);
    tcase_add_test(t, limits);
    tcase_add_loop_test(t, full_contexts, 0, N_DEVICES);
    tcase_add_test(t, ends);
    tcase_add_test(t, unknown_vocabulary);
    tcase_add_test(t, refusals);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
