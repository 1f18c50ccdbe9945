/* Trying a placement on null devices that hold nothing. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"

#define TYPES 64
#define ELEMENTS 256 /* of a matrix that shows how a device keeps such: whole blocks of every type */
#define ROWS 64

/* -- the devices that hold nothing ---------------------------------------------------- */

/* Adds the folder of a plugin that is in use to a path; false: there is no such plugin. */
static bool add_folder(eng_context *engine, const char *plugin, char *path, size_t size)
{
    eng_plugin_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_plugin(engine, i, &info) == ENG_OK; i++) {
        if (info.status == ENG_PLUGIN_LOADED && strcmp(info.name, plugin) == 0) {
            const char *end = strrchr(info.path, '/');
            size_t n = strlen(path);
            snprintf(path + n, size - n, "%s%.*s", n ? ":" : "", end ? (int)(end - info.path) : 1,
                     end ? info.path : ".");
            return true;
        }
        info.size = sizeof info;
    }
    return false;
}

/* Rows of matrices of a type that the device keeps together. */
static uint32_t rows_together(eng_device *device, uint32_t type)
{
    static const eng_reader reader = {.op = ENG_OP_MUL_MAT, .precisions = ENG_ANY_PRECISION};
    const eng_store_tensor matrix = {.size = sizeof matrix, .type = type, .rank = 2, .use = ENG_USE_WEIGHT,
                                     .ne = {ELEMENTS, ROWS}, .name = "rows", .layer = -1, .readers = &reader,
                                     .n_readers = 1};
    eng_layout_info info = {.size = sizeof info, .rows = 1};
    eng_store *store = NULL;
    if (!eng_store_create(device, &matrix, 1, &store) && eng_store_layout(store, 0, &info))
        info.rows = 1;
    eng_store_destroy(store);
    return info.rows;
}

/* What the null devices have to know of how the real ones keep matrices: where compositions cut them. */
static int tell_rows(eng_lm_fit *f)
{
    uint32_t rows[TYPES] = {0};
    char text[TYPES * 24] = "";
    for (uint32_t i = 0; i < f->n_leaves && f->composed; i++) {
        eng_device *device;
        int status = eng_device_open(f->engine, f->member[i].name, &device);
        if (status)
            return status;
        for (uint32_t type = 0; type < TYPES; type++) {
            const eng_type_info *known = eng_type_get(type);
            const uint32_t now = known && ELEMENTS % known->block == 0 ? rows_together(device, type) : 1;
            rows[type] = now > rows[type] ? now : rows[type]; /* each is a multiple of those below it */
        }
        eng_device_close(device);
    }
    for (uint32_t type = 0; type < TYPES; type++)
        if (rows[type] > 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s:%u", *text ? " " : "", eng_type_name(type),
                     (unsigned)rows[type]);
    return eng_context_set_option(f->dry, "null.rows", text);
}

int fit_trial_begin(eng_lm_fit *f)
{
    char path[8192] = "";
    if (!add_folder(f->engine, "null", path, sizeof path))
        return eng_fail(ENG_ERR_NOTFOUND,
                        "fitting tries the model on devices of the null plugin, which is not there" ENG_ADVICE
                        "install it, or do not leave it out of ENGINE_PLUGINS");
    add_folder(f->engine, "meta", path, sizeof path);
    eng_context_params params = {.size = sizeof params, .plugin_path = path};
    int status = eng_context_create(&params, &f->dry);
    if (!status)
        status = eng_context_set_option(f->dry, "null.accept", "measure");
    return status ? status : tell_rows(f);
}

void fit_trial_end(eng_lm_fit *f)
{
    eng_lm_model_close(f->asked);
    eng_device_close(f->asked_device);
    if (f->dry)
        eng_context_destroy(f->dry);
    f->asked = NULL;
    f->asked_device = NULL;
    f->dry = NULL;
}

/* What stands for the member among them. */
static void dry_name(const eng_lm_fit *f, uint32_t member, char name[32])
{
    if (f->n_leaves == 1 && member == 0)
        snprintf(name, 32, "null");
    else if (member < f->n_leaves)
        snprintf(name, 32, "null/%u.%u", f->n_leaves, member);
    else
        snprintf(name, 32, "null/%u.%u", ENG_MAX_RANKS, member); /* any part of it is a device of its own */
}

/* -- members ---------------------------------------------------------------------------- */

