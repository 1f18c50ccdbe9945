/*
 * Parser of device names: see names.h.  By hand and independent of the locale
 * (a host may have set one with a decimal comma).
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "names.h"

#define LARGEST_INDEX 9999u

typedef struct parser {
    const char *text; /* the whole name, for messages */
    const char *at;
} parser;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int wrong(const parser *p, const char *what)
{
    return eng_fail_code(ENG_ERR_INVALID, ENG_CODE_DEVICE_NAME, -1, "device name '%s', at character %u" ENG_CAUSE "%s",
                         p->text, (unsigned)(p->at - p->text) + 1, what);
}

/* A number up to LARGEST_INDEX; `missing` is the complaint if there is none. */
static int parse_number(parser *p, const char *missing, uint32_t *number)
{
    if (!is_digit(*p->at))
        return wrong(p, missing);
    uint32_t n = 0;
    for (const char *c = p->at; is_digit(*c); c++) {
        n = n * 10 + (uint32_t)(*c - '0');
        if (n > LARGEST_INDEX)
            return wrong(p, "this number is too large");
    }
    while (is_digit(*p->at))
        p->at++;
    *number = n;
    return ENG_OK;
}

/* plugin[:index] */
static int parse_plugin(parser *p, eng_leaf_name *leaf)
{
    size_t n = 0;
    if (!is_letter(*p->at))
        return wrong(p, *p->at ? "a device begins with the name of its plugin, as in 'cpu' or 'opencl:0'"
                               : "a device is missing; write for example 'cpu' or 'opencl:0'");
    while (is_letter(p->at[n]) || is_digit(p->at[n]) || p->at[n] == '-')
        n++;
    if (n >= sizeof leaf->plugin)
        return wrong(p, "the plugin's name is too long");
    memcpy(leaf->plugin, p->at, n);
    leaf->plugin[n] = 0;
    p->at += n;
    leaf->index = 0;
    if (*p->at != ':')
        return ENG_OK;
    p->at++;
    return parse_number(p, "the number of the device is missing, as in 'opencl:0'", &leaf->index);
}

/* [/parts[.part]]; *cut: all parts are meant */
static int parse_cut(parser *p, eng_leaf_name *leaf, bool *all)
{
    int status;
    leaf->parts = 1;
    leaf->part = 0;
    *all = false;
    if (*p->at != '/')
        return ENG_OK;
    p->at++;
    if ((status = parse_number(p, "the number of parts is missing, as in 'cpu/2'", &leaf->parts)) < 0)
        return status;
    if (leaf->parts == 0)
        return wrong(p, "a device cannot be cut into 0 parts; write 1 or more after '/'");
    if (leaf->parts > ENG_MAX_RANKS)
        return wrong(p, "too many parts: a device is cut into 16 at most");
    if (*p->at != '.') {
        *all = true;
        return ENG_OK;
    }
    p->at++;
    if ((status = parse_number(p, "the number of the part is missing, as in 'cpu/2.1'", &leaf->part)) < 0)
        return status;
    if (leaf->part >= leaf->parts)
        return wrong(p, "no such part: parts are counted from 0, so that 'cpu/2' has 'cpu/2.0' and 'cpu/2.1'");
    return ENG_OK;
}

static int add_leaf(const parser *p, eng_device_name *name, const eng_leaf_name *leaf, const char *begin, size_t length)
{
    if (name->n_leaves == ENG_MAX_RANKS)
        return wrong(p, "too many devices: at most 16 are composed");
    eng_leaf_name *to = &name->leaves[name->n_leaves];
    *to = *leaf;
    int n;
    if (leaf->parts > 1)
        n = snprintf(to->name, sizeof to->name, "%.*s/%u.%u", (int)length, begin, leaf->parts, leaf->part);
    else
        n = snprintf(to->name, sizeof to->name, "%.*s", (int)length, begin);
    if (n < 0 || (size_t)n >= sizeof to->name)
        return wrong(p, "this name is too long");
    name->n_leaves++;
    return ENG_OK;
}

static int parse_part(parser *p, eng_device_name *name)
{
    eng_leaf_name leaf;
    bool all;
    int status;
    const char *begin = p->at;
    memset(&leaf, 0, sizeof leaf);
    if ((status = parse_plugin(p, &leaf)) < 0)
        return status;
    size_t length = (size_t)(p->at - begin);
    if ((status = parse_cut(p, &leaf, &all)) < 0)
        return status;
    if (!all)
        return add_leaf(p, name, &leaf, begin, length);
    for (leaf.part = 0; leaf.part < leaf.parts; leaf.part++)
        if ((status = add_leaf(p, name, &leaf, begin, length)) < 0)
            return status;
    return ENG_OK;
}

/* digits[.digits] or .digits */
static int parse_share(parser *p, double *share)
{
    const char *c = p->at;
    double value = 0, scale = 1;
    int digits = 0;
    for (; is_digit(*c); c++, digits++)
        value = value * 10 + (*c - '0');
    if (*c == '.')
        for (c++; is_digit(*c); c++, digits++)
            value += (scale /= 10) * (*c - '0');
    if (digits == 0 || digits > 15)
        return wrong(p, "a share is a number of 0 or more, as in '@3:1'");
    p->at = c;
    *share = value;
    return ENG_OK;
}

static int parse_shares(parser *p, eng_device_name *name)
{
    uint32_t n = 0;
    double sum = 0;
    do {
        double share = 0;
        p->at++; /* '@' or ':' */
        int status = parse_share(p, &share);
        if (status < 0)
            return status;
        if (n < ENG_MAX_RANKS)
            name->shares[n] = share;
        n++;
        sum += share;
    } while (*p->at == ':');
    if (*p->at)
        return wrong(p, "shares are numbers with ':' between them, at the end of the name, as in 'cpu/2@3:1'");
    if (n != name->n_leaves)
        return eng_fail_code(ENG_ERR_INVALID, ENG_CODE_DEVICE_NAME, -1, "device name '%s'" ENG_CAUSE
                             "%u share%s for %u device%s" ENG_ADVICE "give one share per device ('x/2' counts as two)",
                             p->text, n, n == 1 ? "" : "s", name->n_leaves, name->n_leaves == 1 ? "" : "s");
    if (!(sum > 0))
        return eng_fail_code(ENG_ERR_INVALID, ENG_CODE_DEVICE_NAME, -1, "device name '%s'" ENG_CAUSE
                             "all shares are 0; at least one must be more", p->text);
    name->has_shares = true;
    return ENG_OK;
}

int eng_device_name_parse(const char *text, eng_device_name *name)
{
    if (!text || !*text)
        return eng_fail_code(ENG_ERR_INVALID, ENG_CODE_DEVICE_NAME, -1, "the device name is empty" ENG_ADVICE
                             "write for example 'cpu' or 'opencl:0'");
    parser p = {text, text};
    eng_device_name result;
    int status;
    memset(&result, 0, sizeof result);
    for (;;) {
        if ((status = parse_part(&p, &result)) < 0)
            return status;
        if (*p.at != '+')
            break;
        p.at++;
    }
    if (*p.at == '@' && (status = parse_shares(&p, &result)) < 0)
        return status;
    if (*p.at)
        return wrong(&p,
                     "not understood here; a device is plugin[:index][/parts[.part]], '+' composes, '@' gives shares");
    *name = result;
    return ENG_OK;
}
