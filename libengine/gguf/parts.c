/*
 * Models in several files, NAME-00001-of-00003.gguf and so on.  The first has the
 * keys; all have tensors, and say in split.* which part of how many they are.  What
 * is opened is the first; the others' tensors are added to its own.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapped.h"

#define MAX_PARTS 99999 /* as many as names have digits for */
#define ENDING 20       /* characters of "-00001-of-00003.gguf" */

/* Part `no` (from 0) of `count`; 1 for a file that is not one of several. */
static int read_place(const eng_gguf *g, int64_t *no, int64_t *count)
{
    int status = ENG_OK;

    *no = 0;
    *count = 1;
    if (eng_gguf_key_find(g, "split.count"))
        status = eng_gguf_integer(g, "split.count", 0, count);
    if (status || *count <= 1)
        return status;
    if (*count > MAX_PARTS)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "key \"split.count\" is %" PRId64 ": at most %d files are possible", g->path,
                        *count, MAX_PARTS);
    if (!eng_gguf_key_find(g, "split.no"))
        return eng_fail(ENG_ERR_FORMAT,
                        "%s is one of %" PRId64 " files of a model, but has no key \"split.no\" that says "
                        "which: split the model again",
                        g->path, *count);
    status = eng_gguf_integer(g, "split.no", 0, no);
    if (!status && (*no < 0 || *no >= *count))
        status = eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                          "key \"split.no\" is %" PRId64 ", but the file is one of %" PRId64
                          ": it is damaged", g->path, *no, *count);
    return status;
}

static void name_ending(char ending[ENDING + 1], int64_t no, int64_t count)
{
    snprintf(ending, ENDING + 1, "-%05d-of-%05d.gguf", (int)(no + 1), (int)count);
}

/* The first file's name with another number. */
static int part_name(const char *first, int64_t no, int64_t count, char **name)
{
    char ending[ENDING + 1];
    size_t n = strlen(first);

    name_ending(ending, 0, count);
    if (n < ENDING || strcmp(first + n - ENDING, ending) != 0)
        return eng_fail(ENG_ERR_FORMAT,
                        "%s is the first of %" PRId64 " files of a model, but its name does not end in %s, "
                        "so that the others cannot be found: rename it",
                        first, count, ending);
    *name = strdup(first);
    if (!*name)
        return eng_fail_code(EU_NO_MEMORY("the name of a file"));
    name_ending(ending, no, count);
    memcpy(*name + n - ENDING, ending, ENDING);
    return ENG_OK;
}

static int open_part(eng_gguf *g, int64_t no, int64_t count)
{
    char *name;
    int64_t its_no, its_count;
    eng_gguf *part;
    int status = part_name(g->path, no, count, &name);

    if (status)
        return status;
    status = eng_gguf_open_file(name, &part);
    if (status == ENG_ERR_NOTFOUND)
        status = eng_fail(status, "%s has %" PRId64 " files, of which %s is missing: put it beside the first", g->path,
                          count, name);
    free(name);
    if (status)
        return status;
    g->parts[g->n_parts++] = part;
    status = read_place(part, &its_no, &its_count);
    if (!status && (its_count != count || its_no != no))
        status = eng_fail(ENG_ERR_FORMAT, "%s holds part %" PRId64 " of %" PRId64 " by its keys, which is not what its "
                          "name says: it was renamed, or is of another model", part->path, its_no + 1, its_count);
    return status;
}

/* All tensors in one list, those of the first file first. */
static int join_tensors(eng_gguf *g, uint64_t n)
{
    eng_gguf_tensor *all = realloc(g->tensors, (n ? n : 1) * sizeof *all);

    if (!all)
        return eng_fail_code(EU_NO_MEMORY_IN(g->path, "the tensors"));
    g->tensors = all;
    int status = eng_gguf_index_tensors(g, n);
    for (uint32_t p = 0; p < g->n_parts; p++) {
        const eng_gguf *part = g->parts[p];
        for (uint32_t i = 0; i < part->n_tensors && !status; i++) {
            all[g->n_tensors] = part->tensors[i];
            if (!eng_gguf_index_tensor(g, g->n_tensors))
                return eng_fail(ENG_ERR_FORMAT,
                                "%s" ENG_CAUSE "tensor \"%s\" is in another of the model's files too: the files do "
                                "not belong together",
                                part->path, part->tensors[i].name);
            g->n_tensors++;
        }
    }
    return status;
}

static int check_total(const eng_gguf *g, uint64_t n)
{
    int64_t announced = (int64_t)n;
    int status = ENG_OK;

    if (n >= UINT32_MAX)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "the files have %" PRIu64 " tensors: too many", g->path, n);
    if (eng_gguf_key_find(g, "split.tensors.count"))
        status = eng_gguf_integer(g, "split.tensors.count", 0, &announced);
    if (!status && announced != (int64_t)n)
        status = eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "the model's files have %" PRIu64 " tensors, but key "
                          "\"split.tensors.count\" is %" PRId64 ": they do not belong together", g->path, n, announced);
    return status;
}

