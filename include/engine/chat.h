/*
 * engine/chat.h - conversations as the texts that models were trained on (libengine-lm).
 *
 * A model's file brings a template, a program in Jinja that makes the text of a list of messages.  This runs it:
 *
 *     eng_lm_template_create(source, strlen(source), &t);   source: eng_lm_model_template(model, NULL)
 *     eng_lm_template_render_given(t, model, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],"
 *                                            " \"add_generation_prompt\": true}", &text, &length, &given, &n_given);
 *     eng_lm_tokenize_given(model, text, length, ENG_LM_PARSE_SPECIAL, given, n_given, &ids, &n);
 *     eng_lm_free(given);
 *     eng_lm_free(text);
 *     eng_lm_template_destroy(t);
 *
 * The text is, byte for byte, what Python's jinja2 makes of it as transformers sets it up: a sandbox with trim_blocks,
 * lstrip_blocks and the tags of loopcontrols and generation.  What is understood is listed in docs/chat.md; what is not
 * is refused with its line, never passed over.
 *
 * Errors, ownership and threads as in lm.h.  A template does not change once it is made: any thread may render it,
 * several at once.
 */
#ifndef ENGINE_CHAT_H
#define ENGINE_CHAT_H

#include "lm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a template may ask for: its own bytes, levels of nesting in its text, and while it runs calls within calls,
 * steps, bytes of memory for values, and bytes of the text that it makes. */
#define ENG_LM_TEMPLATE_BYTES (4u << 20)
#define ENG_LM_TEMPLATE_NESTING 100u
#define ENG_LM_TEMPLATE_CALLS 64u
#define ENG_LM_TEMPLATE_STEPS 20000000u
#define ENG_LM_TEMPLATE_MEMORY (256u << 20)
#define ENG_LM_TEMPLATE_OUTPUT (32u << 20)

typedef struct eng_lm_template eng_lm_template;

/* Parses Jinja.  ENG_ERR_FORMAT: the text is not well formed; ENG_ERR_UNSUPPORTED: it has a construct that is not
 * understood.  The error names the line and what stands there. */
ENG_API int eng_lm_template_create(const char *source, size_t length, eng_lm_template **t);
ENG_API void eng_lm_template_destroy(eng_lm_template *t);

/* The template that a model's file has.  name NULL: the one for everything (tokenizer.chat_template); else the one of
 * that name (tokenizer.chat_template.NAME; of use is "tool_use").  NULL: there is none.  Valid while the model is. */
ENG_API const char *eng_lm_model_template(const eng_lm_model *model, const char *name);

/* Runs it.  json: an object, whose members are the template's variables: messages, tools, documents,
 * add_generation_prompt, enable_thinking, ...  Where it has no bos_token, eos_token or unk_token, they are the model's
 * (model may be NULL: then they are not defined).  *text is terminated and belongs to the caller, who ends it with
 * eng_lm_free; length may be NULL.  ENG_ERR_FORMAT: the JSON is none, or no object; ENG_ERR_INVALID: the template went
 * wrong (the error names the line), or called raise_exception, whose text is the error's cause; ENG_ERR_UNSUPPORTED: it
 * came upon what is not understood; ENG_ERR_STATE: it went beyond a limit above. */
ENG_API int eng_lm_template_render(const eng_lm_template *t, const eng_lm_model *model, const char *json, char **text,
                                   size_t *length);

/* A stretch of a text: bytes from `from` on, before `to`. */
typedef struct eng_lm_range {
    size_t from, to;
} eng_lm_range;

/* As eng_lm_template_render; *given are the ranges of the text, in their order, that are or were made of texts of
 * `json` (of members of messages, tools, documents and whatever else is there but bos_token and others whose names end
 * in _token or _tokens): what others wrote, as opposed to the template's own words.  The caller ends them with
 * eng_lm_free, too; NULL with 0: there are none. */
ENG_API int eng_lm_template_render_given(const eng_lm_template *t, const eng_lm_model *model, const char *json,
                                         char **text, size_t *length, eng_lm_range **given, size_t *n_given);

/* eng_lm_tokenize, but with ENG_LM_PARSE_SPECIAL a control token is one only where no byte of it is in these ranges: a
 * question that spells "<|im_end|>" has the tokens of these letters.  The ranges are in their order and do not
 * overlap. */
ENG_API int eng_lm_tokenize_given(const eng_lm_model *model, const char *text, size_t length, uint32_t flags,
                                  const eng_lm_range *given, size_t n_given, int32_t **ids, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
