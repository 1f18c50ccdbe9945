#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importance.h"
#include "libengine/util/util.h"

typedef struct entry {
    char *name;
    float *values;
    int64_t n, sets; /* values in all; how many experts they are of */
} entry;

struct importance {
    char *path;
    entry *entries;
    size_t room;
    uint32_t n;
};

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("an importance matrix"));
}

/* One more, whose values are zeros. */
static int add(importance *m, const char *name, size_t length, int64_t n, int64_t sets, entry **added)
{
    if (!eu_reserve(m->entries, m->room, (size_t)m->n + 1))
        return no_memory();
    entry *e = &m->entries[m->n];
    *e = (entry){.name = malloc(length + 1), .values = calloc((size_t)n, sizeof(float)), .n = n, .sets = sets};
    m->n++;
    if (!e->name || !e->values)
        return no_memory();
    memcpy(e->name, name, length);
    e->name[length] = 0;
    *added = e;
    return ENG_OK;
}

/* -- GGUF --------------------------------------------------------------------------------- */

static int read_tensor(importance *m, const eng_gguf *g, const eng_gguf_tensor *t)
{
    static const char sums_end[] = ".in_sum2";
    const size_t length = strlen(t->name) - (sizeof sums_end - 1);
    char *name = malloc(length + sizeof ".counts");
    if (!name)
        return no_memory();
    sprintf(name, "%.*s.counts", (int)length, t->name);
    const eng_gguf_tensor *counts = eng_gguf_tensor_find(g, name);
    free(name);
    const int64_t sets = t->ne[1] * t->ne[2] * t->ne[3];
    if (t->type != ENG_TYPE_F32 || !counts || counts->type != ENG_TYPE_F32 ||
        counts->ne[0] * counts->ne[1] * counts->ne[2] * counts->ne[3] != sets)
        return eng_fail(ENG_ERR_FORMAT,
                        "%s" ENG_CAUSE "tensor \"%s\" and its counts are not of f32 and one count for each of "
                        "%" PRId64 " sets",
                        m->path, t->name, sets);
    entry *e;
    int status = add(m, t->name, length, t->ne[0] * sets, sets, &e);
    for (int64_t i = 0; i < t->ne[0] * sets && !status; i++) {
        float sum, count;
        memcpy(&sum, (const char *)t->data + 4 * i, 4);
        memcpy(&count, (const char *)counts->data + 4 * (i / t->ne[0]), 4);
        e->values[i] = count > 0 ? sum / count : 0; /* an expert that was never chosen: all alike */
    }
    return status;
}

static int read_gguf(importance *m)
{
    eng_gguf *g;
    int status = eng_gguf_open(m->path, &g);
    if (status)
        return status;
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g) && !status; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i);
        const size_t n = strlen(t->name);
        if (n > 8 && strcmp(t->name + n - 8, ".in_sum2") == 0)
            status = read_tensor(m, g, t);
    }
    eng_gguf_close(g);
    return status;
}

/* -- the older form ------------------------------------------------------------------------ */

static int damaged(const importance *m)
{
    return eng_fail(ENG_ERR_FORMAT,
                    "%s" ENG_CAUSE "it is neither a GGUF file nor an importance matrix of the older form, or it was "
                    "cut short" ENG_ADVICE "give the file of engine-generate --imatrix-out",
                    m->path);
}

/* A length or a number that is not negative. */
static bool read_number(FILE *f, int32_t most, int32_t *n)
{
    uint8_t b[4];
    if (fread(b, 1, 4, f) != 4)
        return false;
    *n = (int32_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    return *n >= 0 && *n <= most;
}

/* Name, how often it was called, how many values, the values: their size alone says nothing. */
static int read_entry(importance *m, FILE *f)
{
    int32_t length, calls, n;
    char name[1024];
    entry *e;
    if (!read_number(f, sizeof name, &length) || fread(name, 1, (size_t)length, f) != (size_t)length ||
        !read_number(f, INT32_MAX, &calls) || !read_number(f, 1 << 28, &n) || n == 0)
        return damaged(m);
    int status = add(m, name, (size_t)length, n, 1, &e);
    if (!status && fread(e->values, sizeof(float), (size_t)n, f) != (size_t)n)
        return damaged(m);
    return status;
}

static int read_older(importance *m, FILE *f)
{
    int32_t n;
    int status = read_number(f, 1 << 20, &n) && n > 0 ? ENG_OK : damaged(m);
    for (int32_t i = 0; i < n && !status; i++)
        status = read_entry(m, f);
    return status;
}

/* -- as a whole ----------------------------------------------------------------------------- */

static int read_file(importance *m)
{
    FILE *f = fopen(m->path, "rbe");
    char magic[4] = "";
    if (!f)
        return eng_fail(ENG_ERR_IO, "cannot read %s" ENG_CAUSE "%s", m->path, strerror(errno));
    const bool gguf = fread(magic, 1, 4, f) == 4 && memcmp(magic, "GGUF", 4) == 0;
    rewind(f);
    int status = gguf ? read_gguf(m) : read_older(m, f);
    fclose(f);
    if (!status && m->n == 0)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "it is a GGUF file without importance (tensors NAME.in_sum2)",
                        m->path);
    return status;
}

int importance_open(const char *path, importance **result)
{
    importance *m = calloc(1, sizeof *m);
    if (!m)
        return no_memory();
    m->path = strdup(path);
    int status = m->path ? read_file(m) : no_memory();
    if (status) {
        importance_close(m);
        return status;
    }
    *result = m;
    return ENG_OK;
}

void importance_close(importance *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        free(m->entries[i].name);
        free(m->entries[i].values);
    }
    free(m->entries);
    free(m->path);
    free(m);
}

uint32_t importance_count(const importance *m)
{
    return m->n;
}

int importance_find(const importance *m, const char *name, int64_t columns, int64_t experts, const float **values,
                    int64_t *sets)
{
    *values = NULL;
    for (uint32_t i = 0; i < m->n && columns > 0; i++) {
        const entry *e = &m->entries[i];
        if (strcmp(e->name, name) != 0)
            continue;
        if (e->n != columns && e->n != columns * experts)
            return eng_fail(ENG_ERR_INVALID,
                            "%s" ENG_CAUSE "it has %" PRId64 " numbers for tensor \"%s\", expected %" PRId64 ENG_ADVICE
                            "give the importance matrix of this model",
                            m->path, e->n, name, columns * experts);
        *values = e->values;
        *sets = e->n / columns;
    }
    return ENG_OK;
}
