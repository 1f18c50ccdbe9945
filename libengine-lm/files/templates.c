/* The templates of conversations that a file has. */
#include "config.h"

#include <string.h>

#include "engine/chat.h"
#include "model.h"

#define KEY "tokenizer.chat_template"

static int add(eng_lm_model *m, const char *name, const eng_gguf_string *text)
{
    lm_template *t = &m->templates[m->n_templates++];
    t->name = *name ? name + 1 : NULL;
    t->text = lm_alloc(&m->memory, (size_t)text->length + 1, 1);
    if (!t->text)
        return ENG_ERR_NOMEM;
    memcpy(t->text, text->data, (size_t)text->length);
    return ENG_OK;
}

/* A key that is none of ours, or not a text, is left alone. */
static int read_key(const lm_loader *l, const eng_gguf_key *key)
{
    eng_lm_model *m = l->model;
    eng_gguf_string text;
    if (key->type != ENG_GGUF_STRING || key->name.length > LM_KEY_BYTES || key->name.length < sizeof KEY - 1 ||
        memcmp(key->name.data, KEY, sizeof KEY - 1) != 0)
        return ENG_OK;
    const char *name = lm_format(&m->memory, "%.*s", (int)key->name.length, key->name.data);
    if (!name)
        return ENG_ERR_NOMEM;
    const char *rest = name + sizeof KEY - 1;
    if ((*rest && *rest != '.') || m->n_templates == LM_MOST_TEMPLATES || eng_gguf_text(l->gguf, name, 0, &text))
        return ENG_OK;
    return add(m, rest, &text);
}

int lm_templates_read(const lm_loader *l)
{
    int status = ENG_OK;
    for (uint64_t i = 0, n = eng_gguf_key_count(l->gguf); i < n && !status; i++)
        status = read_key(l, eng_gguf_key_get(l->gguf, i));
    return status;
}

const char *eng_lm_model_template(const eng_lm_model *m, const char *name)
{
    for (uint32_t i = 0; m && i < m->n_templates; i++) {
        const lm_template *t = &m->templates[i];
        if (name && t->name ? strcmp(name, t->name) == 0 : !name && !t->name)
            return t->text;
    }
    return NULL;
}
