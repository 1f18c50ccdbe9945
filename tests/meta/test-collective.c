/*
 * Exchanges between ranks, without devices: what every rank has received must be the
 * bytes that a simple loop over the elements gives, and equal on all ranks.  2 to 5
 * ranks and a guest, all kinds of exchange, sizes around the limits, uneven and empty
 * shards, memory that the host sees and memory that it does not.  Ranks start at random
 * moments and spoil what they gave as soon as the protocol lets them go on.
 *
 *     test-collective [SEED [ROUNDS]]
 */
#include "config.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/meta/run/run.h"

enum { EXCHANGES = 24, MOST_OPS = 64 };

static uint64_t state;
static uint64_t pick(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

/* -- a device that only holds memory -------------------------------------------------- */

typedef struct fake_op {
    char *to;
    const char *from;
    uint64_t bytes;
} fake_op;

/* Instance and queue of a rank in one.  Tensor 2i is given in exchange i, 2i+1 taken.
 * Transfers are done when they are waited for, as late as the contract allows. */
typedef struct fake {
    char *memory[2 * EXCHANGES];
    uint64_t bytes[2 * EXCHANGES];
    fake_op ops[MOST_OPS];
    uint32_t n_ops;
    uint64_t ticket;
} fake;

static int fake_wait(eng_queue_state *queue, uint64_t after, uint64_t ticket, uint64_t timeout, uint64_t *failed)
{
    fake *f = (fake *)(void *)queue;
    (void)after;
    (void)ticket;
    (void)timeout;
    (void)failed;
    for (uint32_t i = 0; i < f->n_ops; i++)
        if (f->ops[i].bytes)
            memcpy(f->ops[i].to, f->ops[i].from, f->ops[i].bytes);
    f->n_ops = 0;
    return ENG_OK;
}

static int later(fake *f, char *to, const char *from, uint64_t bytes, uint64_t *ticket)
{
    if (f->n_ops == MOST_OPS)
        fake_wait((eng_queue_state *)(void *)f, 0, 0, 0, NULL);
    f->ops[f->n_ops++] = (fake_op){to, from, bytes};
    *ticket = ++f->ticket;
    return ENG_OK;
}

static int fake_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *r,
                     uint32_t n, uint64_t *ticket)
{
    fake *f = (fake *)(void *)queue;
    (void)instance;
    return n != 1 || r->count != 1 ? ENG_ERR_INTERNAL
                                   : later(f, r->data, f->memory[tensor] + r->tensor_offset, r->bytes, ticket);
}

static int fake_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *r,
                      uint32_t n, uint64_t *ticket)
{
    fake *f = (fake *)(void *)queue;
    (void)instance;
    return n != 1 || r->count != 1 ? ENG_ERR_INTERNAL
                                   : later(f, f->memory[tensor] + r->tensor_offset, r->data, r->bytes, ticket);
}

static int fake_map(eng_instance_state *instance, int32_t tensor, void **data)
{
    *data = ((fake *)(void *)instance)->memory[tensor];
    return ENG_OK;
}

static const eng_device_calls fake_calls = {
    .size = sizeof fake_calls, .wait = fake_wait, .value_read = fake_read, .value_write = fake_write, .value_map = fake_map,
};

static int fake_fail(eng_host *host, int status, const char *format, ...)
{
    va_list args;
    (void)host;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    return status;
}

static const char *fake_error(eng_host *host)
{
    (void)host;
    return "";
}

static const eng_services fake_services = {.size = sizeof fake_services, .fail = fake_fail, .last_error = fake_error};
static const eng_type_info f32 = {.block = 1, .block_bytes = 4};

/* The queue's part of it; the rest of queue.c needs stores. */
int meta_child_wait(eng_queue_state *q, uint32_t rank, uint64_t ticket, uint64_t timeout)
{
    return fake_wait(q->child[rank], 0, ticket, timeout, NULL);
}

/* Nothing here takes longer than it may. */
void meta_late_note(eng_queue_state *q, uint32_t rank, uint64_t ticket)
{
    (void)q;
    (void)rank;
    (void)ticket;
    abort();
}

