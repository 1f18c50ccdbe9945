/*
 * Exchanges, as one rank sees them: give what you have, wait for those whose data
 * you take, assemble, go on.
 *
 * Where the host reaches a device's memory, values are given in place if they are
 * large, or if the giver needs something of every taker anyway: it goes on when all
 * have taken, which is before its device may write there again.  Otherwise they are
 * given as a copy in staging memory, so that the giver need not wait.
 *
 * Sums are formed in the order of the ranks, by whoever forms them: every rank gets
 * the same bits.  Two ranks each add for themselves; more, and large data: each adds
 * one chunk (reduce-scatter), and all take the chunks of all (all-gather).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "run.h"

#define COPY_LIMIT ((uint64_t)64 * 1024)   /* bytes: beyond, in place            */
#define STRIP 1024                         /* floats added at a time              */
#define LANES 16                           /* of them side by side                */

bool meta_gives_in_place(const meta_exchange *e, uint32_t rank)
{
    bool mutual = (e->targets >> rank & 1u) && (e->targets & ~e->sources) == 0;
    return mutual || e->src[rank].bytes > COPY_LIMIT;
}

/* -- arithmetic ------------------------------------------------------------------- */

/* Loops of a fixed length become vector instructions without a remainder to look after. */
static void add_strip(float *restrict y, const float *restrict a, const float *restrict b, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            y[i + k] = a[i + k] + b[i + k];
    for (; i < n; i++)
        y[i] = a[i] + b[i];
}

static void add_to_strip(float *restrict y, const float *restrict a, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            y[i + k] += a[i + k];
    for (; i < n; i++)
        y[i] += a[i];
}

/* y = the sum of n floats at byte `offset` of each source, in the order given. */
static void sum_range(float *y, const char *const *sources, uint32_t n_sources, uint64_t offset, uint64_t n)
{
    if (n_sources == 1) {
        memcpy(y, sources[0] + offset, n * sizeof *y);
        return;
    }
    for (uint64_t i = 0; i < n; i += STRIP) {
        size_t m = n - i < STRIP ? (size_t)(n - i) : STRIP;
        const float *a = (const float *)(sources[0] + offset) + i, *b = (const float *)(sources[1] + offset) + i;
        add_strip(y + i, a, b, m);
        for (uint32_t s = 2; s < n_sources; s++)
            add_to_strip(y + i, (const float *)(sources[s] + offset) + i, m);
    }
}

static void copy_pieces(char *y, const char *x, const meta_end *end, bool into_whole)
{
    for (uint32_t k = 0; k < end->n_pieces; k++) {
        const meta_piece *p = &end->pieces[k];
        for (uint64_t j = 0; j < p->n2; j++) {
            for (uint64_t i = 0; i < p->n1; i++) {
                uint64_t full = p->full + j * p->full_s2 + i * p->full_s1;
                uint64_t local = p->local + j * p->local_s2 + i * p->local_s1;
                memcpy(y + (into_whole ? full : local), x + (into_whole ? local : full), p->run);
            }
        }
    }
}

static void sum_pieces(char *y, const char *const *sources, uint32_t n, const meta_end *end)
{
    for (uint32_t k = 0; k < end->n_pieces; k++) {
        const meta_piece *p = &end->pieces[k];
        for (uint64_t j = 0; j < p->n2; j++)
            for (uint64_t i = 0; i < p->n1; i++)
                sum_range((float *)(void *)(y + p->local + j * p->local_s2 + i * p->local_s1), sources, n,
                          p->full + j * p->full_s2 + i * p->full_s1, p->run / sizeof(float));
    }
}

/* -- giving ------------------------------------------------------------------------- */

bool meta_member_idle(meta_member *m)
{
    eng_queue_state *q = m->queue;

    if (!m->busy)
        return true;
    int status = meta_child_wait(q, m->rank, m->pending, q->timeout);
    m->busy = false;
    if (status == ENG_ERR_TIMEOUT)
        meta_late_note(q, m->rank, m->pending);
    if (status != ENG_OK)
        meta_run_fail(q, m->rank, status);
    return status == ENG_OK;
}

static bool await_all(const meta_member *m, uint32_t ranks, uint64_t stage)
{
    for (ranks &= ~(1u << m->rank); ranks; ranks &= ranks - 1)
        if (!meta_await(m->queue, m->rank, meta_first(ranks), stage))
            return false;
    return true;
}

bool meta_member_release(meta_member *m)
{
    for (uint32_t lent = m->lent & ~(1u << m->rank); lent; lent &= lent - 1) {
        uint32_t r = meta_first(lent);
        if (!meta_await(m->queue, m->rank, r, m->lent_until[r]))
            return false;
    }
    m->lent = 0;
    return true;
}

/* Into staging memory, when those who read there last are through. */
static bool give_copy(meta_member *m, const meta_spot *spot, const meta_end *end)
{
    eng_queue_state *q = m->queue;
    eng_instance_state *inst = q->instance;
    const eng_child *c = &q->device->ranks[m->rank].child;

    if (spot->before != META_NEVER &&
        !await_all(m, inst->variant->exchanges[spot->before]->targets, meta_stage_of(q, spot->before, META_FINISHED)))
        return false;
    if (!spot->mapped) {
        const eng_region all = eng_range(spot->data, end->offset, end->bytes);
        int status = c->calls->value_read(q->child[m->rank], inst->child[m->rank], end->tensor, &all, 1, &m->pending);
        if (status != ENG_OK) {
            meta_run_fail(q, m->rank, status);
            return false;
        }
        m->busy = true;
    }
    if (!meta_member_idle(m))
        return false;
    if (spot->mapped)
        memcpy(spot->data, spot->mapped, end->bytes);
    return true;
}

