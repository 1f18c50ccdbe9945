/* Which driver a device has, for what tests ask of no other one. */
#ifndef TESTS_POCL_H
#define TESTS_POCL_H

#include <stdbool.h>
#include <string.h>

#include "engine/engine.h"

/* Is the device, or its first part, PoCL's? */
static inline bool test_is_pocl(eng_device *device)
{
    eng_device_info leaf = {.size = sizeof leaf};
    return eng_device_leaf(device, 0, &leaf, NULL) == ENG_OK &&
           (strstr(leaf.driver, "PoCL") || strstr(leaf.driver, "Portable Computing Language"));
}

#endif
