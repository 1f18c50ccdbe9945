/* A case as engine-bench reads it: "mul_mat a=q4_0[64,7] b=f32[64,3] precision=fast". */
#include "config.h"

#include "suite.h"

#include <string.h>

#include "libengine/util/util.h"

/* ":a:b", the integers that the operand holds, if there are not too many for a line. */
static void add_values(eu_text *t, const cf_operand *o, uint32_t rank)
{
    enum { MOST = 64 }; /* as tools/bench.h */
    int64_t n = 1;
    for (uint32_t d = 0; d < rank; d++)
        n *= o->seen.ne[d];
    if ((o->type != ENG_TYPE_I32 && o->type != ENG_TYPE_I64) || o->n_views || n > MOST || !o->bytes)
        return;
    for (int64_t i = 0; i < n; i++)
        eu_text_format(t, ":%lld", (long long)(o->type == ENG_TYPE_I32 ? ((const int32_t *)(const void *)o->bytes)[i]
                                                                     : ((const int64_t *)(const void *)o->bytes)[i]));
}

/* NAME=TYPE[EXTENT,...], of what the op sees: views are left out. */
static void add_operand(eu_text *t, const char *name, const cf_operand *o)
{
    uint32_t rank = ENG_MAX_RANK;
    while (rank > 1 && o->seen.ne[rank - 1] == 1)
        rank--;
    eu_text_format(t, " %s=%s[", name, eng_type_get(o->type)->name);
    for (uint32_t d = 0; d < rank; d++)
        eu_text_format(t, "%s%lld", d ? "," : "", (long long)o->seen.ne[d]);
    eu_text_add(t, "]");
    add_values(t, o, rank);
}

static void add_param(eu_text *t, const cf_case *c, const eng_param_info *p)
{
    if (strcmp(p->name, "kv_param") == 0)
        return; /* a line has no plan parameters: all cells */
    eu_text_format(t, " %s=", p->name);
    for (uint32_t k = 0; k < p->count; k++)
        if (p->is_float)
            eu_text_format(t, "%s%.9g", k ? "," : "", c->fp[p->first + k]);
        else
            eu_text_format(t, "%s%lld", k ? "," : "", (long long)c->ip[p->first + k]);
}

char *cf_line(const cf_case *c)
{
    const eng_op_info *info = eng_op_get(c->op);
    eu_text t = {0};
    eu_text_add(&t, info->name);
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i].present)
            add_operand(&t, info->in[i].name, &c->in[i]);
    for (uint32_t i = 0; i < info->n_params; i++)
        add_param(&t, c, &info->param[i]);
    if (c->precision != ENG_PRECISION_EXACT)
        eu_text_format(&t, " precision=%s", eng_precision_name(c->precision));
    return eu_text_take(&t);
}
