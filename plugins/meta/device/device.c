/* The composed device: its ranks, shares, guests, and the report on them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../meta.h"

void meta_device_close(eng_device_state *device)
{
    const eng_services *sv = device->plugin->services;

    for (uint32_t r = 0; r < device->n_ranks; r++)
        sv->device_close(sv->host, &device->ranks[r].child);
    eu_arena_end(&device->arena);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

/* Opens a device as the next rank. */
static int add_rank(eng_device_state *device, const char *name, bool guest)
{
    const eng_services *sv = device->plugin->services;
    meta_rank *rank = &device->ranks[device->n_ranks];

    if (device->n_ranks == META_MAX_RANKS)
        return META_FAIL(device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                         "more than %d devices, counting those that hold single tensors: "
                         "compose fewer, or keep these tensors on devices that are part of it", device->name,
                         META_MAX_RANKS);
    memset(rank, 0, sizeof *rank);
    int status = sv->device_open(sv->host, name, &rank->child);
    if (status != ENG_OK)
        return status;
    if (rank->child.info->kind == ENG_DEVICE_META) {
        sv->device_close(sv->host, &rank->child);
        return META_FAIL(device, ENG_ERR_INVALID, "%s is composed itself" ENG_ADVICE "name one of its parts", name);
    }
    /* as the host wrote it; a longer spelling ("cpu/002.1") by the name that it stands for, so that none is cut off */
    snprintf(rank->name, sizeof rank->name, "%s", strlen(name) < sizeof rank->name ? name : rank->child.info->name);
    rank->guest = guest;
    device->n_ranks++;
    return ENG_OK;
}

/* The first rank of that name; n_ranks: there is none. */
static uint32_t find_rank(const eng_device_state *device, const char *name)
{
    uint32_t r = 0;

    while (r < device->n_ranks && strcmp(device->ranks[r].name, name) != 0 &&
           strcmp(device->ranks[r].child.info->name, name) != 0)
        r++;
    return r;
}

int meta_rank_of(eng_device_state *device, const char *name, uint32_t *rank)
{
    const eng_services *sv = device->plugin->services;
    uint32_t r = find_rank(device, name);

    if (r == device->n_ranks) {
        int status = add_rank(device, name, true);
        if (status != ENG_OK)
            return status;
        /* was it another spelling of one that is there? */
        uint32_t same = find_rank(device, device->ranks[r].child.info->name);
        if (same < r) {
            sv->device_close(sv->host, &device->ranks[r].child);
            device->n_ranks = r;
            r = same;
        }
    }
    *rank = r;
    return ENG_OK;
}

meta_mark meta_device_mark(const eng_device_state *device)
{
    return (meta_mark){.n_ranks = device->n_ranks, .partitions = device->partitions};
}

void meta_device_restore(eng_device_state *device, const meta_mark *mark)
{
    const eng_services *sv = device->plugin->services;

    while (device->n_ranks > mark->n_ranks)
        sv->device_close(sv->host, &device->ranks[--device->n_ranks].child);
    device->partitions = mark->partitions; /* their memory goes with the device's */
}

/* Shares that were not given follow free memory; nearly equal is equal, so that
 * the split does not change from one start to the next. */
static void default_shares(eng_device_state *device)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint32_t r = 0; r < device->n_leaves; r++) {
        uint64_t free_bytes = device->ranks[r].child.info->memory_free;
        least = free_bytes < least ? free_bytes : least;
        most = free_bytes > most ? free_bytes : most;
    }
    for (uint32_t r = 0; r < device->n_leaves; r++)
        device->shares[r] = least == 0 || most - least <= most / 8
                                ? 1
                                : (double)(device->ranks[r].child.info->memory_free >> 20);
}

static int set_shares(eng_device_state *device, const double *shares)
{
    double sum = 0;

    if (shares)
        memcpy(device->shares, shares, device->n_leaves * sizeof *shares);
    else
        default_shares(device);
    for (uint32_t r = 0; r < device->n_leaves; r++) {
        if (!(device->shares[r] >= 0) || device->shares[r] > 1e12)
            return META_FAIL(device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                             "the share of %s is not a number from 0 on", device->name,
                             device->ranks[r].name);
        sum += device->shares[r];
    }
    if (sum <= 0)
        return META_FAIL(device, ENG_ERR_INVALID, "%s" ENG_CAUSE "all shares are 0" ENG_ADVICE
                         "give one device more", device->name);
    for (uint32_t r = 0; r < device->n_leaves; r++) {
        device->shares[r] /= sum;
        device->ranks[r].share = device->shares[r];
        if (device->shares[r] > 0)
            device->main_mask |= 1u << r;
    }
    return ENG_OK;
}

/* Do two devices compute the same bits?  Those that only begin their work, as OpenCL's, may share a sum out by the compute
 * units that they have; the others' threads share rows (docs/cpu.md). */
static bool same_kind(const eng_device_info *a, const eng_device_info *b)
{
    const bool units = (a->flags | b->flags) & ENG_DEVICE_ASYNCHRONOUS;

    return a->kind == b->kind && strcmp(a->driver, b->driver) == 0 && strcmp(a->description, b->description) == 0 &&
           (!units || a->compute_units == b->compute_units);
}

static bool is_mixed(const eng_device_state *device)
{
    const eng_device_info *first = device->ranks[meta_first(device->main_mask)].child.info;

    for (uint32_t r = 0; r < device->n_leaves; r++)
        if ((device->main_mask >> r & 1u) && !same_kind(device->ranks[r].child.info, first))
            return true;
    return false;
}

