/* Grammars, as hosts see them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "engine/grammar.h"
#include "files/model.h"
#include "grammar/constraint.h"
#include "grammar/matcher.h"
#include "grammar/schema.h"
#include "sampling/sampler.h"

struct eng_lm_grammar {
    lm_rules rules;
    lm_spellings spellings;
};

static const char *spell(const void *owner, int32_t token, size_t *length)
{
    return eng_tokenizer_piece(owner, token, false, length);
}

static bool ends(const void *owner, int32_t token)
{
    return eng_tokenizer_is_end(owner, token);
}

int eng_lm_grammar_create(const eng_lm_model *m, const char *gbnf, const char *root, eng_lm_grammar **grammar)
{
    if (!m || !gbnf || !grammar)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_grammar_create" ENG_CAUSE "a model, a grammar and a place for it are needed");
    if (!m->tokenizer)
        return eng_fail(m->tokenizer_status, "eng_lm_grammar_create" ENG_CAUSE "%s", m->tokenizer_error);
    eng_lm_grammar *g = lm_calloc(1, sizeof *g);
    if (!g)
        return ENG_ERR_NOMEM;
    int status = lm_rules_read(gbnf, strlen(gbnf), root, &g->rules);
    if (!status && !lm_spellings_init(&g->spellings, (uint32_t)m->n.n_vocab, spell, ends, m->tokenizer))
        status = eng_fail_code(EU_NO_MEMORY("the tokens of a grammar"));
    if (status)
        eng_lm_grammar_destroy(g);
    else
        *grammar = g;
    return status;
}

void eng_lm_grammar_destroy(eng_lm_grammar *g)
{
    if (!g)
        return;
    lm_rules_free(&g->rules);
    lm_spellings_free(&g->spellings);
    free(g);
}

int eng_lm_grammar_from_schema(const char *json, size_t length, char **gbnf)
{
    if (!json || !gbnf)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_grammar_from_schema" ENG_CAUSE "a schema and a place for the grammar are needed");
    return lm_schema_to_gbnf(json, length, gbnf);
}

int eng_lm_grammar_test(const eng_lm_grammar *g, const char *text, size_t length, uint32_t *state)
{
    lm_matcher m;
    if (!g || (!text && length) || !state)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_grammar_test" ENG_CAUSE "a grammar, a text and a place for its state are needed");
    int status = lm_matcher_init(&m, &g->rules);
    if (status)
        return status;
    uint32_t s = lm_matcher_begin(&m);
    for (size_t i = 0; i < length && s > LM_STATE_DEAD && !status; i++) {
        if (lm_matcher_full(&m))
            status = lm_matcher_trim(&m, &s, 1);
        s = status ? s : lm_matcher_step(&m, s, (uint8_t)text[i]);
    }
    if (!status && s == LM_STATE_FAILED)
        status = m.status;
    if (!status)
        *state = s == LM_STATE_DEAD           ? ENG_LM_GRAMMAR_LEFT :
                 lm_matcher_must_end(&m, s) ? ENG_LM_GRAMMAR_MUST_END :
                 lm_matcher_may_end(&m, s)  ? ENG_LM_GRAMMAR_MAY_END :
                                              ENG_LM_GRAMMAR_OPEN;
    lm_matcher_free(&m);
    return status;
}

int eng_lm_sampler_set_grammar(eng_lm_sampler *s, const eng_lm_grammar *g)
{
    lm_constraint *c = NULL;
    if (!s)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sampler_set_grammar" ENG_CAUSE "a sampler is needed");
    if (g && g->spellings.n_vocab != eng_sampler_vocabulary(s->sampler))
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_sampler_set_grammar" ENG_CAUSE "the grammar is for %u tokens, the sampler for %u: they "
                        "must be of one model",
                        g->spellings.n_vocab, eng_sampler_vocabulary(s->sampler));
    int status = g ? lm_constraint_create(&g->rules, &g->spellings, &c) : ENG_OK;
    if (!status)
        eng_sampler_constrain(s->sampler, c);
    return status;
}

uint32_t eng_lm_sampler_grammar_state(const eng_lm_sampler *s)
{
    return s ? eng_sampler_constraint_state(s->sampler) : ENG_LM_GRAMMAR_NONE;
}