/* -- random exchanges --------------------------------------------------------------------- */

typedef struct sample {
    meta_exchange exchange;
    int64_t ne[ENG_MAX_RANK];
    meta_place from, to;
    meta_partition parts[2];
} sample;

typedef struct world {
    uint64_t seed;
    uint32_t n, main; /* ranks that share, and all with the guest: n + 1             */
    uint32_t mapped;  /* whose memory the host sees                                  */
    eng_plugin_state plugin;
    eng_device_state device;
    eng_device_info info[META_MAX_RANKS];
    meta_variant variant;
    eng_instance_state instance;
    eng_queue_state queue;
    fake fakes[META_MAX_RANKS];
    sample samples[EXCHANGES];
    meta_exchange *exchanges[EXCHANGES];
    uint32_t n_exchanges;
    bool good[META_MAX_RANKS];
} world;

/* What rank r has at an element of exchange i's value. */
static float value(uint64_t seed, uint32_t i, uint32_t r, int64_t at)
{
    uint64_t h = (seed * 31 + i) * 1000003u + r * 7919u + (uint64_t)at;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 32;
    return (float)(int64_t)(h % 2000003u) / 977.0f - 1000.0f;
}

static void random_cut(world *w, sample *s, meta_place *place, meta_partition *part)
{
    double shares[META_MAX_RANKS];
    int64_t total;

    memset(place, 0, sizeof *place);
    memset(part, 0, sizeof *part);
    place->kind = META_SHARDED;
    place->cut.part = part;
    place->cut.dim = (uint32_t)pick(2);
    total = s->ne[place->cut.dim];
    /* ne is a multiple of 12 in both dimensions: some factors that fit */
    static const int64_t outers[] = {1, 1, 2, 3}, inners[] = {1, 2, 2, 1};
    uint64_t k = pick(4);
    place->cut.n_segs = 1;
    place->cut.segs[0] = (meta_seg){outers[k], inners[k]};
    part->extent = total / outers[k] / inners[k];
    part->unit = 1;
    for (uint32_t r = 0; r < w->n; r++)
        shares[r] = (double)pick(4);
    shares[pick(w->n)] += 1;
    meta_partition_solve(part, shares, NULL, w->n);
    place->ranks = meta_part_mask(part);
}

static void random_place(world *w, sample *s, meta_place *place, meta_partition *part, uint8_t kind)
{
    if (kind == META_SHARDED) {
        random_cut(w, s, place, part);
        return;
    }
    *place = (meta_place){.kind = kind};
    place->rank = (uint8_t)pick(w->n + 1);
    place->ranks = kind == META_SINGLE ? 1u << place->rank : w->main;
}

static uint64_t place_bytes(const meta_place *place, uint32_t rank, const int64_t *ne)
{
    int64_t n = ne[0] * ne[1];
    if (place->kind == META_SHARDED)
        n = n / meta_cut_full(&place->cut) * meta_cut_local(&place->cut, rank);
    return (uint64_t)n * sizeof(float);
}

static bool fill_end(world *w, sample *s, uint32_t i, uint32_t rank, bool source)
{
    const meta_place *place = source ? &s->from : &s->to;
    meta_end *end = source ? &s->exchange.src[rank] : &s->exchange.dst[rank];
    int32_t tensor = (int32_t)(2 * i + !source);

    end->tensor = tensor;
    end->bytes = place_bytes(place, rank, s->ne);
    end->offset = 64 * pick(2);
    end->mappable = true;
    if (place->kind == META_SHARDED) {
        end->n_pieces = place->cut.n_segs;
        end->pieces = calloc(end->n_pieces, sizeof *end->pieces);
        if (!end->pieces)
            return false;
        meta_cut_pieces(&place->cut, rank, s->ne, &f32, end->pieces);
    }
    w->fakes[rank].bytes[tensor] = end->bytes + end->offset + 64;
    w->fakes[rank].memory[tensor] = malloc(w->fakes[rank].bytes[tensor]);
    return w->fakes[rank].memory[tensor] != NULL;
}

