/*
 * eng_lm_fit, as a host uses it: shares and moves that fit the memory that devices are said to have, figures that the
 * run then shows, and refusals.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

#define N_TOKENS 40
#define MIB (1024.0 * 1024.0)

static char path[256];

/* A context whose devices are said to have so much memory; the null devices hold nothing. */
static eng_context *engine_with(const char *cpu, const char *null)
{
    eng_context *engine = NULL;
    if (eng_context_create(NULL, &engine) || eng_context_set_option(engine, "cpu.memory", cpu) ||
        eng_context_set_option(engine, "null.memory", null) ||
        eng_context_set_option(engine, "null.accept", "measure")) {
        printf("Bail out! %s\n", eng_last_error());
        exit(1);
    }
    return engine;
}

static int fit_on(eng_context *engine, const char *name, const eng_lm_fit_params *params, eng_lm_fit **fit)
{
    eng_device *device;
    int status = eng_device_open(engine, name, &device);
    if (status)
        return status;
    status = eng_lm_fit_create(engine, device, path, params, fit);
    eng_device_close(device);
    return status;
}

/* No reserve, and a text of N_TOKENS in a context of 256 cells. */
static eng_lm_fit_params params_with(eng_lm_context_params *context)
{
    eng_lm_fit_params p;
    eng_lm_fit_defaults(&p);
    eng_lm_context_defaults(context);
    context->n_cells = 256;
    context->n_batch = 16;
    p.context = context;
    p.n_tokens = N_TOKENS;
    p.reserve = 0;
    return p;
}

/* Do all pools have room for what they will hold? */
static bool all_fit(const eng_lm_fit *fit)
{
    eng_lm_fit_member m = {.size = sizeof m};
    bool good = true;
    for (uint32_t i = 0; eng_lm_fit_get_member(fit, i, &m) == ENG_OK; i++, m.size = sizeof m)
        good &= m.pool_bytes >= m.bytes && (m.pool_free == UINT64_MAX || m.pool_bytes + m.pool_reserve <= m.pool_free);
    return good;
}

static double total(const eng_lm_fit *fit)
{
    eng_lm_fit_member m = {.size = sizeof m};
    double sum = 0;
    for (uint32_t i = 0; eng_lm_fit_get_member(fit, i, &m) == ENG_OK; i++, m.size = sizeof m)
        sum += (double)m.bytes;
    return sum;
}

/* -- the figures are those of the run ------------------------------------------------- */

/* The same passes as were foreseen. */
static bool run_passes(subject *s)
{
    int32_t ids[16] = {0};
    static const uint32_t passes[] = {16, 16, N_TOKENS - 32, 1};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (!subject_run(s, ids, passes[i]))
            return false;
    return true;
}

static void test_figures(const char *name)
{
    eng_context *engine = engine_with("1G", "0");
    eng_lm_context_params context;
    eng_lm_fit_params p = params_with(&context);
    eng_lm_fit_info info = {.size = sizeof info};
    eng_lm_fit *fit = NULL;
    subject s;
    int status = fit_on(engine, name, &p, &fit);
    if (!status)
        status = eng_lm_fit_get_info(fit, &info);
    tap_check(!status && !info.lacked && !info.new_shares && all_fit(fit), "%s: all fits as it is%s%s", name,
              status ? ": " : "", status ? eng_last_error() : "");
    if (!status && !(status = subject_open(&s, engine, info.device, path, info.placement, &context))) {
        bool good = run_passes(&s);
        for (uint32_t i = 0; i < info.n_leaves; i++) {
            eng_lm_fit_member m = {.size = sizeof m};
            eng_device_info leaf = {.size = sizeof leaf};
            eng_device_stats h = {.size = sizeof h};
            good &= !eng_lm_fit_get_member(fit, i, &m) && !eng_device_leaf(s.device, i, &leaf, &h);
            uint64_t held = h.bytes_weights + h.bytes_cache + h.bytes_state + h.bytes_io + h.bytes_compute;
            /* the memory of a composition is counted by one planner; a plain device rounds tensors up as it likes */
            uint64_t rounding = info.n_leaves == 1 ? 64 * leaf.alignment : 0;
            tap_check(good && strcmp(m.name, leaf.name) == 0 && m.bytes <= held && held - m.bytes <= rounding,
                      "%s: foreseen %llu bytes on %s, held %llu", name, (unsigned long long)m.bytes, m.name,
                      (unsigned long long)held);
        }
        subject_close(&s);
    }
    tap_check(!status, "%s: \"%s\" can be opened%s%s", name, fit ? info.device : "", status ? ": " : "",
              status ? eng_last_error() : "");
    eng_lm_fit_destroy(fit);
    eng_context_destroy(engine);
}

