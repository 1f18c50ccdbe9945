/*
 * Rotary position embedding.  Angles are counted in 2^-64 of a turn, so that far positions keep their precision: what a
 * position makes of one is exact but for whole turns, which are of no interest.  The sines and cosines of a token serve all
 * of its heads.
 */
#include "loops.h"

#include "op.h"

/* What does not depend on the token: for each pair how far a position turns it, the position stream that it follows, and the
 * amplitude. */
typedef struct rope_pairs {
    int64_t n;       /* pairs                                                */
    int64_t offset;  /* first rotated channel                                */
    bool neighbours; /* the elements of a pair; else they are n apart        */
    uint64_t *step;  /* 2^-64 of a turn                                      */
    int32_t *stream; /* LOST: the frequency is no number                     */
    float amplitude;
} rope_pairs;

static int stream_of(int64_t mode, const int64_t *s, int64_t pair, int64_t *within)
{
    int64_t total = s[0] + s[1] + s[2] + s[3], q = total > 0 ? pair % total : 0;
    *within = q;
    if (mode == ENG_ROPE_IMROPE) {
        if (q % 3 == 1 && q < 3 * s[1])
            return 1;
        if (q % 3 == 2 && q < 3 * s[2])
            return 2;
        return q % 3 == 0 && q < 3 * s[0] ? 0 : 3;
    }
    for (int i = 0; i < 3; i++) {
        if (q < s[i]) {
            *within = q;
            return i;
        }
        q -= s[i];
    }
    *within = q;
    return 3;
}

/* The pair at which a rotation by a full turn happens `beta` times within the
 * original context (YaRN, arXiv:2309.00071). */
static double yarn_pair(double n_dims, double n_ctx, double beta, double base)
{
    return n_dims * log(n_ctx / (2 * M_PI * beta)) / (2 * log(base));
}

#define LOST (-1)

static uint64_t turns_of(double frequency)
{
    const double turns = frequency * (1 / (2 * M_PI));
    return 2 * (uint64_t)(int64_t)((turns - rint(turns)) * 0x1p63);
}

/* power: room for a number of each pair. */
static void prepare_pairs(const cpu_task *task, rope_pairs *p, double *power)
{
    const eng_node *node = task->node;
    const cpu_tensor *ff = task->in[2];
    int64_t mode = node->ip[ENG_ROPE_MODE], n_dims = node->ip[ENG_ROPE_N_DIMS];
    double base = node->fp[ENG_ROPE_BASE], scale = node->fp[ENG_ROPE_FREQ_SCALE], ext = node->fp[ENG_ROPE_EXT_FACTOR];
    bool vision = mode == ENG_ROPE_VISION, streams = (mode & 8) != 0;
    p->n = vision ? task->out[0]->ne[0] / 2 : n_dims / 2;
    p->offset = node->ip[ENG_ROPE_OFFSET];
    p->neighbours = mode == ENG_ROPE_NORMAL;
    double lo = 0, hi = 0, amplitude = node->fp[ENG_ROPE_ATTN_FACTOR];
    if (ext != 0) {
        double n_ctx = (double)node->ip[ENG_ROPE_N_CTX_ORIG];
        lo = fmax(0, floor(yarn_pair((double)n_dims, n_ctx, node->fp[ENG_ROPE_BETA_FAST], base)));
        hi = fmin((double)n_dims - 1, ceil(yarn_pair((double)n_dims, n_ctx, node->fp[ENG_ROPE_BETA_SLOW], base)));
        amplitude *= 1 + 0.1 * log(1 / scale);
    }
    p->amplitude = (float)amplitude;
    const double ratio = pow(base, -2.0 / (double)n_dims);
    power[0] = 1;
    for (int64_t i = 1; i < p->n; i++)
        power[i] = power[i - 1] * ratio;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t within = 0;
        p->stream[i] = streams ? stream_of(mode, node->ip + ENG_ROPE_SECTION0, i, &within) : 0;
        double f = power[vision ? within : i];
        if (ff)
            f /= tail_f32(ff->data + i * ff->nb[0]);
        double mixed = scale * f;
        if (ext != 0) {
            double ramp = ((double)i - lo) / fmax(0.001, hi - lo);
            double r = ext * (1 - fmin(1, fmax(0, ramp)));
            mixed = (1 - r) * scale * f + r * f;
        }
        const bool lost = !isfinite(mixed);
        p->step[i] = lost ? 0 : turns_of(node->ip[ENG_ROPE_INVERSE] ? -mixed : mixed);
        p->stream[i] = lost ? LOST : p->stream[i];
    }
}

/* Of u eighths of a turn, u at most 1 either way; the polynomials that meet sine and cosine at Chebyshev's points. */
CPU_INLINE vf sine(vf u, vf uu)
{
    return u * (0.785398161f + uu * (-0.0807454347f + uu * (0.0024900068f + uu * -3.595429e-05f)));
}

CPU_INLINE vf cosine(vf uu)
{
    return 1 + uu * (-0.3084251352f + uu * (0.0158543252f + uu * (-0.0003259386f + uu * 3.5297971e-06f)));
}

/* Minus x if the half is odd of the circle that the quarter is in. */
CPU_INLINE vf signed_by(vf x, vu quarter)
{
    return (vf)((vu)x ^ (quarter << 30 & 0x80000000u));
}

