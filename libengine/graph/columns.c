/* The columns of an op's row beside its rule, parsed. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "columns.h"

static const char *skip(const char *at)
{
    return at + strspn(at, " ");
}

/* -- params -------------------------------------------------------------------- */

/* "name:i name:f[4]" */
static bool parse_params(eng_op_info *info)
{
    for (const char *at = skip(info->params); *at != 0; info->n_params++) {
        eng_param_info *p = &info->param[info->n_params];
        size_t n = strcspn(at, ":");
        if (info->n_params == ENG_MAX_PARAMS || n == 0 || n >= sizeof p->name || at[n] != ':' ||
            (at[n + 1] != 'i' && at[n + 1] != 'f'))
            return false;
        memcpy(p->name, at, n);
        p->is_float = at[n + 1] == 'f';
        at += n + 2;
        p->count = *at == '[' ? (uint8_t)strtol(at + 1, NULL, 10) : 1;
        uint8_t *used = p->is_float ? &info->n_fp : &info->n_ip;
        p->first = *used;
        *used = (uint8_t)(*used + p->count);
        at = skip(at + strcspn(at, " "));
    }
    return info->n_ip <= ENG_MAX_IPARAMS && info->n_fp <= ENG_MAX_FPARAMS;
}

static int integer_param(const eng_op_info *info, const char *name, size_t length)
{
    for (int i = 0; i < info->n_params; i++)
        if (!info->param[i].is_float && strlen(info->param[i].name) == length &&
            memcmp(info->param[i].name, name, length) == 0)
            return info->param[i].first;
    return -1;
}

/* -- types --------------------------------------------------------------------- */

#define BIT(id) (UINT64_C(1) << ENG_TYPE_##id)
#define FLOATS (BIT(F32) | BIT(F16) | BIT(BF16))
#define CACHE (FLOATS | BIT(Q8_0) | BIT(Q4_0) | BIT(Q4_1) | BIT(Q5_0) | BIT(Q5_1) | BIT(IQ4_NL))

static uint64_t every_type(void)
{
    uint64_t all = 0;
    for (uint32_t type = 0; type < ENG_TYPE_LIMIT; type++)
        if (eng_type_get(type) != NULL)
            all |= UINT64_C(1) << type;
    return all;
}

/* A type or a set of types; 0: there is none of that name. */
static uint64_t types_named(const char *name, size_t length)
{
    const struct {
        const char *name;
        uint64_t types;
    } sets[] = {{"floats", FLOATS},
                {"cache", CACHE},
                {"encoded", every_type() & ~(BIT(I32) | BIT(I64))},
                {"any", every_type()}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strlen(sets[i].name) == length && memcmp(sets[i].name, name, length) == 0)
            return sets[i].types;
    for (uint32_t type = 0; type < ENG_TYPE_LIMIT; type++) {
        const eng_type_info *info = eng_type_get(type);
        if (info != NULL && strlen(info->name) == length && memcmp(info->name, name, length) == 0)
            return UINT64_C(1) << type;
    }
    return 0;
}

/* "f32|f16*^" */
static const char *take_operand_types(const char *at, eng_rule_operand *operand)
{
    for (;;) {
        size_t n = strcspn(at, "|*.^ ");
        uint64_t types = types_named(at, n);
        if (types == 0)
            return NULL;
        operand->types |= types;
        at += n;
        if (*at != '|')
            break;
        at++;
    }
    for (; *at != 0 && *at != ' '; at++) {
        if (*at == '*')
            operand->strides = ENG_STRIDES_ANY;
        else if (*at == '.')
            operand->strides = ENG_STRIDES_CONTIGUOUS;
        else if (*at == '^')
            operand->in_place = 1;
        else
            return NULL;
    }
    return skip(at);
}

static int operand_named(const eng_op_info *info, const char *name, size_t length)
{
    for (int i = 0; i < info->n_in; i++)
        if (strlen(info->in[i].name) == length && memcmp(info->in[i].name, name, length) == 0)
            return i;
    return -1;
}

/* "f32", "=x", "~x", "=type" */
static const char *take_result_type(const char *at, const eng_op_info *info, eng_rule_operand *result)
{
    size_t n = strcspn(at, " ");
    int operand = n > 1 ? operand_named(info, at + 1, n - 1) : -1;
    if (operand >= 0 && (at[0] == '=' || at[0] == '~')) {
        result->type_source = at[0] == '=' ? ENG_TYPE_OF_OPERAND : ENG_TYPE_OF_VALUES;
        result->type_index = (uint8_t)operand;
        result->types = at[0] == '=' ? info->in[operand].types
                                     : (info->in[operand].types & (BIT(I32) | BIT(I64))) | BIT(F32);
    } else if (at[0] == '=') {
        int param = integer_param(info, at + 1, n - 1);
        if (param < 0)
            return NULL;
        result->type_source = ENG_TYPE_OF_PARAM;
        result->type_index = (uint8_t)param;
        result->types = every_type();
    } else {
        result->types = types_named(at, n);
        if (result->types == 0)
            return NULL;
    }
    return skip(at + n);
}

static bool parse_types(eng_op_info *info)
{
    const char *at = skip(info->types);
    if (*at == 0)
        return true; /* of graphs that no host builds */
    for (int i = 0; i < info->n_in && at != NULL; i++)
        at = take_operand_types(at, &info->in[i]);
    if (at != NULL && info->n_out > 0)
        at = strncmp(at, "->", 2) == 0 ? skip(at + 2) : NULL;
    for (int o = 0; o < info->n_out && at != NULL; o++)
        at = take_result_type(at, info, &info->out[o]);
    return at != NULL && *at == 0;
}

/* -- work ---------------------------------------------------------------------- */

/* A letter, or "#name". */
static int factor_named(const eng_op_info *info, const char *name, size_t length)
{
    if (name[0] != '#') {
        for (int i = 0; i < info->n_letters; i++)
            if (strlen(info->letter_name[i]) == length && memcmp(info->letter_name[i], name, length) == 0)
                return i;
        return -1;
    }
    int operand = operand_named(info, name + 1, length - 1);
    if (operand >= 0)
        return ENG_WORK_OPERAND + operand;
    for (int o = 0; o < info->n_out; o++)
        if (strlen(info->out[o].name) == length - 1 && memcmp(info->out[o].name, name + 1, length - 1) == 0)
            return ENG_WORK_RESULT + o;
    return -1;
}

static bool parse_work(eng_op_info *info, const char *at)
{
    info->n_work = 0;
    for (at = skip(at); *at != 0 && info->n_work < ENG_MAX_WORK; info->n_work++) {
        eng_work_term *term = &info->work[info->n_work];
        *term = (eng_work_term){.times = 1};
        for (; *at != 0 && *at != '+'; at = skip(at)) {
            size_t n = strcspn(at, " ");
            if (*at >= '0' && *at <= '9') {
                term->times *= (double)strtol(at, NULL, 10);
            } else {
                int factor = factor_named(info, at, n);
                if (factor < 0 || term->n_factors == sizeof term->factors)
                    return false;
                term->factors[term->n_factors++] = (uint8_t)factor;
            }
            at += n;
        }
        at = skip(at + (*at == '+'));
    }
    return *at == 0;
}

bool eng_columns_parse(eng_op_info *info, const char *work)
{
    return parse_params(info) && parse_types(info) && parse_work(info, work);
}
