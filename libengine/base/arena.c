/*
 * Memory that lives and dies with its owner.  Blocks are chained and grow; an
 * allocation larger than a block gets one of its own.  Nothing is freed before
 * the whole.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

#define ALIGNMENT 16
#define FIRST_BLOCK 4096
#define LARGEST_BLOCK (1u << 20)

typedef struct block {
    struct block *next;
    size_t used, bytes;
    _Alignas(ALIGNMENT) char data[];
} block;

struct eng_arena {
    block *blocks; /* the one in use first */
    size_t next_bytes;
};

eng_arena *eng_arena_create(void)
{
    eng_arena *arena = calloc(1, sizeof *arena);
    if (arena)
        arena->next_bytes = FIRST_BLOCK;
    return arena;
}

static block *block_create(size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(block))
        return NULL;
    block *b = calloc(1, sizeof *b + bytes);
    if (b)
        b->bytes = bytes;
    return b;
}

void *eng_arena_alloc(eng_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes == 0)
        bytes = ALIGNMENT; /* distinct addresses even for nothing */
    block *b = arena->blocks;
    if (!b || b->bytes - b->used < bytes) {
        size_t size = bytes > arena->next_bytes ? bytes : arena->next_bytes;
        block *fresh = block_create(size);
        if (!fresh)
            return NULL;
        if (arena->next_bytes < LARGEST_BLOCK)
            arena->next_bytes *= 2;
        /* a block made for one large thing goes behind the one with room */
        if (b && size == bytes) {
            fresh->next = b->next;
            b->next = fresh;
        } else {
            fresh->next = b;
            arena->blocks = fresh;
        }
        b = fresh;
    }
    void *memory = b->data + b->used;
    b->used += bytes;
    return memory;
}

char *eng_arena_string(eng_arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = eng_arena_alloc(arena, n);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

char *eng_arena_vformat(eng_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = n < 0 ? NULL : eng_arena_alloc(arena, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *eng_arena_format(eng_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = eng_arena_vformat(arena, format, args);
    va_end(args);
    return text;
}

void eng_arena_destroy(eng_arena *arena)
{
    if (!arena)
        return;
    for (block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(arena);
}

bool eng_mul_size(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}