/* From shard to shard: what each target takes of each source. */
static bool fill_moves(sample *s, uint32_t target)
{
    meta_end *end = &s->exchange.dst[target];
    uint32_t n, room = 0;

    for (int fill = 0; fill < 2; fill++) {
        end->n_moves = 0;
        for (uint32_t left = s->exchange.sources; left; left &= left - 1) {
            uint32_t r = meta_first(left);
            if (!meta_cut_moves(s->ne, &f32, &s->from.cut, r, &s->to.cut, target,
                                fill ? end->moves + end->n_moves : NULL, fill ? room - end->n_moves : 0, &n))
                return false;
            end->n_moves += n;
        }
        room = end->n_moves;
        if (!fill && !(end->moves = calloc(room + 1u, sizeof *end->moves)))
            return false;
    }
    return true;
}

static bool make_sample(world *w, uint32_t i)
{
    static const int64_t widths[] = {12, 24, 132, 1200, 16380, 16392, 65532, 65544, 98304};
    static const struct {
        uint8_t from, to;
    } kinds[] = {{META_PARTIAL, META_REPLICATED}, {META_PARTIAL, META_REPLICATED}, {META_PARTIAL, META_SHARDED},
                 {META_PARTIAL, META_SINGLE},     {META_SHARDED, META_REPLICATED}, {META_SHARDED, META_SHARDED},
                 {META_SHARDED, META_SINGLE},     {META_REPLICATED, META_SINGLE},  {META_SINGLE, META_REPLICATED},
                 {META_SINGLE, META_SHARDED},     {META_SINGLE, META_SINGLE}};
    sample *s = &w->samples[i];
    meta_exchange *e = &s->exchange;
    uint64_t k = pick(sizeof kinds / sizeof *kinds), floats = (uint64_t)widths[pick(sizeof widths / sizeof *widths)];
    bool good = true;

    memset(s, 0, sizeof *s);
    for (int d = 0; d < ENG_MAX_RANK; d++)
        s->ne[d] = 1;
    s->ne[1] = 12 * (1 + (int64_t)pick(3));
    s->ne[0] = ((int64_t)floats / s->ne[1] + 11) / 12 * 12;
    if (s->ne[0] == 0)
        s->ne[0] = 12;
    random_place(w, s, &s->from, &s->parts[0], kinds[k].from);
    random_place(w, s, &s->to, &s->parts[1], kinds[k].to);
    e->name = "value";
    e->from = s->from.kind;
    e->to = s->to.kind;
    e->bytes = (uint64_t)(s->ne[0] * s->ne[1]) * sizeof(float);
    e->sources = e->from == META_REPLICATED ? 1u << pick(w->n) : s->from.ranks;
    e->targets = s->to.ranks;
    if ((e->sources & (e->sources - 1)) == 0 && e->to != META_SHARDED && e->from != META_SHARDED && pick(2))
        e->targets &= ~e->sources; /* who has it already is left out, or not */
    if (e->targets == 0)
        e->targets = e->sources;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        e->src[r].tensor = e->dst[r].tensor = -1;
    for (uint32_t r = 0; r <= w->n && good; r++) {
        if (e->sources >> r & 1u)
            good = fill_end(w, s, i, r, true);
        if (good && (e->targets >> r & 1u))
            good = fill_end(w, s, i, r, false) &&
                   (e->from != META_SHARDED || e->to != META_SHARDED || fill_moves(s, r));
    }
    w->exchanges[i] = e;
    return good;
}

static void end_sample(world *w, uint32_t i)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        free(w->samples[i].exchange.src[r].pieces);
        free(w->samples[i].exchange.dst[r].pieces);
        free(w->samples[i].exchange.dst[r].moves);
        free(w->fakes[r].memory[2 * i]);
        free(w->fakes[r].memory[2 * i + 1]);
    }
}

/* -- what must come out ---------------------------------------------------------------------- */

