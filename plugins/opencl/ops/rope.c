/* rope: rotary position embedding; frequencies are computed here, in double. */
#include "hot.h"
#include "rope.h"
#include "rows.h"
#include "stream.h"

#include <math.h>

/* As in kernels/rope.clh: turns a position, as a float and what it lacks. */
typedef struct rope_pair { float turns, rest; int32_t stream; } rope_pair;

/* The position stream that pair i follows; *exponent: of its frequency. */
static int32_t stream_of(const eng_node *node, int64_t i, int64_t *exponent)
{
    const int64_t *s = &node->ip[ENG_ROPE_SECTION0], mode = node->ip[ENG_ROPE_MODE];
    int64_t all = s[0] + s[1] + s[2] + s[3], begin = 0;
    *exponent = i;
    if (all <= 0)
        return 0;
    int64_t q = i % all;
    if (mode == ENG_ROPE_IMROPE) {
        int32_t k = (int32_t)(q % 3);
        return q < 3 * s[k] ? k : 3;
    }
    int32_t k = 0;
    while (k < 3 && q >= begin + s[k])
        begin += s[k++];
    if (mode == ENG_ROPE_VISION)
        *exponent = q - begin;
    return k;
}

/* Where YaRN's ramp begins or ends: the pair that turns `beta` times in the
 * original context. */
static double corner(const eng_node *node, double beta)
{
    const double pi = 3.14159265358979323846;
    double n = (double)node->ip[ENG_ROPE_N_DIMS];
    return n * log((double)node->ip[ENG_ROPE_N_CTX_ORIG] / (2 * pi * beta)) / (2 * log(node->fp[ENG_ROPE_BASE]));
}

static int fill_table(cl_recorder *r, const eng_node *node, cl_rope *p)
{
    const double pi = 3.14159265358979323846;
    double n = (double)node->ip[ENG_ROPE_N_DIMS], base = node->fp[ENG_ROPE_BASE], ext = node->fp[ENG_ROPE_EXT_FACTOR];
    double scale = node->fp[ENG_ROPE_FREQ_SCALE], low = 0, high = 0;
    if (ext != 0) {
        low = fmax(0, floor(corner(node, node->fp[ENG_ROPE_BETA_FAST])));
        high = fmin(n - 1, ceil(corner(node, node->fp[ENG_ROPE_BETA_SLOW])));
    }
    rope_pair *table = calloc((size_t)p->pairs + 1, sizeof *table);
    if (!table)
        return r->status = cl_no_memory(r->device, "a plan");
    for (int64_t i = 0; i < p->pairs; i++) {
        int64_t exponent = i;
        if (p->streams)
            table[i].stream = stream_of(node, i, &exponent);
        double f = pow(base, -2.0 * (double)exponent / n), factor = scale;
        if (ext != 0) {
            double ramp = fmin(1, fmax(0, ((double)i - low) / fmax(0.001, high - low))), mix = ext * (1 - ramp);
            factor = (1 - mix) * scale + mix;
        }
        const double turns = f * factor / (2 * pi);
        table[i].turns = (float)turns;
        table[i].rest = (float)(turns - (double)table[i].turns);
    }
    p->table = cl_constant(r, table, (uint64_t)(p->pairs + 1) * sizeof *table);
    free(table);
    p->scale = (float)(node->fp[ENG_ROPE_ATTN_FACTOR] * (ext != 0 ? 1 + 0.1 * log(1 / scale) : 1));
    return r->status;
}

int cl_rope_prepare(cl_recorder *r, const eng_node *node, cl_rope *p)
{
    const eng_tensor *x = cl_in(r->graph, node, 0), *pos = cl_in(r->graph, node, 1);
    const int64_t mode = node->ip[ENG_ROPE_MODE];
    const bool vision = mode == ENG_ROPE_VISION;
    p->streams = (mode & 8) != 0;
    p->pairs = vision ? x->ne[0] / 2 : node->ip[ENG_ROPE_N_DIMS] / 2;
    p->distance = vision ? x->ne[0] / 2 : p->pairs;
    p->step = pos->ne[0] == 1 ? 4 : pos->nb[0];
    p->stream = (pos->rank > 1 ? pos->nb[1] : 0) / 4;
    return fill_table(r, node, p);
}

void cl_rope_options(const eng_node *node, const cl_rope *p, char options[CL_ROPE_OPTIONS])
{
    snprintf(options, CL_ROPE_OPTIONS, "%s%s%s", node->ip[ENG_ROPE_MODE] == ENG_ROPE_NORMAL ? "-DNORMAL=1 " : "",
             p->streams ? "-DSTREAMS=1 " : "", node->in[2] >= 0 ? "-DFF=1 " : "");
}

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const cl_rope *p = ctx;
    const eng_node *node = r->node;
    char options[CL_ROPE_OPTIONS + 32], common[CL_ROPE_OPTIONS];
    const bool lines = node->ip[ENG_ROPE_OFFSET] % 16 == 0 && p->distance % 16 == 0; /* does all that is rotated begin at one? */
    cl_rope_options(node, p, common);
    snprintf(options, sizeof options, "%s%s%s", common, cl_in(r->graph, node, 0)->type == ENG_TYPE_F16 ? "-DHALF=1" : "",
             lines ? cl_stream_option(r, w, 1) : "");
    cl_launch(r, "rope", "rope", options);
    cl_arg_walk(r, w, 0);
    cl_arg_tensor(r, node->in[1], (uint64_t)(w->first[2] * p->step));
    cl_arg_operand(r, 2);
    cl_arg_constant(r, p->table);
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
    cl_arg_long(r, p->step);
    cl_arg_long(r, p->stream);
    cl_arg_int(r, (int32_t)node->ip[ENG_ROPE_OFFSET]);
    cl_arg_int(r, (int32_t)p->pairs);
    cl_arg_int(r, (int32_t)p->distance);
    cl_arg_float(r, p->scale);
    cl_arg_float(r, node->ip[ENG_ROPE_INVERSE] ? -1.0f : 1.0f);
    uint64_t tokens = (uint64_t)(w->ne[2] * w->ne[3]);
    if (r->device->vec) {
        cl_size1(r, tokens, 1);
    } else { /* several heads a work-item where there are plenty */
        const uint64_t heads = (uint64_t)w->ne[1], pairs = (uint64_t)(w->ne[0] + 1) / 2;
        const uint64_t each = pairs * heads * tokens / (512u * r->device->compute_units) + 1;
        cl_size3(r, pairs, pairs >= 64 && r->device->max_group >= 64 ? 64 : 32, cl_ceil(heads, each < 8 ? each : 8), 1, tokens, 1);
    }
}

/* Positions and divisors: a token's positions lie as far apart as there are tokens. */
static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    return cl_whole_supports(device, g, node, 1, 2, reason, bytes);
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_rope p;
    if (cl_rope_prepare(r, node, &p) != ENG_OK)
        return r->status;
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    return cl_walk_run(r, &w, 4, part, &p);
}

const cl_op cl_op_rope = {.supports = supports, .record = record};
