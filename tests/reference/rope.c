/* Rotary position embedding, all modes. */
#include "config.h"

#include "ref.h"

#include <math.h>

struct rope {
    int64_t n_dims, mode, offset, sect[4];
    double base, scale, ext, attn, lo, hi, sign;
    bool multi;
};

static struct rope settings(const ref_call *c)
{
    struct rope r = {.n_dims = c->ip[ENG_ROPE_N_DIMS],
                     .mode = c->ip[ENG_ROPE_MODE],
                     .offset = c->ip[ENG_ROPE_OFFSET],
                     .base = c->fp[ENG_ROPE_BASE],
                     .scale = c->fp[ENG_ROPE_FREQ_SCALE],
                     .ext = c->fp[ENG_ROPE_EXT_FACTOR],
                     .attn = c->fp[ENG_ROPE_ATTN_FACTOR],
                     .sign = c->ip[ENG_ROPE_INVERSE] ? -1 : 1};
    double n = (double)r.n_dims, ctx = (double)c->ip[ENG_ROPE_N_CTX_ORIG];

    r.multi = r.mode & 8;
    for (int i = 0; i < 4; i++)
        r.sect[i] = c->ip[ENG_ROPE_SECTION0 + i];
    if (r.ext != 0) {
        r.lo = fmax(0, floor(n * log(ctx / (2 * M_PI * c->fp[ENG_ROPE_BETA_FAST])) / (2 * log(r.base))));
        r.hi = fmin(n - 1, ceil(n * log(ctx / (2 * M_PI * c->fp[ENG_ROPE_BETA_SLOW])) / (2 * log(r.base))));
        r.attn *= 1 + 0.1 * log(1 / r.scale);
    }
    return r;
}

/* Which of the four position streams pair i follows, and in vision mode how far
 * it is from the start of its section. */
static int stream(const struct rope *r, int64_t i, int64_t *exponent)
{
    const int64_t *s = r->sect;
    int64_t all = s[0] + s[1] + s[2] + s[3], q;

    *exponent = i;
    if (!r->multi || all <= 0)
        return 0;
    q = i % all;
    if (r->mode == ENG_ROPE_IMROPE)
        return q % 3 == 1 && q < 3 * s[1] ? 1 : q % 3 == 2 && q < 3 * s[2] ? 2 : q % 3 == 0 && q < 3 * s[0] ? 0 : 3;
    int k = 0;
    int64_t start = 0;
    while (k < 3 && q >= start + s[k])
        start += s[k++];
    if (r->mode == ENG_ROPE_VISION)
        *exponent = q - start;
    return k;
}

static double angle(const struct rope *r, const ref_tensor *pos, const ref_tensor *ff, int64_t i, int64_t t)
{
    int64_t exponent;
    int k = stream(r, i, &exponent);
    double p = pos->data[ref_at4(pos, t, k, 0, 0)];
    double e = p * pow(r->base, -2.0 * (double)exponent / (double)r->n_dims) / (ff ? ff->data[i * ff->st[0]] : 1);

    if (r->ext == 0)
        return r->scale * e;
    double ramp = ((double)i - r->lo) / fmax(0.001, r->hi - r->lo);
    double mix = r->ext * (1 - fmin(1, fmax(0, ramp)));
    return (1 - mix) * r->scale * e + mix * e;
}

int ref_op_rope(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    struct rope r = settings(c);
    int64_t i[ENG_MAX_RANK] = {0}, d = x->ne[0];
    ref_tensor *y = &c->out[0];

    if (r.n_dims < 0 || r.n_dims % 2 || r.offset + r.n_dims > d)
        return -2;
    if (!ref_alloc(y, x->ne, 4, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(x))
        return 0;
    do {
        if (i[0])
            continue;
        int64_t in = ref_at(x, i), out = ref_at(y, i);
        for (int64_t l = 0; l < d; l++) {
            y->data[out + l] = x->data[in + l * x->st[0]];
            y->mag[out + l] = fabs(y->data[out + l]);
        }
        int64_t pairs = r.mode == ENG_ROPE_VISION ? d / 2 : r.n_dims / 2;
        for (int64_t l = 0; l < pairs; l++) {
            int64_t a = r.mode == ENG_ROPE_NORMAL ? r.offset + 2 * l : r.offset + l;
            int64_t b = r.mode == ENG_ROPE_NORMAL ? a + 1 : r.mode == ENG_ROPE_VISION ? a + d / 2 : a + r.n_dims / 2;
            double theta = angle(&r, c->in[1], c->in[2], l, i[2]), co = cos(theta), si = r.sign * sin(theta);
            double u = x->data[in + a * x->st[0]], v = x->data[in + b * x->st[0]];
            y->data[out + a] = r.attn * (u * co - v * si);
            y->data[out + b] = r.attn * (u * si + v * co);
            /* the angle is itself a rounded product */
            y->mag[out + a] = y->mag[out + b] = fabs(r.attn) * hypot(u, v) * (1 + fabs(theta));
        }
    } while (ref_next(x->ne, i));
    return 0;
}
