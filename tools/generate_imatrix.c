/* --imatrix-out: sums of squares of what matrices of weights are multiplied with, in a file as quantisers read it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "generate_imatrix.h"

/* Of one matrix, or of a stack of them. */
typedef struct sums {
    char *name; /* of the weights; the sums' own is made of it when they are written */
    int64_t columns, sets;
    double *squares, *rows; /* [sets][columns]; [sets]                             */
    float *written;
} sums;

struct imatrix {
    sums *all;
    size_t room;
    uint32_t n, next; /* next: the one that will probably be asked for               */
    bool no_memory;
};

static sums *add(imatrix *m, const char *name, int64_t columns, int64_t sets)
{
    if (!eu_reserve(m->all, m->room, (size_t)m->n + 1))
        return NULL;
    sums *s = &m->all[m->n];
    *s = (sums){.name = strdup(name), .columns = columns, .sets = sets, .rows = calloc((size_t)sets, sizeof(double)),
                .squares = calloc((size_t)(columns * sets), sizeof(double))};
    m->n++;
    return s->name && s->squares && s->rows ? s : NULL;
}

static sums *find(imatrix *m, const char *name, int64_t columns, int64_t sets)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const uint32_t at = (m->next + i) % m->n;
        if (strcmp(m->all[at].name, name) == 0) {
            m->next = at;
            return &m->all[at];
        }
    }
    m->next = m->n;
    return add(m, name, columns, sets);
}

static void collect(void *user, const char *weight, int64_t set, int64_t of, const float *rows, int64_t columns,
                    int64_t n)
{
    imatrix *m = user;
    sums *s = m->no_memory ? NULL : find(m, weight, columns, of);
    if (!s) {
        m->no_memory = true;
        return;
    }
    double *squares = s->squares + set * columns;
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < columns; i++)
            squares[i] += (double)rows[r * columns + i] * (double)rows[r * columns + i];
    s->rows[set] += (double)n;
}

int imatrix_begin(eng_lm_context *context, imatrix **result)
{
    imatrix *m = calloc(1, sizeof *m);
    if (!m)
        return eng_fail_code(EU_NO_MEMORY("an importance matrix"));
    int status = eng_lm_context_collect(context, collect, m);
    if (status) {
        free(m);
        return status;
    }
    *result = m;
    return ENG_OK;
}

/* Two tensors: the sums, and of how many rows they are. */
static int write_sums(eng_gguf_writer *w, sums *s)
{
    const int64_t n = s->columns * s->sets;
    const int64_t squares[] = {s->columns, s->sets}, counts[] = {1, s->sets};
    char name[256];
    s->written = malloc((size_t)(n + s->sets) * sizeof(float));
    if (!s->written)
        return eng_fail_code(EU_NO_MEMORY("an importance matrix"));
    for (int64_t i = 0; i < n; i++)
        s->written[i] = (float)s->squares[i];
    for (int64_t i = 0; i < s->sets; i++)
        s->written[n + i] = (float)s->rows[i];
    snprintf(name, sizeof name, "%s.in_sum2", s->name);
    int status = eng_gguf_writer_tensor(w, name, ENG_TYPE_F32, squares, 2, s->written);
    snprintf(name, sizeof name, "%s.counts", s->name);
    return status ? status : eng_gguf_writer_tensor(w, name, ENG_TYPE_F32, counts, 2, s->written + n);
}

int imatrix_write(imatrix *m, const char *path, const char *text, uint32_t chunks, uint32_t chunk)
{
    eng_gguf_writer *w;
    const eng_gguf_string dataset = {.data = text, .length = strlen(text)};
    if (m->no_memory)
        return eng_fail_code(EU_NO_MEMORY("an importance matrix"));
    int status = eng_gguf_writer_create(&w);
    if (status)
        return status;
    status = eng_gguf_writer_text(w, "general.type", "imatrix");
    if (!status)
        status = eng_gguf_writer_texts(w, "imatrix.datasets", &dataset, 1);
    if (!status)
        status = eng_gguf_writer_integer(w, "imatrix.chunk_count", ENG_GGUF_U32, chunks);
    if (!status)
        status = eng_gguf_writer_integer(w, "imatrix.chunk_size", ENG_GGUF_U32, chunk);
    for (uint32_t i = 0; i < m->n && !status; i++)
        status = write_sums(w, &m->all[i]);
    if (!status)
        status = eng_gguf_writer_save(w, path);
    eng_gguf_writer_destroy(w);
    return status;
}

void imatrix_end(imatrix *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        free(m->all[i].name);
        free(m->all[i].squares);
        free(m->all[i].rows);
        free(m->all[i].written);
    }
    free(m->all);
    free(m);
}