/* Does the rank's shard have the element at these positions? */
static bool holds(const meta_place *place, uint32_t rank, const int64_t *at)
{
    if (place->kind != META_SHARDED)
        return true;
    const meta_cut *c = &place->cut;
    int64_t unit = at[c->dim] / c->segs[0].inner % c->part->extent, begin = meta_part_begin(c->part, rank);
    return unit >= begin && unit < begin + meta_part_length(c->part, rank);
}

/* What the rank holds of the value, in its order: before the exchange or after. */
static uint64_t expected(const world *w, uint32_t i, uint32_t rank, bool before, float *list)
{
    const sample *s = &w->samples[i];
    uint64_t n = 0;

    for (int64_t y = 0; y < s->ne[1]; y++) {
        for (int64_t x = 0; x < s->ne[0]; x++) {
            int64_t at = y * s->ne[0] + x;
            if (!holds(before ? &s->from : &s->to, rank, (int64_t[]){x, y}))
                continue;
            if (s->from.kind != META_PARTIAL) {
                list[n++] = value(w->seed, i, 0, at);
            } else if (before) {
                list[n++] = value(w->seed, i, rank, at);
            } else {
                float sum = 0;
                uint32_t left = s->exchange.sources;
                for (bool first = true; left; left &= left - 1, first = false)
                    sum = first ? value(w->seed, i, meta_first(left), at) :
                                  sum + value(w->seed, i, meta_first(left), at);
                list[n++] = sum;
            }
        }
    }
    return n;
}

static bool received(const world *w, uint32_t i, uint32_t rank)
{
    const meta_end *end = &w->samples[i].exchange.dst[rank];
    float *want = malloc(w->samples[i].exchange.bytes + 1);
    bool good = want != NULL;

    if (good) {
        uint64_t n = expected(w, i, rank, false, want);
        good = n * sizeof *want == end->bytes &&
               memcmp(want, w->fakes[rank].memory[end->tensor] + end->offset, end->bytes) == 0;
    }
    free(want);
    return good;
}

/* -- a run ------------------------------------------------------------------------------------- */

static void dawdle(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    uint64_t r = *random >> 40;
    if (r % 16 == 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)(r % 200000)}, NULL);
    else
        for (volatile uint64_t k = 0; k < r % 2000; k++)
            continue;
}

/* One section of the rank's device: spoils what is no longer needed, makes what is given next. */
static void section(world *w, meta_member *m, uint32_t i, uint32_t last)
{
    fake *f = &w->fakes[m->rank];

    fake_wait((eng_queue_state *)(void *)f, 0, 0, 0, NULL);
    if (last != META_NEVER && w->samples[last].exchange.dst[m->rank].tensor >= 0)
        w->good[m->rank] = w->good[m->rank] && received(w, last, m->rank);
    if (last != META_NEVER && f->memory[2 * last])
        memset(f->memory[2 * last], 0xff, f->bytes[2 * last]);
    if (i == META_NEVER)
        return;
    const meta_end *src = &w->samples[i].exchange.src[m->rank], *dst = &w->samples[i].exchange.dst[m->rank];
    if (src->tensor >= 0)
        expected(w, i, m->rank, true, (float *)(void *)(f->memory[src->tensor] + src->offset));
    if (dst->tensor >= 0)
        memset(f->memory[dst->tensor], 0xff, f->bytes[dst->tensor]);
    m->pending = ++f->ticket;
    m->busy = true;
}

static void *run_rank(void *arg)
{
    meta_member *m = arg;
    world *w = (world *)(void *)m->queue->device->plugin->host;
    uint64_t random = w->seed * 977 + m->rank;
    uint32_t last = META_NEVER;

    for (uint32_t i = 0; i < w->n_exchanges; i++) {
        const meta_exchange *e = w->exchanges[i];
        if (!((e->sources | e->targets) >> m->rank & 1u))
            continue;
        if (!meta_member_release(m))
            w->good[m->rank] = false;
        section(w, m, i, last);
        last = i;
        dawdle(&random);
        if (!meta_exchange_run(m, i))
            w->good[m->rank] = false;
    }
    if (!meta_member_release(m))
        w->good[m->rank] = false;
    section(w, m, META_NEVER, last);
    return NULL;
}

