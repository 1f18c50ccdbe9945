#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "size.h"

#define ALIGNMENT 16
#define FIRST_BLOCK 4096
#define LARGEST_BLOCK (1u << 20)

typedef struct eu_arena_block {
    struct eu_arena_block *next;
    size_t used, bytes;
    _Alignas(ALIGNMENT) char data[];
} block;

static block *block_create(size_t bytes)
{
    block *b = bytes > SIZE_MAX - sizeof *b ? NULL : calloc(1, sizeof *b + bytes);
    if (b)
        b->bytes = bytes;
    return b;
}

/* A block with room for so many bytes, chained in. */
static block *block_add(eu_arena *arena, size_t bytes)
{
    if (arena->next_bytes == 0)
        arena->next_bytes = FIRST_BLOCK;
    size_t size = bytes > arena->next_bytes ? bytes : arena->next_bytes;
    block *fresh = block_create(size), *first = arena->blocks;
    if (!fresh)
        return NULL;
    if (arena->next_bytes < LARGEST_BLOCK)
        arena->next_bytes *= 2;
    /* a block made for one large thing goes behind the one with room */
    if (first && size == bytes) {
        fresh->next = first->next;
        first->next = fresh;
    } else {
        fresh->next = first;
        arena->blocks = fresh;
    }
    return fresh;
}

void *eu_arena_alloc(eu_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    bytes = bytes ? (size_t)eu_round_up(bytes, ALIGNMENT) : ALIGNMENT;
    block *b = arena->blocks;
    if ((!b || b->bytes - b->used < bytes) && !(b = block_add(arena, bytes)))
        return NULL;
    void *memory = b->data + b->used;
    b->used += bytes;
    return memory;
}

void *eu_arena_array(eu_arena *arena, size_t n, size_t entry)
{
    uint64_t bytes;
    return eu_mul(n, entry, &bytes) && bytes <= SIZE_MAX ? eu_arena_alloc(arena, (size_t)bytes) : NULL;
}

void *eu_arena_copy(eu_arena *arena, const void *data, size_t bytes)
{
    void *copy = eu_arena_alloc(arena, bytes);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

char *eu_arena_string(eu_arena *arena, const char *text)
{
    return eu_arena_copy(arena, text, strlen(text) + 1);
}

char *eu_arena_vformat(eu_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = n < 0 ? NULL : eu_arena_alloc(arena, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *eu_arena_format(eu_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = eu_arena_vformat(arena, format, args);
    va_end(args);
    return text;
}

void eu_arena_end(eu_arena *arena)
{
    for (block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *arena = (eu_arena){0};
}
