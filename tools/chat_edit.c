/* engine-generate: a line that is edited with keys, and a history of those before, by libedit. */
#include "config.h"

#include <stdlib.h>

#include "chat_input.h"

#ifdef HAVE_LIBEDIT

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "libengine/util/util.h"

#define PASTED_LINE 0x23ce /* stands for the end of a line in what is pasted: the line goes on */
#define PASTED_LINE_TEXT "\xe2\x8f\x8e"
#define MARK '\1'          /* around what moves no cursor in a prompt */

struct chat_edit {
    EditLine *line;
    History *history;
    char prompt[64];
    bool interrupted, pasting;
    char ahead[8]; /* bytes that were read and are not part of a paste's bounds */
    unsigned n_ahead;
};

static volatile sig_atomic_t resized;

static void note_resize(int number)
{
    (void)number;
    resized = 1;
}

static char *give_prompt(EditLine *line)
{
    chat_edit *e = NULL;
    el_get(line, EL_CLIENTDATA, &e);
    return e->prompt;
}

/* Nothing is there if it was the size that changed. */
static bool ready(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    errno = EINTR;
    return poll(&p, 1, 0) > 0;
}

/* 1, 0 at the end, -1: interrupted. */
static int read_byte(EditLine *line, chat_edit *e, char *byte)
{
    if (e->n_ahead) {
        *byte = e->ahead[0];
        memmove(e->ahead, e->ahead + 1, --e->n_ahead);
        return 1;
    }
    for (;;) {
        if (!chat_input_wait()) {
            e->interrupted = true;
            return -1;
        }
        if (resized)
            el_resize(line);
        resized = 0;
        ssize_t n = ready() ? read(STDIN_FILENO, byte, 1) : -1;
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n > 0 ? 1 : 0;
    }
}

/* What a terminal puts around pasted text, ESC [ 200 ~ and ESC [ 201 ~: taken out; anything else stays to be read. */
static bool take_bound(EditLine *line, chat_edit *e)
{
    static const char start[] = "[200~", end[] = "[201~";
    char seen[5];
    unsigned n = 0;
    while (n < 5 && (n == 0 || strncmp(seen, start, n) == 0 || strncmp(seen, end, n) == 0)) {
        /* a lone escape key is followed by nothing for a while, and then by what is typed next: as good as Meta */
        if (read_byte(line, e, &seen[n]) != 1)
            break;
        n++;
    }
    if (n == 5 && (strncmp(seen, start, 5) == 0 || strncmp(seen, end, 5) == 0)) {
        e->pasting = seen[3] == '0';
        return true;
    }
    memmove(e->ahead + n, e->ahead, e->n_ahead);
    memcpy(e->ahead, seen, n);
    e->n_ahead += n;
    return false;
}

/* A character, of as many bytes as it has; bytes that are none are U+FFFD. */
static int read_character(EditLine *line, wchar_t *to)
{
    chat_edit *e = NULL;
    mbstate_t state;
    char byte;
    el_get(line, EL_CLIENTDATA, &e);
    memset(&state, 0, sizeof state);
    for (unsigned n = 0;; n++) {
        int got = read_byte(line, e, &byte);
        if (got != 1)
            return got;
        if (n == 0 && byte == '\033' && e->n_ahead == 0 && take_bound(line, e)) {
            n = UINT32_MAX; /* from the beginning */
            continue;
        }
        if (e->pasting && (byte == '\r' || byte == '\n'))
            return *to = PASTED_LINE, 1;
        if (e->pasting && byte == '\t')
            return *to = ' ', 1;
        size_t done = mbrtowc(to, &byte, 1, &state);
        if (done == (size_t)-2)
            continue;
        if (done == (size_t)-1 && n > 0 && e->n_ahead < sizeof e->ahead) { /* cut: the next one begins here */
            memmove(e->ahead + 1, e->ahead, e->n_ahead++);
            e->ahead[0] = byte;
        }
        if (done == (size_t)-1)
            *to = 0xfffd;
        return 1;
    }
}

