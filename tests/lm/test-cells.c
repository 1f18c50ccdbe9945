/*
 * Models with fewer heads of K and V than there are devices: their caches are split
 * along the cells.  The logits must be those of one device, each device must hold its
 * share of the caches, and what stands in one device's cells must be found by all.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "whole.h"

#define OFF 0.1 /* of a device's share of the caches: axes that come in few units are made up for elsewhere */

#define RANDOM(label, made, k, v, tolerance, cells) \
    {.name = label, .options = made, .type_k = k, .type_v = v, .most = tolerance, .n_cells = cells}
static struct {
    whole w;
    uint32_t heads; /* of K and V */
} models[] = {
    {RANDOM("qwen35-one-head", "--seed 21 --interval 2 --heads 5 --kv-heads 1 --head 48 --k-heads 1 --v-heads 3",
            ENG_TYPE_F32, ENG_TYPE_F32, 1e-3, 97), 1},
    {RANDOM("llama-one-head", "--seed 22 --arch llama --layers 2 --heads 4 --kv-heads 1 --head 32", ENG_TYPE_F16,
            ENG_TYPE_BF16, 1e-3, 128), 1},
    {RANDOM("qwen3-one-head-blocks", "--seed 23 --arch qwen3 --layers 2 --heads 3 --kv-heads 1 --head 64", ENG_TYPE_Q8_0,
            ENG_TYPE_Q4_0, 1e-2, 96), 1},
    {RANDOM("qwen3-two-heads", "--seed 24 --arch qwen3 --layers 2 --heads 6 --kv-heads 2 --head 32", ENG_TYPE_F32,
            ENG_TYPE_Q5_1, 1e-2, 111), 2},
};
#define N_MODELS (sizeof models / sizeof *models)

static const char *const devices[] = {
    "cpu/2", "cpu/3", "cpu/4", "cpu/5", "cpu/2@3:1", "cpu/3@2:1:0", "cpu/3@1:6:1",
#ifdef HAVE_OPENCL
    "opencl:0/2", "cpu+opencl:0@3:1",
#endif
};
#define N_DEVICES (sizeof devices / sizeof *devices)

static int n_tests, n_failed;

static void result(bool ok, const whole *w, const char *device, const char *what)
{
    n_failed += !ok;
    printf("%s %d - %s on %s: %s\n", ok ? "ok" : "not ok", ++n_tests, w->name, device, what);
    fflush(stdout);
}

/* Each device's bytes of K and V against its share, if there are fewer heads than devices with a share: else heads are
 * what is split, and other tensors make up for the uneven rest. */
static bool shares(const subject *s, uint32_t heads)
{
    double bytes[ENG_MAX_RANKS], share[ENG_MAX_RANKS], sum = 0;
    uint32_t n = 0, n_main = 0;
    bool ok = true;
    for (; n < ENG_MAX_RANKS; n++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        if (eng_device_leaf(s->device, n, &info, &stats))
            break;
        bytes[n] = (double)stats.bytes_cache;
        share[n] = stats.share;
        sum += bytes[n];
        n_main += stats.share > 0;
    }
    eng_lm_stats stats = {.size = sizeof stats};
    if (eng_lm_context_get_stats(s->context, &stats) || fabs(sum - (double)stats.cache_bytes) > 0.5) {
        printf("# the devices hold %.0f bytes of caches, declared are %llu\n", sum,
               (unsigned long long)stats.cache_bytes);
        return false;
    }
    for (uint32_t i = 0; i < n && heads < n_main; i++) {
        if (fabs(bytes[i] / sum - share[i]) <= OFF)
            continue;
        printf("# device %u of share %.3f holds %.3f of the caches\n", i, share[i], bytes[i] / sum);
        ok = false;
    }
    return ok;
}

int main(void)
{
    eng_context *engine;
    if (eng_context_create(NULL, &engine)) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    for (size_t i = 0; i < N_MODELS; i++) {
        whole *w = &models[i].w;
        if (!whole_begin(w, engine)) {
            printf("Bail out! %s does not run on cpu\n", w->name);
            return 1;
        }
        for (size_t k = 0; k < N_DEVICES; k++) {
            subject s;
            if (whole_open(w, engine, devices[k], NULL, &s)) {
                printf("# %s\n", eng_last_error());
                result(false, w, devices[k], "opens");
                continue;
            }
            result(shares(&s, models[i].heads), w, devices[k], "every device has its share of K and V");
            result(whole_agrees(w, &s), w, devices[k], "the logits of one device");
            subject_close(&s);
        }
        whole_end(w);
    }
    printf("1..%d\n", n_tests);
    if (eng_context_destroy(engine)) {
        printf("# %s\n", eng_last_error());
        n_failed++;
    }
    return n_failed != 0;
}
