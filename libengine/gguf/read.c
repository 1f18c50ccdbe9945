/*
 * Reading GGUF files: mapped, and checked as a whole before anything of them is
 * handed out.  What a later call returns lies inside the map.
 *
 * Layout: "GGUF", u32 version, u64 tensors, u64 keys; the keys; the tensors'
 * descriptions; padding to the alignment; the tensors' data.  Models in several
 * files: gguf_parts.c.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapped.h"

/* A place in the file while it is read. */
typedef struct cursor {
    eng_gguf *g;
    uint64_t at;
} cursor;

static uint64_t left(const cursor *c)
{
    return c->g->size - c->at;
}

static int truncated(const cursor *c, const char *what)
{
    return eng_fail(ENG_ERR_FORMAT,
                    "%s" ENG_CAUSE "the file ends inside %s (at byte %" PRIu64 " of %" PRIu64
                    "): it is truncated or damaged" ENG_ADVICE "fetch or convert it again",
                    c->g->path, what, c->at, c->g->size);
}

static int read_bytes(cursor *c, void *to, uint64_t n, const char *what)
{
    if (left(c) < n)
        return truncated(c, what);
    memcpy(to, c->g->map + c->at, n);
    c->at += n;
    return ENG_OK;
}

static int read_u32(cursor *c, uint32_t *value, const char *what)
{
    return read_bytes(c, value, sizeof *value, what);
}

static int read_u64(cursor *c, uint64_t *value, const char *what)
{
    return read_bytes(c, value, sizeof *value, what);
}

static int read_string(cursor *c, eng_gguf_string *string, const char *what)
{
    uint64_t length = 0;
    int status = read_u64(c, &length, what);

    if (status)
        return status;
    if (length > left(c))
        return eng_fail(ENG_ERR_FORMAT,
                        "%s" ENG_CAUSE "%s announces %" PRIu64 " bytes at byte %" PRIu64 ", but only %" PRIu64
                        " follow: the file is truncated or damaged" ENG_ADVICE "fetch or convert it again",
                        c->g->path, what, length, c->at, left(c));
    string->data = (const char *)c->g->map + c->at;
    string->length = length;
    c->at += length;
    return ENG_OK;
}

/* -- names ------------------------------------------------------------------ */

static eu_key key_name(const void *gguf, uint32_t entry)
{
    const eng_gguf_string *name = &((const eng_gguf *)gguf)->keys[entry].key.name;

    return (eu_key){name->data, (size_t)name->length};
}

static eu_key tensor_name(const void *gguf, uint32_t entry)
{
    const char *name = ((const eng_gguf *)gguf)->tensors[entry].name;

    return (eu_key){name, strlen(name)};
}

static int names_reserve(const eng_gguf *g, eu_map *map, uint64_t n)
{
    return eu_map_reserve(map, g, n) ? ENG_OK : eng_fail_code(EU_NO_MEMORY_IN(g->path, "an index of names"));
}

int eng_gguf_index_tensors(eng_gguf *g, uint64_t n)
{
    return names_reserve(g, &g->tensor_names, n);
}

bool eng_gguf_index_tensor(eng_gguf *g, uint32_t tensor)
{
    uint32_t first = EU_NONE;

    return eu_map_add(&g->tensor_names, g, tensor, &first) && first == tensor;
}

/* -- keys --------------------------------------------------------------------- */

static int read_strings(cursor *c, gguf_key *entry, const char *what)
{
    uint64_t n = entry->key.count, start = c->at;

    /* Every string has at least its length: bounds the memory asked for. */
    if (n > left(c) / 8)
        return truncated(c, what);
    entry->places = calloc(n + 1, sizeof *entry->places);
    if (!entry->places)
        return eng_fail_code(EU_NO_MEMORY_IN(c->g->path, what));
    for (uint64_t i = 0; i < n; i++) {
        eng_gguf_string string;
        int status = read_string(c, &string, what);
        if (status)
            return status;
        entry->places[i + 1] = c->at - start;
    }
    return ENG_OK;
}

