/* What of a file nobody reads: keys of its architecture, and blocks that are not run. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "model.h"

int lm_unread_begin(lm_loader *l)
{
    uint64_t n = eng_gguf_key_count(l->gguf);
    l->read = lm_alloc(&l->model->memory, (size_t)n, sizeof *l->read);
    l->places = lm_alloc(&l->model->memory, LM_PLACES, sizeof *l->places);
    return (l->read || n == 0) && l->places ? ENG_OK : ENG_ERR_NOMEM;
}

void lm_unread_not(const lm_loader *l, const char *key)
{
    const eng_gguf_key *found = eng_gguf_key_find(l->gguf, key);
    if (!found || !l->read)
        return;
    /* of a list that each layer asks for, its place was found before */
    uint64_t *place = &l->places[(uintptr_t)found / sizeof(void *) % LM_PLACES];
    if (eng_gguf_key_get(l->gguf, *place) != found)
        for (*place = 0; eng_gguf_key_get(l->gguf, *place) != found; ++*place)
            ;
    l->read[*place] = true;
}

/* Is it the architecture's?  Of rope all keys are read, or the file is refused (rope.c). */
static bool concerns(const lm_loader *l, const eng_gguf_string *name)
{
    size_t n = strlen(l->arch_name);
    return name->length > n && memcmp(name->data, l->arch_name, n) == 0 && name->data[n] == '.' &&
           (name->length < n + 6 || memcmp(name->data + n, ".rope.", 6) != 0);
}

static int add(eng_lm_model *m, const char *what)
{
    if (!what)
        return ENG_ERR_NOMEM;
    if (m->n_unread < LM_MOST_UNREAD)
        m->unread[m->n_unread++] = what;
    return ENG_OK;
}

/* Tensors of block `layer`. */
static int tensors_of(const lm_loader *l, int layer)
{
    char block[32];
    int n = 0;
    snprintf(block, sizeof block, "blk.%d.", layer);
    for (uint32_t i = 0, count = eng_gguf_tensor_count(l->gguf); i < count; i++)
        n += strncmp(eng_gguf_tensor_get(l->gguf, i)->name, block, strlen(block)) == 0;
    return n;
}

int lm_unread_list(const lm_loader *l)
{
    eng_lm_model *m = l->model;
    int status = ENG_OK;
    m->unread = lm_alloc(&m->memory, LM_MOST_UNREAD, sizeof *m->unread);
    if (!m->unread)
        return ENG_ERR_NOMEM;
    for (uint64_t i = 0; i < eng_gguf_key_count(l->gguf) && !status; i++) {
        const eng_gguf_string *name = &eng_gguf_key_get(l->gguf, i)->name;
        if (!l->read[i] && concerns(l, name))
            status = add(m,
                         lm_format(&m->memory, "key %.*s", (int)(name->length < 128 ? name->length : 128), name->data));
    }
    for (int layer = m->n.n_layers + m->n.n_drafting; layer < m->n.n_layers_file && !status; layer++)
        status = add(m, lm_format(&m->memory, "%d tensors blk.%d.*, which draft tokens", tensors_of(l, layer), layer));
    return status;
}

const char *eng_lm_model_unread(const eng_lm_model *m, uint32_t index)
{
    return m && index < m->n_unread ? m->unread[index] : NULL;
}
