/* Types and strides that each op accepts, and the types of its results. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "graph.h"

bool eng_tensor_layout(eng_tensor *t)
{
    return eu_shape_layout(eng_tensor_type(t), t->ne, ENG_MAX_RANK, t->nb, &t->bytes);
}

bool eng_tensor_contiguous(const eng_tensor *t)
{
    return eu_shape_contiguous(eng_tensor_type(t), t->ne, t->nb);
}

int64_t eng_tensor_elements(const eng_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        n *= t->ne[d];
    return n;
}

bool eng_tensor_reach(const eng_tensor *t, uint64_t *bytes)
{
    const eng_type_info *type = eng_tensor_type(t);
    *bytes = type->block_bytes;
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        uint64_t span, n = (uint64_t)eng_tensor_blocks(t, d);
        if (n == 0) {
            *bytes = 0;
            return true;
        }
        if (!eu_mul(n - 1, (uint64_t)t->nb[d], &span) || span > INT64_MAX - *bytes)
            return false;
        *bytes += span;
    }
    return true;
}

bool eng_tensors_meet(const eng_tensor *a, const eng_tensor *b)
{
    uint64_t of_a, of_b;
    if (!eng_tensor_reach(a, &of_a) || !eng_tensor_reach(b, &of_b))
        return true;
    return a->offset < b->offset + of_b && b->offset < a->offset + of_a;
}

/*
 * May two elements share bytes?  Sorted by stride, each dimension must step over all that
 * the smaller ones cover; strides that interleave otherwise count as overlapping.
 */
static bool overlaps(const eng_tensor *t)
{
    const eng_type_info *type = eng_tensor_type(t);
    int64_t covered = type->block_bytes;
    unsigned left = 0;
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        int64_t n = eng_tensor_blocks(t, d);
        if (n == 0)
            return false;
        left |= n > 1 ? 1u << d : 0;
    }
    while (left != 0) {
        int least = -1;
        for (int d = 0; d < ENG_MAX_RANK; d++)
            if (left >> d & 1 && (least < 0 || t->nb[d] < t->nb[least]))
                least = d;
        if (t->nb[least] < covered)
            return true;
        covered += (eng_tensor_blocks(t, least) - 1) * t->nb[least];
        left &= ~(1u << least);
    }
    return false;
}

/* -- operands ------------------------------------------------------------------ */

static int check_strides(eng_inference *f, int operand)
{
    const eng_tensor *t = f->in[operand];
    const eng_type_info *type = eng_tensor_type(t);
    const eng_rule_operand *rule = &f->info->in[operand];
    if (rule->strides == ENG_STRIDES_ROWS && t->ne[0] > (int64_t)type->block && t->nb[0] != (int64_t)type->block_bytes)
        return eng_graph_fail(f, "the rows of %s must be contiguous, got elements %" PRId64 " bytes apart" ENG_ADVICE
                              "make them so with cont", rule->name, t->nb[0]);
    if (rule->strides == ENG_STRIDES_CONTIGUOUS && !eng_tensor_contiguous(t))
        return eng_graph_fail(f, "%s must be contiguous, got a view with gaps" ENG_ADVICE "make it so with cont",
                              rule->name);
    return ENG_OK;
}

static int check_written(eng_inference *f, int operand)
{
    const eng_tensor *root = &f->graph->tensors[f->in[operand]->root];
    const char *name = f->info->in[operand].name;
    if (root->binding < 0)
        return eng_graph_fail(f, "operand %s must be a bound tensor or a view of one, got a value of the graph: it is "
                              "written in place", name);
    if (root->use & ENG_USE_FIXED)
        return eng_graph_fail(f, "operand %s must not be declared with data, got %s: it is written in place" ENG_ADVICE
                              "declare it without data and write them", name, root->name);
    if ((root->use & ENG_USE_MASK) == ENG_USE_INPUT)
        return eng_graph_fail(f, "operand %s must not be an input, got %s: it is written in place, and an input by "
                              "the host only" ENG_ADVICE "declare it ENG_USE_STATE", name, root->name);
    if (overlaps(f->in[operand]))
        return eng_graph_fail(f, "the elements of operand %s must not overlap: it is written in place" ENG_ADVICE
                              "write through a view that has each byte once", name);
    return ENG_OK;
}

