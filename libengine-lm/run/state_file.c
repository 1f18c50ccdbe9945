/*
 * Saved sequences and contexts: GGUF files with tokens, rows of the caches and recurrent states, so that they can be
 * written aside, read where they are mapped and looked at with what reads GGUF.
 *
 *     tokens           i32 [n]: of sequence after sequence
 *     cache_k.L        K of layer L, as the caches have it: [row, cells, heads]; cache_v.L
 *     state.L          f32 [S, S, heads, m]: recurrent states; conv.L their windows
 *     positions        i32 [cells]: where the tokens are
 *     lengths          i32 [sequences]: how many tokens each holds
 *     cells            i32 [n]: of each token its row of the caches; sequences that begin alike have the same ones
 *     history_lengths  i32 [sequences]: how many states each holds
 *     histories        i32: their rows, the newest first; -1: the empty state
 *     checksum         i32 [2]: SipHash-2-4 (Aumasson, Bernstein, 2012) of all that is before, tensor after tensor
 *
 * and the keys below.  Version 1 is a single sequence: it has tokens, caches and states alone, cell i is token i's and
 * the states are those behind the last m tokens, the newest first.  Version 2 has positions, too: such a sequence lacks
 * tokens in the middle.  Version 3 is a context, and has all.  What is in a file does not depend on devices, splits and
 * the sizes of a context; it does on the model, and the caches' types and rotations.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define KEY_VERSION "engine.state.version"
#define KEY_MODEL "engine.state.model"
#define KEY_ROTATE_K "engine.state.rotate_k"
#define KEY_ROTATE_V "engine.state.rotate_v"
#define KEY_STRETCHED "engine.state.stretched" /* of models with two lists of factors of rope: whether it is the long one */

static const char *const names[LM_STATE_TABLES] = {"tokens", "positions", "lengths", "cells", "history_lengths",
                                                   "histories"};

static uint64_t hash(uint64_t before, const void *data, uint64_t bytes)
{
    return eu_siphash((const uint64_t[2]){before, UINT64_C(0x656e67696e657374)}, data, (size_t)bytes);
}

/* -- which model is it ------------------------------------------------------------------------- */

static int hash_weight(const eng_lm_context *c, int layer, int role, uint64_t *h)
{
    int32_t tensor = c->model->weights[layer + 1][role];
    if (tensor < 0)
        return ENG_OK;
    const eng_store_tensor *t = eng_store_get(c->model->store, (uint32_t)tensor);
    uint64_t bytes = eng_row_bytes(t->type, t->ne[0]);
    void *row = lm_calloc(1, (size_t)bytes);
    eng_fence fence = {0};
    const eng_region all = eng_range(row, 0, bytes);
    int status = ENG_ERR_NOMEM;
    if (row)
        status = eng_queue_read(c->queue, NULL, 0, c->model->store, (uint32_t)tensor, &all, 1, &fence);
    status = status ? lm_after_failure(status, fence) : eng_fence_wait(fence, UINT64_MAX);
    if (!status)
        *h = hash(hash(*h, &t->type, sizeof t->type), row, bytes);
    free(row);
    return status;
}

/* Its numbers, and the first rows of weights that every training changes. */
static int identity(const eng_lm_context *c, char text[17])
{
    const lm_numbers *n = &c->model->n;
    const int64_t numbers[] = {n->n_layers, n->n_embd, n->n_ff, n->n_vocab, n->n_head, n->n_head_kv, n->d_k, n->d_v,
                               n->conv, n->state, n->k_heads, n->v_heads, n->n_experts, n->n_used};
    uint64_t h = hash(hash(0, c->model->arch->name, strlen(c->model->arch->name)), numbers, sizeof numbers);
    int status = hash_weight(c, -1, LM_EMBD, &h);
    if (!status)
        status = hash_weight(c, -1, LM_OUT_NORM, &h);
    for (int layer = 0; layer < n->n_layers && !status; layer++)
        status = hash_weight(c, layer, LM_NORM, &h);
    snprintf(text, 17, "%016llx", (unsigned long long)h);
    return status;
}

