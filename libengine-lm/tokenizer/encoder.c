/* What one call of encode has: its working memory, and the tokens so far. */
#include "config.h"

#include <stdlib.h>

#include "inner.h"

int eng_ids_add(id_list *list, int32_t id)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity * 2 + 64;
        int32_t *ids = realloc(list->ids, capacity * sizeof *ids);
        if (!ids)
            return eng_fail(ENG_ERR_NOMEM, "out of memory turning text into tokens");
        list->ids = ids;
        list->capacity = capacity;
    }
    list->ids[list->n++] = id;
    return ENG_OK;
}

void *eng_encoder_room(void *memory, size_t *capacity, size_t n, size_t size)
{
    if (n <= *capacity && memory)
        return memory;
    if (n > SIZE_MAX / 2 / size)
        return NULL;
    n = n < 256 ? 256 : n;
    void *grown = realloc(memory, n * size);
    if (grown)
        *capacity = n;
    return grown;
}
