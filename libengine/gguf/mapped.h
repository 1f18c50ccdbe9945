/* GGUF files: what reader and writer have in common. */
#ifndef LIBENGINE_GGUF_MAPPED_H
#define LIBENGINE_GGUF_MAPPED_H

#include "../base/base.h"

#define GGUF_MAGIC 0x46554747u /* "GGUF", little endian */
#define GGUF_VERSION 3
#define GGUF_ALIGNMENT 32

typedef struct gguf_key {
    eng_gguf_key key;
    /* Of text: where each begins, from key.data on, and behind the last.  Kept as they were checked: whoever writes to
     * the file meanwhile changes letters, but leads nobody out of it. */
    uint64_t *places;
} gguf_key;

struct eng_gguf {
    char *path;
    const uint8_t *map;
    int fd; /* with a shared lock, where there is such; -1: none */
    uint64_t size;
    uint64_t alignment;
    uint64_t data; /* where the tensors' data start in the file */
    uint64_t n_keys;
    gguf_key *keys;
    eu_map key_names;
    uint32_t n_tensors;
    eng_gguf_tensor *tensors;
    eu_map tensor_names;
    eu_arena names; /* terminated copies of the tensors' names */
    struct eng_gguf **parts; /* of a model in several files: all but the first; they keep maps and names */
    uint32_t n_parts;
};

/* One file, which may be a part of a model. */
int eng_gguf_open_file(const char *path, eng_gguf **gguf);
/* Makes room for n tensors in the index of names. */
int eng_gguf_index_tensors(eng_gguf *g, uint64_t n);
/* Enters the tensor there; false: another one has its name. */
bool eng_gguf_index_tensor(eng_gguf *g, uint32_t tensor);

/* Types of the file format; a superset of the engine's. */
typedef struct gguf_block {
    const char *name;
    uint32_t elements, bytes;
} gguf_block;
/* NULL: not a type of the format (any more). */
const gguf_block *eng_gguf_block(uint32_t type);
/* Bytes of a tensor; false if it has no whole blocks or is beyond 2^63. */
bool eng_gguf_tensor_bytes(uint32_t type, const int64_t *ne, uint32_t rank, uint64_t *bytes);
/* Bytes of a scalar value; 0 for strings, arrays and unknown types. */
uint32_t eng_gguf_scalar_bytes(uint32_t type);
const char *eng_gguf_type_name(uint32_t type);

/* At most 63 characters of a name from a file, made fit for a message. */
typedef struct gguf_shown {
    char text[64];
} gguf_shown;
gguf_shown eng_gguf_show(const char *text, uint64_t length);

#endif
