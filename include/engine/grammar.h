/*
 * engine/grammar.h - texts that follow a grammar (libengine-lm).
 *
 *     eng_lm_grammar_create(model, "root ::= \"yes\" | \"no\"", NULL, &grammar);
 *     eng_lm_sampler_set_grammar(sampler, grammar);     once the prompt was noted
 *     ... choose, accept, decode, as without, until a token ends the text
 *
 * The language is GBNF, as llama.cpp has it:
 *
 *     name ::= "text" [a-z0-9_] [^"\\] . other-rule     # a comment
 *     list ::= item ("," item)* | ""                    | parts alternatives; behind it a line may end
 *     item ::= [0-9]{2,4} "-"? ("a" | "b")+             {n}, {n,} and {n,m}: so many times
 *
 * with \n \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH in texts and classes.  A text is what the rule `root` says.  A rule
 * that begins with itself is refused.
 *
 * Errors, ownership and threads as in lm.h.  A grammar does not change: samplers of any threads may use it.
 */
#ifndef ENGINE_GRAMMAR_H
#define ENGINE_GRAMMAR_H

#include "lm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eng_lm_grammar eng_lm_grammar;

/* A grammar for the tokens of a model, which must outlive it.  root NULL: the rule "root".  ENG_ERR_FORMAT: the error
 * says in which line what was expected.  Since 3.1, as all of this header. */
ENG_API int eng_lm_grammar_create(const eng_lm_model *model, const char *gbnf, const char *root,
                                  eng_lm_grammar **grammar);
ENG_API void eng_lm_grammar_destroy(eng_lm_grammar *grammar);

/*
 * A grammar of documents that a JSON schema allows, to be given to eng_lm_grammar_create and then to eng_lm_free.  What
 * it lets through is valid, as long as the model goes on to its end; not all that is valid is let through: properties
 * come in the schema's order, others than it names only where additionalProperties says so, numbers have at most 16
 * digits, and values of const and enum one spelling.  Understood are type, properties, required, additionalProperties,
 * items, prefixItems, minItems, maxItems, enum, const, anyOf, oneOf of schemas that exclude one another, allOf, $ref
 * within the document, minLength, maxLength, pattern (without looking around, and anchors only at its ends), the
 * formats date, time, date-time, duration, uuid, email, hostname, ipv4, ipv6 and uri, minimum, maximum and their
 * exclusive forms (of decimals with at most 8 digits behind the point, and such numbers then), and multipleOf whole
 * numbers up to 1000, of many numbers with bounds at 0 alone.  ENG_ERR_UNSUPPORTED for anything else: the error has its
 * JSON pointer.
 */
ENG_API int eng_lm_grammar_from_schema(const char *json, size_t length, char **gbnf);

/* How a text stands to a grammar. */
enum {
    ENG_LM_GRAMMAR_NONE = 0,    /* there is no grammar                                 */
    ENG_LM_GRAMMAR_OPEN = 1,    /* it must go on                                       */
    ENG_LM_GRAMMAR_MAY_END = 2, /* it may end or go on                                 */
    ENG_LM_GRAMMAR_MUST_END = 3, /* nothing can follow                                 */
    ENG_LM_GRAMMAR_LEFT = 4     /* nothing that the grammar allows begins so           */
};
/* How this text does. */
ENG_API int eng_lm_grammar_test(const eng_lm_grammar *grammar, const char *text, size_t length, uint32_t *state);

/*
 * From here on the sampler chooses only tokens with which the text, of the tokens noted from here on, can become one of
 * the grammar, whatever the other parameters: the grammar comes before them.  Tokens that end a text are possible where
 * the grammar may end, and where nothing can follow alone.  NULL: no grammar.  The grammar must outlive the sampler, or
 * its place there.  eng_lm_sampler_rollback takes the grammar back, too.  Drafts follow it: what they guess against it
 * is not accepted.  eng_lm_sampler_choose_top is refused, since none of the tokens that it knows may be allowed.
 */
ENG_API int eng_lm_sampler_set_grammar(eng_lm_sampler *sampler, const eng_lm_grammar *grammar);
/* ENG_LM_GRAMMAR_* of the tokens noted so far. */
ENG_API uint32_t eng_lm_sampler_grammar_state(const eng_lm_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
