/*
 * A sequence in a file: a GGUF file with its tokens, their rows of the caches
 * and its recurrent states, so that it can be written aside, read where it is
 * mapped and looked at with what reads GGUF.
 *
 *     tokens      i32 [n]
 *     cache_k.L   K of layer L, as the caches have it: [row, n, heads]; cache_v.L
 *     state.L     f32 [S, S, heads, m]: the states behind the last m tokens, the newest first; conv.L their windows
 *     positions   i32 [n]: of a sequence that lacks tokens in the middle, and then the version is 2
 *     checksum    i32 [2]: SipHash-2-4 (Aumasson, Bernstein, 2012) of all that is before, tensor after tensor
 *
 * and the keys below.  What is in it does not depend on devices, splits and
 * the sizes of a context; it does on the model, and the caches' types and rotations.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/gguf.h"
#include "run.h"

#define STATE_VERSION 1
#define STATE_VERSION_CUT 2
#define KEY_VERSION "engine.state.version"
#define KEY_MODEL "engine.state.model"
#define KEY_ROTATE_K "engine.state.rotate_k"
#define KEY_ROTATE_V "engine.state.rotate_v"

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

/* What the checksum begins with: the keys that matter. */
static uint64_t begin(const eng_lm_context *c, const char model[17])
{
    const int32_t rotations[] = {c->p.rotate_k, c->p.rotate_v};
    return hash(hash(0, model, 17), rotations, sizeof rotations);
}

/* -- moving rows --------------------------------------------------------------------------------- */

typedef struct mover {
    eng_lm_context *c;
    const lm_sequence *s;
    uint32_t n_states;     /* rows of recurrent pools                              */
    const int32_t *states;
    eng_region *regions;   /* as many as there are tokens, or states               */
    void *buffer;          /* room for the rows of any one tensor                  */
    uint64_t hash;
} mover;

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

static piece piece_of(const mover *m, const eng_store_tensor *t)
{
    bool cache = t->use == ENG_USE_CACHE;
    piece p = {.rank = t->rank, .n = m->n_states, .at = m->states};
    if (cache) {
        p.n = (uint32_t)m->s->length;
        p.at = m->s->cells;
    }
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
static uint32_t regions_of(const mover *m, const piece *p, void *data)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (n > 0 && p->at[i] == p->at[i - 1] + 1) {
            m->regions[n - 1].bytes += p->row;
            continue;
        }
        m->regions[n++] = (eng_region){.data = (char *)data + i * p->row, .data_stride = p->n * p->row,
                                       .tensor_offset = (uint64_t)p->at[i] * p->row, .tensor_stride = p->stride,
                                       .bytes = p->row, .count = p->count};
    }
    return n;
}

/* Does the sequence lack tokens in the middle? */
static bool is_cut(const eng_lm_context *c, const lm_sequence *s)
{
    return lm_cells_next(c, s) != s->length;
}

static int mover_begin(mover *m, bool buffer)
{
    uint64_t most = (uint64_t)m->s->length * sizeof(int32_t);
    uint32_t n = (uint32_t)m->s->length > m->n_states ? (uint32_t)m->s->length : m->n_states;
    for (uint32_t i = 0; i < eng_store_count(m->c->memory); i++) {
        piece p = piece_of(m, eng_store_get(m->c->memory, i));
        most = p.n * p.row * p.count > most ? p.n * p.row * p.count : most;
    }
    m->regions = lm_calloc(n, sizeof *m->regions);
    m->buffer = buffer ? lm_calloc(1, (size_t)most) : NULL;
    return m->regions && (m->buffer || !buffer) ? ENG_OK : ENG_ERR_NOMEM;
}

static void mover_end(mover *m)
{
    free(m->regions);
    free(m->buffer);
}

/* -- saving ------------------------------------------------------------------------------------------ */