/* Has the context the long list of factors of rope?  -1: the model has no two. */
static int64_t stretched(const eng_lm_context *c)
{
    return c->model->weights[0][LM_ROPE_LONG] >= 0 ? lm_stretched(c->model, &c->p) : -1;
}

/* What the checksum begins with: the keys that matter. */
static uint64_t begin(const eng_lm_context *c, const char model[17], int64_t list)
{
    const int32_t rotations[] = {c->p.rotate_k, c->p.rotate_v};
    uint64_t h = hash(hash(0, model, 17), rotations, sizeof rotations);
    return list < 0 ? h : hash(h, &list, sizeof list);
}

/* -- moving rows --------------------------------------------------------------------------------- */

/* A tensor of the context's memory as the file has it. */
typedef struct piece {
    int64_t ne[4];
    uint32_t rank, n;      /* n: rows of it                                        */
    const int32_t *at;     /* where they are                                       */
    uint64_t row, count, stride; /* bytes of a row; how often there are rows, and how far apart */
} piece;

/* The dimension that counts rows. */
static uint32_t rows_dimension(const eng_store_tensor *t)
{
    return t->use == ENG_USE_CACHE ? 1 : t->rank - 1;
}

static piece piece_of(const lm_state *m, const eng_store_tensor *t)
{
    bool cache = t->use == ENG_USE_CACHE;
    piece p = {.rank = t->rank, .n = cache ? m->n_cells : m->n_states, .at = cache ? m->cells : m->states};
    uint32_t along = rows_dimension(t);
    memcpy(p.ne, t->ne, sizeof p.ne);
    p.row = eng_row_bytes(t->type, t->ne[0]);
    for (uint32_t i = 1; i < along; i++)
        p.row *= (uint64_t)t->ne[i];
    p.count = cache ? (uint64_t)t->ne[2] : 1;
    p.stride = p.row * (uint64_t)t->ne[along];
    p.ne[along] = p.n;
    return p;
}

/* Regions for the rows, those that follow one another in one; how many. */
static uint32_t regions_of(const lm_state *m, const piece *p, void *data)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->at[i] < 0)
            continue;
        if (i > 0 && p->at[i - 1] >= 0 && p->at[i] == p->at[i - 1] + 1) {
            m->regions[n - 1].bytes += p->row;
            continue;
        }
        m->regions[n++] = (eng_region){.data = (char *)data + i * p->row, .data_stride = p->n * p->row,
                                       .tensor_offset = (uint64_t)p->at[i] * p->row, .tensor_stride = p->stride,
                                       .bytes = p->row, .count = p->count};
    }
    return n;
}

static int begin_regions(lm_state *m)
{
    m->regions = lm_calloc(m->n_cells > m->n_states ? m->n_cells : m->n_states, sizeof *m->regions);
    return m->regions ? ENG_OK : ENG_ERR_NOMEM;
}

static void end(lm_state *m)
{
    free(m->regions);
    free(m->buffer);
    m->regions = NULL;
    m->buffer = NULL;
}

/* -- writing ------------------------------------------------------------------------------------------ */

/* Room for the rows of any one tensor. */
static int begin_buffer(lm_state *m)
{
    uint64_t most = sizeof m->hash;
    for (uint32_t i = 0; i < eng_store_count(m->c->memory); i++) {
        piece p = piece_of(m, eng_store_get(m->c->memory, i));
        most = p.n * p.row * p.count > most ? p.n * p.row * p.count : most;
    }
    m->buffer = lm_calloc(1, (size_t)most);
    return m->buffer ? ENG_OK : ENG_ERR_NOMEM;
}

static const void *table(lm_state *m, lm_state_table which)
{
    m->hash = hash(m->hash, m->tables[which].data, (uint64_t)m->tables[which].n * sizeof(int32_t));
    return m->tables[which].data;
}

