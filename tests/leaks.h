/*
 * What LeakSanitizer sees, for programs linked with -fsanitize=leak (or address): memory of any library in them.
 * Only for the program's main file.
 */
#ifndef TESTS_LEAKS_H
#define TESTS_LEAKS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef HAVE_LEAK_SANITIZER

static bool leaks_begin(void) { return false; }
static bool leaks_found(void) { return false; }

#else

int __lsan_do_recoverable_leak_check(void);
const char *__lsan_default_options(void);

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}

/* Is there anything that nobody can reach any more?  What it is, is told on stderr. */
static bool leaks_found(void)
{
    return __lsan_do_recoverable_leak_check() != 0;
}

/* Loses some memory; a function of its own, so that no register keeps it. */
static __attribute__((noinline)) void lose(void)
{
    char *volatile lost = malloc(100);
    if (lost)
        memset(lost, 1, 100);
    lost = NULL;
}

/* Before the first thread: does it see a leak at all?  It needs to trace processes, which not every machine lets it. */
static bool leaks_begin(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        close(STDERR_FILENO);
        lose();
        _exit(leaks_found() ? 42 : 0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 42;
}

#endif
#endif
