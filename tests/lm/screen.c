#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "screen.h"

#define SECONDS 20 /* that anything may take on a machine that is busy */

bool screen_open(screen *s, char *const argv[])
{
    struct winsize size = {.ws_row = SCREEN_ROWS, .ws_col = SCREEN_COLUMNS};
    memset(s, 0, sizeof *s);
    s->pid = forkpty(&s->fd, NULL, NULL, &size);
    if (s->pid == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    return s->pid > 0;
}

void screen_keys(screen *s, const char *keys)
{
    for (size_t n = strlen(keys), done = 0; done < n;) {
        ssize_t k = write(s->fd, keys + done, n - done);
        if (k <= 0)
            return;
        done += (size_t)k;
    }
}

void screen_resize(screen *s, int rows, int columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    ioctl(s->fd, TIOCSWINSZ, &size); /* the kernel tells the program */
}

/* -- what the terminal does -------------------------------------------------------------- */

static void clear(screen *s, int row, int from)
{
    for (int c = from; c < SCREEN_COLUMNS; c++)
        s->cell[row][c][0] = 0;
}

static void line_feed(screen *s)
{
    if (++s->row < SCREEN_ROWS)
        return;
    memmove(s->cell[0], s->cell[1], sizeof s->cell - sizeof s->cell[0]);
    s->row = SCREEN_ROWS - 1;
    clear(s, s->row, 0);
}

static void put(screen *s, const char *character, size_t n)
{
    if (s->column == SCREEN_COLUMNS) {
        s->column = 0;
        line_feed(s);
    }
    memcpy(s->cell[s->row][s->column], character, n);
    s->cell[s->row][s->column++][n] = 0;
}

/* ESC [ number letter: what libedit says to an xterm. */
static void control(screen *s, int number, char letter)
{
    int by = number > 0 ? number : 1;
    switch (letter) {
    case 'K': clear(s, s->row, s->column); break;
    case 'J':
        clear(s, s->row, s->column);
        for (int r = s->row + 1; r < SCREEN_ROWS; r++)
            clear(s, r, 0);
        break;
    case 'C': s->column += by; break;
    case 'D': s->column -= by; break;
    case 'A': s->row -= by; break;
    case 'G': s->column = by - 1; break;
    case 'P': /* characters go, the rest moves up */
        by = by < SCREEN_COLUMNS - s->column ? by : SCREEN_COLUMNS - s->column;
        memmove(s->cell[s->row][s->column], s->cell[s->row][s->column + by],
                (size_t)(SCREEN_COLUMNS - s->column - by) * SCREEN_CELL);
        clear(s, s->row, SCREEN_COLUMNS - by);
        break;
    case '@':
        by = by < SCREEN_COLUMNS - s->column ? by : SCREEN_COLUMNS - s->column;
        memmove(s->cell[s->row][s->column + by], s->cell[s->row][s->column],
                (size_t)(SCREEN_COLUMNS - s->column - by) * SCREEN_CELL);
        for (int c = s->column; c < s->column + by; c++)
            s->cell[s->row][c][0] = 0;
        break;
    default: break; /* colours, modes */
    }
    s->row = s->row < 0 ? 0 : s->row;
    s->column = s->column < 0 ? 0 : s->column > SCREEN_COLUMNS ? SCREEN_COLUMNS : s->column;
}

static size_t length(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* What is complete of s->part takes place. */
static void step(screen *s)
{
    unsigned char first = (unsigned char)s->part[0];
    char last = s->part[s->n_part - 1];
    if (first == 033) {
        bool done = s->n_part > 1 && (s->part[1] != '[' || (s->n_part > 2 && last >= '@' && last <= '~'));
        if (!done && s->n_part < sizeof s->part)
            return;
        if (s->n_part > 2 && s->part[2] != '?')
            control(s, atoi(s->part + 2), last);
    } else if (first == '\r') {
        s->column = 0;
    } else if (first == '\n') {
        line_feed(s);
    } else if (first == '\b') {
        s->column -= s->column > 0;
    } else if (first == '\t') {
        s->column = (s->column / 8 + 1) * 8;
    } else if (first >= ' ') {
        if (s->n_part < length(first))
            return;
        put(s, s->part, s->n_part);
    }
    s->n_part = 0;
}

/* -- watching ----------------------------------------------------------------------------- */

/* false: nothing comes, for so long or ever again. */
static bool take(screen *s, int milliseconds)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    char bytes[4096];
    if (poll(&p, 1, milliseconds) <= 0)
        return false;
    ssize_t n = read(s->fd, bytes, sizeof bytes);
    if (n <= 0)
        return false;
    if (s->n_raw + (size_t)n + 1 > s->room) {
        s->room = 2 * s->room + (size_t)n + 1;
        s->raw = realloc(s->raw, s->room);
        if (!s->raw)
            exit(99);
    }
    memcpy(s->raw + s->n_raw, bytes, (size_t)n);
    s->n_raw += (size_t)n;
    s->raw[s->n_raw] = 0;
    for (ssize_t i = 0; i < n; i++) {
        s->part[s->n_part++] = bytes[i];
        step(s);
    }
    return true;
}

bool screen_wait(screen *s, const char *text)
{
    time_t begin = time(NULL);
    for (;;) {
        const char *at = s->raw ? strstr(s->raw + s->seen, text) : NULL;
        if (at) {
            s->seen = (size_t)(at - s->raw) + strlen(text);
            for (int i = 0; i < 20 && take(s, 20); i++) /* what belongs to it */
                ;
            return true;
        }
        if (time(NULL) - begin > SECONDS || !take(s, 1000 * SECONDS))
            return false;
    }
}

const char *screen_line(screen *s, int row)
{
    static char line[SCREEN_COLUMNS * SCREEN_CELL + 1];
    size_t n = 0, end = 0;
    for (int c = 0; c < SCREEN_COLUMNS; c++) {
        const char *cell = s->cell[row][c][0] ? s->cell[row][c] : " ";
        memcpy(line + n, cell, strlen(cell));
        n += strlen(cell);
        if (*cell != ' ')
            end = n;
    }
    line[end] = 0;
    return line;
}

const char *screen_here(screen *s)
{
    return screen_line(s, s->row);
}

int screen_close(screen *s)
{
    int status = -1;
    for (int i = 0; i < 100 * SECONDS; i++) {
        if (!take(s, 100))
            usleep(10000); /* its terminal is closed already */
        if (waitpid(s->pid, &status, WNOHANG) == s->pid)
            break;
        status = -1;
    }
    if (status == -1) {
        for (int r = 0; r < SCREEN_ROWS; r++)
            if (*screen_line(s, r))
                printf("# %s\n", screen_line(s, r));
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    close(s->fd);
    free(s->raw);
    s->raw = NULL;
    return status;
}
