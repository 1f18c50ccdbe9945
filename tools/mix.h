/*
 * The known mixes of types: which matrices of a model get more bits than the rest.
 */
#ifndef TOOLS_MIX_H
#define TOOLS_MIX_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/engine.h"

typedef struct mix mix;

/* In either case of letters; NULL: there is none of that name.  Some mixes have names of types (IQ2_XXS), or one that
 * others call by a type's name (Q4_K_M: Q4_K): usual finds them, too. */
const mix *mix_find(const char *name, bool usual);
/* Is it only as others call a mix, in which not all is of one type? */
bool mix_is_usual(const char *name);
/* Why there is no mix of a name that people know, with what to do instead; NULL: nobody knows it. */
const char *mix_why_not(const char *name);
void mix_print_names(FILE *to);
void mix_print_usual_names(FILE *to);
const char *mix_name(const mix *m);
uint32_t mix_base(const mix *m);      /* what most of the weights are */
int mix_file_type(const mix *m);      /* general.file_type */

/* What the mix goes by in a model. */
enum { MIX_KINDS = 11 };
typedef struct mix_model {
    const eng_gguf *gguf;
    int64_t heads_per_kv, experts;
    int tied;              /* the token embedding is the output matrix, too */
    bool importance;       /* the importance of its columns is known               */
    uint32_t n[MIX_KINDS]; /* matrices of each kind */
} mix_model;
void mix_look(const eng_gguf *gguf, bool importance, mix_model *model);
/* The type of a matrix. */
uint32_t mix_type(const mix *m, const mix_model *model, const eng_gguf_tensor *t);

#endif
