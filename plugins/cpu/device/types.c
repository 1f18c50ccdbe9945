/* The types of tensors. */
#include "config.h"

#include "../cpu.h"

static const eng_type_info types[] = {
#define ENG_TYPE(id, number, name, block, bytes) {number, block, bytes, 0, name},
#include <engine/types.def>
#undef ENG_TYPE
};

const eng_type_info *cpu_type(uint32_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}