/* Tensor number `tensor` of the file: tokens, those of the context's memory, the checksum. */
static int produce(void *user, uint32_t tensor, const void **data)
{
    mover *m = user;
    if (tensor == 0) {
        *data = m->s->tokens;
        m->hash = hash(m->hash, *data, (uint64_t)m->s->length * sizeof *m->s->tokens);
        return ENG_OK;
    }
    *data = m->buffer;
    uint32_t behind = eng_store_count(m->c->memory) + 1;
    if (tensor == behind && is_cut(m->c, m->s)) {
        for (int64_t i = 0; i < m->s->length; i++)
            ((int32_t *)m->buffer)[i] = m->c->cell_pos[m->s->cells[i]];
        m->hash = hash(m->hash, m->buffer, (uint64_t)m->s->length * sizeof(int32_t));
        return ENG_OK;
    }
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

static int describe(mover *m, eng_gguf_writer *w)
{
    const eng_lm_context *c = m->c;
    char model[17];
    int status = identity(c, model);
    m->hash = begin(c, model);
    if (!status)
        status = eng_gguf_writer_text(w, "general.type", "engine-state");
    if (!status)
        status = eng_gguf_writer_integer(w, KEY_VERSION, ENG_GGUF_U32,
                                           is_cut(c, m->s) ? STATE_VERSION_CUT : STATE_VERSION);
    if (!status)
        status = eng_gguf_writer_text(w, KEY_MODEL, model);
    if (!status)
        status = eng_gguf_writer_integer(w, KEY_ROTATE_K, ENG_GGUF_I32, c->p.rotate_k);
    if (!status)
        status = eng_gguf_writer_integer(w, KEY_ROTATE_V, ENG_GGUF_I32, c->p.rotate_v);
    if (!status)
        status = eng_gguf_writer_tensor(w, "tokens", ENG_TYPE_I32, &m->s->length, 1, NULL);
    for (uint32_t i = 0; i < eng_store_count(c->memory) && !status; i++) {
        const eng_store_tensor *t = eng_store_get(c->memory, i);
        piece p = piece_of(m, t);
        status = eng_gguf_writer_tensor(w, t->name, t->type, p.ne, p.rank, NULL);
    }
    if (!status && is_cut(c, m->s))
        status = eng_gguf_writer_tensor(w, "positions", ENG_TYPE_I32, &m->s->length, 1, NULL);
    return status ? status : eng_gguf_writer_tensor(w, "checksum", ENG_TYPE_I32, (int64_t[]){2}, 1, NULL);
}

int eng_lm_sequence_save(eng_lm_context *c, uint32_t sequence, const char *path)
{
    if (!c || !path)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_save" ENG_CAUSE "a context and a path are needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    const lm_sequence *s = &c->sequences[sequence];
    if (s->broken)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it", sequence);
    if (s->length == 0)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds no tokens" ENG_CAUSE "there is nothing to save", sequence);
    mover m = {.c = c, .s = s, .states = lm_rows_history(&c->rows, sequence)};
    while (m.n_states < c->rows.n_history[sequence] && m.states[m.n_states] >= 0)
        m.n_states++;
    eng_gguf_writer *w = NULL;
    status = mover_begin(&m, true);
    if (!status)
        status = eng_gguf_writer_create(&w);
    if (!status)
        status = describe(&m, w);
    if (!status)
        status = eng_gguf_writer_save_from(w, path, produce, &m);
    eng_gguf_writer_destroy(w);
    mover_end(&m);
    return status;
}

/* -- loading ------------------------------------------------------------------------------------------- */

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

static int check_keys(const eng_lm_context *c, const eng_gguf *f, const char *path, uint64_t *h)
{
    int64_t version;
    char model[17];
    eng_gguf_string saved;
    if (eng_gguf_integer(f, KEY_VERSION, 0, &version) != ENG_OK || eng_gguf_text(f, KEY_MODEL, 0, &saved) != ENG_OK)
        return eng_fail(ENG_ERR_FORMAT, "%s holds no saved sequence" ENG_CAUSE
                        "it has no keys " KEY_VERSION " and " KEY_MODEL, path);
    if (version < STATE_VERSION || version > STATE_VERSION_CUT)
        return eng_fail(ENG_ERR_FORMAT, "%s is of version %lld" ENG_CAUSE "this engine reads versions %d and %d", path,
                        (long long)version, STATE_VERSION, STATE_VERSION_CUT);
    int status = identity(c, model);
    if (status)
        return status;
    if (saved.length != 16 || memcmp(saved.data, model, 16) != 0)
        return eng_fail(ENG_ERR_STATE, "%s was saved of another model" ENG_CAUSE
                        "its identity is %.*s, this model's %s", path, (int)(saved.length < 64 ? saved.length : 64), saved.data, model);
    *h = begin(c, model);
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

/* Where a sequence's tokens are, NULL: without gaps; from 0 on they rise. */
static int check_positions(const eng_gguf *f, const char *path, int64_t n, const int32_t **positions, uint64_t *h)
{
    const eng_gguf_tensor *t = eng_gguf_tensor_find(f, "positions");
    *positions = NULL;
    if (!t)
        return ENG_OK;
    bool good = t->type == ENG_TYPE_I32 && t->rank == 1 && t->ne[0] == n;
    const int32_t *at = t->data;
    for (int64_t i = 0; i < n && good; i++)
        good = at[i] >= i && at[i] < INT32_MAX - LM_MAX_CELLS && (i == 0 || at[i] > at[i - 1]);
    if (!good)
        return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "the positions of its tokens do not rise", path);
    *positions = at;
    *h = hash(*h, at, t->bytes);
    return ENG_OK;
}

/* What a file holds. */
typedef struct content {
    const eng_gguf_tensor *tokens;
    const int32_t *positions;
    int64_t n_states;
} content;

/* All that a file must be before anything changes. */
static int check_file(const eng_lm_context *c, const eng_gguf *f, const char *path, content *in)
{
    uint64_t h = 0, sum;
    int status = check_keys(c, f, path, &h);
    if (status)
        return status;
    const eng_gguf_tensor *t = eng_gguf_tensor_find(f, "tokens"), *last = eng_gguf_tensor_find(f, "checksum");
    if (!t || t->type != ENG_TYPE_I32 || t->rank != 1 || t->ne[0] < 1 || !last || last->bytes != sizeof sum)
        return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "it has no tokens, or no checksum", path);
    in->tokens = t;
    h = hash(h, t->data, t->bytes);
    for (uint32_t i = 0; i < eng_store_count(c->memory); i++) {
        const eng_store_tensor *own = eng_store_get(c->memory, i);
        const eng_gguf_tensor *g = NULL;
        int64_t n = t->ne[0];
        status = find(f, path, own, &g, own->use == ENG_USE_CACHE ? &n : &in->n_states);
        if (status)
            return status;
        h = hash(h, g->data, g->bytes);
    }
    status = check_positions(f, path, t->ne[0], &in->positions, &h);
    if (status)
        return status;
    status = check_rotation(f, path, KEY_ROTATE_K, "K", c->p.rotate_k);
    if (!status)
        status = check_rotation(f, path, KEY_ROTATE_V, "V", c->p.rotate_v);
    if (status)
        return status;
    memcpy(&sum, last->data, sizeof sum);
    if (sum != h)
        return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE "its checksum is %016llx, should be %016llx", path,
                        (unsigned long long)sum, (unsigned long long)h);
    for (int64_t i = 0; i < t->ne[0]; i++)
        if (((const int32_t *)t->data)[i] < 0 || ((const int32_t *)t->data)[i] >= c->model->n.n_vocab)
            return eng_fail(ENG_ERR_FORMAT, "%s is damaged" ENG_CAUSE
                            "token %lld of it is not in the vocabulary", path, (long long)i);
    return ENG_OK;
}

