/* The tokens that a sampler has noted, and the penalties that follow from them. */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"
#include "history.h"

static bool counts(const lm_history_params *p)
{
    return p->penalty_last > 0 && (p->repeat_penalty != 1 || p->frequency_penalty != 0 || p->presence_penalty != 0);
}

static bool looks_for_repetitions(const lm_history_params *p)
{
    return p->dry_multiplier != 0 && p->dry_penalty_last != 0;
}

bool lm_history_init(lm_history *h, const lm_history_params *p)
{
    *h = (lm_history){.p = *p, .kept = counts(p) || looks_for_repetitions(p)};
    if (counts(p) && !(h->counts = calloc(p->n_vocab, sizeof *h->counts)))
        return false;
    if (!looks_for_repetitions(p))
        return true;
    h->breakers = eu_zeroed(p->n_dry_breakers, sizeof *h->breakers);
    h->repeats = calloc(p->n_vocab, sizeof *h->repeats);
    for (uint32_t i = 0; h->breakers && i < p->n_dry_breakers; i++) {
        size_t length = strlen(p->dry_breakers[i]);
        h->longest = length > h->longest ? length : h->longest;
        if (!(h->breakers[i] = strdup(p->dry_breakers[i])))
            return false;
    }
    return h->breakers && h->repeats;
}

void lm_history_free(lm_history *h)
{
    for (uint32_t i = 0; h->breakers && i < h->p.n_dry_breakers; i++)
        free(h->breakers[i]);
    free(h->breakers);
    free(h->tokens);
    free(h->breaks);
    free(h->alike);
    free(h->counts);
    free(h->repeats);
    *h = (lm_history){0};
}

/* -- noting and taking back ------------------------------------------------------------- */

/* Does a breaker end in the last `part` of these bytes? */
static bool ends_in(const lm_history *h, const char *text, size_t n, size_t part)
{
    for (uint32_t i = 0; i < h->p.n_dry_breakers; i++) {
        size_t length = strlen(h->breakers[i]);
        for (size_t end = n - part + 1; length && end <= n; end++)
            if (end >= length && memcmp(text + end - length, h->breakers[i], length) == 0)
                return true;
    }
    return false;
}

/* Is there a breaker in what the last token has added to the text? */
static bool breaks(const lm_history *h, int32_t token)
{
    char text[512];
    size_t length = 0, n = 0, before = h->longest ? h->longest - 1 : 0;

    if (!h->p.piece || !h->longest)
        return false;
    const char *own = h->p.piece(h->p.piece_owner, token, &length);
    if (length > sizeof text / 2)
        return ends_in(h, own, length, length);
    before = before < sizeof text - length ? before : sizeof text - length;
    size_t at = sizeof text - length; /* the text grows to the front */
    memcpy(text + at, own ? own : "", length);
    for (size_t i = h->n; i-- > 0 && n < before;) {
        size_t more = 0;
        const char *piece = h->p.piece(h->p.piece_owner, h->tokens[i], &more);
        size_t part = more < before - n ? more : before - n;
        at -= part;
        memcpy(text + at, piece ? piece + more - part : "", part);
        n += part;
    }
    return ends_in(h, text + at, sizeof text - at, length);
}

void lm_history_accept(lm_history *h, int32_t token)
{
    if (h->kept &&
        (!eu_reserve(h->tokens, h->tokens_room, h->n + 1) || !eu_reserve(h->breaks, h->breaks_room, h->n + 1) ||
         (h->repeats && !eu_reserve(h->alike, h->alike_room, h->n + 1)))) {
        h->failed = true;
        return;
    }
    if (h->kept) {
        h->breaks[h->n] = h->repeats && breaks(h, token);
        h->tokens[h->n] = token;
    }
    h->n++;
    if (!h->counts)
        return;
    h->counts[token]++;
    size_t window = (size_t)h->p.penalty_last;
    if (h->n > window)
        h->counts[h->tokens[h->n - 1 - window]]--;
}

void lm_history_rollback(lm_history *h, size_t n)
{
    size_t window = (size_t)h->p.penalty_last;
    for (; n > 0; n--, h->n--) {
        if (!h->counts)
            continue;
        h->counts[h->tokens[h->n - 1]]--;
        if (h->n > window)
            h->counts[h->tokens[h->n - 1 - window]]++;
    }
}

/* -- penalties ----------------------------------------------------------------------------- */

void lm_penalise(const lm_history *h, lm_candidates *c)
{
    if (!h->counts)
        return;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t n = h->counts[c->list[i].token];
        if (n == 0)
            continue;
        c->sorted = false;
        float *l = &c->list[i].logit;
        *l = *l <= 0 ? *l * h->p.repeat_penalty : *l / h->p.repeat_penalty;
        *l -= (float)n * h->p.frequency_penalty + h->p.presence_penalty;
    }
}

/* alike[k]: how many tokens before and with the one k before the last (k > 0) are those at the end (the Z function of
 * the tokens read backwards: D. Gusfield, Algorithms on Strings, Trees, and Sequences, 1997). */
static void find_alike(lm_history *h, size_t n)
{
    const int32_t *last = h->tokens + h->n - 1;
    size_t left = 0, right = 0;

    for (size_t k = 1; k < n; k++) {
        size_t z = k < right ? (h->alike[k - left] < right - k ? h->alike[k - left] : right - k) : 0;
        while (k + z < n && last[-(ptrdiff_t)z] == last[-(ptrdiff_t)(k + z)])
            z++;
        h->alike[k] = (uint32_t)z;
        if (k + z > right) {
            left = k;
            right = k + z;
        }
    }
}

static float repetition_penalty(const lm_history *h, uint32_t n)
{
    double x = (double)h->p.dry_multiplier * pow((double)h->p.dry_base, (double)n - h->p.dry_allowed_length);
    return x > FLT_MAX / 4 ? FLT_MAX / 4 : (float)x;
}

/* Takes it off those that would go on with a repetition, but for tokens that break themselves. */
static void take_off(const lm_history *h, lm_candidates *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t n = h->repeats[c->list[i].token];
        size_t length = 0;
        const char *own = n && h->p.piece ? h->p.piece(h->p.piece_owner, c->list[i].token, &length) : NULL;
        if (!n || (length && ends_in(h, own, length, length)))
            continue;
        c->list[i].logit -= repetition_penalty(h, n);
        c->sorted = false;
    }
}

void lm_penalise_repetitions(lm_history *h, lm_candidates *c)
{
    size_t n = h->n, reach = 0, least = h->p.dry_allowed_length > 1 ? (size_t)h->p.dry_allowed_length : 1;

    if (!h->repeats)
        return;
    if (h->p.dry_penalty_last > 0 && n > (size_t)h->p.dry_penalty_last)
        n = (size_t)h->p.dry_penalty_last;
    while (reach < n && !h->breaks[h->n - 1 - reach])
        reach++;
    if (reach < least || n < 2)
        return;
    find_alike(h, n);
    for (int clear = 0; clear < 2; clear++) {
        for (size_t k = 1; k < n; k++) {
            uint32_t *longest = &h->repeats[h->tokens[h->n - k]]; /* the token that came then */
            size_t length = h->alike[k] < reach ? h->alike[k] : reach;
            if (clear)
                *longest = 0;
            else if (length >= least && length > *longest)
                *longest = (uint32_t)length;
        }
        if (!clear)
            take_off(h, c);
    }
}
