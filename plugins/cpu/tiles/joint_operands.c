/* Columns and strips of weights as tiles of joint blocks have them (joint.h). */
#include "config.h"

#include "groups.h"
#include "joint.h"

/* -- of a type ------------------------------------------------------------------------------------------------- */

joint_form cpu_joint_form(uint32_t type)
{
    const planes_form given = planes_types[type].form;
    return (joint_form){.units = JOINT_GROUPS * given.parts, .bytes = planes_are_bytes(type),
                        .minima = given.minima, .bias = given.bias};
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
    return (size_t)((n + TILE_ROWS - 1) / TILE_ROWS * (k / SPAN)) * sizeof(joint_columns);
}

void cpu_joint_pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *packed)
{
    const planes_form given = planes_types[g->type].form;
    const int64_t blocks = g->k / SPAN;
    uint8_t one[JOINT_GROUPS * MOST_OF_GROUP];
    for (int64_t c = c0; c < c1; c++)
        for (int64_t i = 0; i < blocks; i++) {
            pack_some(g, given, EXACT, c, i * SPAN, SPAN, one);
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

void cpu_joint_weigh(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, bool asks, joint_strip *to)
{
    const joint_form form = cpu_joint_form(g->type);
    const int64_t left = (g->k - k0) / SPAN * g->block_bytes * EU_LANES;
    const strip_integers integers = {to->parts[0][0], to->m, to->by, to->n, asks ? asks_from(g, left, (int)g->block_bytes) : 0};
    planes_types[g->type].type->integers(rows_at(g, m, rows, k0), &integers);
    for (int i = 0; i < form.units * VECTORS && form.minima; i++) {
        const vf least = v_load(to->m + ROWS * i), d = v_load(to->by + i % VECTORS * ROWS) * to->n[i];
        v_store(to->least + ROWS * i, form.bias ? v_fma(d, v_set1((float)form.bias), least) : least);
    }
}
