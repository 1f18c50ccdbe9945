/* The table of variant.h, and how a row is chosen from it. */
#include "hot.h"
#include "variant.h"

#define ALL INT64_MAX

#define MUL_MAT .op = ENG_OP_MUL_MAT, .file = "mul_mat"
#define MUL_MAT_ID .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id"
#define VEC .family = CL_VEC, .group = 1
#define SIMT(items) .family = CL_SIMT, .group = (items)
#define COLUMNS(from, to) .least = (from), .most = (to)
#define ROWS_KERNELS .kernel = "mul_mat_rows", .several = "mul_mat_several"
/* On cards: rows and columns of a group.  Pieces of CL_LONG take registers for half as many rows of several columns. */
#define LANES(m, n)                                                                                                    \
    MUL_MAT, SIMT(64), ROWS_KERNELS, .options = " -DDOT_ROWS=" #m " -DCOLS=" #n, .rows = (m), .columns = (n)
/* So many times 64 work-items for one copy of a table; of eight columns fewer, as sums take local memory, too. */
#define TEAMS(t, n)                                                                                                    \
    MUL_MAT, SIMT(64 * t), ROWS_KERNELS, .types = CL_TABLES,                                                           \
    .options = " -DTEAMS=" #t " -DDOT_ROWS=4 -DCOLS=" #n, .rows = 4 * t, .columns = (n)
#define STRIPS(bytes, how) .kernel = "mul_mat_strips", .options = " -DSTRIPS" how, .rows = 32, .packed = (bytes)
/* The same by a processor's matrix unit: weights rounded to bf16, or such already, columns as so many numbers of bf16. */
#define UNIT_STRIPS(parts, how)                                                                                        \
    .kernel = "mul_mat_strips", .options = " -DSTRIPS -DCOLUMN_PARTS=" #parts " -DTILES_UNIT=" how, .rows = 128,        \
    .packed = 64 * (parts), .together = 32
/* The same of weights in lanes, with columns in digits, three of them or, rounded, one, a group of which takes so many bytes. */
#define DIGITS(planes, cap, how)                                                                                       \
    .needs = (cap), .layout = EU_LANES, .sixteen = 1, .rows = 256, .together = 32,                                      \
    .options = " -DSTRIPS -DPLANES=" #planes " -DTILES_UNIT=" #how
#define ONE_DIGIT .fast = 1, .types = ~CL_TWO_SCALES, .packed = 44
#define THREE_DIGITS .types = ~CL_TWO_SCALES, .packed = 140 /* of some types fewer (GROUP_WORDS of kernels/strips_planes.clh) */
/* The same over blocks of 256 elements: of 32 so many bytes. */
#define JOINT(cap, how)                                                                                                \
    VEC, .needs = (cap), .layout = EU_LANES, .sixteen = 1, .rows = 256, .together = 32, .types = CL_JOINT, .packed = 109, \
    .options = " -DSTRIPS -DPLANES=3 -DJOINT=1 -DTILES_UNIT=" #how
/* Of weights in lanes: of one column or more, so many at a time, in so many planes, a group of which takes so many bytes. */
#define PLANES(n, of, bytes)                                                                                           \
    .op = ENG_OP_MUL_MAT, .file = "mul_mat_planes", .layout = EU_LANES, ROWS_KERNELS, .packed = (bytes),               \
    .options = " -DPLANES=" #n of
#define EXPERTS_PLANES(n, of, bytes)                                                                                   \
    .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_planes", .layout = EU_LANES, .kernel = "mul_mat_id", .rows = 32,      \
    .packed = (bytes), .options = " -DMOST_COLS=96 -DPLANES=" #n of
/* Of many tokens: pairs sorted by expert, of which so many are worth strips. */
#define EXPERTS_STRIPS(from, bytes, how)                                                                               \
    .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_strips", .kernel = "mul_mat_id", .rows = 32, .sorted = 1,             \
    COLUMNS(from, ALL), .packed = (bytes), .options = " -DSTRIPS" how
/* The same by a processor's matrix unit. */
#define EXPERTS_UNIT(parts, how)                                                                                       \
    .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_strips", .kernel = "mul_mat_id", .sorted = 1, .rows = 128,             \
    .packed = 64 * (parts), .options = " -DSTRIPS -DCOLUMN_PARTS=" #parts " -DTILES_UNIT=" #how
#define EXPERTS_ROUNDED(how) .fast = 1, COLUMNS(MANY_ROUNDED_PAIRS, ALL), EXPERTS_UNIT(1, how)
#define EXPERTS_EXACT(how) .types = CL_TYPE_BIT(ENG_TYPE_BF16), COLUMNS(MANY_ROUNDED_PAIRS, ALL), EXPERTS_UNIT(3, how)
#define EXPERTS_DIGITS .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_strips", .kernel = "mul_mat_id", .sorted = 1
/* By a matrix unit, exactly, so many columns at a time. */
#define MATRIX_ROWS(n, group, tiles, more)                                                                             \
    SIMT(group), .op = ENG_OP_MUL_MAT, .file = "mul_mat_matrix", .layout = EU_LANES, ROWS_KERNELS, .rows = 16 * (tiles), \
    .columns = (n), .options = " -DCOLS=" #n " -DGROUP=" #group " -DROW_TILES=" #tiles more
