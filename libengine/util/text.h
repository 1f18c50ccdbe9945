/* Text: buffers that grow, bounded copies, UTF-8, names that are alike. */
#ifndef LIBENGINE_UTIL_TEXT_H
#define LIBENGINE_UTIL_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * What a call says that gets no memory: the arguments of eng_fail_code, or of a plugin's fail_code behind its host,
 * eng_fail_code(EU_NO_MEMORY("the axes of a graph")); the second with a subject, as "cpu".
 */
#define EU_NO_MEMORY(what) ENG_ERR_NOMEM, ENG_CODE_HOST_MEMORY, -1, "out of memory for %s", (what)
#define EU_NO_MEMORY_IN(subject, what)                                                                               \
    ENG_ERR_NOMEM, ENG_CODE_HOST_MEMORY, -1, "%s" ENG_CAUSE "out of memory for %s", (subject), (what)

/*
 * A text that is appended to.  {0} is empty and grows as needed; EU_TEXT_IN(array) writes into
 * memory of the caller's and drops what goes beyond it, so that it needs no check.  Where
 * memory has run out, `failed` stays set and the rest of what is appended is dropped: it is
 * enough to look once, at the end.
 */
typedef struct eu_text {
    char *at; /* terminated; NULL if nothing was ever appended */
    size_t n, room;
    bool fixed, failed;
} eu_text;

#define EU_TEXT_IN(array) eu_text_in(array, sizeof(array))
eu_text eu_text_in(char *memory, size_t bytes);
void eu_text_add(eu_text *text, const char *more);
void eu_text_add_bytes(eu_text *text, const void *more, size_t n);
void eu_text_format(eu_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void eu_text_vformat(eu_text *text, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* "" instead of NULL. */
const char *eu_text_get(const eu_text *text);
/* The text as memory for free(), and the buffer is empty again; NULL: memory had run out. */
char *eu_text_take(eu_text *text);
void eu_text_free(eu_text *text);

/* A number for programs to read, as %.*f or %.*g (`style`) writes it, but with a point whatever the host's locale is;
 * the length. */
size_t eu_real(char *text, size_t bytes, char style, int digits, double value);
/* The same name but for the case of letters, A to Z whatever the host's locale is? */
bool eu_same_name(const char *a, const char *b);

/* strncpy that terminates: what does not fit is left out. */
void eu_copy(char *to, size_t bytes, const char *from);

/* Length of the well-formed UTF-8 character at s (Unicode, table 3-7), of which n bytes may be
 * looked at; 0: there is none. */
size_t eu_utf8_length(const char *s, size_t n);

/* How many of the n bytes are left without a character at their end that was cut off within. */
size_t eu_utf8_cut(const char *text, size_t n);

/* Letters to insert, delete, replace or swap with their neighbour to make one name of the other;
 * case counts for nothing.  Names are looked at up to 63 letters. */
unsigned eu_distance(const char *a, const char *b);
/* Is `candidate` so near to `name` that it may be what was meant, and nearer than *best (to begin
 * with, UINT_MAX)?  Then *best is its distance. */
bool eu_nearer(const char *name, const char *candidate, unsigned *best);

#endif
