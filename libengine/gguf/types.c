/* Types of GGUF files: tensors' blocks and keys' values. */
#include "config.h"

#include <string.h>

#include "mapped.h"

/*
 * Types that the format has and the engine has not: their tensors are listed,
 * so that a program can say which one it cannot use.
 */
static const struct {
    uint32_t type;
    gguf_block block;
} foreign[] = {
    {9, {"q8_1", 32, 36}}, {15, {"q8_K", 256, 292}}, {24, {"i8", 1, 1}}, {25, {"i16", 1, 2}}, {28, {"f64", 1, 8}},
};

static const gguf_block own[ENG_TYPE_LIMIT] = {
#define ENG_TYPE(id, number, name, block, bytes) [number] = {name, block, bytes},
#include "engine/types.def"
#undef ENG_TYPE
};

const gguf_block *eng_gguf_block(uint32_t type)
{
    if (type < ENG_TYPE_LIMIT && own[type].name)
        return &own[type];
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (foreign[i].type == type)
            return &foreign[i].block;
    return NULL;
}

const char *eng_type_name(uint32_t type)
{
    const gguf_block *block = eng_gguf_block(type);

    return block ? block->name : "unknown";
}

bool eng_gguf_tensor_bytes(uint32_t type, const int64_t *ne, uint32_t rank, uint64_t *bytes)
{
    const gguf_block *block = eng_gguf_block(type);
    uint64_t row = rank > 0 ? (uint64_t)ne[0] : 1, n;

    if (!block || row % block->elements != 0)
        return false;
    /* The extents alone must not overflow either: a zero elsewhere would hide it. */
    uint64_t elements = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (ne[i] < 0 || (ne[i] > 0 && !eu_mul(elements, (uint64_t)ne[i], &elements)))
            return false;
    if (elements > INT64_MAX || !eu_mul(row / block->elements, block->bytes, &n))
        return false;
    for (uint32_t i = 1; i < rank; i++)
        if (!eu_mul(n, (uint64_t)ne[i], &n))
            return false;
    if (n > INT64_MAX)
        return false;
    *bytes = n;
    return true;
}

uint32_t eng_gguf_scalar_bytes(uint32_t type)
{
    switch (type) {
    case ENG_GGUF_U8:
    case ENG_GGUF_I8:
    case ENG_GGUF_BOOL: return 1;
    case ENG_GGUF_U16:
    case ENG_GGUF_I16: return 2;
    case ENG_GGUF_U32:
    case ENG_GGUF_I32:
    case ENG_GGUF_F32: return 4;
    case ENG_GGUF_U64:
    case ENG_GGUF_I64:
    case ENG_GGUF_F64: return 8;
    default: return 0;
    }
}

const char *eng_gguf_type_name(uint32_t type)
{
    static const char *const names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};

    return type < sizeof names / sizeof *names ? names[type] : "unknown type";
}

gguf_shown eng_gguf_show(const char *text, uint64_t length)
{
    gguf_shown shown;
    size_t n = length < sizeof shown.text - 1 ? (size_t)length : sizeof shown.text - 1;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        shown.text[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    shown.text[eu_utf8_cut(shown.text, n)] = 0;
    return shown;
}