/* The device under the name by which it is listed. */
static int describe(eng_context *engine, const char *name, eng_device_info *info)
{
    eng_device *device;
    int status = eng_device_open(engine, name, &device);
    if (status)
        return status;
    *info = (eng_device_info){.size = sizeof *info};
    status = eng_device_get_info(device, info);
    eng_device_close(device);
    if (!status && info->kind == ENG_DEVICE_META)
        return eng_fail(ENG_ERR_INVALID, "tensors are kept on one device, and %s is composed of several" ENG_ADVICE
                        "name one of them, such as cpu or opencl:0/2.1", name);
    return status;
}

static int find(const eng_lm_fit *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_members; i++)
        if (strcmp(f->member[i].name, name) == 0)
            return (int)i;
    return -1;
}

int fit_member_find(eng_lm_fit *f, const char *name, uint32_t *member)
{
    eng_device_info info;
    int found = find(f, name), status = ENG_OK;
    if (found < 0)
        status = describe(f->engine, name, &info);
    if (found < 0 && !status)
        found = find(f, info.name);
    if (status)
        return status;
    if (found < 0 && f->n_members == ENG_MAX_RANKS)
        return eng_fail(ENG_ERR_INVALID, "%u devices and those that tensors are kept on are more than %d", f->n_leaves,
                        ENG_MAX_RANKS);
    if (found < 0) {
        found = (int)f->n_members++;
        snprintf(f->member[found].name, sizeof f->member[found].name, "%s", info.name);
        f->member[found].free = info.memory_free;
    }
    *member = (uint32_t)found;
    return ENG_OK;
}

/* -- one trial ----------------------------------------------------------------------------- */

typedef struct dry_run {
    eng_device *device;
    eng_lm_model *model;
    eng_lm_context *context;
    eng_lm_draft *draft; /* NULL: none                                          */
    eng_lm_override *overrides;
    char (*names)[32]; /* of the devices in them                                  */
    uint32_t n;
} dry_run;

static int add_override(eng_lm_fit *f, dry_run *d, const char *pattern, const char *device)
{
    uint32_t member;
    int status = fit_member_find(f, device, &member);
    if (status)
        return status;
    dry_name(f, member, d->names[d->n]);
    d->overrides[d->n] = (eng_lm_override){pattern, d->names[d->n]};
    d->n++;
    return ENG_OK;
}

static int add_overrides(eng_lm_fit *f, dry_run *d)
{
    const eng_lm_placement *given = &f->given;
    d->overrides = lm_calloc(given->n_overrides + FIT_STAGES, sizeof *d->overrides);
    d->names = lm_calloc(given->n_overrides + FIT_STAGES, sizeof *d->names);
    int status = d->overrides && d->names ? ENG_OK : ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < given->n_overrides && !status; i++)
        status = add_override(f, d, given->overrides[i].pattern, given->overrides[i].device);
    for (uint32_t s = 0; s < FIT_STAGES && !status; s++)
        if (f->patterns[s])
            status = add_override(f, d, f->patterns[s], f->p.spill);
    return status;
}

/* Alone or composed, as the real one will be: what a device holds is not quite the same. */
static int open_device(const eng_lm_fit *f, const fit_attempt *a, bool guests, eng_device **device)
{
    char name[ENG_MAX_RANKS * 24 + 32];
    if (f->n_leaves == 1 && !f->composed && !guests)
        return eng_device_open(f->dry, "null", device);
    size_t at = (size_t)snprintf(name, sizeof name, "null/%u", f->n_leaves);
    for (uint32_t i = 0; i < f->n_leaves; i++) {
        name[at++] = i ? ':' : '@';
        at += eu_real(name + at, sizeof name - at, 'f', 9, a->shares[i]);
    }
    return eng_device_open(f->dry, name, device);
}

/* Once: the context that the host wants. */
static int ask(eng_lm_fit *f, eng_lm_model *model)
{
    eng_lm_model_info info = {.size = sizeof info};
    int status = eng_lm_model_get_info(model, &info);
    f->n_layers = info.n_layers;
    f->n_tokens = f->p.n_tokens;
    return !status && f->p.ask ? f->p.ask(f->p.ask_user, model, &f->context, &f->n_tokens) : status;
}