/* The names of a few types, or that there are many of them. */
static const char *allowed_types(uint64_t types, eu_text text)
{
    enum { MANY = 12 };
    if (__builtin_popcountll(types) > MANY)
        return "one that the op takes";
    for (uint32_t type = 0; type < ENG_TYPE_LIMIT; type++)
        if (types >> type & 1 && eng_type_get(type) != NULL)
            eu_text_format(&text, "%s%s", text.n ? " or " : "", eng_type_get(type)->name);
    return text.n ? text.at : "absent";
}

/* A bound tensor that says who reads it is read by nobody else, and so is never viewed. */
static int check_reader(eng_inference *f, int operand)
{
    const eng_tensor *root = &f->graph->tensors[f->in[operand]->root];
    if (root->binding < 0)
        return ENG_OK;
    const eng_graph_binding *t = &f->graph->bindings[root->binding];
    for (uint32_t i = 0; i < t->n_readers; i++)
        if (t->readers[i].op == f->node->op && t->readers[i].operand == (uint32_t)operand &&
            t->readers[i].precisions >> f->node->precision & 1)
            return ENG_OK;
    if (t->n_readers == 0)
        return ENG_OK;
    return eng_graph_fail(f,
                          "%s must be read by one of its readers, got %s of an op (or in a precision) that is not "
                          "among them" ENG_ADVICE "name it in eng_store_tensor.readers",
                          root->name, f->info->in[operand].name);
}

static int check_operand(eng_inference *f, int operand)
{
    const eng_rule_operand *rule = &f->info->in[operand];
    const eng_tensor *t = f->in[operand];
    char types[160];
    if (t == NULL)
        return rule->optional ? ENG_OK : eng_graph_fail(f, "operand %s must be given", rule->name);
    if (!(rule->types >> t->type & 1))
        return eng_graph_fail(f, "the type of operand %s must be %s, got %s", rule->name,
                              allowed_types(rule->types, EU_TEXT_IN(types)), eng_tensor_type(t)->name);
    int status = rule->inout ? check_written(f, operand) : check_reader(f, operand);
    return status == ENG_OK ? check_strides(f, operand) : status;
}

static uint32_t result_type(const eng_inference *f, const eng_rule_operand *rule)
{
    uint32_t type = ENG_TYPE_F32;
    switch (rule->type_source) {
    case ENG_TYPE_OF_PARAM:
        return (uint32_t)f->node->ip[rule->type_index];
    case ENG_TYPE_OF_OPERAND:
        return f->in[rule->type_index]->type;
    case ENG_TYPE_OF_VALUES:
        type = f->in[rule->type_index]->type;
        return rule->types >> type & 1 ? type : ENG_TYPE_F32;
    default:
        while (!(rule->types >> type & 1))
            type = (type + 1) % ENG_TYPE_LIMIT;
        return type;
    }
}

int eng_infer_types(eng_inference *f)
{
    if (f->info->types[0] == 0)
        return eng_graph_fail(f, "the op must be one for graphs that hosts build");
    for (int i = 0; i < f->info->n_in; i++) {
        int status = check_operand(f, i);
        if (status != ENG_OK)
            return status;
    }
    for (int o = 0; o < f->info->n_out; o++) {
        const eng_rule_operand *rule = &f->info->out[o];
        const int64_t given = rule->type_source == ENG_TYPE_OF_PARAM ? f->node->ip[rule->type_index] : 0;
        f->out[o].type = result_type(f, rule);
        if (given < 0 || given >= ENG_TYPE_LIMIT || eng_tensor_type(&f->out[o]) == NULL)
            return eng_graph_fail(f, "the result's type must be one of ENG_TYPE_*, got %" PRId64, given);
    }
    return ENG_OK;
}
