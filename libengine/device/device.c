/* Opened devices: references, information, statistics. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "device.h"

void eng_device_end_texts(eng_device_info *info)
{
    const struct {
        char *at;
        size_t room;
    } texts[] = {{info->name, sizeof info->name}, {info->description, sizeof info->description},
                 {info->driver, sizeof info->driver}, {info->identity, sizeof info->identity},
                 {info->capabilities, sizeof info->capabilities}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        texts[i].at[eu_utf8_cut(texts[i].at, strnlen(texts[i].at, texts[i].room - 1))] = 0;
}

int eng_device_create(eng_context *context, const eng_device_calls *calls, eng_device_state *state, const char *name,
                      eng_device **device)
{
    eng_device *d = calloc(1, sizeof *d);
    unsigned words = eng_failure_words();
    int status = d ? ENG_OK : eng_fail_memory();
    if (d) {
        d->info.size = sizeof d->info;
        status = eng_answer(calls->info(state, &d->info), words, name, "info");
    }
    if (status < 0) {
        calls->close(state);
        free(d);
        return status;
    }
    d->info.size = sizeof d->info;
    if (d->info.alignment == 0)
        d->info.alignment = 64;
    if (d->info.alignment & (d->info.alignment - 1)) {
        status = eng_fail(ENG_ERR_DEVICE, "device '%s'" ENG_CAUSE
                          "its plugin asks for an alignment of %u bytes, which is not a "
                          "power of two" ENG_ADVICE "report this to the plugin's author", name, d->info.alignment);
        calls->close(state);
        free(d);
        return status;
    }
    eng_device_end_texts(&d->info);
    eu_copy(d->info.name, sizeof d->info.name, name);
    d->context = context;
    d->calls = calls;
    d->state = state;
    d->references = 1;
    pthread_mutex_init(&d->lock, NULL);
    atomic_fetch_add(&eng_base_of(context)->open_devices, 1);
    *device = d;
    return ENG_OK;
}

void eng_device_retain(eng_device *device)
{
    pthread_mutex_lock(&device->lock);
    device->references++;
    pthread_mutex_unlock(&device->lock);
}

void eng_device_release(eng_device *device)
{
    if (!device || eng_inherited(device->context))
        return;
    pthread_mutex_lock(&device->lock);
    int left = --device->references;
    pthread_mutex_unlock(&device->lock);
    if (left > 0)
        return;
    if (device->plans && device->plans_destroy)
        device->plans_destroy(device->plans);
    device->calls->close(device->state);
    atomic_fetch_sub(&eng_base_of(device->context)->open_devices, 1);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

void eng_device_close(eng_device *device)
{
    eng_device_release(device);
}

const char *eng_device_other(const eng_device *a, const eng_device *b)
{
    if (strcmp(a->info.name, b->info.name) != 0)
        return "";
    return a->context != b->context ? " in another context" : ", opened another time: open a device once and share it";
}

int eng_device_get_info(eng_device *device, eng_device_info *info)
{
    if (!device || !info)
        return eng_fail(ENG_ERR_INVALID, "eng_device_get_info" ENG_CAUSE "device or info is NULL");
    return eng_give(info, &device->info, sizeof device->info, "eng_device_info");
}

static int own_stats(eng_device *device, eng_device_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->size = sizeof *stats;
    stats->share = 1;
    unsigned words = eng_failure_words();
    int status = eng_answer(device->calls->stats(device->state, stats), words, device->info.name, "stats");
    if (status == ENG_ERR_UNSUPPORTED)
        status = ENG_OK; /* a plugin that does not count: zeros */
    if (stats->plans_built == 0)
        stats->plans_built = __atomic_load_n(&device->plans_built, __ATOMIC_RELAXED);
    return status;
}

int eng_device_get_stats(eng_device *device, eng_device_stats *stats)
{
    eng_device_stats own;
    if (!device || !stats)
        return eng_fail(ENG_ERR_INVALID, "eng_device_get_stats" ENG_CAUSE "device or stats is NULL");
    int status = eng_device_check(device);
    if (status >= 0)
        status = own_stats(device, &own);
    return status < 0 ? status : eng_give(stats, &own, sizeof own, "eng_device_stats");
}

int eng_device_roof(eng_device *device, eng_roof what, double *per_second)
{
    double found = 0;
    if (!device || !per_second)
        return eng_fail(ENG_ERR_INVALID, "eng_device_roof" ENG_CAUSE "device or per_second is NULL");
    if (what < ENG_ROOF_READ || what > ENG_ROOF_MATRIX)
        return eng_fail(ENG_ERR_INVALID, "eng_device_roof" ENG_CAUSE "what must be an eng_roof, 1 to 6, got %d",
                        (int)what);
    int status = eng_device_check(device);
    if (status < 0)
        return status;
    unsigned words = eng_failure_words();
    status = eng_answer(device->calls->roof(device->state, what, &found), words, device->info.name, "roof");
    if (status >= 0)
        *per_second = found;
    return status;
}

int eng_device_leaf(eng_device *device, uint32_t leaf, eng_device_info *info, eng_device_stats *stats)
{
    eng_device_info leaf_info = {.size = sizeof leaf_info};
    eng_device_stats leaf_stats = {.size = sizeof leaf_stats, .share = 1};
    int status;
    if (!device)
        return eng_fail(ENG_ERR_INVALID, "eng_device_leaf" ENG_CAUSE "device is NULL");
    if ((status = eng_device_check(device)) < 0)
        return status;
    if (device->info.kind == ENG_DEVICE_META) {
        unsigned words = eng_failure_words();
        status = eng_answer(device->calls->leaf_stats(device->state, leaf, &leaf_info, &leaf_stats), words,
                            device->info.name, "leaf_stats");
        eng_device_end_texts(&leaf_info);
    } else if (leaf == 0) {
        leaf_info = device->info;
        status = own_stats(device, &leaf_stats);
    } else {
        status = eng_fail(ENG_ERR_NOTFOUND, "device '%s' has no leaf %u", device->info.name, leaf);
    }
    if (status >= 0 && info)
        status = eng_give(info, &leaf_info, sizeof leaf_info, "eng_device_info");
    if (status >= 0 && stats)
        status = eng_give(stats, &leaf_stats, sizeof leaf_stats, "eng_device_stats");
    return status;
}
