/*
 * Models with tensors of f64, i8 and i16, which no op reads: they open as what they are in f32, with the same logits,
 * whole, split and where weights are copied.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"
#include "engine/gguf.h"
#include "subject.h"

enum { I8 = 24, I16 = 25, F64 = 28 };
#define TOKENS 9

static eng_context *engine;

/* Numbers of f32 as another type's, and as the f32 that these are. */
static void *as_type(const float *x, int64_t n, uint32_t type, float *as_f32)
{
    const size_t bytes = type == I8 ? 1 : type == I16 ? 2 : 8;
    char *out = malloc((size_t)n * bytes);
    for (int64_t i = 0; i < n && out; i++) {
        const double wide = x[i] * (1 + 1e-9 * (double)(i % 7)); /* no f32 has it, but for each seventh */
        const int8_t one = (int8_t)lrint(fmin(fmax(8.0 * x[i], -128), 127));
        const int16_t two = (int16_t)lrint(fmin(fmax(300.0 * x[i], -32768), 32767));
        memcpy(out + (size_t)i * bytes, type == I8 ? (const void *)&one : type == I16 ? (const void *)&two : &wide, bytes);
        as_f32[i] = type == I8 ? (float)one : type == I16 ? (float)two : (float)wide;
    }
    return out;
}

/* Two files of one: matrices and vectors of all three types, and the same as f32. */
static int write_both(const char *from, const char *plain, const char *wide)
{
    static const uint32_t types[] = {F64, I8, ENG_TYPE_F32, I16};
    eng_gguf *g = NULL;
    eng_gguf_writer *w[2] = {NULL, NULL};
    void **made[2] = {calloc(1000, sizeof(void *)), calloc(1000, sizeof(void *))};
    int status = eng_gguf_open(from, &g);
    for (int k = 0; k < 2 && !status; k++) {
        status = eng_gguf_writer_create(&w[k]);
        for (uint64_t i = 0; i < eng_gguf_key_count(g) && !status; i++)
            status = eng_gguf_writer_key(w[k], eng_gguf_key_get(g, i));
    }
    const uint32_t n = status ? 0 : eng_gguf_tensor_count(g);
    for (uint32_t i = 0; i < n && i < 1000 && !status; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i);
        const int64_t elements = t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
        const uint32_t type = types[i % 4];
        made[0][i] = malloc((size_t)elements * sizeof(float));
        memcpy(made[0][i], t->data, (size_t)elements * sizeof(float));
        if (type != ENG_TYPE_F32)
            made[1][i] = as_type(t->data, elements, type, made[0][i]);
        status = eng_gguf_writer_tensor(w[0], t->name, ENG_TYPE_F32, t->ne, t->rank, made[0][i]);
        if (!status)
            status = eng_gguf_writer_tensor(w[1], t->name, type, t->ne, t->rank, made[made[1][i] ? 1 : 0][i]);
    }
    status = status ? status : eng_gguf_writer_save(w[0], wide);
    status = status ? status : eng_gguf_writer_save(w[1], plain);
    for (int k = 0; k < 2; k++) {
        eng_gguf_writer_destroy(w[k]);
        for (uint32_t i = 0; i < 1000; i++)
            free(made[k][i]);
        free(made[k]);
    }
    eng_gguf_close(g);
    return status;
}

static float *logits_of(const char *device, const char *model, uint64_t *bytes, uint32_t *n)
{
    static const int32_t ids[TOKENS] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    subject s;
    float *copy = NULL;
    eng_lm_model_info info = {.size = sizeof info};
    if (subject_open(&s, engine, device, model, NULL, NULL))
        return NULL;
    const float *logits = subject_run(&s, ids, TOKENS);
    if (logits && eng_lm_model_get_info(s.model, &info) == ENG_OK && (copy = malloc(s.n_vocab * sizeof *copy)) != NULL)
        memcpy(copy, logits, s.n_vocab * sizeof *copy);
    *n = s.n_vocab;
    *bytes = info.weight_bytes;
    subject_close(&s);
    return copy;
}

static void check(const char *device, const char *plain, const char *wide)
{
    uint64_t of_plain = 0, of_wide = 1;
    uint32_t n = 0;
    float *a = logits_of(device, plain, &of_plain, &n), *b = logits_of(device, wide, &of_wide, &n);
    double square = 0;
    for (uint32_t i = 0; b && i < n; i++)
        square += (double)b[i] * b[i];
    tap_check(a && b && isfinite(square) && square > 0 && memcmp(a, b, n * sizeof *a) == 0,
              "%s: f64, i8 and i16 have the logits of the same numbers as f32%s%s", device, a && b ? "" : ": ",
              a && b ? "" : eng_last_error());
    tap_check(of_plain == of_wide, "%s: and their size, %llu bytes", device, (unsigned long long)of_wide);
    free(a);
    free(b);
}

int main(void)
{
    char from[256], plain[256], wide[256];
    engine = tap_begin();
    scratch_path("plain-from", from);
    scratch_path("plain", plain);
    scratch_path("plain-f32", wide);
    int failed = subject_make("--arch qwen35moe --seed 3 --type f32 --experts 4 --used 2", from);
    int status = failed ? ENG_ERR_IO : write_both(from, plain, wide);
    if (tap_check(!failed && !status, "models are made%s%s", failed || status ? ": " : "",
                  failed || status ? eng_last_error() : "")) {
        check("cpu", plain, wide);
#ifdef HAVE_META
        check("cpu/2", plain, wide);
#endif
#ifdef HAVE_OPENCL
        eng_device *device = NULL;
        if (eng_device_open(engine, "opencl:0", &device) == ENG_OK)
            check("opencl:0", plain, wide);
        eng_device_close(device);
#endif
    }
    unlink(from);
    unlink(plain);
    unlink(wide);
    return tap_end(engine);
}
