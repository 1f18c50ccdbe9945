#include "type.h"

#include "engine/types.h"

bool eu_type_decoded_only(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_IQ2_XXS: case ENG_TYPE_IQ2_XS: case ENG_TYPE_IQ2_S: case ENG_TYPE_IQ3_XXS: case ENG_TYPE_IQ3_S:
    case ENG_TYPE_IQ1_S: case ENG_TYPE_IQ1_M: case ENG_TYPE_TQ1_0: case ENG_TYPE_TQ2_0: case ENG_TYPE_Q1_0:
    case ENG_TYPE_Q2_0:
        return true;
    default:
        return false;
    }
}
