/*
 * kernels/series.cl - a series of launches as one launch, on processors: what a driver takes to give a kernel to its
 * threads is more than a small kernel takes.
 *
 * Each launch of the series is a stage.  A group, of which there are as many as the device has compute units, takes items
 * of a stage until none is left, waits until those that others have taken are done, and goes on with the next stage.  No
 * group needs another one to run: one alone does all stages, and one that comes late finds them done.  One that waits long,
 * because whoever has the last items is not running, leaves: who has them does the rest, and has the processor for it.
 *
 * The program is linked (plugins/opencl/lower/series.c): kernels of other programs are functions here, as launch.clh has
 * it with -DSERIES=.  Text before this one has
 *
 *   SERIES_FUNCTIONS(F)   F(number, kernel, program) ...
 *   SERIES_BUFFERS(B)     B(0) B(1) ...: of all launches
 *   SERIES_VALUES         how many numbers depend on parameters of the plan, at least 1
 *   MOST_BUFFERS          buffers of a launch, at most; a stage's are NO_BUFFER where there are fewer
 *   MOST_NUMBERS          bytes of a launch's numbers, at most
 *   FIXED                 which of the values a size is that does not depend on any
 */
#include "launch.clh"

#define SPACING 16 /* words between counters of stages: they are not in one line of a cache */

typedef struct stage {
    uint function, words;    /* words of 8 bytes of its numbers                        */
    uint numbers, patches;   /* where they begin, in bytes of the table                */
    uint n_patches, per;     /* per: items that are taken at once                      */
    uint items[3];
    ushort value[4];         /* which of the values sizes are, or FIXED                */
    uchar buffer[MOST_BUFFERS];
} stage;

/* Field, in words of 4 bytes, of a stage's numbers that is one of the values. */
typedef struct patch {
    ushort field, value;
} patch;

typedef struct series_values {
    uint run, first, last, counters; /* run: no two of an instance have the same one; counters: where in the table */
    int value[SERIES_VALUES];
} series_values;

#define DECLARE(number, kernel, program)                                                                               \
    void kernel##_##program(const gbytes *buffers, const ulong *numbers, ulong item0, ulong item1, ulong item2);
SERIES_FUNCTIONS(DECLARE)

#define CASE(number, kernel, program)                                                                                  \
    case number:                                                                                                       \
        kernel##_##program(buffers, numbers, item0, item1, item2);                                                     \
        break;
static __attribute__((noinline)) void item_of(uint function, const gbytes *buffers, const ulong *numbers, ulong item0,
                                              ulong item1, ulong item2)
{
    switch (function) {
        SERIES_FUNCTIONS(CASE)
    }
}

/* -- counters: the number of the run in the upper half ------------------------------------ */

/* The first of n items that are now this group's. */
static uint take(__global ulong *next, uint run, uint n)
{
    ulong v = __atomic_load_n(next, __ATOMIC_RELAXED);
    while ((uint)(v >> 32) != run)
        if (__atomic_compare_exchange_n(next, &v, (ulong)run << 32 | n, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return 0;
    return (uint)__atomic_fetch_add(next, (ulong)n, __ATOMIC_RELAXED);
}

static void tell_done(__global ulong *done, uint run, uint n)
{
    ulong v = __atomic_load_n(done, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(done, &v, (uint)(v >> 32) == run ? v + n : ((ulong)run << 32 | n), 0,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static bool all_done(__global const ulong *done, uint run, uint total)
{
    const ulong v = __atomic_load_n(done, __ATOMIC_ACQUIRE);
    return (uint)(v >> 32) == run && (uint)v >= total;
}

/* Cycles; where none are known nobody leaves. */
static inline ulong cycles_now(void)
{
#if defined(__x86_64__)
    uint low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (ulong)high << 32 | low;
#else
    return 0;
#endif
}

#if defined(__x86_64__)
#define PAUSE __asm__ volatile("pause")
#else
#define PAUSE
#endif
#define PATIENCE 500000 /* cycles */

/* False: this group has waited long. */
static bool await(__global const ulong *done, uint run, uint total, ulong cycles)
{
    if (all_done(done, run, total))
        return true;
    const ulong begin = cycles_now();
    do {
        PAUSE;
        if (all_done(done, run, total))
            return true;
    } while (cycles_now() - begin < cycles);
    return false;
}

/* -- stages -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void stages(const gbytes *all, __global uchar *table, const series_values *v)
{
    __global ulong *counters = (__global ulong *)(table + v->counters);
    ulong took = 0; /* what this group did last */
    for (uint s = v->first; s < v->last; s++) {
        __global const stage *t = (__global const stage *)table + s;
        __global ulong *next = counters + s * SPACING, *done = next + SPACING / 2;
        uint size[3];
        for (uint i = 0; i < 3; i++)
            size[i] = t->value[i] == FIXED ? t->items[i] : (uint)v->value[t->value[i]];
        const uint total = size[0] * size[1] * size[2];
        uint from = take(next, v->run, t->per);
        if (from < total) {
            gbytes buffers[MOST_BUFFERS];
            for (uint i = 0; i < MOST_BUFFERS; i++)
                buffers[i] = t->buffer[i] == NO_BUFFER ? 0 : all[t->buffer[i]];
            ulong16 numbers[MOST_NUMBERS / 128]; /* aligned to what vectors of them need */
            __global const ulong *words = (__global const ulong *)(table + t->numbers);
            for (uint i = 0; i < t->words; i++)
                ((ulong *)numbers)[i] = words[i];
            __global const patch *p = (__global const patch *)(table + t->patches);
            for (uint i = 0; i < t->n_patches; i++)
                ((int *)numbers)[p[i].field] = v->value[p[i].value];
            do {
                const uint to = min(from + t->per, total);
                const ulong begin = cycles_now();
                for (uint i = from; i < to; i++)
                    item_of(t->function, buffers, (const ulong *)numbers, i % size[0], i / size[0] % size[1],
                            i / size[0] / size[1]);
                took = cycles_now() - begin;
                tell_done(done, v->run, to - from);
                from = take(next, v->run, t->per);
            } while (from < total);
        }
        if (!await(done, v->run, total, 4 * took + PATIENCE))
            return;
    }
}

#define PARAMETER(i) gbytes buffer##i,
#define NAME(i) buffer##i,
__kernel GROUP_OF(1) void series(SERIES_BUFFERS(PARAMETER) __global uchar *table, const series_values values)
{
    const gbytes all[] = {SERIES_BUFFERS(NAME)};
    stages(all, table, &values);
}
