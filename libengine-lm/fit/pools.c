/* Which memory the members of a composition have, and what lacks. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "fit.h"

#define RESERVE_BYTES (UINT64_C(256) << 20)
#define RESERVE_SHARE 0.05

bool fit_same_pool(const fit_member *a, const fit_member *b)
{
    size_t n = strcspn(a->name, "/");
    return strcspn(b->name, "/") == n && strncmp(a->name, b->name, n) == 0;
}

bool fit_speaks(const eng_lm_fit *f, uint32_t member)
{
    for (uint32_t k = 0; k < member; k++)
        if (fit_same_pool(&f->member[member], &f->member[k]))
            return false;
    return true;
}

uint64_t fit_pool_free(const eng_lm_fit *f, uint32_t member)
{
    uint64_t sum = 0, whole = 0;
    for (uint32_t k = 0; k < f->n_members; k++) {
        if (!fit_same_pool(&f->member[member], &f->member[k]))
            continue;
        if (f->member[k].free == 0)
            return UINT64_MAX;
        sum += f->member[k].free;
        if (!strchr(f->member[k].name, '/'))
            whole = f->member[k].free;
    }
    return whole ? whole : sum;
}

uint64_t fit_held_back(const eng_lm_fit *f, uint32_t member)
{
    double rule = RESERVE_SHARE * (double)fit_pool_free(f, member);
    return f->p.reserve != UINT64_MAX ? f->p.reserve : rule > RESERVE_BYTES ? (uint64_t)rule : RESERVE_BYTES;
}

uint64_t fit_capacity(const eng_lm_fit *f, uint32_t member)
{
    uint64_t sum = fit_pool_free(f, member), reserve = fit_held_back(f, member);
    return sum == UINT64_MAX ? sum : sum > reserve ? sum - reserve : 0;
}

uint64_t fit_pool_need(const eng_lm_fit *f, const fit_attempt *a, uint32_t member)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < f->n_members; k++)
        sum += fit_same_pool(&f->member[member], &f->member[k]) ? a->need[k].bytes : 0;
    return sum;
}

uint64_t fit_missing_in(const eng_lm_fit *f, const fit_attempt *a, uint32_t member)
{
    uint64_t has = fit_capacity(f, member), needed = fit_pool_need(f, a, member);
    return needed > has ? needed - has : 0;
}

void fit_sum_missing(const eng_lm_fit *f, fit_attempt *a)
{
    a->missing = 0;
    for (uint32_t i = 0; i < f->n_members; i++)
        a->missing += fit_speaks(f, i) ? fit_missing_in(f, a, i) : 0;
}

/* -- what is said ------------------------------------------------------------------------ */

static const char *size_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes / 1024;
    unsigned u = 0;
    for (; v >= 1024 && u < 3; u++)
        v /= 1024;
    snprintf(text, 32, "%.1f %s", v, units[u]);
    return text;
}

/* What the pool of a member needs, of what. */
static void need_text(const eng_lm_fit *f, const fit_attempt *a, uint32_t member, char *text, size_t size)
{
    char t[3][32], kept[80] = "";
    uint64_t reserve = fit_held_back(f, member);
    if (reserve)
        snprintf(kept, sizeof kept, " (what is free, less %s left alone)", size_text(reserve, t[0]));
    snprintf(text, size, "%.*s needs %s of %s%s; missing: %s", (int)strcspn(f->member[member].name, "/"),
             f->member[member].name, size_text(fit_pool_need(f, a, member), t[0]),
             size_text(fit_capacity(f, member), t[1]), kept, size_text(fit_missing_in(f, a, member), t[2]));
}

int fit_refuse(const eng_lm_fit *f, const fit_attempt *a)
{
    char needs[600] = "";
    size_t at = 0;
    bool moved = false;
    for (uint32_t i = 0; i < f->n_members && at < sizeof needs; i++) {
        char text[256];
        if (!fit_speaks(f, i) || !fit_missing_in(f, a, i))
            continue;
        need_text(f, a, i, text, sizeof text);
        at += (size_t)snprintf(needs + at, sizeof needs - at, "%s%s", at ? "; " : "", text);
    }
    for (unsigned s = 0; s < FIT_STAGES; s++)
        moved |= f->patterns[s] != NULL;
    return eng_fail_code(ENG_ERR_NOMEM, ENG_CODE_DEVICE_MEMORY, -1,
                         "the model does not fit" ENG_CAUSE "%s%s%s%s" ENG_ADVICE
                         "leave less memory alone, or take a smaller context, smaller types of K and V, smaller "
                         "batches, or "
                         "more or other devices",
                         needs, moved ? ", though all that may be is moved to the " : "", moved ? f->p.spill : "",
                         moved ? " device" : "");
}
