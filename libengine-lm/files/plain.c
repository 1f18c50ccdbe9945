/*
 * Tensors of doubles and of small integers, which files may have and no op reads: a model that is opened has them as
 * f32, made once on the host.  f32 has every number of i8 and i16; of a double it is the nearest.
 */
#include "config.h"

#include "model.h"

int lm_without_plain(eu_arena *memory, const eng_gguf *g, const eng_gguf_tensor **tensor)
{
    const eng_gguf_tensor *t = *tensor;
    if (!eu_plain_bytes(t->type))
        return ENG_OK;
    eng_gguf_tensor *made = eu_arena_copy(memory, t, sizeof *t);
    const int64_t n = (int64_t)(t->bytes / eu_plain_bytes(t->type));
    float *data = n <= INT64_MAX / (int64_t)sizeof *data ? eu_arena_array(memory, (size_t)n, sizeof *data) : NULL;
    if (!made || !data)
        return eng_fail_code(EU_NO_MEMORY("a tensor as f32"));
    eu_plain_decode(t->type, t->data, n, data);
    eng_gguf_drop(g, t->data, t->bytes);
    made->type = ENG_TYPE_F32;
    made->bytes = (uint64_t)n * sizeof *data;
    made->data = data;
    *tensor = made;
    return ENG_OK;
}

uint64_t lm_plain_room(const eng_gguf_tensor *t)
{
    const uint32_t bytes = eu_plain_bytes(t->type);
    return bytes ? t->bytes / bytes * sizeof(float) : t->bytes;
}
