/* Contexts: caches, recurrent states, the memory of sequences. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

void eng_lm_context_init(eng_lm_context_params *p, size_t size)
{
    eng_lm_context_params own = {.size = sizeof own, .n_batch = 512, .n_sequences = 1, .n_snapshots = 1,
                                 .type_k = ENG_TYPE_F16, .type_v = ENG_TYPE_F16, .rotate_k = ENG_LM_ROTATE_AUTO,
                                 .rotate_v = ENG_LM_ROTATE_AUTO, .placement = {.size = sizeof own.placement}};
    memset(p, 0, size);
    memcpy(p, &own, size < sizeof own ? size : sizeof own);
    p->size = (uint32_t)size;
}

void (eng_lm_context_defaults)(eng_lm_context_params *p) /* of hosts built with 3.0, whose struct ended there */
{
    eng_lm_context_init(p, offsetof(eng_lm_context_params, kept_bytes));
}

/* -- parameters ---------------------------------------------------------------- */

static int check_range(const char *what, uint32_t value, uint32_t most)
{
    if (value < 1 || value > most)
        return eng_fail(ENG_ERR_INVALID, "%s is %u" ENG_CAUSE "1 to %u are possible", what, value, most);
    return ENG_OK;
}

/* Of all layers' heads, of K or V: a power of two that divides the rows of each divides this. */
static int64_t all_heads(const lm_numbers *n, bool v, uint32_t type)
{
    int64_t rows = 0;
    for (int i = 0; i < n->n_layers && eng_type_get(type); i++)
        if (n->kind[i] & LM_LAYER_ATTENTION)
            rows |= lm_cache_row(type, v ? n->layer[i].d_v : n->layer[i].d_k);
    return rows;
}

/* Can a cache have this type, and what is its rotation? */
static int check_cache(const char *what, uint32_t type, int64_t head, int32_t *rotate)
{
    static const uint32_t possible[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_BF16, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0,
                                        ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL};
    const eng_type_info *info = eng_type_get(type);
    bool found = false;
    for (size_t i = 0; i < sizeof possible / sizeof *possible; i++)
        found |= possible[i] == type;
    if (!info || !found)
        return eng_fail(ENG_ERR_INVALID, "type %s is not possible for %s" ENG_CAUSE
                        "f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, "
                        "q5_1 and iq4_nl are", info ? info->name : "(unknown)", what);
    if (*rotate == ENG_LM_ROTATE_AUTO || *rotate == ENG_LM_ROTATE_ON)
        *rotate = info->block > 1 || *rotate == ENG_LM_ROTATE_ON ? lm_cache_rotation(head) : 0;
    if (*rotate < 0 || *rotate > LM_MOST_ROTATION || (*rotate & (*rotate - 1)) || (*rotate && head % *rotate))
        return eng_fail(ENG_ERR_INVALID, "a rotation of %s in groups of %d is not possible" ENG_CAUSE
                        "a power of two up to 4096 "
                        "that divides a row of %lld is needed", what, *rotate, (long long)head);
    return ENG_OK;
}

static int check_params(eng_lm_context *c)
{
    const lm_numbers *n = &c->model->n;
    eng_lm_context_params *p = &c->p;
    if (p->n_cells == 0)
        p->n_cells = (uint32_t)(n->n_ctx_train < 4096 ? n->n_ctx_train : 4096);
    int status = check_range("n_cells", p->n_cells, LM_MAX_CELLS);
    if (!status)
        status = check_range("n_batch", p->n_batch, LM_MAX_BATCH);
    if (!status)
        status = check_range("n_sequences", p->n_sequences, LM_MAX_SEQUENCES);
    if (!status)
        status = check_range("n_snapshots", p->n_snapshots, LM_MAX_SNAPSHOTS);
    if (!status && (p->n_top > n->n_vocab || p->outputs > (ENG_LM_HIDDEN | ENG_LM_HIDDEN_ALL)))
        status = eng_fail(ENG_ERR_INVALID,
                          "n_top must be %lld at most, got %u; outputs are ENG_LM_HIDDEN (1) and ENG_LM_HIDDEN_ALL "
                          "(2), got %u",
                          (long long)n->n_vocab, p->n_top, p->outputs);
    if (!status && p->on_full > ENG_LM_FULL_DROP)
        status = eng_fail(ENG_ERR_INVALID, "on_full must be refuse (0) or drop (1), got %u", p->on_full);
    if (!status && p->kept_stride == 0)
        p->kept_stride = 512;
    if (!status && p->precision >= ENG_PRECISIONS)
        status = eng_fail(ENG_ERR_INVALID, "precision must be exact (0) or fast (1), got %u", p->precision);
    if (!status && n->attention)
        status = check_cache("K", p->type_k, all_heads(n, false, p->type_k), &p->rotate_k);
    if (!status && n->attention)
        status = check_cache("V", p->type_v, all_heads(n, true, p->type_v), &p->rotate_v);
    if (status)
        return status;
    if (p->n_batch > p->n_cells)
        p->n_batch = p->n_cells;
    if (p->n_logits == 0) { /* at most 256 MiB of them */
        int64_t most = (1 << 26) / n->n_vocab;
        p->n_logits = most > p->n_batch ? p->n_batch : most < 1 ? 1 : (uint32_t)most;
    }
    if (p->n_logits > p->n_batch)
        p->n_logits = p->n_batch;
    return ENG_OK;
}

