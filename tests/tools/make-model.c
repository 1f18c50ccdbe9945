/*
 * make-model - writes a GGUF model of random weights, for tests: the same file for
 * the same options on every machine (block types: to the accuracy of the encoder).
 */
#include "config.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/convert.h"
#include "model.h"

#define EXIT_USAGE 64
#define CHUNK (INT64_C(1) << 22) /* elements made at a time */

typedef struct maker {
    model m;
    eng_context *context;
    converter *convert;
    uint32_t *types; /* of the tensors, after fallbacks */
    uint32_t first; /* tensor of the file that is being written */
    float *chunk;
    void *data;
    uint64_t data_bytes;
} maker;

static const char usage_text[] =
    "usage: make-model [OPTION]... OUT\n"
    "  --arch A         qwen35 (default), or another of archs.c\n"
    "  --seed N         --embd N  --layers N  --vocab N  --ffn N  --context N\n"
    "  --heads N        --kv-heads N  --head N (size)  --rope N (rotated dimensions)\n"
    "  --interval N     every Nth layer is attention   --conv N (taps)\n"
    "  --small-conv     taps that leave q, k and v of recurrent layers tiny\n"
    "  --state N        size of recurrent heads        --k-heads N  --v-heads N  --scan-head N (channels)\n"
    "  --mtp N          blocks for drafting            --own-ends (they have embeddings and a head)  --tied (no output.weight)\n"
    "  --experts N      --used N  --expert-ffn N  --shared-ffn N\n"
    "  --linear N       --yarn N (factors of rope scaling)  --freqs (rope_freqs.weight)\n"
    "  --fused-qkv      --fused-experts (gate and up)  --biases  --scales (of matrices)\n"
    "  --window N       --period N (layers of which the last has none)\n"
    "  --dense-lead N   --moe-step N (layers without experts)  --shared-count N  --groups N  --groups-used N\n"
    "  --q-lora N       --kv-lora N  --value N (latent attention)  --long-factors (of rope)\n"
    "  --backbone N     of an assistant: the width of the model that it is for\n"
    "  --index-heads N  --index-head N  --index-top N (cells chosen)  --index-period N (layers, of which one chooses)\n"
    "  --choice-bias    --head-norms  --own-norms  --scan-norms  --parallel (what some models of an architecture have)\n"
    "  --local-head N   --full-kv-heads N (heads of layers with a window, without)  --keys-are-values  --layer-scales\n"
    "  --shared-caches N (layers that read earlier ones' caches)  --wide-shared  --input N (per-layer embeddings)\n"
    "  --streams N      of a token, in hyper-connections  --sinkhorn N (rounds)  --pool N (cells chosen together)\n"
    "  --ratio N --long-ratio N   tokens of an entry, with an indexer and without  --out-groups N --out-rank N (of heads)\n"
    "  --hashed N       layers whose experts a table has\n"
    "  --mix-rank N     of streams that are mixed channel by channel  --ngrams N (tokens of the longest; 0: none)\n"
    "  --ngram-each N   rows of each length  --ngram-width N  --ngram-taps N\n"
    "  --altup N        hidden states of a token        --laurel N  --sparse N (layers whose gates are)\n"
    "  --key K=NUMBER   another value of a key, or one more; --without K leaves it out, --int K=N writes an integer\n"
    "                   (\"<architecture>.\" is put before K)\n"
    "  --split N        N files: OUT.gguf becomes OUT-00001-of-0000N.gguf and so on\n"
    "  --large          a few hundred MB in f16; options after it change it\n"
    "  --type T         of all matrices; --embd-type, --output-type, --attn-type,\n"
    "                   --ssm-type, --ffn-type T of a class of them\n";

enum { OPT_NUMBER = 1000, OPT_ARCH = 2000, OPT_LARGE, OPT_TYPE, OPT_KEY, OPT_INT, OPT_WITHOUT, OPT_CLASS = 3000, OPT_FLAG = 4000 };

