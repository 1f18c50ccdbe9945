/* Columns as units (planes.h). */
#include "config.h"

#include "groups.h"
#include "planes.h"

/* -- a group of a column ------------------------------------------------------------------------------ */

/* Digits of a column's unit: of each plane. */
CPU_INLINE void put_planes(const uint8_t *packed, const tile_form form, uint8_t *to)
{
    CPU_UNROLL
    for (int p = 0; p < planes_of(form); p++)
        memcpy(to + p * unit_tile(form), packed + p * GROUP, (size_t)form.elements);
}

CPU_INLINE __m512i words_of(const uint8_t *digits)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)digits));
}

/* Of 32 numbers of 12 bits with a sign those of eight bits, then, of 16 .. 31 less 8 .. -8, those of four. */
CPU_INLINE void put_twelve(__m512i numbers, uint8_t *to)
{
    const __m512i raised = _mm512_add_epi16(numbers, _mm512_set1_epi16(8));
    const __m256i high = _mm512_cvtepi16_epi8(_mm512_srai_epi16(raised, 4));
    const __m256i low = _mm512_cvtepi16_epi8(_mm512_sub_epi16(_mm512_and_si512(raised, _mm512_set1_epi16(15)), _mm512_set1_epi16(8)));
    _mm256_store_si256((__m256i *)to, high);
    _mm256_store_si256((__m256i *)(to + GROUP), low);
}

/* Digits of a column's group, to the base of 255, as twice 12 bits: the lower ones are -2056 .. 2039, for digits of eight
 * and of four bits have that many. */
CPU_INLINE void put_sums_of_twelve(const uint8_t *packed, const tile_form form, uint8_t *to)
{
    const __m512i low = words_of(packed), next = words_of(packed + GROUP), high = words_of(packed + 2 * GROUP);
    const __m512i both = _mm512_add_epi16(_mm512_sub_epi16(_mm512_slli_epi16(high, 8), high), next); /* times 255 */
    const __m512i by = _mm512_set1_epi32(1 << 16 | BASE), raise = _mm512_set1_epi32(2056), mask = _mm512_set1_epi32(4095);
    const __m512i first = _mm512_add_epi32(_mm512_madd_epi16(_mm512_unpacklo_epi16(both, low), by), raise);
    const __m512i other = _mm512_add_epi32(_mm512_madd_epi16(_mm512_unpackhi_epi16(both, low), by), raise);
    const __m512i above = _mm512_packs_epi32(_mm512_srai_epi32(first, 12), _mm512_srai_epi32(other, 12));
    const __m512i below = _mm512_packs_epi32(_mm512_and_si512(first, mask), _mm512_and_si512(other, mask));
    put_twelve(above, to);
    put_twelve(_mm512_sub_epi16(below, _mm512_set1_epi16(2056)), to + unit_tile(form));
}

/* A group's units. */
CPU_INLINE void put_group(const uint8_t *packed, const planes_form given, const tile_form form, int c, uint8_t *to)
{
    const group_parts at = parts_of(given, planes_of(form));
    uint32_t apart;
    memcpy(&apart, packed + at.apart, sizeof apart);
    if (form.sums == TWELVE)
        put_sums_of_twelve(packed, form, to + c * unit_line(form));
    CPU_UNROLL
    for (int p = 0; p < GROUP / form.elements; p++, to += unit_bytes(form)) {
        unit_numbers *numbers = (unit_numbers *)numbers_of(to, form);
        if (form.sums != TWELVE)
            put_planes(packed + p * form.elements, form, to + c * unit_line(form));
        memcpy(&numbers->factor[c], packed + at.factor, sizeof(float));
        if (form.minima)
            memcpy(&numbers->elements[c], packed + at.elements + 4 * p, sizeof(float));
        numbers->apart[c] = form.elements == GROUP ? apart : apart & 0xffffu << 16 * p;
    }
}

/* In place of a column that there is not. */
CPU_INLINE void put_zeros(const tile_form form, int c, uint8_t *to)
{
    unit_numbers *numbers = (unit_numbers *)numbers_of(to, form);
    for (int s = 0; s < form.sums; s++)
        memset(to + s * unit_tile(form) + c * unit_line(form), 0, (size_t)unit_line(form));
    numbers->factor[c] = numbers->elements[c] = 0;
    numbers->apart[c] = 0;
}

/* -- all of k ------------------------------------------------------------------------------------------- */

/* Units in k elements; bytes of 16 columns of them; of a group. */
static int64_t units_of(const tile_form form, int64_t k)
{
    return planes_groups(k) * (GROUP / form.elements);
}

static int64_t bytes_of(const tile_form form, int64_t k)
{
    return units_of(form, k) * unit_bytes(form);
}

size_t cpu_tiles_column_bytes(tile_form form, int64_t k)
{
    return (size_t)(bytes_of(form, k) / TILE_ROWS);
}

size_t cpu_tiles_packed_bytes(tile_form form, int64_t k, int64_t n)
{
    return (size_t)((n + TILE_ROWS - 1) / TILE_ROWS * bytes_of(form, k));
}

