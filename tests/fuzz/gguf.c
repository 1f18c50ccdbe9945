/* Files of models: opened, and all that a host may read of them read. */
#include "config.h"

#include <string.h>

#include "engine/engine.h"
#include "tests/lm/crafted.h"

#include "fuzz.h"

const char *const fuzz_seeds[] = {NULL};

/* Small: what is changed in it is mostly what says where something lies. */
const void *fuzz_sample(size_t *n)
{
    static crafted file;
    crafted_sample(&file);
    *n = file.n;
    return file.data;
}

static volatile uint64_t sink;

static void read_all(const void *data, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += ((const uint8_t *)data)[i];
    sink += sum;
}

static void read_key(const eng_gguf *g, const eng_gguf_key *key)
{
    char *name = fuzz_text((const uint8_t *)key->name.data, key->name.length);
    for (uint64_t k = 0; k < key->count && k < 200; k++) {
        eng_gguf_string text;
        int64_t whole;
        double number;
        if (eng_gguf_text(g, name, k, &text) == ENG_OK)
            read_all(text.data, text.length);
        sink += (uint64_t)eng_gguf_integer(g, name, k, &whole) + (uint64_t)eng_gguf_number(g, name, k, &number);
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    eng_gguf *g = NULL;
    int status = eng_gguf_open(fuzz_file(data, n), &g);
    MUST(status == ENG_OK ? g != NULL : g == NULL && eng_last_error()[0], "status %d, and a file %p, '%s'", status,
         (void *)g, eng_last_error());
    if (status)
        return 0;
    for (uint64_t i = 0; i < eng_gguf_key_count(g); i++)
        read_key(g, eng_gguf_key_get(g, i));
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g); i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i);
        read_all(t->data, t->bytes);
        MUST(eng_gguf_tensor_find(g, t->name), "tensor '%s' is not found", t->name);
    }
    eng_gguf_close(g);
    return 0;
}
