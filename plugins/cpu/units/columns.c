/*
 * Columns rounded and packed in tiles: for each group of 32 elements of k first the numbers, four bytes of each of the
 * tile's columns at a time; then a scale for each column; then what a sum begins with, which takes back by how much the
 * weights are raised, or the sums of numbers, times the scale, that minima of weights meet.  Of bf16 only the numbers,
 * two at a time.
 */
#include "config.h"

#include "units.h"

/* To int8 under one scale, which a value that is no number makes none too: every four numbers `stride` bytes apart.
 * `sum`: of the first 16 numbers and of the others. */
static float round_group(const float *x, uint8_t *q, int64_t stride, int32_t *sum)
{
    const __m512 lo = _mm512_loadu_ps(x), hi = _mm512_loadu_ps(x + 16);
    const float most = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(lo), _mm512_abs_ps(hi)));
    const __m512 zero = _mm512_mul_ps(_mm512_add_ps(lo, hi), _mm512_setzero_ps()); /* or NaN */
    const bool finite = _mm512_cmp_ps_mask(zero, zero, _CMP_UNORD_Q) == 0 && most <= 3.4e38f;
    float inverse = most > 0 && finite ? 127 / most : 0;
    if (!(inverse <= 3.4e38f)) /* a group of denormals */
        inverse = 0;
    const __m512 by = _mm512_set1_ps(inverse);
    const __m512i a = inverse > 0 ? _mm512_cvtps_epi32(_mm512_mul_ps(lo, by)) : _mm512_setzero_si512();
    const __m512i b = inverse > 0 ? _mm512_cvtps_epi32(_mm512_mul_ps(hi, by)) : _mm512_setzero_si512();
    int32_t four[8];
    _mm_storeu_si128((__m128i *)four, _mm512_cvtepi32_epi8(a));
    _mm_storeu_si128((__m128i *)(four + 4), _mm512_cvtepi32_epi8(b));
    for (int i = 0; i < 8; i++)
        memcpy(q + i * stride, &four[i], 4);
    sum[0] = _mm512_reduce_add_epi32(a);
    sum[1] = _mm512_reduce_add_epi32(b);
    return finite ? most / 127 : NAN;
}

static void bf16_group(const float *x, uint8_t *out, int64_t stride)
{
    uint32_t two[16];
    const __m512bh v = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
    memcpy(two, &v, sizeof two);
    for (int i = 0; i < 16; i++)
        memcpy(out + i * stride, &two[i], 4);
}

/* Column `at` of a tile of `cols`. */
static void pack_column(const cpu_gemm *g, int64_t c, uint8_t *tile, int64_t at, int64_t cols)
{
    const units_form form = cpu_units_form(g->type);
    const int parts = cpu_units_parts(form), bias = cpu_units_bias(g->type);
    const int64_t each = cpu_units_group_bytes(form) * cols;
    for (int64_t i = 0; i < cpu_units_groups(g->k); i++, tile += each) {
        float buffer[GROUP], *scale = (float *)(tile + cols * GROUP) + at;
        const float *x = cpu_gemm_elements(g, c, i * GROUP, GROUP, buffer);
        if (form == UNITS_BF16) {
            bf16_group(x, tile + 4 * at, 4 * cols);
            continue;
        }
        int32_t sum[2];
        *scale = round_group(x, tile + 4 * at, 4 * cols, sum);
        sum[0] += parts == 1 ? sum[1] : 0;
        for (int p = 0; p < parts; p++) {
            const float met = *scale * (float)sum[p]; /* by minima */
            const int32_t before = -bias * sum[p];
            memcpy(scale + (p + 1) * cols, cpu_units_minima(form) ? (const void *)&met : &before, 4);
        }
    }
}

void cpu_units_round(const cpu_gemm *g, int64_t c, const units_column *to)
{
    const int parts = cpu_units_parts(cpu_units_form(g->type));
    for (int64_t i = 0; i < cpu_units_groups(g->k); i++) {
        float buffer[GROUP];
        int32_t sum[2];
        to->scale[i] = round_group(cpu_gemm_elements(g, c, i * GROUP, GROUP, buffer), to->q + i * GROUP, 4, sum);
        sum[0] += parts == 1 ? sum[1] : 0;
        for (int p = 0; p < parts; p++)
            to->sum[i * parts + p] = to->scale[i] * (float)sum[p];
    }
}

void cpu_units_pack(const cpu_gemm *g, int64_t c0, int64_t c1, uint8_t *out)
{
    const int64_t column_bytes = cpu_units_groups(g->k) * cpu_units_group_bytes(cpu_units_form(g->type));
    for (int64_t t = 0, begin = 0, end; begin < c1; t++, begin = end) {
        end = cpu_units_tile(g->n, t + 1);
        for (int64_t c = c0 > begin ? c0 : begin; c < end && c < c1; c++)
            pack_column(g, c, out + begin * column_bytes, c - begin, end - begin);
    }
}
