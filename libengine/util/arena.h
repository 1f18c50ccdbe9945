/*
 * Memory that lives and dies with its owner.  Blocks are chained and grow; an
 * allocation larger than a block gets one of its own.  Nothing is freed before
 * the whole.  An arena is used by one thread at a time.
 */
#ifndef LIBENGINE_UTIL_ARENA_H
#define LIBENGINE_UTIL_ARENA_H

#include <stdarg.h>
#include <stddef.h>

/* {0} is an empty arena. */
typedef struct eu_arena {
    struct eu_arena_block *blocks; /* the one in use first */
    size_t next_bytes;
} eu_arena;

/* Zeroed, aligned to 16, distinct addresses even for nothing; NULL: no memory. */
void *eu_arena_alloc(eu_arena *arena, size_t bytes);
/* The same for n entries; their product may overflow. */
void *eu_arena_array(eu_arena *arena, size_t n, size_t entry);
void *eu_arena_copy(eu_arena *arena, const void *data, size_t bytes);
char *eu_arena_string(eu_arena *arena, const char *text);
char *eu_arena_format(eu_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *eu_arena_vformat(eu_arena *arena, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* Frees everything; the arena is empty again. */
void eu_arena_end(eu_arena *arena);

#endif
