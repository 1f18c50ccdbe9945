/*
 * A graph over stores of a null device that holds nothing can be asked about: what a host that divides its work among
 * devices does before it decides where tensors go.  Here they are larger than any memory.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#include "../tap.h"

#define ROWS (INT64_C(1) << 33) /* of 4096 elements: 32 TiB in q8_0 */

typedef struct question {
    eng_device *holds; /* nothing */
    eng_store *store;
    eng_graph *graph;
} question;

/* W x, encoded. */
static int ask(eng_context *context, question *q)
{
    eng_store_tensor t[2];
    for (int i = 0; i < 2; i++)
        t[i] = (eng_store_tensor){.size = sizeof t[i], .type = i ? ENG_TYPE_F32 : ENG_TYPE_Q8_0, .rank = 2, .layer = -1,
                                  .ne = {4096, i ? 1 : ROWS}, .use = i ? ENG_USE_INPUT : ENG_USE_WEIGHT,
                                  .name = i ? "x" : "w"};
    int status = eng_device_open(context, "null", &q->holds);
    if (!status)
        status = eng_store_create(q->holds, t, 2, &q->store);
    if (!status)
        status = eng_graph_create(context, 0, &q->graph);
    if (status)
        return status;
    eng_value w = eng_graph_tensor(q->graph, 0, q->store, 0), x = eng_graph_tensor(q->graph, 0, q->store, 1);
    eng_quantize(q->graph, eng_mul_mat(q->graph, w, x), ENG_TYPE_Q8_0, 0);
    return eng_graph_seal(q->graph);
}

static void about(eng_context *context, const char *name, const question *q)
{
    eng_device *device;
    if (eng_device_open(context, name, &device) != ENG_OK) {
        tap_check(true, "%s # SKIP %s", name, eng_last_error());
        return;
    }
    for (uint32_t node = 0; node < eng_graph_view(q->graph)->n_nodes; node++) {
        eng_support answer = ENG_SUPPORT_NO;
        char reason[256] = "";
        int status = eng_device_supports(device, q->graph, node, &answer, reason, sizeof reason);
        tap_check(status == ENG_OK && (answer != ENG_SUPPORT_NO || *reason), "%s is asked about node %u of a graph over 32 TiB that nobody holds: %s%s%s",
                  name, node, answer == ENG_SUPPORT_NO ? "no" : answer == ENG_SUPPORT_SLOW ? "slow" : "yes", *reason ? ", " : "",
                  reason);
    }
    eng_device_stats stats = {.size = sizeof stats};
    int status = eng_device_get_stats(device, &stats);
    tap_check(status == ENG_OK && stats.bytes_weights == 0, "%s holds nothing of it", name);
    eng_device_close(device);
}

int main(void)
{
    eng_context *context = tap_begin();
    question q = {0};
    if (!context)
        return 1;
    int status = eng_context_set_option(context, "null.accept", "measure");
    if (!status)
        status = ask(context, &q);
    tap_check(status == ENG_OK, "a graph over stores of a null device%s%s", status ? ": " : "",
              status ? eng_last_error() : "");
    if (!status) {
        about(context, "null", &q);
        about(context, "cpu", &q);
        about(context, "opencl:0", &q);
        about(context, "cpu/2", &q);
    }
    eng_graph_destroy(q.graph);
    eng_store_destroy(q.store);
    eng_device_close(q.holds);
    return tap_end(context);
}
