/* What types.c and grids.c have in common: types whose weights come from tables of patterns, and of a few values. */
#ifndef REF_GRIDS_H
#define REF_GRIDS_H

#include "ref.h"

/* Element i of the block at b. */
double ref_grid(uint32_t type, const unsigned char *b, int i);

/* Where a block's f16 scale is. */
enum { REF_NO_GRID = -1, REF_SCALE_SPREAD = -2 /* four bits in each of four words from byte 48 on */ };
int ref_grid_scale(uint32_t type);
/* What it must be for values around 1. */
double ref_grid_unit(uint32_t type);

#endif