/* Numbers by their place in the model. */
static const struct {
    const char *name;
    size_t place;
    int64_t least, most;
} numbers[] = {
#define NUMBER(name, member, least, most) {name, offsetof(model, member), least, most}
    NUMBER("seed", seed, 0, INT64_MAX),        NUMBER("embd", embd, 1, 65536),
    NUMBER("layers", layers, 1, 1025),          NUMBER("vocab", vocab, 258, 1000000),
    NUMBER("ffn", ffn, 1, 1 << 20),            NUMBER("context", context, 1, 1 << 24),
    NUMBER("heads", heads, 1, 1024),           NUMBER("kv-heads", kv_heads, 1, 1024),
    NUMBER("head", head, 2, 1024),             NUMBER("rope", rope, 2, 1024),
    NUMBER("interval", interval, 1, 512),      NUMBER("conv", conv, 1, 16),
    NUMBER("state", state, 1, 1024),           NUMBER("k-heads", k_heads, 1, 1024),
    NUMBER("v-heads", v_heads, 1, 1024),       NUMBER("mtp", mtp, 0, 8),
    NUMBER("experts", experts, 0, 512),        NUMBER("used", used, 1, 512),
    NUMBER("expert-ffn", expert_ffn, 1, 65536), NUMBER("shared-ffn", shared_ffn, 1, 65536),
    NUMBER("split", split, 1, 99999),          NUMBER("linear", linear, 1, 1024),
    NUMBER("yarn", yarn, 1, 1024),             NUMBER("window", window, 0, 1 << 24),
    NUMBER("period", period, 0, 512),          NUMBER("dense-lead", dense_lead, 0, 512),
    NUMBER("moe-step", moe_step, 1, 512),      NUMBER("shared-count", shared_count, 0, 16),
    NUMBER("groups", groups, 1, 512),          NUMBER("groups-used", groups_used, 1, 512),
    NUMBER("q-lora", q_lora, 0, 65536),        NUMBER("kv-lora", kv_lora, 1, 65536),
    NUMBER("value", value, 1, 1024),           NUMBER("local-head", local_head, 2, 1024),
    NUMBER("full-kv-heads", full_kv_heads, 1, 1024), NUMBER("shared-caches", shared_caches, 0, 511),
    NUMBER("input", input, 0, 65536),          NUMBER("scan-head", scan_head, 1, 1024),
    NUMBER("altup", altup, 2, 8),              NUMBER("laurel", laurel, 1, 65536),
    NUMBER("backbone", backbone, 1, 65536),
    NUMBER("sparse", sparse, 0, 512),          NUMBER("index-heads", index_heads, 1, 1024),
    NUMBER("index-head", index_head, 1, 1024), NUMBER("index-top", index_top, 1, 1 << 24),
    NUMBER("index-period", index_period, 1, 512), NUMBER("streams", streams, 1, 16),
    NUMBER("sinkhorn", sinkhorn, 1, 64),       NUMBER("pool", pool, 2, 1024),
        NUMBER("ratio", ratio, 2, 512),           NUMBER("long-ratio", long_ratio, 2, 512),
        NUMBER("out-groups", out_groups, 1, 512), NUMBER("out-rank", out_rank, 1, 4096),
        NUMBER("hashed", hashed, 0, 512),
    NUMBER("mix-rank", mix_rank, 1, 4096),     NUMBER("ngrams", ngrams, 0, 8),
    NUMBER("ngram-each", ngram_each, 1, 16),   NUMBER("ngram-width", ngram_width, 1, 4096),
    NUMBER("ngram-taps", ngram_taps, 2, 16),
#undef NUMBER
};
#define N_NUMBERS (sizeof numbers / sizeof *numbers)

static const struct {
    const char *name;
    size_t place;
} flags[] = {
    {"tied", offsetof(model, tied)},
    {"own-ends", offsetof(model, own_ends)},
    {"fused-qkv", offsetof(model, fused_qkv)},
    {"fused-experts", offsetof(model, fused_experts)},
    {"freqs", offsetof(model, freqs)},
    {"biases", offsetof(model, biases)},
    {"scales", offsetof(model, scales)},
    {"small-conv", offsetof(model, small_conv)},
    {"long-factors", offsetof(model, long_factors)},
    {"choice-bias", offsetof(model, choice_bias)},
    {"head-norms", offsetof(model, head_norms)},
    {"own-norms", offsetof(model, own_norms)},
    {"scan-norms", offsetof(model, scan_norms)},
    {"parallel", offsetof(model, parallel)},
    {"wide-shared", offsetof(model, wide_shared)},
    {"keys-are-values", offsetof(model, keys_are_values)},
    {"layer-scales", offsetof(model, layer_scales)},
};
#define N_FLAGS (sizeof flags / sizeof *flags)

static const char *const classes[N_CLASSES] = {NULL,        "embd-type", "output-type",
                                               "attn-type", "ssm-type",  "ffn-type"};

