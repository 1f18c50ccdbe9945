/*
 * Does the JSON on standard input follow the schema in the file that is named?  The words of JSON Schema that our
 * schemas use: type, properties, required, additionalProperties (false), items, enum, minimum, $ref to $defs; another
 * is an error.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { NOTHING, BOOLEAN, NUMBER, STRING, LIST, OBJECT } kind;

typedef struct json {
    kind kind;
    double number;
    char *text;               /* of a string, and the first letter of a word */
    char *key;                /* of a member */
    struct json *first, *next; /* of a list or an object; after it */
} json;

static char *at;
static const json *root;     /* of the schema  */
static const json *document;

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("schema-check: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* -- reading (json-check has seen that it is JSON) ---------------------------------------- */

static void space(void)
{
    at += strspn(at, " \t\r\n");
}

static char *string(void)
{
    char *begin = ++at, *to = begin;
    for (; *at && *at != '"'; at++)
        *to++ = *at == '\\' ? *++at : *at; /* no escape means anything to us */
    if (!*at++)
        die("a string does not end");
    *to = 0;
    return begin;
}

static json *value(void)
{
    json *v = calloc(1, sizeof *v), **end = &v->first;
    space();
    if (*at == '{' || *at == '[') {
        char close = *at == '{' ? '}' : ']';
        v->kind = *at++ == '{' ? OBJECT : LIST;
        for (space(); *at && *at != close; space()) {
            char *key = NULL;
            if (v->kind == OBJECT) {
                key = string();
                at += strcspn(at, ":") + 1;
            }
            *end = value();
            (*end)->key = key;
            end = &(*end)->next;
            space();
            at += *at == ',';
        }
        if (!*at++)
            die("a list or an object does not end");
    } else if (*at == '"') {
        v->kind = STRING;
        v->text = string();
    } else if (strchr("tfn", *at)) {
        v->kind = *at == 'n' ? NOTHING : BOOLEAN;
        v->number = *at == 't';
        at += strspn(at, "abcdefghijklmnopqrstuvwxyz");
    } else {
        char *begin = at;
        v->kind = NUMBER;
        v->number = strtod(at, &at);
        if (at == begin)
            die("no JSON at: %.20s", at);
    }
    return v;
}

static void release(json *v)
{
    for (json *m = v->first, *next; m; m = next) {
        next = m->next;
        release(m);
    }
    free(v);
}

/* Strings point into *kept. */
static json *read_json(FILE *f, const char *name, char **kept)
{
    size_t room = 8 << 20;
    char *text = *kept = f ? malloc(room) : NULL;
    if (!text)
        die("%s cannot be read", name);
    text[fread(text, 1, room - 1, f)] = 0;
    at = text;
    return value();
}

static const json *member(const json *object, const char *key)
{
    for (const json *m = object->first; m; m = m->next)
        if (m->key && strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

/* -- checking -------------------------------------------------------------------------------- */

static bool is_type(const json *v, const char *type)
{
    static const char *const names[] = {"null", "boolean", "number", "string", "array", "object"};
    return strcmp(type, names[v->kind]) == 0 ||
           (strcmp(type, "integer") == 0 && v->kind == NUMBER && v->number == (double)(long long)v->number);
}

static bool equal(const json *a, const json *b)
{
    return a->kind == b->kind && a->number == b->number && (a->kind != STRING || strcmp(a->text, b->text) == 0);
}

static const json *defined(const char *reference)
{
    static const char begin[] = "#/$defs/";
    const json *defs = member(root, "$defs");
    const json *found = defs && strncmp(reference, begin, sizeof begin - 1) == 0 ?
                            member(defs, reference + sizeof begin - 1) :
                            NULL;
    if (!found)
        die("the schema has no %s", reference);
    return found;
}

static void check(const json *schema, const json *v, const char *path);

static void check_members(const json *schema, const json *v, const char *path)
{
    const json *properties = member(schema, "properties"), *required = member(schema, "required");
    char inner[512];
    for (const json *r = required ? required->first : NULL; r; r = r->next)
        if (!member(v, r->text))
            die("%s: \"%s\" is missing", path, r->text);
    for (const json *m = v->first; m; m = m->next) {
        const json *p = properties ? member(properties, m->key) : NULL;
        snprintf(inner, sizeof inner, "%s.%s", path, m->key);
        if (p)
            check(p, m, inner);
        else if (member(schema, "additionalProperties"))
            die("%s is not in the schema", inner);
    }
}

static void check_type(const json *type, const json *v, const char *path)
{
    bool fits = type->kind == STRING && is_type(v, type->text);
    for (const json *t = type->first; t; t = t->next)
        fits |= is_type(v, t->text);
    if (!fits)
        die("%s is of another type than the schema says", path);
}

static void check(const json *schema, const json *v, const char *path)
{
    static const char *const ignored = " $schema $id $defs title description properties required additionalProperties ";
    for (const json *word = schema->first; word; word = word->next) {
        char name[64], inner[512];
        bool fits = false;
        snprintf(name, sizeof name, " %s ", word->key);
        if (strcmp(word->key, "$ref") == 0) {
            check(defined(word->text), v, path);
        } else if (strcmp(word->key, "type") == 0) {
            check_type(word, v, path);
        } else if (strcmp(word->key, "minimum") == 0) {
            if (v->kind == NUMBER && v->number < word->number)
                die("%s is %g, less than %g", path, v->number, word->number);
        } else if (strcmp(word->key, "enum") == 0) {
            for (const json *e = word->first; e; e = e->next)
                fits |= equal(e, v);
            if (!fits)
                die("%s is \"%s\", which the schema does not know", path, v->text ? v->text : "");
        } else if (strcmp(word->key, "items") == 0) {
            int n = 0;
            for (const json *i = v->kind == LIST ? v->first : NULL; i; i = i->next) {
                snprintf(inner, sizeof inner, "%s[%d]", path, n++);
                check(word, i, inner);
            }
        } else if (!strstr(ignored, name)) {
            die("the schema says \"%s\", which is not known here", word->key);
        }
    }
    if (v->kind == OBJECT)
        check_members(schema, v, path);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        die("usage: schema-check SCHEMA < JSON");
    char *texts[2];
    FILE *schema = fopen(argv[1], "r");
    json *rules = read_json(schema, argv[1], &texts[0]), *given = read_json(stdin, "standard input", &texts[1]);
    root = rules;
    document = given;
    check(root, document, "$");
    release(rules);
    release(given);
    free(texts[0]);
    free(texts[1]);
    fclose(schema);
    return 0;
}
