/*
 * The known mixes of types: which matrices of a model get more bits than the rest.
 */
#ifndef TOOLS_MIX_H
#define TOOLS_MIX_H

#include <stdio.h>

#include "engine/engine.h"

typedef struct mix mix;

/* In either case of letters; NULL: there is none of that name. */
const mix *mix_find(const char *name);
void mix_print_names(FILE *to);
const char *mix_name(const mix *m);
uint32_t mix_base(const mix *m);      /* what most of the weights are */
int mix_file_type(const mix *m);      /* general.file_type */

/* What the mix goes by in a model. */
typedef struct mix_model {
    const eng_gguf *gguf;
    int64_t heads_per_kv, experts;
    int tied;              /* the token embedding is the output matrix, too */
    uint32_t n_down, n_v;  /* matrices of those kinds */
} mix_model;
void mix_look(const eng_gguf *gguf, mix_model *model);
/* The type of a matrix. */
uint32_t mix_type(const mix *m, const mix_model *model, const eng_gguf_tensor *t);

#endif
