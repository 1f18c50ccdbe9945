/* Who does which task of an instance, and where threads wait for one another. */
#ifndef CPU_RUN_ORDER_H
#define CPU_RUN_ORDER_H

#include "../cpu.h"

/* Sets cpu_task.by: which tasks are worth sharing out. */
void cpu_order_share(eng_instance_state *inst);
/* Sets cpu_task.barrier and .by where every thread computes a value for itself, which own[tensor] says of owners.
 * shared_bytes: of each task; own: graph->n_tensors, all false.  false: no memory. */
bool cpu_order(eng_instance_state *inst, const size_t *shared_bytes, bool *own);

/* Memory and operands for values that every thread computes for itself; false: no memory. */
bool cpu_own_create(eng_instance_state *inst, const bool *own);
void cpu_own_destroy(eng_instance_state *inst);

#endif
