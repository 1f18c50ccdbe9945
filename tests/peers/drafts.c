/*
 * drafts MODEL[:ASSISTANT] DEVICE COUNT TOKEN...
 *
 * Runs the tokens, takes the most likely one and prints it and what the model's block for drafting, or its assistant,
 * guesses after it: what another program's are compared with.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine-lm/draft/draft.h"

#define MOST 4096

typedef struct host {
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model, *assistant;
    eng_lm_context *context;
    eng_lm_sampler *sampler;
    eng_lm_draft *draft;
} host;

static int open_all(host *h, const char *device, char *path, uint32_t count)
{
    char *second = strchr(path, ':');
    eng_lm_model_params m;
    eng_lm_context_params c;
    eng_lm_sampler_params s;
    eng_lm_draft_params d;
    eng_lm_model_defaults(&m);
    m.flags = second ? 0 : ENG_LM_DRAFTS;
    if (second)
        *second++ = 0;
    eng_lm_context_defaults(&c);
    c.type_k = c.type_v = ENG_TYPE_F32;
    c.n_snapshots = count + 1;
    c.outputs = ENG_LM_HIDDEN_ALL;
    eng_lm_sampler_defaults(&s);
    s.temperature = 0;
    eng_lm_draft_defaults(&d);
    d.from = second ? ENG_LM_DRAFT_MODEL : ENG_LM_DRAFT_BLOCK;
    d.max = count;
    d.flags = ENG_LM_DRAFT_ALWAYS | ENG_LM_DRAFT_PAST_END;
    int status = eng_context_create(NULL, &h->engine);
    if (!status)
        status = eng_device_open(h->engine, device, &h->device);
    if (!status)
        status = eng_lm_model_open(h->engine, h->device, path, &m, &h->model);
    if (!status && second)
        status = eng_lm_model_open(h->engine, h->device, second, &m, &h->assistant);
    d.model = h->assistant;
    if (!status)
        status = eng_lm_context_create(h->model, &c, &h->context);
    if (!status)
        status = eng_lm_sampler_create(h->model, &s, &h->sampler);
    return status ? status : eng_lm_draft_create(h->context, &d, &h->draft);
}

static int guess(host *h, int32_t *text, uint32_t n)
{
    eng_lm_batch b = {.size = sizeof b, .n_tokens = n, .tokens = text};
    int32_t more[64];
    uint32_t given;
    int status = eng_lm_decode(h->context, &b);
    if (!status)
        status = eng_lm_sampler_choose(h->sampler, eng_lm_logits(h->context, n - 1), &text[n]);
    if (!status)
        status = eng_lm_draft_begin(h->draft, text, n + 1);
    return status ? status : eng_lm_draft_step(h->draft, h->sampler, 32, more, &given);
}

int main(int argc, char **argv)
{
    static int32_t text[MOST + 1];
    host h = {0};
    if (argc < 5 || argc - 4 > MOST) {
        fprintf(stderr, "usage: drafts MODEL[:ASSISTANT] DEVICE COUNT TOKEN...\n");
        return 64;
    }
    for (int i = 4; i < argc; i++)
        text[i - 4] = atoi(argv[i]);
    int status = open_all(&h, argv[2], argv[1], (uint32_t)atoi(argv[3]));
    if (!status)
        status = guess(&h, text, (uint32_t)(argc - 4));
    if (status)
        fprintf(stderr, "%s: %s\n", argv[1], eng_last_error());
    else
        printf("%d\n", text[argc - 4]);
    for (uint32_t i = 0; !status && i < h.draft->guess.n; i++)
        printf("%d\n", h.draft->guess.tokens[i]);
    eng_lm_draft_destroy(h.draft);
    eng_lm_sampler_destroy(h.sampler);
    eng_lm_context_destroy(h.context);
    eng_lm_model_close(h.assistant);
    eng_lm_model_close(h.model);
    eng_device_close(h.device);
    eng_context_destroy(h.engine);
    return status != ENG_OK;
}
