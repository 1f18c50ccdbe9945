/*
 * Where persistent tensors live: the policy.
 *
 *   device given          on that rank alone (a leaf or a guest)
 *   an input              everywhere, guests too; but what is about the cells that the
 *                         youngest caches are cut along is cut like them
 *   axis WHOLE            replicated
 *   axis given            cut along it
 *   axes named            cut along one of them: of a dimension the outermost
 *                         that has more than one unit; of several dimensions the
 *                         one whose partition is closest to the shares, and of
 *                         equals the inner dimension (ffn before expert: balanced
 *                         whatever the router does).  A cache: by its last axis
 *                         (heads), unless there are fewer than ranks, or what they
 *                         would leave above a rank's share costs more than to
 *                         attend along the other axes (cells): caches.c
 *   an output without     on the first rank
 *   anything else         replicated, and listed with the reason
 *
 * A partition is fixed by the store that first names its axis, for as long as a
 * store has a tensor cut by it: its unit is what the blocks of all tensors of that
 * store need, and the groups of rows that ranks pack together.  If that leaves fewer
 * units than ranks, the tensors with the largest need are given up (replicated) first.
 *
 * Shares are shares of bytes.  Axes of few units (two heads over three ranks)
 * cannot follow them; so the axes of a store are solved from the coarsest to the
 * finest.  A coarse one gives every rank the whole units of its share, and the
 * units left over to those who are owed most; a fine one (the feed-forward width,
 * the vocabulary) makes up for all that those before it left.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "place.h"

#define NEAR 0.01 /* deviations closer than this count as equal */
#define FINE 16   /* units a rank: an axis of more is fine */

void meta_local_ne(const meta_place *place, uint32_t rank, const int64_t *ne, int64_t *local)
{
    memcpy(local, ne, ENG_MAX_RANK * sizeof *ne);
    if (place->kind == META_SHARDED)
        local[place->cut.dim] = meta_cut_local(&place->cut, rank);
}

/* Those that count: of a cache of several axes the last one, or all the others. */
static uint32_t list_choices(const eng_store_tensor *t, const meta_tensor *m, meta_choice *choices)
{
    uint32_t n = meta_choices(t, choices);

    if ((t->use & ENG_USE_MASK) != ENG_USE_CACHE || n < 2)
        return n;
    if (m->along_cells)
        return n - 1;
    choices[0] = choices[n - 1];
    return 1;
}

/* The unit: common to all needs, if that leaves every rank one; else the largest
 * needs are dropped. */
static int64_t common_unit(const int64_t *needs, uint32_t n, int64_t extent, uint32_t n_main)
{
    int64_t limit = extent, wanted = extent < n_main ? extent : n_main;
    for (;;) {
        int64_t unit = 1, largest = 1;
        for (uint32_t i = 0; i < n; i++) {
            if (needs[i] > limit)
                continue;
            unit = meta_lcm(unit, needs[i]);
            largest = needs[i] > largest ? needs[i] : largest;
        }
        if (largest == 1 || (extent + unit - 1) / unit >= wanted)
            return unit;
        limit = largest - 1;
    }
}

/* Rows that the main ranks keep together; 1 where they keep them as in the file. */
static int64_t rows_together(const eng_device_state *device, const eng_store_tensor *t)
{
    int64_t rows = 1;

    for (uint32_t r = 0; r < device->n_leaves; r++) {
        const eng_child *c = &device->ranks[r].child;
        eng_layout_info info = {.size = sizeof info, .rows = 1};
        if ((device->main_mask >> r & 1u) && c->calls->layout(c->state, t, &info) == ENG_OK && info.rows > 1)
            rows = meta_lcm(rows, info.rows);
    }
    return rows;
}

#define MOST_NEEDS 32
static void add_need(int64_t *needs, uint32_t *n, int64_t need)
{
    bool known = need == 0;

    for (uint32_t k = 0; k < *n; k++)
        known |= needs[k] == need;
    if (!known && *n < MOST_NEEDS)
        needs[(*n)++] = need;
}

/* An axis that a store names first, and what depends on it. */
typedef struct axis_job {
    meta_partition part;
    double bytes; /* of the tensors that will be cut along it                  */
    bool caches;  /* and nothing else                                          */
} axis_job;

