/*
 * JSON (RFC 8259), written piece by piece: commas, line breaks and escapes are the writer's.
 * Text that is not well-formed UTF-8 - names come from files and drivers - is written with
 * U+FFFD in the place of each byte that is none; control characters are escaped.
 *
 *     eu_json j = {.write = print};
 *     eu_json_object(&j, NULL, true);
 *     eu_json_text(&j, "name", name);
 *     eu_json_list(&j, "ids", false);
 *     eu_json_int(&j, NULL, 7);
 *     eu_json_end(&j);
 *     eu_json_end(&j);
 */
#ifndef LIBENGINE_UTIL_JSON_H
#define LIBENGINE_UTIL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EU_JSON_DEPTH 16

typedef struct eu_json {
    void (*write)(void *user, const char *text); /* gets every piece in turn */
    void *user;
    /* the rest is the writer's */
    unsigned depth;
    struct {
        bool list, lines, begun;
    } level[EU_JSON_DEPTH];
} eu_json;

/* `write` for a FILE as user: fputs, whose failure ferror() tells. */
void eu_json_to_file(void *file, const char *text);
/* `write` for an eu_text as user. */
void eu_json_to_text(void *text, const char *more);

/* An object or a list begins: as a member `key` of an object, or (NULL) in a list or as the whole.  `lines`: each
 * member on a line of its own. */
void eu_json_object(eu_json *json, const char *key, bool lines);
void eu_json_list(eu_json *json, const char *key, bool lines);
/* ... and ends.  The whole ends with a line break. */
void eu_json_end(eu_json *json);
void eu_json_text(eu_json *json, const char *key, const char *value); /* NULL: null */
void eu_json_bytes(eu_json *json, const char *key, const char *value, size_t n);
void eu_json_int(eu_json *json, const char *key, int64_t value);
void eu_json_uint(eu_json *json, const char *key, uint64_t value);
/* So many digits at most; what is no number is null. */
void eu_json_real(eu_json *json, const char *key, double value, int digits);
void eu_json_bool(eu_json *json, const char *key, bool value);
void eu_json_null(eu_json *json, const char *key);

#endif
