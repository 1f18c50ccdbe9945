/* engine-generate: the device that is taken where none is named. */
#ifndef ENGINE_TOOLS_GENERATE_DEFAULT_H
#define ENGINE_TOOLS_GENERATE_DEFAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

/* The first accelerator, or all of them where a model of so many bytes does not fit it, with shares by their free
 * memory if asked for; without accelerators the first device.  false: there is no device. */
bool choose_default(const eng_device_info *list, uint32_t n, uint64_t bytes, bool with_shares, char *name, size_t size);
uint32_t count_accelerators(const eng_device_info *list, uint32_t n);

#endif