/* Characters of several bytes are what the locale says; where it knows none, UTF-8. */
static void know_characters(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

chat_edit *chat_edit_open(void)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
        return NULL;
    know_characters();
    chat_edit *e = calloc(1, sizeof *e);
    HistEvent event;
    if (!e || !(e->line = el_init("engine-generate", stdin, stderr, stderr)) || !(e->history = history_init())) {
        chat_edit_close(e);
        return NULL;
    }
    history(e->history, &event, H_SETSIZE, 1000);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->line, EL_CLIENTDATA, e);
    el_set(e->line, EL_EDITOR, "emacs");
    el_set(e->line, EL_HIST, history, e->history);
    el_set(e->line, EL_PROMPT_ESC, give_prompt, MARK);
    el_set(e->line, EL_SIGNAL, 0);
    el_set(e->line, EL_GETCFN, read_character);
    el_set(e->line, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(e->line, EL_BIND, "\033[1~", "ed-move-to-beg", NULL);
    el_set(e->line, EL_BIND, "\033[4~", "ed-move-to-end", NULL);
    el_set(e->line, EL_BIND, "\033[3~", "ed-delete-next-char", NULL);
    sigaction(SIGWINCH, &(struct sigaction){.sa_handler = note_resize}, NULL);
    return e;
}

void chat_edit_close(chat_edit *e)
{
    if (e && e->history)
        history_end(e->history);
    if (e && e->line)
        el_end(e->line);
    free(e);
}

/* Ends of lines in what was pasted are ends of lines again. */
static char *without_marks(const char *line)
{
    eu_text text = {0};
    eu_text_add(&text, "");
    for (const char *at; (at = strstr(line, PASTED_LINE_TEXT)) != NULL; line = at + strlen(PASTED_LINE_TEXT)) {
        eu_text_add_bytes(&text, line, (size_t)(at - line));
        eu_text_add(&text, "\n");
    }
    eu_text_add_bytes(&text, line, strcspn(line, "\r\n"));
    return eu_text_take(&text);
}

int chat_edit_line(chat_edit *e, const char *color, const char *prompt, const char *plain, char **line)
{
    int n = 0;
    HistEvent event;
    /* libedit forgets what moves no cursor at the very end of a prompt */
    snprintf(e->prompt, sizeof e->prompt, *color ? "\1%s\1%.*s\1%s\1 " : "%s%.*s%s ", color, (int)strcspn(prompt, " "),
             prompt, plain);
    e->interrupted = e->pasting = false;
    fputs("\033[?2004h", stderr); /* pasted text is marked */
    fflush(stderr);
    const char *got = el_gets(e->line, &n);
    const LineInfo *left = el_line(e->line);
    bool empty = !got && left->lastchar == left->buffer;
    fputs("\033[?2004l", stderr);
    if (!got || n <= 0) {
        el_reset(e->line);
        fputc('\n', stderr);
        return e->interrupted ? empty ? INPUT_INTERRUPTED_EMPTY : INPUT_INTERRUPTED : INPUT_END;
    }
    if (got[strcspn(got, "\r\n")] == 0) /* the input has ended within the line */
        fputc('\n', stderr);
    if (strspn(got, " \t\r\n") < strlen(got))
        history(e->history, &event, H_ENTER, got);
    *line = without_marks(got);
    return *line ? INPUT_TEXT : INPUT_NO_MEMORY;
}

const char *chat_edit_name(void)
{
    return "libedit";
}

#else /* plain lines */

chat_edit *chat_edit_open(void)
{
    return NULL;
}

void chat_edit_close(chat_edit *e)
{
    (void)e;
}

int chat_edit_line(chat_edit *e, const char *color, const char *prompt, const char *plain, char **line)
{
    (void)e, (void)color, (void)prompt, (void)plain, (void)line;
    return INPUT_END;
}

const char *chat_edit_name(void)
{
    return "none: libedit was not there";
}

#endif