static void defaults(model *m)
{
    *m = (model){.arch = "qwen35", .seed = 1, .embd = 128, .layers = 4, .vocab = 512, .ffn = 384, .heads = 4,
                 .kv_heads = 2, .head = 32, .context = 4096, .interval = 4, .conv = 4, .state = 32, .scan_head = 16, .k_heads = 2,
                 .v_heads = 4, .used = 2, .expert_ffn = 96, .shared_ffn = 96, .window = 5, .moe_step = 1,
                 .shared_count = 1, .groups = 1, .groups_used = 1, .kv_lora = 64, .value = 24, .altup = 4, .laurel = 16, .sparse = 2,
                 .backbone = 128, .index_heads = 2, .index_top = 128, .index_period = 1, .streams = 4, .sinkhorn = 6, .pool = 4,
                 .ratio = 4, .long_ratio = 6, .out_groups = 2, .out_rank = 24, .hashed = 1,
                 .mix_rank = 12, .ngrams = 3, .ngram_each = 2, .ngram_width = 8, .ngram_taps = 4};
    m->a = model_arch_find(m->arch);
}

static void large(model *m)
{
    m->embd = 1024;
    m->layers = 12;
    m->vocab = 32768;
    m->ffn = 3584;
    m->heads = 8;
    m->kv_heads = 2;
    m->head = 256;
    m->state = 128;
    m->k_heads = 8;
    m->v_heads = 16;
}

static int bad(const char *what, const char *value)
{
    fprintf(stderr, "make-model: %s: %s\n", what, value);
    return EXIT_USAGE;
}

static int set_number(model *m, size_t index, const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);

    if (*end || end == text || value < numbers[index].least || value > numbers[index].most)
        return bad("not a possible number", text);
    memcpy((char *)m + numbers[index].place, &value, sizeof(int64_t));
    return 0;
}

static int set_type(model *m, int kind, const char *text)
{
    const eng_type_info *type = eng_type_find(text);

    if (!type || type->type == ENG_TYPE_I32 || type->type == ENG_TYPE_I64)
        return bad("not a type of weights", text);
    for (int i = 1; i < N_CLASSES; i++)
        if (kind == 0 || kind == i)
            m->types[i] = type->type;
    return 0;
}

static int set_arch(model *m, const char *text)
{
    const model_arch *a = model_arch_find(text);

    if (!a)
        return bad("not a known architecture", text);
    m->a = a;
    m->arch = a->name;
    return 0;
}

static int change_key(model *m, char *text, int left_out, int whole)
{
    char *equals = strchr(text, '='), *end = NULL;
    double value = equals ? strtod(equals + 1, &end) : 0;

    if (m->n_changes == MODEL_CHANGES || (!left_out && (!equals || *end || end == equals + 1)))
        return bad(left_out ? "too many keys left out" : "not KEY=NUMBER, or too many of them", text);
    if (!left_out)
        *equals = 0;
    m->changes[m->n_changes++] = (model_change){text, value, left_out, whole};
    return 0;
}

static int set_option(model *m, int option, char *value)
{
    if (option >= OPT_FLAG) {
        *(int *)((char *)m + flags[option - OPT_FLAG].place) = 1;
        return 0;
    }
    if (option >= OPT_CLASS)
        return set_type(m, option - OPT_CLASS, value);
    switch (option) {
    case OPT_ARCH: return set_arch(m, value);
    case OPT_KEY: return change_key(m, value, 0, 0);
    case OPT_INT: return change_key(m, value, 0, 1);
    case OPT_WITHOUT: return change_key(m, value, 1, 0);
    case OPT_LARGE: large(m); return 0;
    case OPT_TYPE: return set_type(m, 0, value);
    default:
        return option >= OPT_NUMBER && (size_t)(option - OPT_NUMBER) < N_NUMBERS
                   ? set_number(m, (size_t)(option - OPT_NUMBER), value)
                   : EXIT_USAGE;
    }
}

