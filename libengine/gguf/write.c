/*
 * Writing GGUF files.  The header is kept as the bytes it will be; the file is
 * written beside its final place and then renamed, so that a failure leaves
 * nothing half done and a file may be rewritten while it is mapped.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapped.h"

typedef EU_ARRAY(uint8_t) bytes;

typedef struct pending {
    const void *data; /* NULL: asked for when its turn comes */
    uint64_t size, offset;
    char *name;
} pending;

struct eng_gguf_writer {
    bytes keys, tensors; /* encoded */
    EU_ARRAY(size_t) marks; /* where each key begins in keys */
    EU_ARRAY(pending) list; /* of the tensors */
    eu_map key_names, tensor_names;
    uint64_t end; /* of the data so far, aligned */
};

/* -- bytes ---------------------------------------------------------------------- */

static int append(bytes *b, const void *data, uint64_t n)
{
    size_t before = b->n;
    if (n > SIZE_MAX - before || !eu_array_resize(b, before + (size_t)n))
        return eng_fail_code(EU_NO_MEMORY("the header of a GGUF file"));
    if (n > 0)
        memcpy(b->at + before, data, (size_t)n);
    return ENG_OK;
}

static int append_u32(bytes *b, uint32_t value)
{
    return append(b, &value, sizeof value);
}

static int append_u64(bytes *b, uint64_t value)
{
    return append(b, &value, sizeof value);
}

static int append_string(bytes *b, const char *text, uint64_t length)
{
    int status = append_u64(b, length);

    return status ? status : append(b, text, length);
}

/* -- names ------------------------------------------------------------------------ */

static eu_key key_name(const void *writer, uint32_t entry)
{
    const eng_gguf_writer *w = writer;
    const uint8_t *at = w->keys.at + w->marks.at[entry];
    uint64_t n;

    memcpy(&n, at, sizeof n);
    return (eu_key){at + sizeof n, (size_t)n};
}

static eu_key tensor_name(const void *writer, uint32_t entry)
{
    const char *name = ((const eng_gguf_writer *)writer)->list.at[entry].name;

    return (eu_key){name, strlen(name)};
}

/* -- keys ------------------------------------------------------------------------- */

static int null_argument(const char *call)
{
    return eng_fail(ENG_ERR_INVALID, "%s" ENG_CAUSE "the writer, a name, a value or a path is NULL", call);
}

int eng_gguf_writer_create(eng_gguf_writer **writer)
{
    if (!writer)
        return null_argument("eng_gguf_writer_create");
    eng_gguf_writer *w = calloc(1, sizeof *w);

    if (!w)
        return eng_fail_code(EU_NO_MEMORY("a GGUF writer"));
    w->key_names.key_of = key_name;
    w->tensor_names.key_of = tensor_name;
    *writer = w;
    return ENG_OK;
}

void eng_gguf_writer_destroy(eng_gguf_writer *writer)
{
    if (!writer)
        return;
    for (size_t i = 0; i < writer->list.n; i++)
        free(writer->list.at[i].name);
    eu_array_free(&writer->list);
    eu_array_free(&writer->keys);
    eu_array_free(&writer->marks);
    eu_array_free(&writer->tensors);
    eu_map_free(&writer->key_names);
    eu_map_free(&writer->tensor_names);
    free(writer);
}

/* Length of a value as it is in the file; `data` is trusted: it is the caller's. */
static int value_bytes(const eng_gguf_key *key, uint64_t *n)
{
    uint32_t type = key->type == ENG_GGUF_ARRAY ? key->element : key->type;
    uint64_t count = key->type == ENG_GGUF_ARRAY ? key->count : 1, size = eng_gguf_scalar_bytes(type);

    if (type == ENG_GGUF_STRING) {
        *n = 0;
        for (uint64_t i = 0, length; i < count; i++) {
            memcpy(&length, (const uint8_t *)key->data + *n, sizeof length);
            *n += sizeof length + length;
        }
        return ENG_OK;
    }
    if (size == 0 || !eu_mul(count, size, n))
        return eng_fail(ENG_ERR_INVALID, "GGUF key \"%s\": no value of type %u can be written",
                        eng_gguf_show(key->name.data, key->name.length).text, type);
    return ENG_OK;
}

/* Begins a key; if what follows fails, the caller goes back to `mark`.  What the reader would
 * refuse is refused here, where the mistake is made. */
