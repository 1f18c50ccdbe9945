/* Columns and strips of weights as tiles of joint blocks have them (joint.h). */
#include "config.h"

#include "joint.h"

/* -- of a type ------------------------------------------------------------------------------------------------- */

/* Integers of q2_K are 0 .. 45, those of q3_K -124 .. 128: bytes if their signs are changed. */
static bool are_bytes(uint32_t type)
{
    return type == ENG_TYPE_Q2_K || type == ENG_TYPE_Q3_K || type == ENG_TYPE_TQ1_0 || type == ENG_TYPE_TQ2_0;
}

joint_form cpu_joint_form(uint32_t type)
{
    const planes_form given = planes_types[type].form;
    return (joint_form){.units = JOINT_GROUPS * given.parts, .bytes = are_bytes(type),
                        .negative = type == ENG_TYPE_Q3_K, .minima = given.minima, .bias = given.bias};
}

/* -- columns ---------------------------------------------------------------------------------------------------- */

/* A column's block, as groups. */
static void put_block(const uint8_t *packed, const planes_form given, int c, joint_columns *to)
{
    const group_parts at = parts_of(given, EXACT);
    const int64_t each = planes_group_bytes(given, EXACT);
    memcpy(&to->factor[c], packed + at.factor, sizeof(float));
    for (int i = 0; i < JOINT_GROUPS; i++, packed += each) {
        for (int p = 0; p < EXACT; p++)
            memcpy(to->digits[i / 2][p][c] + i % 2 * GROUP, packed + p * GROUP, GROUP);
        for (int p = 0; p < given.parts && given.minima; p++)
            memcpy(&to->elements[i * given.parts + p][c], packed + at.elements + 4 * p, sizeof(float));
        memcpy(&to->apart[i][c], packed + at.apart, sizeof(uint32_t));
    }
}

/* In place of a column that there is not. */
static void put_no_column(int c, joint_columns *to)
{
    for (int i = 0; i < JOINT_LINES; i++)
        for (int p = 0; p < EXACT; p++)
            memset(to->digits[i][p][c], 0, TILE_LINE);
    to->factor[c] = 0;
    for (int i = 0; i < JOINT_UNITS; i++)
        to->elements[i][c] = 0;
    for (int i = 0; i < JOINT_GROUPS; i++)
        to->apart[i][c] = 0;
}

size_t cpu_joint_packed_bytes(int64_t k, int64_t n)
{
    return (size_t)((n + TILE_ROWS - 1) / TILE_ROWS * (k / JOINT)) * sizeof(joint_columns);
}

#define MOST_OF_GROUP (EXACT * GROUP + 8 + 2 * 4 * (EXACT + 1)) /* planes_group_bytes() */

void cpu_joint_pack(const cpu_gemm *g, int64_t c0, int64_t c1, uint8_t *packed)
{
    const planes_form given = planes_types[g->type].form;
    const int64_t blocks = g->k / JOINT;
    uint8_t one[JOINT_GROUPS * MOST_OF_GROUP];
    cpu_gemm some = *g;
    some.k = JOINT;
    for (int64_t c = c0; c < c1; c++)
        for (int64_t i = 0; i < blocks; i++) {
            const uint8_t *at = g->b[c] + i * JOINT * (g->b_type == ENG_TYPE_F32 ? 4 : 2);
            some.b = &at;
            PLANES_V(cpu_planes_pack)(&some, given, EXACT, 0, 1, one);
            put_block(one, given, (int)(c % TILE_ROWS), (joint_columns *)packed + c / TILE_ROWS * blocks + i);
        }
    for (int64_t c = c1; c1 == g->n && c % TILE_ROWS; c++)
        for (int64_t i = 0; i < blocks; i++)
            put_no_column((int)(c % TILE_ROWS), (joint_columns *)packed + c1 / TILE_ROWS * blocks + i);
}