/*
 * Caches that are split along their cells are split within periods, of which each device has its share: tokens take
 * the first free cells, so whatever is in use is spread over all devices, but for less than a period.  Longer periods
 * would follow shares closer than to a 64th, shorter ones divide fewer cells.  The cells of a device follow one another
 * in its memory however short its runs are, so attention does not mind.  Periods are alike, so the number of cells is
 * rounded up, by less than a cell for each period.
 */
#define PERIOD 64

static void choose_period(eng_lm_context *c)
{
    c->cell_periods = (c->p.n_cells + PERIOD - 1) / PERIOD;
    c->cell_period = (c->p.n_cells + c->cell_periods - 1) / c->cell_periods;
}

static uint32_t all_cells(const eng_lm_context *c)
{
    return c->cell_periods * c->cell_period;
}

/* "p c": the cells. */
static void cell_letters(const eng_lm_context *c, lm_letter letters[2])
{
    letters[0] = (lm_letter){'p', NULL, c->cell_periods};
    letters[1] = (lm_letter){'c', "cell", c->cell_period};
}

/* -- memory on the device -------------------------------------------------------- */

/* K, V, an indexer's keys and its pools' window, or entries' K, V and window, and an indexer's */
#define MOST_OF_LAYER 7
#define OWN_LETTERS 12  /* x y z n p c r w v t f d: what a context has beside its model's          */

typedef struct declaration {
    eng_lm_context *c;
    lm_placer placer;
    eu_arena memory;
    lm_letter letters[LM_MAX_LETTERS + OWN_LETTERS];
    uint32_t n_letters;
    eng_store_tensor *tensors;
    uint32_t n;
} declaration;

static int declare(declaration *d, int layer, const char *prefix, uint32_t type, uint32_t use, const char *words)
{
    eng_lm_model *m = d->c->model;
    eng_store_tensor *t = &d->tensors[d->n];
    char *name = lm_format(&d->memory, "%s.%d", prefix, layer);
    if (!name)
        return ENG_ERR_NOMEM;
    *t = (eng_store_tensor){.size = sizeof *t, .type = type, .use = use, .name = name, .layer = layer};
    t->device = lm_placer_device(&d->placer, name, layer);
    int status = lm_dims(m->engine, d->letters, d->n_letters, words, &d->memory, t->ne, &t->rank, &t->dims);
    if (status)
        return status;
    uint64_t bytes = eng_row_bytes(type, t->ne[0]);
    for (uint32_t i = 1; i < t->rank; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)t->ne[i], &bytes))
            return eng_fail(ENG_ERR_NOMEM, "%s would need more memory than there can be" ENG_CAUSE
                            "ask for fewer cells", name);
    *(use == ENG_USE_CACHE ? &d->c->cache_bytes : &d->c->state_bytes) += bytes;
    d->n++;
    return ENG_OK;
}

/* Heads and rows of a layer's caches. */
static void set_letters(declaration *d, const lm_layer *a)
{
    const eng_lm_context_params *p = &d->c->p;
    for (uint32_t i = 0; i < d->n_letters; i++)
        switch (d->letters[i].letter) {
        case 'H': d->letters[i].extent = a->n_head_kv; break;
        case 'x': d->letters[i].extent = lm_cache_row(p->type_k, a->d_k); break;
        case 'y': d->letters[i].extent = lm_cache_row(p->type_v, a->d_v); break;
        case 't': d->letters[i].extent = a->chooses ? 4 : 2; break;
        case 'f': d->letters[i].extent = (a->chooses ? 2 : 1) * a->ratio - 1; break;
        case 'D': d->letters[i].extent = a->d_k; break;
        default: break;
        }
}

