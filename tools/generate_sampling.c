/* engine-generate: the options of samplers that came with 3.1. */
#include "config.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "libengine/util/util.h"

static int refuse(const char *name, const char *value, const char *what)
{
    fprintf(stderr, "engine-generate: %s %s: %s; see engine-generate --help\n", name, value, what);
    return EXIT_USAGE;
}

#define AT(field) offsetof(eng_lm_sampler_params, field)
static const struct row {
    const char *name;
    size_t at;
    double least, most;
    bool whole;
} rows[] = {
    {"--typical", AT(typical_p), 0, 1, false},
    {"--typical-p", AT(typical_p), 0, 1, false},
    {"--top-n-sigma", AT(top_n_sigma), -1, 1000, false},
    {"--xtc-probability", AT(xtc_probability), 0, 1, false},
    {"--xtc-threshold", AT(xtc_threshold), 0, 1, false},
    {"--dynatemp-range", AT(dynatemp_range), 0, 1000, false},
    {"--dynatemp-exp", AT(dynatemp_exponent), 0, 1000, false},
    {"--dry-multiplier", AT(dry_multiplier), 0, 1000, false},
    {"--dry-base", AT(dry_base), 1, 1000, false},
    {"--dry-allowed-length", AT(dry_allowed_length), 0, INT32_MAX, true},
    {"--mirostat", AT(mirostat), 0, 2, true},
    {"--mirostat-ent", AT(mirostat_tau), 0, 1000, false},
    {"--mirostat-lr", AT(mirostat_eta), 0, 1000, false},
    {"--dry-penalty-last-n", AT(dry_penalty_last), -1, INT32_MAX, true},
};

static int number(options *o, const struct row *r, const char *value)
{
    char *end, what[96];
    double v = strtod(value, &end);
    if (!*value || *end || !isfinite(v) || v < r->least || v > r->most || (r->whole && v != floor(v))) {
        snprintf(what, sizeof what, "a %snumber from %.10g to %.10g is needed", r->whole ? "whole " : "", r->least,
                 r->most);
        return refuse(r->name, value, what);
    }
    char *to = (char *)&o->sampler + r->at;
    if (r->whole)
        memcpy(to, &(int32_t){(int32_t)v}, sizeof(int32_t));
    else
        memcpy(to, &(float){(float)v}, sizeof(float));
    return -1;
}

/* "15043+1.5", "15043-inf" */
static int bias(options *o, const char *name, const char *value)
{
    char *sign, *end;
    long token = strtol(value, &sign, 10);
    double by = *sign == '+' || *sign == '-' ? strtod(sign, &end) : 0;
    if (sign == value || *value < '0' || *value > '9' || (*sign != '+' && *sign != '-') || end == sign || *end ||
        isnan(by) || by == INFINITY || token > INT32_MAX)
        return refuse(name, value, "TOKEN+BIAS or TOKEN-BIAS is needed, such as 15043+1 or 15043-inf");
    if (o->sampler.n_logit_bias == MAX_BIASES)
        return refuse(name, value, "too many of these");
    o->biases[o->sampler.n_logit_bias++] = (eng_lm_logit_bias){(int32_t)token, (float)by};
    o->sampler.logit_bias = o->biases;
    return -1;
}

/* The first takes the place of those that there are else. */
static int breaker(options *o, const char *name, const char *value)
{
    o->sampler.dry_breakers = o->breakers;
    if (strcmp(value, "none") == 0) {
        o->sampler.n_dry_breakers = 0;
        return -1;
    }
    if (o->sampler.n_dry_breakers == MAX_BREAKERS)
        return refuse(name, value, "too many of these");
    o->breakers[o->sampler.n_dry_breakers++] = value;
    return -1;
}

int sampling_option(options *o, const char *name, const char *value)
{
    o->sampling = name;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return number(o, &rows[i], value);
    if (strcmp(name, "--logit-bias") == 0)
        return bias(o, name, value);
    if (strcmp(name, "--dry-sequence-breaker") == 0)
        return breaker(o, name, value);
    o->sampler.samplers = value;
    return -1;
}
