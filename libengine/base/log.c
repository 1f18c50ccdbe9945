/* The log: one line a call, handed to the host's function. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "base.h"

void eng_vlog(const eng_base *base, int level, const char *source, const char *format, va_list args)
{
    if (!base || !base->log || level > base->log_level)
        return;
    int saved = errno; /* logging must not disturb the code that it watches */
    char text[1024];
    if (vsnprintf(text, sizeof text, format, args) >= 0)
        base->log(base->log_user, level, source, text);
    errno = saved;
}

void eng_log(const eng_base *base, int level, const char *source, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vlog(base, level, source, format, args);
    va_end(args);
}
