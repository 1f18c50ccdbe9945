/* Templates of conversations, as hosts see them. */
#include "config.h"

#include "engine/chat.h"

int eng_lm_template_create(const char *source, size_t length, eng_lm_template **t)
{
    (void)source;
    (void)length;
    (void)t;
    return eng_fail(ENG_ERR_UNSUPPORTED, "eng_lm_template_create" ENG_CAUSE "templates are not there yet");
}

void eng_lm_template_destroy(eng_lm_template *t)
{
    (void)t;
}

int eng_lm_template_render(const eng_lm_template *t, const eng_lm_model *model, const char *json, char **text,
                           size_t *length)
{
    (void)t;
    (void)model;
    (void)json;
    (void)text;
    (void)length;
    return eng_fail(ENG_ERR_UNSUPPORTED, "eng_lm_template_render" ENG_CAUSE "templates are not there yet");
}
