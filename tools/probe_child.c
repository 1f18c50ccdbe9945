/* A piece of work in a process of its own: it may crash, hang, or print what it likes. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libengine/util/util.h"
#include "probe.h"

static bool read_some(int file, eu_text *b)
{
    char piece[4096];
    ssize_t n = read(file, piece, sizeof piece);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    eu_text_add_bytes(b, piece, (size_t)n);
    if (b->failed) { /* not the child's fault, who would end by writing to a pipe that nobody reads */
        fputs("engine-probe: out of memory for what a child process tells\n", stderr);
        exit(EXIT_NO_DEVICE);
    }
    return true;
}

/* The whole lines that have come go into the report, and whoever wants to know is told. */
static void take_lines(eu_text *b, probe_report *report)
{
    char *end = b->n ? memrchr(b->at, '\n', b->n) : NULL;
    if (!end)
        return;
    char next = end[1];
    end[1] = 0;
    probe_read(report, b->at);
    end[1] = next;
    b->n -= (size_t)(end + 1 - b->at);
    memmove(b->at, end + 1, b->n + 1);
    if (report->told)
        report->told(report->user);
}

/* Reads until the child has ended, with *status, and what it has written by then is read; false: the time was over
 * before.  That its end of the pipe is closed does not say so, nor does one that is open: processes that it has begun may
 * hold it. */
static bool listen_to(int file, pid_t pid, double timeout, const char *doing, probe_report *report, int *status)
{
    eu_text b = {0};
    double begin = eu_seconds();
    bool shown = false, open = true, ended = false, in_time = true;
    while (!ended && in_time) {
        double passed = eu_seconds() - begin;
        if (passed > 1 && !shown && isatty(STDERR_FILENO)) {
            fprintf(stderr, "%s ...", doing);
            shown = true;
        }
        struct pollfd wait = {.fd = open ? file : -1, .events = POLLIN};
        int ready = poll(&wait, 1, open ? 100 : 1);
        if (ready > 0)
            open = read_some(file, &b);
        ended = (ready <= 0 || !open) && waitpid(pid, status, WNOHANG) == pid;
        while (ended && open && poll(&wait, 1, 0) > 0)
            open = read_some(file, &b);
        take_lines(&b, report);
        in_time = ended || passed < timeout;
    }
    if (shown)
        fputs("\r\033[K", stderr);
    eu_text_free(&b);
    return in_time;
}

static void child(int file, void (*body)(FILE *out, void *arg), void *arg)
{
    FILE *out = fdopen(file, "w");
    /* what a driver prints is no data of ours */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (out) {
        body(out, arg);
        probe_write_end(out);
        fclose(out);
    }
    _exit(out ? 0 : 1);
}

static void describe_end(int status, bool complete, probe_end *end)
{
    if (WIFSIGNALED(status)) {
        end->crashed = true;
        end->signal = WTERMSIG(status);
        snprintf(end->what, sizeof end->what, "signal %d (%s)", end->signal, strsignal(end->signal));
    } else if (WEXITSTATUS(status) != 0) {
        end->crashed = true;
        end->code = WEXITSTATUS(status);
        snprintf(end->what, sizeof end->what, "exit code %d", end->code);
    } else if (!complete) { /* a constructor that calls exit(0) is no success */
        end->crashed = true;
        snprintf(end->what, sizeof end->what, "exit code 0, before all was done");
    }
}

static void run_here(void (*body)(FILE *out, void *arg), void *arg, probe_report *report)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return;
    body(out, arg);
    fclose(out);
    probe_read(report, text);
    free(text);
}

void probe_run(const probe_settings *settings, const char *doing, void (*body)(FILE *out, void *arg), void *arg,
               probe_report *report, probe_end *end)
{
    int ends[2];
    memset(end, 0, sizeof *end);
    fflush(NULL); /* or the child would print it again */
    if (!settings->isolate || pipe(ends) != 0) {
        run_here(body, arg, report);
        return;
    }
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        run_here(body, arg, report);
        return;
    }
    if (pid == 0) {
        close(ends[0]);
        child(ends[1], body, arg);
    }
    close(ends[1]);
    report->complete = false;
    int status = 0;
    if (!listen_to(ends[0], pid, settings->timeout, doing, report, &status)) {
        end->timed_out = true;
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    if (!end->timed_out)
        describe_end(status, report->complete, end);
}