/* Cells that would be free if the sequence held none. */
static uint32_t cells_without(const eng_lm_context *c, const lm_sequence *s)
{
    return lm_cells_free(c) + (uint32_t)(s->length - lm_sequence_first_alone(c, s));
}

static int upload(mover *m, const eng_gguf *f)
{
    eng_fence fence = {0};
    int status = ENG_OK;
    for (uint32_t i = 0; i < eng_store_count(m->c->memory) && !status; i++) {
        const eng_store_tensor *t = eng_store_get(m->c->memory, i);
        const eng_gguf_tensor *g = eng_gguf_tensor_find(f, t->name);
        piece p = piece_of(m, t);
        uint32_t n = regions_of(m, &p, (void *)(uintptr_t)g->data); /* only read */
        status = eng_queue_write(m->c->queue, NULL, 0, m->c->memory, i, m->regions, n, &fence);
    }
    return status ? lm_after_failure(status, fence) : eng_fence_wait(fence, UINT64_MAX);
}

/* The tokens are where they were; the first gap ends what is a text's beginning. */
static void place_at(eng_lm_context *c, lm_sequence *s, const int32_t *positions)
{
    for (uint32_t i = s->n_cells; positions && i-- > 0;) {
        c->cell_pos[s->cells[i]] = positions[i];
        if (positions[i] > (int32_t)i)
            s->whole = c->model->n.recurrent ? 0 : i;
    }
}