static int read_array(cursor *c, gguf_key *entry, const char *what)
{
    eng_gguf_key *key = &entry->key;
    uint64_t bytes;
    int status = read_u32(c, &key->element, what);

    if (!status)
        status = read_u64(c, &key->count, what);
    if (status)
        return status;
    key->data = c->g->map + c->at;
    if (key->element == ENG_GGUF_STRING)
        return read_strings(c, entry, what);
    uint32_t size = eng_gguf_scalar_bytes(key->element);
    if (size == 0)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "%s is an array of type %u: expected numbers, bools or strings", c->g->path,
                        what, key->element);
    if (!eu_mul(key->count, size, &bytes) || bytes > left(c))
        return eng_fail(ENG_ERR_FORMAT,
                        "%s" ENG_CAUSE "%s announces %" PRIu64 " elements of %u bytes, but only %" PRIu64
                        " bytes follow: the file is truncated or damaged" ENG_ADVICE "fetch or convert it again",
                        c->g->path, what, key->count, size, left(c));
    c->at += bytes;
    return ENG_OK;
}

static int read_value(cursor *c, gguf_key *entry, const char *what)
{
    eng_gguf_key *key = &entry->key;

    key->data = c->g->map + c->at;
    key->count = 1;
    key->element = key->type;
    if (key->type == ENG_GGUF_STRING)
        return read_strings(c, entry, what);
    if (key->type == ENG_GGUF_ARRAY)
        return read_array(c, entry, what);
    uint32_t size = eng_gguf_scalar_bytes(key->type);
    if (size == 0)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "%s has type %u: expected 0 (u8) to 12 (f64); the file is damaged",
                        c->g->path, what, key->type);
    if (left(c) < size)
        return truncated(c, what);
    c->at += size;
    return ENG_OK;
}

static int read_key(cursor *c, uint64_t index)
{
    gguf_key *entry = &c->g->keys[index];
    char what[96];
    int status = read_string(c, &entry->key.name, "the name of a key");

    if (status)
        return status;
    snprintf(what, sizeof what, "key \"%s\"", eng_gguf_show(entry->key.name.data, entry->key.name.length).text);
    if (entry->key.name.length == 0)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "key number %" PRIu64 " has an empty name: the file is damaged", c->g->path,
                        index);
    status = read_u32(c, &entry->key.type, what);
    if (!status)
        status = read_value(c, entry, what);
    if (status)
        return status;
    uint32_t first = EU_NONE;
    if (!eu_map_add(&c->g->key_names, c->g, (uint32_t)index, &first) || first != index)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "%s is there twice: the file is damaged", c->g->path, what);
    return ENG_OK;
}

static int read_keys(cursor *c, uint64_t n)
{
    eng_gguf *g = c->g;

    /* name length, one character, type, one byte */
    if (n > left(c) / 14 || n >= UINT32_MAX)
        return eng_fail(ENG_ERR_FORMAT,
                        "%s" ENG_CAUSE "announces %" PRIu64 " keys, but only %" PRIu64
                        " bytes follow: the file is truncated or damaged" ENG_ADVICE "fetch or convert it again",
                        g->path, n, left(c));
    g->keys = calloc(n ? n : 1, sizeof *g->keys);
    if (!g->keys)
        return eng_fail_code(EU_NO_MEMORY_IN(g->path, "the keys"));
    int status = names_reserve(g, &g->key_names, n);
    for (uint64_t i = 0; i < n && !status; i++) {
        g->n_keys = i + 1; /* what close has to look at */
        status = read_key(c, i);
    }
    return status;
}

/* -- tensors ------------------------------------------------------------------ */

static int read_shape(cursor *c, eng_gguf_tensor *t)
{
    int status = read_u32(c, &t->rank, "the description of a tensor");

    if (status)
        return status;
    if (t->rank > 4)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "tensor \"%s\" has %u dimensions: at most 4 are possible", c->g->path,
                        t->name, t->rank);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t ne = 1;
        if (i < t->rank && (status = read_u64(c, &ne, "the description of a tensor")))
            return status;
        if (ne > INT64_MAX)
            return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                            "tensor \"%s\" has the extent %" PRId64 ": the file is damaged",
                            c->g->path, t->name, (int64_t)ne);
        t->ne[i] = (int64_t)ne;
    }
    return read_u32(c, &t->type, "the description of a tensor");
}

