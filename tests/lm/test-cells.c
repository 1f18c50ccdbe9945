/*
 * Models with fewer heads of K and V than there are devices: their caches are split
 * along the cells.  The logits must be those of one device, each device must hold its
 * share of the caches, and of those in use if only few are, and what stands in one
 * device's cells must be found by all.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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
    {RANDOM("llama-one-head-long", "--seed 25 --arch llama --layers 2 --heads 4 --kv-heads 1 --head 32 --context 4096",
            ENG_TYPE_F16, ENG_TYPE_F16, 1e-3, 4096), 1},
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

/* -- of the first cells, those that are in use ---------------------------------------------- */

/* The numbers of a list that follows the key. */
static uint32_t numbers(const char *json, const char *key, int64_t *list, uint32_t most)
{
    const char *at = strstr(json, key);
    uint32_t n = 0;
    if (!at)
        return 0;
    for (at += strlen(key); n < most; n++) {
        at += strspn(at, "\": [,");
        char *end;
        list[n] = strtoll(at, &end, 10);
        if (end == at)
            break;
        at = end;
    }
    return n;
}

/* Of so many tokens' cells, each device has its share, but for a part of a period. */
static bool in_use(const char *cache, int64_t tokens, const subject *s)
{
    int64_t shape[4], period, units[ENG_MAX_RANKS], begin = 0;
    uint32_t n = numbers(cache, "\"units", units, ENG_MAX_RANKS);
    bool ok = numbers(cache, "\"shape", shape, 4) == 3 && numbers(cache, "\"extent", &period, 1) == 1 && n > 1;
    for (uint32_t r = 0; ok && r < n; begin += units[r++]) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        int64_t seen = 0;
        for (int64_t t = 0; t < tokens; t++)
            seen += t % period >= begin && t % period < begin + units[r];
        if (eng_device_leaf(s->device, r, &info, &stats))
            return false;
        double off = fabs((double)seen - stats.share * (double)tokens);
        if (off <= OFF * (double)tokens + (double)period / 4)
            continue;
        printf("# device %u of share %.3f attends to %lld cells of %lld\n", r, stats.share, (long long)seen,
               (long long)tokens);
        ok = false;
    }
    return ok && begin == period && shape[1] % period == 0;
}

static bool load(subject *s)
{
    char *json = subject_explain(s->context);
    bool ok = json != NULL;
    const char *cache = ok ? strstr(json, "\"name\": \"cache_k") : NULL;
    ok = cache && in_use(cache, 100, s) && in_use(cache, 1000, s) && in_use(cache, 3333, s);
    free(json);
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
            if (w->n_cells > 1000)
                result(load(&s), w, devices[k], "every device has its share of the cells in use");
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