/* An entry lies in the cell of its last token; what all its channels are made of is of the tokens before that. */
static int declare_entries(declaration *d, int layer)
{
    const eng_lm_context_params *p = &d->c->p;
    bool chooses = d->c->model->n.layer[layer].chooses;
    int status = declare(d, layer, "cache_entry_k", p->type_k, ENG_USE_CACHE, "x, p c, H");
    if (!status)
        status = declare(d, layer, "cache_entry_v", p->type_v, ENG_USE_CACHE, "y, p c, H");
    if (!status)
        status = declare(d, layer, "entry", ENG_TYPE_F32, ENG_USE_STATE, "f, t D, r");
    if (!status && chooses)
        status = declare(d, layer, "cache_i", p->type_k, ENG_USE_CACHE, "z, n, 1");
    return status || !chooses ? status : declare(d, layer, "entry_i", ENG_TYPE_F32, ENG_USE_STATE, "f, t j, r");
}

static int declare_layer(declaration *d, int layer)
{
    eng_lm_context *c = d->c;
    const lm_layer *a = &c->model->n.layer[layer];
    c->layer_memory[layer] = a->owner == layer ? (int32_t)d->n : c->layer_memory[a->owner];
    if (a->owner != layer)
        return ENG_OK;
    int status = ENG_OK;
    if (c->model->n.kind[layer] & LM_LAYER_ATTENTION) {
        set_letters(d, a);
        status = declare(d, layer, "cache_k", c->p.type_k, ENG_USE_CACHE, "x, p c, H");
        status = status ? status : declare(d, layer, "cache_v", c->p.type_v, ENG_USE_CACHE, "y, p c, H");
        if (!status && a->ratio)
            return declare_entries(d, layer);
        if (!status && a->chooses) /* whoever chooses among cells needs all of them */
            status = declare(d, layer, "cache_i", c->p.type_k, ENG_USE_CACHE, "z, n, 1");
        if (!status && a->chooses && c->model->n.pool)
            status = declare(d, layer, "pool", ENG_TYPE_F32, ENG_USE_STATE,
                             c->model->n.pool_means ? "v, j, r" : "v, 2 j, r");
    }
    if (status || !(c->model->n.kind[layer] & LM_LAYER_RECURRENT))
        return status;
    const char *words = c->model->arch->head_words;
    char *state = lm_format(&d->memory, "%s, S, %s, r", c->model->arch->scans ? "U" : "S", words ? words : "");
    char *window = lm_format(&d->memory, "w, %s, r", c->model->arch->conv_words);
    if (!state || !window)
        return ENG_ERR_NOMEM;
    status = words ? declare(d, layer, "state", ENG_TYPE_F32, ENG_USE_STATE, state) : ENG_OK;
    status = status ? status : declare(d, layer, "conv", ENG_TYPE_F32, ENG_USE_STATE, window);
    bool ngrams = c->model->n.ngrams.rows && layer == c->model->n.ngrams.layer;
    return status || !ngrams ? status : declare(d, layer, "ngrams", ENG_TYPE_F32, ENG_USE_STATE, "d, J E, r");
}

static int declare_layers(declaration *d)
{
    d->n = 0;
    d->c->cache_bytes = d->c->state_bytes = 0;
    for (int layer = 0; layer < d->c->model->n.n_layers; layer++) {
        int status = declare_layer(d, layer);
        if (status)
            return status;
    }
    return ENG_OK;
}

/* Rows of states beside those of sequences: as many as the budget allows with the cells from one to the next. */
static int plan_kept(eng_lm_context *c)
{
    lm_kept *k = &c->kept;
    uint64_t rows = (uint64_t)c->p.n_sequences * c->p.n_snapshots;
    k->budget = c->p.kept_bytes;
    k->stride = c->p.kept_stride;
    k->cell_bytes = c->cache_bytes / all_cells(c);
    k->row_bytes = c->state_bytes / rows;
    if (!c->model->n.recurrent || k->budget == 0)
        return ENG_OK;
    uint64_t one = k->row_bytes + k->stride * k->cell_bytes, n = k->budget / one;
    if (n == 0)
        return eng_fail(ENG_ERR_INVALID, "%llu bytes keep no beginning of a text" ENG_CAUSE
                        "the states behind one and %u cells take %llu" ENG_ADVICE "give kept_bytes as many at least",
                        (unsigned long long)k->budget, k->stride, (unsigned long long)one);
    k->most_rows = (uint32_t)(n < LM_MAX_KEPT ? n : LM_MAX_KEPT);
    return ENG_OK;
}

