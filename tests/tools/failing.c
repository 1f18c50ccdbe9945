/*
 * Loaded before a program (LD_PRELOAD), it gives a part of it no memory once: ENG_TEST_FAIL_AT is the number, from 1,
 * of the call that fails, among those of files whose path has ENG_TEST_FAIL_IN.
 * ENG_TEST_COUNT names a file that gets the number of these calls at the end.
 */
#define _GNU_SOURCE /* dladdr, RTLD_NEXT */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_ulong n_calls;
static unsigned long fail_at;
static const char *fail_in;

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("ENG_TEST_FAIL_AT");
    fail_at = number ? strtoul(number, NULL, 10) : 0;
    fail_in = getenv("ENG_TEST_FAIL_IN");
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("ENG_TEST_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu\n", atomic_load(&n_calls));
        fclose(f);
    }
}

/* Is this call the one that fails? */
static bool fails(const void *caller)
{
    static _Thread_local bool inside; /* dladdr may allocate */
    Dl_info info;
    if (inside || !fail_in)
        return false;
    inside = true;
    bool ours = dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, fail_in);
    inside = false;
    if (!ours || atomic_fetch_add(&n_calls, 1) + 1 != fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

#define NEXT(name, type, ...)                                                                                          \
    static type (*next)(__VA_ARGS__);                                                                                  \
    if (!next) {                                                                                                       \
        void *symbol = dlsym(RTLD_NEXT, name);                                                                         \
        memcpy(&next, &symbol, sizeof next);                                                                           \
    }

EXPORT void *malloc(size_t n)
{
    NEXT("malloc", void *, size_t)
    return fails(__builtin_return_address(0)) ? NULL : next(n);
}

EXPORT void *realloc(void *old, size_t n)
{
    NEXT("realloc", void *, void *, size_t)
    return fails(__builtin_return_address(0)) ? NULL : next(old, n);
}

EXPORT char *strdup(const char *text)
{
    NEXT("strdup", char *, const char *)
    return fails(__builtin_return_address(0)) ? NULL : next(text);
}

/* dlsym itself asks for memory with calloc: what it gets then is never freed. */
EXPORT void *calloc(size_t n, size_t bytes)
{
    static char early[4096];
    static size_t used;
    static bool looking;
    static void *(*next)(size_t, size_t);
    if (!next && looking) {
        void *some = early + used;
        used += (n * bytes + 15) / 16 * 16;
        return used <= sizeof early ? some : NULL;
    }
    if (!next) {
        looking = true;
        void *symbol = dlsym(RTLD_NEXT, "calloc");
        memcpy(&next, &symbol, sizeof next);
    }
    return fails(__builtin_return_address(0)) ? NULL : next(n, bytes);
}
