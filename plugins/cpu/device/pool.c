/*
 * Threads of a device.  A team waits for work at a gate and for one another at
 * a barrier; both first spin for some microseconds, because the next piece of
 * work usually comes at once, then sleep.  Where all opened cpu devices
 * together have more threads than there are cores, nobody spins.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cpu.h"

/* Pauses before sleeping, some 50 nanoseconds each.  A wait that ends in sleep
 * halves the number for the next, one that does not doubles it: on a machine
 * that others use too, spinning only keeps away the thread that is waited for. */
#define MOST_SPINS 2000
#define LEAST_SPINS 200

/* A number that grows; threads wait until it differs from what they saw. */
typedef struct cpu_gate {
    _Alignas(64) atomic_uint value;
    atomic_uint sleepers;
    atomic_int spins;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} cpu_gate;

struct cpu_team {
    cpu_gate start, turn;
    _Alignas(64) atomic_uint arrived;
    int threads;
    int n_cores;
    int *cores;
    pthread_t *workers;
    void (*fn)(void *ctx, int thread);
    void *ctx;
    bool stop;
};

typedef struct cpu_worker_start {
    cpu_team *team;
    int thread;
} cpu_worker_start;

static atomic_int threads_in_use;

int cpu_cores(int *cores, int limit)
{
    int n = 0;
#ifdef HAVE_SCHED_SETAFFINITY
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set) && n++ < limit)
                cores[n - 1] = i;
        if (n > 0)
            return n < limit ? n : limit;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (n = 0; n < limit && n < (online > 0 ? online : 1); n++)
        cores[n] = n;
    return n;
}

static int core_count(void)
{
    static atomic_int count;
    int n = atomic_load_explicit(&count, memory_order_relaxed);
    if (n == 0) {
        int list[1024];
        n = cpu_cores(list, 1024);
        atomic_store_explicit(&count, n, memory_order_relaxed);
    }
    return n;
}

CPU_INLINE void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

static bool cores_suffice(void)
{
    return atomic_load_explicit(&threads_in_use, memory_order_relaxed) <= core_count();
}

