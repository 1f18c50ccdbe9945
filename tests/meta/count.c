/* The allocator's calls go through here: a program's own definition comes first. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

static atomic_bool counting;
static _Atomic uint64_t calls;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAKEN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TAKEN 1
#endif
#endif
#if !defined(TAKEN) && !defined(RTLD_NEXT)
#define TAKEN 1
#endif

void count_start(void)
{
    atomic_store(&calls, 0);
    atomic_store(&counting, true);
}

uint64_t count_stop(void)
{
    atomic_store(&counting, false);
    return atomic_load(&calls);
}

#ifdef TAKEN

bool count_possible(void)
{
    return false;
}

#else

bool count_possible(void)
{
    return true;
}

/* What dlsym itself allocates before the real functions are known. */
static _Alignas(max_align_t) char early[4096];
static size_t early_used;

static void note(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

/* An object pointer is no function pointer in ISO C; POSIX says that the bytes are. */
static void find(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, sizeof symbol);
}

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static void *(*real_aligned)(size_t, size_t);
static int (*real_memalign)(void **, size_t, size_t);

static bool finding;

static void find_all(void)
{
    finding = true;
    find(&real_malloc, "malloc");
    find(&real_realloc, "realloc");
    find(&real_free, "free");
    find(&real_aligned, "aligned_alloc");
    find(&real_memalign, "posix_memalign");
    find(&real_calloc, "calloc");
    finding = false;
}

static void *take_early(size_t bytes)
{
    size_t at = (early_used + 15) & ~(size_t)15;
    if (bytes > sizeof early || at > sizeof early - bytes)
        return NULL;
    early_used = at + bytes;
    return early + at;
}

static bool is_early(const void *p)
{
    return (uintptr_t)p >= (uintptr_t)early && (uintptr_t)p < (uintptr_t)early + sizeof early;
}

void *malloc(size_t bytes)
{
    note();
    if (!real_malloc && !finding)
        find_all();
    return real_malloc ? real_malloc(bytes) : take_early(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    note();
    if (!real_calloc && !finding)
        find_all();
    if (real_calloc)
        return real_calloc(n, bytes);
    return bytes && n > sizeof early / bytes ? NULL : take_early(n * bytes); /* zero: never given twice */
}

void *realloc(void *p, size_t bytes)
{
    note();
    if (!real_realloc && !finding)
        find_all();
    if (!is_early(p))
        return real_realloc ? real_realloc(p, bytes) : NULL;
    void *fresh = malloc(bytes);
    size_t left = (size_t)(early + sizeof early - (char *)p);
    if (fresh)
        memcpy(fresh, p, bytes < left ? bytes : left);
    return fresh;
}

void free(void *p)
{
    note();
    if (p && !is_early(p))
        real_free(p);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    note();
    if (!real_aligned)
        find_all();
    return real_aligned(alignment, bytes);
}

int posix_memalign(void **p, size_t alignment, size_t bytes)
{
    note();
    if (!real_memalign)
        find_all();
    return real_memalign ? real_memalign(p, alignment, bytes) : ENOMEM;
}

#endif
