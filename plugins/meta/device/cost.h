/*
 * The cost model: nanoseconds that the busiest rank takes.  The planner chooses by it, a
 * run's exchanges work in the way that it says, and explain prints it; nobody else has
 * figures of their own.  It depends on the kinds of the devices and on sizes, on nothing
 * that is measured when the program runs: the same graph has the same plan every time.
 */
#ifndef META_COST_H
#define META_COST_H

#include "../meta.h"

/* Memory that a node reads and writes, by its bytes, and operations of a matrix product. */
double meta_cost_touched(double bytes);
double meta_cost_flops(double flops);

/* `ranks` meet, and the busiest of them takes `bytes` from others. */
double meta_cost_meet(const eng_device_state *device, uint32_t ranks, double bytes);

/* The whole sum of `bytes` bytes, that `sources` hold as addends, on all `targets`. */
double meta_cost_all_reduce(const eng_device_state *device, uint32_t sources, uint32_t targets, double bytes);
/* ... in two steps: each target adds up one chunk, then all take the chunks of all?  Else
 * each target adds up everything itself, in one step. */
bool meta_cost_by_chunks(uint32_t sources, uint32_t targets, double bytes);

/* Of caches, every token: what the fullest rank holds above its share, in bytes; and so many
 * of them along their cells instead of by heads.  The same whatever the devices are. */
double meta_cost_above_share(double bytes);
double meta_cost_along_cells(uint32_t caches);

#endif
