/* engine-generate: what a conversation shows. */
#include "config.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "chat.h"

const char *chat_color(const chat *c, int what)
{
    static const char *const codes[] =
        {[CHAT_PLAIN] = "\033[0m", [CHAT_PROMPT] = "\033[1;32m", [CHAT_NOTE] = "\033[2m"};
    return c->color ? codes[what] : "";
}

void chat_note(const chat *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs(chat_color(c, CHAT_NOTE), stderr);
    vfprintf(stderr, format, args);
    fprintf(stderr, "%s\n", chat_color(c, CHAT_PLAIN));
    va_end(args);
}

void chat_complain(const chat *c)
{
    chat_note(c, "engine-generate: %s", eng_last_error());
}

/* What a model says must not move the cursor or rename the window. */
static int show_safely(const char *text, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i <= n; i++) {
        unsigned char ch = i < n ? (unsigned char)text[i] : 0;
        if (i < n && (!iscntrl(ch) || ch == '\n' || ch == '\t'))
            continue;
        if (fwrite(text + from, 1, i - from, stdout) < i - from)
            return run_output_failed();
        if (i < n)
            fprintf(stdout, "^%c", ch == 127 ? '?' : ch + 64);
        from = i + 1;
    }
    return ENG_OK;
}

int chat_show(run *r, const char *text, size_t n)
{
    (void)r;
    int status = isatty(STDOUT_FILENO)          ? show_safely(text, n) :
                 fwrite(text, 1, n, stdout) < n ? run_output_failed() :
                                                  ENG_OK;
    return status ? status : fflush(stdout) ? run_output_failed() : ENG_OK;
}

static void tell_rate(eu_text *t, size_t n, size_t cold, double seconds)
{
    if (n > cold && seconds > 0)
        eu_text_format(t, ", %.1f tokens/s", (double)(n - cold) / seconds);
    else if (cold)
        eu_text_add(t, ", kernels were compiled meanwhile");
}

void chat_tell_speed(const chat *c, const chat_answer *a)
{
    char line[256];
    eu_text t = EU_TEXT_IN(line);
    const report *r = &a->report;
    eu_text_format(&t, "prompt %zu tokens, %zu of them known", r->n_prompt, a->n_known);
    tell_rate(&t, r->n_prompt - a->n_known, r->prompt_cold, r->prompt_seconds);
    eu_text_format(&t, "; answer %zu tokens", r->n_tokens);
    tell_rate(&t, r->n_decoded, r->decode_cold, r->decode_seconds);
    chat_note(c, "(%s)", line);
}

void chat_tell_devices(const chat *c)
{
    for (uint32_t i = 0; i < ENG_MAX_RANKS; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats s = {.size = sizeof s};
        if (eng_device_leaf(c->r->device, i, &info, &s))
            break;
        chat_note(c, "%s, %s: weights %.1f MiB, caches %.1f MiB, states %.1f MiB, working memory %.1f MiB", info.name,
                  info.description, (double)s.bytes_weights / 1048576, (double)s.bytes_cache / 1048576,
                  (double)s.bytes_state / 1048576, (double)s.bytes_compute / 1048576);
    }
    eng_lm_stats s = {.size = sizeof s};
    eng_lm_context_get_stats(c->r->context, &s);
    chat_note(c, "the context holds %lld tokens of at most %u; %llu were dropped",
              (long long)eng_lm_sequence_length(c->r->context, 0), c->p.n_cells,
              (unsigned long long)(s.tokens_dropped - c->dropped));
}
