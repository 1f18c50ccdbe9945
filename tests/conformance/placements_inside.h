/* Inside the matrix of placements: what is known of cases before one runs. */
#ifndef TESTS_CONFORMANCE_PLACEMENTS_INSIDE_H
#define TESTS_CONFORMANCE_PLACEMENTS_INSIDE_H

#include "placements.h"

#define CF_FEATURES 160
#define CF_CASES 9 /* of an op at most */

typedef struct cf_described {
    char name[256];
    uint32_t op, n_features;
    int64_t elements;
    bool odd, chosen;
    uint64_t features[CF_FEATURES];
} cf_described;

struct cf_placing {
    bool describing;
    bool sparse; /* one case an op, of plain types: for devices that build a program for each */
    cf_described *described;
    uint32_t n, room;
};

/* Reports an op as failed that cannot be run at all. */
void cf_placing_complain(cf_suite *s, uint32_t op, const char *text);

#endif
