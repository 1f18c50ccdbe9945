/* Weights: found in the file, checked, declared with their axes, placed, loaded. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* All weights of a model while they are loaded. */
typedef struct weights {
    lm_loader *l;
    const eng_lm_model_params *params;
    lm_placer placer;
    eu_arena memory;            /* of names and axes: the store copies them    */
    eu_arena made;              /* what was converted; it ends with the file   */
    eng_store_tensor *tensors;
    const eng_gguf_tensor **sources; /* of each: the tensor of the file that it is, or is a part of */
    size_t tensor_room, source_room;
    uint32_t n;
} weights;

/* Extents of 1 behind the first, which some converters put between others, do not change where elements lie. */
static int shape_matches(const eng_gguf_tensor *t, const int64_t *ne, uint32_t rank)
{
    uint32_t i = 1, k = 1;
    for (;; i++, k++) {
        while (i < t->rank && t->ne[i] == 1)
            i++;
        while (k < rank && ne[k] == 1)
            k++;
        if (i >= t->rank || k >= rank || t->ne[i] != ne[k])
            break;
    }
    return t->ne[0] == ne[0] && i >= t->rank && k >= rank;
}

/* Matrices of ne[0] columns, all rows one behind the other. */
static bool is_stack(const eng_gguf_tensor *t, const int64_t *ne, uint32_t rank)
{
    return t->rank == 2 && rank == 3 && t->ne[0] == ne[0] && t->ne[1] == ne[1] * ne[2];
}

static int check(const lm_weight_row *row, const eng_gguf_tensor *t, const int64_t *ne, uint32_t rank)
{
    if (!shape_matches(t, ne, rank) && !(row->flags & LM_W_STACK && is_stack(t, ne, rank))) {
        char have[96] = "", want[96] = "";
        for (uint32_t i = 0, at = 0; i < t->rank && i < 4; i++)
            at += (uint32_t)snprintf(have + at, sizeof have - at, "%s%lld", i ? " x " : "", (long long)t->ne[i]);
        for (uint32_t i = 0, at = 0; i < rank && i < 4; i++)
            at += (uint32_t)snprintf(want + at, sizeof want - at, "%s%lld", i ? " x " : "", (long long)ne[i]);
        return eng_fail(ENG_ERR_FORMAT, "tensor %s is %s, but the file's keys make it %s", t->name, have, want);
    }
    const eng_type_info *type = eng_type_get(t->type);
    if (row->flags & LM_W_IDS)
        return t->type == ENG_TYPE_I32 ? ENG_OK :
                   eng_fail(ENG_ERR_FORMAT, "tensor %s has type %s" ENG_CAUSE "numbers of experts are i32", t->name,
                            eng_type_name(t->type));
    if (!type || t->type == ENG_TYPE_I32 || t->type == ENG_TYPE_I64)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "tensor %s" ENG_CAUSE "its type is %u (%s), which a weight cannot have" ENG_ADVICE
                        "make the file again of the model's own weights, as f16 or with engine-quantize",
                        t->name, t->type, eng_type_name(t->type));
    if ((row->flags & LM_W_F32) && t->type != ENG_TYPE_F32)
        return eng_fail(ENG_ERR_UNSUPPORTED, "tensor %s has type %s" ENG_CAUSE "only f32 is possible here" ENG_ADVICE
                        "convert the file "
                        "again", t->name, type->name);
    return ENG_OK;
}

/* `offset`: where its data begin in those of the file's tensor. */
static int add(weights *w, const eng_store_tensor *tensor, const eng_gguf_tensor *from, uint64_t offset)
{
    if (!eu_reserve(w->tensors, w->tensor_room, (size_t)w->n + 1) ||
        !eu_reserve(w->sources, w->source_room, (size_t)w->n + 1))
        return eng_fail_code(EU_NO_MEMORY("the weights of a model"));
    w->tensors[w->n] = *tensor;
    w->tensors[w->n].data = (const char *)from->data + offset;
    w->sources[w->n++] = from;
    return ENG_OK;
}

