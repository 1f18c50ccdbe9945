#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "cores.h"
#include "gate.h"
#include "team.h"
#include "thread.h"

/* The start gate shows which call it is and how many members take part: a member that wakes late knows from
 * the number alone whether the call, whose other facts may be of the next one by then, is its own. */
#define COUNT_BITS 16
#define MOST_THREADS ((1u << COUNT_BITS) - 2)

typedef struct member {
    eu_team *team;
    const struct member *before; /* made before it; NULL: it is the first */
    pthread_t thread;
    uint32_t index;
    uint64_t seen;   /* of the start gate, when the member was made */
    atomic_int core; /* that it began its last call on              */
    uint64_t left;   /* when it last left a core to another, and    */
    uint64_t pause;  /* for how long it does not do so again        */
} member;

struct eu_team {
    eu_gate start, turn, done;
    eu_spin between, within; /* calls */
    _Alignas(64) atomic_uint left;
    EU_ARRAY(member *) members;
    int *cores;
    uint32_t n_cores;
    atomic_bool stop;
    /* the call in progress; read by its members alone */
    uint64_t call;
    void (*fn)(void *ctx, uint32_t i);
    void *ctx;
    uint32_t first; /* the number of members[0]: 1 if the caller takes part, else 0 */
    uint32_t count; /* members that take part, with the caller */
    int core;       /* that the caller is on; -1: it takes no part */
    atomic_int counted; /* among threads_in_use: those of the call in progress */
    atomic_uint kept;   /* members.n, which they may not read */
};

/* Of all calls of this module's teams that are in progress, callers included. */
static atomic_int threads_in_use;

/* Is there a core for each thread of the team beside those of other teams' calls? */
static bool cores_suffice(const eu_team *team)
{
    static atomic_uint known;
    uint32_t cores = atomic_load_explicit(&known, memory_order_relaxed);
    if (cores == 0) {
        cores = eu_core_count();
        atomic_store_explicit(&known, cores, memory_order_relaxed);
    }
    const int own = atomic_load(&team->counted), others = atomic_load(&threads_in_use) - own;
    return others + (int)atomic_load_explicit(&team->kept, memory_order_relaxed) + 1 <= (int)cores;
}

/* Members look while the caller counts: a call that ends is then left out twice rather than taken for another team's. */
static void count_in(eu_team *team, uint32_t threads)
{
    atomic_store(&team->counted, (int)threads);
    atomic_fetch_add(&threads_in_use, (int)threads);
}

static void count_out(eu_team *team)
{
    atomic_fetch_sub(&threads_in_use, atomic_load(&team->counted));
    atomic_store(&team->counted, 0);
}

bool eu_team_calm(eu_team *team)
{
    return cores_suffice(team) && eu_spin_calm(&team->within);
}

/* The gate counts arrivals, a multiple of the members at each barrier: who looks for the last one looks at what that one
 * writes, and at nothing else. */
void eu_team_barrier(eu_team *team)
{
    const uint64_t before = atomic_fetch_add(&team->turn.at, 1), all = (before / team->count + 1) * team->count;
    if (before + 1 == all)
        eu_gate_tell(&team->turn);
    else
        eu_gate_wait(&team->turn, all, EU_FOREVER, &team->within, cores_suffice(team));
}

/* Makes the barriers' gate a multiple of the members of the call that begins. */
static void align_turn(eu_team *team)
{
    const uint64_t at = atomic_load_explicit(&team->turn.at, memory_order_relaxed);
    atomic_store_explicit(&team->turn.at, (at + team->count - 1) / team->count * team->count, memory_order_relaxed);
}

/* -- members --------------------------------------------------------------------------- */

/* Nanoseconds between two leaves: longer each time that it is needed again soon, as beside other programs, which have the
 * other cores and are not known here. */
#define LEAST_PAUSE 10000000
#define MOST_PAUSE 1280000000

/*
 * Who wakes is often put on the core of the thread that woke it, though others are free, and stays there until the system
 * balances its load, after some milliseconds: meanwhile each of the two waits for the other at every barrier.
 */
static void leave(member *m, int core)
{
    const uint64_t now = eu_now(), since = now - m->left;
    if (since < m->pause)
        return;
    if (since >= 4 * m->pause)
        m->pause = LEAST_PAUSE;
    else if (m->pause < MOST_PAUSE)
        m->pause *= 2;
    m->left = now;
    eu_leave_core(core);
}

/* Goes elsewhere if the caller is on the member's core, or one made before it to whose core it has come. */
static void leave_shared_core(member *m)
{
    const int core = eu_core(), last = atomic_load_explicit(&m->core, memory_order_relaxed);
    bool shared = core == m->team->core;
    if (core != last)
        for (const member *o = m->before; o && !shared; o = o->before)
            shared = atomic_load_explicit(&o->core, memory_order_relaxed) == core;
    if (core >= 0 && shared && cores_suffice(m->team))
        leave(m, core);
    if (core != last || shared)
        atomic_store_explicit(&m->core, eu_core(), memory_order_relaxed);
}

