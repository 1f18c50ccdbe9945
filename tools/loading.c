/* A plugin's constructor that calls exit() would end the program as if all were well. */
#include "config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libengine/util/util.h"
#include "loading.h"

static _Atomic(const char *) loader; /* the program, while plugins are loaded; NULL: they are not */
static int exit_code;
static char last_said[1024]; /* by the engine */

static atomic_bool shown; /* what the engine does */

/* Any thread. */
static void show(const char *text)
{
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
}

void show_work(bool on)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (!on && shown)
        show("");
    shown = on;
}

static void keep_last(void *user, int level, const char *source, const char *text)
{
    (void)user, (void)source;
    if (shown && level <= ENG_LOG_INFO)
        show(text);
    if (loader) /* later the log is of many threads, and of no interest */
        eu_copy(last_said, sizeof last_said, text);
}

static void tell(void)
{
    if (!loader)
        return;
    const char *program = loader;
    fprintf(stderr,
            "%s: a plugin has ended this process, by calling exit(); the engine's last word: %s; switch the plugin off "
            "with ENGINE_PLUGINS\n",
            program, *last_said ? last_said : "none");
    fflush(NULL);
    _exit(exit_code);
}

/* Devices that only compile (opencl.compile) would give a program nothing but zeros. */
static int check_environment(eng_context *context)
{
    eng_option_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_option(context, i, &info) == ENG_OK; i++)
        if (strcmp(info.name, "opencl.compile") == 0 && *info.value && strcmp(info.value, "no") != 0)
            return eng_fail(ENG_ERR_INVALID, "%s is %s" ENG_CAUSE "devices would compute nothing" ENG_ADVICE
                            "unset it; engine-generate --compile compiles", info.environment, info.value);
    return ENG_OK;
}

int create_context(const char *program, int code, const eng_context_params *params, eng_context **context)
{
    static int registered;
    eng_context_params own = {.size = sizeof own};
    if (params)
        own = *params;
    own.log = keep_last;
    own.log_level = ENG_LOG_DEBUG;
    if (!registered && atexit(tell) != 0)
        return eng_fail_code(EU_NO_MEMORY("a function called at exit"));
    registered = 1;
    exit_code = code;
    *last_said = 0;
    loader = program;
    int status = eng_context_create(&own, context);
    loader = NULL;
    if (!status && (status = check_environment(*context))) {
        eng_context_destroy(*context);
        *context = NULL;
    }
    return status;
}