/* Tensor number `tensor` of the file: tokens, those of the context's memory, further tables, the checksum. */
static int produce(void *user, uint32_t tensor, const void **data)
{
    lm_state *m = user;
    uint32_t behind = eng_store_count(m->c->memory) + 1;
    if (tensor == 0 || (tensor >= behind && tensor - behind < m->n_order)) {
        *data = table(m, tensor == 0 ? LM_STATE_TOKENS : (lm_state_table)m->order[tensor - behind]);
        return ENG_OK;
    }
    *data = m->buffer;
    if (tensor >= behind) {
        memcpy(m->buffer, &m->hash, sizeof m->hash);
        return ENG_OK;
    }
    piece p = piece_of(m, eng_store_get(m->c->memory, tensor - 1));
    eng_fence fence = {0};
    uint32_t n = regions_of(m, &p, m->buffer);
    int status = eng_queue_read(m->c->queue, NULL, 0, m->c->memory, tensor - 1, m->regions, n, &fence);
    status = status ? lm_after_failure(status, fence) : eng_fence_wait(fence, UINT64_MAX);
    m->hash = hash(m->hash, m->buffer, p.n * p.row * p.count);
    return status;
}

static int add_table(eng_gguf_writer *w, const lm_state *m, lm_state_table which)
{
    return eng_gguf_writer_tensor(w, names[which], ENG_TYPE_I32, &m->tables[which].n, 1, NULL);
}

static int describe(lm_state *m, eng_gguf_writer *w)
{
    const eng_lm_context *c = m->c;
    char model[17];
    int status = identity(c, model);
    m->hash = begin(c, model, stretched(c));
    if (!status)
        status = eng_gguf_writer_text(w, "general.type", "engine-state");
    if (!status)
        status = eng_gguf_writer_integer(w, KEY_VERSION, ENG_GGUF_U32, m->version);
    if (!status)
        status = eng_gguf_writer_text(w, KEY_MODEL, model);
    if (!status)
        status = eng_gguf_writer_integer(w, KEY_ROTATE_K, ENG_GGUF_I32, c->p.rotate_k);
    if (!status)
        status = eng_gguf_writer_integer(w, KEY_ROTATE_V, ENG_GGUF_I32, c->p.rotate_v);
    if (!status && stretched(c) >= 0)
        status = eng_gguf_writer_integer(w, KEY_STRETCHED, ENG_GGUF_I32, stretched(c));
    if (!status)
        status = add_table(w, m, LM_STATE_TOKENS);
    for (uint32_t i = 0; i < eng_store_count(c->memory) && !status; i++) {
        const eng_store_tensor *t = eng_store_get(c->memory, i);
        piece p = piece_of(m, t);
        status = eng_gguf_writer_tensor(w, t->name, t->type, p.ne, p.rank, NULL);
    }
    m->n_order = 0;
    for (uint32_t i = LM_STATE_TOKENS + 1; i < LM_STATE_TABLES && !status; i++) {
        if (m->tables[i].n == 0)
            continue;
        m->order[m->n_order++] = i;
        status = add_table(w, m, (lm_state_table)i);
    }
    return status ? status : eng_gguf_writer_tensor(w, "checksum", ENG_TYPE_I32, (int64_t[]){2}, 1, NULL);
}

int lm_state_write(lm_state *m, const char *path)
{
    eng_gguf_writer *w = NULL;
    int status = begin_regions(m);
    if (!status)
        status = begin_buffer(m);
    if (!status)
        status = eng_gguf_writer_create(&w);
    if (!status)
        status = describe(m, w);
    if (!status)
        status = eng_gguf_writer_save_from(w, path, produce, m);
    eng_gguf_writer_destroy(w);
    end(m);
    return status;
}

/* -- reading ------------------------------------------------------------------------------------------- */

static int check_rotation(const eng_gguf *f, const char *path, const char *key, const char *what, int32_t own)
{
    int64_t value;
    int status = eng_gguf_integer(f, key, 0, &value);
    if (!status && value != own)
        return eng_fail(ENG_ERR_STATE, "%s was saved with %s rotated in groups of %lld" ENG_CAUSE
                        "this context has %d" ENG_ADVICE
                        "give the context the same (--rotate-kv)", path, what, (long long)value, own);
    return status;
}

/* The list that was saved with; -1: there are no two, or the file is an earlier one, which does not say. */
static int64_t saved_list(const eng_gguf *f)
{
    int64_t value;
    return eng_gguf_key_find(f, KEY_STRETCHED) && eng_gguf_integer(f, KEY_STRETCHED, 0, &value) == ENG_OK ? value : -1;
}

