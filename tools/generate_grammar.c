/* engine-generate: what the text must follow, and where it stops. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "generate_run.h"

int run_open_grammar(run *r)
{
    char *text = NULL;
    size_t length = 0;
    int status = ENG_OK;
    if (r->o.grammar_file)
        status = read_text(r->o.grammar_file, &text, &length);
    if (!status && text && memchr(text, 0, length))
        status = eng_fail(ENG_ERR_FORMAT, "file '%s'" ENG_CAUSE "a grammar is a text, and this has a zero byte", r->o.grammar_file);
    if (!status && (text || r->o.grammar))
        status = eng_lm_grammar_create(r->model, text ? text : r->o.grammar, NULL, &r->grammar);
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
