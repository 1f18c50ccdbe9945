/* Templates that a model's file has: by name, and with the model's own tokens. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/chat.h"

#include "../tap.h"

static char path[600];

/* A copy of the small model with two templates. */
static int write_model(void)
{
    char from[600];
    const char *top = getenv("top_srcdir"), *build = getenv("top_builddir");
    eng_gguf *in = NULL;
    eng_gguf_writer *out = NULL;
    snprintf(from, sizeof from, "%s/tests/data/tiny-hybrid-f16.gguf", top ? top : "..");
    snprintf(path, sizeof path, "%s/tests/chat/model-%ld.gguf", build ? build : ".", (long)getpid());
    int status = eng_gguf_open(from, &in);
    status = status ? status : eng_gguf_writer_create(&out);
    for (uint64_t i = 0; !status && i < eng_gguf_key_count(in); i++)
        status = eng_gguf_writer_key(out, eng_gguf_key_get(in, i));
    status = status ?
                 status :
                 eng_gguf_writer_text(out, "tokenizer.chat_template", "{{ eos_token }}|{{ bos_token is defined }}");
    status = status ? status : eng_gguf_writer_text(out, "tokenizer.chat_template.tool_use", "tools");
    status = status ? status : eng_gguf_writer_text(out, "tokenizer.chat_templates", "another key");
    for (uint32_t i = 0; !status && i < eng_gguf_tensor_count(in); i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(in, i);
        status = eng_gguf_writer_tensor(out, t->name, t->type, t->ne, t->rank, t->data);
    }
    status = status ? status : eng_gguf_writer_save(out, path);
    eng_gguf_writer_destroy(out);
    eng_gguf_close(in);
    return status;
}

static bool is(const char *text, const char *expected)
{
    return text && strcmp(text, expected) == 0;
}

/* The spelling of the token that ends a text, as the tokenizer gives it. */
static void check_tokens(const eng_lm_model *m)
{
    eng_lm_template *t = NULL;
    char *text = NULL, *own = NULL;
    const char *source = eng_lm_model_template(m, NULL);
    int status = eng_lm_template_create(source, strlen(source), &t);
    status = status ? status : eng_lm_template_render(t, m, "{}", &text, NULL);
    status = status ? status : eng_lm_template_render(t, m, "{\"eos_token\": \"E\", \"bos_token\": null}", &own, NULL);
    tap_check(!status && text[0] != '|' && is(own, "E|True"), "tokens are the model's (%s) unless given (%s)%s",
              text ? text : "", own ? own : "", status ? eng_last_error() : "");
    eng_lm_free(text);
    eng_lm_free(own);
    eng_lm_template_destroy(t);
}

int main(void)
{
    eng_context *engine = tap_begin();
    eng_device *device = NULL;
    eng_lm_model *m = NULL;
    int status = write_model();
    status = status ? status : eng_context_set_option(engine, "null.accept", "measure");
    status = status ? status : eng_device_open(engine, "null", &device);
    status = status ? status : eng_lm_model_open(engine, device, path, NULL, &m);
    unlink(path);
    if (tap_check(!status, "a model with templates is opened%s%s", status ? ": " : "",
                  status ? eng_last_error() : "")) {
        tap_check(is(eng_lm_model_template(m, "tool_use"), "tools") && !eng_lm_model_template(m, "rag") &&
                      !eng_lm_model_template(NULL, NULL),
                  "templates are found by name");
        check_tokens(m);
    }
    eng_lm_model_close(m);
    eng_device_close(device);
    return tap_end(engine);
}
