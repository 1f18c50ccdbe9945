/* Placing persistent tensors: what choices.c, caches.c and place.c share. */
#ifndef META_PLACE_H
#define META_PLACE_H

#include "../meta.h"

#define META_MAX_CHOICES 16

/* An axis that a tensor may be cut along. */
typedef struct meta_choice {
    meta_partition part; /* not yet solved: only axis and extent               */
    meta_cut cut;
} meta_choice;

/* All of them: the outermost one of more than one unit in each dimension.  Returns how many. */
uint32_t meta_choices(const eng_store_tensor *t, meta_choice *choices);

/* The partition of an axis, if a tensor of a store is cut by it; else NULL: what stores had that are gone decides
 * nothing. */
const meta_partition *meta_partition_in_use(const eng_device_state *device, uint32_t axis, int64_t extent);
/* Makes it the axis' partition.  One that was the same before is taken again, for plans may be made for it.  false: no
 * memory. */
bool meta_partition_keep(eng_device_state *device, const meta_partition *made);

static inline bool meta_may_be_cut(const eng_store_tensor *t)
{
    return !t->device && t->axis != ENG_AXIS_WHOLE && (t->use & ENG_USE_MASK) != ENG_USE_INPUT;
}

/* Which caches of a store do not go by their last axis: sets along_cells of these. */
int meta_caches_decide(eng_device_state *device, const eng_store_tensor *declared, uint32_t n, meta_tensor *tensors);

#endif
