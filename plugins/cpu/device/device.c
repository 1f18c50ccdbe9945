/* Opening the processor, or a part of it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cpu.h"
#include "topology.h"

/* Where a part's equal, consecutive share of `n` begins; that of the next: where it ends. */
static uint32_t share_of(const eng_device_request *request, uint32_t n, uint32_t part)
{
    return (uint32_t)((uint64_t)n * part / request->parts);
}

/* The cores that a part's threads are kept on: its share, of neighbours, or none (anywhere) for the whole device and
 * where there are more parts than cores. */
static bool part_cores(eng_plugin_state *plugin, eng_device_state *d, const eng_device_request *request)
{
    int all[CPU_MAX_CORES];
    uint32_t n = eu_cores(all, CPU_MAX_CORES);
    n = n < CPU_MAX_CORES ? n : CPU_MAX_CORES;
    if (request->parts <= 1 || request->parts > n)
        return true;
    d->topology = cpu_topology_of(plugin);
    cpu_topology_order(d->topology, all, n);
    uint32_t first = share_of(request, n, request->part), end = share_of(request, n, request->part + 1);
    d->cores = malloc((end - first) * sizeof *d->cores);
    if (!d->cores)
        return false;
    memcpy(d->cores, all + first, (end - first) * sizeof *d->cores);
    d->n_cores = end - first;
    return true;
}

/* Threads of the device or of a part of it, the caller's own included. */
static uint32_t part_threads(const eng_device_request *request, uint32_t of_all)
{
    uint32_t n = of_all;
    if (request->parts > 1)
        n = share_of(request, of_all, request->part + 1) - share_of(request, of_all, request->part);
    return n ? n : 1;
}

/* The option "threads": -1 if it is no number. */
static long wanted_threads(const char *text)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    return errno || *end || end == text || n < 0 || n > CPU_MAX_CORES ? -1 : n;
}

/* The option "stream".  What caches would keep is better found there: half of them, for what is read on the way takes
 * its place there, too. */
static int find_past(const eng_services *s, uint32_t threads, uint64_t *bytes)
{
    const char *text = s->option(s->host, "stream");
    if (!text || !*text || !strcmp(text, "auto"))
        *bytes = cpu_machine_cache(threads) / 2;
    else if (!strcmp(text, "yes") || !strcmp(text, "no"))
        *bytes = *text == 'y' ? 0 : UINT64_MAX;
    else
        return s->fail(s->host, ENG_ERR_INVALID, "cpu.stream is '%s'; it takes auto, yes or no", text);
    return ENG_OK;
}

/* The team, as large as the system lets it be, and the threads' working memory. */
static bool make_team(eng_device_state *d, uint32_t threads)
{
    d->team = eu_team_create(d->cores, d->n_cores);
    if (!d->team)
        return false;
    d->threads = 1 + (int)eu_team_grow(d->team, threads - 1);
    d->scratch = calloc((size_t)d->threads, sizeof *d->scratch);
    if (!d->scratch)
        eu_team_end(d->team);
    return d->scratch != NULL;
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
    const char *threads_text = s->option(s->host, "threads");
    long wanted = wanted_threads(threads_text ? threads_text : "0");
    if (wanted < 0)
        return s->fail(s->host, ENG_ERR_INVALID,
                       "option cpu.threads must be a number from 0 (automatic) to %d, got '%s'", CPU_MAX_CORES,
                       threads_text);
    eng_device_info info;
    int status = cpu_machine_describe(s, &info);
    if (status != ENG_OK)
        return status;
    const uint32_t threads = part_threads(request, wanted ? (uint32_t)wanted : info.compute_units);
    uint64_t past_from = UINT64_MAX;
    status = find_past(s, threads, &past_from);
    if (status != ENG_OK)
        return status;
    eng_device_state *d = calloc(1, sizeof *d);
    if (!d)
        return cpu_no_memory(s, "a device");
    d->info = info;
    d->services = s;
    d->host = s->host;
    d->variant = variant;
    d->past_from = past_from;
    pthread_mutex_init(&d->lock, NULL);
    bool turns = cpu_turns_init(&d->turns);
    if (!turns || !part_cores(plugin, d, request) || !make_team(d, threads)) {
        if (turns)
            cpu_turns_end(&d->turns);
        pthread_mutex_destroy(&d->lock);
        free(d->cores);
        free(d);
        return cpu_no_memory(s, "the threads of a device");
    }
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
    eu_team_end(device->team);
    free(device->cores);
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
    eng_device_stats own = device->stats;
    pthread_mutex_unlock(&device->lock);
    eu_give_stats(stats, &own);
    return ENG_OK;
}
