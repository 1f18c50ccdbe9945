/* Models from such files, on a device that computes nothing: opened, text cut, a token run. */
#include "config.h"

#include <string.h>

#include "engine/lm.h"

#include "fuzz.h"

const char *const fuzz_seeds[] = {NULL};

static eng_context *engine;
static eng_device *device;

static void begin(void)
{
    setenv("ENGINE_PLUGINS", "null,meta", 1);
    if (eng_context_create(NULL, &engine) || eng_context_set_option(engine, "null.accept", "all") ||
        eng_context_set_option(engine, "null.memory", "268435456") || eng_device_open(engine, "null", &device)) {
        printf("Bail out! %s\n", eng_last_error());
        exit(99);
    }
}

static void use(eng_lm_model *model)
{
    eng_lm_context_params p;
    eng_lm_context *context = NULL;
    int32_t *ids = NULL;
    size_t n = 0, length = 0;
    char *text = NULL;
    const int32_t token = 0;
    const eng_lm_batch batch = {.size = sizeof batch, .n_tokens = 1, .tokens = &token};
    if (eng_lm_tokenize(model, "A king, 12 kings.", 17, ENG_LM_ADD_SPECIAL | ENG_LM_PARSE_SPECIAL, &ids, &n) ==
            ENG_OK &&
        eng_lm_text(model, ids, n, 1, &text, &length) == ENG_OK)
        eng_lm_free(text);
    eng_lm_free(ids);
    eng_lm_context_defaults(&p);
    p.n_cells = 16;
    p.n_batch = 4;
    int status = eng_lm_context_create(model, &p, &context);
    if (status == ENG_OK)
        status = eng_lm_decode(context, &batch);
    MUST(status == ENG_OK || eng_last_error()[0], "status %d without a word", status);
    eng_lm_context_destroy(context);
}

const void *fuzz_sample(size_t *n)
{
    *n = 0;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    eng_lm_model *model = NULL;
    if (!engine)
        begin();
    int status = eng_lm_model_open(engine, device, fuzz_file(data, n), NULL, &model);
    MUST(status == ENG_OK ? model != NULL : model == NULL && eng_last_error()[0], "status %d, a model %p, '%s'", status,
         (void *)model, eng_last_error());
    if (model)
        use(model);
    eng_lm_model_close(model);
    return 0;
}
