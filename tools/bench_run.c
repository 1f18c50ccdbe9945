/*
 * One case on one device: a graph with the op as often as makes its operands larger than the caches, each with
 * operands of its own, run until the time is up; the roofs that the device measures of itself beside it.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "libengine/util/util.h"

#define MOST_COPIES 256
#define MOST_OPERATIONS 2e10 /* in a sample: enough for any clock */
#define TILE (1 << 16)       /* elements of random values, which are repeated */
#define LEAST_SAMPLES 5
#define MOST_SAMPLES 4096

/* What a case needs on a device. */
typedef struct rig {
    const bench_case *what;
    eng_device *device;
    uint32_t n, copies;                /* operands that are there; ops           */
    uint32_t operand[ENG_MAX_INPUTS];  /* which they are                         */
    eng_store *store;                  /* copy after copy                        */
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
} rig;

static void dismantle(rig *r)
{
    eng_queue_destroy(r->queue);
    eng_instance_destroy(r->instance);
    eng_plan_release(r->plan);
    eng_graph_destroy(r->graph);
    eng_store_destroy(r->store);
    r->queue = NULL, r->instance = NULL, r->plan = NULL, r->graph = NULL, r->store = NULL;
}

/* -- operands ------------------------------------------------------------------ */

static uint32_t use_of(const eng_rule_operand *o)
{
    return o->inout ? ENG_USE_STATE : o->types >> ENG_TYPE_Q8_0 & 1 ? ENG_USE_WEIGHT : ENG_USE_INPUT;
}

static int declare(rig *r)
{
    eng_reader readers[ENG_MAX_INPUTS];
    eng_store_tensor *t = calloc((size_t)r->copies * r->n, sizeof *t);
    if (!t)
        return eng_fail_code(EU_NO_MEMORY("the operands of a case"));
    for (uint32_t i = 0; i < r->copies * r->n; i++) {
        const uint32_t k = r->operand[i % r->n];
        const bench_operand *o = &r->what->in[k];
        const eng_rule_operand *rule = &r->what->op->in[k];
        t[i] = (eng_store_tensor){.size = sizeof *t, .type = o->type, .rank = o->rank, .use = use_of(rule),
                                  .name = rule->name, .layer = -1};
        memcpy(t[i].ne, o->ne, o->rank * sizeof *o->ne);
        if (t[i].use == ENG_USE_WEIGHT) {
            readers[k] = (eng_reader){.op = r->what->op->op, .operand = k, .precisions = ENG_ANY_PRECISION};
            t[i].readers = &readers[k];
            t[i].n_readers = 1;
            t[i].layout = r->what->layout;
        }
    }
    int status = eng_store_create(r->device, t, r->copies * r->n, &r->store);
    free(t);
    return status;
}

static int64_t elements(const bench_operand *o)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < o->rank; d++)
        n *= o->ne[d];
    return n;
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

static int64_t integer(const bench_operand *o, int64_t j)
{
    int64_t step = o->number * 618 / 1000 + 1;
    switch (o->fill) {
    case BENCH_SCATTERED:
        while (gcd(o->number, step) != 1) /* so that the first `number` of them are all different */
            step++;
        return j % o->number * step % o->number;
    case BENCH_ASCENDING: return o->number + j;
    case BENCH_NAMED: return j < o->n_listed ? o->listed[j] : 0;
    default: return 0;
    }
}

static int fill_integers(rig *r, uint32_t tensor, const bench_operand *o)
{
    const int64_t n = elements(o);
    const size_t each = o->type == ENG_TYPE_I64 ? 8 : 4;
    char *values = malloc((size_t)n * each);
    if (!values)
        return eng_fail_code(EU_NO_MEMORY("integers of a case"));
    for (int64_t j = 0; j < n; j++) {
        const int64_t wide = integer(o, j);
        const int32_t narrow = (int32_t)wide;
        memcpy(values + (size_t)j * each, each == 8 ? (const void *)&wide : (const void *)&narrow, each);
    }
    int status = eng_store_write(r->store, tensor, 0, (uint64_t)n * each, values);
    free(values);
    return status;
}

static int random_bytes(char *to, uint64_t n)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (uint64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        to[i] = (char)(state >> 56 & 0x3f);
    }
    return ENG_OK;
}

/* Rows of random values as the type has them; as long as the variance of a row's product with another is 1. */
static int random_rows(converter *convert, const bench_operand *o, int64_t rows, char **encoded)
{
    const int64_t n = rows * o->ne[0];
    const float width = sqrtf(12.0f / (float)o->ne[0]);
    uint64_t state = 0x9e3779b97f4a7c15u;
    float *values = malloc((size_t)n * sizeof *values);
    *encoded = malloc((size_t)(eng_row_bytes(o->type, o->ne[0]) * (uint64_t)rows));
    if (!values || !*encoded) {
        free(values);
        return eng_fail_code(EU_NO_MEMORY("values of a case"));
    }
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = ((float)(state >> 40) * 0x1p-24f - 0.5f) * width;
    }
    int status = converter_run(convert, ENG_TYPE_F32, values, o->type, *encoded, o->ne[0], rows);
    if (status == ENG_ERR_UNSUPPORTED) /* a type without an encoder: bytes that are finite scales wherever they stand */
        status = random_bytes(*encoded, eng_row_bytes(o->type, o->ne[0]) * (uint64_t)rows);
    free(values);
    return status;
}