#define MATRIX_LANES                                                                                                   \
    .op = ENG_OP_MUL_MAT, .file = "mul_mat_lanes", .layout = EU_LANES, .kernel = "mul_mat_tile", .rows = 128,          \
    .columns = 64, .planes = 3
#define MATRIX_EXPERT_PAIRS(items)                                                                                     \
    SIMT(items), .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_matrix", .layout = EU_LANES, COLUMNS(1, 8),              \
    .kernel = "mul_mat_id_rows", .rows = 16, .columns = 1, .options = " -DCOLS=1 -DROW_TILES=1 -DGROUP=" #items
#define MATRIX_EXPERT_LANES(n, how)                                                                                    \
    SIMT(128), .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_lanes", .layout = EU_LANES, COLUMNS(9, ALL),               \
    .kernel = "mul_mat_id", .rows = 128, .columns = 64, .planes = (n), .options = how
#define BFLOATS .fast = 1, .types = CL_TYPE_BIT(ENG_TYPE_BF16)
#define ONE_COLUMN COLUMNS(1, 1), .rows = 32
/* Columns that meet weights as these are made, where registers hold the sums of so many. */
#define DIRECT(from, to) COLUMNS(from, to), .rows = 32, .columns = (to)
#define AT_A_TIME(n) " -DMOST_COLS=" #n
#define SOME(from, to, most) COLUMNS(from, to), .rows = 64, .columns = (most)
#define TILES(n) .parts = 1, .kernel = "mul_mat_tile", .options = " -DTILES -DTILE_N=" #n, .rows = 128, .columns = (n)
#define MATRIX_TILES(n)                                                                                                \
    .op = ENG_OP_MUL_MAT, .file = "mul_mat_halves", .fast = 1, .halves = 1, .types = ~CL_TYPE_BIT(ENG_TYPE_F32),       \
    .kernel = "mul_mat_tile", .options = " -DTILE_N=" #n, .columns = (n)
#define MATRIX_EXPERTS(n)                                                                                              \
    .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_halves", .fast = 1, .halves = 1, .types = ~CL_TYPE_BIT(ENG_TYPE_F32), \
    .kernel = "mul_mat_id", .options = " -DTILE_N=" #n, .rows = 128
/* The same exactly. */
#define EXACT                                                                                                          \
    .halves = 1, .planes = 3, .types = ~(CL_TYPE_BIT(ENG_TYPE_F32) | CL_TYPE_BIT(ENG_TYPE_F16)), .options = " -DPLANES=3", \
    .rows = 128, .columns = 64
#define EXACT_TILES .op = ENG_OP_MUL_MAT, .file = "mul_mat_halves", .kernel = "mul_mat_tile", COLUMNS(33, ALL), EXACT
#define EXACT_EXPERTS .op = ENG_OP_MUL_MAT_ID, .file = "mul_mat_id_halves", .kernel = "mul_mat_id", COLUMNS(9, ALL), EXACT
#define PAIRS .kernel = "mul_mat_id_rows", .options = " -DCOLS=1", .rows = 4, .columns = 1
#define TEAM_PAIRS                                                                                                     \
    .kernel = "mul_mat_id_rows", .types = CL_TABLES, .options = " -DTEAMS=4 -DDOT_ROWS=4 -DCOLS=1", .rows = 16, .columns = 1
#define DOT4_TILES(n, how)                                                                                             \
    .fast = 1, .types = CL_BLOCKS, .parts = 1, .kernel = "mul_mat_tile",                                               \
    .options = " -DTILES -DTILE_N=" #n " -DDOT4=" #how, .rows = 128, .columns = (n)
#define DOT4_EXPERTS(n, how)                                                                                           \
    .fast = 1, .types = CL_BLOCKS, .kernel = "mul_mat_id", .options = " -DTILES -DTILE_N=" #n " -DDOT4=" #how, .rows = 128
