/*
 * Shapes by rule: every letter of an op's rule gets one extent, every operand is
 * checked against it, and the results' extents follow.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"

static void describe(char *text, size_t room, const eng_tensor *t)
{
    const eng_type_info *type = eng_tensor_type(t);
    int n = snprintf(text, room, "%s %s[", t->name, type != NULL ? type->name : "?");
    for (uint32_t i = 0; i < t->rank && n > 0 && (size_t)n < room; i++)
        n += snprintf(text + n, room - (size_t)n, "%s%" PRId64, i ? "," : "", t->ne[i]);
    if (n > 0 && (size_t)n < room)
        snprintf(text + n, room - (size_t)n, "]");
}

int eng_graph_fail(eng_inference *f, const char *format, ...)
{
    eng_graph *g = f->graph;
    char cause[256], operands[384] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    size_t used = 0;
    for (int i = 0; i < f->info->n_in && used + 2 < sizeof operands; i++)
        if (f->in[i] != NULL) {
            char text[128];
            describe(text, sizeof text, f->in[i]);
            int n = snprintf(operands + used, sizeof operands - used, "%s%s = %s", used ? ", " : "", f->info->in[i].name,
                             text);
            used = n < 0 || (size_t)n >= sizeof operands - used ? sizeof operands : used + (size_t)n;
        }
    if (g->status == ENG_OK) {
        const char *advice = strstr(cause, ENG_ADVICE);
        int length = advice ? (int)(advice - cause) : (int)strlen(cause);
        g->status = ENG_ERR_INVALID;
        snprintf(g->error, sizeof g->error, "%s" ENG_CAUSE "%.*s; operands: %s%s", f->info->name, length, cause, operands,
                 advice ? advice : "");
    }
    return eng_fail(ENG_ERR_INVALID, "%s", g->error);
}

/* -- binding letters --------------------------------------------------------- */

/* Tries to learn from one dimension.  Returns true if a letter was bound. */
static bool learn(eng_inference *f, const eng_rule_dim *dim, int64_t extent)
{
    int unknown = -1;
    uint64_t known = 1;
    if (dim->broadcast && extent == 1)
        return false;
    for (int i = 0; i < dim->n_letters; i++) {
        uint8_t letter = dim->letters[i];
        if (letter == ENG_LETTER_PRIVATE)
            return false;
        if (f->extent[letter] < 0) {
            if (unknown >= 0)
                return false;
            unknown = letter;
        } else if (!eu_mul(known, (uint64_t)f->extent[letter], &known)) {
            return false;
        }
    }
    if (unknown < 0)
        return false;
    if (known == 0)
        f->extent[unknown] = 1;
    else
        f->extent[unknown] = extent / (int64_t)known; /* a remainder is found by the check */
    return true;
}

static void bind_letters(eng_inference *f)
{
    for (int i = 0; i < ENG_MAX_LETTERS; i++)
        f->extent[i] = -1;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < f->info->n_in; i++)
            for (int d = 0; f->in[i] != NULL && d < ENG_MAX_RANK; d++)
                again |= learn(f, &f->info->in[i].dims[d], f->in[i]->ne[d]);
    }
    for (int i = 0; i < f->info->n_letters; i++)
        if (f->extent[i] < 0)
            f->extent[i] = 1;
}

/* -- checking ----------------------------------------------------------------- */

static bool dim_extent(const eng_inference *f, const eng_rule_dim *dim, int64_t *extent)
{
    uint64_t product = 1;
    for (int i = 0; i < dim->n_letters; i++)
        if (!eu_mul(product, (uint64_t)f->extent[dim->letters[i]], &product))
            return false;
    *extent = (int64_t)product;
    return product <= INT64_MAX;
}

static void rule_dim_text(const eng_op_info *info, const eng_rule_dim *dim, char *text, size_t room)
{
    int n = 0;
    text[0] = 0;
    for (int i = 0; i < dim->n_letters && n >= 0 && (size_t)n < room; i++)
        n += snprintf(text + n, room - (size_t)n, "%s%s", i ? " " : "", info->letter_name[dim->letters[i]]);
}

static int check_operand(eng_inference *f, int operand)
{
    const eng_tensor *t = f->in[operand];
    const eng_rule_operand *rule = &f->info->in[operand];
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        const eng_rule_dim *dim = &rule->dims[d];
        int64_t want;
        if (dim->n_letters == 0) {
            if (t->ne[d] != 1)
                return eng_graph_fail(f, "%s has more dimensions than the rule \"%s\" allows", rule->name, f->info->rule);
            continue;
        }
        if (dim->letters[0] == ENG_LETTER_PRIVATE || (dim->broadcast && t->ne[d] == 1))
            continue;
        char letters[64];
        if (!dim_extent(f, dim, &want))
            return eng_graph_fail(f, "an extent does not fit in 63 bits");
        rule_dim_text(f->info, dim, letters, sizeof letters);
        if (want != t->ne[d])
            return eng_graph_fail(f,
                                  "dimension %d of %s is %" PRId64 " but the other operands make \"%s\" %" PRId64
                                  " (rule: %s)",
                                  d, rule->name, t->ne[d], letters, want, f->info->rule);
    }
    return ENG_OK;
}

static int set_results(eng_inference *f)
{
    for (int o = 0; o < f->info->n_out; o++) {
        eng_tensor *t = &f->out[o];
        for (int d = 0; d < ENG_MAX_RANK; d++) {
            const eng_rule_dim *dim = &f->info->out[o].dims[d];
            t->ne[d] = 1;
            if (dim->n_letters > 0 && dim->letters[0] != ENG_LETTER_PRIVATE && !dim_extent(f, dim, &t->ne[d]))
                return eng_graph_fail(f, "an extent of the result does not fit in 63 bits");
        }
    }
    return ENG_OK;
}

int eng_infer_shapes(eng_inference *f)
{
    bind_letters(f);
    for (int i = 0; i < f->info->n_in; i++)
        if (f->in[i] != NULL && !(f->info->flags & ENG_OPF_FOLLOW)) {
            int status = check_operand(f, i);
            if (status != ENG_OK)
                return status;
        }
    return set_results(f);
}