static bool run(world *w, int times)
{
    meta_member members[META_MAX_RANKS];
    pthread_t threads[META_MAX_RANKS];
    bool good = true;

    for (int k = 0; k < times; k++) {
        for (uint32_t r = 0; r <= w->n; r++) {
            members[r] = (meta_member){.queue = &w->queue, .rank = r};
            if (pthread_create(&threads[r], NULL, run_rank, &members[r]) != 0)
                exit(2);
        }
        for (uint32_t r = 0; r <= w->n; r++) {
            pthread_join(threads[r], NULL);
            good = good && w->good[r];
        }
        w->queue.base += (w->n_exchanges + 1) * META_STAGES;
    }
    return good;
}

static bool make_world(world *w)
{
    bool good = true;

    w->main = (1u << w->n) - 1;
    w->plugin = (eng_plugin_state){&fake_services, (eng_host *)(void *)w};
    w->device.plugin = &w->plugin;
    w->device.n_leaves = w->n;
    w->device.n_ranks = w->n + 1;
    w->device.main_mask = w->main;
    w->variant = (meta_variant){.device = &w->device, .n_ranks = w->n + 1, .ranks = 2 * w->main + 1,
                                .exchanges = w->exchanges};
    w->instance.variant = &w->variant;
    w->queue.device = &w->device;
    w->queue.instance = &w->instance;
    w->queue.timeout = UINT64_MAX;
    w->queue.base = 1;
    atomic_store(&w->queue.blame, -1);
    good = meta_progress_init(&w->queue) == ENG_OK;
    for (; w->n_exchanges < EXCHANGES && good; w->n_exchanges++)
        good = make_sample(w, w->n_exchanges);
    w->variant.n_exchanges = w->n_exchanges;
    for (uint32_t r = 0; r <= w->n && good; r++) {
        w->info[r].flags = w->mapped >> r & 1u ? ENG_DEVICE_HOST_MEMORY : 0;
        w->device.ranks[r].child = (eng_child){.calls = &fake_calls, .info = &w->info[r]};
        w->instance.child[r] = (eng_instance_state *)(void *)&w->fakes[r];
        w->queue.child[r] = (eng_queue_state *)(void *)&w->fakes[r];
        w->queue.members[w->queue.n_members++] = r;
        w->good[r] = true;
        good = meta_spots_rank(&w->instance, r);
    }
    return good && meta_spots_sums(&w->instance);
}

static void end_world(world *w)
{
    meta_spots_end(&w->instance);
    meta_progress_end(&w->queue);
    for (uint32_t i = 0; i < EXCHANGES; i++)
        end_sample(w, i);
    free(w);
}

static bool test(uint32_t ranks, uint64_t seed, int mapping)
{
    world *w = aligned_alloc(_Alignof(world), sizeof *w);
    bool good;

    if (!w)
        return false;
    memset(w, 0, sizeof *w);
    state = seed * 1299709 + ranks;
    pick(2);
    w->seed = seed;
    w->n = ranks;
    w->mapped = mapping == 0 ? ~0u : mapping == 1 ? 0 : (uint32_t)pick(1u << (ranks + 1));
    good = make_world(w) && run(w, 3);
    for (uint32_t r = 0; r <= ranks; r++)
        if (!w->good[r])
            printf("# seed %llu, %u ranks, mapping %d: rank %u has received something else\n", (unsigned long long)seed,
                   (unsigned)ranks, mapping, (unsigned)r);
    end_world(w);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const mappings[] = {"mapped memory", "staged", "some of each"};
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 3, n = 0, failed = 0;

    for (uint32_t ranks = 2; ranks <= 5; ranks++) {
        for (int mapping = 0; mapping < 3; mapping++) {
            bool good = true;
            for (int k = 0; k < rounds; k++)
                good = test(ranks, seed + (uint64_t)k, mapping) && good;
            failed += !good;
            printf("%sok %d - %u ranks and a guest, %s, seeds from %llu\n", good ? "" : "not ", ++n, (unsigned)ranks,
                   mappings[mapping], (unsigned long long)seed);
        }
    }
    printf("1..%d\n", n);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
