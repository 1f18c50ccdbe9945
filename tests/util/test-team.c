/* Teams of threads and gates: with as many threads as there are cores, and with many more. */
#include "config.h"

#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "libengine/util/util.h"

enum { MANY = 24 };

typedef struct counts {
    atomic_uint runs[MANY];
    pthread_t threads[MANY];
    bool same;
} counts;

static void count_run(void *ctx, uint32_t i)
{
    counts *c = ctx;
    unsigned before = atomic_fetch_add(&c->runs[i], 1);
    if (before && !pthread_equal(c->threads[i], pthread_self()))
        c->same = false;
    c->threads[i] = pthread_self();
}

typedef struct masks {
    pthread_t caller;
    atomic_uint members, right;
} masks;

static void look_at_mask(void *ctx, uint32_t i)
{
    masks *m = ctx;
    sigset_t blocked;
    (void)i;
    if (pthread_equal(m->caller, pthread_self()) || pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0)
        return;
    const bool hosts = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGPROF);
    const bool faults = sigismember(&blocked, SIGSEGV) || sigismember(&blocked, SIGBUS) || sigismember(&blocked, SIGILL) ||
                        sigismember(&blocked, SIGFPE) || sigismember(&blocked, SIGTRAP) || sigismember(&blocked, SIGSYS);
    atomic_fetch_add(&m->members, 1);
    atomic_fetch_add(&m->right, hosts && !faults);
}

/* The host's signals are not for the team, but those of a member's own fault are. */
START_TEST(signals)
{
    masks m = {.caller = pthread_self()};
    eu_team *team = eu_team_create(NULL, 0);
    ck_assert_uint_ge(eu_team_grow(team, 3), 3);
    eu_team_run(team, 4, look_at_mask, &m);
    ck_assert_uint_eq(atomic_load(&m.members), 3);
    ck_assert_uint_eq(atomic_load(&m.right), 3);
    eu_team_end(team);
}
END_TEST

/* Calls of all sizes, one after the other: each member runs each of its calls once, on its own thread. */
START_TEST(runs)
{
    static counts c;
    c.same = true;
    eu_team *team = eu_team_create(NULL, 0);
    unsigned expected[MANY] = {0};
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t count = round % (MANY + 1);
        if (count)
            ck_assert_uint_ge(eu_team_grow(team, count - 1), count - 1);
        eu_team_run(team, count, count_run, &c);
        for (uint32_t i = 0; i < MANY; i++) {
            expected[i] += i < count;
            ck_assert_uint_eq(atomic_load(&c.runs[i]), expected[i]);
        }
    }
    ck_assert(c.same);
    eu_team_end(team);
    eu_team_end(NULL);
}
END_TEST

typedef struct phases {
    eu_team *team;
    uint32_t count;
    atomic_uint arrived[200];
    atomic_uint early;
} phases;

static void phase_run(void *ctx, uint32_t i)
{
    phases *p = ctx;
    (void)i;
    for (int k = 0; k < 200; k++) {
        atomic_fetch_add(&p->arrived[k], 1);
        eu_team_barrier(p->team);
        if (atomic_load(&p->arrived[k]) != p->count)
            atomic_fetch_add(&p->early, 1);
    }
}

/* Nobody leaves a barrier before all have come. */
START_TEST(barriers)
{
    eu_team *team = eu_team_create(NULL, 0);
    eu_team_grow(team, MANY);
    for (uint32_t count = 1; count <= MANY; count += count < 4 ? 1 : 10) {
        phases p = {.team = team, .count = count};
        eu_team_run(team, count, phase_run, &p);
        ck_assert_uint_eq(atomic_load(&p.early), 0);
        for (int k = 0; k < 200; k++)
            ck_assert_uint_eq(atomic_load(&p.arrived[k]), count);
    }
    eu_team_end(team);
}
END_TEST

/* Member 1 waits until it is let through, the others do not. */
typedef struct held {
    atomic_bool open;
    atomic_uint through;
} held;

static void held_run(void *ctx, uint32_t i)
{
    held *h = ctx;
    while (i == 1 && !atomic_load(&h->open))
        sched_yield();
    atomic_fetch_add(&h->through, 1);
}

/* A team that is started and waited for in parts, between whole calls. */
START_TEST(starts)
{
    static counts c;
    eu_team *team = eu_team_create(NULL, 0);
    held h;
    eu_team_grow(team, 6);
    ck_assert(eu_team_wait(team, 0)); /* nothing runs */
    for (uint32_t round = 0; round < 50; round++) {
        uint32_t count = 2 + round % 4;
        atomic_init(&h.open, false);
        atomic_init(&h.through, 0);
        eu_team_start(team, count, held_run, &h);
        ck_assert(!eu_team_wait(team, 0));
        uint64_t before = eu_now();
        ck_assert(!eu_team_wait(team, 200000));
        ck_assert_uint_ge(eu_now() - before, 200000);
        atomic_store(&h.open, true);
        if (round < 49) { /* the last one is waited for by the end */
            ck_assert(eu_team_wait(team, EU_FOREVER));
            ck_assert_uint_eq(atomic_load(&h.through), count);
            ck_assert(eu_team_wait(team, 0));
            eu_team_run(team, 1 + round % 6, count_run, &c);
        }
    }
    eu_team_end(team);
    ck_assert_uint_eq(atomic_load(&h.through), 2 + 49 % 4);
}
END_TEST

