/* Opening the processor, or a part of it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cpu.h"

/* Which cores a part gets: an equal, consecutive share, or none of its own
 * (anywhere) where there are more parts than cores. */
static int part_cores(const eng_device_request *request, int *cores, bool *whole)
{
    int all[CPU_MAX_CORES], n = cpu_cores(all, CPU_MAX_CORES);
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
    return errno || *end || end == text || n < 0 || n > CPU_MAX_CORES ? -1 : n;
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

int cpu_device_open(eng_plugin_state *plugin, const eng_device_request *request, const cpu_variant *variant,
                    eng_device_state **device)
{
    const eng_services *s = plugin->services;
    const char *threads = s->option(s->host, "threads");
    long wanted = wanted_threads(threads ? threads : "0");
    if (wanted < 0)
        return s->fail(s->host, ENG_ERR_INVALID, "option cpu.threads must be a number from 0 (automatic) to %d, got '%s'",
                       CPU_MAX_CORES, threads);
    int cores[CPU_MAX_CORES];
    bool whole;
    int n = part_cores(request, cores, &whole);
    long count = n > 0 ? n : 1;
    if (wanted > 0 && whole)
        count = wanted;
    else if (wanted > 0) /* a part's share of them */
        count = wanted * (request->part + 1) / request->parts - wanted * request->part / request->parts;
    if (count < 1)
        count = 1;

    eng_device_info info;
    int status = cpu_machine_describe(s, &info);
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
    if (!cpu_turns_init(&d->turns)) {
        pthread_mutex_destroy(&d->lock);
        free(d);
        return s->fail(s->host, ENG_ERR_NOMEM, "cpu" ENG_CAUSE "out of memory or of threads");
    }
    d->team = cpu_team_create((int)count, cores, whole ? 0 : n);
    d->scratch = d->team ? calloc((size_t)cpu_team_threads(d->team), sizeof *d->scratch) : NULL;
    if (!d->team || !d->scratch) {
        cpu_team_destroy(d->team);
        cpu_turns_end(&d->turns);
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

void cpu_device_close(eng_device_state *device)
{
    if (!device)
        return;
    free(device->scratch);
    cpu_team_destroy(device->team);
    cpu_turns_end(&device->turns);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

int cpu_device_info(eng_device_state *device, eng_device_info *info)
{
    *info = device->info;
    return ENG_OK;
}

int cpu_device_stats(eng_device_state *device, eng_device_stats *stats)
{
    pthread_mutex_lock(&device->lock);
    *stats = device->stats;
    pthread_mutex_unlock(&device->lock);
    return ENG_OK;
}
