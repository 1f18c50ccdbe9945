/*
 * Text from a GGUF file on several devices, with K and V caches of eight bits.
 *
 *     cc generate.c $(pkg-config --cflags --libs libengine-lm) -o generate
 *     ./generate model.gguf opencl:0+opencl:1@3:1 "Once upon a time" 100
 */
#include <engine/lm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a call has failed: the library says why and never prints. */
static void check(int status)
{
    if (status < 0) {
        fprintf(stderr, "generate: %s\n", eng_last_error());
        exit(EXIT_FAILURE);
    }
}

static eng_lm_context *create_context(eng_lm_model *model)
{
    eng_lm_context *context;
    eng_lm_context_params params;
    eng_lm_context_defaults(&params);
    params.type_k = ENG_TYPE_Q8_0;
    params.type_v = ENG_TYPE_Q8_0;
    check(eng_lm_context_create(model, &params, &context));
    return context;
}

static eng_lm_sampler *create_sampler(const eng_lm_model *model)
{
    eng_lm_sampler *sampler;
    eng_lm_sampler_params params;
    eng_lm_sampler_defaults(&params);
    params.temperature = 0; /* the most likely token: the same text every time */
    check(eng_lm_sampler_create(model, &params, &sampler));
    return sampler;
}

/* Runs the tokens and chooses the one after them. */
static int32_t next_token(eng_lm_context *context, eng_lm_sampler *sampler, const int32_t *tokens, size_t n)
{
    int32_t token;
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = (uint32_t)n, .tokens = tokens};
    check(eng_lm_decode(context, &batch));
    check(eng_lm_sampler_choose(sampler, eng_lm_logits(context, batch.n_tokens - 1), &token));
    return token;
}

/* Text as it comes; what is not a whole character yet is held back.  Token -1 gives the rest. */
static void show(eng_lm_stream *stream, int32_t token)
{
    const char *text;
    size_t length;
    check(eng_lm_stream_next(stream, token, &text, &length));
    fwrite(text, 1, length, stdout);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(stderr, "usage: %s MODEL DEVICE PROMPT [TOKENS]\n", argv[0]), EXIT_FAILURE;
    const char *prompt = argv[3];
    int wanted = argc > 4 ? atoi(argv[4]) : 50;
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model;
    eng_lm_stream *stream;
    int32_t *tokens;
    size_t n;
    check(eng_context_create(NULL, &engine));
    check(eng_device_open(engine, argv[2], &device));
    check(eng_lm_model_open(engine, device, argv[1], NULL, &model));
    check(eng_lm_tokenize(model, prompt, strlen(prompt), ENG_LM_ADD_SPECIAL, &tokens, &n));
    eng_lm_context *context = create_context(model);
    eng_lm_sampler *sampler = create_sampler(model);
    check(eng_lm_stream_create(model, ENG_LM_STREAM_GOES_ON, &stream));

    fputs(prompt, stdout);
    int32_t token = next_token(context, sampler, tokens, n);
    for (int i = 0; i < wanted && !eng_lm_is_end(model, token); i++) {
        show(stream, token);
        token = next_token(context, sampler, &token, 1);
    }
    show(stream, -1);
    putchar('\n');

    eng_lm_free(tokens);
    eng_lm_stream_destroy(stream);
    eng_lm_sampler_destroy(sampler);
    eng_lm_context_destroy(context);
    eng_lm_model_close(model);
    eng_device_close(device);
    check(eng_context_destroy(engine));
    return EXIT_SUCCESS;
}
