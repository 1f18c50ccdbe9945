/* Perl-compatible regular expressions from hosts' hands, looked for in names.  In a library of its own,
 * libengine-pattern.la: nobody else shall need PCRE2. */
#ifndef LIBENGINE_UTIL_PATTERN_H
#define LIBENGINE_UTIL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* What to tell who wrote a pattern that takes too long. */
#define EU_PATTERN_CAUSE "looking for it takes too long"
#define EU_PATTERN_ADVICE "write it without repetitions of repetitions, such as (a+)+"

/* For one thread at a time. */
typedef struct eu_pattern eu_pattern;

/* NULL: it is none, and `why` says why; or it is empty, and there is no memory. */
eu_pattern *eu_pattern_create(const char *text, char *why, size_t room);
void eu_pattern_destroy(eu_pattern *p);

/* Is it anywhere in the name?  The search ends after a fixed number of steps. */
bool eu_pattern_found(eu_pattern *p, const char *name);
/* Has a search ended so, or without memory?  From then on nothing is looked for: the answers mean nothing. */
typedef enum eu_pattern_state { EU_PATTERN_FINE, EU_PATTERN_ENDLESS, EU_PATTERN_NO_MEMORY } eu_pattern_state;
eu_pattern_state eu_pattern_get_state(const eu_pattern *p);

#endif