static int check_type(const eng_gguf *g, eng_gguf_tensor *t)
{
    const gguf_block *block = eng_gguf_block(t->type);

    if (!block)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "%s" ENG_CAUSE "tensor \"%s\" has type %u, which is unknown or no longer part of the format: "
                        "convert the model again to one of the types f16, q8_0, q4_0, ...",
                        g->path, t->name, t->type);
    if (t->ne[0] % block->elements != 0)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "tensor \"%s\" has rows of %" PRId64 " elements: %s needs a multiple of %u",
                        g->path, t->name, t->ne[0], block->name, block->elements);
    if (!eng_gguf_tensor_bytes(t->type, t->ne, 4, &t->bytes))
        return eng_fail(ENG_ERR_FORMAT,
                        "%s" ENG_CAUSE "tensor \"%s\" of %" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64
                        " elements is larger than any file: the file is damaged",
                        g->path, t->name, t->ne[0], t->ne[1], t->ne[2], t->ne[3]);
    return ENG_OK;
}

static int read_tensor(cursor *c, uint32_t index, uint64_t *offset)
{
    eng_gguf *g = c->g;
    eng_gguf_tensor *t = &g->tensors[index];
    eng_gguf_string name;
    int status = read_string(c, &name, "the name of a tensor");

    if (status)
        return status;
    if (name.length == 0 || memchr(name.data, 0, name.length))
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "tensor number %u has %s: the file is damaged", g->path, index,
                        name.length ? "a NUL byte in its name" : "an empty name");
    char *copy = eu_arena_alloc(&g->names, name.length + 1);
    if (!copy)
        return eng_fail_code(EU_NO_MEMORY_IN(g->path, "the names of the tensors"));
    memcpy(copy, name.data, name.length);
    t->name = copy;
    status = read_shape(c, t);
    if (!status)
        status = read_u64(c, offset, "the description of a tensor");
    if (!status)
        status = check_type(g, t);
    if (status)
        return status;
    if (!eng_gguf_index_tensor(g, index))
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "tensor \"%s\" is there twice: the file is damaged", g->path,
                        t->name);
    if (*offset % g->alignment != 0)
        return eng_fail(ENG_ERR_FORMAT,
                        "%s" ENG_CAUSE "tensor \"%s\" lies at offset %" PRIu64
                        ", which is not a multiple of the alignment %" PRIu64,
                        g->path, t->name, *offset, g->alignment);
    return ENG_OK;
}

typedef struct span {
    uint64_t offset, bytes;
    uint32_t tensor;
} span;

static int by_offset(const void *a, const void *b)
{
    const span *x = a, *y = b;

    return x->offset != y->offset ? (x->offset > y->offset ? 1 : -1) : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Places the data: inside the file, none in another's. */
static int place_tensors(eng_gguf *g, span *spans)
{
    uint64_t room = g->size > g->data ? g->size - g->data : 0, end = 0;

    for (uint32_t i = 0; i < g->n_tensors; i++) {
        eng_gguf_tensor *t = &g->tensors[i];
        if (t->bytes > 0 && (spans[i].offset > room || t->bytes > room - spans[i].offset))
            return eng_fail(ENG_ERR_FORMAT,
                            "%s" ENG_CAUSE "tensor \"%s\" needs %" PRIu64 " bytes at offset %" PRIu64
                            ", but the file has only %" PRIu64
                            " bytes of data: it is truncated" ENG_ADVICE "fetch or convert it again",
                            g->path, t->name, t->bytes, spans[i].offset, room);
        t->data = g->map + (t->bytes > 0 ? g->data + spans[i].offset : 0);
        spans[i].bytes = t->bytes;
        spans[i].tensor = i;
    }
    qsort(spans, g->n_tensors, sizeof *spans, by_offset);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        if (spans[i].bytes == 0)
            continue;
        if (spans[i].offset < end)
            return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                            "tensor \"%s\" overlaps another one: the file is damaged", g->path,
                            g->tensors[spans[i].tensor].name);
        end = spans[i].offset + spans[i].bytes;
    }
    return ENG_OK;
}

