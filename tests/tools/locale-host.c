/*
 * A host in the locale of its environment prints what programs read of the library: names with shares, dumps of graphs,
 * JSON, what a fit names, what is computed.  locale.sh compares what it prints in several locales.
 *     locale-host MODEL DEVICE...
 */
#include "config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lm.h"

static void print(void *user, const char *text)
{
    (void)user;
    fputs(text, stdout);
}

static int whole(const char *what)
{
    fprintf(stderr, "locale-host: %s: %s\n", what, eng_last_error());
    return 1;
}

/* In numbers that no locale writes otherwise. */
static void print_shares(eng_device *device)
{
    eng_device_info info = {.size = sizeof info};
    eng_device_stats stats = {.size = sizeof stats};
    for (uint32_t i = 0; eng_device_leaf(device, i, &info, &stats) == ENG_OK;
         i++, info.size = sizeof info, stats.size = sizeof stats)
        printf("%s has %.0f ppm\n", info.name, 1e6 * stats.share);
}

static int names(eng_context *c)
{
    static const char *const devices[] = {"cpu/2@0.75:0.25", "cpu/3@1.5:0:.5"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        eng_device *device;
        if (eng_device_open(c, devices[i], &device))
            return whole(devices[i]);
        print_shares(device);
        eng_device_close(device);
    }
    static const char *const types[] = {"IQ4_NL", "iq4_nl", "q4_k", "MXFP4"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        printf("type %s is %s\n", types[i], eng_type_find(types[i]) ? eng_type_find(types[i])->name : "none");
    return 0;
}

/* The graph, the plan, and what a pass gives. */
static int run(eng_context *c, const char *name, const char *path)
{
    eng_device *device;
    eng_lm_model *model;
    eng_lm_context *context;
    eng_lm_model_info info = {.size = sizeof info};
    const int32_t tokens[] = {1, 2, 3};
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = 3, .tokens = tokens};
    if (eng_device_open(c, name, &device) || eng_lm_model_open(c, device, path, NULL, &model) ||
        eng_lm_context_create(model, NULL, &context) || eng_lm_decode(context, &batch) ||
        eng_lm_model_get_info(model, &info))
        return whole(name);
    const float *logits = eng_lm_logits(context, 2);
    double sum = 0;
    for (uint32_t i = 0; logits && i < info.n_vocab; i++)
        sum += logits[i];
    printf("%s: the sum of the logits is %.0f millionths\n", name, 1e6 * sum);
    if (eng_lm_context_dump(context, 1, ENG_EXPLAIN_TEXT, print, NULL) ||
        eng_lm_context_dump(context, 1, ENG_EXPLAIN_GRAPHVIZ, print, NULL) ||
        eng_lm_context_explain(context, ENG_EXPLAIN_JSON, print, NULL))
        return whole("explain");
    eng_lm_context_destroy(context);
    eng_lm_model_close(model);
    eng_device_close(device);
    return 0;
}

/* Shares are found, named and opened by their name. */
static int fit(const char *path)
{
    eng_context *c;
    eng_device *device;
    eng_lm_fit *found;
    eng_lm_fit_params p;
    eng_lm_context_params context;
    eng_lm_fit_info info = {.size = sizeof info};
    eng_lm_fit_defaults(&p);
    eng_lm_context_defaults(&context);
    context.n_cells = 256;
    context.n_batch = 16;
    p.context = &context;
    p.n_tokens = 40;
    p.reserve = 0;
    if (eng_context_create(NULL, &c) || eng_context_set_option(c, "cpu.memory", "100M") ||
        eng_context_set_option(c, "null.memory", "1500000") || eng_context_set_option(c, "null.accept", "measure") ||
        eng_device_open(c, "null+cpu@3:1", &device) || eng_lm_fit_create(c, device, path, &p, &found) ||
        eng_lm_fit_get_info(found, &info))
        return whole("the fit");
    printf("fit: %s\n", info.device);
    eng_device_close(device);
    if (eng_device_open(c, info.device, &device))
        return whole(info.device);
    print_shares(device);
    eng_device_close(device);
    eng_lm_fit_destroy(found);
    return eng_context_destroy(c) != ENG_OK;
}

int main(int argc, char **argv)
{
    eng_context *c;
    if (argc < 3 || !setlocale(LC_ALL, "")) {
        fputs("locale-host: no such locale, or no model and device\n", stderr);
        return 77;
    }
    fprintf(stderr, "point '%s'\n", localeconv()->decimal_point);
    if (eng_context_create(NULL, &c))
        return whole("a context");
    int failed = names(c);
    for (int i = 2; i < argc && !failed; i++)
        failed = run(c, argv[i], argv[1]);
    return failed || fit(argv[1]) || eng_context_destroy(c) != ENG_OK;
}
