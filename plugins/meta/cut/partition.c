/* Partitions: how the units of an axis are shared out among ranks. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>

#include "cut.h"

/* Units, not elements, are shared out: floors first, then one unit each in
 * order of the largest remainder (ties: the lower rank). */
void meta_partition_solve(meta_partition *p, const double *shares, const double *owed, uint32_t n_ranks)
{
    int64_t unit = p->unit > 0 ? p->unit : 1;
    int64_t units = (p->extent + unit - 1) / unit, given = 0;
    int64_t count[META_MAX_RANKS];
    double rest[META_MAX_RANKS], sum = 0;

    for (uint32_t r = 0; r < n_ranks; r++)
        sum += shares[r] > 0 ? shares[r] : 0;
    for (uint32_t r = 0; r < n_ranks; r++) {
        double exact = sum > 0 && shares[r] > 0 ? (double)units * (shares[r] / sum) : 0;
        /* shares such as 1/3 must not lose a unit to rounding */
        double whole = floor(exact + 1e-9);
        count[r] = (int64_t)whole;
        rest[r] = shares[r] > 0 ? exact - whole + (owed ? owed[r] : 0) : -HUGE_VAL;
        given += count[r];
    }
    while (given < units) {
        uint32_t best = 0;
        for (uint32_t r = 1; r < n_ranks; r++)
            if (rest[r] > rest[best] + 1e-9)
                best = r;
        count[best]++;
        rest[best] -= 1;
        given++;
    }
    for (uint32_t r = 0; r < n_ranks; r++)
        p->want[r] = sum > 0 && shares[r] > 0 ? shares[r] / sum : 0;
    p->unit = unit;
    p->n_ranks = n_ranks;
    p->begin[0] = 0;
    for (uint32_t r = 0; r < n_ranks; r++) {
        int64_t end = p->begin[r] + count[r] * unit;
        p->begin[r + 1] = end < p->extent ? end : p->extent;
    }
}

uint32_t meta_part_mask(const meta_partition *p)
{
    uint32_t mask = 0;
    for (uint32_t r = 0; r < p->n_ranks; r++)
        if (meta_part_length(p, r) > 0)
            mask |= 1u << r;
    return mask;
}

double meta_part_deviation(const meta_partition *p)
{
    double worst = 0;
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        double off = fabs((double)meta_part_length(p, r) / (double)p->extent - p->want[r]);
        worst = off > worst ? off : worst;
    }
    return worst;
}
