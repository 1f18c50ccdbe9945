/* Opening a model: file, architecture, numbers, tokenizer, weights. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/blocks.h"

/* arch/NAME.c defines lm_arch_NAME */
#define LM_ARCH(name) extern const lm_arch lm_arch_##name;
#include "arch/list.def"
#undef LM_ARCH

static const lm_arch *const archs[] = {
#define LM_ARCH(name) &lm_arch_##name,
#include "arch/list.def"
#undef LM_ARCH
};
#define N_ARCHS (sizeof archs / sizeof *archs)

const char *eng_lm_architecture(uint32_t index)
{
    return index < N_ARCHS ? archs[index]->name : NULL;
}

void eng_lm_model_defaults(eng_lm_model_params *params)
{
    *params = (eng_lm_model_params){.size = sizeof *params, .placement = {.size = sizeof params->placement}};
}

/* What is missing for architectures that are known by name. */
static const struct {
    const char *name, *what;
} absent[] = {
#define LM_ABSENT(name, what) {name, what},
#include "arch/absent.def"
#undef LM_ABSENT
};

static int check_absent(const eng_gguf_string *name, const char *path)
{
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strlen(absent[i].name) == name->length && memcmp(absent[i].name, name->data, name->length) == 0)
            return eng_fail(ENG_ERR_UNSUPPORTED, "%s holds a model of architecture \"%s\", which is not run" ENG_CAUSE
                            "%s not known here", path, absent[i].name, absent[i].what);
    return ENG_OK;
}

static int find_arch(lm_loader *l, const char *path)
{
    eng_gguf_string name;
    if (eng_gguf_text(l->gguf, "general.architecture", 0, &name))
        return eng_fail(ENG_ERR_FORMAT, "%s has no key general.architecture" ENG_CAUSE
                        "it does not hold a model", path);
    const char *known = "";
    for (size_t i = 0; i < N_ARCHS; i++) {
        if (strlen(archs[i]->name) == name.length && memcmp(archs[i]->name, name.data, name.length) == 0) {
            l->model->arch = archs[i];
            l->arch_name = archs[i]->name;
            return ENG_OK;
        }
        known = lm_format(&l->model->memory, "%s%s%s", known, i ? ", " : "", archs[i]->name);
        if (!known)
            return ENG_ERR_NOMEM;
    }
    int status = check_absent(&name, path);
    if (status)
        return status;
    return eng_fail(ENG_ERR_UNSUPPORTED, "%s holds a model of architecture \"%.*s\", which is not known; known: %s",
                    path, (int)(name.length < 64 ? name.length : 64), name.data, known);
}

/* A model without a tokenizer runs too: only text is not possible then. */
static int load_text(lm_loader *l)
{
    eng_lm_model *m = l->model;
    eng_gguf_string name;
    if (eng_gguf_text(l->gguf, "general.name", 0, &name))
        name = (eng_gguf_string){"", 0};
    m->name = lm_format(&m->memory, "%.*s", (int)(name.length < 256 ? name.length : 256), name.data);
    if (!m->name)
        return ENG_ERR_NOMEM;
    int status = lm_templates_read(l);
    if (status)
        return status;
    status = eng_tokenizer_create(l->gguf, &m->tokenizer);
    if (status == ENG_ERR_NOTFOUND || status == ENG_ERR_UNSUPPORTED) {
        m->tokenizer_status = status;
        m->tokenizer_error = lm_format(&m->memory, "%s", eng_last_error());
        return m->tokenizer_error ? ENG_OK : ENG_ERR_NOMEM;
    }
    return status;
}

static int check_vocabulary(const eng_lm_model *m)
{
    if (m->tokenizer && eng_tokenizer_count(m->tokenizer) > (uint64_t)m->n.n_vocab)
        return eng_fail(ENG_ERR_FORMAT, "the tokenizer has %u tokens but the embeddings are for %lld",
                        eng_tokenizer_count(m->tokenizer), (long long)m->n.n_vocab);
    return ENG_OK;
}

static int load(lm_loader *l, const char *path, const eng_lm_model_params *params)
{
    eng_lm_model *m = l->model;
    int status = find_arch(l, path);
    if (!status)
        status = lm_unread_begin(l);
    if (!status)
        status = lm_numbers_read(l);
    if (!status)
        status = lm_unread_list(l);
    if (!status)
        status = load_text(l);
    if (!status)
        status = check_vocabulary(m);
    if (!status && params->needs_text && !m->tokenizer)
        status = eng_fail(m->tokenizer_status, "%s" ENG_CAUSE "%s", path, m->tokenizer_error);
    if (!status)
        status = lm_weights_load(l, m->arch->rows, m->arch->n_rows, params);
    if (!status && l->drafts)
        status = lm_block_model(m);
    return status;
}

int eng_lm_model_open(eng_context *engine, eng_device *device, const char *path, const eng_lm_model_params *params,
                      eng_lm_model **model)
{
    eng_lm_model_params own;
    eng_lm_model_defaults(&own);
    if (!engine || !device || !path || !model)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_model_open" ENG_CAUSE
                        "a context, a device, a path and a place for the model "
                        "are needed");
    int status = params ? lm_take("eng_lm_model_open", &own, sizeof own, params, 2 * sizeof(uint32_t)) : ENG_OK;
    eng_gguf *gguf;
    if (!status)
        status = eng_gguf_open(path, &gguf);
    if (status)
        return status;
    eng_lm_model *m = lm_calloc(1, sizeof *m);
    if (!m) {
        eng_gguf_close(gguf);
        return ENG_ERR_NOMEM;
    }
    m->engine = engine;
    m->device = device;
    lm_loader l = {.model = m, .gguf = gguf, .drafts = own.flags & ENG_LM_DRAFTS};
    status = load(&l, path, &own);
    eng_gguf_close(l.gguf);
    if (status) {
        eng_lm_model_close(m);
        return status;
    }
    *model = m;
    return ENG_OK;
}

void eng_lm_model_close(eng_lm_model *m)
{
    if (!m)
        return;
    eng_store_destroy(m->store);
    eng_tokenizer_destroy(m->tokenizer);
    eu_arena_end(&m->memory);
    free(m);
}

int eng_lm_model_get_info(const eng_lm_model *m, eng_lm_model_info *info)
{
    if (!m || !info)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_model_get_info" ENG_CAUSE
                        "a model and an info with its size set are needed");
    eng_lm_model_info own = {
        .size = sizeof own, .n_layers = (uint32_t)m->n.n_layers, .n_layers_file = (uint32_t)m->n.n_layers_file,
        .n_embd = (uint32_t)m->n.n_embd, .n_vocab = (uint32_t)m->n.n_vocab, .recurrent = m->n.recurrent,
        .context_length = (uint64_t)m->n.n_ctx_train, .weight_bytes = m->weight_bytes, .parameters = m->parameters,
        .architecture = m->arch->name, .name = m->name,
        .text = m->tokenizer != NULL};
    for (uint32_t i = 0, n = eng_store_count(m->store); i < n; i++) {
        eng_layout_info layout = {.size = sizeof layout};
        if (eng_store_layout(m->store, i, &layout) != ENG_OK)
            continue;
        own.in_place_bytes += layout.in_place == ENG_IN_PLACE_ALL ? eng_store_bytes(m->store, i) : 0;
        own.packed_bytes += layout.layout ? eng_store_bytes(m->store, i) : 0;
    }
    return lm_give("eng_lm_model_get_info", &own, sizeof own, info, 2 * sizeof(uint32_t));
}
