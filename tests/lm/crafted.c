#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crafted.h"

void put(crafted *c, const void *data, size_t n)
{
    if (c->n + n > sizeof c->data)
        abort();
    memmove(c->data + c->n, data, n);
    c->n += n;
}

void put_u32(crafted *c, uint32_t value)
{
    put(c, &value, sizeof value);
}

void put_u64(crafted *c, uint64_t value)
{
    put(c, &value, sizeof value);
}

void put_string(crafted *c, const char *text)
{
    put_u64(c, strlen(text));
    put(c, text, strlen(text));
}

void put_header(crafted *c, uint64_t n_tensors, uint64_t n_keys)
{
    c->n = 0;
    put(c, "GGUF", 4);
    put_u32(c, 3);
    put_u64(c, n_tensors);
    put_u64(c, n_keys);
}

void put_u32_key(crafted *c, const char *name, uint32_t value)
{
    put_string(c, name);
    put_u32(c, 4);
    put_u32(c, value);
}

void put_text_key(crafted *c, const char *name, const char *value)
{
    put_string(c, name);
    put_u32(c, 8);
    put_string(c, value);
}

void put_tensor(crafted *c, const char *name, uint32_t type, uint64_t offset, const uint64_t *ne, uint32_t rank)
{
    put_string(c, name);
    put_u32(c, rank);
    for (uint32_t i = 0; i < rank; i++)
        put_u64(c, ne[i]);
    put_u32(c, type);
    put_u64(c, offset);
}

void put_padding(crafted *c, size_t alignment)
{
    while (c->n % alignment != 0)
        put(c, "", 1);
}

void crafted_save(const crafted *c, const char *path)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(c->data, 1, c->n, f) != c->n || fclose(f) != 0)
        abort();
}

static void put_array(crafted *c, const char *name, uint32_t element, uint64_t n)
{
    put_string(c, name);
    put_u32(c, 9);
    put_u32(c, element);
    put_u64(c, n);
}

/* The scalar types and their sizes. */
static const struct {
    uint32_t type, size;
} scalars[] = {{0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 4}, {5, 4}, {6, 4}, {7, 1}, {10, 8}, {11, 8}, {12, 8}};

void crafted_sample(crafted *c)
{
    static const uint64_t ne[3][3] = {{32, 3}, {64}, {5, 2, 2}};
    static const uint8_t data[512] = {1, 2, 3};

    put_header(c, 3, 11 + 5);
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        char name[32];
        snprintf(name, sizeof name, "scalar.%u", scalars[i].type);
        put_string(c, name);
        put_u32(c, scalars[i].type);
        put(c, "\x01\0\0\0\0\0\0", scalars[i].size);
    }
    put_text_key(c, "general.architecture", "none");
    put_u32_key(c, "general.alignment", 64);
    put_array(c, "array.u16", 2, 3);
    put(c, "\1\0\2\0\3\0", 6);
    put_array(c, "array.text", 8, 40);
    for (int i = 0; i < 40; i++)
        put_string(c, i % 2 ? "word" : "");
    put_array(c, "array.empty", 6, 0);
    put_tensor(c, "blocks", 8, 0, ne[0], 2);     /* q8_0: 3 x 34 bytes */
    put_tensor(c, "numbers", 0, 128, ne[1], 1);  /* f32: 256 bytes     */
    put_tensor(c, "foreign", 24, 384, ne[2], 3); /* i8: 20 bytes      */
    put_padding(c, 64);
    put(c, data, 384 + 20);
}
