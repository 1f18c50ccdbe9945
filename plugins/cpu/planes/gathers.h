#ifndef CPU_PLANES_GATHERS_H
#define CPU_PLANES_GATHERS_H

#include "planes.h"

/* Are lookups of a word for each lane fast enough here for types of patterns?  Tried with the first call. */
bool PLANES_V(cpu_gathers_pay)(void);

#endif