/* Experts begin .. end - 1 of a stack: a tensor of its own. */
static int add_part(weights *w, const lm_weight_row *row, const eng_store_tensor *stack, const eng_gguf_tensor *t,
                    int64_t begin, int64_t end, const char *device)
{
    eng_lm_model *model = w->l->model;
    lm_letter letters[sizeof model->letters / sizeof *model->letters];
    eng_store_tensor s = *stack;
    uint64_t each = t->bytes / (uint64_t)stack->ne[2];
    int stem = (int)(strrchr(stack->name, '.') - stack->name);
    char range[48];
    memcpy(letters, model->letters, sizeof letters);
    for (uint32_t i = 0; i < model->n_letters; i++)
        letters[i].extent = letters[i].letter == 'X' ? end - begin : letters[i].extent;
    int status = lm_dims(model->engine, letters, model->n_letters, row->words, &w->memory, s.ne, &s.rank, &s.dims);
    if (status)
        return status;
    if (end - begin < stack->ne[2]) {
        int n = snprintf(range, sizeof range, "%lld", (long long)begin);
        if (end - begin > 1)
            snprintf(range + n, sizeof range - (size_t)n, "-%lld", (long long)end - 1);
        s.name = lm_format(&w->memory, "%.*s.%s%s", stem, stack->name, range, stack->name + stem);
        if (!s.name)
            return ENG_ERR_NOMEM;
    }
    s.device = device;
    if (end - begin == 1)
        s.axis = ENG_AXIS_NONE; /* one expert cannot be dealt out: it is cut along its width */
    return add(w, &s, t, (uint64_t)begin * each);
}

/* A stack of experts in as few parts as their homes allow. */
static int declare_experts(weights *w, const lm_weight_row *row, const eng_store_tensor *stack,
                           const eng_gguf_tensor *t)
{
    for (int64_t begin = 0, end; begin < stack->ne[2]; begin = end) {
        const char *home = lm_placer_expert(&w->placer, stack->name, begin, stack->layer), *next = home;
        for (end = begin + 1; end < stack->ne[2]; end++) {
            next = lm_placer_expert(&w->placer, stack->name, end, stack->layer);
            if (next != home && (!next || !home || strcmp(next, home) != 0))
                break;
        }
        int status = add_part(w, row, stack, t, begin, end, home);
        if (status)
            return status;
    }
    return ENG_OK;
}

/* Has a layer of this kind such a weight at all?  Rows that this one depends on stand before it. */
static bool applies(const eng_lm_model *model, const lm_weight_row *row, int layer, const int32_t *roles)
{
    uint32_t kind = layer >= 0 && model->n.layer[layer].moe ? LM_W_MOE : LM_W_DENSE;
    if (row->flags & LM_W_LEFT_OUT)
        return false;
    if (row->flags & LM_W_CHOOSES && !model->n.layer[layer].chooses)
        return false;
    if ((row->flags & (LM_W_MOE | LM_W_DENSE)) && !(row->flags & kind))
        return false;
    if (row->flags & LM_W_INPUTS && !model->n.d_input)
        return false;
    if (row->flags & LM_W_HASHED && !model->n.layer[layer].hashed)
        return false;
    if (row->flags & LM_W_NGRAMS && (!model->n.ngrams.rows || (layer >= 0 && layer != model->n.ngrams.layer)))
        return false;
    if (row->flags & LM_W_ENTRIES && !model->n.layer[layer].ratio)
        return false;
    return (!row->with || roles[row->with - 1] >= 0) && (!row->unless || roles[row->unless - 1] < 0);
}

/* Tensors of all experts: whole ones are dealt out if that is wanted, or else the device decides. */
static uint32_t axis_of(const weights *w, const lm_weight_row *row)
{
    bool parallel = w->params->placement.experts == ENG_LM_EXPERTS_PARALLEL && strchr(row->words, 'X');
    return parallel ? eng_context_axis(w->l->model->engine, "expert") : ENG_AXIS_NONE;
}

