/* engine-generate: the device that is taken where none is named. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "generate_default.h"
#include "libengine/util/util.h"

static bool is_accelerator(const eng_device_info *d)
{
    return d->kind == ENG_DEVICE_GPU || d->kind == ENG_DEVICE_ACCELERATOR;
}

/* Of several drivers of one device the first counts. */
static bool is_another(const eng_device_info *list, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (is_accelerator(&list[k]) && *list[i].identity && strcmp(list[k].identity, list[i].identity) == 0)
            return false;
    return is_accelerator(&list[i]);
}

uint32_t count_accelerators(const eng_device_info *list, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += is_another(list, i);
    return found;
}

static void join(const eng_device_info *list, uint32_t n, bool with_shares, eu_text *name)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        with_shares &= !is_another(list, i) || list[i].memory_free >> 20;
        if (is_another(list, i))
            eu_text_format(name, "%s%s", found++ ? "+" : "", list[i].name);
    }
    found = 0;
    for (uint32_t i = 0; i < n && with_shares; i++)
        if (is_another(list, i))
            eu_text_format(name, "%s%" PRIu64, found++ ? ":" : "@", list[i].memory_free >> 20);
}

bool choose_default(const eng_device_info *list, uint32_t n, uint64_t bytes, bool with_shares, char *name, size_t size)
{
    eu_text text = eu_text_in(name, size);
    const eng_device_info *best = n ? list : NULL;
    for (uint32_t i = n; i-- > 0;)
        best = is_accelerator(&list[i]) ? &list[i] : best;
    if (!best)
        return false;
    bool fits = !best->memory_free || bytes + bytes / 8 <= best->memory_free; /* with some room for caches and
                                                                               * scratch */
    if (is_accelerator(best) && !fits && count_accelerators(list, n) > 1)
        join(list, n, with_shares, &text);
    else
        eu_text_add(&text, best->name);
    return true;
}
