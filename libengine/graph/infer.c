/*
 * Shapes by rule: every letter of an op's rule gets one extent, every operand is
 * checked against it, and the results' extents follow.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"

static void describe(eu_text *text, const eng_tensor *t)
{
    const eng_type_info *type = eng_tensor_type(t);
    eu_text_format(text, "%s %s[", t->name, type != NULL ? type->name : "?");
    for (uint32_t i = 0; i < t->rank; i++)
        eu_text_format(text, "%s%" PRId64, i ? "," : "", t->ne[i]);
    eu_text_add(text, "]");
}

int eng_graph_fail(eng_inference *f, const char *format, ...)
{
    eng_graph *g = f->graph;
    char cause[256], operands[384];
    eu_text text = EU_TEXT_IN(operands);
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    cause[eu_utf8_cut(cause, strlen(cause))] = 0;
    for (int i = 0; i < f->info->n_in; i++)
        if (f->in[i] != NULL) {
            eu_text_format(&text, "%s%s = ", text.n ? ", " : "", f->info->in[i].name);
            describe(&text, f->in[i]);
        }
    operands[eu_utf8_cut(operands, text.n)] = 0;
    if (g->status == ENG_OK) {
        const char *advice = strstr(cause, ENG_ADVICE);
        int length = advice ? (int)(advice - cause) : (int)strlen(cause);
        g->status = ENG_ERR_INVALID;
        snprintf(g->error, sizeof g->error, "%s" ENG_CAUSE "%.*s; operands: %s%s", f->info->name, length, cause,
                 operands, advice ? advice : "");
    }
    return eng_fail(ENG_ERR_INVALID, "%s", g->error);
}

/* -- letters ------------------------------------------------------------------ */

static void rule_dim_text(const eng_op_info *info, const eng_rule_dim *dim, eu_text text)
{
    for (int i = 0; i < dim->n_letters; i++)
        eu_text_format(&text, "%s%s", i ? " " : "", info->letter_name[dim->letters[i]]);
}

static int check_operand(eng_inference *f, int operand)
{
    const eng_tensor *t = f->in[operand];
    const eng_rule_operand *rule = &f->info->in[operand];
    char letters[64];
    int64_t want;
    int d = eu_rule_disagrees(rule, t->ne, f->extent, &want);
    if (d < 0)
        return ENG_OK;
    if (rule->dims[d].n_letters == 0)
        return eng_graph_fail(f, "%s must have no more dimensions than the rule \"%s\", got %" PRId64
                              " in dimension %d", rule->name, f->info->rule, t->ne[d], d);
    if (want < 0)
        return eng_graph_fail(f, "the extents of the operands must fit 63 bits");
    rule_dim_text(f->info, &rule->dims[d], EU_TEXT_IN(letters));
    return eng_graph_fail(f, "dimension %d of %s must be %" PRId64 ", the \"%s\" of the other operands, got %" PRId64
                          " (rule: %s)", d, rule->name, want, letters, t->ne[d], f->info->rule);
}

static int set_results(eng_inference *f)
{
    for (int o = 0; o < f->info->n_out; o++)
        for (int d = 0; d < ENG_MAX_RANK; d++) {
            const eng_rule_dim *dim = &f->info->out[o].dims[d];
            bool own = dim->n_letters > 0 && dim->letters[0] == ENG_LETTER_PRIVATE;
            f->out[o].ne[d] = 1;
            if (!own && !eu_rule_extent(dim, f->extent, &f->out[o].ne[d]))
                return eng_graph_fail(f, "the extents of the result must fit 63 bits");
        }
    return ENG_OK;
}

int eng_infer_shapes(eng_inference *f)
{
    const int64_t *ne[ENG_MAX_INPUTS];
    for (int i = 0; i < ENG_MAX_INPUTS; i++)
        ne[i] = f->in[i] != NULL ? f->in[i]->ne : NULL;
    eu_rule_bind(f->info, ne, NULL, f->extent);
    for (int i = 0; i < f->info->n_in; i++)
        if (f->in[i] != NULL && !(f->info->flags & ENG_OPF_FOLLOW)) {
            int status = check_operand(f, i);
            if (status != ENG_OK)
                return status;
        }
    return set_results(f);
}
