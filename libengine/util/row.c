/* What an op's row says of one node. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "row.h"

static const struct {
    const char *name;
    uint32_t block, bytes;
} types[ENG_TYPE_LIMIT] = {
#define ENG_TYPE(id, number, name, block, bytes) [number] = {name, block, bytes},
#include <engine/types.def>
#undef ENG_TYPE
};

static const char *type_name(uint32_t type)
{
    return type < ENG_TYPE_LIMIT && types[type].name != NULL ? types[type].name : "unknown";
}

static int64_t extent(const eng_tensor *t, uint32_t d)
{
    return d < t->rank ? t->ne[d] : 1;
}

static double elements(const eng_tensor *t)
{
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        n *= (double)t->ne[d];
    return n;
}

/* -- operands ------------------------------------------------------------------- */

static bool has_type(const eng_rule_operand *rule, uint32_t type)
{
    return type < ENG_TYPE_LIMIT && types[type].name != NULL && rule->types >> type & 1;
}

static bool contiguous(const eng_tensor *t)
{
    int64_t step = types[t->type].bytes;
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->ne[d] == 0) /* there is nothing to be apart */
            return true;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->ne[d] != 1 && t->nb[d] != step)
            return false;
        step *= d == 0 ? t->ne[0] / types[t->type].block : t->ne[d];
    }
    return true;
}

static bool strides_fit(const eng_rule_operand *rule, const eng_tensor *t)
{
    bool rows = extent(t, 0) <= (int64_t)types[t->type].block || t->nb[0] == (int64_t)types[t->type].bytes;
    switch (rule->strides) {
    case ENG_STRIDES_CONTIGUOUS:
        return contiguous(t);
    case ENG_STRIDES_ROWS:
        return rows;
    default:
        return rows || types[t->type].block == 1;
    }
}

bool eu_row_accepts(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node, char *why, size_t room)
{
    for (uint32_t i = 0; i < info->n_in; i++) {
        const eng_tensor *t = eng_subgraph_tensor(graph, node->in[i]);
        if (t != NULL && !has_type(&info->in[i], t->type)) {
            snprintf(why, room, "operand %s ('%s') is of type %s, which %s does not take", info->in[i].name, t->name,
                     type_name(t->type), info->name);
            return false;
        }
        if (t != NULL && t->layout != 0 && !(eu_reads_packed(node->op, i) && t->root == node->in[i])) {
            snprintf(why, room,
                     "operand %s ('%s') is packed, and %s reads rows as in a file; name it among the tensor's "
                     "readers, or keep that in layout file",
                     info->in[i].name, t->name, info->name);
            return false;
        }
        if (t != NULL && !strides_fit(&info->in[i], t)) {
            snprintf(why, room, "operand %s ('%s') %s; use cpy first", info->in[i].name, t->name,
                     info->in[i].strides == ENG_STRIDES_CONTIGUOUS ? "must be contiguous"
                                                                   : "must have rows of neighbouring elements");
            return false;
        }
    }
    for (uint32_t o = 0; o < info->n_out; o++) {
        const eng_tensor *t = eng_subgraph_tensor(graph, node->out[o]);
        if (t != NULL && !has_type(&info->out[o], t->type)) {
            snprintf(why, room, "result %s cannot be of type %s", info->out[o].name, type_name(t->type));
            return false;
        }
    }
    return true;
}

/* -- work ------------------------------------------------------------------------- */

/* From an operand or a result where the letter stands alone. */
static double letter_extent(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node, uint8_t letter)
{
    for (uint32_t i = 0; i < (uint32_t)info->n_in + info->n_out; i++) {
        bool in = i < info->n_in;
        const eng_rule_operand *rule = in ? &info->in[i] : &info->out[i - info->n_in];
        const eng_tensor *t = eng_subgraph_tensor(graph, in ? node->in[i] : node->out[i - info->n_in]);
        for (uint32_t d = 0; t != NULL && d < ENG_MAX_RANK; d++)
            if (rule->dims[d].n_letters == 1 && rule->dims[d].letters[0] == letter && !rule->dims[d].broadcast)
                return (double)extent(t, d);
    }
    return 1;
}

static double factor(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node, uint8_t f)
{
    if (f < ENG_WORK_OPERAND)
        return letter_extent(info, graph, node, f);
    bool result = f >= ENG_WORK_RESULT;
    const eng_tensor *t =
        eng_subgraph_tensor(graph, result ? node->out[f - ENG_WORK_RESULT] : node->in[f - ENG_WORK_OPERAND]);
    return t != NULL ? elements(t) : 0;
}

static double bytes_of(const eng_tensor *t)
{
    return t->type < ENG_TYPE_LIMIT && types[t->type].block > 0
               ? elements(t) / types[t->type].block * types[t->type].bytes
               : 0;
}

static const eng_tensor *operand_named(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node,
                                       const char *name)
{
    for (uint32_t i = 0; i < info->n_in; i++)
        if (strcmp(info->in[i].name, name) == 0)
            return eng_subgraph_tensor(graph, node->in[i]);
    return NULL;
}

/* A pool of states, whose rows are its last dimension of no other name: one is read for each of src, one written for each of
 * dst. */
