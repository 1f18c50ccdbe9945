/*
 * The ways to do an op, as rows of a table (variants.c), of which record() takes the first that suits.  A new way is a
 * row and a kernel; what a device must have for it is asked of the device, never of its vendor's name.
 */
#ifndef CL_VARIANT_H
#define CL_VARIANT_H

#include "../opencl.h"

typedef enum cl_family { CL_VEC, CL_SIMT } cl_family;

typedef struct cl_variant {
    const char *name;      /* what explain and a profile call it                                            */
    uint32_t op;           /* ENG_OP_*                                                                      */
    cl_family family;
    uint32_t needs;        /* CL_CAP_*, all of them                                                         */
    size_t group;          /* work-items of a group                                                         */
    int64_t least, most;   /* n: columns that meet the matrix, or what the op's rows in the table say       */
    uint32_t fast : 1;     /* only where a node asks for it                                                 */
    uint32_t slow : 1;     /* right, but there is nothing better on this device: supports() says so         */
    uint32_t sorted : 1;   /* pairs of mul_mat_id are sorted by expert before                               */
    uint32_t parts : 1;    /* k may be cut among groups, whose sums mul_mat_join adds                       */
    uint32_t halves : 1;   /* columns, and weights unless they are such, are packed as 16-bit numbers before  */
    uint32_t sixteen : 1;  /* of matrices in lanes, where registers have 16 rows                            */
    uint32_t planes;       /* columns are packed in so many planes for a matrix unit before, and blocks are not; 0: not  */
    uint16_t packed;       /* bytes that 32 elements of a column take, packed by mul_mat_pack before; 0: none is   */
    uint16_t together;     /* columns that are packed by a work-item, 0: CL_PACK_COLS; or as the table says  */
    uint32_t layout;       /* EU_LANES: of matrices in lanes alone; 0: of all others                        */
    int64_t tall;          /* rows that a matrix has at least                                               */
    uint64_t types;        /* of the matrix, CL_TYPE_BIT(...) or CL_BLOCKS; 0: all                        */
    const char *file;      /* of kernels/, without .cl                                                      */
    const char *kernel;
    const char *several;   /* of the same program: several matrices at once (lower/products.c); NULL: none  */
    const char *options;   /* that the program is built with, besides its operands' types; NULL: none       */
    int64_t rows, columns; /* of a group; rows 0: cl_variant_rows says; columns 0: all; or as the table says */
} cl_variant;

#define CL_TYPE_BIT(type) ((uint64_t)1 << (type))
#define CL_BLOCKS ~(CL_TYPE_BIT(ENG_TYPE_F32) | CL_TYPE_BIT(ENG_TYPE_F16) | CL_TYPE_BIT(ENG_TYPE_BF16))

/* Those whose weights are raised by minima (MINIMA of kernels/planes_rows.clh). */
#define CL_MINIMA                                                                                                      \
    (CL_TYPE_BIT(ENG_TYPE_Q4_1) | CL_TYPE_BIT(ENG_TYPE_Q5_1) | CL_TYPE_BIT(ENG_TYPE_Q2_K) | CL_TYPE_BIT(ENG_TYPE_Q4_K) |  \
     CL_TYPE_BIT(ENG_TYPE_Q5_K))

/* Those of which a chunk of 16 rows, its factors and two columns, eight times, take more than 48 KiB of local memory
 * (kernels/matrix_rows.clh). */
#define CL_LARGE                                                                                                       \
    (CL_MINIMA | CL_TYPE_BIT(ENG_TYPE_NVFP4) | CL_TYPE_BIT(ENG_TYPE_Q6_K))

/* Those with long pieces in kernels/lanes.clh. */
#define CL_LONG                                                                                                        \
    (CL_TYPE_BIT(ENG_TYPE_Q2_K) | CL_TYPE_BIT(ENG_TYPE_Q3_K) | CL_TYPE_BIT(ENG_TYPE_Q4_K) | CL_TYPE_BIT(ENG_TYPE_Q5_K) | \
     CL_TYPE_BIT(ENG_TYPE_Q6_K) | CL_TYPE_BIT(ENG_TYPE_IQ4_XS))

