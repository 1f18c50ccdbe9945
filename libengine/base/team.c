/* A team of threads: see team.h. */
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "team.h"

#define SPINS 2000

/* One kept thread.  `calls` counts the calls asked of it. */
typedef struct member {
    _Alignas(64) atomic_uint calls;
    atomic_int sleeps; /* the member waits on `wake`      */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    uint32_t index;
    eng_team *team;
} member;

struct eng_team {
    uint32_t n; /* members kept */
    uint32_t cores;
    member **members;
    /* the call in progress; written while no member runs */
    void (*fn)(void *ctx, uint32_t i);
    void *ctx;
    uint32_t first; /* the call of members[0]: 1 if the caller takes part, else 0 */
    int spins;
    bool stop;
    /* the caller's own sleep */
    _Alignas(64) atomic_uint left;
    atomic_int caller_sleeps;
    pthread_mutex_t lock;
    pthread_cond_t finished;
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

uint32_t eng_cores(void)
{
#ifdef HAVE_SCHED_SETAFFINITY
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/*
 * Sleeping without losing a wake-up: the sleeper announces itself, then looks
 * at the counter once more; the waker changes the counter, then looks for
 * sleepers.  Both pairs are sequentially consistent, so one of them sees the
 * other.
 */
static void member_wait(member *m, unsigned seen, int spins)
{
    for (int i = 0; i < spins; i++) {
        if (atomic_load_explicit(&m->calls, memory_order_acquire) != seen)
            return;
        relax();
    }
    pthread_mutex_lock(&m->lock);
    atomic_store(&m->sleeps, 1);
    while (atomic_load(&m->calls) == seen)
        pthread_cond_wait(&m->wake, &m->lock);
    atomic_store(&m->sleeps, 0);
    pthread_mutex_unlock(&m->lock);
}

static void member_call(member *m)
{
    atomic_fetch_add(&m->calls, 1);
    if (atomic_load(&m->sleeps)) {
        pthread_mutex_lock(&m->lock);
        pthread_cond_signal(&m->wake);
        pthread_mutex_unlock(&m->lock);
    }
}

static void *member_main(void *arg)
{
    member *m = arg;
    eng_team *team = m->team;
    int spins = 0;
    for (unsigned seen = 0;; seen++) {
        member_wait(m, seen, spins);
        if (team->stop)
            return NULL;
        spins = team->spins;
        team->fn(team->ctx, m->index + team->first);
        if (atomic_fetch_sub(&team->left, 1) == 1 && atomic_load(&team->caller_sleeps)) {
            pthread_mutex_lock(&team->lock);
            pthread_cond_signal(&team->finished);
            pthread_mutex_unlock(&team->lock);
        }
    }
}

static struct timespec time_after(uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += (uint64_t)t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    return t;
}

bool eng_team_wait(eng_team *team, uint64_t timeout)
{
    bool limited = timeout < UINT64_MAX / 2, in_time = true;
    for (int i = 0; i < team->spins; i++) {
        if (atomic_load_explicit(&team->left, memory_order_acquire) == 0)
            return true;
        relax();
    }
    struct timespec end = {0};
    if (limited)
        end = time_after(timeout);
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->caller_sleeps, 1);
    while (atomic_load(&team->left) != 0 && in_time) {
        if (limited)
            in_time = pthread_cond_timedwait(&team->finished, &team->lock, &end) == 0;
        else
            pthread_cond_wait(&team->finished, &team->lock);
    }
    atomic_store(&team->caller_sleeps, 0);
    pthread_mutex_unlock(&team->lock);
    return atomic_load(&team->left) == 0;
}

static int member_start(member *m)
{
    /* the host's signals are for the host's threads */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&m->thread, NULL, member_main, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int team_add(eng_team *team)
{
    member *m = aligned_alloc(64, sizeof *m);
    if (!m)
        return eng_fail_memory();
    atomic_init(&m->calls, 0);
    atomic_init(&m->sleeps, 0);
    m->index = team->n;
    m->team = team;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->wake, NULL);
    member **members = realloc(team->members, (team->n + 1) * sizeof *members);
    if (members)
        team->members = members;
    if (!members || member_start(m) != 0) {
        pthread_cond_destroy(&m->wake);
        pthread_mutex_destroy(&m->lock);
        free(m);
        return eng_fail(ENG_ERR_NOMEM, "cannot start thread %u of a team: the system has no room for more threads; "
                        "use fewer, or raise the limit (ulimit -u)", team->n + 1);
    }
    team->members[team->n++] = m;
    return ENG_OK;
}

static eng_team *team_create(void)
{
    eng_team *team = aligned_alloc(64, sizeof *team);
    if (!team)
        return NULL;
    *team = (eng_team){.cores = eng_cores()};
    atomic_init(&team->left, 0);
    atomic_init(&team->caller_sleeps, 0);
    pthread_mutex_init(&team->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&team->finished, &attributes);
    pthread_condattr_destroy(&attributes);
    return team;
}

/* A team with at least `count` threads. */
static int prepare(eng_team **where, uint32_t count)
{
    if (!*where && !(*where = team_create()))
        return eng_fail_memory();
    while ((*where)->n < count) {
        int status = team_add(*where);
        if (status < 0)
            return status;
    }
    return ENG_OK;
}

/* `count` members begin; the first is given the number `first`. */
static void begin(eng_team *team, uint32_t count, uint32_t first, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
    team->fn = fn;
    team->ctx = ctx;
    team->first = first;
    team->spins = count < team->cores ? SPINS : 0; /* the caller needs a core too */
    atomic_store(&team->left, count);
    for (uint32_t i = 0; i < count; i++)
        member_call(team->members[i]);
}

int eng_team_run(eng_team **where, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
    if (count == 0)
        return ENG_OK;
    if (count == 1) {
        fn(ctx, 0);
        return ENG_OK;
    }
    int status = prepare(where, count - 1);
    if (status < 0)
        return status;
    begin(*where, count - 1, 1, fn, ctx);
    fn(ctx, 0);
    eng_team_wait(*where, UINT64_MAX);
    return ENG_OK;
}

int eng_team_start(eng_team **where, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
    int status = prepare(where, count);
    if (status == ENG_OK)
        begin(*where, count, 0, fn, ctx);
    return status;
}

void eng_team_end(eng_team **where)
{
    eng_team *team = *where;
    if (!team)
        return;
    eng_team_wait(team, UINT64_MAX);
    team->stop = true;
    for (uint32_t i = 0; i < team->n; i++) {
        member *m = team->members[i];
        member_call(m);
        pthread_join(m->thread, NULL);
        pthread_cond_destroy(&m->wake);
        pthread_mutex_destroy(&m->lock);
        free(m);
    }
    free(team->members);
    pthread_cond_destroy(&team->finished);
    pthread_mutex_destroy(&team->lock);
    free(team);
    *where = NULL;
}