static int load(eng_lm_context *c, uint32_t sequence, const eng_gguf *f, const content *in)
{
    lm_sequence *s = &c->sequences[sequence];
    uint32_t n = (uint32_t)in->tokens->ne[0], slots = c->p.n_snapshots;
    uint32_t kept = in->n_states < slots ? (uint32_t)in->n_states : slots;
    int32_t *rows = c->chosen + (size_t)sequence * slots, cell;
    mover m = {.c = c, .s = s, .states = rows, .n_states = kept};
    eng_lm_sequence_remove(c, sequence);
    lm_kept_make_room(c, n);
    for (uint32_t i = 0; i < n; i++)
        if (!lm_cells_take(c, sequence, &cell))
            return eng_fail(ENG_ERR_INTERNAL, "cells ran out while a sequence was loaded");
    memcpy(s->tokens, in->tokens->data, n * sizeof *s->tokens);
    s->length = n;
    place_at(c, s, in->positions);
    if (kept > 0 && !lm_rows_choose(&c->rows, sequence, kept, rows))
        return eng_fail(ENG_ERR_INTERNAL, "rows for states ran out while a sequence was loaded");
    lm_rows_restore(&c->rows, sequence, rows, kept, kept == n && !in->positions);
    int status = mover_begin(&m, false);
    if (!status)
        status = upload(&m, f);
    mover_end(&m);
    return status;
}

int eng_lm_sequence_load(eng_lm_context *c, uint32_t sequence, const char *path)
{
    if (!c || !path)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_load" ENG_CAUSE "a context and a path are needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    eng_gguf *f;
    status = eng_gguf_open(path, &f);
    if (status)
        return status;
    content in = {0};
    lm_sequence *s = &c->sequences[sequence];
    status = check_file(c, f, path, &in);
    if (!status && in.tokens->ne[0] > cells_without(c, s))
        status = eng_fail(ENG_ERR_STATE, "%s holds %lld tokens" ENG_CAUSE "%u cells are free" ENG_ADVICE
                          "make the context larger (-c), or remove sequences", path, (long long)in.tokens->ne[0],
                          cells_without(c, s));
    if (!status && !lm_sequence_reserve(s, (size_t)in.tokens->ne[0]))
        status = eng_fail_code(EU_NO_MEMORY("the cells of a sequence"));
    if (!status) {
        status = load(c, sequence, f, &in);
        s->broken = status != ENG_OK;
    }
    eng_gguf_close(f);
    return status;
}
