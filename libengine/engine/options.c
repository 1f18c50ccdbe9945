/*
 * Options: declared by the engine and by plugins, each with its help text; the
 * value comes from the host, else from the environment, else it is the default.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

void eng_options_init(eng_options *options, bool use_environment)
{
    memset(options, 0, sizeof *options);
    pthread_mutex_init(&options->lock, NULL);
    options->use_environment = use_environment;
}

void eng_options_free(eng_options *options)
{
    free(options->list);
    eu_arena_end(&options->memory);
    pthread_mutex_destroy(&options->lock);
}

static eng_option *find(const eng_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->n; i++)
        if (strcmp(options->list[i].name, name) == 0)
            return &options->list[i];
    return NULL;
}

/* "cpu.max-threads" -> "ENGINE_CPU_MAX_THREADS"; the engine's own: "engine.x" -> "ENGINE_X". */
static char *environment_name(eu_arena *memory, const char *name)
{
    const char *skip = strncmp(name, "engine.", 7) == 0 ? name + 7 : name;
    char *text = eu_arena_format(memory, "ENGINE_%s", skip);
    for (char *c = text; c && *c; c++) {
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
        else if (!(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9'))
            *c = '_';
    }
    return text;
}

/* A process that runs with another user's rights does not trust its environment. */
static const char *environment(const char *name)
{
#ifdef HAVE_SECURE_GETENV
    return secure_getenv(name);
#else
    return getenv(name);
#endif
}

static int declare(eng_options *options, const char *name, const char *default_value, const char *help)
{
    if (!name)
        return eng_fail_memory();
    if (find(options, name))
        return ENG_OK; /* the same plugin from another folder */
    if (!eu_reserve(options->list, options->room, (size_t)options->n + 1))
        return eng_fail_memory();
    eng_option option = {.name = name, .default_value = default_value, .help = help};
    option.environment = environment_name(&options->memory, name);
    if (!option.environment)
        return eng_fail_memory();
    const char *value = options->use_environment ? environment(option.environment) : NULL;
    if (value && *value && !(option.from_environment = eu_arena_string(&options->memory, value)))
        return eng_fail_memory();
    uint32_t at = options->n++;
    for (; at > 0 && strcmp(options->list[at - 1].name, name) > 0; at--)
        options->list[at] = options->list[at - 1];
    options->list[at] = option;
    return ENG_OK;
}

int eng_options_declare_engine(eng_options *options)
{
    static const struct {
        const char *name, *help;
    } own[] = {
        {"engine.plugins", "plugins to use (\"cpu,meta\") or not to use (\"^opencl\"); patterns with * and ? are "
                           "allowed, one with a / means a path"},
        {"engine.plugin_path", "folders searched for plugins, ':' between them, before the standard ones"},
        {"engine.cache_dir",
         "folder for compiled kernels and the like (default: libengine in the user's cache folder)"},
        {"engine.data_dir", "folder of installed data files (for plugins that have some; none of ours does)"},
    };
    int status = ENG_OK;
    for (size_t i = 0; i < sizeof own / sizeof *own && status >= 0; i++)
        status = declare(options, own[i].name, "", own[i].help);
    return status;
}

int eng_options_declare_plugin(eng_options *options, const eng_plugin_descriptor *d)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < d->n_options && status >= 0; i++) {
        /* the plugin's struct may be longer than ours */
        const eng_plugin_option *o =
            (const eng_plugin_option *)((const char *)d->options + i * (size_t)d->options[0].size);
        status = declare(options, eu_arena_format(&options->memory, "%s.%s", d->name, o->name), o->default_value,
                         o->help);
    }
    return status;
}

static const char *value_of(const eng_option *o)
{
    return o->from_host ? o->from_host : o->from_environment ? o->from_environment : o->default_value;
}

const char *eng_options_value(eng_options *options, const char *name)
{
    pthread_mutex_lock(&options->lock);
    const eng_option *o = find(options, name);
    const char *value = o ? value_of(o) : NULL;
    pthread_mutex_unlock(&options->lock);
    return value;
}

static int no_option(const eng_options *options, const char *name)
{
    const char *near = NULL;
    unsigned best = UINT_MAX;
    for (uint32_t i = 0; i < options->n; i++)
        if (eu_nearer(name, options->list[i].name, &best))
            near = options->list[i].name;
    return eng_fail(ENG_ERR_NOTFOUND, "there is no option '%s'%s%s%s; engine-probe --env lists all, and a plugin's "
                    "options exist only if the plugin is there", name, near ? " (did you mean '" : "", near ? near : "",
                    near ? "'?)" : "");
}

int eng_context_set_option(eng_context *context, const char *name, const char *value)
{
    if (!context || !name || !value)
        return eng_fail(ENG_ERR_INVALID, "eng_context_set_option" ENG_CAUSE "context, name or value is NULL");
    if (strcmp(name, "engine.plugins") == 0 || strcmp(name, "engine.plugin_path") == 0)
        return eng_fail(ENG_ERR_STATE, "option '%s' acts when a context is created" ENG_ADVICE
                        "set it in the environment, or "
                        "give eng_context_params", name);
    eng_options *options = &context->options;
    int status = ENG_OK;
    pthread_mutex_lock(&options->lock);
    eng_option *o = find(options, name);
    /* former values stay in memory: a plugin may still look at one */
    char *copy = o ? eu_arena_string(&options->memory, value) : NULL;
    if (copy)
        o->from_host = copy;
    else if (o)
        status = eng_fail_memory();
    else
        status = no_option(options, name);
    pthread_mutex_unlock(&options->lock);
    return status;
}

int eng_context_option(eng_context *context, uint32_t index, eng_option_info *info)
{
    if (!context || !info)
        return eng_fail(ENG_ERR_INVALID, "eng_context_option" ENG_CAUSE "context or info is NULL");
    eng_options *options = &context->options;
    int status = ENG_OK;
    pthread_mutex_lock(&options->lock);
    if (index < options->n) {
        const eng_option *o = &options->list[index];
        eng_option_info own = {
            .name = o->name, .environment = o->environment, .value = value_of(o), .default_value = o->default_value,
            .source = o->from_host ? "host" : o->from_environment ? "environment" : "default", .help = o->help,
        };
        status = eng_give(info, &own, sizeof own, "eng_option_info");
    } else {
        status = eng_fail(ENG_ERR_NOTFOUND, "there are %u options; no number %u", options->n, index);
    }
    pthread_mutex_unlock(&options->lock);
    return status;
}