/* What is left open follows from the rest; what cannot be is refused. */
static int complete(model *m)
{
    if (m->a->experts == EXPERTS_OWN && m->experts == 0)
        m->experts = 8;
    if (m->experts == 0)
        m->used = 0;
    if (m->rope == 0)
        m->rope = m->a->rope_part && m->head >= 4 ? m->head / (2 * m->a->rope_part) * 2 : m->head;
    if (m->a->flags & ARCH_NO_ROPE)
        m->rope = 0;
    if (m->a->flags & (ARCH_INDEXER | ARCH_COMPRESSED) && m->q_lora == 0)
        m->q_lora = 40;
    if (m->index_head == 0)
        m->index_head = m->rope + 8;
    if (m->a->flags & ARCH_ASSISTANT)
        m->shared_caches = m->layers;
    m->tied |= m->a->flags & ARCH_TIED ? 1 : 0;
    m->fused_qkv |= m->a->flags & ARCH_FUSED_QKV ? 1 : 0;
    if (m->mtp > 0 && !(m->a->flags & ARCH_DRAFTS))
        return bad("blocks for drafting are not part of", m->arch);
    if (m->fused_qkv && m->a->flags & ARCH_HYBRID)
        return bad("--fused-qkv is not part of", m->arch);
    if (m->freqs && !(m->a->flags & ARCH_FREQS))
        return bad("--freqs is not part of", m->arch);
    if ((m->local_head || m->full_kv_heads || m->shared_caches || m->input) && !(m->a->flags & ARCH_LAYER_SIZES))
        return bad("layers of different sizes are not part of", m->arch);
    if (m->full_kv_heads && m->heads % m->full_kv_heads != 0)
        return bad("impossible", "--heads must be a multiple of --full-kv-heads");
    if (m->a->flags & ARCH_ALTUP && m->input == 0)
        m->input = 16;
    if (m->a->flags & ARCH_COMPRESSED)
        m->kv_heads = 1;
    if (m->a->flags & ARCH_COMPRESSED && m->heads % m->out_groups != 0)
        return bad("impossible", "--heads must be a multiple of --out-groups");
    if (m->heads % m->kv_heads != 0)
        return bad("impossible", "--heads must be a multiple of --kv-heads");
    if (m->v_heads % m->k_heads != 0)
        return bad("impossible", "--v-heads must be a multiple of --k-heads");
    if (m->rope > m->head || m->rope % 2 != 0)
        return bad("impossible", "--rope must be even and at most --head");
    if (m->used > m->experts)
        return bad("impossible", "--used must be at most --experts");
    return 0;
}

/* -1: go on. */
static int parse(model *m, int argc, char **argv)
{
    struct option options[N_NUMBERS + N_CLASSES + N_FLAGS + 9];
    size_t n = 0;

    memset(options, 0, sizeof options);
    for (size_t i = 0; i < N_NUMBERS; i++)
        options[n++] = (struct option){numbers[i].name, required_argument, NULL, OPT_NUMBER + (int)i};
    for (int i = 1; i < N_CLASSES; i++)
        options[n++] = (struct option){classes[i], required_argument, NULL, OPT_CLASS + i};
    for (size_t i = 0; i < N_FLAGS; i++)
        options[n++] = (struct option){flags[i].name, no_argument, NULL, OPT_FLAG + (int)i};
    options[n++] = (struct option){"arch", required_argument, NULL, OPT_ARCH};
    options[n++] = (struct option){"key", required_argument, NULL, OPT_KEY};
    options[n++] = (struct option){"int", required_argument, NULL, OPT_INT};
    options[n++] = (struct option){"without", required_argument, NULL, OPT_WITHOUT};
    options[n++] = (struct option){"large", no_argument, NULL, OPT_LARGE};
    options[n++] = (struct option){"type", required_argument, NULL, OPT_TYPE};
    options[n++] = (struct option){"help", no_argument, NULL, 'h'};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage_text, stdout);
            return 0;
        }
        if (set_option(m, c, optarg))
            return EXIT_USAGE;
    }
    if (argc - optind != 1) {
        fputs(usage_text, stderr);
        return EXIT_USAGE;
    }
    int wrong = complete(m);
    return wrong ? wrong : -1;
}

/* -- writing ---------------------------------------------------------------------- */

static uint32_t type_of(const model *m, const model_tensor *t)
{
    uint32_t type = m->types[t->kind];

    if (t->fill == FILL_IDS)
        return ENG_TYPE_I32;
    if (t->kind == CLASS_F32)
        return ENG_TYPE_F32;
    if (t->ne[0] % eng_type_get(type)->block == 0)
        return type;
    return t->ne[0] % 32 == 0 ? ENG_TYPE_Q8_0 : ENG_TYPE_F16;
}