static int check_stretched(const eng_lm_context *c, const eng_gguf *f, const char *path)
{
    int64_t value = saved_list(f), own = stretched(c);
    if (own >= 0 && value >= 0 && value != own)
        return eng_fail(ENG_ERR_STATE, "%s was saved with the factors of rope for %s texts" ENG_CAUSE
                        "a context of %u cells has those for %s ones" ENG_ADVICE
                        "make it %s than the model's original context of %lld", path, value ? "long" : "short",
                        c->p.n_cells, own ? "long" : "short", value ? "larger" : "no larger",
                        (long long)c->model->n.rope.n_ctx_orig);
    return ENG_OK;
}

static int check_keys(lm_state *m, const eng_gguf *f, const char *path)
{
    int64_t version;
    char model[17];
    eng_gguf_string saved;
    if (eng_gguf_integer(f, KEY_VERSION, 0, &version) != ENG_OK || eng_gguf_text(f, KEY_MODEL, 0, &saved) != ENG_OK)
        return eng_fail(ENG_ERR_FORMAT, "%s holds no saved sequence" ENG_CAUSE
                        "it has no keys " KEY_VERSION " and " KEY_MODEL, path);
    if (version < LM_STATE_SEQUENCE || version > LM_STATE_CONTEXT)
        return eng_fail(ENG_ERR_FORMAT, "%s is of version %lld" ENG_CAUSE "this engine reads versions %d to %d", path,
                        (long long)version, LM_STATE_SEQUENCE, LM_STATE_CONTEXT);
    if ((version == LM_STATE_CONTEXT) != (m->version == LM_STATE_CONTEXT))
        return eng_fail(ENG_ERR_STATE, "%s holds a %s" ENG_ADVICE "load it with %s", path,
                        version == LM_STATE_CONTEXT ? "whole context" : "single sequence",
                        version == LM_STATE_CONTEXT ? "eng_lm_context_load" : "eng_lm_sequence_load");
    m->version = (uint32_t)version;
    int status = identity(m->c, model);
    if (status)
        return status;
    if (saved.length != 16 || memcmp(saved.data, model, 16) != 0)
        return eng_fail(ENG_ERR_STATE,
                        "%s was saved of another model" ENG_CAUSE "its identity is %.*s, this model's %s", path,
                        (int)(saved.length < 64 ? saved.length : 64), saved.data, model);
    m->hash = begin(m->c, model, saved_list(f));
    return ENG_OK;
}

/* The file's tensor for one of the context's; *n: how many rows it must have, 0: any, and gets. */
static int find(const eng_gguf *f, const char *path, const eng_store_tensor *t, const eng_gguf_tensor **found,
                int64_t *n)
{
    const eng_gguf_tensor *g = eng_gguf_tensor_find(f, t->name);
    uint32_t along = rows_dimension(t);
    if (!g)
        return eng_fail(ENG_ERR_FORMAT, "%s lacks the tensor %s", path, t->name);
    if (g->type != t->type)
        return eng_fail(ENG_ERR_STATE, "%s has %s as %s" ENG_CAUSE "this context has %s" ENG_ADVICE
                        "make the context with the types that it was saved with (-ctk, -ctv)", path, t->name,
                        eng_type_name(g->type), eng_type_name(t->type));
    bool same = g->rank == t->rank;
    for (uint32_t i = 0; i < t->rank && same; i++)
        same = i == along ? g->ne[i] >= 1 : g->ne[i] == t->ne[i];
    if (!same || (*n != 0 && g->ne[along] != *n))
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "the tensor %s has not the shape of this model's", path, t->name);
    *n = g->ne[along];
    *found = g;
    return ENG_OK;
}

/* The tables that a file of this version has. */
static bool has(const lm_state *m, lm_state_table which)
{
    bool states = which == LM_STATE_HISTORY_LENGTHS || which == LM_STATE_HISTORIES;
    return which == LM_STATE_TOKENS || (which == LM_STATE_POSITIONS && m->version == LM_STATE_CUT) ||
           (m->version == LM_STATE_CONTEXT && (!states || m->c->model->n.recurrent));
}