static int fill_values(rig *r, converter *convert, uint32_t tensor, const bench_operand *o)
{
    const uint64_t row = eng_row_bytes(o->type, o->ne[0]), bytes = eng_store_bytes(r->store, tensor);
    const int64_t rows = elements(o) / o->ne[0], most = TILE / o->ne[0] > 1 ? TILE / o->ne[0] : 1;
    const int64_t tile = rows < most ? rows : most;
    char *encoded = NULL;
    int status = random_rows(convert, o, tile, &encoded);
    for (uint32_t copy = 0; copy < r->copies && status == ENG_OK; copy++)
        for (uint64_t at = 0; at < bytes && status == ENG_OK; at += row * (uint64_t)tile) {
            const uint64_t whole = row * (uint64_t)tile, n = whole < bytes - at ? whole : bytes - at;
            status = eng_store_write(r->store, tensor + copy * r->n, at, n, encoded);
        }
    free(encoded);
    return status;
}

static int fill(rig *r, converter *convert)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < r->n && status == ENG_OK; i++) {
        const bench_operand *o = &r->what->in[r->operand[i]];
        if (o->type != ENG_TYPE_I32 && o->type != ENG_TYPE_I64)
            status = fill_values(r, convert, i, o);
        else
            for (uint32_t copy = 0; copy < r->copies && status == ENG_OK; copy++)
                status = fill_integers(r, i + copy * r->n, o);
    }
    return status;
}

/* -- the graph ------------------------------------------------------------------ */

static int build(rig *r, eng_context *context)
{
    const bench_case *c = r->what;
    int status = eng_graph_create(context, 0, &r->graph);
    if (status == ENG_OK && c->precision != ENG_PRECISION_EXACT)
        status = eng_graph_precision(r->graph, c->precision);
    for (uint32_t copy = 0; copy < r->copies && status == ENG_OK; copy++) {
        eng_value in[ENG_MAX_INPUTS];
        for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
            in[i] = ENG_NO_VALUE;
        for (uint32_t i = 0; i < r->n; i++)
            in[r->operand[i]] = eng_graph_tensor(r->graph, 0, r->store, copy * r->n + i);
        eng_graph_op(r->graph, c->op->op, in, c->op->n_in, c->ip, c->op->n_ip, c->fp, c->op->n_fp, NULL);
    }
    return status == ENG_OK ? eng_graph_seal(r->graph) : status;
}

/* Work of one op; whether it writes about as much as it reads. */
static bool weigh(const rig *r, bench_result *result)
{
    const eng_subgraph *g = eng_graph_view(r->graph);
    const eng_node *node = eng_subgraph_node(g, g->n_nodes - 1);
    const eu_work work = eu_row_work(r->what->op, g, node);
    double written = 0;
    for (uint32_t o = 0; o < r->what->op->n_out; o++)
        if (node->out[o] >= 0)
            written += (double)eng_subgraph_tensor(g, node->out[o])->bytes;
    result->bytes = work.bytes;
    result->operations = work.operations;
    bool inout = false;
    for (uint32_t i = 0; i < r->what->op->n_in; i++)
        inout |= r->what->op->in[i].inout;
    return inout || written > 0.2 * work.bytes;
}

static int prepare(rig *r, eng_context *context, converter *convert)
{
    int status = declare(r);
    if (status == ENG_OK)
        status = fill(r, convert);
    if (status == ENG_OK)
        status = build(r, context);
    if (status == ENG_OK)
        status = eng_plan_create(r->device, r->graph, &r->plan);
    if (status == ENG_OK)
        status = eng_instance_create(r->plan, &r->store, 1, &r->instance);
    return status == ENG_OK ? eng_queue_create(r->device, &r->queue) : status;
}

/* How often half of the device's memory has room for the operands: an op may read few of their bytes (experts that no token
 * asks for, rows that are not looked up). */
static double copies_with_room(const rig *r)
{
    eng_device_info info = {.size = sizeof info};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < r->n; i++)
        bytes += eng_store_bytes(r->store, i);
    if (eng_device_get_info(r->device, &info) || !info.memory_free || !bytes)
        return MOST_COPIES;
    return floor((double)info.memory_free / 2 / (double)bytes);
}