static int begin_key(eng_gguf_writer *w, const char *name, uint64_t length, uint32_t type)
{
    static const char alignment[] = "general.alignment";

    if (length == 0)
        return eng_fail(ENG_ERR_INVALID, "GGUF keys must have a name");
    if (length == sizeof alignment - 1 && memcmp(name, alignment, length) == 0)
        return eng_fail(ENG_ERR_INVALID, "GGUF key \"%s\" is the writer's own: files are aligned to %d bytes" ENG_ADVICE
                        "leave it out",
                        alignment, GGUF_ALIGNMENT);
    if (eu_map_find(&w->key_names, w, name, (size_t)length) != EU_NONE)
        return eng_fail(ENG_ERR_INVALID, "GGUF key \"%.*s\" was added before", (int)length, name);
    int status = append_string(&w->keys, name, length);
    return status ? status : append_u32(&w->keys, type);
}

static int end_key(eng_gguf_writer *w, size_t mark, int status)
{
    uint32_t first;

    if (!status && !eu_array_add(&w->marks, mark))
        status = eng_fail_code(EU_NO_MEMORY("the keys of a GGUF file"));
    else if (!status && !eu_map_add(&w->key_names, w, (uint32_t)w->marks.n - 1, &first)) {
        w->marks.n--;
        status = eng_fail_code(EU_NO_MEMORY("the keys of a GGUF file"));
    }
    if (status)
        w->keys.n = mark;
    return status;
}

int eng_gguf_writer_key(eng_gguf_writer *writer, const eng_gguf_key *key)
{
    if (!writer || !key || !key->name.data || (!key->data && !(key->type == ENG_GGUF_ARRAY && key->count == 0)))
        return null_argument("eng_gguf_writer_key");
    size_t mark = writer->keys.n;
    uint64_t n = 0;
    int status = value_bytes(key, &n);

    if (!status)
        status = begin_key(writer, key->name.data, key->name.length, key->type);
    if (!status && key->type == ENG_GGUF_ARRAY) {
        status = append_u32(&writer->keys, key->element);
        if (!status)
            status = append_u64(&writer->keys, key->count);
    }
    if (!status)
        status = append(&writer->keys, key->data, n);
    return end_key(writer, mark, status);
}

static int scalar_key(eng_gguf_writer *w, const char *name, uint32_t type, const void *value)
{
    eng_gguf_key key = {{name, strlen(name)}, type, type, 1, value};

    return eng_gguf_writer_key(w, &key);
}

int eng_gguf_writer_integer(eng_gguf_writer *writer, const char *name, uint32_t type, int64_t value)
{
    static const struct {
        int64_t low, high;
    } ranges[] = {
        [ENG_GGUF_U8] = {0, UINT8_MAX},
        [ENG_GGUF_I8] = {INT8_MIN, INT8_MAX},
        [ENG_GGUF_U16] = {0, UINT16_MAX},
        [ENG_GGUF_I16] = {INT16_MIN, INT16_MAX},
        [ENG_GGUF_U32] = {0, UINT32_MAX},
        [ENG_GGUF_I32] = {INT32_MIN, INT32_MAX},
        [ENG_GGUF_BOOL] = {0, 1},
        [ENG_GGUF_U64] = {0, INT64_MAX},
        [ENG_GGUF_I64] = {INT64_MIN, INT64_MAX},
    };

    if (!writer || !name)
        return null_argument("eng_gguf_writer_integer");
    if (type >= sizeof ranges / sizeof *ranges || ranges[type].high == 0)
        return eng_fail(ENG_ERR_INVALID, "GGUF key \"%s\": %s is not a type of whole numbers", name,
                        eng_gguf_type_name(type));
    if (value < ranges[type].low || value > ranges[type].high)
        return eng_fail(ENG_ERR_INVALID, "GGUF key \"%s\": %" PRId64 " does not fit %s", name, value,
                        eng_gguf_type_name(type));
    return scalar_key(writer, name, type, &value); /* little endian: the low bytes come first */
}

int eng_gguf_writer_number(eng_gguf_writer *writer, const char *name, double value)
{
    if (!writer || !name)
        return null_argument("eng_gguf_writer_number");
    if (isfinite(value) && fabs(value) > FLT_MAX)
        return eng_fail(ENG_ERR_INVALID, "GGUF key \"%s\": %g does not fit f32", name, value);
    float number = (float)value;
    return scalar_key(writer, name, ENG_GGUF_F32, &number);
}

