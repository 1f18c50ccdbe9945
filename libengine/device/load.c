/* The data of a store's tensors: the host's memory taken over, copied where the device does not use it in place,
 * and given back. */
#include "config.h"

#include <string.h>

#include "device.h"

#define AT_ONCE (UINT64_C(32) << 20) /* bytes copied, and told of, in one go */

int eng_store_take(eng_store *store, const eng_store_data *from)
{
    if (!from)
        return ENG_OK;
    if (from->size < sizeof(uint32_t) * 2)
        return eng_fail(ENG_ERR_INVALID, "eng_store_load" ENG_CAUSE "set the size field of eng_store_data to "
                        "sizeof(eng_store_data)");
    memcpy(&store->from, from, from->size < sizeof store->from ? from->size : sizeof store->from);
    return ENG_OK;
}

void eng_store_let_go(eng_store *store)
{
    void (*release)(void *user) = store->from.release;
    store->from.release = NULL;
    if (release)
        release(store->from.user);
}

int eng_store_check_written(const eng_store *store, uint32_t tensor)
{
    if (store->tensors[tensor].use & ENG_USE_FIXED)
        return eng_fail(ENG_ERR_INVALID,
                        "tensor '%s'" ENG_CAUSE "it was declared with data, which stay as they are" ENG_ADVICE
                        "declare it without data and write them",
                        store->tensors[tensor].name);
    return ENG_OK;
}

/* Tells the host how far it is; does it want to stop? */
static int tell(const eng_store *store, uint64_t done, uint64_t total)
{
    if (store->from.progress && store->from.progress(store->from.user, done, total))
        return eng_fail(ENG_ERR_CANCELLED, "loading was stopped by the host");
    return ENG_OK;
}

int eng_store_upload(eng_store *store, uint32_t tensor, const eng_region *region)
{
    const unsigned words = eng_failure_words();
    return eng_answer(store->device->calls->store_upload(store->state, tensor, region, 1), words,
                      store->device->info.name, "store_upload");
}

static int copy_tensor_data(eng_store *store, uint32_t i, uint64_t *done, uint64_t total)
{
    const char *data = store->data[i];
    const bool whole = store->layouts[i].in_place == ENG_IN_PLACE_NONE; /* nobody will read them again */
    int status = ENG_OK;
    for (uint64_t at = 0; at < store->bytes[i] && status >= 0; at += AT_ONCE) {
        const uint64_t n = store->bytes[i] - at < AT_ONCE ? store->bytes[i] - at : AT_ONCE;
        const eng_region region = eng_range(data + at, at, n);
        status = eng_store_upload(store, i, &region);
        if (status >= 0 && whole && store->from.copied)
            store->from.copied(store->from.user, data + at, n);
        *done += n;
        if (status >= 0)
            status = tell(store, *done, total);
    }
    return status;
}

int eng_store_copy_data(eng_store *store)
{
    uint64_t total = 0, done = 0;
    bool in_use = false;
    for (uint32_t i = 0; i < store->n; i++)
        total += store->data[i] ? store->bytes[i] : 0;
    int status = total ? tell(store, 0, total) : ENG_OK;
    for (uint32_t i = 0; i < store->n && status >= 0; i++) {
        if (!store->data[i])
            continue;
        in_use |= store->layouts[i].in_place != ENG_IN_PLACE_NONE;
        if (store->layouts[i].in_place != ENG_IN_PLACE_ALL)
            status = copy_tensor_data(store, i, &done, total);
        else
            done += store->bytes[i];
    }
    if (status >= 0 && total)
        status = tell(store, total, total);
    for (uint32_t i = 0; i < store->n; i++) /* nobody may look there again */
        if (store->layouts[i].in_place == ENG_IN_PLACE_NONE)
            store->tensors[i].data = NULL;
    if (status >= 0 && !in_use)
        eng_store_let_go(store);
    return status;
}