#define ATTENTION .op = ENG_OP_ATTENTION, .file = "attention", .kernel = "attention", .parts = 1
#define MATRIX_QUERIES(kind, n, how)                                                                                   \
    ATTENTION, SIMT(128), COLUMNS(CL_ATTENTION_##kind, CL_ATTENTION_##kind), .options = " -DQT=" #n how, .rows = (n), .columns = 128
#define UNIT_QUERIES                                                                                                   \
    ATTENTION, VEC, COLUMNS(CL_ATTENTION_ROUND, CL_ATTENTION_ROUND), .rows = 128, .columns = 64
#define DELTA_NET .op = ENG_OP_GATED_DELTA_NET, .file = "gated_delta_net", .kernel = "gated_delta_net"
#define DELTA_CHUNKS .op = ENG_OP_GATED_DELTA_NET, .file = "delta_chunks", .kernel = "delta_chunks"
#define DELTA_TILES .op = ENG_OP_GATED_DELTA_NET, .file = "delta_tiles", .kernel = "delta_tiles"
#define SCAN .op = ENG_OP_SSM_SCAN, .file = "ssm_scan", .kernel = "ssm_scan"
#define SCAN_CHUNKS .op = ENG_OP_SSM_SCAN, .file = "scan_chunks", .kernel = "scan_chunks"
#define CONV .op = ENG_OP_SSM_CONV, .file = "ssm_conv", .kernel = "ssm_conv"
#define CONVERT(kind) .op = ENG_OP_CPY, .file = "cpy", COLUMNS(CL_CONVERT_##kind, CL_CONVERT_##kind)
#define HADAMARD .op = ENG_OP_HADAMARD, .file = "hadamard", .kernel = "hadamard"
#define GET_ROWS .op = ENG_OP_GET_ROWS, .file = "get_rows", .kernel = "get_rows", COLUMNS(1, ALL)
#define SET_ROWS(kind) .op = ENG_OP_SET_ROWS, .file = "set_rows", COLUMNS(CL_STORE_##kind, CL_STORE_##kind)
#define EXPERTS(n) .kernel = "mul_mat_id", .options = " -DTILES -DTILE_N=" #n, .rows = 128

/* Weights in lanes by a matrix unit: a group shares k among fewer where there are rows for all compute units without. */
enum { MANY_ROWS = 8192, MANY_EXPERT_ROWS = 2048 };
/* From so many on weights that are packed as bf16 once cost less than making them anew for each 64 columns. */
enum { MANY_EXPERT_COLUMNS = 193 };
/* Up to so many sums of a group of bytes for each column cost less than rounding weights does. */
enum { FEW_IN_A_DIGIT = 96 };
/* From so many on rounding weights of blocks for a processor's matrix unit costs less than it brings. */
enum { MANY_ROUNDED = 72, MANY_ROUNDED_PAIRS = 24 };
/* From so many on weights that are sums of several numbers of bf16, each of which meets several, cost less than f32's products. */
enum { MANY_IN_PARTS = 96 };
#define UNIT MUL_MAT, VEC, .needs = CL_CAP_TILES
#define UNIT_IN_C MUL_MAT, VEC, .needs = CL_CAP_TILES_IN_C
#define TILES_ROUNDED(how) .fast = 1, UNIT_STRIPS(1, #how)
/* Exactly, of weights that are sums of so many numbers of bf16, from so many columns on. */
#define TILES_EXACT(rows, from, how) COLUMNS(from, ALL), UNIT_STRIPS(3, #how " -DROW_PARTS=" #rows)
#define MMA .needs = CL_CAP_MMA
#define WMMA .needs = CL_CAP_WMMA
/* Tiles by a unit of cards, of three widths. */
#define WIDTHS(name, op, cap, tiles, how)                                                                              \
    {name "32", op, SIMT(256), .needs = (cap), COLUMNS(9, 32), tiles(32, how)},                                        \
    {name "64", op, SIMT(256), .needs = (cap), COLUMNS(33, 64), tiles(64, how)},                                       \
    {name "128", op, SIMT(256), .needs = (cap), COLUMNS(65, ALL), tiles(128, how)}
/*
 * Of the same op and family the first that suits is taken.  Columns of mul_mat_id are tokens up to 8, then how many an
 * expert has if they are dealt out evenly.  Kernels: processors - columns.clh, strips.clh and planes.clh; cards - lanes_dot.clh,
 * tile.clh and, with a matrix unit, matrix_tile.clh and matrix_exact.clh, or, of weights in lanes, matrix_rows.clh and matrix_lanes.clh.
 */
static const cl_variant variants[] = {
    {"digit", MUL_MAT, VEC, DIGITS(1, CL_CAP_TILES, 1), ONE_DIGIT, COLUMNS(9, FEW_IN_A_DIGIT), .kernel = "mul_mat_strips"},
    {"digit-c", MUL_MAT, VEC, DIGITS(1, CL_CAP_TILES_IN_C, 2), ONE_DIGIT, COLUMNS(9, FEW_IN_A_DIGIT), .kernel = "mul_mat_strips"},
    {"tiles", UNIT, TILES_ROUNDED(1), .layout = EU_LANES, COLUMNS(MANY_ROUNDED, ALL)},
    {"tiles-c", UNIT_IN_C, TILES_ROUNDED(2), .layout = EU_LANES, COLUMNS(MANY_ROUNDED, ALL)},
    {"tiles", UNIT, TILES_ROUNDED(1), .types = CL_BLOCKS, COLUMNS(MANY_ROUNDED, ALL)},
    {"tiles-c", UNIT_IN_C, TILES_ROUNDED(2), .types = CL_BLOCKS, COLUMNS(MANY_ROUNDED, ALL)},
    {"tiles", UNIT, TILES_ROUNDED(1), .types = ~(CL_BLOCKS), COLUMNS(17, ALL)},
    {"tiles-c", UNIT_IN_C, TILES_ROUNDED(2), .types = ~(CL_BLOCKS), COLUMNS(17, ALL)},
    {"tiles3", UNIT, .types = CL_TYPE_BIT(ENG_TYPE_BF16), TILES_EXACT(1, 17, 1)},
    {"tiles3", UNIT, .types = CL_TYPE_BIT(ENG_TYPE_F16), TILES_EXACT(2, MANY_IN_PARTS, 1)},
    {"tiles3-c", UNIT_IN_C, .types = CL_TYPE_BIT(ENG_TYPE_BF16), TILES_EXACT(1, 17, 2)},
    {"tiles3-c", UNIT_IN_C, .types = CL_TYPE_BIT(ENG_TYPE_F16), TILES_EXACT(2, MANY_IN_PARTS, 2)},
    {"plane", VEC, .fast = 1, ONE_COLUMN, PLANES(1, " -DDIRECT=1", 48)},
    {"plane2", VEC, .needs = CL_CAP_DOT4, .fast = 1, DIRECT(2, 2), PLANES(1, " -DDIRECT=2", 48)},
    {"plane4", VEC, .needs = CL_CAP_DOT4, .fast = 1, DIRECT(3, 4), PLANES(1, " -DDIRECT=4", 48)},
    {"plane8", VEC, .needs = CL_CAP_DOT4, .fast = 1, DIRECT(5, 8), PLANES(1, " -DDIRECT=8", 48)},
    {"plane", VEC, .needs = CL_CAP_DOT4, .fast = 1, SOME(2, ALL, 192), PLANES(1, AT_A_TIME(192), 48)},
    {"plane", VEC, .fast = 1, SOME(2, ALL, 96), PLANES(1, AT_A_TIME(96), 48)},
    {"planes", VEC, ONE_COLUMN, PLANES(3, " -DDIRECT=1", 128)},
    {"planes2", VEC, .needs = CL_CAP_DOT4, DIRECT(2, 2), PLANES(3, " -DDIRECT=2", 128)},
    {"planes4", VEC, .needs = CL_CAP_DOT4, DIRECT(3, 4), PLANES(3, " -DDIRECT=4", 128)},
    {"planes", VEC, SOME(2, 8, 96), PLANES(3, AT_A_TIME(96), 128)},
    {"joint", MUL_MAT, JOINT(CL_CAP_TILES, 1), COLUMNS(9, ALL), .kernel = "mul_mat_strips"},
    {"joint-c", MUL_MAT, JOINT(CL_CAP_TILES_IN_C, 2), COLUMNS(9, ALL), .kernel = "mul_mat_strips"},
    {"tiles3", UNIT, .types = CL_TYPE_BIT(ENG_TYPE_NVFP4), .layout = EU_LANES, TILES_EXACT(1, 33, 1)},
    {"tiles3", UNIT, .types = CL_TWO_SCALES, .layout = EU_LANES, TILES_EXACT(3, MANY_IN_PARTS, 1)},
    {"tiles3-c", UNIT_IN_C, .types = CL_TYPE_BIT(ENG_TYPE_NVFP4), .layout = EU_LANES, TILES_EXACT(1, 33, 2)},
    {"tiles3-c", UNIT_IN_C, .types = CL_TWO_SCALES, .layout = EU_LANES, TILES_EXACT(3, MANY_IN_PARTS, 2)},
    {"digits", MUL_MAT, VEC, DIGITS(3, CL_CAP_TILES, 1), THREE_DIGITS, COLUMNS(9, ALL), .kernel = "mul_mat_strips"},
    {"digits-c", MUL_MAT, VEC, DIGITS(3, CL_CAP_TILES_IN_C, 2), THREE_DIGITS, COLUMNS(9, ALL), .kernel = "mul_mat_strips"},
    {"strips", MUL_MAT, VEC, .layout = EU_LANES, COLUMNS(9, ALL), STRIPS(128, "")},
    {"dot4", MUL_MAT, VEC, .needs = CL_CAP_DOT4, .fast = 1, .types = CL_BLOCKS, COLUMNS(4, ALL), STRIPS(52, " -DDOT4=1")},
    {"dot4-c", MUL_MAT, VEC, .needs = CL_CAP_DOT4_IN_C, .fast = 1, .types = CL_BLOCKS, COLUMNS(4, ALL),
     STRIPS(52, " -DDOT4=2")},
    {"strips", MUL_MAT, VEC, .types = CL_BLOCKS, COLUMNS(9, ALL), STRIPS(128, "")},
    {"bf16", MUL_MAT, VEC, .needs = CL_CAP_BF16, BFLOATS, COLUMNS(9, ALL), STRIPS(64, " -DBF16=1")},
    {"bf16-c", MUL_MAT, VEC, .needs = CL_CAP_BF16_IN_C, BFLOATS, COLUMNS(9, ALL), STRIPS(64, " -DBF16=2")},
    {"one", MUL_MAT, VEC, COLUMNS(1, 1), ROWS_KERNELS, .options = " -DONE"},
    {"columns", MUL_MAT, VEC, COLUMNS(2, 16), ROWS_KERNELS},
    {"strips", MUL_MAT, VEC, COLUMNS(17, ALL), STRIPS(128, "")},

    {"mma-rows1-tall", MMA, .tall = MANY_ROWS, COLUMNS(1, 1), MATRIX_ROWS(1, 128, 1, " -DMOST_LOCAL=32768")},
    {"mma-rows1", MMA, COLUMNS(1, 1), MATRIX_ROWS(1, 256, 1, "")},
    {"mma-rows2-tall", MMA, .tall = MANY_ROWS, COLUMNS(2, 2), MATRIX_ROWS(2, 128, 2, "")},
    {"mma-rows2", MMA, .types = ~CL_LARGE, COLUMNS(2, 2), MATRIX_ROWS(2, 256, 1, "")},
    {"mma-rows8-tall", MMA, .tall = MANY_ROWS, COLUMNS(3, 32), MATRIX_ROWS(8, 128, 2, "")},
    {"mma-rows8", MMA, COLUMNS(2, 32), MATRIX_ROWS(8, 256, 1, "")},
    {"mma-128", MMA, SIMT(256), COLUMNS(65, ALL), .layout = EU_LANES, .rows = 256, MATRIX_TILES(128)},
    {"mma-planes64", MMA, SIMT(128), COLUMNS(33, ALL), MATRIX_LANES},
    {"teams1", TEAMS(4, 1), COLUMNS(1, 1)},
    {"teams2", TEAMS(4, 2), COLUMNS(2, 2)},
    {"teams4", TEAMS(4, 4), COLUMNS(3, 4)},
    {"teams8", TEAMS(2, 8), COLUMNS(5, 8)},
    {"lanes1", LANES(4, 1), COLUMNS(1, 1)},
    {"lanes2", LANES(2, 2), COLUMNS(2, 2), .types = CL_LONG},
    {"lanes2", LANES(4, 2), COLUMNS(2, 2)},
    {"lanes4", LANES(2, 4), COLUMNS(3, 4), .types = CL_LONG},
    {"lanes4", LANES(4, 4), COLUMNS(3, 4)},
    {"lanes8", LANES(2, 8), COLUMNS(5, 8), .types = CL_LONG},
    {"lanes8", LANES(4, 8), COLUMNS(5, 8)},
    {"mma32", MMA, SIMT(128), COLUMNS(17, 32), .rows = 128, MATRIX_TILES(32)},
    {"mma64", MMA, SIMT(128), COLUMNS(33, 64), .rows = 128, MATRIX_TILES(64)},
    {"mma128", MMA, SIMT(256), COLUMNS(65, ALL), .rows = 256, MATRIX_TILES(128)},
    {"wmma32", WMMA, SIMT(128), COLUMNS(17, 32), .rows = 128, MATRIX_TILES(32)},
    {"wmma64", WMMA, SIMT(128), COLUMNS(33, 64), .rows = 128, MATRIX_TILES(64)},
    {"wmma128", WMMA, SIMT(256), COLUMNS(65, ALL), .rows = 128, MATRIX_TILES(128)},
    {"mma-exact64", MMA, SIMT(128), EXACT_TILES},
    {"wmma-exact64", WMMA, SIMT(128), EXACT_TILES},
    WIDTHS("dot4-", MUL_MAT, CL_CAP_DOT4, DOT4_TILES, 1),
    WIDTHS("dot4-c", MUL_MAT, CL_CAP_DOT4_IN_C, DOT4_TILES, 2),
    {"teams8", TEAMS(2, 8), COLUMNS(9, 32)},
    {"lanes8", LANES(2, 8), COLUMNS(9, 32), .types = CL_LONG},
    {"lanes8", LANES(4, 8), COLUMNS(9, 32)},
    {"tile64", MUL_MAT, SIMT(256), COLUMNS(33, 64), TILES(64)},
    {"tile128", MUL_MAT, SIMT(256), COLUMNS(65, ALL), TILES(128)},
    {"lanes8", LANES(2, 8), COLUMNS(33, ALL), .slow = 1, .types = CL_LONG},
    {"lanes8", LANES(4, 8), COLUMNS(33, ALL), .slow = 1},

    {"digit", VEC, DIGITS(1, CL_CAP_TILES, 1), ONE_DIGIT, COLUMNS(10, FEW_IN_A_DIGIT), EXPERTS_DIGITS},
    {"digit-c", VEC, DIGITS(1, CL_CAP_TILES_IN_C, 2), ONE_DIGIT, COLUMNS(10, FEW_IN_A_DIGIT), EXPERTS_DIGITS},
    {"tiles", VEC, .needs = CL_CAP_TILES, EXPERTS_ROUNDED(1), .layout = EU_LANES},
    {"tiles-c", VEC, .needs = CL_CAP_TILES_IN_C, EXPERTS_ROUNDED(2), .layout = EU_LANES},
    {"tiles", VEC, .needs = CL_CAP_TILES, EXPERTS_ROUNDED(1)},
    {"tiles-c", VEC, .needs = CL_CAP_TILES_IN_C, EXPERTS_ROUNDED(2)},
    {"tiles3", VEC, .needs = CL_CAP_TILES, EXPERTS_EXACT(1)},
    {"tiles3-c", VEC, .needs = CL_CAP_TILES_IN_C, EXPERTS_EXACT(2)},
    {"plane", VEC, .fast = 1, COLUMNS(1, 8), EXPERTS_PLANES(1, " -DDIRECT=1", 48)},
    {"plane", VEC, .fast = 1, COLUMNS(9, ALL), EXPERTS_PLANES(1, "", 48)},
    {"planes", VEC, COLUMNS(1, 8), EXPERTS_PLANES(3, " -DDIRECT=1", 128)},
    {"joint", JOINT(CL_CAP_TILES, 1), COLUMNS(10, ALL), EXPERTS_DIGITS},
    {"joint-c", JOINT(CL_CAP_TILES_IN_C, 2), COLUMNS(10, ALL), EXPERTS_DIGITS},
    {"digits", VEC, DIGITS(3, CL_CAP_TILES, 1), THREE_DIGITS, COLUMNS(10, ALL), EXPERTS_DIGITS},
    {"digits-c", VEC, DIGITS(3, CL_CAP_TILES_IN_C, 2), THREE_DIGITS, COLUMNS(10, ALL), EXPERTS_DIGITS},
    {"strips", VEC, .layout = EU_LANES, EXPERTS_STRIPS(9, 128, "")},
    {"dot4", VEC, .needs = CL_CAP_DOT4, .fast = 1, .types = CL_BLOCKS, EXPERTS_STRIPS(9, 52, " -DDOT4=1")},
    {"dot4-c", VEC, .needs = CL_CAP_DOT4_IN_C, .fast = 1, .types = CL_BLOCKS, EXPERTS_STRIPS(9, 52, " -DDOT4=2")},
    {"bf16", VEC, .needs = CL_CAP_BF16, BFLOATS, EXPERTS_STRIPS(9, 64, " -DBF16=1")},
    {"bf16-c", VEC, .needs = CL_CAP_BF16_IN_C, BFLOATS, EXPERTS_STRIPS(9, 64, " -DBF16=2")},
    {"strips", VEC, EXPERTS_STRIPS(9, 128, "")},
    {"experts", MUL_MAT_ID, VEC, COLUMNS(1, ALL), .kernel = "mul_mat_id", .rows = 32},

    {"mma-pairs-tall", MMA, .tall = MANY_EXPERT_ROWS, MATRIX_EXPERT_PAIRS(128)},
    {"mma-pairs", MMA, MATRIX_EXPERT_PAIRS(256)},
    {"mma-64", MMA, SIMT(128), COLUMNS(MANY_EXPERT_COLUMNS, ALL), .layout = EU_LANES, MATRIX_EXPERTS(64)},
    {"mma-plane64", MMA, .fast = 1, MATRIX_EXPERT_LANES(1, " -DPLANES=1")},
    {"mma-planes64", MMA, MATRIX_EXPERT_LANES(3, "")},
    {"teams1", MUL_MAT_ID, SIMT(256), COLUMNS(1, 8), TEAM_PAIRS},
    {"lanes1", MUL_MAT_ID, SIMT(64), COLUMNS(1, 8), PAIRS},
    {"mma32", MMA, SIMT(128), COLUMNS(9, 32), MATRIX_EXPERTS(32)},
    {"mma64", MMA, SIMT(128), COLUMNS(33, ALL), MATRIX_EXPERTS(64)},
    {"wmma32", WMMA, SIMT(128), COLUMNS(9, 32), MATRIX_EXPERTS(32)},
    {"wmma64", WMMA, SIMT(128), COLUMNS(33, ALL), MATRIX_EXPERTS(64)},
    {"mma-exact64", MMA, SIMT(128), EXACT_EXPERTS},
    {"wmma-exact64", WMMA, SIMT(128), EXACT_EXPERTS},
    WIDTHS("dot4-", MUL_MAT_ID, CL_CAP_DOT4, DOT4_EXPERTS, 1),
    WIDTHS("dot4-c", MUL_MAT_ID, CL_CAP_DOT4_IN_C, DOT4_EXPERTS, 2),
    {"tile32", MUL_MAT_ID, SIMT(256), COLUMNS(9, 32), EXPERTS(32)},
    {"tile64", MUL_MAT_ID, SIMT(256), COLUMNS(33, 64), EXPERTS(64)},
    {"tile128", MUL_MAT_ID, SIMT(256), COLUMNS(65, ALL), EXPERTS(128)},
    {"lanes1", MUL_MAT_ID, SIMT(64), COLUMNS(9, ALL), .slow = 1, PAIRS},

    /* n: of processors heads of a group if there is one token, else ALL; of cards CL_ATTENTION_*.  rows: queries that share
     * what is decoded of a cell; columns: cells that are worth a group of their own */
    {"heads1", ATTENTION, VEC, COLUMNS(1, 1), .options = " -DHEADS=1 -DTURNS=1", .rows = 1, .columns = 64},
    {"heads2", ATTENTION, VEC, COLUMNS(2, 2), .options = " -DHEADS=2 -DTURNS=1", .rows = 2, .columns = 64},
    {"heads4", ATTENTION, VEC, COLUMNS(3, 4), .options = " -DHEADS=4 -DTURNS=1", .rows = 4, .columns = 64},
    {"heads8", ATTENTION, VEC, COLUMNS(5, 8), .options = " -DHEADS=4 -DTURNS=2", .rows = 8, .columns = 64},
    {"tiles", UNIT_QUERIES, .needs = CL_CAP_TILES, .fast = 1, .options = " -DPARTS=1 -DTILES_UNIT=1"},
    {"tiles-c", UNIT_QUERIES, .needs = CL_CAP_TILES_IN_C, .fast = 1, .options = " -DPARTS=1 -DTILES_UNIT=2"},
    {"tiles3", UNIT_QUERIES, .needs = CL_CAP_TILES, .options = " -DPARTS=3 -DTILES_UNIT=1"},
    {"tiles3-c", UNIT_QUERIES, .needs = CL_CAP_TILES_IN_C, .options = " -DPARTS=3 -DTILES_UNIT=2"},
    {"queries16", ATTENTION, VEC, COLUMNS(1, ALL), .rows = 16, .columns = 64},
    {"mma64-fast", MMA, .fast = 1, MATRIX_QUERIES(EIGHTS, 64, " -DROUNDED")},
    {"mma64", MMA, .types = CL_ATTENTION_EXACT, MATRIX_QUERIES(EIGHTS, 64, "")},
    {"mma32-fast", MMA, .fast = 1, MATRIX_QUERIES(MORE_EIGHTS, 32, " -DROUNDED")},
    {"mma32", MMA, .types = CL_ATTENTION_EXACT, MATRIX_QUERIES(MORE_EIGHTS, 32, "")},
    {"lanes4", ATTENTION, SIMT(512), COLUMNS(CL_ATTENTION_FEW, CL_ATTENTION_FEW), .options = " -DLANES -DGROUP=512",
     .rows = 4, .columns = 128},
    {"lanes4", ATTENTION, SIMT(256), COLUMNS(CL_ATTENTION_FEW, CL_ATTENTION_FEW), .options = " -DLANES -DGROUP=256",
     .rows = 4, .columns = 128},
    {"tiles64", ATTENTION, SIMT(128), COLUMNS(CL_ATTENTION_EIGHTS, CL_ATTENTION_MANY), .options = " -DTILES -DQT=64",
     .rows = 64, .columns = 128},
    {"tiles32", ATTENTION, SIMT(128), COLUMNS(CL_ATTENTION_MORE_EIGHTS, CL_ATTENTION_MORE), .options = " -DTILES -DQT=32",
     .rows = 32, .columns = 128},
    {"queries4", ATTENTION, SIMT(64), COLUMNS(1, ALL), .rows = 4, .columns = 128},

    /* n: tokens that a sequence has on average; 1 where a head has more than 256 keys, CL_DELTA_ROUND of many tokens where they are
     * whole tiles.  rows: columns of a head's state; parts: at most, and the kernel is told how many; together: heads that share
     * keys; of cards pool.c says */
    {"columns16", DELTA_NET, VEC, COLUMNS(1, CL_CHUNKS_FROM - 1), .rows = 16},
    {"tiles", DELTA_TILES, VEC, .needs = CL_CAP_TILES, .fast = 1, COLUMNS(CL_DELTA_ROUND, CL_DELTA_ROUND), .parts = 1, .rows = 128,
     .together = 2, .options = " -DTILES_UNIT=1"},
    {"tiles-c", DELTA_TILES, VEC, .needs = CL_CAP_TILES_IN_C, .fast = 1, COLUMNS(CL_DELTA_ROUND, CL_DELTA_ROUND), .parts = 1,
     .rows = 128, .together = 2, .options = " -DTILES_UNIT=2"},
    {"chunks", DELTA_CHUNKS, VEC, COLUMNS(CL_CHUNKS_FROM, ALL), .parts = 1, .rows = 128},
    {"lanes128", DELTA_NET, SIMT(128), COLUMNS(1, ALL)},
    {"lanes64", DELTA_NET, SIMT(64), COLUMNS(1, ALL)},

    /* n: how channels lie.  rows: channels of a head, or heads; of cards pool.c says */
    {"channels16", SCAN, VEC, COLUMNS(CL_SCAN_HEADS, CL_SCAN_HEADS), .rows = 16},
    {"chunks", SCAN_CHUNKS, VEC, COLUMNS(CL_SCAN_MANY, CL_SCAN_MANY), .parts = 1, .rows = 64},
    {"heads16", SCAN, VEC, COLUMNS(CL_SCAN_BESIDE, CL_SCAN_BESIDE), .options = " -DBESIDE=1", .rows = 16},
    {"lanes128", SCAN, SIMT(128), COLUMNS(1, ALL)},
    {"lanes64", SCAN, SIMT(64), COLUMNS(1, ALL)},

    /* n: tokens.  parts: results and windows in a launch each; rows: channels, columns: tokens of a work-item */
    {"once", CONV, VEC, COLUMNS(1, 32), .rows = 256, .columns = 32},
    {"twice", CONV, VEC, COLUMNS(33, ALL), .parts = 1, .rows = 256, .columns = 32},
    {"once", CONV, SIMT(64), COLUMNS(1, 4), .rows = 1, .columns = 4},
    {"twice", CONV, SIMT(64), COLUMNS(5, ALL), .parts = 1, .rows = 1, .columns = 1},

    /* n: what is converted.  columns: units of 32 or `rows` elements, elements or bytes of a work-item */
    {"same", CONVERT(SAME), VEC, .kernel = "cpy_same", .columns = 4096},
    {"same", CONVERT(SAME), SIMT(64), .kernel = "cpy_same", .columns = 4},
    {"numbers", CONVERT(NUMBERS), VEC, .kernel = "cpy_number", .columns = 1024},
    {"numbers", CONVERT(NUMBERS), SIMT(64), .kernel = "cpy_number", .columns = 1},
    {"blocks", CONVERT(BLOCKS), VEC, .kernel = "cpy_any", .columns = 64},
    {"blocks", CONVERT(BLOCKS), SIMT(64), .kernel = "cpy_any", .columns = 1},
    {"rows", CONVERT(FLOATS), VEC, .kernel = "cpy_convert", .columns = 64},
    {"local", CONVERT(FLOATS), SIMT(64), .kernel = "cpy_convert", .parts = 1, .columns = 1}, /* parts: through local memory */
    {"blocks2", CONVERT(GROUPED), VEC, .kernel = "cpy_grouped", .rows = 256, .columns = 2},
    {"groups", CONVERT(GROUPED), SIMT(64), .kernel = "cpy_grouped", .columns = 1}, /* see set_rows */

    /* n: elements of a transform.  columns: elements of a row that a group does at least; parts: 16 a work-item, of all rows */
    {"row", HADAMARD, VEC, COLUMNS(1, ALL), .columns = 4096},
    {"registers", HADAMARD, SIMT(64), COLUMNS(16, 1024), .parts = 1, .columns = 256},
    {"stages", HADAMARD, SIMT(64), COLUMNS(1, ALL), .columns = 256},

    /* n of set_rows: what is stored at a time.  rows: elements of a unit; columns: units of a work-item at most */
    {"units256", GET_ROWS, VEC, .rows = 16, .columns = 256},
    {"units1", GET_ROWS, SIMT(64), .rows = 16, .columns = 1},
    {"units64", SET_ROWS(32), VEC, .kernel = "set_rows", .rows = 32, .columns = 64},
    {"units1", SET_ROWS(32), SIMT(64), .kernel = "set_rows", .rows = 32, .columns = 1},
    {"blocks2", SET_ROWS(256), VEC, .kernel = "set_rows_grouped", .rows = 256, .columns = 2},
    {"groups", SET_ROWS(256), SIMT(64), .kernel = "set_rows_grouped", .columns = 1}, /* rows: what shares a scale */
};

enum { N_VARIANTS = sizeof variants / sizeof *variants };

/* What the device is not known to have until it is tried. */
enum { LATE_BF16 = CL_CAP_BF16 | CL_CAP_BF16_IN_C, LATE_TILES = CL_CAP_TILES | CL_CAP_TILES_IN_C, LATE = LATE_BF16 | LATE_TILES };

/* f16 weights are multiplied where they are by tiles of halves. */
static bool suits_type(const cl_variant *v, const cl_device *device, uint32_t type)
{
    const bool halves = v->halves && type == ENG_TYPE_F16;
    return (!v->types || v->types & CL_TYPE_BIT(type)) && (!halves || device->matrix_halves);
}

static bool suits(const cl_variant *v, const cl_device *device, uint32_t op, int64_t n)
{
    return v->op == op && (v->family == CL_VEC) == device->vec && !(v->needs & ~(device->caps | LATE)) &&
           v->group <= device->max_group && n >= v->least && n <= v->most;
}

static bool suits_layout(const cl_variant *v, cl_device *device, uint32_t layout)
{
    return (v->layout == EU_LANES) == (layout == EU_LANES) && (!v->sixteen || strstr(cl_lanes_options(device), "LANES_DOT4"));
}

/* Asked last: trying takes some time. */
static bool has_late(cl_device *device, const cl_variant *v)
{
    return (!(v->needs & LATE_BF16) || cl_bf16_caps(device) & v->needs) && (!(v->needs & LATE_TILES) || cl_tiles_caps(device) & v->needs);
}

const cl_variant *cl_variant_find(cl_device *device, const eng_node *node, const eng_tensor *matrix, int64_t columns)
{
    columns = cl_max(1, columns); /* of a result that is empty, nothing is launched */
    for (const cl_variant *v = variants; v < variants + N_VARIANTS; v++)
        if (suits(v, device, node->op, columns) && (!v->fast || node->precision != ENG_PRECISION_EXACT) &&
            suits_type(v, device, matrix->type) && cl_ne(matrix, 1) >= v->tall && suits_layout(v, device, matrix->layout) &&
            has_late(device, v))
            return v;
    return NULL;
}

const cl_variant *cl_variant_of(const cl_device *device, uint32_t op, int64_t n)
{
    const cl_variant *v = variants;
    while (v < variants + N_VARIANTS - 1 && !suits(v, device, op, cl_max(1, n)))
        v++;
    return v;
}

void cl_variant_options(cl_device *device, const cl_variant *v, const eng_tensor *matrix, uint32_t b,
                        char options[CL_OPTIONS + 64])
{
    char own[CL_OPTIONS];
    cl_matrix_options(device, matrix, own);
    const int n = snprintf(options, CL_OPTIONS + 64, "%s -DBT=%s%s", own, cl_type_name(b), cl_variant_own(v));
    if (v->needs & (CL_CAP_MMA | CL_CAP_WMMA))
        snprintf(options + n, (size_t)(CL_OPTIONS + 64 - n), " -DMATRIX=%d", device->matrix);
}

/* On processors: in multiples of 4, several work-items for every compute unit, but none that reads less than 16 KiB if
 * that can be had with 64 rows: that takes less time than another thread does to wake. */
int64_t cl_variant_rows(const cl_device *device, const cl_variant *v, int64_t rows, uint64_t row_bytes)
{
    if (v->rows)
        return v->rows;
    const int64_t least = cl_max(4, 16384 / cl_max(1, (int64_t)row_bytes) & ~(int64_t)3);
    return cl_min(64, cl_max(least, rows / (8 * (int64_t)device->compute_units) & ~(int64_t)3));
}
