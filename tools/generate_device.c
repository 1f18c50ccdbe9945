/* engine-generate: the device that the command line asks for. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "generate_default.h"
#include "libengine/util/util.h"

enum { LISTED = 64 };

static int model_bytes(const char *path, uint64_t *bytes)
{
    eng_gguf *gguf = NULL;
    int status = eng_gguf_open(path, &gguf);
    for (uint32_t i = 0; !status && i < eng_gguf_tensor_count(gguf); i++)
        *bytes += eng_gguf_tensor_get(gguf, i)->bytes;
    eng_gguf_close(gguf);
    return status;
}

/* Any accelerator first, all of them if the model is too large for it; then the processor. */
int device_default(eng_context *engine, const options *o, char name[DEVICE_NAME_BYTES])
{
    eng_device_info *list = calloc(LISTED, sizeof *list);
    uint32_t n = 0;
    uint64_t bytes = 0;
    int status = list ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the list of devices"));
    for (; !status && n < LISTED; n++) {
        list[n].size = sizeof *list;
        if (eng_context_device_info(engine, n, &list[n]))
            break;
    }
    if (!status && n == 0)
        status = eng_fail_in(ENG_ERR_NOTFOUND, "no device was found");
    if (!status && count_accelerators(list, n) > 1 && o->split != SPLIT_NONE)
        status = model_bytes(o->model, &bytes);
    if (!status)
        choose_default(list, n, bytes, !o->shares, name, DEVICE_NAME_BYTES);
    free(list);
    return status;
}

int device_list(eng_context *engine)
{
    eng_device_info info = {.size = sizeof info};
    uint32_t n = 0;
    for (; eng_context_device_info(engine, n, &info) == ENG_OK; n++) {
        printf("%s: %s", info.name, info.description);
        if (info.memory_total)
            printf(" (%llu MiB, %llu MiB free)", (unsigned long long)(info.memory_total >> 20),
                   (unsigned long long)(info.memory_free >> 20));
        putchar('\n');
        info = (eng_device_info){.size = sizeof info};
    }
    return n ? ENG_OK : eng_fail_in(ENG_ERR_NOTFOUND, "no device was found");
}

/* The listed name of the device on which override i keeps tensors, so that names can be compared. */
static int name_home(eng_context *engine, options *o, uint32_t i)
{
    eng_lm_override *home = &o->overrides[i];
    const char *flag = i == o->nkvo_override ? "-nkvo" : "-ot", *pattern = i == o->nkvo_override ? "" : home->pattern;
    const char *gap = *pattern ? " " : "", *equals = *pattern ? "=" : "", *asked = *pattern ? home->device : "";
    eng_device_info info = {.size = sizeof info};
    eng_device *device;
    int status = eng_device_open(engine, home->device, &device);
    if (!status) {
        status = eng_device_get_info(device, &info);
        eng_device_close(device);
    }
    if (status)
        return eng_fail_in(status, "%s%s%s%s%s", flag, gap, pattern, equals, asked);
    if (info.kind == ENG_DEVICE_META)
        return eng_fail(ENG_ERR_INVALID, "-ot %s=%s" ENG_CAUSE
                        "tensors are kept on one device, and %s is composed of several: "
                        "name one of them, such as cpu or opencl:0/2.1", pattern, home->device, home->device);
    o->homes[i] = strdup(info.name);
    if (!o->homes[i])
        return eng_fail_code(EU_NO_MEMORY("the name of a device"));
    home->device = o->homes[i];
    return ENG_OK;
}

int device_name_homes(eng_context *engine, options *o)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < o->n_overrides && !status; i++)
        status = name_home(engine, o, i);
    return status;
}

/* Does an override name another device than this one? */
static bool has_guests(const options *o, const eng_device_info *device)
{
    for (uint32_t i = 0; i < o->n_overrides; i++)
        if (strcmp(o->overrides[i].device, device->name) != 0)
            return true;
    return false;
}

/*
 * Opens what -d, -ts, -sm and the overrides ask for.  Only a composed device can
 * hold guests, and has plans to draw: one alone is composed by giving it the only share.
 * -sm none takes the first device whole, though it be asked for in parts.
 */
int device_open(eng_context *engine, const options *o, eng_device **result)
{
    char first[DEVICE_NAME_BYTES], *name = NULL;
    const char *asked = o->device;
    eng_device *device = NULL;
    int status = asked ? ENG_OK : device_default(engine, o, first);
    if (status)
        return status;
    if (!asked && strchr(first, '+'))
        fprintf(stderr,
                "engine-generate: note: the model is too large for one device: all accelerators are used, %s (-d)\n",
                first);
    if (!asked)
        asked = first;
    size_t size = strlen(asked) + (o->shares ? strlen(o->shares) : 0) + 8;
    name = malloc(size);
    if (!name)
        return eng_fail_code(EU_NO_MEMORY("the name of a device"));
    snprintf(name, size, "%s%s%s", asked, o->shares ? "@" : "", o->shares ? o->shares : "");
    for (char *c = o->shares ? strchr(name, '@') : NULL; c && *c; c++)
        *c = *c == ',' ? ':' : *c;
    status = eng_device_open(engine, name, &device);
    eng_device_info leaf = {.size = sizeof leaf};
    if (!status && o->split == SPLIT_NONE) {
        eng_device_stats stats = {.size = sizeof stats};
        status = eng_device_leaf(device, 0, &leaf, &stats);
        leaf.name[strcspn(leaf.name, "/")] = 0;
        if (!status && strcmp(leaf.name, name) != 0) {
            eng_device_close(device);
            device = NULL;
            status = eng_device_open(engine, leaf.name, &device);
        }
    }
    free(name);
    eng_device_info info = {.size = sizeof info};
    if (!status)
        status = eng_device_get_info(device, &info);
    bool compose = o->explain > EXPLAIN_TEXT || has_guests(o, &info);
    if (!status && compose && info.kind != ENG_DEVICE_META) {
        char composed[80];
        snprintf(composed, sizeof composed, "%.63s@1", info.name);
        eng_device_close(device);
        device = NULL;
        status = eng_device_open(engine, composed, &device);
    }
    if (!status && o->profile && strncmp(info.name, "opencl:", 7) != 0)
        status = eng_fail(ENG_ERR_UNSUPPORTED,
                          "%s" ENG_CAUSE "only devices of the opencl plugin time their kernels (--profile)" ENG_ADVICE
                          "choose one of them with -d, such as opencl:0",
                          info.name);
    if (status)
        eng_device_close(device);
    else
        *result = device;
    return status;
}
