/* What the device can do at most: the team reads, copies or computes, each thread its share, and the best pass
 * counts. */
#include "config.h"

#include "../cpu.h"

#define BYTES ((size_t)256 << 20) /* beyond every cache, if there are not very many */
#define PASSES 6                  /* the first one touches the memory               */
#define ROUNDS 1000000

typedef struct trial {
    eng_device_state *device;
    uint32_t what;
    float *from, *to;
    double operations; /* of a pass, by each thread */
    float sums[CPU_MAX_CORES]; /* what nobody reads: so that it is computed */
} trial;

static void pass(void *ctx, uint32_t thread)
{
    trial *t = ctx;
    const cpu_run run = {.thread = (int)thread, .threads = t->device->threads};
    const cpu_variant *variant = t->device->variant;
    int64_t begin, end;
    cpu_share(&run, (int64_t)(BYTES / sizeof(float)), 1024, &begin, &end);
    float sum = 0;
    if (t->what == ENG_ROOF_READ) {
        sum = variant->read(t->from + begin, end - begin);
    } else if (t->what == ENG_ROOF_COPY) {
        variant->copy(t->from + begin, t->to + begin, end - begin);
    } else {
        double operations = t->what == ENG_ROOF_DOT      ? variant->units->dot(ROUNDS, &sum)
                            : t->what == ENG_ROOF_MATRIX ? variant->matrix(ROUNDS, &sum)
                                                         : variant->fma(ROUNDS, &sum);
        if (thread == 0)
            t->operations = operations;
    }
    t->sums[thread % CPU_MAX_CORES] = sum;
}

static double measure(trial *t)
{
    eng_device_state *device = t->device;
    uint64_t best = UINT64_MAX;
    cpu_turn turn;
    cpu_turns_take(&device->turns, &turn, NULL);
    for (int i = 0; i < PASSES; i++) {
        uint64_t begin = eu_now();
        eu_team_run(device->team, (uint32_t)device->threads, pass, t);
        uint64_t took = eu_now() - begin;
        best = took < best && i > 0 ? took : best;
    }
    cpu_turns_give(&device->turns, &turn);
    double work = t->what == ENG_ROOF_READ   ? (double)BYTES
                  : t->what == ENG_ROOF_COPY ? 2.0 * (double)BYTES
                                             : t->operations * device->threads;
    return work / ((double)best * 1e-9);
}

int cpu_device_roof(eng_device_state *device, uint32_t what, double *per_second)
{
    const bool computes = what == ENG_ROOF_FMA || what == ENG_ROOF_DOT || what == ENG_ROOF_MATRIX;
    if (what == ENG_ROOF_MATRIX && !device->variant->matrix)
        return device->services->fail(device->host, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "%s has no matrix unit",
                                      device->info.name, device->variant->name);
    if (what == ENG_ROOF_DOT && !(device->variant->units && device->variant->units->dot))
        return device->services->fail(device->host, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "%s has no integer dot product",
                                      device->info.name, device->variant->name);
    if (what < ENG_ROOF_READ || (what > ENG_ROOF_FMA && !computes))
        return device->services->fail(device->host, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "it measures no roof number %u",
                                      device->info.name, (unsigned)what);
    trial *t = calloc(1, sizeof *t);
    if (!t)
        return cpu_no_memory(device->services, "measuring a roof");
    t->device = device;
    t->what = what;
    t->from = computes ? NULL : cpu_memory_get(BYTES);
    t->to = what == ENG_ROOF_COPY ? cpu_memory_get(BYTES) : NULL;
    int status = ENG_OK;
    if ((!computes && !t->from) || (what == ENG_ROOF_COPY && !t->to)) {
        status = cpu_memory_refused(device, BYTES, "measuring a roof");
    } else {
        for (size_t i = 0; t->from && i < BYTES / sizeof(float); i += 1024)
            t->from[i] = 1; /* pages of its own: the system has one page of zeros for all that was never written */
        *per_second = measure(t);
    }
    if (t->from)
        cpu_memory_free(t->from, BYTES);
    if (t->to)
        cpu_memory_free(t->to, BYTES);
    free(t);
    return status;
}