static double part_of_pool(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node, uint32_t operand)
{
    const eng_tensor *pool = eng_subgraph_tensor(graph, node->in[operand]);
    const eng_tensor *src = operand_named(info, graph, node, "src"), *dst = operand_named(info, graph, node, "dst");
    double rows = 0;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        if (info->in[operand].dims[d].n_letters == 1 && info->in[operand].dims[d].letters[0] == ENG_LETTER_PRIVATE)
            rows = (double)extent(pool, d);
    return src != NULL && dst != NULL && rows > 0 ? (elements(src) + elements(dst)) / rows : 1;
}

/* How much of an operand is read or written: what indices can name, all if it has no letter of that class. */
static double part_named(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node, uint32_t operand)
{
    const eng_tensor *ids = operand_named(info, graph, node, "ids");
    if (strcmp(info->in[operand].name, "state") == 0)
        return part_of_pool(info, graph, node, operand);
    for (uint32_t d = 0; ids != NULL && d < ENG_MAX_RANK; d++) {
        const eng_rule_dim *rule = &info->in[operand].dims[d];
        double n = rule->n_letters == 1 ? (double)extent(eng_subgraph_tensor(graph, node->in[operand]), d) : 0;
        if (rule->n_letters == 1 && rule->letters[0] != ENG_LETTER_PRIVATE &&
            info->letter_class[rule->letters[0]] == ENG_CLASS_INDEX && n > elements(ids))
            return elements(ids) / n;
    }
    return 1;
}

eu_work eu_row_work(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node)
{
    eu_work work = {0, 0};
    for (uint32_t w = 0; w < info->n_work; w++) {
        double product = info->work[w].times;
        for (uint32_t f = 0; f < info->work[w].n_factors; f++)
            product *= factor(info, graph, node, info->work[w].factors[f]);
        work.operations += product;
    }
    for (uint32_t i = 0; i < info->n_in; i++)
        if (node->in[i] >= 0)
            work.bytes += bytes_of(eng_subgraph_tensor(graph, node->in[i])) * part_named(info, graph, node, i);
    for (uint32_t o = 0; o < info->n_out; o++)
        if (node->out[o] >= 0)
            work.bytes += bytes_of(eng_subgraph_tensor(graph, node->out[o]));
    return work;
}

/* -- precision -------------------------------------------------------------------- */

const char *eu_precision_name(uint32_t precision)
{
    static const char *const names[ENG_PRECISIONS] = {"exact", "fast"};
    return precision < ENG_PRECISIONS ? names[precision] : "";
}

const char *eu_precision_text(const eng_subgraph *graph, char *text, size_t room)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        n += eng_subgraph_node(graph, i)->precision != ENG_PRECISION_EXACT;
    if (n == 0)
        snprintf(text, room, "%s", eu_precision_name(ENG_PRECISION_EXACT));
    else
        snprintf(text, room, "%s in %u node%s", eu_precision_name(ENG_PRECISION_FAST), (unsigned)n, n == 1 ? "" : "s");
    return text;
}

/* -- samples ---------------------------------------------------------------------- */

bool eu_row_sample_operand(const eng_op_info *info, uint32_t operand, uint32_t asked, int64_t ne[ENG_MAX_RANK],
                           uint32_t *type)
{
    const char *at = info->sample;
    *type = info->in[operand].types >> ENG_TYPE_F32 & 1 ? ENG_TYPE_F32 : ENG_TYPE_I32;
    for (; operand > 0 && *at != 0 && *at != ';'; operand--) {
        at += strcspn(at, " ;");
        at += *at == ' ';
    }
    if (*at == 0 || *at == ';' || *at == '-')
        return false;
    if (*at == '?') {
        *type = asked;
        at++;
    }
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        char *end;
        ne[d] = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 1;
        at += strspn(at, "0123456789");
        at += *at == ',';
    }
    return true;
}

/* A decimal number, whatever the locale: "-1", "10000", "1e-6". */
static double number(const char **at)
{
    bool minus = **at == '-';
    char *end;
    double x = (double)strtol(*at + minus, &end, 10);
    if (*end == 'e')
        for (long e = strtol(end + 1, &end, 10); e < 0; e++)
            x /= 10;
    *at = end;
    return minus ? -x : x;
}

void eu_row_sample_params(const eng_op_info *info, uint32_t asked, int64_t ip[ENG_MAX_IPARAMS],
                          double fp[ENG_MAX_FPARAMS])
{
    const char *at = strchr(info->sample, ';');
    memset(ip, 0, ENG_MAX_IPARAMS * sizeof *ip);
    memset(fp, 0, ENG_MAX_FPARAMS * sizeof *fp);
    while (at != NULL && *at != 0) {
        at += strspn(at, "; ");
        size_t n = strcspn(at, "=");
        const char *value = at + n + (at[n] == '=');
        for (uint32_t i = 0; i < info->n_params; i++) {
            const eng_param_info *p = &info->param[i];
            if (strlen(p->name) != n || memcmp(p->name, at, n) != 0)
                continue;
            for (uint32_t k = p->first; k < (uint32_t)p->first + p->count; k++) {
                double x = *value == '?' ? (double)asked : number(&value);
                if (p->is_float)
                    fp[k] = x;
                else
                    ip[k] = (int64_t)x;
                value += *value == ',';
            }
        }
        at = value + strcspn(value, " ");
    }
}