/* Types with two scales in 32 elements. */
#define CL_TWO_SCALES                                                                                                  \
    (CL_TYPE_BIT(ENG_TYPE_NVFP4) | CL_TYPE_BIT(ENG_TYPE_Q2_K) | CL_TYPE_BIT(ENG_TYPE_Q3_K) | CL_TYPE_BIT(ENG_TYPE_Q6_K) | \
     CL_TYPE_BIT(ENG_TYPE_IQ2_XS) | CL_TYPE_BIT(ENG_TYPE_IQ2_S) | CL_TYPE_BIT(ENG_TYPE_IQ1_M))

/* Those of blocks of 256 elements whose scales are integers times one number, by matrix units of processors
 * (kernels/strips_joint.clh). */
#define CL_JOINT                                                                                                       \
    (CL_TYPE_BIT(ENG_TYPE_Q2_K) | CL_TYPE_BIT(ENG_TYPE_Q3_K) | CL_TYPE_BIT(ENG_TYPE_Q6_K) | CL_TYPE_BIT(ENG_TYPE_IQ2_XS) | \
     CL_TYPE_BIT(ENG_TYPE_IQ2_S))

/* Patterns that are looked up (kernels/lanes_grid.clh). */
#define CL_TABLES                                                                                                      \
    (CL_TYPE_BIT(ENG_TYPE_IQ2_XXS) | CL_TYPE_BIT(ENG_TYPE_IQ2_XS) | CL_TYPE_BIT(ENG_TYPE_IQ2_S) |                      \
     CL_TYPE_BIT(ENG_TYPE_IQ3_XXS) | CL_TYPE_BIT(ENG_TYPE_IQ3_S) | CL_TYPE_BIT(ENG_TYPE_IQ1_S) |                       \
     CL_TYPE_BIT(ENG_TYPE_IQ1_M))

/* n of a conversion (convert.c). */
enum { CL_CONVERT_SAME = 1, CL_CONVERT_NUMBERS, CL_CONVERT_BLOCKS, CL_CONVERT_FLOATS, CL_CONVERT_GROUPED };

/* n of attention on cards: what takes the time is reading K and V, or multiplying, of heads of up to 128 channels or of more, which
 * a matrix unit takes if they are eights; or heads have too many channels for these. */
enum {
    CL_ATTENTION_FEW = 1,
    CL_ATTENTION_EIGHTS,
    CL_ATTENTION_MANY,
    CL_ATTENTION_MORE_EIGHTS,
    CL_ATTENTION_MORE,
    CL_ATTENTION_WIDE
};

/* On processors: more than so many queries, of heads that are whole tiles (kernels/attention_bfloats.clh), which take 600 KiB of a
 * thread's stack where they are largest. */
enum { CL_ATTENTION_ROUND = 1 << 20, CL_ATTENTION_QUERIES = 20, CL_ATTENTION_TILE = 32, CL_ATTENTION_LARGEST = 256 };

/* Types of K and V that a matrix unit multiplies exactly (kernels/attention_matrix.clh): f16, and numbers that f16 has. */
#define CL_ATTENTION_EXACT                                                                                             \
    (CL_TYPE_BIT(ENG_TYPE_F16) | CL_TYPE_BIT(ENG_TYPE_Q4_0) | CL_TYPE_BIT(ENG_TYPE_Q5_0) | CL_TYPE_BIT(ENG_TYPE_Q8_0) | \
     CL_TYPE_BIT(ENG_TYPE_IQ4_NL))

/* Chunks of tokens on a processor (kernels/chunks.clh): from so many of a sequence on, of states of up to so many elements. */
enum { CL_CHUNKS_FROM = 17, CL_CHUNKS_SIZE = 256 };

/* n of a delta net with so many tokens, whose heads are whole tiles (kernels/delta_tiles.cl) and have one gate for all keys. */
enum { CL_DELTA_ROUND = 1 << 20, CL_DELTA_TILE = 32 };