/* A batch of n tokens, of which the last one's logits are wanted, or all, or none. */
static int pass(const eng_lm_fit *f, eng_lm_context *context, const int32_t *tokens, uint8_t *wanted, uint32_t n,
                bool last)
{
    bool all = f->p.flags & ENG_LM_FIT_ALL_LOGITS;
    memset(wanted, all, n);
    eng_lm_batch batch = {.size = sizeof batch,
                          .n_tokens = n,
                          .tokens = tokens,
                          .logits = all || !last ? wanted : NULL};
    int status = eng_lm_decode(context, &batch);
    return status ? status : eng_lm_sequence_remove(context, 0);
}

/* The passes of a run: full batches, the rest of the text, one token. */
static int run_passes(const eng_lm_fit *f, eng_lm_context *context)
{
    eng_lm_context_params p = {.size = sizeof p};
    int status = eng_lm_context_get_params(context, &p);
    if (status)
        return status;
    uint64_t n_tokens = f->n_tokens ? f->n_tokens : p.n_cells;
    uint32_t batch = p.n_batch < p.n_cells ? p.n_batch : p.n_cells, rest = (uint32_t)((n_tokens - 1) % batch) + 1;
    int32_t *tokens = lm_calloc(batch, sizeof *tokens);
    uint8_t *wanted = lm_calloc(batch, sizeof *wanted);
    if (!tokens || !wanted)
        status = ENG_ERR_NOMEM;
    if (!status && n_tokens > batch)
        status = pass(f, context, tokens, wanted, batch, false);
    if (!status)
        status = pass(f, context, tokens, wanted, rest, true);
    if (!status && !(f->p.flags & ENG_LM_FIT_ALL_LOGITS))
        status = pass(f, context, tokens, wanted, 1, true);
    free(tokens);
    free(wanted);
    return status;
}

/* The block for drafting has a cache of its own. */
static int open_draft(dry_run *d)
{
    eng_lm_draft_params p;
    eng_lm_draft_defaults(&p);
    p.from = ENG_LM_DRAFT_BLOCK;
    return eng_lm_draft_create(d->context, &p, &d->draft);
}

static int open_all(eng_lm_fit *f, const fit_attempt *a, dry_run *d)
{
    eng_lm_model_params model;
    eng_lm_model_defaults(&model);
    int status = add_overrides(f, d);
    model.flags = f->p.flags & ENG_LM_FIT_DRAFTS ? ENG_LM_DRAFTS : 0;
    model.placement = f->given;
    model.placement.overrides = d->overrides;
    model.placement.n_overrides = d->n;
    if (!status)
        status = open_device(f, a, d->n > 0, &d->device);
    if (!status)
        status = eng_lm_model_open(f->dry, d->device, f->path, &model, &d->model);
    if (!status && !f->asked)
        status = ask(f, d->model);
    f->context.placement = model.placement;
    if (!status)
        status = eng_lm_context_create(d->model, &f->context, &d->context);
    if (!status && f->p.flags & ENG_LM_FIT_DRAFTS)
        status = open_draft(d);
    return status ? status : run_passes(f, d->context);
}

static int read_needs(const eng_lm_fit *f, const dry_run *d, fit_attempt *a)
{
    memset(a->need, 0, sizeof a->need);
    for (uint32_t i = 0;; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats s = {.size = sizeof s};
        char name[32];
        uint32_t m = 0;
        if (eng_device_leaf(d->device, i, &info, &s))
            break;
        for (dry_name(f, m, name); m < f->n_members && strcmp(name, info.name) != 0; dry_name(f, ++m, name))
            continue;
        if (m == f->n_members)
            return eng_fail(ENG_ERR_INTERNAL, "fitting the memory" ENG_CAUSE "%s stands for no device", info.name);
        a->need[m].bytes = s.bytes_weights + s.bytes_cache + s.bytes_state + s.bytes_io + s.bytes_compute;
        a->need[m].fixed = s.bytes_replicated;
    }
    fit_sum_missing(f, a);
    return ENG_OK;
}

int fit_try(eng_lm_fit *f, fit_attempt *a)
{
    dry_run d = {0};
    int status = open_all(f, a, &d);
    if (!status)
        status = read_needs(f, &d, a);
    eng_lm_draft_destroy(d.draft);
    eng_lm_context_destroy(d.context);
    if (!status && !f->asked) {
        f->asked = d.model;
        f->asked_device = d.device;
    } else {
        eng_lm_model_close(d.model);
        eng_device_close(d.device);
    }
    free(d.overrides);
    free(d.names);
    return status;
}