/* Every file says of how many tensors the model is. */
static int check_announced(const eng_gguf *g, uint64_t n)
{
    for (uint32_t i = 0; i < g->n_parts; i++) {
        const eng_gguf *part = g->parts[i];
        int64_t announced = (int64_t)n;
        int status = eng_gguf_key_find(part, "split.tensors.count")
                         ? eng_gguf_integer(part, "split.tensors.count", 0, &announced)
                         : ENG_OK;
        if (!status && announced != (int64_t)n)
            status = eng_fail(ENG_ERR_FORMAT, "%s is of a model of %" PRId64 " tensors by its keys, and %s of one of %"
                              PRIu64 ": they do not belong together", part->path, announced, g->path, n);
        if (status)
            return status;
    }
    return ENG_OK;
}

static bool begins(const eng_gguf_string *name, const char *text)
{
    return name->length >= strlen(text) && memcmp(name->data, text, strlen(text)) == 0;
}

/* Does the key say something of the weights?  A file has a place and an alignment of its own, and a tokenizer or a
 * template that its maker has mended is in the first file alone. */
static bool of_weights(const eng_gguf_string *name)
{
    return !begins(name, "split.") && !begins(name, "tokenizer.") && !begins(name, "general.alignment");
}

static uint64_t value_bytes(const gguf_key *k)
{
    return k->places ? k->places[k->key.count] : k->key.count * eng_gguf_scalar_bytes(k->key.element);
}

static bool same_value(const gguf_key *a, const gguf_key *b)
{
    return a->key.type == b->key.type && a->key.element == b->key.element && a->key.count == b->key.count &&
           value_bytes(a) == value_bytes(b) && memcmp(a->key.data, b->key.data, value_bytes(a)) == 0;
}

/*
 * Most writers give keys to the first file alone; what another file says, too, it says of the same model.  Types of
 * tensors tell nothing: those of one model may differ from layer to layer.
 */
static int check_keys(const eng_gguf *g)
{
    for (uint32_t i = 0; i < g->n_parts; i++) {
        const eng_gguf *part = g->parts[i];
        for (uint64_t k = 0; k < part->n_keys; k++) {
            const gguf_key *its = &part->keys[k];
            const eng_gguf_string *name = &its->key.name;
            const uint32_t found = eu_map_find(&g->key_names, g, name->data, (size_t)name->length);
            if (found != EU_NONE && of_weights(name) && !same_value(&g->keys[found], its))
                return eng_fail(ENG_ERR_FORMAT,
                                "%s and %s differ in key \"%s\"" ENG_CAUSE "they are of different models, or of one in "
                                "different types" ENG_ADVICE "fetch the parts of one again",
                                part->path, g->path, eng_gguf_show(name->data, name->length).text);
        }
    }
    return ENG_OK;
}

static int join(eng_gguf *g, int64_t count)
{
    uint64_t n = g->n_tensors;
    int status = ENG_OK;

    g->parts = calloc((size_t)count - 1, sizeof(eng_gguf *));
    if (!g->parts)
        return eng_fail_code(EU_NO_MEMORY_IN(g->path, "the files of the model"));
    for (int64_t i = 1; i < count && !status; i++) {
        status = open_part(g, i, count);
        n += status ? 0 : g->parts[i - 1]->n_tensors;
    }
    if (!status)
        status = check_total(g, n);
    if (!status)
        status = check_announced(g, n);
    if (!status)
        status = check_keys(g);
    return status ? status : join_tensors(g, n);
}

/* The first file in the place of file `no`, which is closed. */
static int open_first(eng_gguf **g, int64_t no, int64_t count)
{
    char *name, ending[ENDING + 1];
    const char *path = (*g)->path;
    const size_t n = strlen(path);
    eng_gguf *first;
    int64_t its_no, its_count;

    name_ending(ending, no, count);
    if (n < ENDING || strcmp(path + n - ENDING, ending) != 0)
        return eng_fail(ENG_ERR_FORMAT,
                        "%s is file %" PRId64 " of %" PRId64 " of a model, but its name does not end in "
                        "%s, so that the others cannot be found" ENG_ADVICE "rename it",
                        path, no + 1, count, ending);
    name = strdup(path);
    if (!name)
        return eng_fail_code(EU_NO_MEMORY("the name of a file"));
    name_ending(ending, 0, count);
    memcpy(name + n - ENDING, ending, ENDING);
    int status = eng_gguf_open_file(name, &first);
    if (status == ENG_ERR_NOTFOUND)
        status = eng_fail(status, "%s is file %" PRId64 " of %" PRId64 " of a model, of which %s is missing" ENG_ADVICE
                          "put it beside the others", path, no + 1, count, name);
    free(name);
    if (status)
        return status;
    eng_gguf_close(*g);
    *g = first;
    status = read_place(first, &its_no, &its_count);
    if (!status && (its_no != 0 || its_count != count))
        status = eng_fail(ENG_ERR_FORMAT, "%s holds part %" PRId64 " of %" PRId64 " by its keys, which is not what its "
                          "name says: it was renamed, or is of another model", first->path, its_no + 1, its_count);
    return status;
}

int eng_gguf_open(const char *path, eng_gguf **gguf)
{
    eng_gguf *g;
    int64_t no, count;

    if (!path || !gguf)
        return eng_fail(ENG_ERR_INVALID, "eng_gguf_open" ENG_CAUSE "no path or nowhere to put the file");
    int status = eng_gguf_open_file(path, &g);
    if (status)
        return status;
    status = read_place(g, &no, &count);
    if (!status && no > 0)
        status = open_first(&g, no, count);
    if (!status && count > 1)
        status = join(g, count);
    if (status) {
        eng_gguf_close(g);
        return status;
    }
    *gguf = g;
    return ENG_OK;
}
