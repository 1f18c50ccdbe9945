/*
 * kernels/chain.cl - several element-by-element ops in one launch, with a norm of
 * rows among them or without.  fuse.c writes these macros before this text:
 *
 *   BUFFERS(B), OPERANDS(N) operands; their numbers, and constants (launch.clh)
 *   SETUP                   pointers of row r
 *   HEAD16(u), HEAD1(u)     the value at column c before the norm
 *   KEEP16(u), KEEP1(u)     what is stored of it
 *   AGAIN16(u), AGAIN1(u)   the same value once more, after KEEP
 *   TAIL16(v), TAIL1(v, w)  from the norm's result to the store of the end; w: the norm's weight there, which WEIGHT1 loads
 *
 * Without a norm: HEAD alone, which ends with the store.
 */
#include "row.clh"

#if !NORM
#define CHAIN_NUMBERS(N) OPERANDS(N) N(long4, ne) N(int, chunk) N(int, rows_per)
NUMBERS(chain, CHAIN_NUMBERS);

KERNEL(EACH_ATTRIBUTES, chain, BUFFERS, chain)
{
    UNPACK(CHAIN_NUMBERS)
    EACH(SETUP, HEAD16, HEAD1)
}
#else

#ifndef AHEAD
#define AHEAD 8
#endif
#define UNROLL_AHEAD _Pragma("unroll") for (uint i = 0; i < AHEAD; i++)

static inline float factor_of(float square, float n, float eps)
{
#if L2
    const float length = sqrt(square);
    return 1.0f / (length < eps ? eps : length); /* fmax would take eps for NaN */
#else
    return 1.0f / sqrt(square / n + eps);
#endif
}

#define CHAIN_NUMBERS(N) OPERANDS(N) N(float, eps) N(long4, ne) N(int, rows_per)
NUMBERS(chain, CHAIN_NUMBERS);

KERNEL(ROW_ATTRIBUTES, chain, BUFFERS, chain)
{
    UNPACK(CHAIN_NUMBERS)
    const long rows = ne.s1 * ne.s2 * ne.s3, n = ne.s0;
    float mean = 0.0f;
#if VEC
    const long r0 = (long)ITEM(0) * rows_per, r1 = min(r0 + rows_per, rows);
    for (long r = r0; r < r1; r++) {
        SETUP;
        long c;
        float16 s = 0.0f, q = 0.0f;
        float tail_s = 0.0f, tail = 0.0f;
#if MEAN
        for (c = 0; c + 16 <= n; c += 16) {
            HEAD16(u);
            s += u;
        }
        FEW for (; c < n; c++) {
            HEAD1(u);
            tail_s += u;
        }
        mean = (sum_of(s) + tail_s) / (float)n;
#endif
        for (c = 0; c + 16 <= n; c += 16) {
            HEAD16(u);
            KEEP16(u);
            u -= mean;
            q += u * u;
        }
        FEW for (; c < n; c++) {
            HEAD1(u);
            KEEP1(u);
            tail += (u - mean) * (u - mean);
        }
        const float f = factor_of(sum_of(q) + tail, (float)n, eps);
        for (c = 0; c + 16 <= n; c += 16) {
            AGAIN16(u);
            float16 v = (u - mean) * f;
            TAIL16(v);
        }
        FEW for (; c < n; c++) {
            AGAIN1(u);
            float v = (u - mean) * f;
            TAIL1(v, WEIGHT1);
        }
    }
#else
    __local float t[GROUP];
    const long r = get_group_id(0);
    SETUP;
    /* What a work-item has of a row of up to AHEAD times GROUP elements stays in registers: all loads are on their way before
     * the first store, which, for all that the compiler knows, may change what is loaded after it. */
    float q = 0.0f, ahead[AHEAD], weight[AHEAD];
    const bool held = n <= AHEAD * GROUP;
    if (held) {
        UNROLL_AHEAD
        {
            const uint c = min((uint)get_local_id(0) + i * GROUP, (uint)n - 1);
            HEAD1(u);
            ahead[i] = u;
            weight[i] = WEIGHT1;
        }
    }
#if MEAN
    float s = 0.0f;
    if (held) {
        UNROLL_AHEAD s += get_local_id(0) + i * GROUP < n ? ahead[i] : 0.0f;
    } else
        for (long c = get_local_id(0); c < n; c += GROUP) {
            HEAD1(u);
            s += u;
        }
    mean = group_sum(s, t) / (float)n;
#endif
    if (held) {
        UNROLL_AHEAD
        {
            const uint c = get_local_id(0) + i * GROUP;
            const float u = ahead[i];
            if (c < n) {
                KEEP1(u);
                q += (u - mean) * (u - mean);
            }
        }
    } else
        for (long c = get_local_id(0); c < n; c += GROUP) {
            HEAD1(u);
            KEEP1(u);
            q += (u - mean) * (u - mean);
        }
    const float f = factor_of(group_sum(q, t), (float)n, eps);
    if (held) {
        UNROLL_AHEAD
        {
            const uint c = get_local_id(0) + i * GROUP;
            float v = (ahead[i] - mean) * f;
            if (c < n) {
                TAIL1(v, weight[i]);
            }
        }
    } else
        for (long c = get_local_id(0); c < n; c += GROUP) {
            AGAIN1(u);
            float v = (u - mean) * f;
            TAIL1(v, WEIGHT1);
        }
#endif
}
#endif