static int produce(void *user, uint32_t index, const void **data)
{
    maker *k = user;

    index += k->first;
    const model_tensor *t = &k->m.tensors[index];
    int64_t columns = t->ne[0], rows = t->ne[1] * t->ne[2], step = columns < CHUNK ? CHUNK / columns : 1;
    uint64_t row = eng_row_bytes(k->types[index], columns);
    int status = ENG_OK;

    if (row * (uint64_t)rows > k->data_bytes) {
        free(k->data);
        k->data = malloc(row * (uint64_t)rows);
        k->data_bytes = k->data ? row * (uint64_t)rows : 0;
    }
    float *chunk = realloc(k->chunk, (size_t)(step < rows ? step : rows) * (size_t)columns * sizeof *chunk);
    if (!k->data || !chunk)
        return eng_fail(ENG_ERR_NOMEM, "out of memory for tensor \"%s\"", t->name);
    k->chunk = chunk;
    for (int64_t at = 0; at < rows && !status; at += step) {
        int64_t n = step < rows - at ? step : rows - at;
        void *to = (char *)k->data + row * (uint64_t)at;
        model_fill(&k->m, t, at * columns, n * columns, chunk);
        for (int64_t i = 0; i < n * columns && t->fill == FILL_IDS; i++)
            ((int32_t *)to)[i] = (int32_t)chunk[i];
        if (k->types[index] == ENG_TYPE_F32)
            memcpy(to, chunk, row * (uint64_t)n);
        else if (t->fill != FILL_IDS)
            status = converter_run(k->convert, ENG_TYPE_F32, chunk, k->types[index], to, columns, n);
    }
    *data = k->data;
    return status;
}

static int choose_types(maker *k)
{
    int converts = 0, status = ENG_OK;

    k->types = calloc(k->m.n_tensors, sizeof *k->types);
    if (!k->types)
        return eng_fail(ENG_ERR_NOMEM, "out of memory for the list of tensors");
    for (uint32_t i = 0; i < k->m.n_tensors; i++) {
        k->types[i] = type_of(&k->m, &k->m.tensors[i]);
        converts |= k->types[i] != ENG_TYPE_F32 && k->types[i] != ENG_TYPE_I32;
    }
    if (converts)
        status = eng_context_create(NULL, &k->context);
    return status || !converts ? status : converter_create(k->context, "cpu", NULL, &k->convert);
}

static int split_keys(const maker *k, eng_gguf_writer *w, int64_t part)
{
    int status = eng_gguf_writer_integer(w, "split.no", ENG_GGUF_U16, part);

    if (!status)
        status = eng_gguf_writer_integer(w, "split.count", ENG_GGUF_U16, k->m.split);
    return status ? status : eng_gguf_writer_integer(w, "split.tensors.count", ENG_GGUF_I32, k->m.n_tensors);
}

/* File number `part`: the first has all keys of the model, each an equal part of the tensors. */
static int write_part(maker *k, int64_t part, const char *path)
{
    int64_t parts = k->m.split > 1 ? k->m.split : 1;
    uint32_t end = (uint32_t)((part + 1) * k->m.n_tensors / parts);
    eng_gguf_writer *w = NULL;
    int status = eng_gguf_writer_create(&w);

    k->first = (uint32_t)(part * k->m.n_tensors / parts);
    if (!status && part == 0)
        status = model_keys(&k->m, w);
    if (!status && part == 0)
        status = model_vocabulary(&k->m, w);
    if (!status && parts > 1)
        status = split_keys(k, w, part);
    for (uint32_t i = k->first; i < end && !status; i++) {
        const model_tensor *t = &k->m.tensors[i];
        status = eng_gguf_writer_tensor(w, t->name, k->types[i], t->ne, t->rank, NULL);
    }
    if (!status)
        status = eng_gguf_writer_save_from(w, path, produce, k);
    eng_gguf_writer_destroy(w);
    return status;
}

static int make(maker *k, const char *path)
{
    int status = model_list(&k->m);

    if (!status)
        status = choose_types(k);
    if (k->m.split < 2)
        return status ? status : write_part(k, 0, path);
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".gguf") == 0)
        n -= 5;
    char *name = malloc(n + 32);
    if (!name)
        return eng_fail(ENG_ERR_NOMEM, "out of memory for a name");
    for (int64_t i = 0; i < k->m.split && !status; i++) {
        snprintf(name, n + 32, "%.*s-%05d-of-%05d.gguf", (int)n, path, (int)(i + 1), (int)k->m.split);
        status = write_part(k, i, name);
    }
    free(name);
    return status;
}

int main(int argc, char **argv)
{
    maker k;

    memset(&k, 0, sizeof k);
    defaults(&k.m);
    int answer = parse(&k.m, argc, argv);
    if (answer >= 0)
        return answer;
    int status = make(&k, argv[optind]);
    if (status)
        fprintf(stderr, "make-model: %s\n", eng_last_error());
    converter_destroy(k.convert);
    eng_context_destroy(k.context);
    free(k.types);
    free(k.chunk);
    free(k.data);
    free(k.m.tensors);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
