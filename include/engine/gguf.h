/*
 * engine/gguf.h - models' files: read where they are mapped, and written.
 *
 * Errors, ownership and threads as in engine.h.  While a file is open - and for what was declared as
 * a store's data, as long as the store uses it - nobody may truncate it or write to it: pages that vanish end the
 * process (SIGBUS), as for every mapped file.  A file that another one replaces by renaming stays what it was.
 */
#ifndef ENGINE_GGUF_H
#define ENGINE_GGUF_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eng_gguf eng_gguf;

/* Maps a GGUF file (version 2 or 3) and checks all of its structure: nothing that
 * later calls return reaches outside the file.  Of a model in several files
 * (NAME-00001-of-00003.gguf) any one is given; the others must lie beside it, and
 * their tensors follow the first one's.  While it is open, nobody may shorten the file
 * (replacing it by another of its name is well): what is gone cannot be read, and the
 * process ends (SIGBUS).  A shared lock (flock) tells those who ask. */
ENG_API int eng_gguf_open(const char *path, eng_gguf **gguf);
ENG_API void eng_gguf_close(eng_gguf *gguf);
/* Gives back the memory of pages that lie in this part of the mapped file (eng_gguf_tensor.data): they are read
 * again from the file where they are needed again. */
ENG_API void eng_gguf_drop(const eng_gguf *gguf, const void *data, uint64_t bytes);

typedef struct eng_gguf_tensor {
    const char *name;
    uint32_t type;
    uint32_t rank;
    int64_t ne[4];
    const void *data; /* in the mapped file                                   */
    uint64_t bytes;
} eng_gguf_tensor;
ENG_API uint32_t eng_gguf_tensor_count(const eng_gguf *gguf);
ENG_API const eng_gguf_tensor *eng_gguf_tensor_get(const eng_gguf *gguf, uint32_t index);
ENG_API const eng_gguf_tensor *eng_gguf_tensor_find(const eng_gguf *gguf, const char *name);

typedef enum eng_gguf_type {
    ENG_GGUF_U8 = 0, ENG_GGUF_I8, ENG_GGUF_U16, ENG_GGUF_I16, ENG_GGUF_U32, ENG_GGUF_I32, ENG_GGUF_F32, ENG_GGUF_BOOL,
    ENG_GGUF_STRING, ENG_GGUF_ARRAY, ENG_GGUF_U64, ENG_GGUF_I64, ENG_GGUF_F64
} eng_gguf_type;
typedef struct eng_gguf_string {
    const char *data; /* not terminated                                       */
    uint64_t length;
} eng_gguf_string;
typedef struct eng_gguf_key {
    eng_gguf_string name;
    uint32_t type;        /* eng_gguf_type                                    */
    uint32_t element;     /* eng_gguf_type of an array's elements             */
    uint64_t count;       /* elements of an array, else 1                     */
    const void *data;     /* the value as in the file, little endian          */
} eng_gguf_key;
ENG_API uint64_t eng_gguf_key_count(const eng_gguf *gguf);
ENG_API const eng_gguf_key *eng_gguf_key_get(const eng_gguf *gguf, uint64_t index);
ENG_API const eng_gguf_key *eng_gguf_key_find(const eng_gguf *gguf, const char *name);
/* Values with conversion between number types; ENG_ERR_NOTFOUND if the key is
 * missing, ENG_ERR_FORMAT if it is of another kind.  index: element of an array. */
ENG_API int eng_gguf_integer(const eng_gguf *gguf, const char *name, uint64_t index, int64_t *value);
ENG_API int eng_gguf_number(const eng_gguf *gguf, const char *name, uint64_t index, double *value);
ENG_API int eng_gguf_text(const eng_gguf *gguf, const char *name, uint64_t index, eng_gguf_string *value);

/* Writing: keys and tensors are added, then the file is written at once. */
typedef struct eng_gguf_writer eng_gguf_writer;
ENG_API int eng_gguf_writer_create(eng_gguf_writer **writer);
ENG_API void eng_gguf_writer_destroy(eng_gguf_writer *writer);
ENG_API int eng_gguf_writer_key(eng_gguf_writer *writer, const eng_gguf_key *key); /* copied */
ENG_API int eng_gguf_writer_integer(eng_gguf_writer *writer, const char *name, uint32_t type, int64_t value);
ENG_API int eng_gguf_writer_number(eng_gguf_writer *writer, const char *name, double value);       /* f32 */
ENG_API int eng_gguf_writer_text(eng_gguf_writer *writer, const char *name, const char *value);
ENG_API int eng_gguf_writer_texts(eng_gguf_writer *writer, const char *name, const eng_gguf_string *values, uint64_t n);
/* data is not copied: valid until eng_gguf_writer_save. */
ENG_API int eng_gguf_writer_tensor(eng_gguf_writer *writer, const char *name, uint32_t type, const int64_t *ne,
                                   uint32_t rank, const void *data);
ENG_API int eng_gguf_writer_save(eng_gguf_writer *writer, const char *path);
/* The same for files larger than memory: a tensor added with data NULL is asked of
 * `produce` when its turn comes (in the order added); *data is valid until the next
 * call.  A status other than ENG_OK ends the writing. */
typedef int (*eng_gguf_produce_func)(void *user, uint32_t tensor, const void **data);
ENG_API int eng_gguf_writer_save_from(eng_gguf_writer *writer, const char *path, eng_gguf_produce_func produce,
                                      void *user);

#ifdef __cplusplus
}
#endif
#endif
