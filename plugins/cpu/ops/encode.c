/*
 * Encoding rows: dispatch and plain types.  Encoders are compiled once per variant, too, but without
 * contraction - a multiply-add would change bits - and add in one order in all of them.
 *
 * Corner cases, the same for all block types: NaN counts as 0, what is too
 * large becomes the largest value that the block can hold, a block whose scale
 * is too small for its format becomes zeros.
 */
#include "loops.h"

#include "config.h"

#include "encode.h"

static uint16_t bf16_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40); /* NaN stays NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

void cpu_encode_row(uint32_t type, const float *x, uint8_t *out, int64_t n, bool search)
{
    switch (type) {
    case ENG_TYPE_F32:
        memcpy(out, x, (size_t)n * 4);
        break;
    case ENG_TYPE_F16:
        for (int64_t i = 0; i < n; i++) {
            uint16_t h = cpu_f16_bits(x[i]);
            memcpy(out + 2 * i, &h, 2);
        }
        break;
    case ENG_TYPE_BF16:
        for (int64_t i = 0; i < n; i++) {
            uint16_t h = bf16_bits(x[i]);
            memcpy(out + 2 * i, &h, 2);
        }
        break;
    case ENG_TYPE_Q4_0: cpu_encode_q4_0(x, out, n); break;
    case ENG_TYPE_Q4_1: cpu_encode_q4_1(x, out, n); break;
    case ENG_TYPE_Q5_0: cpu_encode_q5_0(x, out, n); break;
    case ENG_TYPE_Q5_1: cpu_encode_q5_1(x, out, n); break;
    case ENG_TYPE_Q8_0: cpu_encode_q8_0(x, out, n); break;
    case ENG_TYPE_IQ4_NL: cpu_encode_iq4_nl(x, out, n, search); break;
    case ENG_TYPE_IQ4_XS: cpu_encode_iq4_xs(x, out, n); break;
    case ENG_TYPE_MXFP4: cpu_encode_mxfp4(x, out, n); break;
    case ENG_TYPE_NVFP4: cpu_encode_nvfp4(x, out, n); break;
    case ENG_TYPE_Q2_K: cpu_encode_q2_K(x, out, n); break;
    case ENG_TYPE_Q3_K: cpu_encode_q3_K(x, out, n); break;
    case ENG_TYPE_Q4_K: cpu_encode_q4_K(x, out, n); break;
    case ENG_TYPE_Q5_K: cpu_encode_q5_K(x, out, n); break;
    case ENG_TYPE_Q6_K: cpu_encode_q6_K(x, out, n); break;
    default: break;
    }
}
