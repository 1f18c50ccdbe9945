/* A line that describes a case, read: "mul_mat a=q4_0[4096,14336] b=f32[4096,1] precision=fast". */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "libengine/util/util.h"

/* A line as it is read: what comes next, and what is wrong. */
typedef struct reader {
    bench_case *c;
    char *why;
    size_t room;
    uint64_t params; /* bits of those that were there */
} reader;

__attribute__((format(printf, 2, 3))) static bool wrong(reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->why, r->room, format, args);
    va_end(args);
    return false;
}

static bool read_int(const char **at, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(*at, &end, 10);
    bool good = end != *at && errno == 0;
    *at = end;
    return good;
}

static bool read_float(const char **at, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(*at, &end);
    bool good = end != *at && (errno == 0 || fabs(*value) < 1); /* what is too small is a number */
    *at = end;
    return good;
}

/* "%N", "+N" or ":a:b:c" after the extents. */
static bool read_fill(reader *r, const char *name, const char *at, bench_operand *o)
{
    if (*at == '\0')
        return true;
    const char kind = *at;
    if (o->type != ENG_TYPE_I32 && o->type != ENG_TYPE_I64)
        return wrong(r, "%s: only integers have values that a line gives, got \"%s\"", name, at);
    o->fill = kind == '%' ? BENCH_SCATTERED : kind == '+' ? BENCH_ASCENDING : BENCH_NAMED;
    if (kind != ':') {
        at++;
        if (!read_int(&at, &o->number) || *at || (kind == '%' && o->number < 1) || !strchr("%+", kind))
            return wrong(r, "%s: values must be %%N, +N or :a:b:c after the extents", name);
        return true;
    }
    while (*at == ':') {
        at++;
        if (o->n_listed == BENCH_LISTED || !read_int(&at, &o->listed[o->n_listed++]))
            return wrong(r, "%s: at most %d numbers may be listed, as in :0:512", name, BENCH_LISTED);
    }
    return *at ? wrong(r, "%s: values must be %%N, +N or :a:b:c after the extents", name) : true;
}

/* TYPE[n,n,...] */
static bool read_operand(reader *r, uint32_t i, const char *at)
{
    const char *name = r->c->op->in[i].name;
    bench_operand *o = &r->c->in[i];
    char type[32];
    size_t n = strcspn(at, "[");
    eu_copy(type, n + 1 < sizeof type ? n + 1 : sizeof type, at);
    const eng_type_info *info = eng_type_find(type);
    if (!info || at[n] != '[')
        return wrong(r, "%s must be TYPE[EXTENT,...], as in q4_0[4096,14336], got \"%.60s\"", name, at);
    if (o->present)
        return wrong(r, "%s is there twice", name);
    *o = (bench_operand){.present = true, .type = info->type};
    at += n + 1;
    for (;;) {
        if (o->rank == ENG_MAX_RANK || !read_int(&at, &o->ne[o->rank]) || o->ne[o->rank] < 1)
            return wrong(r, "%s must have 1 to %d extents, each at least 1", name, ENG_MAX_RANK);
        o->rank++;
        if (*at == ']')
            return read_fill(r, name, at + 1, o);
        if (*at++ != ',')
            return wrong(r, "%s: its extents must end with \"]\"", name);
    }
}

/* Numbers of a parameter, or the name of a type. */
static bool read_param(reader *r, const eng_param_info *p, const char *at)
{
    for (uint32_t k = 0; k < p->count; k++) {
        const eng_type_info *type = strcmp(p->name, "type") == 0 ? eng_type_find(at) : NULL;
        const char *end = at;
        if (type) {
            r->c->ip[p->first] = type->type;
            return true;
        }
        const bool good = p->is_float ? read_float(&end, &r->c->fp[p->first + k]) : read_int(&end, &r->c->ip[p->first + k]);
        if (!good || (*end && *end != ','))
            return wrong(r, "%s must be %s, got \"%.60s\"", p->name, p->is_float ? "a number" : "an integer", at);
        if (!*end)
            return true; /* the rest stays */
        at = end + 1;
    }
    return wrong(r, "%s has %u number%s", p->name, p->count, p->count == 1 ? "" : "s");
}

