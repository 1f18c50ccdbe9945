/* GGUF files put together byte by byte, whole or damaged on purpose. */
#ifndef TESTS_LM_CRAFTED_H
#define TESTS_LM_CRAFTED_H

#include <stddef.h>
#include <stdint.h>

typedef struct crafted {
    uint8_t data[1 << 16];
    size_t n;
} crafted;

void put(crafted *c, const void *data, size_t n);
void put_u32(crafted *c, uint32_t value);
void put_u64(crafted *c, uint64_t value);
void put_string(crafted *c, const char *text);
/* Magic, version 3, counts. */
void put_header(crafted *c, uint64_t n_tensors, uint64_t n_keys);
void put_u32_key(crafted *c, const char *name, uint32_t value);
void put_text_key(crafted *c, const char *name, const char *value);
/* A tensor's description. */
void put_tensor(crafted *c, const char *name, uint32_t type, uint64_t offset, const uint64_t *ne, uint32_t rank);
void put_padding(crafted *c, size_t alignment);
/* Writes it to a new file in the working directory, for the caller to unlink. */
void crafted_save(const crafted *c, const char *path);
/* A small file with a key of every type and some tensors. */
void crafted_sample(crafted *c);

#endif