static int declare_all(declaration *d)
{
    eng_lm_context *c = d->c;
    const lm_numbers *n = &c->model->n;
    memcpy(d->letters, c->model->letters, sizeof c->model->letters);
    d->n_letters = c->model->n_letters;
    d->letters[d->n_letters++] = (lm_letter){'x', NULL, 0}; /* set_letters */
    d->letters[d->n_letters++] = (lm_letter){'y', NULL, 0};
    d->letters[d->n_letters++] = (lm_letter){'z', NULL, lm_cache_row(c->p.type_k, n->d_index)};
    d->letters[d->n_letters++] = (lm_letter){'n', NULL, all_cells(c)};
    cell_letters(c, &d->letters[d->n_letters]); /* where heads are too few */
    d->n_letters += 2;
    lm_letter *rows = &d->letters[d->n_letters++];
    *rows = (lm_letter){'r', NULL, (int64_t)c->p.n_sequences * c->p.n_snapshots};
    d->letters[d->n_letters++] = (lm_letter){'w', NULL, n->conv - 1};
    d->letters[d->n_letters++] = (lm_letter){'v', NULL, n->pool - 1};
    d->letters[d->n_letters++] = (lm_letter){'d', NULL, (n->ngrams.taps - 1) * n->ngrams.longest};
    d->letters[d->n_letters++] = (lm_letter){'t', NULL, 0};
    d->letters[d->n_letters++] = (lm_letter){'f', NULL, 0};
    d->tensors = lm_alloc(&d->memory, MOST_OF_LAYER * (size_t)n->n_layers, sizeof *d->tensors);
    if (!d->tensors)
        return ENG_ERR_NOMEM;
    int status = declare_layers(d);
    if (!status)
        status = plan_kept(c);
    rows->extent += c->kept.most_rows;
    if (!status && c->kept.most_rows)
        status = declare_layers(d);
    if (!status)
        status = lm_placer_check(&d->placer, &c->p.placement, c->model);
    if (!status)
        status = eng_store_create(c->model->device, d->tensors, d->n, &c->memory);
    if (status == ENG_ERR_NOMEM)
        return lm_fail_more(status, "ask for fewer cells (-c), or for smaller types of K and V (-ctk, -ctv)");
    return status;
}

/* Position of each cell, and the first and last sequence that it belongs to: of one sequence they are the same. */
static int create_cells(eng_lm_context *c)
{
    static const char *const names[] = {"cell_positions", "cell_sequences", "cell_last_sequences"};
    lm_letter letters[2];
    eu_arena memory = {0};
    eng_store_tensor t[3];
    int status = ENG_OK, n = c->p.n_sequences > 1 ? 3 : 2;
    cell_letters(c, letters);
    for (int i = 0; i < n && !status; i++) {
        t[i] = (eng_store_tensor){.size = sizeof *t, .type = ENG_TYPE_I32, .use = ENG_USE_INPUT, .name = names[i],
                                  .layer = -1};
        status = lm_dims(c->model->engine, letters, 2, "p c", &memory, t[i].ne, &t[i].rank, &t[i].dims);
    }
    if (!status)
        status = eng_store_create(c->model->device, t, (uint32_t)n, &c->cells);
    eu_arena_end(&memory);
    return status;
}

static int create_memory(eng_lm_context *c)
{
    declaration d = {.c = c};
    int status = lm_placer_init(&d.placer, c->model, &c->p.placement);
    if (status)
        return status;
    status = declare_all(&d);
    lm_placer_end(&d.placer);
    eu_arena_end(&d.memory);
    if (status)
        return status;
    return create_cells(c);
}

/* -- memory on the host ------------------------------------------------------------- */

static int create_bookkeeping(eng_lm_context *c)
{
    uint32_t n_seq = c->p.n_sequences, slots = c->p.n_snapshots;
    c->sequences = lm_calloc(n_seq, sizeof *c->sequences);
    c->chosen = lm_calloc((size_t)n_seq * slots, sizeof *c->chosen);
    c->counts = lm_calloc(n_seq, sizeof *c->counts);
    c->cell_pos = lm_calloc(all_cells(c), sizeof *c->cell_pos);
    c->cell_first = lm_calloc(all_cells(c), sizeof *c->cell_first);
    c->cell_last = lm_calloc(all_cells(c), sizeof *c->cell_last);
    c->cell_holders = lm_calloc(all_cells(c), sizeof *c->cell_holders);
    if (!c->sequences || !c->chosen || !c->counts || !c->cell_pos || !c->cell_first || !c->cell_last ||
        !c->cell_holders)
        return ENG_ERR_NOMEM;
    for (uint32_t s = 0; s < n_seq; s++)
        c->sequences[s] = (lm_sequence){.rank = (int32_t)s, .whole = INT64_MAX};
    memset(c->cell_pos, 0xff, all_cells(c) * sizeof *c->cell_pos);
    memset(c->cell_first, 0xff, all_cells(c) * sizeof *c->cell_first);
    memset(c->cell_last, 0xff, all_cells(c) * sizeof *c->cell_last);
    lm_cells_dirty(c, 0, all_cells(c));
    int status = lm_rows_create(&c->rows, n_seq, slots, c->kept.most_rows);
    return status ? status : lm_rows_create(&c->trial, n_seq, slots, c->kept.most_rows);
}