static bool read_layout(reader *r, const char *value)
{
    static const char *const names[] =
        {[ENG_LAYOUT_AUTO] = "auto", [ENG_LAYOUT_FILE] = "file", [ENG_LAYOUT_PACKED] = "packed"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && strcmp(names[i], value) == 0) {
            r->c->layout = i;
            return true;
        }
    return wrong(r, "layout must be auto, file or packed, got \"%.60s\"", value);
}

/* NAME=VALUE */
static bool read_word(reader *r, char *word)
{
    bench_case *c = r->c;
    char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return wrong(r, "\"%.60s\" must be NAME=VALUE", word);
    *equals = '\0';
    const char *value = equals + 1;
    for (uint32_t i = 0; i < c->op->n_in; i++)
        if (strcmp(word, c->op->in[i].name) == 0)
            return read_operand(r, i, value);
    for (uint32_t i = 0; i < c->op->n_params; i++)
        if (strcmp(word, c->op->param[i].name) == 0) {
            if (r->params >> i & 1)
                return wrong(r, "%s is there twice", word);
            r->params |= UINT64_C(1) << i;
            return read_param(r, &c->op->param[i], value);
        }
    if (strcmp(word, "precision") == 0) {
        for (uint32_t p = 0; p < ENG_PRECISIONS; p++)
            if (strcmp(value, eng_precision_name(p)) == 0) {
                c->precision = (eng_precision)p;
                return true;
            }
        return wrong(r, "precision must be exact or fast, got \"%.60s\"", value);
    }
    if (strcmp(word, "layout") == 0)
        return read_layout(r, value);
    if (strcmp(word, "device") == 0) {
        eu_copy(c->device, sizeof c->device, value);
        return true;
    }
    return wrong(r, "%s has no operand and no parameter %.60s: %s; parameters: %s", c->op->name, word, c->op->rule,
                 *c->op->params ? c->op->params : "none");
}

static bool read_op(reader *r, const char *name)
{
    const char *near = NULL;
    unsigned best = UINT_MAX;
    r->c->op = eng_op_find(name);
    for (uint32_t i = 1; i < ENG_OP_LIMIT && !r->c->op; i++)
        if (eng_op_get(i) && eu_nearer(name, eng_op_get(i)->name, &best))
            near = eng_op_get(i)->name;
    if (!r->c->op)
        return wrong(r, "there is no op %.60s%s%s%s", name, near ? " (did you mean " : "", near ? near : "",
                     near ? "?)" : "");
    if (r->c->op->flags & (ENG_OPF_VIEW | ENG_OPF_BARRIER))
        return wrong(r, "%s computes nothing", name);
    eu_row_sample_params(r->c->op, ENG_TYPE_F32, r->c->ip, r->c->fp); /* what is not said */
    return true;
}

/* All that must be there. */
static bool complete(reader *r)
{
    const bench_case *c = r->c;
    for (uint32_t i = 0; i < c->op->n_in; i++)
        if (!c->in[i].present && !c->op->in[i].optional)
            return wrong(r, "%s needs operand %s: %s", c->op->name, c->op->in[i].name, c->op->rule);
    return true;
}

static bool read_line(reader *r, char *line)
{
    char *rest = NULL;
    eu_text text = {0};
    for (char *word = strtok_r(line, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
        eu_text_add(&text, text.n ? " " : "");
        eu_text_add(&text, word);
        if (r->c->op ? !read_word(r, word) : !read_op(r, word)) {
            eu_text_free(&text);
            return false;
        }
    }
    r->c->text = eu_text_take(&text);
    return r->c->text ? complete(r) : wrong(r, "out of memory");
}

bool bench_case_add(bench_cases *cases, const char *line, char *why, size_t room)
{
    bench_case c = {.precision = ENG_PRECISION_EXACT};
    reader r = {.c = &c, .why = why, .room = room};
    line += strspn(line, " \t\r\n");
    if (!*line || *line == '#')
        return true;
    char *copy = strdup(line);
    if (!copy || !eu_reserve(cases->at, cases->room, (size_t)cases->n + 1)) {
        free(copy);
        return wrong(&r, "out of memory");
    }
    bool good = read_line(&r, copy);
    free(copy);
    if (good)
        cases->at[cases->n++] = c;
    else
        free(c.text);
    return good;
}

void bench_cases_free(bench_cases *cases)
{
    for (uint32_t i = 0; i < cases->n; i++)
        free(cases->at[i].text);
    free(cases->at);
    *cases = (bench_cases){0};
}