static int find_tables(lm_state *m, const eng_gguf *f, const char *path)
{
    for (uint32_t i = 0; i < LM_STATE_TABLES; i++) {
        if (!has(m, (lm_state_table)i))
            continue;
        const eng_gguf_tensor *t = eng_gguf_tensor_find(f, names[i]);
        if (!t || t->type != ENG_TYPE_I32 || t->rank != 1 || t->ne[0] < 1 || t->ne[0] > INT32_MAX)
            return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "it has no table of %s", path, names[i]);
        m->tables[i].data = t->data;
        m->tables[i].n = t->ne[0];
    }
    m->n_cells = (uint32_t)m->tables[m->version == LM_STATE_CONTEXT ? LM_STATE_POSITIONS : LM_STATE_TOKENS].n;
    return ENG_OK;
}

static int find_memory(lm_state *m, const eng_gguf *f, const char *path)
{
    int64_t n_states = 0;
    for (uint32_t i = 0; i < eng_store_count(m->c->memory); i++) {
        const eng_store_tensor *own = eng_store_get(m->c->memory, i);
        const eng_gguf_tensor *g = NULL;
        int64_t n = m->n_cells;
        int status = find(f, path, own, &g, own->use == ENG_USE_CACHE ? &n : &n_states);
        if (status)
            return status;
        m->hash = hash(m->hash, g->data, g->bytes);
    }
    if (n_states > INT32_MAX)
        return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "it has too many states", path);
    m->n_states = (uint32_t)n_states;
    return ENG_OK;
}

static int check_sum(const lm_state *m, const eng_gguf *f, const char *path)
{
    uint64_t sum;
    const eng_gguf_tensor *t = eng_gguf_tensor_find(f, "checksum");
    if (!t || t->bytes != sizeof sum)
        return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "it has no checksum", path);
    memcpy(&sum, t->data, sizeof sum);
    if (sum != m->hash)
        return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "its checksum is %016llx, should be %016llx", path,
                        (unsigned long long)sum, (unsigned long long)m->hash);
    for (int64_t i = 0; i < m->tables[LM_STATE_TOKENS].n; i++) {
        int32_t token = m->tables[LM_STATE_TOKENS].data[i];
        if (token < 0 || token >= m->c->model->n.n_vocab)
            return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "token %lld of it is not in the vocabulary", path,
                            (long long)i);
    }
    return ENG_OK;
}

int lm_state_check(lm_state *m, const eng_gguf *f, const char *path)
{
    int status = check_keys(m, f, path);
    if (!status)
        status = find_tables(m, f, path);
    if (status)
        return status;
    table(m, LM_STATE_TOKENS);
    status = find_memory(m, f, path);
    if (status)
        return status;
    for (uint32_t i = LM_STATE_TOKENS + 1; i < LM_STATE_TABLES; i++)
        if (m->tables[i].n)
            table(m, (lm_state_table)i);
    status = check_rotation(f, path, KEY_ROTATE_K, "K", m->c->p.rotate_k);
    if (!status)
        status = check_rotation(f, path, KEY_ROTATE_V, "V", m->c->p.rotate_v);
    if (!status)
        status = check_stretched(m->c, f, path);
    return status ? status : check_sum(m, f, path);
}

int lm_state_upload(lm_state *m, const eng_gguf *f)
{
    eng_fence fence = {0};
    int status = begin_regions(m);
    for (uint32_t i = 0; i < eng_store_count(m->c->memory) && !status; i++) {
        const eng_store_tensor *t = eng_store_get(m->c->memory, i);
        const eng_gguf_tensor *g = eng_gguf_tensor_find(f, t->name);
        piece p = piece_of(m, t);
        uint32_t n = regions_of(m, &p, (void *)(uintptr_t)g->data); /* only read */
        status = n ? eng_queue_write(m->c->queue, NULL, 0, m->c->memory, i, m->regions, n, &fence) : ENG_OK;
    }
    status = status ? lm_after_failure(status, fence) : eng_fence_wait(fence, UINT64_MAX);
    end(m);
    return status;
}
