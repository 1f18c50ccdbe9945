/*
 * A driver that fails while its threads still copy: whoever gave it memory gets that memory back only when they are done.
 * The interposer holds the copies and lets the calls that wait for them fail; another thread lets them go on later.
 * On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "engine/engine.h"

#include "../tap.h"
#include "interposer.h"

enum { BYTES = 1 << 20, PIECES = 16 };

static eng_context *context;
static eng_device *device;
static eng_store *store; /* one tensor of BYTES, in PIECES */

static const char *device_name(void)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    return name && *name ? name : "opencl:0";
}

static bool open_device(void)
{
    const eng_store_tensor t = {.size = sizeof t, .type = ENG_TYPE_I32, .rank = 2, .use = ENG_USE_STATE,
                                .ne = {BYTES / PIECES / 4, PIECES}, .name = "t", .layer = -1};
    char piece[24];
    snprintf(piece, sizeof piece, "%d", BYTES / PIECES);
    return !eng_context_set_option(context, "opencl.max_alloc", piece) &&
           !eng_device_open(context, device_name(), &device) && !eng_store_create(device, &t, 1, &store);
}

/* Memory that is the host's until it is given back: then nobody may touch it. */
static int32_t *host_memory(int32_t first)
{
    int32_t *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    for (int32_t i = 0; i < BYTES / 4; i++)
        p[i] = first + i;
    return p;
}

static bool holds(const int32_t *p, int32_t first)
{
    for (int32_t i = 0; i < BYTES / 4; i++)
        if (p[i] != first + i)
            return false;
    return true;
}

/* -- a driver that fails ---------------------------------------------------------------- */

static unsigned long waits(void)
{
    return interposer_count("clFinish") + interposer_count("clWaitForEvents");
}

static unsigned long waits_before;

static void pause_for(long milliseconds)
{
    nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL);
}

/* Lets the copies go on a while after somebody has tried to wait for them. */
static void *release_later(void *nothing)
{
    for (int i = 0; i < 60000 && waits() == waits_before; i++)
        pause_for(1);
    pause_for(100);
    interposer_release();
    return nothing;
}

static pthread_t begin(const char *copies)
{
    pthread_t thread;
    waits_before = waits();
    interposer_hold(copies);
    interposer_fail("clFinish", 1, CL_OUT_OF_RESOURCES);
    interposer_fail("clWaitForEvents", 1, CL_OUT_OF_RESOURCES);
    if (pthread_create(&thread, NULL, release_later, NULL) != 0)
        abort();
    return thread;
}

/* What is still being copied into or out of the host's memory, now that the engine has returned. */
static unsigned end(pthread_t thread)
{
    unsigned n = interposer_held();
    pthread_join(thread, NULL);
    while (interposer_held() > 0)
        pause_for(1);
    interposer_reset();
    return n;
}

/* -- tests ------------------------------------------------------------------------------ */

static void uploads(void)
{
    int32_t *data = host_memory(7), *back = host_memory(0);
    pthread_t thread = begin("clEnqueueWriteBuffer");
    int status = eng_store_write(store, 0, 0, BYTES, data);
    unsigned copies = end(thread);
    munmap(data, BYTES);
    tap_check(copies == 0, "an upload whose wait fails ends after its copies (%u go on)", copies);
    tap_check(status == ENG_OK && !eng_store_read(store, 0, 0, BYTES, back) && holds(back, 7), "and has arrived");
    munmap(back, BYTES);
}

static void downloads(void)
{
    int32_t *data = host_memory(0);
    pthread_t thread = begin("clEnqueueReadBuffer");
    int status = eng_store_read(store, 0, 0, BYTES, data);
    unsigned copies = end(thread);
    tap_check(copies == 0, "a download whose wait fails ends after its copies (%u go on)", copies);
    tap_check(status == ENG_OK && holds(data, 7), "and has arrived");
    munmap(data, BYTES);
}

static void uploads_that_stop_halfway(void)
{
    int32_t *data = host_memory(9);
    pthread_t thread = begin("clEnqueueWriteBuffer");
    interposer_fail("clEnqueueWriteBuffer", PIECES / 2, CL_OUT_OF_HOST_MEMORY);
    int status = eng_store_write(store, 0, 0, BYTES, data);
    unsigned copies = end(thread);
    munmap(data, BYTES);
    tap_check(copies == 0 && status == ENG_ERR_NOMEM, "an upload that is refused halfway ends after the half (%u go on): %s",
              copies, eng_last_error());
}

static void fences(void)
{
    int32_t *data = host_memory(0), *other = host_memory(11);
    eng_queue *queue = NULL;
    eng_fence fence;
    tap_check(!eng_store_write(store, 0, 0, BYTES, other) && !eng_queue_create(device, &queue), "a queue");
    pthread_t thread = begin("clEnqueueReadBuffer");
    int status = eng_queue_read(queue, NULL, 0, store, 0, (const eng_region[]){eng_range(data, 0, BYTES)}, 1, &fence);
    if (status == ENG_OK)
        status = eng_fence_wait(fence, UINT64_MAX);
    unsigned copies = end(thread);
    tap_check(copies == 0, "a fence whose wait fails is reached after its copies (%u go on)", copies);
    tap_check(status == ENG_OK && holds(data, 11), "and they have arrived");

    thread = begin("clEnqueueReadBuffer");
    interposer_fail("clEnqueueReadBuffer", PIECES / 2, CL_OUT_OF_RESOURCES);
    status = eng_queue_read(queue, NULL, 0, store, 0, (const eng_region[]){eng_range(data, 0, BYTES)}, 1, &fence);
    if (status == ENG_OK) /* where the work is done later, the fence tells it */
        status = eng_fence_wait(fence, UINT64_MAX);
    copies = end(thread);
    tap_check(copies == 0 && status == ENG_ERR_NOMEM, "a read that is refused halfway ends after the half (%u go on): %s",
              copies, eng_last_error());

    thread = begin("clEnqueueWriteBuffer");
    status = eng_queue_write(queue, NULL, 0, store, 0, (const eng_region[]){eng_range(other, 0, BYTES)}, 1, NULL);
    eng_queue_destroy(queue);
    copies = end(thread);
    tap_check(copies == 0 && status == ENG_OK, "a queue is destroyed after its copies (%u go on)", copies);
    munmap(other, BYTES);
    munmap(data, BYTES);
}

int main(void)
{
    context = tap_begin();
    if (context == NULL)
        return tap_end(context);
    if (!open_device()) {
        printf("1..0 # SKIP no OpenCL device: %s\n", eng_last_error());
        eng_context_destroy(context);
        return 0;
    }
    uploads();
    downloads();
    uploads_that_stop_halfway();
    fences();
    eng_store_destroy(store);
    eng_device_close(device);
    return tap_end(context);
}
