/*
 * Saved sequences and contexts: what their files share (state_file.c).
 */
#ifndef ENGINE_LM_STATE_H
#define ENGINE_LM_STATE_H

#include "engine/gguf.h"
#include "run.h"

enum { LM_STATE_SEQUENCE = 1, LM_STATE_CUT = 2, LM_STATE_CONTEXT = 3 }; /* versions of the format */

/* Tables of integers, by what they are in the file; which there are depends on the version. */
typedef enum lm_state_table {
    LM_STATE_TOKENS, LM_STATE_POSITIONS, LM_STATE_LENGTHS, LM_STATE_CELLS, LM_STATE_HISTORY_LENGTHS, LM_STATE_HISTORIES,
    LM_STATE_TABLES
} lm_state_table;

typedef struct lm_state {
    eng_lm_context *c;
    uint32_t version;
    struct { const int32_t *data; int64_t n; } tables[LM_STATE_TABLES]; /* n 0: there is no such table */
    uint32_t n_cells, n_states; /* rows of caches, and of recurrent pools                */
    const int32_t *cells, *states; /* where they are in the context's memory; -1: nowhere   */
    /* while it is written or read */
    uint32_t order[LM_STATE_TABLES], n_order; /* the tables behind the memory's tensors      */
    eng_region *regions;
    void *buffer;
    uint64_t hash;
} lm_state;

/* Writes a file aside and renames it. */
int lm_state_write(lm_state *m, const char *path);
/* Checks all that does not depend on the version: nothing has changed if it fails.  Fills tables, version, n_cells and
 * n_states; the tables are the file's. */
int lm_state_check(lm_state *m, const eng_gguf *f, const char *path);
/* Copies the rows of a file that was checked to where they belong. */
int lm_state_upload(lm_state *m, const eng_gguf *f);

#endif
