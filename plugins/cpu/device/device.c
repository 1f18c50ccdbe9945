/* Opening the processor, or a part of it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cpu.h"

#define MAX_CORES 1024

/* Which cores a part gets: an equal, consecutive share, or none of its own
 * (anywhere) where there are more parts than cores. */
static int part_cores(const eng_device_request *request, int *cores, bool *whole)
{
    int all[MAX_CORES], n = cpu_cores(all, MAX_CORES);
    *whole = request->parts <= 1;
    if (*whole) {
        memcpy(cores, all, (size_t)n * sizeof *cores);
        return n;
    }
    if (request->parts > (uint32_t)n)
        return 0;
    int first = (int)((int64_t)n * request->part / request->parts);
    int last = (int)((int64_t)n * (request->part + 1) / request->parts);
    memcpy(cores, all + first, (size_t)(last - first) * sizeof *cores);
    return last - first;
}

/* The option "threads": -1 if it is no number. */
static long wanted_threads(const char *text)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    return errno || *end || end == text || n < 0 || n > MAX_CORES ? -1 : n;
}

static void describe(eng_device_state *d, const eng_device_request *request)
{
    eng_device_info *info = &d->info;
    info->size = sizeof *info;
    if (request->parts > 1) { /* parts have equal rights to the memory */
        info->memory_total /= request->parts;
        info->memory_free /= request->parts;
    }
    info->compute_units = (uint32_t)d->threads;
    if (request->name)
        snprintf(info->name, sizeof info->name, "%s", request->name);
    snprintf(info->capabilities, sizeof info->capabilities, "%s", d->variant->name);
}

int cpu_device_open(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device)
{
    const eng_services *s = plugin->services;
    if (request->index > 0)
        return s->fail(s->host, ENG_ERR_NOTFOUND, "cpu:%u: there is one cpu device, cpu:0", (unsigned)request->index);
    const char *simd = s->option(s->host, "simd"), *threads = s->option(s->host, "threads");
    const cpu_variant *variant = cpu_variant_find(simd ? simd : "auto");
    if (!variant)
        return s->fail(s->host, ENG_ERR_UNSUPPORTED,
                       "cpu.simd = %s" ENG_CAUSE "unknown, or this processor lacks it" ENG_ADVICE
                       "use auto, scalar, avx2 or avx512", simd);
    long wanted = wanted_threads(threads ? threads : "0");
    if (wanted < 0)
        return s->fail(s->host, ENG_ERR_INVALID, "cpu.threads = %s" ENG_CAUSE
                       "give a number from 0 (automatic) to %d", threads,
                       MAX_CORES);
    int cores[MAX_CORES];
    bool whole;
    int n = part_cores(request, cores, &whole);
    long count = n > 0 ? n : 1;
    if (wanted > 0 && whole)
        count = wanted;
    else if (wanted > 0) /* a part's share of them */
        count = wanted * (request->part + 1) / request->parts - wanted * request->part / request->parts;
    if (count < 1)
        count = 1;

    extern const eng_plugin_descriptor cpu_LTX_eng_plugin_descriptor;
    eng_device_info info;
    int status = cpu_LTX_eng_plugin_descriptor.calls->enumerate(plugin, 0, &info);
    if (status != ENG_OK)
        return status;
    eng_device_state *d = calloc(1, sizeof *d);
    if (!d)
        return s->fail(s->host, ENG_ERR_NOMEM, "cpu" ENG_CAUSE "out of memory");
    d->info = info;
    d->services = s;
    d->host = s->host;
    d->variant = variant;
    pthread_mutex_init(&d->lock, NULL);
    d->team = cpu_team_create((int)count, cores, whole ? 0 : n);
    d->scratch = d->team ? calloc((size_t)cpu_team_threads(d->team), sizeof *d->scratch) : NULL;
    if (!d->team || !d->scratch) {
        cpu_team_destroy(d->team);
        pthread_mutex_destroy(&d->lock);
        free(d);
        return s->fail(s->host, ENG_ERR_NOMEM, "cpu" ENG_CAUSE "out of memory or of threads");
    }
    d->threads = cpu_team_threads(d->team);
    describe(d, request);
    d->stats.size = sizeof d->stats;
    d->stats.share = 1;
    *device = d;
    return ENG_OK;
}

static void device_close(eng_device_state *device)
{
    if (!device)
        return;
    for (int i = 0; i < device->threads; i++)
        cpu_memory_free(device->scratch[i], device->scratch_bytes);
    free(device->scratch);
    cpu_team_destroy(device->team);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

static int device_info(eng_device_state *device, eng_device_info *info)
{
    *info = device->info;
    return ENG_OK;
}

static int device_stats(eng_device_state *device, eng_device_stats *stats)
{
    pthread_mutex_lock(&device->lock);
    *stats = device->stats;
    pthread_mutex_unlock(&device->lock);
    return ENG_OK;
}

const eng_device_calls cpu_device_calls = {
    .size = sizeof cpu_device_calls,
    .close = device_close,
    .info = device_info,
    .supports = cpu_supports,
    .store_create = cpu_store_create,
    .store_destroy = cpu_store_destroy,
    .store_upload = cpu_store_upload,
    .store_download = cpu_store_download,
    .plan_create = cpu_plan_create,
    .plan_destroy = cpu_plan_destroy,
    .instance_create = cpu_instance_create,
    .instance_destroy = cpu_instance_destroy,
    .queue_create = cpu_queue_create,
    .queue_destroy = cpu_queue_destroy,
    .submit = cpu_queue_submit,
    .write = cpu_queue_write,
    .read = cpu_queue_read,
    .wait = cpu_queue_wait,
    .value_read = cpu_value_read,
    .value_write = cpu_value_write,
    .value_map = cpu_value_map,
    .stats = device_stats,
};
