/* Rows of a tensor from one type to another, by a device or by the host, and what they lost. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "quantize.h"
#include "weighted.h"

/* A line that is written over, not more often than ten times a second. */
void quantize_show_progress(job *j, const char *name)
{
    static const char bar[] = "####################";
    uint64_t now = eu_now();

    if (!j->progress || (name && now - j->last < EU_SECOND / 10))
        return;
    j->last = now;
    const int full = (int)(j->total ? j->done * 20 / j->total : 20);
    if (name)
        fprintf(stderr, "\r\033[K[%-20s] %3d%%  %s", bar + 20 - full, (int)(j->total ? j->done * 100 / j->total : 100),
                name);
    else
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

/* Some rows as f32: where they lie, or in `line`. */
static int rows_f32(job *j, uint32_t type, const void *rows, int64_t columns, int64_t n, float *line, const float **out)
{
    if (eu_plain_bytes(type)) {
        eu_plain_decode(type, rows, n * columns, line);
        *out = line;
        return ENG_OK;
    }
    *out = type == ENG_TYPE_F32 ? rows : line;
    return type == ENG_TYPE_F32 ? ENG_OK : converter_run(j->convert, type, rows, ENG_TYPE_F32, line, columns, n);
}

/* What the tensor lost, a few rows at a time. */
static int print_error(job *j, const eng_gguf_tensor *t, uint32_t type, const void *encoded, int64_t rows)
{
    const int64_t columns = t->ne[0], most = columns < 65536 ? 65536 / (columns > 0 ? columns : 1) : 1;
    const uint64_t before = quantize_row_bytes(t->type, columns), after = eng_row_bytes(type, columns);
    double lost = 0, all = 0;
    for (int i = 0; i < 2 && j->line_room < (size_t)(most * columns); i++) {
        free(j->lines[i]);
        j->lines[i] = malloc((size_t)(most * columns) * sizeof(float));
    }
    if (!j->lines[0] || !j->lines[1])
        return eng_fail_code(EU_NO_MEMORY("what a tensor lost"));
    if (j->line_room < (size_t)(most * columns))
        j->line_room = (size_t)(most * columns);
    for (int64_t r = 0, n; r < rows; r += n) {
        const float *x, *y;
        n = rows - r < most ? rows - r : most;
        int status = rows_f32(j, t->type, (const char *)t->data + (uint64_t)r * before, columns, n, j->lines[0], &x);
        if (!status)
            status = rows_f32(j, type, (const char *)encoded + (uint64_t)r * after, columns, n, j->lines[1], &y);
        if (status)
            return status;
        for (int64_t i = 0; i < n * columns; i++) {
            lost += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
            all += (double)x[i] * (double)x[i];
        }
    }
    quantize_show_progress(j, NULL);
    printf("%s: %s, error %.3g\n", t->name, eng_type_get(type)->name, all > 0 ? sqrt(lost / all) : 0.0);
    return ENG_OK;
}

/* Rows first .. first + n - 1 of a tensor, all of one set of importance. */
static int convert_rows(job *j, const eng_gguf_tensor *t, uint32_t type, int64_t first, int64_t n, const float *worth)
{
    const uint64_t row = quantize_row_bytes(t->type, t->ne[0]), bytes = row * (uint64_t)n;
    const void *rows = (const char *)t->data + row * (uint64_t)first, *from = rows;
    char *to = (char *)j->buffer + eng_row_bytes(type, t->ne[0]) * (uint64_t)first;
    uint32_t source = t->type;
    if (eu_plain_bytes(source)) {
        if (!eu_reserve(j->plain, j->plain_room, (size_t)(n * t->ne[0])))
            return eng_fail_code(EU_NO_MEMORY("a conversion"));
        eu_plain_decode(source, from, n * t->ne[0], j->plain);
        source = ENG_TYPE_F32;
        from = j->plain;
    }
    j->done += bytes;
    int status = weighted_only(type) || (worth && weighted_uses(type))
                     ? weigher_run(j->weigher, j->convert, source, from, type, to, t->ne[0], n, worth)
                     : converter_run(j->convert, source, from, type, to, t->ne[0], n);
    eng_gguf_drop(j->gguf, rows, bytes); /* not the whole tensor and its result at once */
    return status;
}

/* Piece by piece: that the bar moves, that a signal is heard, and that pages of the model which were read are given
 * back. */
#define PIECE (INT64_C(1) << 24)
static int convert_tensor(job *j, const eng_gguf_tensor *t, uint32_t type, int64_t rows)
{
    const float *worth = NULL;
    int64_t sets = 1, most = t->ne[0] > 0 && t->ne[0] < PIECE ? PIECE / t->ne[0] : 1;
    int status = j->importance ? importance_find(j->importance, t->name, t->ne[0], t->ne[2], &worth, &sets) : ENG_OK;
    for (int64_t set = 0, of = rows / sets; set < sets && !status; set++)
        for (int64_t at = 0, n; at < of && !status; at += n) {
            n = of - at < 2 * most ? of - at : most; /* the last one is no small one */
            if (j->stopped())
                return eng_fail(ENG_ERR_STATE, "interrupted");
            status = convert_rows(j, t, type, set * of + at, n, worth ? worth + set * t->ne[0] : NULL);
            quantize_show_progress(j, t->name);
        }
    return status;
}

/* Called by the writer for each tensor. */
int quantize_produce(void *user, uint32_t index, const void **data)
{
    job *j = user;
    const eng_gguf_tensor *t = eng_gguf_tensor_get(j->gguf, index);
    int64_t rows = t->ne[1] * t->ne[2] * t->ne[3];
    uint64_t bytes = eng_row_bytes(j->types[index], t->ne[0]) * (uint64_t)rows;

    quantize_show_progress(j, t->name);
    if (j->stopped())
        return eng_fail(ENG_ERR_STATE, "interrupted");
    if (j->types[index] == t->type) {
        *data = t->data;
        return ENG_OK;
    }
    if (bytes > j->buffer_bytes) {
        free(j->buffer);
        j->buffer_bytes = 0;
        j->buffer = malloc(bytes);
        if (!j->buffer)
            return eng_fail_code(ENG_ERR_NOMEM, ENG_CODE_HOST_MEMORY, -1,
                                 "tensor \"%s\"" ENG_CAUSE "out of memory for %" PRIu64 " bytes", t->name, bytes);
        j->buffer_bytes = bytes;
    }
    int status = convert_tensor(j, t, j->types[index], rows);
    if (!status && j->errors)
        status = print_error(j, t, j->types[index], j->buffer, rows);
    eng_gguf_drop(j->gguf, t->data, t->bytes);
    *data = j->buffer;
    return status;
}
