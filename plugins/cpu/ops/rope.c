/*
 * Rotary position embedding.  Angles are formed in double, so that far
 * positions keep their precision; the sines and cosines of a token serve all
 * of its heads.
 */
#include "loops.h"

#include "op.h"

/* What does not depend on the token: for each pair its frequency, the position
 * stream it follows, and the amplitude. */
typedef struct rope_pairs {
    int64_t n;       /* pairs                                                */
    int64_t offset;  /* first rotated channel                                */
    int64_t partner; /* distance of the two elements of a pair               */
    int64_t step;    /* channels from one pair to the next: 2 or 1           */
    double *frequency;
    int32_t *stream;
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

static void prepare_pairs(const cpu_task *task, rope_pairs *p)
{
    const eng_node *node = task->node;
    const cpu_tensor *ff = task->in[2];
    int64_t mode = node->ip[ENG_ROPE_MODE], n_dims = node->ip[ENG_ROPE_N_DIMS];
    double base = node->fp[ENG_ROPE_BASE], scale = node->fp[ENG_ROPE_FREQ_SCALE], ext = node->fp[ENG_ROPE_EXT_FACTOR];
    bool vision = mode == ENG_ROPE_VISION, streams = (mode & 8) != 0;
    p->n = vision ? task->out[0]->ne[0] / 2 : n_dims / 2;
    p->offset = node->ip[ENG_ROPE_OFFSET];
    p->step = mode == ENG_ROPE_NORMAL ? 2 : 1;
    p->partner = mode == ENG_ROPE_NORMAL ? 1 : p->n;
    double lo = 0, hi = 0, amplitude = node->fp[ENG_ROPE_ATTN_FACTOR];
    if (ext != 0) {
        double n_ctx = (double)node->ip[ENG_ROPE_N_CTX_ORIG];
        lo = fmax(0, floor(yarn_pair((double)n_dims, n_ctx, node->fp[ENG_ROPE_BETA_FAST], base)));
        hi = fmin((double)n_dims - 1, ceil(yarn_pair((double)n_dims, n_ctx, node->fp[ENG_ROPE_BETA_SLOW], base)));
        amplitude *= 1 + 0.1 * log(1 / scale);
    }
    p->amplitude = (float)amplitude;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t within = 0;
        p->stream[i] = streams ? stream_of(mode, node->ip + ENG_ROPE_SECTION0, i, &within) : 0;
        double exponent = -2.0 * (double)(vision ? within : i) / (double)n_dims;
        double f = pow(base, exponent);
        if (ff)
            f /= tail_f32(ff->data + i * ff->nb[0]);
        double mixed = scale * f;
        if (ext != 0) {
            double ramp = ((double)i - lo) / fmax(0.001, hi - lo);
            double r = ext * (1 - fmin(1, fmax(0, ramp)));
            mixed = (1 - r) * scale * f + r * f;
        }
        p->frequency[i] = node->ip[ENG_ROPE_INVERSE] ? -mixed : mixed;
    }
}

/* Sine and cosine of an angle; reduced in double, then f32 is enough. */
CPU_INLINE void angle(double theta, float *c, float *s)
{
    double turns = theta * (1 / (2 * M_PI));
    float r = (float)((turns - rint(turns)) * (2 * M_PI));
    *c = cosf(r);
    *s = sinf(r);
}

static void rotate(const rope_pairs *p, const float *x, float *y, int64_t d, const float *c, const float *s)
{
    if (x != y)
        memcpy(y, x, (size_t)d * sizeof *y);
    const float *a = x + p->offset, *b = a + p->partner;
    float *u = y + p->offset, *v = u + p->partner;
    if (p->step == 1)
        for (int64_t i = 0; i < p->n; i++) {
            float re = a[i], im = b[i];
            u[i] = re * c[i] - im * s[i];
            v[i] = re * s[i] + im * c[i];
        }
    else
        for (int64_t i = 0; i < p->n; i++) {
            float re = a[2 * i], im = b[2 * i];
            u[2 * i] = re * c[i] - im * s[i];
            v[2 * i] = re * s[i] + im * c[i];
        }
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    return 6 * floats(2 * task->out[0]->ne[0]);
}

static void run_rope(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *pos = task->in[1], *y = task->out[0];
    int64_t d = y->ne[0], heads = y->ne[1], tokens = y->ne[2], begin, end;
    uint8_t *scratch = run->scratch;
    rope_pairs p;
    p.frequency = (double *)take_floats(&scratch, 2 * d);
    p.stream = (int32_t *)take_floats(&scratch, d);
    float *c = take_floats(&scratch, d), *s = take_floats(&scratch, d), *buffer = take_floats(&scratch, d);
    prepare_pairs(task, &p);
    /* all batches of a token share its angles */
    cpu_share(run, tokens, 1, &begin, &end);
    int64_t batches = y->rows / (heads && tokens ? heads * tokens : 1);
    for (int64_t t = begin; t < end; t++) {
        for (int64_t i = 0; i < p.n; i++) {
            int32_t at = (int32_t)index_at(pos, pos->data + t * pos->nb[0] + p.stream[i] * pos->nb[1]);
            angle((double)at * p.frequency[i], &c[i], &s[i]);
            c[i] *= p.amplitude;
            s[i] *= p.amplitude;
        }
        for (int64_t b = 0; b < batches; b++)
            for (int64_t h = 0; h < heads; h++) {
                int64_t row = (b * tokens + t) * heads + h;
                const float *a = cpu_row_f32(x, row_number(x, row), buffer);
                for (int64_t i = 0; i < d; i += 16)
                    ask_stream(a + i, 16);
                rotate(&p, a, out_row(y, row), d, c, s);
            }
    }
}

CPU_DEFINE_WITH(rope, run_rope, thread_bytes, NULL)
