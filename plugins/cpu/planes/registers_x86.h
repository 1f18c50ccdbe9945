/* Registers as products in planes have them (registers.h), of AVX2 and AVX-512. */
#ifndef CPU_PLANES_REGISTERS_X86_H
#define CPU_PLANES_REGISTERS_X86_H

/* Where a register's rows are: groups of them, of which AVX-512 has two in a register. */
typedef struct lanes_at {
    const uint8_t *of[ROWS / EU_LANES];
} lanes_at;
#define EACH (ROWS / EU_LANES)

CPU_INLINE lanes_at lanes_behind(lanes_at b, int64_t bytes)
{
    for (int i = 0; i < EACH; i++)
        b.of[i] += bytes;
    return b;
}

CPU_INLINE void group_put(lanes_at *strip, const int group, const uint8_t *at)
{
    strip[group / EACH].of[group % EACH] = at;
}

CPU_INLINE const uint8_t *group_at(const lanes_at *strip, const int group)
{
    return strip[group / EACH].of[group % EACH];
}

/* A word of each row, which lie beside one another `at` bytes behind the begin of each group. */
CPU_INLINE vu w_load(lanes_at b, const int at)
{
    const __m256i first = _mm256_loadu_si256((const __m256i *)(b.of[0] + at));
#if CPU_VL == 16
    const __m256i other = _mm256_loadu_si256((const __m256i *)(b.of[1] + at));
    return (vu)_mm512_inserti64x4(_mm512_castsi256_si512(first), other, 1);
#else
    return (vu)first;
#endif
}

/* 16 bits of each row in the same way, which are a half or a number. */
#if CPU_VL == 16
CPU_INLINE __m256i w_pairs(lanes_at b, const int at)
{
    return _mm256_set_m128i(_mm_loadu_si128((const __m128i *)(b.of[1] + at)),
                            _mm_loadu_si128((const __m128i *)(b.of[0] + at)));
}
#define W_FLOATS _mm512_cvtph_ps
#define W_WORDS _mm512_cvtepu16_epi32
#else
CPU_INLINE __m128i w_pairs(lanes_at b, const int at)
{
    return _mm_loadu_si128((const __m128i *)(b.of[0] + at));
}
#define W_FLOATS _mm256_cvtph_ps
#define W_WORDS _mm256_cvtepu16_epi32
#endif

CPU_INLINE vf w_halves(lanes_at b, const int at)
{
    return (vf)W_FLOATS(w_pairs(b, at));
}

CPU_INLINE vi w_shorts(lanes_at b, const int at)
{
    return (vi)W_WORDS(w_pairs(b, at));
}

/* A byte of each row. */
CPU_INLINE vi w_bytes(lanes_at b, const int at)
{
    const __m128i first = _mm_loadl_epi64((const __m128i *)(b.of[0] + at));
#if CPU_VL == 16
    const __m128i other = _mm_loadl_epi64((const __m128i *)(b.of[1] + at));
    return (vi)_mm512_cvtepu8_epi32(_mm_unpacklo_epi64(first, other));
#else
    return (vi)_mm256_cvtepu8_epi32(first);
#endif
}

/* Four bytes for all rows, and a float. */
CPU_INLINE vi w_four(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, 4);
#if CPU_VL == 16
    return (vi)_mm512_set1_epi32(v);
#else
    return (vi)_mm256_set1_epi32(v);
#endif
}

CPU_INLINE vu w_lookup(const uint8_t *table, vu nibbles)
{
    const __m128i t = _mm_loadu_si128((const __m128i *)table);
#if CPU_VL == 16
    return (vu)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), (__m512i)nibbles);
#else
    return (vu)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), (__m256i)nibbles);
#endif
}

/* Byte from[i] of a lane's word as its byte i, in all lanes alike. */
CPU_INLINE vu w_spread(vu v, const int from)
{
    const __m128i lane = _mm_set1_epi32(from), first = _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c);
    const __m128i of = _mm_add_epi8(lane, first);
#if CPU_VL == 16
    return (vu)_mm512_shuffle_epi8((__m512i)v, _mm512_broadcast_i32x4(of));
#else
    return (vu)_mm256_shuffle_epi8((__m256i)v, _mm256_broadcastsi128_si256(of));
#endif
}

/* `number` in each byte of which a bit is set that is set in `bits`, too; zeros elsewhere. */
CPU_INLINE vu w_where(vu v, vu bits, const int number)
{
#if CPU_VL == 16
    return (vu)_mm512_maskz_mov_epi8(_mm512_test_epi8_mask((__m512i)v, (__m512i)bits), (__m512i)w_all(number));
#else
    return (vu)((vbytes)(v & bits) == (vbytes)bits) & w_all(number);
#endif
}

/* `twice` - v in each byte of which a bit is set that is set in `bits`, too; v elsewhere. */
CPU_INLINE vu w_less_where(vu of, vu bits, vu v, const int twice)
{
#if CPU_VL == 16
    const __mmask64 less = _mm512_test_epi8_mask((__m512i)of, (__m512i)bits);
    return (vu)_mm512_mask_sub_epi8((__m512i)v, less, (__m512i)w_all(twice), (__m512i)v);
#else
    const vu less = (vu)((vbytes)(of & bits) == (vbytes)bits); /* of two's complement: ~v is -v - 1 */
    return (vu)((vbytes)(v ^ less) + (vbytes)(less & w_all(twice + 1)));
#endif
}

/* Of each lane that element of a table.  Into a register of zeros: the instruction keeps lanes that a mask leaves out, and so
 * waits for whoever wrote its register last. */
CPU_INLINE vu w_gather(const uint32_t *table, vu index)
{
#if CPU_VL == 16
    return (vu)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xffff, (__m512i)index, table, 4);
#else
    return (vu)_mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)table, (__m256i)index,
                                           _mm256_set1_epi32(-1), 4);
#endif
}

/* The half-precision number that a lane's 16 bits are. */
CPU_INLINE vf w_half(vu bits)
{
#if CPU_VL == 16
    return (vf)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)bits));
#else
    const __m256i v = (__m256i)bits;
    return (vf)_mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
#endif
}

/* Lanes of `yes` where a is greater than b, else of `no`. */
CPU_INLINE vi w_greater(vi a, vi b, vi yes, vi no)
{
#if CPU_VL == 16
    return (vi)_mm512_mask_blend_epi32(_mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b), (__m512i)no, (__m512i)yes);
#else
    return (vi)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, _mm256_cmpgt_epi32((__m256i)a, (__m256i)b));
#endif
}

/* Results of `rows` rows, a multiple of EU_LANES. */
CPU_INLINE vf v_load_rows(const float *p, int64_t rows)
{
#if CPU_VL == 16
    return (vf)_mm512_maskz_loadu_ps((__mmask16)(rows >= 16 ? 0xffff : 0xff), p);
#else
    (void)rows;
    return v_load(p);
#endif
}

CPU_INLINE void v_store_rows(float *p, vf v, int64_t rows)
{
#if CPU_VL == 16
    _mm512_mask_storeu_ps(p, (__mmask16)(rows >= 16 ? 0xffff : 0xff), (__m512)v);
#else
    (void)rows;
    v_store(p, v);
#endif
}

typedef vi p_factor;

CPU_INLINE p_factor p_digits(const uint8_t *digits, const int line)
{
    return w_four(digits + 4 * line);
}

#if PLANES_DOT
/* Of four bytes without a sign and four with one, in words of 32 bits. */
CPU_INLINE vi p_add(vi sum, vu a, p_factor b)
{
#if CPU_VL == 16
    return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
#endif
}
#endif

#endif