/* n of a scan: heads for themselves, token by token or, with one rate each, many tokens; or of one channel each, beside one another. */
enum { CL_SCAN_HEADS = 1, CL_SCAN_MANY, CL_SCAN_BESIDE };

/* n of set_rows: elements of a block are stored 32 at a time, or it has 256. */
enum { CL_STORE_32 = 1, CL_STORE_256 };

/* The variant's own build options. */
static inline const char *cl_variant_own(const cl_variant *v)
{
    return v->options ? v->options : "";
}
/* NULL: no row suits. */
const cl_variant *cl_variant_find(cl_device *device, const eng_node *node, const eng_tensor *matrix, int64_t columns);
/* The same for an op that has a row for every n and device. */
const cl_variant *cl_variant_of(const cl_device *device, uint32_t op, int64_t n);
/* Build options of the variant with a matrix and columns of type b. */
void cl_variant_options(cl_device *device, const cl_variant *v, const eng_tensor *matrix, uint32_t b,
                        char options[CL_OPTIONS + 64]);
/* cl_launch of a kernel of the variant, which is named after it. */
void cl_launch_variant(cl_recorder *r, const cl_variant *v, const char *kernel, const char *options);
void cl_launch_variant_with(cl_recorder *r, const cl_variant *v, const char *options, const char *prelude);
/* Columns of a product, `col` bytes apart, and along its other extents. */
typedef struct cl_columns {
    int32_t tensor;
    uint64_t offset;       /* of the first, from the tensor's begin                                         */
    int64_t k, n, col;
    int64_t ext[4], nb[4];
} cl_columns;
/* The same packed, in temporary memory at `at`. */
typedef struct cl_packed {
    uint64_t at;
    int64_t col, nb[4];
} cl_packed;
/* Columns and groups of 32 of k that a work-item packs, as kernels/strips.clh and planes_columns.clh have it. */
enum { CL_PACK_COLS = 12, CL_PACK_GROUPS = 32 };
static inline int64_t cl_pack_cols(const cl_variant *v)
{
    return v->together ? v->together : CL_PACK_COLS;
}
/* A launch that packs columns for a variant that wants them so (`packed`). */
cl_packed cl_pack_columns(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b);
/* The same as 16-bit numbers, for variants with `halves` and a matrix of that type: b->ext[0] that b->nb[0] is the stride of lie
 * next to each other if `together`.  *scales: bytes from the first to what sums are multiplied by. */
enum { CL_HALVES_K = 32, CL_MOST_HALVES = 64 << 20 };
cl_packed cl_pack_halves(cl_recorder *r, const cl_variant *v, const char *options, uint32_t type, const cl_columns *b,
                         bool together, int64_t *scales);
int64_t cl_halves_column_bytes(const cl_variant *v, uint32_t type, int64_t k); /* of one of them */
/* A row of so many elements, packed. */
static inline int64_t cl_halves_bytes(int64_t k)
{
    return (k > CL_HALVES_K ? (k + CL_HALVES_K - 1) / CL_HALVES_K : 1) * CL_HALVES_K * 2;
}
/* Rows that are taken from where they are. */
bool cl_has_halves(const cl_variant *v, const eng_tensor *a);
/* The same in planes for kernels/matrix_lanes.clh, v->columns at a time, `col` bytes each, in temporary memory; `minima`: with their
 * sums.  Bytes that a column of them takes. */
cl_packed cl_pack_planes(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b, bool minima);
int64_t cl_planes_bytes(const cl_variant *v, int64_t k, bool minima);
/* The same where a tile gathers columns (mul_mat_id_lanes.cl): each by itself, those along b->ext[0] next to each other, in temporary memory `at`. */
void cl_pack_gathered(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b, bool minima, uint64_t at);
int64_t cl_gathered_bytes(const cl_variant *v, int64_t k, bool minima);
/* Rows of a group, of `rows` in all. */
int64_t cl_variant_rows(const cl_device *device, const cl_variant *v, int64_t rows, uint64_t row_bytes);

#endif