static void gate_wait(cpu_gate *gate, unsigned seen)
{
    int spins = cores_suffice() ? atomic_load_explicit(&gate->spins, memory_order_relaxed) : 0;
    for (int i = 0; i < spins; i++) {
        if (atomic_load_explicit(&gate->value, memory_order_acquire) != seen) {
            if (spins < MOST_SPINS && i > LEAST_SPINS / 2)
                atomic_store_explicit(&gate->spins, 2 * spins, memory_order_relaxed);
            return;
        }
        relax();
    }
    if (spins > LEAST_SPINS)
        atomic_store_explicit(&gate->spins, spins / 2, memory_order_relaxed);
    pthread_mutex_lock(&gate->lock);
    atomic_fetch_add(&gate->sleepers, 1);
    while (atomic_load(&gate->value) == seen)
        pthread_cond_wait(&gate->wake, &gate->lock);
    atomic_fetch_sub(&gate->sleepers, 1);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_open(cpu_gate *gate)
{
    atomic_fetch_add(&gate->value, 1);
    if (atomic_load(&gate->sleepers)) {
        pthread_mutex_lock(&gate->lock);
        pthread_cond_broadcast(&gate->wake);
        pthread_mutex_unlock(&gate->lock);
    }
}

static bool gate_init(cpu_gate *gate)
{
    atomic_init(&gate->value, 0);
    atomic_init(&gate->sleepers, 0);
    atomic_init(&gate->spins, MOST_SPINS);
    if (pthread_mutex_init(&gate->lock, NULL))
        return false;
    if (pthread_cond_init(&gate->wake, NULL)) {
        pthread_mutex_destroy(&gate->lock);
        return false;
    }
    return true;
}

static void gate_end(cpu_gate *gate)
{
    pthread_cond_destroy(&gate->wake);
    pthread_mutex_destroy(&gate->lock);
}

bool cpu_team_calm(cpu_team *team)
{
    return cores_suffice() && atomic_load_explicit(&team->turn.spins, memory_order_relaxed) > MOST_SPINS / 8;
}

void cpu_team_barrier(cpu_team *team)
{
    unsigned seen = atomic_load_explicit(&team->turn.value, memory_order_acquire);
    if (atomic_fetch_add(&team->arrived, 1) + 1 == (unsigned)team->threads) {
        atomic_store(&team->arrived, 0);
        gate_open(&team->turn);
    } else {
        gate_wait(&team->turn, seen);
    }
}

static void stay_on_cores(const cpu_team *team)
{
#ifdef HAVE_SCHED_SETAFFINITY
    if (team->n_cores == 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < team->n_cores; i++)
        if (team->cores[i] < CPU_SETSIZE)
            CPU_SET(team->cores[i], &set);
    (void)sched_setaffinity(0, sizeof set, &set); /* a wish: failing costs only speed */
#endif
}

static void *worker(void *arg)
{
    cpu_worker_start *start = arg;
    cpu_team *team = start->team;
    int thread = start->thread;
    free(start);
    stay_on_cores(team);
    for (unsigned seen = 0;; seen++) {
        gate_wait(&team->start, seen);
        if (team->stop)
            return NULL;
        team->fn(team->ctx, thread);
        cpu_team_barrier(team);
    }
}

void cpu_team_run(cpu_team *team, void (*fn)(void *ctx, int thread), void *ctx)
{
    if (team->threads == 1) {
        fn(ctx, 0);
        return;
    }
    team->fn = fn;
    team->ctx = ctx;
    gate_open(&team->start);
    fn(ctx, 0);
    cpu_team_barrier(team);
}

int cpu_team_threads(const cpu_team *team)
{
    return team->threads;
}

/* Starts workers 1 .. threads - 1; where the system refuses one, the team
 * stays smaller. */
static void start_workers(cpu_team *team, int threads)
{
    sigset_t none_blocked, all;
    sigfillset(&all); /* signals are the host's affair, for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &none_blocked);
    int n = 1;
    while (n < threads) {
        cpu_worker_start *start = malloc(sizeof *start);
        if (!start)
            break;
        *start = (cpu_worker_start){team, n};
        if (pthread_create(&team->workers[n], NULL, worker, start)) {
            free(start);
            break;
        }
        n++;
    }
    pthread_sigmask(SIG_SETMASK, &none_blocked, NULL);
    team->threads = n;
}

cpu_team *cpu_team_create(int threads, const int *cores, int n_cores)
{
    cpu_team *team = NULL;
    if (posix_memalign((void **)&team, 64, sizeof *team))
        return NULL;
    memset(team, 0, sizeof *team);
    team->workers = calloc((size_t)threads, sizeof *team->workers);
    team->cores = calloc((size_t)(n_cores ? n_cores : 1), sizeof *team->cores);
    if (!team->workers || !team->cores || !gate_init(&team->start)) {
        free(team->workers);
        free(team->cores);
        free(team);
        return NULL;
    }
    if (!gate_init(&team->turn)) {
        gate_end(&team->start);
        free(team->workers);
        free(team->cores);
        free(team);
        return NULL;
    }
    if (n_cores)
        memcpy(team->cores, cores, (size_t)n_cores * sizeof *cores);
    team->n_cores = n_cores;
    team->threads = 1;
    start_workers(team, threads);
    atomic_fetch_add(&threads_in_use, team->threads);
    return team;
}

void cpu_team_destroy(cpu_team *team)
{
    if (!team)
        return;
    atomic_fetch_sub(&threads_in_use, team->threads);
    team->stop = true;
    gate_open(&team->start);
    for (int i = 1; i < team->threads; i++)
        pthread_join(team->workers[i], NULL);
    gate_end(&team->start);
    gate_end(&team->turn);
    free(team->workers);
    free(team->cores);
    free(team);
}
