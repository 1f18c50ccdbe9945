/* The allocator's calls go through here: a program's own definitions come first. */
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
static _Atomic int64_t asked, refused_at, kept; /* refused_at 0: none                */
static atomic_bool all_after, refused;

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
    atomic_store(&asked, 0);
    atomic_store(&kept, 0);
    atomic_store(&refused, false);
    atomic_store(&counting, true);
}

uint64_t count_stop(void)
{
    atomic_store(&counting, false);
    return atomic_load(&calls);
}

void count_refuse(uint64_t nth, bool all)
{
    atomic_store(&refused_at, (int64_t)nth);
    atomic_store(&all_after, all);
}

bool count_refused(void)
{
    return atomic_load(&refused);
}

int64_t count_kept(void)
{
    return atomic_load(&kept);
}

/* By the libraries, whatever the build says of what need not be. */
#if defined(__GNUC__)
#define SEEN __attribute__((visibility("default")))
#else
#define SEEN
#endif

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

/* Is this call to get no memory? */
static bool refuse(void)
{
    int64_t at = atomic_load_explicit(&refused_at, memory_order_relaxed);

    if (!at || !atomic_load_explicit(&counting, memory_order_relaxed))
        return false;
    int64_t n = atomic_fetch_add(&asked, 1) + 1;
    if (n != at && !(n > at && atomic_load(&all_after)))
        return false;
    atomic_store(&refused, true);
    errno = ENOMEM;
    return true;
}

static void *given(void *p)
{
    if (p && atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed);
    return p;
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

SEEN void *malloc(size_t bytes)
{
    note();
    if (refuse())
        return NULL;
    if (!real_malloc && !finding)
        find_all();
    return given(real_malloc ? real_malloc(bytes) : take_early(bytes));
}

SEEN void *calloc(size_t n, size_t bytes)
{
    note();
    if (refuse())
        return NULL;
    if (!real_calloc && !finding)
        find_all();
    if (real_calloc)
        return given(real_calloc(n, bytes));
    return bytes && n > sizeof early / bytes ? NULL : take_early(n * bytes); /* zero: never given twice */
}

SEEN void *realloc(void *p, size_t bytes)
{
    note();
    if (refuse())
        return NULL;
    if (!real_realloc && !finding)
        find_all();
    if (!p)
        return real_realloc ? given(real_realloc(p, bytes)) : NULL;
    if (!is_early(p))
        return real_realloc ? real_realloc(p, bytes) : NULL;
    void *fresh = malloc(bytes);
    size_t left = (size_t)(early + sizeof early - (char *)p);
    if (fresh)
        memcpy(fresh, p, bytes < left ? bytes : left);
    return fresh;
}

SEEN void free(void *p)
{
    note();
    if (p && atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_sub_explicit(&kept, 1, memory_order_relaxed);
    if (p && !is_early(p))
        real_free(p);
}

SEEN void *aligned_alloc(size_t alignment, size_t bytes)
{
    note();
    if (refuse())
        return NULL;
    if (!real_aligned)
        find_all();
    return given(real_aligned(alignment, bytes));
}

SEEN int posix_memalign(void **p, size_t alignment, size_t bytes)
{
    note();
    if (refuse())
        return ENOMEM;
    if (!real_memalign)
        find_all();
    int error = real_memalign ? real_memalign(p, alignment, bytes) : ENOMEM;
    if (!error)
        given(*p);
    return error;
}

#endif
