/*
 * kernels/series.cl - a series of launches as one launch, on processors: what a driver takes to give a kernel to its
 * threads is more than a small kernel takes.
 *
 * Each launch of the series is a stage.  A group, of which there are as many as the device has compute units, takes items
 * of a stage until none is left, waits until those that others have taken are done, and goes on with the next stage.  No
 * group needs another one to run: one alone does all stages, and one that comes late finds them done.  One that waits long,
 * because whoever has the last items is not running, leaves: who has them does the rest, and has the processor for it.
 *
 * A stage may be a call of the host, where a section of the plan ends: exchanges with other devices, which would else part the
 * series.  Who waits for that waits for those devices, and sleeps for some time before it leaves.
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
 *   HOST                  the function of a stage that is a call of the host
 *   A_MOMENT              no section: the host's thread sleeps for a moment
 */
#include "launch.clh"

#define SPACING 16 /* words between counters of stages: they are not in one line of a cache */

typedef struct stage {
    uint function, words;    /* words of 8 bytes of its numbers; of a call the section */
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
    ulong call, context;             /* the host's call(context, section), or 0: it is not called */
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

/* -- calls of the host ----------------------------------------------------------------------- */

/* OpenCL C has no pointers to functions.  A processor that this does not know calls nobody; the host tries it before. */
static __attribute__((noinline)) void call_host(const series_values *v, uint section)
{
#if defined(__x86_64__)
    ulong call = v->call, context = v->context, which = section;
    __asm__ volatile("movq %%rsp, %%r12\n\t"
                     "subq $128, %%rsp\n\t" /* what is below the stack may be in use */
                     "andq $-16, %%rsp\n\t"
#if defined(__AVX__)
                     "vzeroupper\n\t"
#endif
                     "callq *%%rax\n\t"
                     "movq %%r12, %%rsp"
                     : "+a"(call), "+D"(context), "+S"(which)
                     :
                     : "r12", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
                       "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#if defined(__AVX512F__)
                     , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
                       "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#endif
    );
#endif
}

#define MOMENTS 100 /* of the host's, of which each is a sleep (A_MOMENT) */

static bool await_host(__global const ulong *done, const series_values *v)
{
    bool there = await(done, v->run, 1, PATIENCE);
    for (uint i = 0; i < MOMENTS && !there; i++) {
        call_host(v, A_MOMENT);
        there = all_done(done, v->run, 1);
    }
    return there;
}

/* -- stages -------------------------------------------------------------------------------- */

/* Items of a stage until none is left, the first `per` of which begin at `from`; cycles that the last of them took. */
static ulong do_items(const gbytes *all, __global const uchar *table, __global const stage *t, const series_values *v,
                      const uint *size, uint from, __global ulong *next, __global ulong *done)
{
    const uint total = size[0] * size[1] * size[2];
    ulong took = 0;
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
    return took;
}

static __attribute__((noinline)) void stages(const gbytes *all, __global uchar *table, const series_values *v)
{
    __global ulong *counters = (__global ulong *)(table + v->counters);
    ulong took = 0; /* what this group did last */
    for (uint s = v->first; s < v->last; s++) {
        __global const stage *t = (__global const stage *)table + s;
        __global ulong *next = counters + s * SPACING, *done = next + SPACING / 2;
        if (t->function == HOST) {
            if (v->call && take(next, v->run, 1) == 0) {
                call_host(v, t->words);
                tell_done(done, v->run, 1);
            }
            if (v->call && !await_host(done, v))
                return;
            continue;
        }
        uint size[3];
        for (uint i = 0; i < 3; i++)
            size[i] = t->value[i] == FIXED ? t->items[i] : (uint)v->value[t->value[i]];
        const uint total = size[0] * size[1] * size[2], from = take(next, v->run, t->per);
        if (from < total)
            took = do_items(all, table, t, v, size, from, next, done);
        if (!await(done, v->run, total, 4 * took + PATIENCE))
            return;
    }
}

#define PARAMETER(i) gbytes buffer##i,
#define NAME(i) buffer##i,
__kernel GROUP_OF(1) void series(SERIES_BUFFERS(PARAMETER) __global uchar *table, const series_values values)
{
    const gbytes all[] = {SERIES_BUFFERS(NAME)};
    if (values.first == values.last && values.call) /* nothing else is asked of it but whether it can */
        call_host(&values, 0);
    stages(all, table, &values);
}