/* The partition of a new axis, but for its boundaries. */
static void describe_axis(const eng_device_state *device, const eng_store_tensor *declared, uint32_t n,
                          const meta_tensor *tensors, const meta_partition *like, axis_job *job)
{
    meta_partition *p = &job->part;
    int64_t needs[MOST_NEEDS];
    uint32_t n_needs = 0;

    *job = (axis_job){.part = {.axis = like->axis, .extent = like->extent}, .caches = true};
    for (uint32_t i = 0; i < n; i++) {
        meta_cut cut;
        meta_choice choices[META_MAX_CHOICES];
        const eng_store_tensor *given = meta_declared(declared, i);
        const eng_type_info *type = meta_type_info(device, given->type);
        if (!type || !meta_may_be_cut(given) || !meta_cut_from_dims(given->dims, given->rank, given->ne, p, &cut))
            continue;
        if (list_choices(given, &tensors[i], choices) && choices[0].part.axis == p->axis &&
            (given->use & ENG_USE_MASK) != ENG_USE_OUTPUT) {
            job->bytes += (double)tensors[i].bytes;
            job->caches = job->caches && (given->use & ENG_USE_MASK) == ENG_USE_CACHE;
        }
        add_need(needs, &n_needs, meta_cut_unit(&cut, type->block));
        if (given->layout != ENG_LAYOUT_FILE && given->n_readers > 0)
            add_need(needs, &n_needs, meta_cut_row_unit(&cut, rows_together(device, given)));
    }
    p->unit = common_unit(needs, n_needs, p->extent, (uint32_t)__builtin_popcount(device->main_mask));
}

/* Bytes that each rank has of what the living stores split.  Outputs do not count: they are
 * small, and cut as the values that they take are. */
static void count_shards(eng_device_state *device, double *held)
{
    for (const eng_store_state *s = device->stores; s; s = s->next) {
        for (uint32_t i = 0; i < s->n; i++) {
            const meta_tensor *t = &s->tensors[i];
            if (t->place.kind != META_SHARDED || (t->use & ENG_USE_MASK) == ENG_USE_OUTPUT)
                continue;
            for (uint32_t r = 0; r < t->place.cut.part->n_ranks; r++)
                held[r] += (double)meta_local_bytes(&t->place, r, meta_type_info(device, t->type), t->ne);
        }
    }
}

/* Boundaries that bring what every rank holds closest to its share; held: before and after.
 * Caches make up for nothing: the next store may have thousands of cells of an axis of which
 * this one has few. */
static void solve_axis(const eng_device_state *device, axis_job *job, double *held)
{
    meta_partition *p = &job->part;
    double owed[META_MAX_RANKS], want[META_MAX_RANKS], placed = 0, sum = 0;

    for (uint32_t r = 0; r < device->n_leaves; r++)
        placed += held[r];
    for (uint32_t r = 0; r < device->n_leaves; r++) {
        double bytes = device->shares[r] * placed - held[r];
        owed[r] = job->bytes > 0 ? bytes / (job->bytes / (double)meta_part_units(p)) : 0;
        want[r] = device->shares[r] * job->bytes + bytes;
        if (want[r] < 0 || device->shares[r] <= 0)
            want[r] = 0;
        sum += want[r];
    }
    if (job->caches)
        meta_partition_solve(p, device->shares, NULL, device->n_leaves);
    else if (meta_part_units(p) >= FINE * (int64_t)device->n_leaves && job->bytes > 0 && sum > 0)
        meta_partition_solve(p, want, NULL, device->n_leaves);
    else
        meta_partition_solve(p, device->shares, owed, device->n_leaves);
    for (uint32_t r = 0; r < device->n_leaves; r++)
        held[r] += job->bytes * (double)meta_part_length(p, r) / (double)p->extent;
}

static int by_units(const void *a, const void *b)
{
    const meta_partition *x = &((const axis_job *)a)->part, *y = &((const axis_job *)b)->part;
    int64_t n = meta_part_units(x), m = meta_part_units(y);

    if (n != m)
        return n < m ? -1 : 1;
    return x->axis != y->axis ? (x->axis < y->axis ? -1 : 1) : 0;
}

typedef struct axis_jobs {
    axis_job *items;
    uint32_t n;
    size_t capacity;
} axis_jobs;

/* Is it known already how the axis is shared out, or one of the jobs? */
static bool is_known(const eng_device_state *device, const axis_jobs *jobs, const meta_partition *like)
{
    for (uint32_t i = 0; i < jobs->n; i++)
        if (jobs->items[i].part.axis == like->axis && jobs->items[i].part.extent == like->extent)
            return true;
    return meta_partition_in_use(device, like->axis, like->extent) != NULL;
}

/* The axes that the store names first. */
static bool list_jobs(const eng_device_state *device, const eng_store_tensor *declared, uint32_t n,
                      const meta_tensor *tensors, axis_jobs *jobs)
{
    meta_choice choices[META_MAX_CHOICES];

    for (uint32_t i = 0; i < n; i++) {
        const eng_store_tensor *given = meta_declared(declared, i);
        uint32_t n_choices = meta_may_be_cut(given) ? list_choices(given, &tensors[i], choices) : 0;
        for (uint32_t c = 0; c < n_choices; c++) {
            if (is_known(device, jobs, &choices[c].part))
                continue;
            if (!eu_reserve(jobs->items, jobs->capacity, (size_t)jobs->n + 1))
                return false;
            describe_axis(device, declared, n, tensors, &choices[c].part, &jobs->items[jobs->n++]);
        }
    }
    return true;
}

