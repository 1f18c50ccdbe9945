/* The null plugin's device: information, memory, statistics. */
#include "null.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void null_device_info(eng_device_info *info)
{
    /* info->size says how much the engine knows; here both sides are of one kind */
    info->kind = ENG_DEVICE_NULL;
    info->flags = ENG_DEVICE_HOST_MEMORY | ENG_DEVICE_YIELDS;
    info->compute_units = 1;
    info->alignment = 64;
    snprintf(info->description, sizeof info->description, "null device");
    snprintf(info->driver, sizeof info->driver, "null plugin %s", NULL_VERSION);
}

int null_device_open(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **result)
{
    const eng_services *s = plugin->services;
    eng_device_state *device = calloc(1, sizeof *device);
    if (!device)
        return null_no_memory(s, "a device");
    device->services = s; /* any cut of the device is another device like it */
    *result = device;
    return ENG_OK;
}

void null_device_close(eng_device_state *device)
{
    free(device);
}

int null_device_figures(eng_device_state *device, eng_device_info *info)
{
    null_device_info(info);
    info->memory_total = device->memory;
    uint64_t used = __atomic_load_n(&device->used, __ATOMIC_RELAXED);
    info->memory_free = device->memory > used ? device->memory - used : 0;
    return ENG_OK;
}

/* The counter of a kind of memory; use 0: scratch. */
static uint64_t *counter(eng_device_state *device, uint32_t use)
{
    switch (use & ENG_USE_MASK) {
    case ENG_USE_WEIGHT: return &device->stats.bytes_weights;
    case ENG_USE_CACHE: return &device->stats.bytes_cache;
    case ENG_USE_STATE: return &device->stats.bytes_state;
    case ENG_USE_INPUT:
    case ENG_USE_OUTPUT: return &device->stats.bytes_io;
    default: return &device->stats.bytes_compute;
    }
}

void *null_alloc(eng_device_state *device, uint64_t bytes, uint32_t use)
{
    const eng_services *s = device->services;
    uint64_t used = __atomic_add_fetch(&device->used, bytes, __ATOMIC_RELAXED);
    bool fits = (!device->memory || used <= device->memory) && bytes <= SIZE_MAX - 64;
    if (device->measures && fits) {
        __atomic_add_fetch(counter(device, use), bytes, __ATOMIC_RELAXED);
        return device; /* an address that nobody will follow */
    }
    /* a multiple of the alignment, as aligned_alloc wants it */
    size_t room = fits ? (size_t)(bytes + 64) / 64 * 64 : 0;
    void *memory = fits ? aligned_alloc(64, room) : NULL;
    if (!memory) {
        __atomic_sub_fetch(&device->used, bytes, __ATOMIC_RELAXED);
        if (fits)
            null_no_memory(s, "a tensor");
        else
            s->fail(s->host, ENG_ERR_NOMEM,
                    "null" ENG_CAUSE "no room for %llu bytes (limit null.memory: %llu)" ENG_ADVICE "raise the limit",
                    (unsigned long long)bytes, (unsigned long long)device->memory);
        return NULL;
    }
    memset(memory, 0, room);
    __atomic_add_fetch(counter(device, use), bytes, __ATOMIC_RELAXED);
    return memory;
}

void null_free(eng_device_state *device, void *memory, uint64_t bytes, uint32_t use)
{
    if (!memory)
        return;
    __atomic_sub_fetch(&device->used, bytes, __ATOMIC_RELAXED);
    __atomic_sub_fetch(counter(device, use), bytes, __ATOMIC_RELAXED);
    if (!device->measures)
        free(memory);
}

static uint64_t now(const uint64_t *figure)
{
    return __atomic_load_n(figure, __ATOMIC_RELAXED);
}

/* Other threads count on meanwhile.  An engine older than this plugin has a shorter struct: no more is written than its
 * size says. */
int null_device_stats(eng_device_state *device, eng_device_stats *stats)
{
    const eng_device_stats *s = &device->stats;
    const eng_device_stats own = {.size = stats->size,
                                  .bytes_weights = now(&s->bytes_weights),
                                  .bytes_cache = now(&s->bytes_cache),
                                  .bytes_state = now(&s->bytes_state),
                                  .bytes_io = now(&s->bytes_io),
                                  .bytes_compute = now(&s->bytes_compute),
                                  .submits = now(&s->submits),
                                  .share = 1};
    memcpy(stats, &own, stats->size < sizeof own ? stats->size : sizeof own);
    return ENG_OK;
}
