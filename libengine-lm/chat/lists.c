/* Sorting: by merging, since comparisons may fail and what is equal keeps its order. */
#include "config.h"

#include <string.h>

#include "lists.h"
#include "print.h"

static bool merge(tpl_run *r, const tpl_pair *from, size_t half, size_t n, bool reverse, tpl_pair *to)
{
    size_t a = 0, b = half;
    for (size_t i = 0; i < n; i++) {
        int order = 0;
        if (a < half && b < n) {
            const tpl_value *x = &from[a].key, *y = &from[b].key;
            if (!tpl_step(r, 1) || !tpl_order(r, reverse ? x : y, reverse ? y : x, "<", &order))
                return false;
        }
        bool second = a == half || (b < n && order < 0);
        to[i] = from[second ? b++ : a++];
    }
    return true;
}

bool tpl_sort_pairs_by(tpl_run *r, tpl_pair *pairs, size_t n, bool reverse)
{
    tpl_pair *other = n > 1 ? tpl_alloc(r, n, sizeof *other) : NULL;
    if (n > 1 && !other)
        return false;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t left = n - i, whole = left < 2 * run ? left : 2 * run, half = left < run ? left : run;
            if (!merge(r, pairs + i, half, whole, reverse, other + i))
                return false;
        }
        memcpy(pairs, other, n * sizeof *pairs);
    }
    return true;
}

bool tpl_sort_pairs(tpl_run *r, tpl_pair *pairs, size_t n)
{
    return tpl_sort_pairs_by(r, pairs, n, false);
}