int eng_gguf_writer_text(eng_gguf_writer *writer, const char *name, const char *value)
{
    if (!writer || !name || !value)
        return null_argument("eng_gguf_writer_text");
    size_t mark = writer->keys.n;
    int status = begin_key(writer, name, strlen(name), ENG_GGUF_STRING);
    if (!status)
        status = append_string(&writer->keys, value, strlen(value));
    return end_key(writer, mark, status);
}

int eng_gguf_writer_texts(eng_gguf_writer *writer, const char *name, const eng_gguf_string *values, uint64_t n)
{
    if (!writer || !name || (n > 0 && !values))
        return null_argument("eng_gguf_writer_texts");
    for (uint64_t i = 0; i < n; i++)
        if (values[i].length > 0 && !values[i].data)
            return null_argument("eng_gguf_writer_texts");
    size_t mark = writer->keys.n;
    int status = begin_key(writer, name, strlen(name), ENG_GGUF_ARRAY);
    if (!status)
        status = append_u32(&writer->keys, ENG_GGUF_STRING);
    if (!status)
        status = append_u64(&writer->keys, n);
    for (uint64_t i = 0; i < n && !status; i++)
        status = append_string(&writer->keys, values[i].data, values[i].length);
    return end_key(writer, mark, status);
}

/* -- tensors ------------------------------------------------------------------------ */

static int describe(eng_gguf_writer *w, const char *name, uint32_t type, const int64_t *ne, uint32_t rank)
{
    int status = append_string(&w->tensors, name, strlen(name));

    if (!status)
        status = append_u32(&w->tensors, rank);
    for (uint32_t i = 0; i < rank && !status; i++)
        status = append_u64(&w->tensors, (uint64_t)ne[i]);
    if (!status)
        status = append_u32(&w->tensors, type);
    return status ? status : append_u64(&w->tensors, w->end);
}

/* Why a tensor has no size. */
static int bad_tensor(const char *name, uint32_t type, const int64_t *ne, uint32_t rank)
{
    const eng_type_info *info = eng_type_get(type);

    if (!info)
        return eng_fail(ENG_ERR_INVALID, "GGUF tensor \"%s\": there is no type %u", name, type);
    for (uint32_t d = 0; d < rank; d++)
        if (ne[d] < 0)
            return eng_fail(ENG_ERR_INVALID, "GGUF tensor \"%s\": extent %" PRId64 " is negative", name, ne[d]);
    if ((rank > 0 ? ne[0] : 1) % info->block != 0)
        return eng_fail(ENG_ERR_INVALID,
                        "GGUF tensor \"%s\": rows of %" PRId64 " elements are no whole blocks of type %s", name,
                        rank > 0 ? ne[0] : 1, info->name);
    return eng_fail(ENG_ERR_INVALID, "GGUF tensor \"%s\" makes the file larger than a file can be", name);
}

int eng_gguf_writer_tensor(eng_gguf_writer *writer, const char *name, uint32_t type, const int64_t *ne, uint32_t rank,
                           const void *data)
{
    if (!writer || (rank > 0 && !ne))
        return null_argument("eng_gguf_writer_tensor");
    uint64_t size;
    size_t mark = writer->tensors.n, before = writer->list.n;
    if (name && eu_map_find(&writer->tensor_names, writer, name, strlen(name)) != EU_NONE)
        return eng_fail(ENG_ERR_INVALID, "GGUF tensor \"%s\" was added before", name);
    if (!name || !*name || rank > 4)
        return eng_fail(ENG_ERR_INVALID, "GGUF tensors must have a name and at most 4 dimensions (%u given)", rank);
    if (!eng_gguf_tensor_bytes(type, ne, rank, &size) || size > (UINT64_C(1) << 60) - writer->end)
        return bad_tensor(name, type, ne, rank);
    pending p = {data, size, writer->end, strdup(name)};
    uint32_t first;
    int status = p.name && eu_array_add(&writer->list, p) ? describe(writer, name, type, ne, rank)
                                                          : eng_fail_code(EU_NO_MEMORY("the tensors of a GGUF file"));
    if (!status && !eu_map_add(&writer->tensor_names, writer, (uint32_t)writer->list.n - 1, &first))
        status = eng_fail_code(EU_NO_MEMORY("the tensors of a GGUF file"));
    if (status) {
        free(p.name);
        writer->list.n = before;
        writer->tensors.n = mark;
        return status;
    }
    writer->end = eu_round_up(writer->end + size, GGUF_ALIGNMENT);
    return ENG_OK;
}