/* Who reads the weights of products: one layout serves all of them.  Experts alone, which have three extents, are read by the last. */
static const eng_reader readers[] = {
    {.op = ENG_OP_MUL_MAT, .precisions = ENG_ANY_PRECISION},
    {.op = ENG_OP_GET_ROWS, .precisions = 1u << ENG_PRECISION_EXACT},
    {.op = ENG_OP_MUL_MAT_ID, .precisions = ENG_ANY_PRECISION},
};

static int declare(weights *w, const lm_weight_row *row, int layer)
{
    eng_lm_model *model = w->l->model;
    int32_t *roles = model->weights[layer < 0 ? 0 : layer + 1];
    if (row->unless == row->role + 1 && roles[row->role] >= 0)
        return ENG_OK; /* another name of what is there */
    roles[row->role] = -1;
    if (!applies(model, row, layer, roles))
        return ENG_OK;
    char *name = layer < 0 ? lm_format(&w->memory, "%s", row->name) :
                             lm_format(&w->memory, "blk.%d.%s", layer, row->name);
    if (!name)
        return ENG_ERR_NOMEM;
    const eng_gguf_tensor *t = eng_gguf_tensor_find(w->l->gguf, name);
    bool read_elsewhere = row->flags & LM_W_CACHE && layer >= 0 && model->n.layer[layer].owner != layer;
    if (!t && (row->flags & LM_W_OPTIONAL || read_elsewhere))
        return ENG_OK;
    if (!t)
        return eng_fail(ENG_ERR_FORMAT, "the file has no tensor %s, which a %s model needs", name, w->l->arch_name);
    eng_store_tensor s = {.size = sizeof s, .use = ENG_USE_WEIGHT, .name = name,
                          .layer = layer < 0 ? -1 : layer, .role = (uint32_t)row->role + 1, .axis = axis_of(w, row)};
    lm_letter letters[LM_MAX_LETTERS];
    lm_layer_letters(model, layer, letters);
    int status = lm_dims(model->engine, letters, model->n_letters, row->words, &w->memory, s.ne, &s.rank, &s.dims);
    if (!status)
        status = lm_without_plain(&w->made, w->l->gguf, &t);
    if (!status)
        status = check(row, t, s.ne, s.rank);
    if (status)
        return status;
    s.type = t->type;
    if (row->flags & LM_W_MATRIX) {
        s.readers = readers;
        s.n_readers = s.rank < 3 ? 2 : 3;
        s.layout = w->params->layout;
    }
    roles[row->role] = (int32_t)w->n;
    model->weight_bytes += t->bytes;
    uint64_t elements = 1;
    for (uint32_t i = 0; i < s.rank; i++)
        elements *= (uint64_t)s.ne[i];
    model->parameters += elements;
    if (row->flags & LM_W_EXPERTS)
        return declare_experts(w, row, &s, t);
    int place = layer >= 0 ? layer : row->flags & LM_W_END ? LM_LAYER_END : LM_LAYER_TOP;
    s.device = lm_placer_device(&w->placer, name, place);
    /* embeddings come first, and are the head if there is no other */
    if (row->role == LM_OUT || row->role == LM_EMBD) {
        model->head_device = s.device ? lm_format(&model->memory, "%s", s.device) : NULL;
        if (s.device && !model->head_device)
            return ENG_ERR_NOMEM;
    }
    return add(w, &s, t, 0);
}

