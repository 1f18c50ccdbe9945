/* Gated linear units: f(a) * b, or the two halves of each row of a. */
#include "elementwise.h"

typedef struct glu_params {
    int64_t kind;
    float alpha, limit;
} glu_params;

CPU_INLINE vf gated(vf x, vf y, const glu_params *p, int64_t kind)
{
    switch (kind) {
    case ENG_GLU_REGLU: return v_relu(x) * y;
    case ENG_GLU_GEGLU: return v_gelu(x) * y;
    case ENG_GLU_SWIGLU: return v_silu(x) * y;
    case ENG_GLU_GEGLU_ERF: return v_gelu_erf(x) * y;
    case ENG_GLU_GEGLU_QUICK: return v_gelu_quick(x) * y;
    default: {
        vf limit = v_set1(p->limit), g = v_min(x, limit), u = v_max(v_min(y, limit), -limit);
        return g / (1.0f + v_exp(-p->alpha * g)) * (u + 1.0f);
    }
    }
}

CPU_INLINE void kind_row(const float *a, const float *b, float *o, int64_t n, const glu_params *p, int64_t kind)
{
    int64_t i = 0;
    for (; i + CPU_VL <= n; i += CPU_VL)
        v_store(o + i, gated(v_load(a + i), v_load(b + i), p, kind));
    if (i < n) {
        float ta[CPU_VL] = {0}, tb[CPU_VL] = {0};
        memcpy(ta, a + i, (size_t)(n - i) * 4);
        memcpy(tb, b + i, (size_t)(n - i) * 4);
        v_store(ta, gated(v_load(ta), v_load(tb), p, kind));
        memcpy(o + i, ta, (size_t)(n - i) * 4);
    }
}

static void glu_row(const float *a, const float *b, float *o, int64_t n, const glu_params *p)
{
    switch (p->kind) {
    case ENG_GLU_REGLU: kind_row(a, b, o, n, p, ENG_GLU_REGLU); break;
    case ENG_GLU_GEGLU: kind_row(a, b, o, n, p, ENG_GLU_GEGLU); break;
    case ENG_GLU_SWIGLU: kind_row(a, b, o, n, p, ENG_GLU_SWIGLU); break;
    case ENG_GLU_GEGLU_ERF: kind_row(a, b, o, n, p, ENG_GLU_GEGLU_ERF); break;
    case ENG_GLU_GEGLU_QUICK: kind_row(a, b, o, n, p, ENG_GLU_GEGLU_QUICK); break;
    default: kind_row(a, b, o, n, p, ENG_GLU_SWIGLU_OAI); break;
    }
}

CPU_DECLARE(glu)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *o = task->out[0];
    const glu_params p = {task->node->ip[ENG_GLU_KIND], (float)task->node->fp[ENG_GLU_ALPHA],
                          (float)task->node->fp[ENG_GLU_LIMIT]};
    int64_t begin, end, n = o->ne[0];
    if (b && flat_f32(a) && flat_f32(b)) {
        cpu_share(run, count(o), 256, &begin, &end);
        glu_row((const float *)a->data + begin, (const float *)b->data + begin, (float *)o->data + begin, end - begin,
                &p);
        return;
    }
    uint8_t *scratch = run->scratch;
    float *buffer_a = take_floats(&scratch, a->ne[0]), *buffer_b = take_floats(&scratch, n);
    bool swapped = task->node->ip[ENG_GLU_SWAPPED] != 0;
    cpu_share(run, o->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *x = cpu_row_f32(a, row_number(a, r), buffer_a);
        const float *y = b ? cpu_row_f32(b, row_number(b, r), buffer_b) : x + n;
        if (b || !swapped)
            glu_row(x, y, out_row(o, r), n, &p);
        else
            glu_row(y, x, out_row(o, r), n, &p);
    }
}