static void *member_main(void *arg)
{
    member *m = arg;
    eu_team *team = m->team;
    uint64_t seen = m->seen;
    eu_stay_on_cores(team->cores, team->n_cores);
    for (;;) {
        eu_gate_wait(&team->start, seen + 1, EU_FOREVER, &team->between, cores_suffice(team));
        /* in this order: who sees the number that the end moves the gate to sees that it is the end */
        seen = atomic_load_explicit(&team->start.at, memory_order_acquire);
        if (atomic_load(&team->stop))
            return NULL;
        if (m->index >= (seen & ((1u << COUNT_BITS) - 1)))
            continue;
        uint64_t call = team->call;
        leave_shared_core(m);
        team->fn(team->ctx, m->index + team->first);
        if (atomic_fetch_sub(&team->left, 1) == 1)
            eu_gate_move(&team->done, call);
    }
}

static bool member_add(eu_team *team)
{
    member *m = team->members.n < MOST_THREADS ? malloc(sizeof *m) : NULL;
    if (!m)
        return false;
    const size_t n = team->members.n;
    *m = (member){.team = team, .before = n ? team->members.at[n - 1] : NULL, .index = (uint32_t)n,
                  .seen = atomic_load(&team->start.at), .core = -1};
    if (!eu_array_reserve(&team->members, team->members.n + 1) || !eu_thread_start(&m->thread, member_main, m)) {
        free(m);
        return false;
    }
    team->members.at[team->members.n++] = m;
    atomic_store(&team->kept, (unsigned)team->members.n);
    return true;
}

uint32_t eu_team_grow(eu_team *team, uint32_t threads)
{
    while (team->members.n < threads && member_add(team))
        continue;
    return (uint32_t)team->members.n;
}

/* -- calls ------------------------------------------------------------------------------- */

/* `kept` members begin; the first is given the number `first`. */
static void begin(eu_team *team, uint32_t kept, uint32_t first, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
    team->fn = fn;
    team->ctx = ctx;
    team->first = first;
    team->count = kept + first;
    team->core = first ? eu_core() : -1;
    team->call++;
    align_turn(team);
    count_in(team, team->count);
    atomic_store_explicit(&team->left, kept, memory_order_relaxed);
    eu_gate_move(&team->start, team->call << COUNT_BITS | kept);
}

void eu_team_run(eu_team *team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
    if (count == 1) {
        team->count = 1;
        count_in(team, 1);
        fn(ctx, 0);
        count_out(team);
    } else if (count > 1) {
        begin(team, count - 1, 1, fn, ctx);
        fn(ctx, 0);
        eu_team_wait(team, EU_FOREVER);
    }
}

void eu_team_start(eu_team *team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
    if (count > 0)
        begin(team, count, 0, fn, ctx);
}

bool eu_team_wait(eu_team *team, uint64_t timeout)
{
    bool done = eu_gate_reached(&team->done, team->call);
    if (!done && timeout > 0) {
        uint64_t deadline = timeout == EU_FOREVER ? EU_FOREVER : eu_deadline(timeout);
        done = eu_gate_wait(&team->done, team->call, deadline, &team->within, cores_suffice(team));
    }
    if (done)
        count_out(team);
    return done;
}

/* -- the team ------------------------------------------------------------------------------ */

static bool gates_init(eu_team *team)
{
    eu_gate *gates[] = {&team->start, &team->turn, &team->done};
    for (int i = 0; i < 3; i++)
        if (!eu_gate_init(gates[i])) {
            while (i-- > 0)
                eu_gate_end(gates[i]);
            return false;
        }
    return true;
}

eu_team *eu_team_create(const int *cores, uint32_t n_cores)
{
    eu_team *team = aligned_alloc(64, sizeof *team);
    if (!team)
        return NULL;
    memset(team, 0, sizeof *team);
    team->cores = eu_zeroed(n_cores, sizeof *cores);
    if (!team->cores || !gates_init(team)) {
        free(team->cores);
        free(team);
        return NULL;
    }
    if (n_cores)
        memcpy(team->cores, cores, n_cores * sizeof *cores);
    team->n_cores = n_cores;
    eu_spin_init(&team->between);
    eu_spin_init(&team->within);
    return team;
}

void eu_team_end(eu_team *team)
{
    if (!team)
        return;
    eu_team_wait(team, EU_FOREVER);
    atomic_store(&team->stop, true);
    eu_gate_move(&team->start, (team->call + 1) << COUNT_BITS);
    for (size_t i = 0; i < team->members.n; i++) {
        pthread_join(team->members.at[i]->thread, NULL);
        free(team->members.at[i]);
    }
    eu_array_free(&team->members);
    eu_gate_end(&team->start);
    eu_gate_end(&team->turn);
    eu_gate_end(&team->done);
    free(team->cores);
    free(team);
}