/* Several teams at once, each with more threads than there are cores. */
static void *own_team(void *unused)
{
    eu_team *team = eu_team_create(NULL, 0);
    static counts c[4];
    static atomic_uint next;
    counts *own = &c[atomic_fetch_add(&next, 1)];
    eu_team_grow(team, 7);
    for (int round = 0; round < 500; round++)
        eu_team_run(team, 8, count_run, own);
    eu_team_end(team);
    for (int i = 0; i < 8; i++)
        if (atomic_load(&own->runs[i]) != 500)
            return "a member has missed a call";
    return unused;
}

START_TEST(oversubscribed)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, own_team, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        ck_assert_ptr_null(complaint);
    }
}
END_TEST

/* A team that is kept, and does nothing, takes no core from another; one at work does. */
START_TEST(idle)
{
    const uint32_t cores = eu_core_count();
    if (cores < 2)
        return;
    eu_team *team = eu_team_create(NULL, 0), *other = eu_team_create(NULL, 0);
    held h;
    atomic_init(&h.open, false);
    atomic_init(&h.through, 0);
    eu_team_grow(team, cores - 1);
    eu_team_grow(other, 2);
    for (int round = 0; round < 3; round++) {
        ck_assert(eu_team_calm(team));
        atomic_store(&h.open, false);
        eu_team_start(other, 2, held_run, &h);
        ck_assert(!eu_team_calm(team));
        atomic_store(&h.open, true);
        ck_assert(eu_team_wait(other, EU_FOREVER));
    }
    ck_assert(eu_team_calm(team));
    eu_team_end(other);
    eu_team_grow(team, cores);
    ck_assert(!eu_team_calm(team));
    eu_team_end(team);
}
END_TEST

/* Member 1 comes to the core of the caller, and says where it is. */
static void come(void *ctx, uint32_t i)
{
    const int *cores = ctx;
    if (i == 1) {
        eu_stay_on_cores(cores, 1);
        eu_stay_on_cores(cores, 2);
    }
}

static void say_where(void *ctx, uint32_t i)
{
    if (i == 1)
        *(int *)ctx = eu_core();
}

/* A member that finds itself on the caller's core leaves it to the caller. */
START_TEST(apart)
{
    int cores[2], where = -1;
    if (eu_core() < 0 || eu_core_count() < 2 || eu_cores(cores, 2) < 2)
        return;
    eu_team *team = eu_team_create(cores, 2);
    ck_assert(eu_team_calm(team)); /* cores are counted while this thread has all of them */
    eu_stay_on_cores(cores, 1);
    ck_assert_uint_eq(eu_team_grow(team, 1), 1);
    int left = 0;
    for (int round = 0; round < 6; round++) {
        eu_team_run(team, 2, come, cores);
        usleep(60000); /* who has just left stays */
        eu_team_run(team, 2, say_where, &where);
        left += where == cores[1];
    }
    ck_assert_int_ge(left, 5); /* the system may move it, too */
    eu_team_end(team);
}
END_TEST

static void nothing(void *ctx, uint32_t i)
{
    (void)ctx;
    (void)i;
}

/* Teams that end while members still find out that the last call is not theirs, two at a time: it takes some thousand
 * until one is in between as its team ends. */
static void *many_ends(void *unused)
{
    for (int round = 0; round < 12000; round++) {
        eu_team *team = eu_team_create(NULL, 0);
        eu_team_grow(team, 3);
        eu_team_run(team, 4, nothing, NULL);
        eu_team_run(team, 2, nothing, NULL);
        eu_team_end(team);
    }
    return unused;
}

START_TEST(ends)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, many_ends, NULL), 0);
    many_ends(NULL);
    pthread_join(thread, NULL);
}
END_TEST

typedef struct signalled {
    eu_gate gate;
    atomic_int stop;
    bool reached;
} signalled;

static void *sleeper(void *ctx)
{
    signalled *s = ctx;
    s->reached = eu_gate_sleep(&s->gate, 10, EU_FOREVER, &s->stop);
    return NULL;
}

START_TEST(gates)
{
    signalled s = {.reached = false};
    pthread_t thread;
    ck_assert(eu_gate_init(&s.gate));
    ck_assert(!eu_gate_sleep(&s.gate, 1, eu_deadline(1000000), NULL));
    eu_gate_move(&s.gate, 5);
    ck_assert(eu_gate_reached(&s.gate, 5) && !eu_gate_reached(&s.gate, 6));
    ck_assert(eu_gate_sleep(&s.gate, 4, 0, NULL)); /* what is reached is not waited for */
    ck_assert_int_eq(pthread_create(&thread, NULL, sleeper, &s), 0);
    eu_gate_move(&s.gate, 9);
    eu_gate_move(&s.gate, 12);
    pthread_join(thread, NULL);
    ck_assert(s.reached);
    eu_gate_end(&s.gate);

    ck_assert(eu_gate_init(&s.gate));
    ck_assert_int_eq(pthread_create(&thread, NULL, sleeper, &s), 0);
    atomic_store(&s.stop, 1);
    eu_gate_wake(&s.gate);
    pthread_join(thread, NULL);
    ck_assert(!s.reached);
    eu_gate_end(&s.gate);
    ck_assert_uint_eq(eu_deadline(EU_FOREVER), EU_FOREVER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("team");
    TCase *t = tcase_create("team");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, signals);
    tcase_add_test(t, runs);
    tcase_add_test(t, barriers);
    tcase_add_test(t, starts);
    tcase_add_test(t, oversubscribed);
    tcase_add_test(t, idle);
    tcase_add_test(t, apart);
    tcase_add_test(t, ends);
    tcase_add_test(t, gates);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
