/* Norms and softmax over rows. */
#include "config.h"

#include "ref.h"

#include <math.h>

static double weight(const ref_tensor *w, int64_t i, double none)
{
    return w ? w->data[i * w->st[0]] : none;
}

static int norms(ref_call *c)
{
    const ref_tensor *x = c->in[0], *w = c->op == ENG_OP_L2_NORM ? NULL : c->in[1];
    const ref_tensor *bias = c->op == ENG_OP_NORM ? c->in[2] : NULL;
    double eps = c->fp[ENG_NORM_EPS];
    int64_t i[ENG_MAX_RANK] = {0}, n = x->ne[0];
    ref_tensor *y = &c->out[0];

    if (!ref_alloc(y, x->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(x))
        return 0;
    do {
        if (i[0])
            continue;
        const double *in = x->data + ref_at(x, i);
        int64_t out = ref_at(y, i);
        double mean = 0, square = 0, size = 0;
        for (int64_t l = 0; l < n; l++) {
            mean += in[l * x->st[0]] / (double)n;
            size += fabs(in[l * x->st[0]]) / (double)n;
        }
        if (c->op != ENG_OP_NORM)
            mean = size = 0;
        for (int64_t l = 0; l < n; l++)
            square += (in[l * x->st[0]] - mean) * (in[l * x->st[0]] - mean);
        double length = sqrt(square); /* of a row with NaN it is NaN, not eps */
        double s = c->op == ENG_OP_L2_NORM ? 1 / (length < eps ? eps : length) : 1 / sqrt(square / (double)n + eps);
        for (int64_t l = 0; l < n; l++) {
            double v = in[l * x->st[0]], f = weight(w, l, 1);
            y->data[out + l] = (v - mean) * s * f + weight(bias, l, 0);
            /* the mean's own error is of the size of the mean absolute value */
            y->mag[out + l] = (fabs(v - mean) + size) * s * fabs(f) + fabs(weight(bias, l, 0));
        }
    } while (ref_next(x->ne, i));
    return 0;
}

int ref_op_rms_norm(ref_call *c)
{
    return norms(c);
}

int ref_op_norm(ref_call *c)
{
    return norms(c);
}

int ref_op_l2_norm(ref_call *c)
{
    return norms(c);
}

int ref_op_group_norm(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    int64_t channels = x->ne[2], groups = c->ip[ENG_GROUP_NORM_GROUPS];
    ref_tensor *y = &c->out[0];

    if (groups < 1)
        return -2;
    if (!ref_alloc(y, x->ne, 4, true, false))
        return -1;
    c->n_out = 1;
    int64_t per = (channels + groups - 1) / groups;
    for (int64_t b = 0; b < x->ne[3]; b++)
        for (int64_t first = 0; first < channels; first += per) {
            int64_t end = first + per < channels ? first + per : channels;
            double n = (double)(x->ne[0] * x->ne[1] * (end - first)), mean = 0, var = 0, size = 0;
            for (int pass = 0; pass < 3; pass++)
                for (int64_t l = first; l < end; l++)
                    for (int64_t h = 0; h < x->ne[1]; h++)
                        for (int64_t w = 0; w < x->ne[0]; w++) {
                            double v = x->data[ref_at4(x, w, h, l, b)];
                            int64_t at = ref_at4(y, w, h, l, b);
                            if (pass == 0) {
                                mean += v / n;
                                size += fabs(v) / n;
                            } else if (pass == 1) {
                                var += (v - mean) * (v - mean) / n;
                            } else {
                                double s = 1 / sqrt(var + c->fp[ENG_NORM_EPS]);
                                y->data[at] = (v - mean) * s;
                                y->mag[at] = (fabs(v - mean) + size) * s;
                            }
                        }
        }
    return 0;
}

int ref_op_soft_max(ref_call *c)
{
    const ref_tensor *x = c->in[0], *mask = c->in[1], *sinks = c->in[2];
    double scale = c->fp[ENG_SOFT_MAX_SCALE], bias = c->fp[ENG_SOFT_MAX_MAX_BIAS];
    int64_t i[ENG_MAX_RANK] = {0}, n = x->ne[0];
    ref_tensor *y = &c->out[0];

    if (!ref_alloc(y, x->ne, 4, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(x))
        return 0;
    do {
        if (i[0])
            continue;
        int64_t in = ref_at(x, i), out = ref_at(y, i), m = mask ? ref_at_mod(mask, i) : 0;
        double sink = sinks ? sinks->data[i[2] * sinks->st[0]] : -INFINITY, max = sink, sum = 0;
        double slope = ref_slope(bias, i[2], x->ne[2]), noise = 0;
        bool bad = isnan(sink) || sink == INFINITY;
        for (int64_t l = 0; l < n; l++) {
            double v = scale * x->data[in + l * x->st[0]], a = mask ? slope * mask->data[m + l * mask->st[0]] : 0;
            y->data[out + l] = v + a;
            y->mag[out + l] = isfinite(a) ? fabs(v) + fabs(a) : fabs(v);
            bad |= isnan(v + a) || v + a == INFINITY;
            max = fmax(max, v + a);
        }
        for (int64_t l = 0; l < n; l++) {
            double e = y->data[out + l] == -INFINITY ? 0 : exp(y->data[out + l] - max);
            sum += e;
            if (e > 0)
                noise += e * y->mag[out + l];
        }
        noise = sum > 0 ? noise / sum : 0;
        sum += sinks && isfinite(sink) ? exp(sink - max) : 0;
        for (int64_t l = 0; l < n; l++) {
            double e = y->data[out + l] == -INFINITY ? 0 : exp(y->data[out + l] - max);
            y->data[out + l] = bad ? NAN : sum > 0 ? e / sum : 0;
            y->mag[out + l] = y->data[out + l] == 0 ? 0 : y->data[out + l] * (1 + y->mag[out + l] + noise);
        }
    } while (ref_next(x->ne, i));
    return 0;
}
