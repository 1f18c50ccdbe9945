/* Memory that lives and dies with its owner. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"

#define CHUNK ((size_t)64 * 1024)

struct meta_chunk {
    struct meta_chunk *next;
    size_t used, size;
    max_align_t data[];
};

void *meta_arena_alloc(meta_arena *arena, size_t bytes)
{
    struct meta_chunk *c = arena->chunks;

    if (bytes > SIZE_MAX - CHUNK)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!c || c->size - c->used < bytes) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        c = calloc(1, sizeof *c + size);
        if (!c)
            return NULL;
        c->size = size;
        c->next = arena->chunks;
        arena->chunks = c;
    }
    void *p = (char *)c->data + c->used;
    c->used += bytes;
    return p;
}

char *meta_arena_format(meta_arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : meta_arena_alloc(arena, (size_t)n + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void meta_arena_end(meta_arena *arena)
{
    while (arena->chunks) {
        struct meta_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}

bool meta_grow(void **array, uint32_t n, uint32_t *capacity, size_t entry)
{
    if (n < *capacity)
        return true;
    uint32_t want = *capacity ? *capacity * 2 : 32;
    void *p = want > *capacity && (size_t)want <= SIZE_MAX / entry ? realloc(*array, (size_t)want * entry) : NULL;
    if (!p)
        return false;
    *array = p;
    *capacity = want;
    return true;
}
