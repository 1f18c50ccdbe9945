/* The cpu plugin promises the machine's memory once: a system that lets programs have more ends them later. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

#include "../tap.h"

static int create(eng_device *device, uint64_t bytes, eng_store **store)
{
    eng_store_tensor t = {.size = sizeof t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_CACHE, .ne = {(int64_t)(bytes / 4)},
                          .name = "large", .layer = -1};
    *store = NULL;
    return eng_store_create(device, &t, 1, store);
}

enum { MANY = 64 };

/* Two parts of the device share its memory (and what the machine can swap out).  Nothing of it is touched. */
static void test_together(eng_device *const *devices, uint64_t bytes)
{
    eng_store *stores[MANY], *again;
    int n = 0, status = ENG_OK;

    while (n < MANY && (status = create(devices[n & 1], bytes, &stores[n])) == ENG_OK)
        n++;
    if (n == 0) {
        tap_check(true, "three quarters of memory # SKIP the system does not give them: %s", eng_last_error());
        return;
    }
    tap_check(status == ENG_ERR_NOMEM && strstr(eng_last_error(), "this process holds"),
              "another three quarters of memory are refused, and the error says why");
    eng_store_destroy(stores[--n]);
    status = create(devices[(n + 1) & 1], bytes, &again);
    tap_check(status == ENG_OK, "what is freed can be had again");
    eng_store_destroy(again);
    while (n > 0)
        eng_store_destroy(stores[--n]);
}

typedef struct greedy {
    eng_device *device;
    uint64_t bytes;
    atomic_bool done;
} greedy;

static void *ask_for_too_much(void *ctx)
{
    greedy *g = ctx;
    eng_store *store;

    while (!atomic_load(&g->done))
        if (create(g->device, g->bytes, &store) == ENG_OK)
            eng_store_destroy(store);
    return NULL;
}

/* What is refused takes nothing from others, not even while it is being refused. */
static void test_beside(eng_device *const *devices, uint64_t bytes)
{
    greedy g = {.device = devices[1], .bytes = bytes};
    pthread_t thread;
    eng_store *store;
    int status = ENG_OK;

    if (pthread_create(&thread, NULL, ask_for_too_much, &g) != 0) {
        tap_check(true, "small stores beside one that is refused # SKIP no thread");
        return;
    }
    for (int i = 0; i < 20000 && status == ENG_OK; i++) {
        status = create(devices[0], 4u << 20, &store);
        eng_store_destroy(store);
    }
    atomic_store(&g.done, true);
    pthread_join(thread, NULL);
    tap_check(status == ENG_OK, "small stores beside one that is refused");
}

int main(void)
{
    eng_context *context = tap_begin();
    eng_device *devices[2] = {NULL, NULL};
    eng_device_info info = {.size = sizeof info};

    if (!context)
        return 1;
    if (eng_device_open(context, "cpu/2.0", &devices[0]) != ENG_OK ||
        eng_device_open(context, "cpu/2.1", &devices[1]) != ENG_OK ||
        eng_device_get_info(devices[0], &info) != ENG_OK) {
        tap_check(true, "memory of the machine # SKIP no cpu plugin");
    } else {
        test_together(devices, info.memory_total / 4 * 6);
        test_beside(devices, info.memory_total * 16);
    }
    eng_device_close(devices[1]);
    eng_device_close(devices[0]);
    return tap_end(context);
}