/* -- the file ------------------------------------------------------------------------- */

static int write_padded(FILE *file, const void *data, uint64_t n, uint64_t *at, const char *path)
{
    static const uint8_t zeros[GGUF_ALIGNMENT];

    if (n > 0 && fwrite(data, 1, n, file) != n)
        return eng_fail(ENG_ERR_IO, "cannot write %s" ENG_CAUSE "%s", path, strerror(errno));
    *at += n;
    uint64_t padding = (GGUF_ALIGNMENT - *at % GGUF_ALIGNMENT) % GGUF_ALIGNMENT;
    if (fwrite(zeros, 1, padding, file) != padding)
        return eng_fail(ENG_ERR_IO, "cannot write %s" ENG_CAUSE "%s", path, strerror(errno));
    *at += padding;
    return ENG_OK;
}

static int write_all(eng_gguf_writer *w, FILE *file, const char *path, eng_gguf_produce_func produce, void *user)
{
    bytes header = {0};
    uint64_t at = 0;
    int status = append_u32(&header, GGUF_MAGIC);

    if (!status)
        status = append_u32(&header, GGUF_VERSION);
    if (!status)
        status = append_u64(&header, w->list.n);
    if (!status)
        status = append_u64(&header, w->marks.n);
    if (!status)
        status = append(&header, w->keys.at, w->keys.n);
    if (!status)
        status = append(&header, w->tensors.at, w->tensors.n);
    if (!status)
        status = write_padded(file, header.at, header.n, &at, path);
    eu_array_free(&header);
    for (uint32_t i = 0; i < w->list.n && !status; i++) {
        const void *data = w->list.at[i].data;
        if (!data && w->list.at[i].size > 0)
            status = produce ? produce(user, i, &data)
                             : eng_fail(ENG_ERR_INVALID, "GGUF tensor \"%s\" was given no data", w->list.at[i].name);
        if (!status && !data && w->list.at[i].size > 0)
            status = eng_fail(ENG_ERR_INVALID, "GGUF tensor \"%s\": its data were asked for and none came",
                              w->list.at[i].name);
        if (!status)
            status = write_padded(file, data, w->list.at[i].size, &at, path);
    }
    return status;
}

/* The name to write under first, no other writer's of the process: none for devices and pipes, which are written to
 * directly. */
static int temporary_name(const char *path, char **name)
{
    static atomic_uint counter;
    struct stat st;

    *name = NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return ENG_OK;
    size_t n = strlen(path) + 48;
    *name = malloc(n);
    if (!*name)
        return eng_fail_code(EU_NO_MEMORY(path));
    const unsigned number = atomic_fetch_add(&counter, 1);
    int length = snprintf(*name, n, "%s.part-%ld", path, (long)getpid());
    if (number > 0)
        snprintf(*name + length, n - (size_t)length, "-%u", number);
    return ENG_OK;
}

int eng_gguf_writer_save_from(eng_gguf_writer *writer, const char *path, eng_gguf_produce_func produce, void *user)
{
    if (!writer || !path)
        return null_argument("eng_gguf_writer_save");
    char *part;
    int status = temporary_name(path, &part);
    if (status)
        return status;
    FILE *file = fopen(part ? part : path, "wbe");
    if (!file) {
        status = eng_fail(ENG_ERR_IO, "cannot write %s" ENG_CAUSE "%s", part ? part : path, strerror(errno));
        free(part);
        return status;
    }
    status = write_all(writer, file, path, produce, user);
    if (part && !status && (fflush(file) != 0 || fsync(fileno(file)) != 0)) /* before it has its name */
        status = eng_fail(ENG_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    if (fclose(file) != 0 && !status)
        status = eng_fail(ENG_ERR_IO, "cannot write %s" ENG_CAUSE "%s", path, strerror(errno));
    if (part && !status && rename(part, path) != 0)
        status = eng_fail(ENG_ERR_IO, "cannot write %s" ENG_CAUSE "%s", path, strerror(errno));
    if (part && status)
        unlink(part);
    free(part);
    return status;
}

int eng_gguf_writer_save(eng_gguf_writer *writer, const char *path)
{
    return eng_gguf_writer_save_from(writer, path, NULL, NULL);
}
