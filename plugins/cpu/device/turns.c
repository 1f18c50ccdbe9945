/*
 * Runs take turns: a device has one team of threads and one set of their working memory,
 * and several queues may run at once.  First come, first served; a run that has had its time
 * leaves at the end of a task and comes again behind the others.
 */
#include "config.h"

#include <time.h>

#include "../cpu.h"

#define LOOK_AGAIN 1000000 /* ns: does a run that waits still want its turn? */

bool cpu_turns_init(cpu_turns *turns)
{
    turns->first = turns->last = NULL;
    atomic_init(&turns->waiting, 0);
    if (pthread_mutex_init(&turns->lock, NULL))
        return false;
    if (pthread_cond_init(&turns->next, NULL)) {
        pthread_mutex_destroy(&turns->lock);
        return false;
    }
    return true;
}

void cpu_turns_end(cpu_turns *turns)
{
    pthread_cond_destroy(&turns->next);
    pthread_mutex_destroy(&turns->lock);
}

static void append(cpu_turns *turns, cpu_turn *turn)
{
    turn->after = NULL;
    if (turns->first)
        turns->last->after = turn;
    else
        turns->first = turn;
    turns->last = turn;
}

static void take_out(cpu_turns *turns, cpu_turn *turn)
{
    cpu_turn **at = &turns->first, *before = NULL;
    while (*at != turn) {
        before = *at;
        at = &before->after;
    }
    *at = turn->after;
    if (turns->last == turn)
        turns->last = before;
}

/* The lock is held; for a moment, or until somebody leaves. */
static void wait_a_moment(cpu_turns *turns)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += LOOK_AGAIN;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&turns->next, &turns->lock, &t);
}

uint32_t cpu_turns_take(cpu_turns *turns, cpu_turn *turn, const eng_run *control)
{
    uint32_t answer = ENG_RUN_GO_ON;
    pthread_mutex_lock(&turns->lock);
    append(turns, turn);
    if (turns->first != turn) {
        atomic_fetch_add(&turns->waiting, 1);
        while (turns->first != turn && answer == ENG_RUN_GO_ON) {
            if (control) {
                wait_a_moment(turns);
                answer = control->poll(control);
            } else {
                pthread_cond_wait(&turns->next, &turns->lock);
            }
        }
        atomic_fetch_sub(&turns->waiting, 1);
    }
    if (turns->first == turn) {
        answer = ENG_RUN_GO_ON;
    } else {
        take_out(turns, turn);
    }
    pthread_mutex_unlock(&turns->lock);
    return answer;
}

void cpu_turns_give(cpu_turns *turns, cpu_turn *turn)
{
    pthread_mutex_lock(&turns->lock);
    take_out(turns, turn);
    if (turns->first)
        pthread_cond_broadcast(&turns->next);
    pthread_mutex_unlock(&turns->lock);
}
