/* engine-quantize: what it is to do, and what it is done with. */
#ifndef TOOLS_QUANTIZE_H
#define TOOLS_QUANTIZE_H

#include "convert.h"
#include "importance.h"
#include "libengine/util/util.h"
#include "mix.h"
#include "weigh.h"

typedef struct rule {
    eu_pattern *pattern;
    uint32_t type;
    const char *text; /* as given */
    uint32_t used;
} rule;

typedef struct job {
    const char *in, *out, *device, *imatrix;
    uint32_t type; /* of most matrices */
    const mix *mix; /* NULL: of all */
    mix_model model;
    rule *rules;
    size_t rule_room;
    uint32_t n_rules;
    int quiet, progress, force, errors;
    int usual, also_mix; /* TYPE is as others name mixes; it could be */
    eng_gguf *gguf;
    eng_gguf_writer *writer;
    uint32_t *types; /* of the tensors written */
    converter *convert;
    weigher *weigher;
    importance *importance; /* NULL: all columns are alike */
    void *buffer;
    uint64_t buffer_bytes, total, done;
    float *plain; /* rows of a type that only files have */
    size_t plain_room;
    float *lines[2]; /* for errors: some rows as they were, and as they became */
    size_t line_room;
    uint64_t last;
    int (*stopped)(void); /* has there been a signal? */
} job;

static inline bool is_integer(uint32_t type)
{
    return type == ENG_TYPE_I32 || type == ENG_TYPE_I64;
}

/* -- quantize_types.c: which type a tensor gets ------------------------------- */
uint64_t quantize_row_bytes(uint32_t type, int64_t columns); /* of types that only files have, too */
int quantize_choose_types(job *j);

/* -- quantize_rows.c: converting -------------------------------------------------- */
/* A line that is written over, not more often than ten times a second; NULL: it goes. */
void quantize_show_progress(job *j, const char *name);
/* Called by the writer for each tensor. */
int quantize_produce(void *user, uint32_t index, const void **data);

#endif
