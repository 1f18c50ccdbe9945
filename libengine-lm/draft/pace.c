/*
 * How many tokens of a guess are worth running.
 *
 * A pass of 1 + n tokens gives 1 + r1 + r1 r2 + ... of them, r being the share of guesses at each place that
 * were accepted of late; divided by what it takes that is what n guesses promise, and the best n is taken.
 * A size of pass that never ran is taken to cost less for each token more than known ones did, so it is tried where it
 * may pay, but not before one half as large: trials begin where they are cheap.
 *
 * The watchdog is an account: what steps with guesses took, against what their tokens would have taken
 * one by one.  Its loss is limited to a small part of all time spent, trials included; at the limit nothing is
 * guessed until time has made the loss half as large a part.  So the price of being wrong is known, and what did not
 * pay is tried again, ever more seldom as the text goes on.
 */
#include "config.h"

#include <string.h>

#include "pace.h"

#define MOST_LOSS 0.01     /* of all time                                         */
#define ALLOWANCE 2.5      /* passes of one token that the loss may reach beside that */
#define FORGET 0.97        /* what an older step weighs beside the next one       */
#define PRIOR 2.0          /* steps that an opinion weighs: the rate of the place before, */
#define PRIOR_RATE 0.7     /* of the first place this                             */
#define SMOOTH 0.1         /* weight of a new guess's time,                       */
#define SLOWER 0.05        /* of a pass's that is longer than what is known, once there were some, */
#define FASTER 0.2         /* and of a shorter one: what else the machine does only ever adds      */
#define PLAIN_EVERY 128    /* steps with guesses, until one without tells its time again */
#define TRY_EVERY 16       /* guesses left alone as they promise nothing, until one is tried */
#define WARM 1             /* passes of a size that do not count: memory is touched first then */
#define KNOWN (WARM + 1)   /* passes from which on its time is known,              */
#define UNKNOWN 0.5        /* what a token more of a size that never ran costs, of one in those that did */
#define PLAIN (WARM + 4)   /* and so many of one token, which all is compared with  */

void lm_pace_init(lm_pace *p)
{
    memset(p, 0, sizeof *p);
}

double lm_pace_pass(const lm_pace *p, uint32_t n)
{
    double least = 0;
    uint32_t known = 1;
    if (p->warm[n] >= KNOWN)
        return p->pass[n];
    for (uint32_t i = 1; i < n; i++) {
        if (p->warm[i] < KNOWN)
            continue;
        least = p->pass[i] > least ? p->pass[i] : least;
        known = i;
    }
    double more = known > 1 ? (least - p->pass[1]) / (known - 1) : 0; /* of each token beside the first */
    return least + UNKNOWN * more * (n - known);
}

double lm_pace_promise(const lm_pace *p, uint32_t sureness, uint32_t n)
{
    double tokens = 1, reached = 1, rate = PRIOR_RATE, seconds = lm_pace_pass(p, n + 1) + n * p->guess;
    for (uint32_t i = 0; i < n; i++) {
        const lm_pace_rate *r = &p->rate[sureness][i];
        rate = (r->kept + PRIOR * rate) / (r->tried + PRIOR);
        reached *= rate;
        tokens += reached;
    }
    return seconds > 0 ? tokens / seconds : 0;
}

static double limit(const lm_pace *p)
{
    return MOST_LOSS * p->total + ALLOWANCE * p->pass[1];
}

/* May a guess of n run: is a pass of its size known, or one of half its size? */
static bool within_reach(const lm_pace *p, uint32_t n)
{
    for (uint32_t i = (n + 1) / 2; i <= n + 1; i++)
        if (p->warm[i] >= KNOWN)
            return true;
    return false;
}

uint32_t lm_pace_choose(lm_pace *p, uint32_t sureness, uint32_t most)
{
    if (most == 0 || p->warm[1] < PLAIN || p->since_plain >= PLAIN_EVERY || p->off)
        return 0;
    uint32_t best = 0;
    double promise = lm_pace_promise(p, sureness, 0);
    for (uint32_t n = 1; n <= most && within_reach(p, n); n++) {
        double here = lm_pace_promise(p, sureness, n);
        if (here <= promise)
            continue;
        promise = here;
        best = n;
    }
    if (best == 0 && ++p->since_tried >= TRY_EVERY)
        best = 1;
    if (best)
        p->since_tried = 0;
    return best;
}

static void note_time(lm_pace *p, uint32_t n, double seconds)
{
    double *t = &p->pass[n], weight;
    if (p->warm[n]++ < WARM)
        return;
    weight = 1 / (double)(p->warm[n] - WARM);
    if (*t > 0 && seconds > 3 * *t) /* something else had the machine */
        seconds = 3 * *t;
    double least = seconds > *t ? SLOWER : FASTER;
    *t += (weight > least ? weight : least) * (seconds - *t);
}

/* What steps with guesses have lost against the same tokens one by one, as these are known now: a first opinion of them
 * that was wrong does no harm for long.  What was won is no credit beyond the limit. */
static void balance(lm_pace *p)
{
    double lost = p->with_seconds - p->with_tokens * p->pass[1], most = limit(p);
    if (lost < -most) {
        p->with_seconds *= most / -lost;
        p->with_tokens *= most / -lost;
    }
    if (!p->off && lost > most) {
        p->off = true;
        p->turned_off++;
    } else if (p->off && lost < most / 2) {
        p->off = false;
    }
}

static void note_rates(lm_pace *p, const lm_pace_step *s)
{
    for (uint32_t i = 0; i < s->run && i <= s->accepted; i++) {
        lm_pace_rate *r = &p->rate[s->sureness][i];
        r->tried = FORGET * r->tried + 1;
        r->kept = FORGET * r->kept + (i < s->accepted);
    }
}

void lm_pace_note(lm_pace *p, const lm_pace_step *s)
{
    note_rates(p, s);
    p->since_plain = s->run ? p->since_plain + 1 : 0;
    if (s->cold)
        return;
    double seconds = s->guess + s->pass + s->rest;
    if (s->guessed)
        p->guess += (p->guess > 0 ? SMOOTH : 1) * (s->guess / s->guessed - p->guess);
    note_time(p, s->run + 1, s->pass);
    p->total += seconds;
    p->with_seconds += s->run ? s->guess + s->pass : s->guess;
    p->with_tokens += s->run ? 1 + s->accepted : 0;
    balance(p);
}