static int read_tensors(cursor *c, uint64_t n)
{
    eng_gguf *g = c->g;
    int status = ENG_OK;

    /* name length, one character, rank, type, offset */
    if (n > left(c) / 25 || n >= UINT32_MAX)
        return eng_fail(ENG_ERR_FORMAT,
                        "%s" ENG_CAUSE "announces %" PRIu64 " tensors, but only %" PRIu64
                        " bytes follow: the file is truncated or damaged" ENG_ADVICE "fetch or convert it again",
                        g->path, n, left(c));
    g->n_tensors = (uint32_t)n;
    g->tensors = calloc(n ? n : 1, sizeof *g->tensors);
    span *spans = calloc(n ? n : 1, sizeof *spans);
    if (!g->tensors || !spans)
        status = eng_fail_code(EU_NO_MEMORY_IN(g->path, "the tensors"));
    if (!status)
        status = eng_gguf_index_tensors(g, n);
    for (uint32_t i = 0; i < n && !status; i++)
        status = read_tensor(c, i, &spans[i].offset);
    /* The header ends inside the file, so this cannot overflow. */
    g->data = (c->at + g->alignment - 1) & ~(g->alignment - 1);
    if (!status)
        status = place_tensors(g, spans);
    free(spans);
    return status;
}

/* -- the file ------------------------------------------------------------------- */

static int read_alignment(eng_gguf *g)
{
    const eng_gguf_key *key = eng_gguf_key_find(g, "general.alignment");
    uint32_t value;

    g->alignment = GGUF_ALIGNMENT;
    if (!key)
        return ENG_OK;
    if (key->type != ENG_GGUF_U32)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "key \"general.alignment\" is of type %s: expected u32", g->path,
                        eng_gguf_type_name(key->type));
    memcpy(&value, key->data, sizeof value);
    if (value == 0 || (value & (value - 1)) != 0)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "key \"general.alignment\" is %u: expected a power of two", g->path, value);
    g->alignment = value;
    return ENG_OK;
}

static int check_version(const eng_gguf *g, uint32_t version)
{
    if ((version & 0xffff) == 0 && version != 0)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "%s was written for machines of the other byte order: convert the model for little-endian ones",
                        g->path);
    if (version == 1)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "%s is a GGUF file of version 1" ENG_CAUSE "versions 2 and 3 can be read" ENG_ADVICE "convert "
                        "the model again with a present-day converter",
                        g->path);
    if (version != 2 && version != 3)
        return eng_fail(ENG_ERR_UNSUPPORTED, "%s is a GGUF file of version %u" ENG_CAUSE
                        "versions 2 and 3 can be read", g->path,
                        version);
    return ENG_OK;
}

static int read_file(eng_gguf *g)
{
    cursor c = {g, 0};
    uint32_t magic, version;
    uint64_t n_tensors, n_keys;

    if (g->size < 4 || (memcpy(&magic, g->map, 4), magic != GGUF_MAGIC))
        return eng_fail(ENG_ERR_FORMAT, "%s is not a GGUF file" ENG_CAUSE "it does not begin with \"GGUF\"", g->path);
    c.at = 4;
    int status = read_u32(&c, &version, "the header");
    if (!status)
        status = check_version(g, version);
    if (!status)
        status = read_u64(&c, &n_tensors, "the header");
    if (!status)
        status = read_u64(&c, &n_keys, "the header");
    if (!status)
        status = read_keys(&c, n_keys);
    if (!status)
        status = read_alignment(g);
    if (!status)
        status = read_tensors(&c, n_tensors);
    return status;
}