CPU_INLINE void pack_columns(const cpu_gemm *g, const tile_form form, int64_t c0, int64_t c1, uint8_t *packed)
{
    const planes_form given = planes_types[g->type].form;
    const int64_t each = planes_group_bytes(given, planes_of(form)), all = bytes_of(form, g->k);
    for (int64_t c = c0; c < c1; c++) {
        uint8_t *to = packed + c / TILE_ROWS * all, some[GROUPS * MOST_OF_GROUP];
        for (int64_t k0 = 0; k0 < g->k; k0 += TILES_CHUNK) {
            const int64_t kc = g->k - k0 < TILES_CHUNK ? g->k - k0 : TILES_CHUNK;
            pack_some(g, given, planes_of(form), c, k0, kc, some);
            for (int64_t i = 0; i < planes_groups(kc); i++, to += bytes_of(form, GROUP))
                put_group(some + i * each, given, form, (int)(c % TILE_ROWS), to);
        }
    }
    for (int64_t c = c1; c1 == g->n && c % TILE_ROWS; c++)
        for (int64_t i = 0; i < all; i += unit_bytes(form))
            put_zeros(form, (int)(c % TILE_ROWS), packed + c1 / TILE_ROWS * all + i);
}

/* -- a chunk of k ------------------------------------------------------------------------------------------ */

/* Of columns that are packed one by one. */
CPU_INLINE void bring_columns(const tile_run *w, const tile_form form)
{
    const int planes = planes_of(form);
    const int64_t each = planes_group_bytes(w->given, planes), column = planes_column_bytes(w->given, planes, w->g->k);
    const int64_t n = w->c1 - w->c0, all = w->units * unit_bytes(form);
    const uint8_t *packed = w->packed + w->c0 * column + w->k0 / GROUP * each;
    if (n % TILE_ROWS)
        memset(w->near->columns + n / TILE_ROWS * all, 0, (size_t)all);
    for (int64_t c = 0; c < n; c++, packed += column) {
        uint8_t *to = w->near->columns + c / TILE_ROWS * all;
        for (int64_t i = 0; i < all / bytes_of(form, GROUP); i++, to += bytes_of(form, GROUP))
            put_group(packed + i * each, w->given, form, (int)(c % TILE_ROWS), to);
    }
}

/* Forms as constants, by elements and sums. */
#define COLUMN_FORMS(X) X(32, EXACT) X(16, EXACT) X(32, TWELVE) X(32, ONE)
#define CALLS(elements, sums)                                                                                          \
    static void pack_##elements##_##sums(const cpu_gemm *g, bool minima, int64_t c0, int64_t c1, uint8_t *packed)      \
    {                                                                                                                  \
        pack_columns(g, (tile_form){elements, sums, minima, 0, 0}, c0, c1, packed);                                       \
    }                                                                                                                  \
    static void bring_##elements##_##sums(const tile_run *w)                                                           \
    {                                                                                                                  \
        bring_columns(w, (tile_form){elements, sums, w->form.minima, 0, 0});                                              \
    }
COLUMN_FORMS(CALLS)
static const struct {
    void (*pack)(const cpu_gemm *g, bool minima, int64_t c0, int64_t c1, uint8_t *packed);
    void (*bring)(const tile_run *w);
} calls[2][EXACT] = {
#define CALL(elements, sums) [(elements) < GROUP][(sums) - ONE] = {pack_##elements##_##sums, bring_##elements##_##sums},
    COLUMN_FORMS(CALL)
};

void cpu_tiles_pack(const cpu_gemm *g, tile_form form, int64_t c0, int64_t c1, uint8_t *packed)
{
    calls[form.elements < GROUP][form.sums - ONE].pack(g, form.minima, c0, c1, packed);
}

void cpu_tiles_set_columns(tile_run *w)
{
    if (!w->in_units) {
        calls[w->form.elements < GROUP][w->form.sums - ONE].bring(w);
        w->x = w->near->columns;
        w->next = w->units * unit_bytes(w->form);
        return;
    }
    w->next = bytes_of(w->form, w->g->k);
    w->x = w->packed + w->c0 / TILE_ROWS * w->next + bytes_of(w->form, w->k0);
}

/* What comes next: a chunk, or further columns, or again the first. */
tile_asks cpu_tiles_ask_columns(const tile_run *w)
{
    const int64_t then = w->k0 + TILES_CHUNK, k0 = then < w->g->k ? then : 0;
    const int64_t c0 = k0 ? w->c0 : w->c1 < w->g->n ? w->c1 : 0, left = w->g->n - c0, n = left < SOME_COLUMNS ? left : SOME_COLUMNS;
    const int64_t strips = (w->end - w->m + STRIP - 1) / STRIP, tiles = (w->c1 - w->c0 + TILE_ROWS - 1) / TILE_ROWS;
    const int64_t steps = strips * tiles * VECTORS * w->units;
    if (w->in_units)
        return asks_of(w->packed + c0 / TILE_ROWS * w->next + bytes_of(w->form, k0), bytes_of(w->form, TILES_CHUNK),
                       (n + TILE_ROWS - 1) / TILE_ROWS, w->next, steps);
    const int planes = planes_of(w->form);
    const int64_t each = planes_group_bytes(w->given, planes), column = planes_column_bytes(w->given, planes, w->g->k);
    return asks_of(w->packed + c0 * column + k0 / GROUP * each, GROUPS * each, n, column, steps);
}