/* The row of a tensor of the file, what it is called after "blk.N."; NULL: none, and the file will be refused. */
static const lm_weight_row *find_row(const lm_weight_row *rows, uint32_t n_rows, const char *name, bool in_layer)
{
    for (uint32_t i = 0; i < n_rows; i++)
        if ((rows[i].layers != 0) == in_layer && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* How large the embeddings, each layer and the head are: whole layers are placed by that. */
static int weigh(weights *w, const lm_weight_row *rows, uint32_t n_rows)
{
    eng_lm_model *m = w->l->model;
    m->layer_bytes = lm_alloc(&m->memory, (size_t)m->n.n_layers + 2, sizeof *m->layer_bytes);
    if (!m->layer_bytes)
        return ENG_ERR_NOMEM;
    memset(m->layer_bytes, 0, ((size_t)m->n.n_layers + 2) * sizeof *m->layer_bytes);
    for (uint32_t i = 0, count = eng_gguf_tensor_count(w->l->gguf); i < count; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(w->l->gguf, i);
        int layer = -1, stem = 0;
        bool in_layer = sscanf(t->name, "blk.%d.%n", &layer, &stem) == 1 && stem > 0;
        const lm_weight_row *row = find_row(rows, n_rows, t->name + (in_layer ? stem : 0), in_layer);
        if (!row || row->flags & LM_W_LEFT_OUT || (in_layer && (layer < 0 || layer >= m->n.n_layers + m->n.n_drafting)))
            continue;
        int unit = in_layer ? layer + 1 : row->flags & LM_W_END ? m->n.n_layers + 1 : 0;
        int64_t experts = row->flags & LM_W_EXPERTS && t->rank == 3 && t->ne[2] == m->n.n_experts ? t->ne[2] : 0;
        m->layer_bytes[unit] += lm_placer_left(&w->placer, t->name, experts, lm_plain_room(t));
    }
    return ENG_OK;
}

static int declare_all(weights *w, const lm_weight_row *rows, uint32_t n_rows)
{
    const lm_numbers *n = &w->l->model->n;
    for (uint32_t i = 0; i < n_rows; i++) {
        if (rows[i].layers == 0) {
            int status = declare(w, &rows[i], -1);
            if (status)
                return status;
        }
        for (int layer = 0; rows[i].layers && layer < n->n_layers + n->n_drafting; layer++) {
            int status = rows[i].layers & n->kind[layer] ? declare(w, &rows[i], layer) : ENG_OK;
            if (status)
                return status;
        }
    }
    return ENG_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The last blocks draft tokens if the file says so.  It may be wrong about how many: each must have what only such
 * a block has, or layers of the model would be left out. */
static int check_drafting(const weights *w)
{
    const lm_numbers *n = &w->l->model->n;
    for (int layer = n->n_layers; layer < n->n_layers_file; layer++) {
        char block[32], drafts[40];
        int any = 0, found = 0;
        snprintf(block, sizeof block, "blk.%d.", layer);
        snprintf(drafts, sizeof drafts, "%snextn.", block);
        for (uint32_t i = 0, count = eng_gguf_tensor_count(w->l->gguf); i < count && !found; i++) {
            const char *name = eng_gguf_tensor_get(w->l->gguf, i)->name;
            any |= strncmp(name, block, strlen(block)) == 0;
            found = strncmp(name, drafts, strlen(drafts)) == 0;
        }
        if (any && !found)
            return eng_fail(ENG_ERR_FORMAT, "key %s.nextn_predict_layers makes block %d one for drafting, but it has "
                            "no tensor %s*: correct the key, or convert the file again", w->l->arch_name, layer,
                            drafts);
    }
    return ENG_OK;
}

/* Is it one that the architecture can do without, or of an indexer in a layer that sees what an earlier one chose? */
static bool is_left_out(const eng_lm_model *m, const char *name)
{
    int layer = 0, stem = 0;
    bool in_layer = sscanf(name, "blk.%d.%n", &layer, &stem) == 1 && stem > 0;
    const lm_weight_row *row = find_row(m->arch->rows, m->arch->n_rows, name + (in_layer ? stem : 0), in_layer);
    if (row && row->flags & LM_W_LEFT_OUT)
        return true;
    return row && row->flags & LM_W_CHOOSES && layer >= 0 && layer < m->n.n_layers && !m->n.layer[layer].chooses;
}

/* A tensor that nobody uses (a bias, a scale) would make the results silently wrong. */
static int check_all_used(const weights *w)
{
    const char **names = lm_calloc(w->n, sizeof *names);
    if (!names)
        return ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < w->n; i++)
        names[i] = w->sources[i]->name;
    qsort(names, w->n, sizeof *names, by_name);
    int status = ENG_OK;
    for (uint32_t i = 0, count = eng_gguf_tensor_count(w->l->gguf); i < count && !status; i++) {
        const char *name = eng_gguf_tensor_get(w->l->gguf, i)->name;
        int layer = -1;
        if (sscanf(name, "blk.%d.", &layer) == 1 && layer >= w->l->model->n.n_layers + w->l->model->n.n_drafting &&
            layer < w->l->model->n.n_layers_file)
            continue; /* of the blocks that draft tokens */
        if (is_left_out(w->l->model, name))
            continue;
        if (!bsearch(&name, names, w->n, sizeof *names, by_name))
            status = eng_fail(ENG_ERR_UNSUPPORTED, "the file has a tensor %s that this implementation of %s does not "
                              "use: leaving it out would give wrong results", name, w->l->arch_name);
    }
    free(names);
    return status;
}

/* -- the file's data, which the store takes over ------------------------------------ */

/* What the calls that follow are about; it ends with the file. */
typedef struct mapped {
    eng_gguf *gguf;
    eu_arena made; /* tensors that are not the file's */
    eng_lm_progress progress;
    void *progress_user;
} mapped;

static void close_file(void *user)
{
    mapped *m = user;
    eng_gguf_close(m->gguf);
    eu_arena_end(&m->made);
    free(m);
}

static void drop(void *user, const void *data, uint64_t bytes)
{
    eng_gguf_drop(((mapped *)user)->gguf, data, bytes);
}

static int tell(void *user, uint64_t done, uint64_t total)
{
    const mapped *m = user;
    return m->progress ? m->progress(m->progress_user, (double)done / (double)total) : 0;
}

static int create_store(weights *w)
{
    mapped *m = lm_calloc(1, sizeof *m);
    if (!m)
        return ENG_ERR_NOMEM;
    *m = (mapped){w->l->gguf, w->made, w->params->progress, w->params->progress_user};
    const eng_store_data from = {.size = sizeof from, .user = m, .release = close_file, .copied = drop, .progress = tell,
                                 .flags = w->params->flags & ENG_LM_COPY ? ENG_DATA_COPY : 0};
    w->l->gguf = NULL; /* close_file closes it, whatever comes of this */
    w->made = (eu_arena){0};
    return eng_store_load(w->l->model->device, w->tensors, w->n, &from, &w->l->model->store);
}

int lm_weights_load(lm_loader *l, const lm_weight_row *rows, uint32_t n_rows, const eng_lm_model_params *params)
{
    eng_lm_model *model = l->model;
    weights w = {.l = l, .params = params};
    size_t rows_of_weights = (size_t)model->n.n_layers + (size_t)model->n.n_drafting + 1;
    model->weights = lm_alloc(&model->memory, rows_of_weights, sizeof *model->weights);
    if (!model->weights)
        return ENG_ERR_NOMEM;
    if (params->layout > ENG_LAYOUT_PACKED)
        return eng_fail(ENG_ERR_INVALID,
                        "the model's parameters" ENG_CAUSE "layout must be one of ENG_LAYOUT_*, got %u",
                        params->layout);
    if (params->placement.experts > ENG_LM_EXPERTS_PARALLEL)
        return eng_fail(ENG_ERR_INVALID, "experts %u is none of ENG_LM_EXPERTS_*", params->placement.experts);
    memset(model->weights, 0xff, rows_of_weights * sizeof *model->weights); /* all -1 */
    int status = lm_placer_init(&w.placer, model, &params->placement);
    if (status)
        return status;
    status = weigh(&w, rows, n_rows);
    if (!status)
        status = declare_all(&w, rows, n_rows);
    if (!status)
        status = check_drafting(&w);
    if (!status)
        status = check_all_used(&w);
    if (!status)
        status = lm_placer_check(&w.placer, &params->placement, model);
    if (!status)
        status = create_store(&w);
    if (status == ENG_ERR_NOMEM)
        lm_fail_more(status, "take a model of smaller weight types, or spread it over more devices (+)");
    lm_placer_end(&w.placer);
    eu_arena_end(&w.memory);
    eu_arena_end(&w.made);
    free(w.tensors);
    free(w.sources);
    return status;
}
