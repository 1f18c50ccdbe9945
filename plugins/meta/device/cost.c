/*
 * The constants, and where they come from: orders of magnitude of two-core virtual machines
 * with about 10 GB/s of memory a core.  What counts is their ratio: a meeting is worth as
 * much as some tens of kilobytes.
 *
 *   meeting    all-gathers of 256 bytes between ranks with one node in between, 40 in a
 *              row: 12 us each on cpu/2, 22 us on cpu/3 (more threads than cores), 53 us
 *              on opencl:0/2 with staging.  The hand-over alone is less than 0.2 us where
 *              every rank has a core to itself (tests/meta/test-cost); ending a section
 *              and beginning another, and sleeping where there are more ranks than cores,
 *              is the rest.
 *   bytes      the same with 2 MiB: 0.2 ns a byte and rank; where the host does not reach
 *              the memory, they are copied once more on each side.
 *   touched    20 GB/s: what the nodes' operands come from is often in a cache.
 *   caches     a full one is read once a token.  A byte of it that a rank has above its share
 *              takes the place of a byte of weights, which another rank has and reads then: it
 *              counts twice.  An attention along the cells of its K and V meets three times more
 *              than by heads: q, k and v, the denominators, the result
 *              (tests/lm/test-exchanges).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "cost.h"

typedef struct rates {
    double meeting; /* ns                                                            */
    double byte;    /* ns a byte that a rank takes from another                      */
} rates;

static const rates mapped = {10000, 0.2}; /* all memory is the host's, or mapped by it     */
static const rates staged = {50000, 0.4}; /* some is copied in and out                     */

#define TOUCHED 0.05    /* ns a byte                                                    */
#define FLOP 0.01       /* ns                                                           */
#define STREAM 0.1      /* ns a byte that passes between memory and a core              */
#define HAND_OVER 5000  /* ns: ranks wait for one another within an exchange            */
#define ALONG_CELLS 1.5 /* meetings for each of K and V                                */

static const rates *rates_of(const eng_device_state *device, uint32_t ranks)
{
    for (uint32_t left = ranks; left; left &= left - 1)
        if (!(device->ranks[meta_first(left)].child.info->flags & ENG_DEVICE_HOST_MEMORY))
            return &staged;
    return &mapped;
}

double meta_cost_touched(double bytes)
{
    return TOUCHED * bytes;
}

double meta_cost_flops(double flops)
{
    return FLOP * flops;
}

double meta_cost_meet(const eng_device_state *device, uint32_t ranks, double bytes)
{
    const rates *r = rates_of(device, ranks);
    return r->meeting + r->byte * bytes;
}

/* Bytes that a target moves between memory and its core, as multiples of the sum's: it reads
 * every addend and writes the sum; or it reads a chunk of every addend, writes the chunk,
 * and copies the sum. */
static double streams(double sources, double targets, bool chunks)
{
    return chunks ? (sources + 1) / targets + 2 : sources + 1;
}

bool meta_cost_by_chunks(uint32_t sources, uint32_t targets, double bytes)
{
    double n = __builtin_popcount(sources), m = __builtin_popcount(targets);

    /* whoever adds a chunk reads the addends of all: they must be the same ranks */
    return sources == targets && n > 2 &&
           HAND_OVER + STREAM * bytes * streams(n, m, true) < STREAM * bytes * streams(n, m, false);
}

double meta_cost_all_reduce(const eng_device_state *device, uint32_t sources, uint32_t targets, double bytes)
{
    double n = __builtin_popcount(sources), m = __builtin_popcount(targets);
    bool chunks = meta_cost_by_chunks(sources, targets, bytes);
    double taken = chunks ? bytes * ((n - 1) / m + (m - 1) / m) : bytes * (sources == targets ? n - 1 : n);

    return meta_cost_meet(device, sources | targets, taken) + (chunks ? HAND_OVER : 0);
}

double meta_cost_above_share(double bytes)
{
    return 2 * TOUCHED * bytes;
}

double meta_cost_along_cells(uint32_t caches)
{
    return ALONG_CELLS * mapped.meeting * caches;
}
