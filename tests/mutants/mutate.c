/*
 * mutate - faults for a tree of sources: drawn by a seed, planted one at a time.
 *
 *     mutate draw SEED COUNT PATTERN FILE...   the faults number 1 .. COUNT of that seed
 *     mutate list PATTERN FILE...              all there are
 *     mutate apply FILE NUMBER                 the file with its fault of that number, on stdout
 *
 * A line for each fault, with tabs between the fields: file, number in it, line, function,
 * operator, what it changes, and the line of source.  PATTERN: an extended regular expression
 * for "FILE:FUNCTION:OPERATOR".  The layers (libengine, plugins/cpu, ...) take turns, in each
 * turn in another order; in a layer all functions are equally likely, in a function all operators
 * that find something in it, then all that they find.  None is drawn twice.
 */
#include "config.h"

#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

#define MOST_LAYERS 32

/* One fault of one file. */
typedef struct point {
    unsigned file, number;
    size_t function; /* the token that names it: with the file, which function this is */
    operator kind;
} point;

typedef struct tree {
    char **files;
    source *sources;
    fault **faults;
    unsigned n_files;
    point *points; /* by file, then in the order of the source                       */
    size_t n, room;
} tree;

static int fail(const char *what, const char *about)
{
    fprintf(stderr, "mutate: %s: %s\n", about, what);
    return EXIT_FAILURE;
}

/* -- the faults ----------------------------------------------------------------------- */

static void function_name(const source *s, const fault *f, char name[80])
{
    const token *t = &s->tokens[f->function];
    snprintf(name, 80, "%.*s", (int)t->length, s->data + t->at);
}

static void show(const tree *t, const point *p)
{
    const source *s = &t->sources[p->file];
    const fault *f = &t->faults[p->file][p->number];
    char name[80], line[200];
    function_name(s, f, name);
    source_line_text(s, f->first, line, sizeof line);
    for (char *c = line; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    const token *at = &s->tokens[f->first];
    printf("%s\t%u\t%u\t%s\t%s\t", t->files[p->file], p->number, source_line(s, f->first), name,
           operator_names[f->kind]);
    if (f->kind == NEGATE || f->kind >= CALL)
        printf("%s", f->kind == NEGATE ? "negated" : "dropped");
    else
        printf("%.*s -> %s", (int)at->length, s->data + at->at, f->edits[0].text);
    printf("\t%s\n", line);
}

static bool keep(tree *t, const regex_t *pattern, unsigned file, unsigned number)
{
    char name[80], text[400];
    const fault *f = &t->faults[file][number];
    function_name(&t->sources[file], f, name);
    snprintf(text, sizeof text, "%s:%s:%s", t->files[file], name, operator_names[f->kind]);
    if (regexec(pattern, text, 0, NULL, 0) != 0)
        return true;
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 4096;
        point *more = realloc(t->points, t->room * sizeof *more);
        if (!more)
            return false;
        t->points = more;
    }
    t->points[t->n++] = (point){file, number, f->function, f->kind};
    return true;
}

static bool find_all(tree *t, const regex_t *pattern)
{
    t->sources = calloc(t->n_files + 1, sizeof *t->sources);
    t->faults = calloc(t->n_files + 1, sizeof *t->faults);
    if (!t->sources || !t->faults)
        return false;
    for (unsigned i = 0; i < t->n_files; i++) {
        long n = source_read(&t->sources[i], t->files[i]) ? faults_find(&t->sources[i], &t->faults[i]) : -1;
        for (long k = 0; k < n; k++)
            if (!keep(t, pattern, i, (unsigned)k))
                return false;
        if (n < 0)
            return false;
    }
    return true;
}

static void end(tree *t)
{
    for (unsigned i = 0; i < t->n_files && t->sources && t->faults; i++) {
        source_free(&t->sources[i]);
        free(t->faults[i]);
    }
    free(t->sources);
    free(t->faults);
    free(t->points);
}

/* -- drawing --------------------------------------------------------------------------- */

static uint64_t state;

static size_t below(size_t n) /* splitmix64 */
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((z ^ z >> 31) % n);
}

/* Length of the part of a path that names its layer: its folder at the top, or that of the plugin. */
static size_t layer_length(const char *path)
{
    size_t n = strcspn(path, "/");
    if (strncmp(path, "plugins/", 8) == 0)
        n += 1 + strcspn(path + n + 1, "/");
    return n;
}

