/* Some of a column as groups (planes/planes.h), of which units and blocks are made. */
#ifndef CPU_TILES_GROUPS_H
#define CPU_TILES_GROUPS_H

#include "../planes/types.h"

#define MOST_OF_GROUP (EXACT * GROUP + 8 + 2 * 4 * (EXACT + 1)) /* planes_group_bytes() */

/* Elements k0 .. k0 + kc - 1 of column c. */
CPU_INLINE void pack_some(const cpu_gemm *g, planes_form given, int planes, int64_t c, int64_t k0, int64_t kc, uint8_t *packed)
{
    const uint8_t *at = g->b[c] + k0 * (g->b_type == ENG_TYPE_F32 ? 4 : 2);
    cpu_gemm some = *g;
    some.b = &at;
    some.k = kc;
    PLANES_V(cpu_planes_pack)(&some, given, planes, 0, 1, packed);
}

#endif
