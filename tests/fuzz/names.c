/* Names of devices: opened, or refused with a word; shares of one add up. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "engine/engine.h"

#include "fuzz.h"

const char *const fuzz_seeds[] =
    {"null", "null/3@3:0:1", "null+null/2@1:0.5:2.25", "null/2.1", "null:0+null:1@7:25", "nul", "null/64", NULL};

static eng_context *context;

static void begin(void)
{
    setenv("ENGINE_PLUGINS", "null,meta", 1);
    if (eng_context_create(NULL, &context) || eng_context_set_option(context, "null.accept", "measure")) {
        printf("Bail out! %s\n", eng_last_error());
        exit(99);
    }
}

const void *fuzz_sample(size_t *n)
{
    *n = 0;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    eng_device *device = NULL;
    eng_device_info info = {.size = sizeof info};
    eng_device_stats stats = {.size = sizeof stats};
    double sum = 0;
    if (!context)
        begin();
    char *name = fuzz_text(data, n);
    int status = eng_device_open(context, name, &device);
    MUST(status == ENG_OK ? device != NULL : device == NULL && eng_last_error()[0], "status %d and a device %p, '%s'",
         status, (void *)device, eng_last_error());
    for (const char *c = eng_last_error(); status && *c; c++)
        MUST((unsigned char)*c >= ' ' && *c != 127, "a control character %d in '%s'", *c, eng_last_error());
    for (uint32_t i = 0; device && eng_device_leaf(device, i, &info, &stats) == ENG_OK; i++) {
        sum += stats.share;
        info.size = sizeof info;
        stats.size = sizeof stats;
    }
    MUST(!device || fabs(sum - 1) < 1e-6, "the shares of '%s' add up to %g", name, sum);
    eng_device_close(device);
    free(name);
    return 0;
}