int eng_lm_context_create(eng_lm_model *model, const eng_lm_context_params *params, eng_lm_context **context)
{
    if (!model || !context)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_create" ENG_CAUSE
                        "a model and a place for the context are needed");
    if (model->arch->assistant)
        return eng_fail(ENG_ERR_UNSUPPORTED, "%s models run within the context of another model" ENG_ADVICE
                        "let them guess for it (-md, ENG_LM_DRAFT_MODEL)", model->arch->name);
    eng_lm_context_params own;
    eng_lm_context_defaults(&own);
    int status = params ? lm_take("eng_lm_context_create", &own, sizeof own, params, 2 * sizeof(uint32_t)) : ENG_OK;
    if (status)
        return status;
    eng_lm_context *c = lm_calloc(1, sizeof *c);
    if (!c)
        return ENG_ERR_NOMEM;
    c->model = model;
    c->p = own;
    status = check_params(c);
    if (!status) {
        choose_period(c);
        c->few = lm_pass_few(model);
        lm_outputs_choose(c);
    }
    if (!status)
        status = create_memory(c); /* first: it is the larger by far, and refused without being touched */
    if (!status)
        status = create_bookkeeping(c);
    if (!status)
        status = eng_queue_create(model->device, &c->queue);
    c->p.placement = (eng_lm_placement){.size = sizeof c->p.placement, .split = c->p.placement.split};
    if (status) {
        eng_lm_context_destroy(c);
        return status;
    }
    *context = c;
    return ENG_OK;
}

void eng_lm_context_destroy(eng_lm_context *c)
{
    if (!c)
        return;
    eng_queue_destroy(c->queue);
    lm_passes_drop(c);
    if (!c->lender) {
        eng_store_destroy(c->memory);
        eng_store_destroy(c->cells);
    }
    for (uint32_t s = 0; c->sequences && s < c->p.n_sequences; s++) {
        free(c->sequences[s].cells);
        free(c->sequences[s].tokens);
    }
    free(c->sequences);
    lm_kept_clear(c);
    lm_rows_destroy(&c->rows);
    lm_rows_destroy(&c->trial);
    free(c->collected_rows);
    free(c->collected_ids);
    free(c->chosen);
    free(c->counts);
    free(c->cell_pos);
    free(c->cell_first);
    free(c->cell_last);
    free(c->cell_holders);
    free(c->order);
    free(c->order_at);
    lm_outputs_destroy(c);
    free(c->logits_row);
    free(c->place);
    free(c);
}

int eng_lm_context_get_params(const eng_lm_context *c, eng_lm_context_params *params)
{
    if (!c || !params)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_get_params" ENG_CAUSE "a context and a place are needed");
    return lm_give("eng_lm_context_get_params", &c->p, sizeof c->p, params, 2 * sizeof(uint32_t));
}

int eng_lm_context_get_stats(const eng_lm_context *c, eng_lm_stats *stats)
{
    if (!c || !stats)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_get_stats" ENG_CAUSE
                        "a context and stats with their size set are "
                        "needed");
    uint64_t plans = 0;
    for (const lm_pass *p = c->passes; p; p = p->next)
        plans++;
    eng_lm_stats own = {.size = sizeof own, .n_cells_used = c->cells_used - c->cells_kept, .plans = plans, .passes = c->n_passes,
                        .tokens = c->n_tokens, .cache_bytes = c->cache_bytes, .state_bytes = c->state_bytes,
                        .plan_ns = c->plan_ns, .n_cells_free = lm_cells_free(c), .n_states_kept = c->kept.n_rows,
                        .kept_bytes = lm_kept_bytes(c), .reuses = c->kept.found, .tokens_reused = c->kept.found_tokens,
                        .tokens_given_up = c->kept.given_up, .tokens_dropped = c->n_dropped};
    return lm_give("eng_lm_context_get_stats", &own, sizeof own, stats, 2 * sizeof(uint32_t));
}
