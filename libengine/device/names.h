/*
 * The grammar of device names:
 *
 *     part   := plugin[:index][/parts[.part]]
 *     device := part(+part)*[@share(:share)*]
 *
 * "opencl:0/2" stands for both halves: two leaves, "opencl:0/2.0" and
 * "opencl:0/2.1".  A share belongs to a leaf.
 */
#ifndef LIBENGINE_NAMES_H
#define LIBENGINE_NAMES_H

#include "../base/base.h"

#define ENG_LEAF_NAME 64

typedef struct eng_leaf_name {
    char plugin[32];
    uint32_t index;
    uint32_t parts; /* 1: the whole device */
    uint32_t part;
    char name[ENG_LEAF_NAME]; /* as it would be written alone */
} eng_leaf_name;

typedef struct eng_device_name {
    uint32_t n_leaves;
    bool has_shares;
    eng_leaf_name leaves[ENG_MAX_RANKS];
    double shares[ENG_MAX_RANKS];
} eng_device_name;

/* Fails with a text that quotes the name, says what is wrong and what is right. */
int eng_device_name_parse(const char *text, eng_device_name *name);

#endif
