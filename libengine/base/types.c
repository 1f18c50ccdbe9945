/* The data types: the rows of types.def as a table, indexed by number. */
#include "config.h"

#include <string.h>

#include "base.h"

static const eng_type_info types[ENG_TYPE_LIMIT] = {
#define ENG_TYPE(id, number, name, block, bytes) [number] = {number, block, bytes, 0, name},
#include "engine/types.def"
#undef ENG_TYPE
};

const eng_type_info *eng_type_get(uint32_t type)
{
    return type < ENG_TYPE_LIMIT && types[type].name ? &types[type] : NULL;
}

const eng_type_info *eng_type_find(const char *name)
{
    for (uint32_t i = 0; name && i < ENG_TYPE_LIMIT; i++)
        if (types[i].name && eu_same_name(types[i].name, name))
            return &types[i];
    return NULL;
}

uint64_t eng_row_bytes(uint32_t type, int64_t elements)
{
    const eng_type_info *t = eng_type_get(type);
    uint64_t bytes;
    if (!t || elements <= 0 || elements % t->block != 0 ||
        !eu_mul((uint64_t)elements / t->block, t->block_bytes, &bytes))
        return 0;
    return bytes;
}
