/* The null plugin's stores: every tensor a block of host memory. */
#include "null.h"

#include <stdlib.h>
#include <string.h>

static uint64_t tensor_bytes(const eng_services *s, const eng_store_tensor *t)
{
    /* the engine has checked: known type, whole blocks, a product that fits */
    const eng_type_info *type = s->type_info(s->host, t->type);
    uint64_t bytes = (uint64_t)t->ne[0] / type->block * type->block_bytes;
    for (uint32_t d = 1; d < t->rank; d++)
        bytes *= (uint64_t)t->ne[d];
    return bytes;
}

int null_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **result)
{
    const eng_services *s = device->services;
    eng_store_state *store = calloc(1, sizeof *store);
    null_tensor *list = calloc((size_t)n + 1, sizeof *list);
    if (!store || !list) {
        free(store);
        free(list);
        return null_no_memory(s, "a store");
    }
    *store = (eng_store_state){.device = device, .tensors = list};
    for (uint32_t i = 0; i < n; i++) {
        list[i].bytes = tensor_bytes(s, &tensors[i]);
        list[i].use = tensors[i].use;
        list[i].data = null_alloc(device, list[i].bytes, list[i].use);
        if (!list[i].data) {
            null_store_destroy(store);
            return ENG_ERR_NOMEM; /* null_alloc has told the cause */
        }
        store->n = i + 1;
    }
    *result = store;
    return ENG_OK;
}

/* Is it read by products, and by nothing else but lookups? */
static bool is_matrix(const eng_store_tensor *t)
{
    bool products = false;
    for (uint32_t i = 0; i < t->n_readers; i++) {
        const uint32_t op = t->readers[i].op;
        if (t->readers[i].operand || (op != ENG_OP_MUL_MAT && op != ENG_OP_MUL_MAT_ID && op != ENG_OP_GET_ROWS))
            return false;
        products |= op != ENG_OP_GET_ROWS;
    }
    return products && t->rank >= 2;
}

int null_layout(eng_device_state *device, const eng_store_tensor *tensor, eng_layout_info *info)
{
    const int64_t rows = tensor->type < sizeof device->rows ? device->rows[tensor->type] : 0;
    const bool together = rows > 0 && tensor->layout != ENG_LAYOUT_FILE && is_matrix(tensor) && tensor->ne[1] % rows == 0;
    info->layout = 0;
    info->rows = together ? (uint32_t)rows : 1;
    info->in_place = ENG_IN_PLACE_NONE;
    memcpy(info->name, "file", sizeof "file");
    return ENG_OK;
}

void null_store_destroy(eng_store_state *store)
{
    for (uint32_t i = 0; i < store->n; i++)
        null_free(store->device, store->tensors[i].data, store->tensors[i].bytes, store->tensors[i].use);
    free(store->tensors);
    free(store);
}

void null_move_in(const eng_device_state *device, unsigned char *to, const eng_region *regions, uint32_t n)
{
    for (uint32_t r = 0; r < n && !device->measures; r++)
        for (uint64_t i = 0; i < regions[r].count && regions[r].bytes; i++)
            memcpy(to + regions[r].tensor_offset + i * regions[r].tensor_stride,
                   (const unsigned char *)regions[r].data + i * regions[r].data_stride, regions[r].bytes);
}

void null_move_out(const eng_device_state *device, const unsigned char *from, const eng_region *regions, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++)
        for (uint64_t i = 0; i < regions[r].count && regions[r].bytes; i++)
            null_give(device, (unsigned char *)regions[r].data + i * regions[r].data_stride,
                      from + regions[r].tensor_offset + i * regions[r].tensor_stride, regions[r].bytes);
}

int null_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    null_move_in(store->device, store->tensors[tensor].data, regions, n);
    return ENG_OK;
}

int null_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    null_move_out(store->device, store->tensors[tensor].data, regions, n);
    return ENG_OK;
}
