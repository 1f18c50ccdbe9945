/* Values of a GGUF file's keys, converted. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "mapped.h"

/* The key and the type of its elements, or why there is none. */
static int find(const eng_gguf *g, const char *name, uint64_t index, const void *out, const eng_gguf_key **found,
                uint32_t *type)
{
    if (!g || !name || !out)
        return eng_fail(ENG_ERR_INVALID, "a GGUF key's value" ENG_CAUSE
                        "the file, the key's name or the place for the value is NULL");
    const eng_gguf_key *key = eng_gguf_key_find(g, name);
    if (!key)
        return eng_fail(ENG_ERR_NOTFOUND, "%s" ENG_CAUSE "key \"%s\" is missing", g->path, name);
    if (index >= key->count)
        return eng_fail(ENG_ERR_NOTFOUND, "%s" ENG_CAUSE
                        "key \"%s\" has %" PRIu64 " values: number %" PRIu64 " was wanted",
                        g->path, name, key->count, index);
    *found = key;
    *type = key->type == ENG_GGUF_ARRAY ? key->element : key->type;
    return ENG_OK;
}

static int wrong_kind(const eng_gguf *g, const char *name, uint32_t type, const char *expected)
{
    return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "key \"%s\" is of type %s: expected %s", g->path, name,
                    eng_gguf_type_name(type), expected);
}

typedef union scalar {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    float f32;
    double f64;
} scalar;

static scalar load(const eng_gguf_key *key, uint32_t type, uint64_t index)
{
    scalar value;
    uint32_t size = eng_gguf_scalar_bytes(type);

    memset(&value, 0, sizeof value);
    memcpy(&value, (const uint8_t *)key->data + index * size, size);
    return value;
}

/* An integral number from a floating-point one. */
static int integral(const eng_gguf *g, const char *name, double number, int64_t *value)
{
    if (!(number >= -0x1p63 && number < 0x1p63) || number != trunc(number))
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                        "key \"%s\" is %g: expected a whole number of at most 63 bits", g->path, name,
                        number);
    *value = (int64_t)number;
    return ENG_OK;
}

int eng_gguf_integer(const eng_gguf *gguf, const char *name, uint64_t index, int64_t *value)
{
    const eng_gguf_key *key;
    uint32_t type;
    int status = find(gguf, name, index, value, &key, &type);

    if (status)
        return status;
    if (type == ENG_GGUF_STRING)
        return wrong_kind(gguf, name, type, "a whole number");
    scalar s = load(key, type, index);
    switch (type) {
    case ENG_GGUF_U8: *value = s.u8; break;
    case ENG_GGUF_I8: *value = s.i8; break;
    case ENG_GGUF_U16: *value = s.u16; break;
    case ENG_GGUF_I16: *value = s.i16; break;
    case ENG_GGUF_U32: *value = s.u32; break;
    case ENG_GGUF_I32: *value = s.i32; break;
    case ENG_GGUF_BOOL: *value = s.u8 != 0; break;
    case ENG_GGUF_I64: *value = s.i64; break;
    case ENG_GGUF_U64:
        if (s.u64 > INT64_MAX)
            return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                            "key \"%s\" is %" PRIu64 ": that is out of range", gguf->path, name,
                            s.u64);
        *value = (int64_t)s.u64;
        break;
    case ENG_GGUF_F32: return integral(gguf, name, s.f32, value);
    default: return integral(gguf, name, s.f64, value);
    }
    return ENG_OK;
}

int eng_gguf_number(const eng_gguf *gguf, const char *name, uint64_t index, double *value)
{
    const eng_gguf_key *key;
    uint32_t type;
    int64_t whole;
    int status = find(gguf, name, index, value, &key, &type);

    if (status)
        return status;
    switch (type) {
    case ENG_GGUF_STRING: return wrong_kind(gguf, name, type, "a number");
    case ENG_GGUF_F32: *value = load(key, type, index).f32; return ENG_OK;
    case ENG_GGUF_F64: *value = load(key, type, index).f64; return ENG_OK;
    case ENG_GGUF_U64: *value = (double)load(key, type, index).u64; return ENG_OK;
    default: break;
    }
    status = eng_gguf_integer(gguf, name, index, &whole);
    if (!status)
        *value = (double)whole;
    return status;
}

int eng_gguf_text(const eng_gguf *gguf, const char *name, uint64_t index, eng_gguf_string *value)
{
    const eng_gguf_key *key;
    uint32_t type;
    int status = find(gguf, name, index, value, &key, &type);

    if (status)
        return status;
    if (type != ENG_GGUF_STRING)
        return wrong_kind(gguf, name, type, "text");
    const uint64_t *place = &((const gguf_key *)key)->places[index]; /* it is its first member */
    value->data = (const char *)key->data + place[0] + sizeof(uint64_t);
    value->length = place[1] - place[0] - sizeof(uint64_t);
    return ENG_OK;
}
