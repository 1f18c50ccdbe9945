/*
 * Strips of rows of one type (planes.h), with all that is known of the type as constants.  A file makes those of some
 * types, of a list of lanes.h: LIST(TYPE).
 */
#ifndef CPU_PLANES_TYPES_H
#define CPU_PLANES_TYPES_H

#include "strips.h"
#if PLANES_DOT && CPU_VL == 16 && !PLANES_SIGNED
#include "integers.h"
#else
struct strip_integers;
#endif

typedef struct planes_type {
    /* rows w times columns x, of which numbers are made as they are met */
    void (*now)(int planes, int cols, strip_rows w, strip_far far, tile_columns *x, vf sum[TILE][VECTORS]);
    /* lines and factors of elements k0 .. k0 + kc - 1 of rows w */
    void (*panel)(const cpu_gemm *g, int64_t k0, int64_t kc, strip_rows w, const strip_panel *to);
    /* the same for tiles, of narrow numbers WIDENED or not; and of joint factors a block of rows w as integers; NULL: not of
     * these registers, or types */
    void (*tiles)(const cpu_gemm *g, int64_t k0, int64_t kc, strip_rows w, const strip_panel *to, bool widened);
    void (*integers)(strip_rows w, const struct strip_integers *to);
} planes_type;

#define DECLARE(NAME, name, ...) extern const planes_type PLANES_V(cpu_planes_##name);
LANES_TYPES(DECLARE)
#undef DECLARE

/* The call for the planes and columns that there are, as constants P and C; no more than the lists have are asked
 * for. */
#define COLS(n, ...)                                                                                                   \
    case n: {                                                                                                          \
        enum { C = n };                                                                                                \
        __VA_ARGS__;                                                                                                   \
        break;                                                                                                         \
    }
#define EACH_WAY(exact_cols, fast_cols, ...)                                                                           \
    do {                                                                                                               \
        if (planes == 1) {                                                                                             \
            enum { P = 1 };                                                                                            \
            switch (cols) {                                                                                            \
                fast_cols(COLS, __VA_ARGS__)                                                                           \
            default: break;                                                                                            \
            }                                                                                                          \
        } else {                                                                                                       \
            enum { P = EXACT };                                                                                        \
            switch (cols) {                                                                                            \
                exact_cols(COLS, __VA_ARGS__)                                                                          \
            default: break;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* Numbers of up to four bits, or -8 .. 7 without their bias, of types whose factors are not joint. */
CPU_INLINE bool planes_is_narrow(const uint32_t type)
{
    return type == ENG_TYPE_Q4_0 || type == ENG_TYPE_Q4_1 || type == ENG_TYPE_Q4_K || type == ENG_TYPE_Q2_0 ||
           type == ENG_TYPE_Q1_0;
}

#define FORM_OF(group, bias, minima, factors)                                                                          \
    ((planes_form){GROUP / (group), bias, minima, factors == JOINT, factors == WIDE})
#define NUMBERS_OF(factors, name) NUMBERS_OF_##factors(name)
#define NUMBERS_OF_OWN(name) NULL
#define NUMBERS_OF_WIDE(name) NULL
#define NUMBERS_OF_JOINT(name) numbers_##name

/* By type; in one of these files it is not read. */
__attribute__((unused)) static const struct {
    const planes_type *type;
    planes_form form;
} planes_types[CPU_TYPES] = {
#define TYPE_OF(NAME, name, elements, bytes, group, bias, minima, same, factors)                                       \
    [ENG_TYPE_##NAME] = {&PLANES_V(cpu_planes_##name), FORM_OF(group, bias, minima, factors)},
    LANES_TYPES(TYPE_OF)
#undef TYPE_OF
};

#define TYPE(NAME, name, elements, bytes, group, bias, minima, same, factors)                                          \
    static __attribute__((noinline)) void lines_##name(const strip_rows *block, int j, uint8_t *lines)                 \
    {                                                                                                                  \
        for (int l = 0; l < LINES_EACH; l++)                                                                           \
            for (int r = 0; r < VECTORS; r++)                                                                          \
                line_store(lines + l * LINE + 4 * ROWS * r, line_##name(block->at[r], j, l));                          \
    }                                                                                                                  \
    static void now_##name(int planes, int cols, strip_rows w, strip_far far, tile_columns *x,                         \
                           vf sum[TILE][VECTORS])                                                                      \
    {                                                                                                                  \
        EACH_WAY(NOW_COLS, NOW_COLS,                                                                                   \
                 strip_now(line_##name, lines_##name, scales_##name, NUMBERS_OF(factors, name), elements, bytes, same, \
                           FORM_OF(group, bias, minima, factors), bias, P, C, w, far, x, sum));                        \
    }                                                                                                                  \
    static void panel_##name(const cpu_gemm *g, int64_t k0, int64_t kc, strip_rows w, const strip_panel *to)           \
    {                                                                                                                  \
        panel_of(line_##name, scales_##name, NUMBERS_OF(factors, name), elements, bytes,                               \
                 FORM_OF(group, bias, minima, factors), bias, AS_MET, g, k0, kc, w, to);                               \
    }                                                                                                                  \
    FOR_TILES(NAME, name, elements, bytes, group, bias, minima, factors)                                               \
    const planes_type PLANES_V(cpu_planes_##name) = {now_##name, panel_##name, TILES_OF(name, factors)};

#if PLANES_DOT && CPU_VL == 16 && !PLANES_SIGNED
#define FOR_TILES(NAME, name, elements, bytes, group, bias, minima, factors)                                           \
    FOR_INTEGERS(factors, NAME, name, bytes, group, bias, minima)                                                             \
    static void tiles_##name(const cpu_gemm *g, int64_t k0, int64_t kc, strip_rows w, const strip_panel *to,           \
                             bool widened)                                                                             \
    {                                                                                                                  \
        if (planes_is_narrow(ENG_TYPE_##NAME) && widened)                                                              \
            panel_of(line_##name, scales_##name, NUMBERS_OF(factors, name), elements, bytes,                           \
                     FORM_OF(group, bias, minima, factors), bias, WIDENED, g, k0, kc, w, to);                          \
        else                                                                                                           \
            panel_of(line_##name, scales_##name, NUMBERS_OF(factors, name), elements, bytes,                           \
                     FORM_OF(group, bias, minima, factors), bias, LOWERED, g, k0, kc, w, to);                          \
    }
#define TILES_OF(name, factors) tiles_##name, INTEGERS_OF(factors, name)
#define INTEGERS_OF(factors, name) INTEGERS_OF_##factors(name)
#define INTEGERS_OF_OWN(name) NULL
#define INTEGERS_OF_WIDE(name) NULL
#define INTEGERS_OF_JOINT(name) integers_##name
#define FOR_INTEGERS(factors, ...) FOR_INTEGERS_##factors(__VA_ARGS__)
#define FOR_INTEGERS_OWN(...)
#define FOR_INTEGERS_WIDE(...)
#define FOR_INTEGERS_JOINT(NAME, name, bytes, group, bias, minima)                                                            \
    static void integers_##name(strip_rows w, const strip_integers *to)                                                \
    {                                                                                                                  \
        block_integers(line_##name, numbers_##name, bytes, FORM_OF(group, bias, minima, JOINT), bias,                         \
                       planes_are_bytes(ENG_TYPE_##NAME), planes_are_negative(ENG_TYPE_##NAME), w, to);                \
    }
#else
#define FOR_TILES(NAME, name, elements, bytes, group, bias, minima, factors)
#define TILES_OF(name, factors) NULL, NULL
#endif

#endif
