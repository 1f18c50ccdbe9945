/*
 * The algebra of cuts: what a shard of a tensor is.  Pure functions over
 * numbers; nothing here knows devices, graphs or services.
 *
 * A partition gives every rank a range begin[r] .. begin[r+1]-1 of the units of
 * one axis.  A cut says where the axis stands in a tensor: in dimension `dim`,
 * which is a row of segments, each `outer` repetitions of the axis' extent,
 * each unit of it `inner` elements wide.  Rank r's shard keeps, of every
 * repetition of every segment, its range of units; order in memory is kept.
 */
#ifndef META_CUT_H
#define META_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include <engine/plugin.h>

#define META_MAX_RANKS ENG_MAX_RANKS /* leaves and guests */
#define META_MAX_SEGS 16

typedef struct meta_partition {
    uint32_t axis;
    uint32_t n_ranks; /* ranks it was solved for; later ones hold nothing    */
    int64_t extent;
    int64_t unit;     /* boundaries are multiples of it                      */
    int64_t begin[META_MAX_RANKS + 1];
    double want[META_MAX_RANKS]; /* the shares that it was solved for          */
    struct meta_partition *next;
} meta_partition;

typedef struct meta_seg {
    int64_t outer, inner;
} meta_seg;

typedef struct meta_cut {
    const meta_partition *part;
    uint32_t dim;
    uint32_t n_segs;
    meta_seg segs[META_MAX_SEGS];
} meta_cut;

/* A shard's place in the full tensor, in bytes: runs of `run` bytes in two
 * nested loops.  Shards have one piece a segment. */
typedef struct meta_piece {
    uint64_t run;
    uint64_t n1, n2; /* repetitions: inside the dimension, above it          */
    uint64_t full, full_s1, full_s2;    /* offset and strides, full tensor    */
    uint64_t local, local_s1, local_s2; /* the same in the shard              */
} meta_piece;

/* Bytes of one shard that go into another: `run` bytes at once, in nested loops, the
 * innermost first; offsets and strides in the source's shard and in the target's. */
#define META_MOVE_LOOPS (ENG_MAX_RANK + 2)
typedef struct meta_loop {
    uint64_t n, from, to;
} meta_loop;
typedef struct meta_move {
    uint32_t source;
    uint32_t n_loops;
    uint64_t run, from, to;
    meta_loop loops[META_MOVE_LOOPS];
} meta_move;

/* Greatest common divisor (of 0 and n: n) and least common multiple. */
int64_t meta_gcd(int64_t a, int64_t b);
int64_t meta_lcm(int64_t a, int64_t b);

/* Shares the units out by largest remainder; shares of 0 get nothing.  owed: units
 * that a rank should have had of other axes, which count when the units that are
 * left over are given away; may be NULL. */
void meta_partition_solve(meta_partition *p, const double *shares, const double *owed, uint32_t n_ranks);
static inline int64_t meta_part_begin(const meta_partition *p, uint32_t rank)
{
    return rank < p->n_ranks ? p->begin[rank] : p->extent;
}
static inline int64_t meta_part_length(const meta_partition *p, uint32_t rank)
{
    return rank < p->n_ranks ? p->begin[rank + 1] - p->begin[rank] : 0;
}
/* The units that are shared out; the last one may be short. */
static inline int64_t meta_part_units(const meta_partition *p)
{
    return (p->extent + p->unit - 1) / p->unit;
}
/* Bit r is set if rank r holds something. */
uint32_t meta_part_mask(const meta_partition *p);
/* How far the partition is from the shares wanted: the largest |length/extent - share|. */
double meta_part_deviation(const meta_partition *p);

/* Where `axis` (of the given extent) stands in a tensor's named dimensions.
 * False if it is absent, in two dimensions, or not in every segment of its
 * dimension.  `part` is stored in the cut. */
bool meta_cut_from_dims(const eng_dim *dims, uint32_t rank, const int64_t *ne, const meta_partition *part,
                        meta_cut *cut);
bool meta_cut_equal(const meta_cut *a, const meta_cut *b);
/* Does every rank hold the same elements, whatever the axes are called? */
bool meta_cut_same(const meta_cut *a, const meta_cut *b);
/* Appends a segment, merging it with the last where that is the same set. */
bool meta_cut_append(meta_cut *cut, meta_seg seg);
/* Extent of the cut dimension: whole, and of rank r's shard. */
int64_t meta_cut_full(const meta_cut *cut);
int64_t meta_cut_local(const meta_cut *cut, uint32_t rank);
/* The part of the dimension from begin on, `length` long, as segments; false if
 * an end is not between two repetitions. */
bool meta_cut_range(const meta_cut *cut, int64_t begin, int64_t length, meta_cut *part);
/* Where the first element of rank r's shard from position p on lies in the shard. */
int64_t meta_cut_local_position(const meta_cut *cut, uint32_t rank, int64_t p);
/* Every boundary falls between two blocks: always true above dimension 0. */
bool meta_cut_aligned(const meta_cut *cut, int64_t block);
/* The unit of the axis that rows of such blocks need; 0: none will do. */
int64_t meta_cut_unit(const meta_cut *cut, int64_t block);
/* The same where so many rows (dimension 1) are to stay together. */
int64_t meta_cut_row_unit(const meta_cut *cut, int64_t rows);
/* The same elements in another shape of the same product; false if they are
 * not ranges of one dimension there. */
bool meta_cut_reshape(const meta_cut *cut, const int64_t *from, const int64_t *to, meta_cut *result);
/* n_segs pieces of rank r's shard of a contiguous tensor of extents ne. */
void meta_cut_pieces(const meta_cut *cut, uint32_t rank, const int64_t *ne, const eng_type_info *type,
                     meta_piece *pieces);

/* -- moves.c: from one cut of a tensor to another -------------------------------- */

/* What the source's shard has of the target's, both contiguous: *n moves, of which the
 * first `room` are written.  False: no memory. */
bool meta_cut_moves(const int64_t *ne, const eng_type_info *type, const meta_cut *from, uint32_t source,
                    const meta_cut *to, uint32_t target, meta_move *moves, uint32_t room, uint32_t *n);
uint64_t meta_move_bytes(const meta_move *move);
void meta_move_copy(const meta_move *move, char *to, const char *from);

/* -- products of letters (dimensions of op rules) -------------------------------- */

/* `cut` (of a dimension that is the product of letters with these extents,
 * outermost first) seen within one letter; returns the letter's position or -1. */
int meta_cut_to_letter(const meta_cut *cut, const int64_t *extents, uint32_t n, meta_cut *letter);
/* The reverse: a cut of letter `which` in such a dimension. */
bool meta_cut_from_letter(const meta_cut *letter, const int64_t *extents, uint32_t n, uint32_t which, uint32_t dim,
                          meta_cut *cut);

#endif