static bool give(meta_member *m, const meta_exchange *e, uint32_t index)
{
    eng_queue_state *q = m->queue;
    const meta_spot *spot = &q->instance->src[m->rank][index];

    if (spot->lent) {
        if (!meta_member_idle(m))
            return false;
        m->lent |= e->targets;
        for (uint32_t left = e->targets; left; left &= left - 1)
            m->lent_until[meta_first(left)] = meta_stage_of(q, index, META_FINISHED);
    } else if (!give_copy(m, spot, &e->src[m->rank])) {
        return false;
    }
    m->sent += e->sent[m->rank];
    meta_advance(q, m->rank, meta_stage_of(q, index, META_GIVEN));
    return true;
}

/* -- taking --------------------------------------------------------------------------- */

/* Each target adds one chunk; the chunks of all are the sum.  The two memories for sums take
 * turns on every rank alike, because all sums by chunks are of the same ranks: every rank
 * with a share has an addend, and gets the whole. */
static bool sum_by_chunks(meta_member *m, const meta_exchange *e, uint32_t index, const char *const *sources,
                          uint32_t n, char *y)
{
    eng_queue_state *q = m->queue;
    uint32_t turn = m->sums++ & 1u;
    char *sum = q->instance->sum[turn];
    uint32_t count = (uint32_t)__builtin_popcount(e->targets);
    uint32_t mine = (uint32_t)__builtin_popcount(e->targets & ((1u << m->rank) - 1));
    uint64_t floats = e->bytes / sizeof(float);
    uint64_t from = floats * mine / count, to = floats * (mine + 1) / count;

    if (m->last_sum_at[turn] && !await_all(m, e->targets, m->last_sum_at[turn]))
        return false;
    m->last_sum_at[turn] = meta_stage_of(q, index, META_FINISHED);
    sum_range((float *)(void *)sum + from, sources, n, from * sizeof(float), to - from);
    meta_advance(q, m->rank, meta_stage_of(q, index, META_SUMMED));
    if (!await_all(m, e->targets, meta_stage_of(q, index, META_SUMMED)))
        return false;
    memcpy(y, sum, e->bytes);
    return true;
}

static bool assemble(meta_member *m, const meta_exchange *e, uint32_t index, char *y)
{
    eng_instance_state *inst = m->queue->instance;
    const meta_end *own = &e->dst[m->rank];
    const char *sources[META_MAX_RANKS];
    uint32_t n = 0;

    for (uint32_t left = e->sources; left; left &= left - 1) {
        uint32_t r = meta_first(left);
        const char *x = inst->src[r][index].data;
        if (e->from == META_SHARDED && e->to != META_SHARDED)
            copy_pieces(y, x, &e->src[r], true);
        for (uint32_t k = 0; k < own->n_moves; k++)
            if (own->moves[k].source == r)
                meta_move_copy(&own->moves[k], y, x);
        sources[n++] = x;
    }
    if (e->from == META_SHARDED)
        return true;
    if (e->from == META_PARTIAL && e->to == META_SHARDED)
        sum_pieces(y, sources, n, own);
    else if (meta_exchange_by_chunks(e))
        return sum_by_chunks(m, e, index, sources, n, y);
    else if (e->from == META_PARTIAL)
        sum_range((float *)(void *)y, sources, n, 0, e->bytes / sizeof(float));
    else if (e->to == META_SHARDED)
        copy_pieces(y, sources[0], own, false);
    else
        memcpy(y, sources[0], e->bytes);
    return true;
}

static bool take(meta_member *m, const meta_exchange *e, uint32_t index)
{
    eng_queue_state *q = m->queue;
    eng_instance_state *inst = q->instance;
    const meta_end *end = &e->dst[m->rank];
    const eng_child *c = &q->device->ranks[m->rank].child;
    const meta_spot *spot = &inst->dst[m->rank][index];

    if (!await_all(m, e->sources, meta_stage_of(q, index, META_GIVEN)))
        return false;
    /* the child may still read the staging memory, or the mapped tensor's place */
    if (!meta_member_idle(m))
        return false;
    if (!assemble(m, e, index, spot->data))
        return false;
    if (spot->mapped)
        return true;
    const eng_region all = eng_range(spot->data, end->offset, end->bytes);
    int status = c->calls->value_write(q->child[m->rank], inst->child[m->rank], end->tensor, &all, 1, &m->pending);
    if (status != ENG_OK)
        meta_run_fail(q, m->rank, status);
    m->busy |= status == ENG_OK;
    return status == ENG_OK;
}

bool meta_exchange_run(meta_member *m, uint32_t index)
{
    eng_queue_state *q = m->queue;
    const meta_exchange *e = q->instance->variant->exchanges[index];

    if ((e->sources >> m->rank & 1u) && !give(m, e, index))
        return false;
    if ((e->targets >> m->rank & 1u) && !take(m, e, index))
        return false;
    meta_advance(q, m->rank, meta_stage_of(q, index, META_FINISHED));
    return true;
}
