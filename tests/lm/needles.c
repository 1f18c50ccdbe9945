/*
 * See needles.h.  The channels of the model are key, query and payload.  Attention
 * compares a token's query with the keys of all cells and adds the payloads that it
 * finds to the token's own; the head compares payloads with those of all tokens.
 * A question has its needle's key as its query, and no payload.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "needles.h"
#include "subject.h"

#define HEAD 64            /* channels of key, query and payload, and the size of a head */
#define EMBD (3 * HEAD)
#define VOCAB 512
#define SHARPNESS 1.5f      /* a needle outscores filler by 8 times this: it has most of the weight, filler the rest */
#define GAIN 2             /* of a payload found, to a token's own */
#define QUIET 0.1f         /* what is left of the random layers */

enum { KEY = 0, QUERY = HEAD, PAYLOAD = 2 * HEAD };

typedef struct needles {
    int heads, kv_heads;
} needles;

/* Heads differ by the signs of their channels. */
static float sign(int kv_head, int channel)
{
    return ((kv_head + 1) * 2654435761u >> (channel % 29) & 1) ? -1.0f : 1.0f;
}

/* Row `row` of a matrix of EMBD columns reads one channel. */
static void read_channel(float *matrix, int row, int channel, float factor)
{
    memset(matrix + (size_t)row * EMBD, 0, EMBD * sizeof *matrix);
    if (factor != 0)
        matrix[(size_t)row * EMBD + channel] = factor;
}

static void attention(const needles *n, const char *name, float *data)
{
    int group = n->heads / n->kv_heads;
    if (strcmp(name, "attn_q.weight") == 0) { /* a head's rows: query, then gate, which stays half open */
        for (int h = 0; h < n->heads; h++)
            for (int i = 0; i < 2 * HEAD; i++)
                read_channel(data, h * 2 * HEAD + i, QUERY + i % HEAD, i < HEAD ? sign(h / group, i) : 0);
    } else if (strcmp(name, "attn_k.weight") == 0 || strcmp(name, "attn_v.weight") == 0) {
        for (int h = 0; h < n->kv_heads; h++)
            for (int i = 0; i < HEAD; i++)
                read_channel(data, h * HEAD + i, (name[5] == 'k' ? KEY : PAYLOAD) + i, sign(h, i));
    } else if (strcmp(name, "attn_output.weight") == 0) {
        int columns = n->heads * HEAD;
        memset(data, 0, (size_t)columns * EMBD * sizeof *data);
        for (int h = 0; h < n->heads; h++)
            for (int i = 0; i < HEAD; i++)
                data[(size_t)(PAYLOAD + i) * columns + h * HEAD + i] = 2.0f * GAIN / n->heads * sign(h / group, i);
    } else if (strcmp(name, "attn_q_norm.weight") == 0) {
        for (int i = 0; i < HEAD; i++)
            data[i] = SHARPNESS;
    } else if (strcmp(name, "attn_k_norm.weight") == 0) {
        for (int i = 0; i < HEAD; i++)
            data[i] = 1;
    }
}

/* What a tensor of the random model becomes. */
static void change(const needles *n, const char *name, float *data, size_t count, const float *embeddings)
{
    int layer, at = 0;
    if (sscanf(name, "blk.%d.%n", &layer, &at) == 1 && at) {
        name += at;
        if (strcmp(name, "ssm_out.weight") == 0 || strcmp(name, "ffn_down.weight") == 0)
            for (size_t i = 0; i < count; i++)
                data[i] *= QUIET;
        attention(n, name, data);
    } else if (strcmp(name, "token_embd.weight") == 0) {
        for (int j = 0; j < N_NEEDLES; j++) {
            float *question = data + (size_t)(FIRST_QUESTION + j) * EMBD;
            memcpy(question + QUERY, data + (size_t)(FIRST_NEEDLE + j) * EMBD + KEY, HEAD * sizeof *data);
            memset(question + PAYLOAD, 0, HEAD * sizeof *data);
        }
    } else if (strcmp(name, "output.weight") == 0) {
        for (size_t i = 0; i < count; i++)
            data[i] = i % EMBD < PAYLOAD ? 0 : 0.25f * embeddings[i];
    }
}

static int rewrite(const needles *n, const eng_gguf *random, const char *path)
{
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(random, "token_embd.weight");
    uint32_t count = eng_gguf_tensor_count(random);
    float **data = calloc(count, sizeof *data);
    eng_gguf_writer *w = NULL;
    int status = data && embd ? eng_gguf_writer_create(&w) : ENG_ERR_NOMEM;
    for (uint64_t i = 0; i < eng_gguf_key_count(random) && !status; i++)
        status = eng_gguf_writer_key(w, eng_gguf_key_get(random, i));
    for (uint32_t i = 0; i < count && !status; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(random, i);
        data[i] = malloc(t->bytes);
        if (!data[i] || t->type != ENG_TYPE_F32) {
            status = eng_fail(ENG_ERR_NOMEM, "%s: no memory, or not f32", t->name);
            break;
        }
        memcpy(data[i], t->data, t->bytes);
        change(n, t->name, data[i], t->bytes / sizeof(float), embd->data);
        status = eng_gguf_writer_tensor(w, t->name, t->type, t->ne, t->rank, data[i]);
    }
    if (!status)
        status = eng_gguf_writer_save(w, path);
    eng_gguf_writer_destroy(w);
    for (uint32_t i = 0; data && i < count; i++)
        free(data[i]);
    free(data);
    return status;
}

int needles_model(const char *path, int heads, int kv_heads)
{
    char options[256], base[256];
    needles n = {heads, kv_heads};
    eng_gguf *random = NULL;
    snprintf(options, sizeof options, "--seed 5 --interval 2 --layers 2 --embd %d --vocab %d --heads %d --kv-heads %d "
             "--head %d --rope 2 --context 65536", EMBD, VOCAB, heads, kv_heads, HEAD);
    if (subject_make(options, scratch_path("random", base)))
        return eng_fail(ENG_ERR_IO, "make-model %s failed", options);
    int status = eng_gguf_open(base, &random);
    if (!status)
        status = rewrite(&n, random, path);
    eng_gguf_close(random);
    remove(base);
    return status;
}

void needles_prompt(int32_t *ids, uint32_t n, int without)
{
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (int32_t)(FIRST_FILLER + (i * 2654435761u >> 8) % N_FILLERS);
    for (int j = 0; j < N_NEEDLES; j++)
        if (j != without)
            ids[(uint64_t)(n - 1) * (uint64_t)j / (N_NEEDLES - 1)] = FIRST_NEEDLE + j;
}
