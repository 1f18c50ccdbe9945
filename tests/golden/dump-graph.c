/*
 * dump-graph DEVICE MODEL N - the graph of a pass of N tokens, as text on stdout.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/lm.h"

static void emit(void *to, const char *text)
{
    fputs(text, to);
}

static int dump(eng_context *engine, const char *device_name, const char *path, uint32_t n)
{
    eng_device *device = NULL;
    eng_lm_model *model = NULL;
    eng_lm_context *context = NULL;
    eng_lm_context_params params;
    eng_lm_context_defaults(&params);
    params.n_cells = 64;
    params.n_batch = 16;
    int status = eng_device_open(engine, device_name, &device);
    if (!status)
        status = eng_lm_model_open(engine, device, path, NULL, &model);
    if (!status)
        status = eng_lm_context_create(model, &params, &context);
    if (!status)
        status = eng_lm_context_dump(context, n, ENG_EXPLAIN_TEXT, emit, stdout);
    eng_lm_context_destroy(context);
    eng_lm_model_close(model);
    eng_device_close(device);
    return status;
}

int main(int argc, char **argv)
{
    eng_context *engine = NULL;
    if (argc != 4) {
        fputs("usage: dump-graph DEVICE MODEL N\n", stderr);
        return 64;
    }
    int status = eng_context_create(NULL, &engine);
    if (!status)
        status = dump(engine, argv[1], argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
    if (status) {
        eng_error e = {.size = sizeof e};
        eng_last_error_info(&e);
        fprintf(stderr, "dump-graph: code %u, index %d: %s\n", e.code, e.index, eng_last_error());
    }
    eng_context_destroy(engine);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