/* Operands of a working set that no cache holds.  Found by building the op once over nothing. */
static int choose_copies(rig *r, eng_context *context, const bench_settings *settings, bench_result *result)
{
    r->copies = 1;
    int status = declare(r);
    if (status == ENG_OK)
        status = build(r, context);
    if (status == ENG_OK) {
        weigh(r, result);
        double copies = result->bytes > 0 ? ceil((double)settings->working_set / result->bytes) : 1;
        if (result->operations * copies > MOST_OPERATIONS)
            copies = floor(MOST_OPERATIONS / result->operations);
        copies = fmin(copies, copies_with_room(r));
        r->copies = copies < 1 ? 1 : copies > MOST_COPIES ? MOST_COPIES : (uint32_t)copies;
    }
    dismantle(r);
    return status;
}

/* -- time ------------------------------------------------------------------------ */

static int run_once(const rig *r, double *seconds)
{
    eng_fence fence;
    const double begin = eu_seconds();
    int status = eng_queue_submit(r->queue, NULL, 0, r->instance, NULL, 0, &fence);
    if (status == ENG_OK)
        status = eng_fence_wait(fence, UINT64_MAX);
    *seconds = eu_seconds() - begin;
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

static int sample(const rig *r, double limit, bench_result *result)
{
    double *took = malloc(MOST_SAMPLES * sizeof *took), spent = 0;
    uint32_t n = 0;
    if (!took)
        return eng_fail_code(EU_NO_MEMORY("samples"));
    int status = run_once(r, &result->first);
    while (status == ENG_OK && n < MOST_SAMPLES && (n < LEAST_SAMPLES || spent < limit)) {
        status = run_once(r, &took[n]);
        spent += took[n++];
    }
    if (status == ENG_OK) {
        const double each = 1.0 / r->copies;
        result->samples = n;
        result->median = bench_median(took, n) * each;
        result->low = took[n / 10] * each;
        result->high = took[n - 1 - n / 10] * each;
    }
    free(took);
    return status;
}

/* What computes fastest of what the case may use: in precision fast products of bytes and of matrices, too. */
static int computing_roof(const bench_device *where, const bench_case *what)
{
    const bool product = !strncmp(what->op->name, "mul_mat", 7);
    int best = ENG_ROOF_FMA;
    for (int i = ENG_ROOF_INT8; product && what->precision != ENG_PRECISION_EXACT && i < BENCH_ROOFS; i++)
        best = where->roof[i] > where->roof[best] ? i : best;
    return best;
}

/* Which of the roofs binds, and how near to it the op comes. */
static void place(const bench_device *where, bool writes, bench_result *result)
{
    const int memory = writes ? ENG_ROOF_COPY : ENG_ROOF_READ;
    const double move = where->roof[memory] > 0 ? result->bytes / where->roof[memory] : 0;
    const int computing = computing_roof(where, result->what);
    const double compute = where->roof[computing] > 0 ? result->operations / where->roof[computing] : 0;
    const double least = move > compute ? move : compute;
    result->roof = least <= 0 ? 0 : move >= compute ? memory : computing;
    result->share = result->median > 0 ? least / result->median : 0;
}

void bench_run(eng_context *context, converter *convert, bench_device *device, const bench_case *what,
               const bench_settings *settings, bench_result *result)
{
    rig r = {.what = what, .device = device->device};
    *result = (bench_result){.what = what, .where = device};
    for (uint32_t i = 0; i < what->op->n_in; i++)
        if (what->in[i].present)
            r.operand[r.n++] = i;
    int status = choose_copies(&r, context, settings, result);
    if (status == ENG_OK)
        status = prepare(&r, context, convert);
    if (status == ENG_OK)
        status = sample(&r, settings->seconds, result);
    if (status == ENG_OK) {
        eng_plan_info info = {.size = sizeof info};
        if (eng_plan_get_info(r.plan, &info) == ENG_OK)
            result->launches = (info.n_launches + r.copies - 1) / r.copies;
        place(device, weigh(&r, result), result);
    } else {
        eu_copy(result->why, sizeof result->why, eng_last_error());
    }
    result->status = status;
    result->copies = r.copies;
    dismantle(&r);
}

void bench_measure(eng_context *context, bench_device *device)
{
    static const bench_settings settings = {.seconds = 0.05, .working_set = 0};
    char why[256];
    bench_cases nothing = {0};
    bench_result result;
    for (int i = ENG_ROOF_READ; i < BENCH_ROOFS; i++)
        if (eng_device_roof(device->device, (eng_roof)i, &device->roof[i]) != ENG_OK)
            device->roof[i] = 0;
    if (bench_case_add(&nothing, "scale x=f32[16]", why, sizeof why)) {
        converter *convert = NULL;
        if (converter_create(context, device->name, NULL, &convert) == ENG_OK) {
            bench_run(context, convert, device, &nothing.at[0], &settings, &result);
            device->empty = result.status == ENG_OK ? result.low : 0;
        }
        converter_destroy(convert);
    }
    bench_cases_free(&nothing);
}
