/* What is known of data types beyond their sizes. */
#ifndef LIBENGINE_UTIL_TYPE_H
#define LIBENGINE_UTIL_TYPE_H

#include <stdbool.h>
#include <stdint.h>

/* Types that files have and no encoder makes: to encode them well takes the importance of each weight. */
bool eu_type_decoded_only(uint32_t type);

#endif