static int map_file(eng_gguf *g)
{
    struct stat st;
    int fd = open(g->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
    int status = ENG_OK;

    if (fd < 0)
        return eng_fail(errno == ENOENT ? ENG_ERR_NOTFOUND : ENG_ERR_IO, "cannot open %s" ENG_CAUSE "%s", g->path,
                        strerror(errno));
    if (fstat(fd, &st) != 0)
        status = eng_fail(ENG_ERR_IO, "cannot read %s" ENG_CAUSE "%s", g->path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        status = eng_fail(ENG_ERR_IO, "%s is %s" ENG_CAUSE "a GGUF model is an ordinary file", g->path,
                          S_ISDIR(st.st_mode) ? "a folder" : "a pipe or a device");
    else if (st.st_size == 0)
        status = eng_fail(ENG_ERR_FORMAT, "%s is empty" ENG_CAUSE "fetch or convert the model again", g->path);
    if (!status) {
        void *map = (uint64_t)st.st_size > SIZE_MAX ? MAP_FAILED
                                                    : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            status =
                eng_fail(ENG_ERR_IO, "cannot map %s (%lld bytes)" ENG_CAUSE
                         "%s", g->path, (long long)st.st_size, strerror(errno));
        else {
            g->map = map;
            g->size = (uint64_t)st.st_size;
        }
    }
    g->fd = fd;
    flock(fd, LOCK_SH | LOCK_NB); /* advice to those who would change it; not every file system has it */
    return status;
}

int eng_gguf_open_file(const char *path, eng_gguf **gguf)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return eng_fail(ENG_ERR_UNSUPPORTED, "GGUF files are little-endian and cannot be mapped on this machine");
#endif
    eng_gguf *g = calloc(1, sizeof *g);
    if (g) {
        g->fd = -1;
        g->path = strdup(path);
    }
    if (!g || !g->path) {
        eng_gguf_close(g);
        return eng_fail_code(EU_NO_MEMORY(path));
    }
    g->key_names.key_of = key_name;
    g->tensor_names.key_of = tensor_name;
    int status = map_file(g);
    if (!status)
        status = read_file(g);
    if (status) {
        eng_gguf_close(g);
        return status;
    }
    *gguf = g;
    return ENG_OK;
}

void eng_gguf_close(eng_gguf *gguf)
{
    if (!gguf)
        return;
    for (uint32_t i = 0; i < gguf->n_parts; i++)
        eng_gguf_close(gguf->parts[i]);
    free(gguf->parts);
    for (uint64_t i = 0; i < gguf->n_keys; i++)
        free(gguf->keys[i].places);
    free(gguf->keys);
    eu_map_free(&gguf->key_names);
    free(gguf->tensors);
    eu_map_free(&gguf->tensor_names);
    eu_arena_end(&gguf->names);
    if (gguf->map)
        munmap((void *)gguf->map, gguf->size);
    if (gguf->fd >= 0)
        close(gguf->fd);
    free(gguf->path);
    free(gguf);
}

void eng_gguf_drop(const eng_gguf *gguf, const void *data, uint64_t bytes)
{
    const uintptr_t begin = (uintptr_t)data, end = begin + bytes;
    if (!gguf || !data)
        return;
    for (uint32_t i = 0; i < gguf->n_parts; i++)
        eng_gguf_drop(gguf->parts[i], data, bytes);
    const uintptr_t map = (uintptr_t)gguf->map, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!gguf->map || begin < map || end > map + gguf->size)
        return;
#if defined(HAVE_MADVISE) && defined(MADV_DONTNEED)
    const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (first < last)
        madvise((void *)first, last - first, MADV_DONTNEED);
#endif
}

/* -- looking things up ------------------------------------------------------------ */

uint32_t eng_gguf_tensor_count(const eng_gguf *gguf)
{
    return gguf ? gguf->n_tensors : 0;
}

const eng_gguf_tensor *eng_gguf_tensor_get(const eng_gguf *gguf, uint32_t index)
{
    return gguf && index < gguf->n_tensors ? &gguf->tensors[index] : NULL;
}

const eng_gguf_tensor *eng_gguf_tensor_find(const eng_gguf *gguf, const char *name)
{
    uint32_t found = gguf && name ? eu_map_find(&gguf->tensor_names, gguf, name, strlen(name)) : EU_NONE;

    return found != EU_NONE ? &gguf->tensors[found] : NULL;
}

uint64_t eng_gguf_key_count(const eng_gguf *gguf)
{
    return gguf ? gguf->n_keys : 0;
}

const eng_gguf_key *eng_gguf_key_get(const eng_gguf *gguf, uint64_t index)
{
    return gguf && index < gguf->n_keys ? &gguf->keys[index].key : NULL;
}

const eng_gguf_key *eng_gguf_key_find(const eng_gguf *gguf, const char *name)
{
    uint32_t found = gguf && name ? eu_map_find(&gguf->key_names, gguf, name, strlen(name)) : EU_NONE;

    return found != EU_NONE ? &gguf->keys[found].key : NULL;
}