static bool same_layer(const char *a, const char *b)
{
    size_t n = layer_length(a);
    return n == layer_length(b) && strncmp(a, b, n) == 0;
}

static bool same_function(const point *a, const point *b)
{
    return a->file == b->file && a->function == b->function;
}

/* Draws one of points[begin .. end), which are of one layer, and moves it to the end of them. */
static point draw_one(point *points, size_t begin, size_t end)
{
    size_t functions = 0, at = begin, last, found = begin;
    int kinds = 0;
    for (size_t i = begin; i < end; i++)
        functions += i == begin || !same_function(&points[i], &points[i - 1]);
    for (size_t skip = below(functions); skip > 0; skip--)
        for (size_t from = at; at < end && same_function(&points[at], &points[from]);)
            at++;
    for (last = at; last < end && same_function(&points[last], &points[at]);)
        last++;
    size_t of[OPERATORS] = {0};
    for (size_t i = at; i < last; i++)
        of[points[i].kind]++;
    for (int k = 0; k < OPERATORS; k++)
        kinds += of[k] > 0;
    size_t skip = below((size_t)kinds);
    int kind = 0;
    while (of[kind] == 0 || skip-- > 0)
        kind++;
    skip = below(of[kind]);
    for (size_t i = at; i < last; i++)
        if ((int)points[i].kind == kind && skip-- == 0)
            found = i;
    point drawn = points[found];
    memmove(&points[found], &points[found + 1], (end - found - 1) * sizeof *points);
    return drawn;
}

static void draw(tree *t, size_t count)
{
    size_t begin[MOST_LAYERS], end[MOST_LAYERS], order[MOST_LAYERS], layers = 0, left = t->n;
    for (size_t i = 0; i < t->n && layers < MOST_LAYERS; i++)
        if (i == 0 || !same_layer(t->files[t->points[i].file], t->files[t->points[i - 1].file])) {
            begin[layers] = i;
            if (layers)
                end[layers - 1] = i;
            end[layers++] = t->n;
        }
    for (size_t turn = 0; count > 0 && left > 0; turn++) {
        size_t k = layers ? turn % layers : 0;
        for (size_t i = 0; k == 0 && i < layers; i++) { /* another order */
            size_t with = below(i + 1);
            order[i] = order[with];
            order[with] = i;
        }
        size_t layer = order[k];
        if (begin[layer] == end[layer])
            continue;
        point p = draw_one(t->points, begin[layer], end[layer]--);
        show(t, &p);
        count--;
        left--;
    }
}

static int apply(const char *path, const char *number)
{
    source s;
    fault *faults;
    long n, k = strtol(number, NULL, 10);
    if (!source_read(&s, path) || (n = faults_find(&s, &faults)) < 0)
        return fail("cannot be read", path);
    if (k < 0 || k >= n)
        return fail("no fault of the file has this number", number);
    fault_print(&s, &faults[k]);
    free(faults);
    source_free(&s);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    bool drawn = argc > 4 && strcmp(argv[1], "draw") == 0;
    bool listed = argc > 2 && strcmp(argv[1], "list") == 0;
    tree t = {0};
    regex_t pattern;
    if (argc == 4 && strcmp(argv[1], "apply") == 0)
        return apply(argv[2], argv[3]);
    if (!drawn && !listed)
        return fail("draw SEED COUNT PATTERN FILE..., list PATTERN FILE..., or apply FILE NUMBER", "usage");
    int first = drawn ? 5 : 3;
    if (regcomp(&pattern, argv[first - 1], REG_EXTENDED | REG_NOSUB) != 0)
        return fail("is no extended regular expression", argv[first - 1]);
    t.files = argv + first;
    t.n_files = (unsigned)(argc - first);
    bool good = find_all(&t, &pattern);
    regfree(&pattern);
    if (good && drawn) {
        state = strtoull(argv[2], NULL, 10);
        draw(&t, strtoul(argv[3], NULL, 10));
    }
    for (size_t i = 0; good && listed && i < t.n; i++)
        show(&t, &t.points[i]);
    end(&t);
    return good ? EXIT_SUCCESS : fail("a file cannot be read, or there is no memory", "the sources");
}