/* All of them are shared out. */
static int solve_axes(eng_device_state *device, const eng_store_tensor *declared, uint32_t n,
                      const meta_tensor *tensors)
{
    axis_jobs jobs = {0};
    double held[META_MAX_RANKS] = {0};
    bool room = list_jobs(device, declared, n, tensors, &jobs);

    count_shards(device, held);
    if (jobs.n)
        qsort(jobs.items, jobs.n, sizeof *jobs.items, by_units);
    for (uint32_t k = 0; k < jobs.n && room; k++) {
        solve_axis(device, &jobs.items[k], held);
        room = meta_partition_keep(device, &jobs.items[k].part);
    }
    free(jobs.items);
    return room ? ENG_OK : meta_no_memory(device, "the partitions of a store");
}

/* The best of a tensor's choices that its blocks allow. */
static bool choose(eng_device_state *device, const eng_store_tensor *t, const meta_choice *choices, uint32_t n,
                   meta_place *place, const char **why)
{
    const eng_type_info *type = meta_type_info(device, t->type);
    double best = 2;

    for (uint32_t i = 0; i < n; i++) {
        meta_cut cut = choices[i].cut;
        cut.part = meta_partition_find(device, choices[i].part.axis, choices[i].part.extent);
        if (!cut.part || !meta_cut_aligned(&cut, type->block)) {
            *why = "its blocks do not fit the partition of its axis";
            continue;
        }
        double off = meta_part_deviation(cut.part);
        if (off < best - NEAR) {
            best = off;
            *place = meta_place_sharded(&cut);
        }
    }
    return best < 2;
}

/* The axis that all caches of the youngest store which has some are cut along; NULL: not all alike. */
static const meta_partition *axis_of_caches(const eng_device_state *device)
{
    const meta_partition *part = NULL;

    for (const eng_store_state *s = device->stores; s && !part; s = s->next) {
        for (uint32_t i = 0; i < s->n; i++) {
            const meta_tensor *t = &s->tensors[i];
            if ((t->use & ENG_USE_MASK) != ENG_USE_CACHE)
                continue;
            if (t->place.kind != META_SHARDED || (part && part != t->place.cut.part))
                return NULL;
            part = t->place.cut.part;
        }
    }
    return part;
}

/* Is the input about the cells that caches are cut along?  Then each rank needs its own alone, and
 * not a copy of them in every run. */
static bool goes_with_caches(const eng_device_state *device, const eng_store_tensor *t, meta_cut *cut)
{
    const meta_partition *part = axis_of_caches(device);
    meta_choice choices[META_MAX_CHOICES];

    if (!part || t->axis == ENG_AXIS_WHOLE || meta_choices(t, choices) != 1 ||
        choices[0].part.axis != part->axis || choices[0].part.extent != part->extent)
        return false;
    *cut = choices[0].cut;
    cut->part = part;
    return meta_cut_aligned(cut, meta_type_info(device, t->type)->block);
}

static int place_one(eng_device_state *device, const eng_store_tensor *t, meta_tensor *m)
{
    uint32_t use = t->use & ENG_USE_MASK, rank;
    meta_cut cut;
    meta_choice choices[META_MAX_CHOICES];

    m->why = NULL;
    if (t->device) {
        int status = meta_rank_of(device, t->device, &rank);
        if (status != ENG_OK)
            return status;
        m->place = meta_place_single(rank);
        return ENG_OK;
    }
    m->place = meta_place_replicated();
    if (use == ENG_USE_INPUT) {
        if (goes_with_caches(device, t, &cut))
            m->place = meta_place_sharded(&cut);
        return ENG_OK;
    }
    m->why = t->axis == ENG_AXIS_WHOLE ? "asked to be whole" : "no axis of more than one unit";
    if (meta_may_be_cut(t) && choose(device, t, choices, list_choices(t, m, choices), &m->place, &m->why)) {
        m->why = m->along_cells;
    } else if (use == ENG_USE_OUTPUT) {
        m->place = meta_place_single(meta_first(device->main_mask));
        m->why = NULL;
    }
    return ENG_OK;
}

int meta_place_store(eng_device_state *device, const eng_store_tensor *declared, uint32_t n, meta_tensor *tensors)
{
    int status = meta_caches_decide(device, declared, n, tensors);

    if (status == ENG_OK)
        status = solve_axes(device, declared, n, tensors);
    if (status != ENG_OK)
        return status;
    for (uint32_t i = 0; i < n; i++) {
        status = place_one(device, meta_declared(declared, i), &tensors[i]);
        if (status != ENG_OK)
            return status;
    }
    /* only now are all guests known */
    for (uint32_t i = 0; i < n; i++)
        if (tensors[i].place.kind == META_REPLICATED)
            tensors[i].place.ranks = (tensors[i].use & ENG_USE_MASK) == ENG_USE_INPUT
                                         ? (uint32_t)((UINT64_C(1) << device->n_ranks) - 1)
                                         : device->main_mask;
    return ENG_OK;
}
