/*
 * Arrays that grow.
 *
 *     EU_ARRAY(int) list = {0};
 *     if (!eu_array_add(&list, 7))
 *         no memory: the list is as it was
 *     for (size_t i = 0; i < list.n; i++) ... list.at[i]
 *     eu_array_free(&list);
 *
 * `list` is evaluated more than once.
 */
#ifndef LIBENGINE_UTIL_ARRAY_H
#define LIBENGINE_UTIL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define EU_ARRAY(type)                                                                                               \
    struct {                                                                                                         \
        type *at;                                                                                                    \
        size_t n, room;                                                                                              \
    }

/* Memory for at least `want` entries of `entry` bytes (>= 1); *room says for how many.  Without
 * memory `at` is returned as it was and *room stays below want. */
void *eu_grow(void *at, size_t *room, size_t want, size_t entry);

/* Of an array whose parts the owner keeps himself: room for `want` entries in all.  false: no memory. */
#define eu_reserve(at, room, want) ((at) = eu_grow((at), &(room), (want), sizeof *(at)), (room) >= (want))
#define eu_array_reserve(list, want) eu_reserve((list)->at, (list)->room, want)
/* Appends.  false: no memory. */
#define eu_array_add(list, ...)                                                                                      \
    (((list)->n < (list)->room || eu_array_reserve(list, (list)->n + 1)) &&                                          \
     ((list)->at[(list)->n++] = (__VA_ARGS__), true))
/* n entries with what their bytes happen to be.  false: no memory. */
#define eu_array_resize(list, count) (eu_array_reserve(list, count) && ((list)->n = (count), true))
#define eu_array_free(list) (free((list)->at), (list)->at = NULL, (list)->n = (list)->room = 0)

/* calloc's place where n may be 0 and NULL must mean "no memory". */
void *eu_zeroed(size_t n, size_t entry);

#endif