/* Sines and cosines of vectors of angles of 2^-32 of a turn. */
static void sines(const rope_pairs *p, const uint32_t *angle, float *c, float *s)
{
    for (int64_t i = 0; i < p->n; i += CPU_VL) {
        vu a;
        memcpy(&a, angle + i, sizeof a);
        const vu quarter = (a + (1u << 29)) >> 30;
        const vf u = v_cvt((vi)(a - (quarter << 30))) * 0x1p-29f, uu = u * u;
        const vf x = cosine(uu), y = sine(u, uu);
        const vi odd = -(vi)(quarter & 1);
        v_store(c + i, signed_by(v_select(odd, y, x), quarter + 1) * p->amplitude);
        v_store(s + i, signed_by(v_select(odd, x, y), quarter) * p->amplitude);
    }
}

/* For pairs of neighbours: each number once for both. */
static void spread(const rope_pairs *p, const float *c, const float *s, float *cc, float *ss)
{
    for (int64_t i = 0; i < p->n; i++) {
        cc[2 * i] = cc[2 * i + 1] = c[i];
        ss[2 * i] = -s[i];
        ss[2 * i + 1] = s[i];
    }
}

typedef uint64_t vpair __attribute__((vector_size(4 * CPU_VL)));

/* Pairs of neighbours. */
static void rotate_neighbours(const float *x, float *y, int64_t n, const float *cc, const float *ss)
{
    int64_t i = 0;
    for (; i + CPU_VL <= n; i += CPU_VL) {
        const vf a = v_load(x + i), b = (vf)((vpair)a >> 32 | (vpair)a << 32);
        v_store(y + i, a * v_load(cc + i) + b * v_load(ss + i));
    }
    for (; i < n; i += 2) {
        const float re = x[i], im = x[i + 1];
        y[i] = re * cc[i] + im * ss[i];
        y[i + 1] = im * cc[i] + re * ss[i + 1];
    }
}

/* (check-loops.sh looks at it.) */
static __attribute__((noinline)) void rotate_apart(const float *a, const float *b, float *u, float *v, int64_t n,
                                                   const float *c, const float *s)
{
    for (int64_t i = 0; i < n; i++) {
        const float re = a[i], im = b[i];
        u[i] = re * c[i] - im * s[i];
        v[i] = re * s[i] + im * c[i];
    }
}

static void rotate(const rope_pairs *p, const float *x, float *y, int64_t d, const float *c, const float *s)
{
    const int64_t end = p->offset + 2 * p->n;
    if (x != y) {
        memcpy(y, x, (size_t)p->offset * sizeof *y);
        memcpy(y + end, x + end, (size_t)(d - end) * sizeof *y);
    }
    x += p->offset;
    y += p->offset;
    if (p->neighbours)
        rotate_neighbours(x, y, 2 * p->n, c, s);
    else
        rotate_apart(x, x + p->n, y, y + p->n, p->n, c, s);
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    return 2 * floats(2 * task->out[0]->ne[0]) + 7 * floats(task->out[0]->ne[0]);
}

/* Sines and cosines of token t; angle: room for those of all pairs. */
static void angles(const rope_pairs *p, const cpu_tensor *pos, int64_t t, uint32_t *angle, float *c, float *s)
{
    bool lost = false;
    for (int64_t i = 0; i < p->n; i++) {
        const int32_t stream = p->stream[i] == LOST ? 0 : p->stream[i];
        const int32_t at = (int32_t)index_at(pos, pos->data + t * pos->nb[0] + stream * pos->nb[1]);
        angle[i] = (uint32_t)((uint64_t)(int64_t)at * p->step[i] >> 32);
        lost |= p->stream[i] == LOST;
    }
    sines(p, angle, c, s);
    for (int64_t i = 0; i < p->n && lost; i++)
        if (p->stream[i] == LOST)
            c[i] = s[i] = NAN;
}

static void run_rope(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *pos = task->in[1], *y = task->out[0];
    int64_t d = y->ne[0], heads = y->ne[1], tokens = y->ne[2], begin, end;
    uint8_t *scratch = run->scratch;
    rope_pairs p;
    p.step = (uint64_t *)take_floats(&scratch, 2 * d);
    p.stream = (int32_t *)take_floats(&scratch, d);
    double *power = (double *)take_floats(&scratch, 2 * d);
    uint32_t *angle = (uint32_t *)take_floats(&scratch, d);
    float *c = take_floats(&scratch, d), *s = take_floats(&scratch, d), *buffer = take_floats(&scratch, d);
    float *cc = take_floats(&scratch, d), *ss = take_floats(&scratch, d);
    cpu_share(run, tokens, 1, &begin, &end);
    if (begin == end)
        return;
    prepare_pairs(task, &p, power);
    int64_t batches = y->rows / (heads && tokens ? heads * tokens : 1);
    for (int64_t t = begin; t < end; t++) {
        angles(&p, pos, t, angle, c, s);
        if (p.neighbours)
            spread(&p, c, s, cc, ss);
        /* all batches of a token share its angles */
        for (int64_t b = 0; b < batches; b++)
            for (int64_t h = 0; h < heads; h++) {
                int64_t row = (b * tokens + t) * heads + h;
                const float *a = cpu_row_f32(x, row_number(x, row), buffer);
                for (int64_t i = 0; i < d; i += 16)
                    ask_stream(a + i, 16);
                rotate(&p, a, out_row(y, row), d, p.neighbours ? cc : c, p.neighbours ? ss : s);
            }
    }
}

CPU_DEFINE_WITH(rope, run_rope, thread_bytes, NULL)