int meta_blame(const eng_device_state *device, uint32_t rank, int status)
{
    const eng_services *sv = device->plugin->services;

    return status == ENG_OK ? ENG_OK :
                              sv->fail_in(sv->host, status, "%s, rank %u of %s", device->ranks[rank].name,
                                          (unsigned)rank, device->name);
}

/* Option `ahead`: run/ahead.c. */
static int read_ahead(eng_device_state *d)
{
    const eng_plugin_state *plugin = d->plugin;
    const char *text = plugin->services->option(plugin->host, "ahead");

    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return META_FAIL(d, ENG_ERR_INVALID, "option meta.ahead is '%s'; it takes yes or no", text);
    d->ahead = strcmp(text, "yes") == 0;
    return ENG_OK;
}

int meta_device_open(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device)
{
    eng_device_state *d = calloc(1, sizeof *d);

    if (!d || pthread_mutex_init(&d->lock, NULL) != 0) {
        free(d);
        return plugin->services->fail_code(plugin->host, EU_NO_MEMORY("a composed device"));
    }
    d->plugin = plugin;
    int status = ENG_OK;
    d->name = eu_arena_string(&d->arena, request->name);
    if (!d->name)
        status = plugin->services->fail_code(plugin->host, EU_NO_MEMORY("a composed device"));
    else if (request->n_leaves == 0 || request->n_leaves > META_MAX_RANKS)
        status = META_FAIL(d, ENG_ERR_INVALID,
                           "%s" ENG_CAUSE
                           "a composition has 1 to %d devices, as in cpu/2 or opencl:0+opencl:1", d->name,
                           META_MAX_RANKS);
    if (status == ENG_OK)
        status = read_ahead(d);
    for (uint32_t i = 0; i < request->n_leaves && status == ENG_OK; i++)
        status = add_rank(d, request->leaves[i], false);
    d->n_leaves = d->n_ranks;
    if (status == ENG_OK)
        status = set_shares(d, request->shares);
    if (status != ENG_OK) {
        meta_device_close(d);
        return status;
    }
    d->mixed = is_mixed(d);
    *device = d;
    return ENG_OK;
}

int meta_device_info(eng_device_state *device, eng_device_info *info)
{
    eng_device_info i = {.size = sizeof i, .kind = ENG_DEVICE_META, .flags = ENG_DEVICE_PLACES_MEMORY, .alignment = 64};
    size_t at = 0;

    for (uint32_t r = 0; r < device->n_leaves; r++) {
        const eng_device_info *c = device->ranks[r].child.info;
        i.compute_units += c->compute_units;
        i.memory_total += c->memory_total; /* a part of a device says its part */
        i.memory_free += c->memory_free;
        if (at < sizeof i.description)
            at += (size_t)snprintf(i.description + at, sizeof i.description - at, "%s%s %.0f%%", r ? " + " : "",
                                   device->ranks[r].name, device->shares[r] * 100);
    }
    snprintf(i.name, sizeof i.name, "%s", device->name);
    snprintf(i.driver, sizeof i.driver, "tensor parallel over %u devices", (unsigned)device->n_leaves);
    memcpy(info, &i, info->size && info->size < sizeof i ? info->size : sizeof i);
    return ENG_OK;
}

static void rank_stats(eng_device_state *device, uint32_t r, eng_device_stats *s)
{
    const meta_rank *rank = &device->ranks[r];
    eng_device_stats own = {.size = sizeof own};

    memset(s, 0, sizeof *s);
    s->size = sizeof *s;
    if (rank->child.calls->stats(rank->child.state, &own) == ENG_OK)
        s->compiled = own.compiled;
    s->bytes_weights = rank->bytes[META_BYTES_WEIGHTS];
    s->bytes_replicated = rank->replicated;
    s->bytes_cache = rank->bytes[META_BYTES_CACHE];
    s->bytes_state = rank->bytes[META_BYTES_STATE];
    s->bytes_io = rank->bytes[META_BYTES_IO];
    s->bytes_compute = atomic_load(&rank->compute_bytes);
    s->bytes_exchanged = atomic_load(&rank->sent);
    s->submits = atomic_load(&device->submits);
    s->plans_built = atomic_load(&device->plans_built);
    s->share = rank->share;
}

int meta_device_stats(eng_device_state *device, eng_device_stats *all)
{
    eng_device_stats sum = {.size = sizeof sum, .share = 1}, s;

    pthread_mutex_lock(&device->lock);
    for (uint32_t r = 0; r < device->n_ranks; r++) {
        rank_stats(device, r, &s);
        sum.bytes_weights += s.bytes_weights;
        sum.bytes_replicated += s.bytes_replicated;
        sum.bytes_cache += s.bytes_cache;
        sum.bytes_state += s.bytes_state;
        sum.bytes_io += s.bytes_io;
        sum.bytes_compute += s.bytes_compute;
        sum.bytes_exchanged += s.bytes_exchanged;
        sum.compiled += s.compiled;
    }
    pthread_mutex_unlock(&device->lock);
    sum.submits = atomic_load(&device->submits);
    sum.plans_built = atomic_load(&device->plans_built);
    eu_give_stats(all, &sum);
    return ENG_OK;
}

int meta_device_leaf_stats(eng_device_state *device, uint32_t leaf, eng_device_info *info,
                           eng_device_stats *leaf_stats_)
{
    int status = ENG_OK;

    pthread_mutex_lock(&device->lock);
    if (leaf >= device->n_ranks) {
        status = META_FAIL(device, ENG_ERR_NOTFOUND, "%s has %u devices", device->name, (unsigned)device->n_ranks);
    } else {
        if (info)
            *info = *device->ranks[leaf].child.info;
        if (leaf_stats_) {
            eng_device_stats own;
            rank_stats(device, leaf, &own);
            eu_give_stats(leaf_stats_, &own);
        }
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}