/* -- what changes ---------------------------------------------------------------------- */

static void test_shares(void)
{
    eng_context *engine = engine_with("100M", "1500000");
    eng_lm_context_params context;
    eng_lm_fit_params p = params_with(&context);
    eng_lm_fit_info info = {.size = sizeof info};
    eng_lm_fit_member m[2] = {{.size = sizeof *m}, {.size = sizeof *m}};
    eng_lm_fit *fit = NULL;
    bool good = fit_on(engine, "null+cpu@3:1", &p, &fit) == ENG_OK && !eng_lm_fit_get_info(fit, &info) &&
                !eng_lm_fit_get_member(fit, 0, &m[0]) && !eng_lm_fit_get_member(fit, 1, &m[1]);
    tap_check(good && info.lacked > 0 && info.new_shares && all_fit(fit) && m[0].share < m[1].share &&
              info.placement->n_overrides == 0, "shares follow the memory: %s", good ? info.device : eng_last_error());
    eng_lm_fit_destroy(fit);
    fit = NULL;
    p.flags = ENG_LM_FIT_KEEP_SHARES;
    good = fit_on(engine, "null+cpu@3:1", &p, &fit) == ENG_OK && !eng_lm_fit_get_info(fit, &info);
    tap_check(good && !info.new_shares && info.placement->n_overrides > 0 && all_fit(fit),
              "shares that are to stay do, and tensors move%s%s", good ? "" : ": ", good ? "" : eng_last_error());
    eng_lm_fit_destroy(fit);
    eng_context_destroy(engine);
}

/* Which kinds have moved, as bits; their layers in *layers. */
static unsigned moved(const eng_lm_fit *fit, uint32_t layers[3])
{
    unsigned kinds = 0;
    for (uint32_t kind = 0; kind < 3; kind++) {
        eng_lm_fit_move move = {.size = sizeof move};
        if (eng_lm_fit_get_move(fit, kind, &move))
            return ~0u;
        layers[kind] = move.n_layers;
        kinds |= move.n_layers > 0 && move.pattern && strcmp(move.device, "cpu") == 0 ? 1u << kind : 0;
    }
    return kinds;
}

/* The host's overrides come first; then as few last layers as will do of the last kind that is needed. */
static void test_moves(void)
{
    static const eng_lm_override wanted = {"^output[.]weight$", "cpu"};
    static const char *const sizes[] = {"2600000", "1700000"};
    static const unsigned kinds[] = {1u << ENG_LM_MOVED_CACHES, 1u << ENG_LM_MOVED_CACHES | 1u << ENG_LM_MOVED_FFN};
    for (int i = 0; i < 2; i++) {
        eng_context *engine = engine_with("100M", sizes[i]);
        eng_lm_context_params context;
        eng_lm_fit_params p = params_with(&context);
        eng_lm_placement placement = {.size = sizeof placement, .overrides = &wanted, .n_overrides = 1};
        eng_lm_fit_info info = {.size = sizeof info};
        uint32_t layers[3] = {0};
        eng_lm_fit *fit = NULL;
        context.n_cells = 1024;
        p.placement = &placement;
        bool good = fit_on(engine, "null", &p, &fit) == ENG_OK && !eng_lm_fit_get_info(fit, &info);
        unsigned what = good ? moved(fit, layers) : 0;
        tap_check(good && what == kinds[i] && info.lacked > 0 && all_fit(fit) &&
                      strncmp(info.device, "null@", 5) == 0 && info.placement->n_overrides == 2u + (unsigned)i &&
                      strcmp(info.placement->overrides[0].pattern, wanted.pattern) == 0,
                  "with %s bytes free the device keeps all but kinds %x of %u, %u, %u layers of %u%s%s", sizes[i], what,
                  layers[0], layers[1], layers[2], info.n_layers, good ? "" : ": ", good ? "" : eng_last_error());
        eng_lm_fit_destroy(fit);
        eng_context_destroy(engine);
    }
}

/* -- what the host is asked -------------------------------------------------------------- */

typedef struct asked {
    int times, status;
    uint32_t n_cells;
} asked;

