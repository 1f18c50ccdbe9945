/* The working memory of a device's threads. */
#include "config.h"

#include <stdlib.h>

#include "../cpu.h"

int cpu_scratch_grow(eng_device_state *device, size_t bytes)
{
    int status = ENG_OK;
    void **more = calloc((size_t)device->threads, sizeof *more);
    if (!more)
        return ENG_ERR_NOMEM;
    cpu_turn turn;
    cpu_turns_take(&device->turns, &turn, NULL);
    if (bytes > device->scratch_bytes) {
        for (int i = 0; i < device->threads && status == ENG_OK; i++) {
            more[i] = cpu_memory_get(bytes);
            if (!more[i])
                status = ENG_ERR_NOMEM;
        }
        for (int i = 0; i < device->threads; i++) {
            if (status == ENG_OK) {
                cpu_memory_free(device->scratch[i], device->scratch_bytes);
                device->scratch[i] = more[i];
            } else {
                cpu_memory_free(more[i], bytes);
            }
        }
        if (status == ENG_OK)
            device->scratch_bytes = bytes;
    }
    cpu_turns_give(&device->turns, &turn);
    free(more);
    return status;
}

void cpu_scratch_free(eng_device_state *device)
{
    for (int i = 0; i < device->threads; i++) {
        cpu_memory_free(device->scratch[i], device->scratch_bytes);
        device->scratch[i] = NULL;
    }
    device->scratch_bytes = 0;
}
