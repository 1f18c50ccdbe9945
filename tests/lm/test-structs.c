/*
 * Structs of hosts that know less: libengine-lm takes and gives the first two numbers of each, a batch up
 * to its tokens; what is shorter is refused, by the name of the call, with both sizes.
 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

static eng_context *engine;
static eng_lm_fit *fit;
static subject s;
static const int32_t tokens[] = {1, 2, 3, 4};

/* A struct of a host: `size` bytes of it may be touched. */
static unsigned char memory[512];

static void *sized(uint32_t size)
{
    memset(memory, 0, sizeof memory);
    memset(memory + size, 0xa5, sizeof memory - size);
    memcpy(memory, &size, sizeof size);
    return memory;
}

static int model_open(uint32_t size)
{
    eng_lm_model *model = NULL;
    int status = eng_lm_model_open(engine, s.device, data_path("tiny-hybrid-f16.gguf"), sized(size), &model);
    eng_lm_model_close(model);
    return status;
}

static int context_create(uint32_t size)
{
    eng_lm_context *context = NULL;
    int status = eng_lm_context_create(s.model, sized(size), &context);
    eng_lm_context_destroy(context);
    return status;
}

static int sampler_create(uint32_t size)
{
    eng_lm_sampler *sampler = NULL;
    int status = eng_lm_sampler_create(s.model, sized(size), &sampler);
    eng_lm_sampler_destroy(sampler);
    return status;
}

static int fit_with(const eng_lm_fit_params *params)
{
    eng_lm_fit *another = NULL;
    int status = eng_lm_fit_create(engine, s.device, data_path("tiny-hybrid-f16.gguf"), params, &another);
    eng_lm_fit_destroy(another);
    return status;
}

static int fit_create(uint32_t size)
{
    return fit_with(sized(size));
}

static int fit_placement(uint32_t size)
{
    eng_lm_fit_params p;
    eng_lm_fit_defaults(&p);
    p.placement = sized(size);
    return fit_with(&p);
}

static int fit_context(uint32_t size)
{
    eng_lm_fit_params p;
    eng_lm_fit_defaults(&p);
    p.context = sized(size);
    return fit_with(&p);
}

static int decode(uint32_t size)
{
    eng_lm_batch *batch = sized(size);
    batch->n_tokens = 4;
    memcpy(&batch->tokens, &(const int32_t *){tokens}, sizeof batch->tokens);
    return eng_lm_decode(s.context, batch);
}

static int perplexity(uint32_t size)
{
    return eng_lm_perplexity(s.context, tokens, 4, 4, 1, NULL, NULL, sized(size));
}

static int perplexity_params(uint32_t size)
{
    eng_lm_perplexity_result result = {.size = sizeof result};
    eng_lm_perplexity_params *p = sized(size);
    if (size >= 8)
        p->chunk = 4;
    return eng_lm_perplexity_counted(s.context, tokens, 4, p, NULL, NULL, &result);
}

static int model_info(uint32_t size) { return eng_lm_model_get_info(s.model, sized(size)); }
static int context_params(uint32_t size) { return eng_lm_context_get_params(s.context, sized(size)); }
static int context_stats(uint32_t size) { return eng_lm_context_get_stats(s.context, sized(size)); }
static int fit_info(uint32_t size) { return eng_lm_fit_get_info(fit, sized(size)); }
static int fit_member(uint32_t size) { return eng_lm_fit_get_member(fit, 0, sized(size)); }
static int fit_move(uint32_t size) { return eng_lm_fit_get_move(fit, ENG_LM_MOVED_FFN, sized(size)); }

/* The least size of its struct, and what it says of less; %u: the size, %u: the least. */
#define LESS "a struct's size is %u, which is less than %u"
static const struct {
    const char *who;
    int (*call)(uint32_t size);
    uint32_t least;
    const char *says;
} calls[] = {
    {"eng_lm_model_open", model_open, 8, LESS},
    {"eng_lm_context_create", context_create, 8, LESS},
    {"eng_lm_sampler_create", sampler_create, 8, LESS},
    {"eng_lm_fit_create", fit_create, 8, LESS},
    {"eng_lm_fit_create", fit_placement, 8, LESS},
    {"eng_lm_fit_create", fit_context, 8, LESS},
    {"eng_lm_decode", decode, offsetof(eng_lm_batch, sequences), LESS},
    {"eng_lm_perplexity", perplexity, 8, "a result with its size set"},
    {"eng_lm_perplexity_counted", perplexity_params, 8, LESS},
    {"eng_lm_model_get_info", model_info, 8, LESS},
    {"eng_lm_context_get_params", context_params, 8, LESS},
    {"eng_lm_context_get_stats", context_stats, 8, LESS},
    {"eng_lm_fit_get_info", fit_info, 8, LESS},
    {"eng_lm_fit_get_member", fit_member, 8, LESS},
    {"eng_lm_fit_get_move", fit_move, 8, LESS},
};

static void check(size_t i)
{
    char expected[120];
    int shorter = calls[i].call(calls[i].least - 1);
    snprintf(expected, sizeof expected, calls[i].says, calls[i].least - 1, calls[i].least);
    const char *said = eng_last_error();
    bool refused = shorter == ENG_ERR_INVALID && strstr(said, calls[i].who) && strstr(said, expected);
    if (!refused)
        printf("# %d: %s\n", shorter, eng_last_error());
    int status = calls[i].call(calls[i].least);
    if (status)
        printf("# %s\n", eng_last_error());
    bool untouched = true;
    for (size_t at = calls[i].least; at < sizeof memory; at++)
        untouched = untouched && (memory[at] == 0xa5 || calls[i].call == decode);
    tap_check(refused && status == ENG_OK && untouched, "%s: a struct of %u bytes, and none of %u (case %zu)",
              calls[i].who, calls[i].least, calls[i].least - 1, i);
}

int main(void)
{
    if (!(engine = tap_begin()))
        return 1;
    eng_context_set_option(engine, "null.accept", "measure");
    bool open = subject_open(&s, engine, "null", data_path("tiny-hybrid-f16.gguf"), NULL, NULL) == ENG_OK &&
                eng_lm_fit_create(engine, s.device, data_path("tiny-hybrid-f16.gguf"), NULL, &fit) == ENG_OK;
    tap_check(open, "a model on a device that only counts%s%s", open ? "" : ": ", open ? "" : eng_last_error());
    for (size_t i = 0; open && i < sizeof calls / sizeof *calls; i++)
        check(i);
    eng_lm_fit_destroy(fit);
    if (open)
        subject_close(&s);
    return tap_end(engine);
}
