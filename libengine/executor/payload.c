/*
 * Failures as the payload of points: what has failed is kept with the tickets that it
 * concerns, so that everyone who waits for one of them is told the same, as often as they ask.
 */
#include "config.h"

#include <stdlib.h>

#include "timeline.h"

#define KEPT 32 /* failures of a timeline */

static const eng_failed *find(const eng_timeline *t, uint64_t ticket)
{
    for (const eng_failed *f = t->failures; f; f = f->next)
        if (ticket >= f->first && ticket <= f->last)
            return f;
    return NULL;
}

int eng_timeline_payload(const eng_timeline *t, uint64_t ticket)
{
    const eng_failed *f = find(t, ticket);
    if (f) {
        eng_failure_restore(&f->why);
        return f->status;
    }
    if (ticket <= t->forgotten)
        return eng_fail(ENG_ERR_STATE,
                        "the fence" ENG_CAUSE "what became of its work is no longer known, the queue has "
                        "failed %d times since" ENG_ADVICE "wait for a fence sooner",
                        KEPT);
    return ENG_OK;
}

static void drop_oldest(eng_timeline *t)
{
    eng_failed **at = &t->failures;
    int n = 0;
    for (; *at; at = &(*at)->next)
        if (++n > KEPT) {
            t->forgotten = (*at)->last;
            free(*at);
            *at = NULL;
            return;
        }
}

void eng_timeline_fail(eng_timeline *t, uint64_t first, int status)
{
    if (find(t, first))
        return;
    uint64_t last = NEVER;
    for (const eng_failed *f = t->failures; f; f = f->next)
        if (f->first > first && f->first <= last)
            last = f->first - 1; /* what follows has failed on its own */
    eng_failed *f = malloc(sizeof *f);
    if (!f) {
        f = t->spare;
        t->spare = NULL;
    } else if (!t->spare) {
        t->spare = malloc(sizeof *t->spare);
    }
    if (!f) { /* not without a trace */
        t->forgotten = t->pushed;
        return;
    }
    *f = (eng_failed){.next = t->failures, .first = first, .last = last, .status = status};
    eng_failure_save(&f->why);
    t->failures = f;
    drop_oldest(t);
}

void eng_timeline_told(eng_timeline *t, uint64_t ticket, uint64_t last)
{
    for (eng_failed *f = t->failures; f; f = f->next)
        if (ticket >= f->first && ticket <= f->last && f->last == NEVER)
            f->last = last;
}

void eng_timeline_forget(eng_timeline *t)
{
    for (eng_failed *f = t->failures, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    t->failures = NULL;
    free(t->spare);
    t->spare = NULL;
}
