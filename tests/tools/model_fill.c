/* Elements of random tensors. */
#include "config.h"

#include <math.h>

#include "model_impl.h"

/* SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014) on a counter. */
uint64_t model_random(uint64_t stream, uint64_t index)
{
    uint64_t x = stream + (index + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t model_stream(uint64_t seed, const char *name)
{
    uint64_t hash = model_random(seed, 0);

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return model_random(hash, 1);
}

/* Normal to within what tests need: the sum of four uniform numbers, scaled. */
static float normal(uint64_t stream, uint64_t index)
{
    uint64_t r = model_random(stream, index);
    int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48);

    return (float)(sum - 2 * 65535) * (1.7320508f / 65536);
}

static double uniform(uint64_t stream, uint64_t index)
{
    return (double)(model_random(stream, index) >> 11) * 0x1p-53;
}

void model_fill(const model *m, const model_tensor *t, int64_t first, int64_t n, float *to)
{
    uint64_t stream = model_stream(m->seed, t->name);
    float scale = (float)(t->gain / sqrt((double)t->ne[0]));

    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(first + i);
        switch (t->fill) {
        case FILL_NORMAL: to[i] = scale * normal(stream, at); break;
        case FILL_NORM: to[i] = 1 + 0.1f * normal(stream, at); break;
        case FILL_BIAS: to[i] = 0.1f * normal(stream, at); break;
        case FILL_DECAY: to[i] = (float)-exp(uniform(stream, at) * log(16)); break;
        case FILL_IDS: {
            uint64_t row = (uint64_t)t->ne[0], first_id = model_random(stream, at / row) % 1000;
            to[i] = (float)((first_id + at % row) % (uint64_t)m->experts);
            break;
        }
        case FILL_STEP: {
            double step = 0.001 * pow(100, uniform(stream, at));
            to[i] = (float)log(expm1(step));
            break;
        }
        }
    }
}
