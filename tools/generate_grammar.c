/* engine-generate: what the text must follow, and where it stops. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "generate_run.h"

int run_open_grammar(run *r)
{
    const char *path = r->o.grammar_file ? r->o.grammar_file : r->o.schema_file,
               *given = r->o.grammar ? r->o.grammar : r->o.schema;
    char *text = NULL, *gbnf = NULL;
    size_t length = 0;
    if (!path && !given)
        return ENG_OK;
    int status = path ? read_text(path, &text, &length) : ENG_OK;
    if (!status && path && memchr(text, 0, length))
        status = eng_fail(ENG_ERR_FORMAT, "file '%s'" ENG_CAUSE "a text is needed, and this has a zero byte", path);
    if (!status && (r->o.schema || r->o.schema_file))
        status = eng_lm_grammar_from_schema(text ? text : given, text ? length : strlen(given), &gbnf);
    if (!status)
        status = eng_lm_grammar_create(r->model, gbnf ? gbnf : text ? text : given, NULL, &r->grammar);
    eng_lm_free(gbnf);
    free(text);
    return status;
}

bool run_met_reverse(const run *r, size_t before)
{
    for (uint32_t i = 0; i < r->o.n_reverse; i++) {
        size_t length = strlen(r->o.reverse[i]), from = before >= length ? before - length + 1 : 0;
        for (size_t at = from; length && at + length <= r->text.n; at++)
            if (memcmp(r->text.at + at, r->o.reverse[i], length) == 0)
                return true;
    }
    return false;
}

void run_show_prompt(const run *r)
{
    for (size_t i = 0; i < r->n_prompt && r->o.verbose_prompt; i++) {
        char *text = NULL;
        size_t length = 0;
        if (eng_lm_text(r->model, &r->ids[i], 1, 1, &text, &length))
            continue;
        fprintf(stderr, "%6d  '%s'\n", r->ids[i], text);
        eng_lm_free(text);
    }
}
