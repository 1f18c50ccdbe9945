/* Characters without accents and case. */
#include "config.h"

#include "unicode.h"
#include "unicode_forms_table.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The number of entries that are not behind c, where entry i begins at table[stride i]. */
static size_t up_to(const uint32_t *table, size_t n, size_t stride, uint32_t c)
{
    size_t low = 0;

    for (size_t high = n; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (table[middle * stride] <= c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool eng_unicode_control(uint32_t c)
{
    return up_to(control_edges, COUNT(control_edges), 1, c) & 1;
}

static uint32_t lower(uint32_t c)
{
    size_t low = 0;

    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    for (size_t high = COUNT(lower_runs); low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (lower_runs[middle].first <= c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return c;
    const uint32_t from = c - lower_runs[low - 1].first, step = lower_runs[low - 1].step;
    const bool within = from % step == 0 && from / step < lower_runs[low - 1].n;
    return within ? (uint32_t)((int32_t)c + lower_runs[low - 1].add) : c;
}

/* Syllables of Hangul are put together by rule (The Unicode Standard, 3.12). */
static size_t jamo(uint32_t s, uint32_t parts[ENG_UNICODE_PARTS])
{
    parts[0] = 0x1100 + s / 588;
    parts[1] = 0x1161 + s % 588 / 28;
    parts[2] = 0x11a7 + s % 28;
    return s % 28 ? 3 : 2;
}

size_t eng_unicode_plain(uint32_t c, uint32_t parts[ENG_UNICODE_PARTS])
{
    parts[0] = lower(c);
    if (c < 0xc0)
        return 1;
    if (c - 0xac00 < 11172)
        return jamo(c - 0xac00, parts);
    if (up_to(mark_edges, COUNT(mark_edges), 1, c) & 1)
        return 0;
    size_t at = up_to(bases[0], COUNT(bases), 2, c);
    if (at > 0 && bases[at - 1][0] == c) {
        parts[0] = lower(bases[at - 1][1]);
        return 1;
    }
    at = up_to(several[0], COUNT(several), 4, c);
    if (at == 0 || several[at - 1][0] != c)
        return 1;
    size_t n = 0;
    for (; n < ENG_UNICODE_PARTS && several[at - 1][1 + n]; n++)
        parts[n] = several[at - 1][1 + n];
    return n;
}