void cpu_joint_bring(const cpu_gemm *g, const uint8_t *packed, int64_t k0, int64_t c0, int64_t c1, joint_columns *to)
{
    const planes_form given = planes_types[g->type].form;
    const int64_t column = planes_column_bytes(given, EXACT, g->k), n = c1 - c0;
    packed += c0 * column + k0 / GROUP * planes_group_bytes(given, EXACT);
    for (int64_t c = 0; c < n; c++, packed += column)
        put_block(packed, given, (int)(c % TILE_ROWS), to + c / TILE_ROWS);
    for (int64_t c = n; c % TILE_ROWS; c++)
        put_no_column((int)(c % TILE_ROWS), to + n / TILE_ROWS);
}

/* -- weights ---------------------------------------------------------------------------------------------------- */

#define ODD 0xaaaaaaaaaaaaaaaau /* bytes */

/* Low bytes of words, and high ones, which are numbers of the even elements and of the odd ones. */
CPU_INLINE __m512i low_bytes(__m512i even, __m512i odd)
{
    return _mm512_mask_blend_epi8(ODD, even, _mm512_slli_epi16(odd, 8));
}
CPU_INLINE __m512i high_bytes(__m512i even, __m512i odd)
{
    return _mm512_mask_blend_epi8(ODD, _mm512_srli_epi16(even, 8), odd);
}

/* A line of raised numbers times those of its rows' groups, as integers of one part or, the lower of eight bits, of two.
 * `raise` is what integers have too much. */
CPU_INLINE void multiply_line(__m512i line, __m512i n, __m512i raise, const bool bytes, uint8_t *to)
{
    const __m512i even = _mm512_sub_epi16(_mm512_maddubs_epi16(line, _mm512_maskz_mov_epi8(~ODD, n)), raise);
    const __m512i odd = _mm512_sub_epi16(_mm512_maddubs_epi16(line, _mm512_maskz_mov_epi8(ODD, n)), raise);
    const __m512i half = _mm512_set1_epi16(128);
    _mm512_store_si512(to, low_bytes(even, odd));
    if (!bytes)
        _mm512_store_si512(to + JOINT_PART, high_bytes(_mm512_add_epi16(even, half), _mm512_add_epi16(odd, half)));
}

CPU_INLINE void multiply_vector(const uint8_t *lines, const vf *n, const joint_form form, const bool bytes, uint8_t *to)
{
    const int each = JOINT / 4 / form.units; /* lines of a unit */
    for (int u = 0; u < form.units; u++, n += VECTORS) {
        const vi number = __builtin_convertvector(form.negative ? -*n : *n, vi);
        const __m512i raise = (__m512i)((number * form.bias & 0xffff) | number * form.bias << 16);
        const __m512i all = _mm512_shuffle_epi8((__m512i)number, _mm512_broadcast_i32x4(_mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0)));
        for (int l = 0; l < each; l++, lines += LINE, to += TILE_LINE)
            multiply_line(_mm512_load_si512(lines), all, raise, bytes, to);
    }
}

void cpu_joint_weigh(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, joint_strip *to)
{
    _Alignas(64) uint8_t lines[JOINT * STRIP];
    const joint_form form = cpu_joint_form(g->type);
    const strip_panel panel = {lines, {NULL, to->m, to->by, to->n}, true};
    planes_types[g->type].type->panel(g, k0, JOINT, rows_at(g, m, rows, k0), &panel);
    for (int r = 0; r < VECTORS; r++)
        if (form.bytes)
            multiply_vector(lines + TILE_LINE * r, to->n + r, form, true, to->parts[0][r]);
        else
            multiply_vector(lines + TILE_LINE * r, to->n + r, form, false, to->parts[r][0]);
    for (int i = 0; i < form.units * VECTORS && form.minima; i++) {
        const vf least = v_load(to->m + ROWS * i), d = v_load(to->by + i % VECTORS * ROWS) * to->n[i];
        v_store(to->least + ROWS * i, form.bias ? v_fma(d, v_set1((float)form.bias), least) : least);
    }
    for (int r = 0; r < VECTORS && form.negative; r++)
        v_store(to->by + ROWS * r, -v_load(to->by + ROWS * r));
}
