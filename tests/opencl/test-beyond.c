/*
 * With opencl.apart=yes what reads beyond a tensor is seen: on a processor, whose buffers are
 * the host's memory, it ends the process, so a process of its own does it.
 * On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"

#include "../tap.h"

static const char *device_name(void)
{
    const char *device = getenv("ENG_TEST_OPENCL");
    return device && *device ? device : "opencl:0";
}

static eng_store_tensor declare(const char *name, uint32_t use, int64_t n)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = ENG_TYPE_F32, .rank = 1, .use = use, .ne = {n},
                              .name = name, .layer = -1};
}

/* -- in the process that reads --------------------------------------------------- */

/* A kernel that reads the element after its operand's last; in a folder that the caller removes. */
static int read_beyond(const char *apart, const char *folder)
{
    char path[96];
    snprintf(path, sizeof path, "%.64s/sum_rows.cl", folder);
    mkdir(folder, 0700);
    FILE *file = fopen(path, "w");
    if (!file)
        return 2;
    fputs("typedef struct numbers { ulong x_at, y_at; long4 ne, xs, ys; int rows_per; } numbers;\n"
          "__kernel void sum_rows(__global const float *x, __global float *y, const numbers n)\n"
          "{\n    if (get_global_id(0) == 0)\n        y[n.y_at / 4] = x[n.x_at / 4 + n.ne.s0];\n}\n", file);
    fclose(file);
    const eng_store_tensor t[] = {declare("x", ENG_USE_INPUT, 3),
                                  declare("y", ENG_USE_OUTPUT, 1)};
    eng_context *context = NULL;
    eng_device *device = NULL;
    eng_store *store = NULL;
    eng_graph *g = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    float y = 0;
    int good = !eng_context_create(NULL, &context) && !eng_context_set_option(context, "opencl.kernels", folder) &&
               !eng_context_set_option(context, "opencl.apart", apart) &&
               !eng_device_open(context, device_name(), &device) && !eng_store_create(device, t, 2, &store) &&
               !eng_graph_create(context, 0, &g);
    if (good)
        eng_store_value(g, eng_graph_tensor(g, 0, store, 1), eng_sum_rows(g, eng_graph_tensor(g, 0, store, 0)));
    good = good && !eng_graph_seal(g) && !eng_plan_create(device, g, &plan) &&
           !eng_instance_create(plan, &store, 1, &instance) && !eng_queue_create(device, &queue) &&
           !eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence) &&
           !eng_fence_wait(fence, UINT64_MAX) && !eng_store_read(store, 1, 0, sizeof y, &y);
    if (!good)
        fprintf(stderr, "%s\n", eng_last_error());
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
    eng_device_close(device);
    eng_context_destroy(context);
    return good ? 0 : 2;
}

/* -- in the one that looks on ---------------------------------------------------- */

static int child(const char *self, const char *before, const char *apart, const char *folder)
{
    char command[1200];
    snprintf(command, sizeof command, "%s'%s' --beyond %s %s", before, self, apart, folder);
    return system(command);
}

static void test(const char *self, const eng_device_info *info)
{
    char folder[64], kernel[96];

    snprintf(folder, sizeof folder, "opencl-kernels-%ld", (long)getpid());
    tap_check(child(self, "", "no", folder) == 0, "in memory that tensors share nothing is seen");
    /* no core file is wanted, and no word of the shell */
    int status = child(self, "ulimit -c 0; exec 2>/dev/null; ", "yes", folder);
    bool fails = WIFEXITED(status) && WEXITSTATUS(status) == 2; /* by itself, with an error */
    if (info->kind == ENG_DEVICE_CPU && (info->flags & ENG_DEVICE_HOST_MEMORY))
        tap_check(status != 0 && !fails, "where each has its own it ends the process");
    else /* a GPU, or a driver that keeps copies of the host's memory */
        tap_check(!fails, "where each has its own it does no harm # SKIP not seen on this device");
    snprintf(kernel, sizeof kernel, "%s/sum_rows.cl", folder);
    remove(kernel);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    eng_device_info info = {.size = sizeof info};
    eng_device *device = NULL;

    if (argc == 4 && !strcmp(argv[1], "--beyond"))
        return read_beyond(argv[2], argv[3]);
    eng_context *context = tap_begin();
    if (!context)
        return EXIT_FAILURE;
    int status = eng_device_open(context, device_name(), &device);
    if (status == ENG_OK)
        status = eng_device_get_info(device, &info);
    eng_device_close(device);
    if (status == ENG_OK)
        test(argv[0], &info);
    else
        tap_check(true, "reading beyond a tensor # SKIP no OpenCL device: %s", eng_last_error());
    return tap_end(context);
}
