/*
 * A feed-forward block, y = D silu(U x), on several devices at once.
 *
 *     cc split.c $(pkg-config --cflags --libs libengine) -lm -o split
 *     ./split cpu/2               both halves of the CPU
 *     ./split opencl:0+cpu@3:1    three quarters on an OpenCL device, the rest on the CPU
 *
 * All that a split needs to know is which dimensions are one and the same: here the hidden
 * width, the rows of U and the columns of D, under the name "hidden".  Each device then keeps
 * some of U's rows and the same of D's columns, and the sum of what they make is y.
 */
#include <engine/engine.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 64, HIDDEN = 256 };
enum { UP, DOWN, X, Y, N_TENSORS };

static float up[HIDDEN][WIDTH], down[WIDTH][HIDDEN], x[WIDTH], y[WIDTH];

/* Ends the program if a call has failed: the library says why and never prints. */
static void check(int status)
{
    if (status < 0) {
        fprintf(stderr, "split: %s\n", eng_last_error());
        exit(EXIT_FAILURE);
    }
}

/* Persistent tensors, declared together; extents begin with the fastest dimension. */
static eng_store *declare(eng_context *context, eng_device *device)
{
    eng_factor hidden = {.axis = eng_context_axis(context, "hidden"), .extent = HIDDEN};
    eng_segment segment = {.n_factors = 1, .factors = &hidden};
    eng_dim cut = {.n_segments = 1, .segments = &segment}, whole = {0};
    eng_dim up_dims[] = {whole, cut}, down_dims[] = {cut, whole};
    eng_store_tensor tensors[N_TENSORS] = {
        [UP] = {.name = "up", .rank = 2, .ne = {WIDTH, HIDDEN}, .use = ENG_USE_WEIGHT, .dims = up_dims},
        [DOWN] = {.name = "down", .rank = 2, .ne = {HIDDEN, WIDTH}, .use = ENG_USE_WEIGHT, .dims = down_dims},
        [X] = {.name = "x", .rank = 1, .ne = {WIDTH}, .use = ENG_USE_INPUT},
        [Y] = {.name = "y", .rank = 1, .ne = {WIDTH}, .use = ENG_USE_OUTPUT},
    };
    for (int i = 0; i < N_TENSORS; i++) {
        tensors[i].size = sizeof tensors[i];
        tensors[i].type = ENG_TYPE_F32;
        tensors[i].layer = -1;
    }
    eng_store *store;
    check(eng_store_create(device, tensors, N_TENSORS, &store));
    return store;
}

/* Builders need no checks: the first error comes out at seal. */
static eng_plan *compile(eng_context *context, eng_device *device, const eng_store *store)
{
    eng_graph *graph;
    eng_plan *plan;
    check(eng_graph_create(context, 0, &graph));
    eng_value h = eng_mul_mat(graph, eng_graph_tensor(graph, 0, store, UP), eng_graph_tensor(graph, 0, store, X));
    h = eng_unary(graph, h, ENG_UNARY_SILU);
    eng_store_value(graph, eng_graph_tensor(graph, 0, store, Y),
                    eng_mul_mat(graph, eng_graph_tensor(graph, 0, store, DOWN), h));
    check(eng_graph_seal(graph));
    check(eng_plan_create(device, graph, &plan));
    eng_graph_destroy(graph);
    return plan;
}

/* The same in plain C: the largest difference from what the devices made. */
static double largest_error(void)
{
    double h[HIDDEN], worst = 0;
    for (int j = 0; j < HIDDEN; j++) {
        double sum = 0;
        for (int i = 0; i < WIDTH; i++)
            sum += (double)up[j][i] * x[i];
        h[j] = sum / (1 + exp(-sum));
    }
    for (int i = 0; i < WIDTH; i++) {
        double sum = 0;
        for (int j = 0; j < HIDDEN; j++)
            sum += down[i][j] * h[j];
        worst = fmax(worst, isnan(y[i]) ? INFINITY : fabs(sum - y[i]));
    }
    return worst;
}

int main(int argc, char **argv)
{
    eng_context *context;
    eng_device *device;
    eng_instance *instance;
    eng_queue *queue;
    eng_fence fence;
    check(eng_context_create(NULL, &context));
    check(eng_device_open(context, argc > 1 ? argv[1] : "cpu/2", &device));
    for (int j = 0; j < HIDDEN; j++)
        for (int i = 0; i < WIDTH; i++) {
            up[j][i] = (float)((j * 7 + i * 5) % 11 - 5) / 32;
            down[i][j] = (float)((j * 3 + i * 13) % 17 - 8) / 64;
            x[i] = (float)(i % 9 - 4);
        }

    eng_store *store = declare(context, device);
    check(eng_store_write(store, UP, 0, sizeof up, up));
    check(eng_store_write(store, DOWN, 0, sizeof down, down));
    eng_plan *plan = compile(context, device, store);
    check(eng_instance_create(plan, &store, 1, &instance));
    check(eng_queue_create(device, &queue));

    /* what a host does for every token */
    const eng_region in = eng_range(x, 0, sizeof x), out = eng_range(y, 0, sizeof y);
    check(eng_queue_write(queue, NULL, 0, store, X, &in, 1, NULL));
    check(eng_queue_submit(queue, NULL, 0, instance, NULL, 0, NULL));
    check(eng_queue_read(queue, NULL, 0, store, Y, &out, 1, &fence));
    check(eng_fence_wait(fence, UINT64_MAX));

    eng_device_info info = {.size = sizeof info};
    eng_device_stats stats = {.size = sizeof stats};
    for (uint32_t leaf = 0; eng_device_leaf(device, leaf, &info, &stats) == ENG_OK; leaf++)
        printf("%-12s holds %llu bytes of weights\n", info.name, (unsigned long long)stats.bytes_weights);
    double error = largest_error();
    printf("the largest difference from plain C is %.1g\n", error);

    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_store_destroy(store);
    eng_device_close(device);
    check(eng_context_destroy(context));
    return error < 1e-3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
