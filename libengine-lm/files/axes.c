/* Shapes and axes from words: "E, K S | K S | R K S". */
#include "config.h"

#include <string.h>

#include "model.h"

typedef struct reader {
    eng_context *engine;
    const lm_letter *letters;
    uint32_t n_letters;
    const char *at;
    const char *words;
    eu_arena *memory;
} reader;

#define MAX_SEGMENTS 8
#define MAX_FACTORS 8

static int factor(reader *r, eng_factor *f)
{
    f->axis = ENG_AXIS_NONE;
    f->reserved = 0;
    if (*r->at >= '0' && *r->at <= '9') {
        for (f->extent = 0; *r->at >= '0' && *r->at <= '9' && f->extent < LM_MAX_EXTENT; r->at++)
            f->extent = f->extent * 10 + (*r->at - '0');
        return ENG_OK;
    }
    for (uint32_t i = 0; i < r->n_letters; i++) {
        if (r->letters[i].letter != *r->at)
            continue;
        f->extent = r->letters[i].extent;
        if (r->letters[i].axis) {
            f->axis = eng_context_axis(r->engine, r->letters[i].axis);
            if (f->axis == ENG_AXIS_NONE)
                return eng_fail_code(EU_NO_MEMORY("the name of an axis"));
        }
        r->at++;
        return ENG_OK;
    }
    return eng_fail(ENG_ERR_INTERNAL, "axes \"%s\": unknown letter '%c'", r->words, *r->at);
}

/* Factors up to a bar, a comma or the end; anonymous ones of extent 1 say nothing and are left out. */
static int segment(reader *r, eng_segment *s, int64_t *length)
{
    eng_factor found[MAX_FACTORS];
    uint32_t n = 0;
    *length = 1;
    for (;;) {
        while (*r->at == ' ')
            r->at++;
        if (*r->at == 0 || *r->at == ',' || *r->at == '|')
            break;
        if (n == MAX_FACTORS)
            return eng_fail(ENG_ERR_INTERNAL, "axes \"%s\": too many factors", r->words);
        int status = factor(r, &found[n]);
        if (status)
            return status;
        if (__builtin_mul_overflow(*length, found[n].extent, length))
            return eng_fail(ENG_ERR_FORMAT, "axes \"%s\": the extents are too large", r->words);
        if (found[n].axis != ENG_AXIS_NONE || found[n].extent != 1)
            n++;
    }
    if (n == 0)
        found[n++] = (eng_factor){.extent = 1};
    eng_factor *kept = lm_alloc(r->memory, n, sizeof *kept);
    if (!kept)
        return ENG_ERR_NOMEM;
    memcpy(kept, found, n * sizeof *kept);
    *s = (eng_segment){.n_factors = n, .factors = kept};
    return ENG_OK;
}

static int dimension(reader *r, eng_dim *d, int64_t *extent)
{
    eng_segment found[MAX_SEGMENTS];
    uint32_t n = 0;
    *extent = 0;
    do {
        if (*r->at == '|')
            r->at++;
        if (n == MAX_SEGMENTS)
            return eng_fail(ENG_ERR_INTERNAL, "axes \"%s\": too many segments", r->words);
        int64_t length;
        int status = segment(r, &found[n++], &length);
        if (status)
            return status;
        if (__builtin_add_overflow(*extent, length, extent))
            return eng_fail(ENG_ERR_FORMAT, "axes \"%s\": the extents are too large", r->words);
    } while (*r->at == '|');
    eng_segment *kept = lm_alloc(r->memory, n, sizeof *kept);
    if (!kept)
        return ENG_ERR_NOMEM;
    memcpy(kept, found, n * sizeof *kept);
    *d = (eng_dim){.n_segments = n, .segments = kept};
    return ENG_OK;
}

int lm_dims(eng_context *engine, const lm_letter *letters, uint32_t n_letters, const char *words, eu_arena *memory,
            int64_t ne[ENG_MAX_RANK], uint32_t *rank, const eng_dim **dims)
{
    reader r = {engine, letters, n_letters, words, words, memory};
    eng_dim *d = lm_alloc(memory, ENG_MAX_RANK, sizeof *d);
    if (!d)
        return ENG_ERR_NOMEM;
    uint32_t n = 0;
    do {
        if (*r.at == ',')
            r.at++;
        if (n == ENG_MAX_RANK)
            return eng_fail(ENG_ERR_INTERNAL, "axes \"%s\": too many dimensions", words);
        int status = dimension(&r, &d[n], &ne[n]);
        if (status)
            return status;
        n++;
    } while (*r.at == ',');
    for (uint32_t i = n; i < ENG_MAX_RANK; i++)
        ne[i] = 1;
    *rank = n;
    *dims = d;
    return ENG_OK;
}