static int ask(void *user, eng_lm_model *model, eng_lm_context_params *context, uint64_t *n_tokens)
{
    asked *a = user;
    eng_lm_model_info info = {.size = sizeof info};
    int status = eng_lm_model_get_info(model, &info);
    a->times++;
    context->n_cells = a->n_cells;
    *n_tokens = 1;
    return status ? status : a->status ? eng_fail(a->status, "the host has no text") : ENG_OK;
}

static void test_asked(void)
{
    eng_context *engine = engine_with("100M", "2600000");
    eng_lm_context_params context;
    eng_lm_fit_params p = params_with(&context);
    asked a = {.n_cells = 64};
    eng_lm_fit *few = NULL, *many = NULL, *none = NULL;
    p.ask = ask;
    p.ask_user = &a;
    int status = fit_on(engine, "cpu", &p, &few);
    int times = a.times;
    a.n_cells = 4096;
    status = status ? status : fit_on(engine, "cpu", &p, &many);
    tap_check(!status && times == 1 && total(many) > total(few),
              "a host that is asked, once, decides the context: %.3f and %.3f MiB", few ? total(few) / MIB : 0,
              many ? total(many) / MIB : 0);
    a.status = ENG_ERR_IO;
    tap_check(fit_on(engine, "cpu", &p, &none) == ENG_ERR_IO && !none &&
                  strcmp(eng_last_error(), "the host has no text") == 0,
              "what the host says no to is not searched");
    eng_lm_fit_destroy(few);
    eng_lm_fit_destroy(many);
    eng_context_destroy(engine);
}

/* -- refusals ------------------------------------------------------------------------------ */

static void refused(int status, int want, const eng_lm_fit *fit, const char *text, const char *what)
{
    tap_check(status == want && !fit && strstr(eng_last_error(), text), "%s: %s", what, eng_last_error());
}

static void test_refused(void)
{
    eng_context *engine = engine_with("1500000", "1500000");
    eng_lm_context_params context;
    eng_lm_fit_params p = params_with(&context);
    eng_lm_fit *fit = NULL;
    eng_device *device;
    refused(fit_on(engine, "cpu", &p, &fit), ENG_ERR_NOMEM, fit, "cpu needs ", "no room, and nowhere to go");
    refused(fit_on(engine, "null", &p, &fit), ENG_ERR_NOMEM, fit, "moved to the cpu device", "no room there either");
    p.spill = NULL;
    refused(fit_on(engine, "null", &p, &fit), ENG_ERR_NOMEM, fit, "null needs ", "nothing may move");
    eng_lm_override other = {"ffn_up", "cpu/2"};
    eng_lm_placement placement = {.size = sizeof placement, .overrides = &other, .n_overrides = 1};
    p.placement = &placement;
    refused(fit_on(engine, "cpu/2", &p, &fit), ENG_ERR_INVALID, fit, "composed", "tensors on a composition");
    other.device = "nosuch";
    refused(fit_on(engine, "cpu/2", &p, &fit), ENG_ERR_NOTFOUND, fit, "nosuch", "tensors on no device");
    placement.overrides = NULL;
    refused(fit_on(engine, "cpu/2", &p, &fit), ENG_ERR_INVALID, fit, "1 overrides", "overrides that are not there");
    p.placement = NULL;
    p.size = 4;
    refused(fit_on(engine, "cpu", &p, &fit), ENG_ERR_INVALID, fit, "size", "a size that is none");
    if (eng_device_open(engine, "cpu", &device) == ENG_OK) {
        refused(eng_lm_fit_create(engine, device, "no/such/file", NULL, &fit), ENG_ERR_NOTFOUND, fit, "no/such/file", "no file");
        refused(eng_lm_fit_create(engine, device, NULL, NULL, &fit), ENG_ERR_INVALID, fit, "needed", "no path");
        eng_device_close(device);
    }
    refused(eng_lm_fit_get_info(NULL, NULL), ENG_ERR_INVALID, fit, "needed", "no fit");
    eng_lm_fit_destroy(NULL);
    eng_context_destroy(engine);
}

int main(void)
{
    scratch_path("fit", path);
    if (subject_make("--arch llama --seed 3 --layers 4 --embd 128 --ffn 512 --heads 4 --kv-heads 4 --head 32 --vocab 1024 "
                     "--type f16", path)) {
        printf("Bail out! make-model failed\n");
        return 1;
    }
    test_figures("cpu");
    test_figures("cpu/2");
    test_figures("cpu/3@3:2:1");
    test_shares();
    test_moves();
    test_asked();
    test_refused();
    remove(path);
    return tap_end(NULL);
}
