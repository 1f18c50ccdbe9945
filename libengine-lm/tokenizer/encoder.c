/* What one call of encode has: the tokens so far. */
#include "config.h"

#include "inner.h"

int eng_ids_add(id_list *list, int32_t id)
{
    return eu_array_add(list, id) ? ENG_OK : eng_fail_code(EU_NO_MEMORY("turning text into tokens"));
}
