/* Options of random models of every architecture. */
#include "config.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "archs.h"

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

int archs_among(uint64_t *state, int least, int most)
{
    return least + (int)(next(state) % (uint64_t)(most - least + 1));
}

__attribute__((format(printf, 2, 3))) static void add(char options[768], const char *format, ...)
{
    size_t n = strlen(options);
    va_list args;
    va_start(args, format);
    vsnprintf(options + n, 768 - n, format, args);
    va_end(args);
}

/* " --name N" */
static void add_number(char options[768], uint64_t *r, const char *name, int least, int most)
{
    add(options, " --%s %d", name, archs_among(r, least, most));
}

static void add_flag(char options[768], uint64_t *r, const char *name, int one_in)
{
    if (archs_among(r, 1, one_in) == 1)
        add(options, " --%s", name);
}

/* Sometimes a multiple of 32, for block types; sometimes anything. */
static void add_width(char options[768], uint64_t *r, const char *name, int most)
{
    int whole = archs_among(r, 0, 1), blocks = archs_among(r, 1, most / 32), any = archs_among(r, 16, most);
    add(options, " --%s %d", name, whole ? 32 * blocks : any);
}

static void add_hybrid(char options[768], uint64_t *r)
{
    int k_heads = archs_among(r, 1, 5), group = archs_among(r, 1, 4);
    add(options, " --k-heads %d --v-heads %d", k_heads, k_heads * group);
    add_number(options, r, "interval", 1, 3);
    add_number(options, r, "conv", 2, 5);
    add_number(options, r, "state", 4, 48);
    add_number(options, r, "scan-head", 1, 40);
}

static void add_experts(char options[768], uint64_t *r)
{
    int experts = archs_among(r, 2, 16);
    add(options, " --experts %d", experts);
    add_number(options, r, "used", 1, experts < 4 ? experts : 4);
    add_number(options, r, "expert-ffn", 8, 100);
    add_number(options, r, "shared-ffn", 8, 100);
    add_flag(options, r, "fused-experts", 2);
}

/* " --key rope.scaling.NAME=N", in one of two models; N in hundredths */
static void add_rope_key(char options[768], uint64_t *r, const char *name, int least, int most)
{
    int value = archs_among(r, least, most);
    if (archs_among(r, 0, 1))
        add(options, " --key rope.scaling.%s=%d.%02d", name, value / 100, value % 100);
}

static void add_scaling(char options[768], uint64_t *r)
{
    bool yarn = archs_among(r, 0, 1);
    add_number(options, r, yarn ? "yarn" : "linear", 2, 16);
    add_number(options, r, "context", 64, 4096);
    add_rope_key(options, r, "attn_factor", 80, 130);
    if (!yarn)
        return;
    add_rope_key(options, r, "yarn_attn_factor", 80, 130);
    add_rope_key(options, r, "yarn_beta_fast", 400, 6400);
    add_rope_key(options, r, "yarn_beta_slow", 20, 300);
    add_rope_key(options, r, "yarn_log_multiplier", 0, 150);
    add_rope_key(options, r, "yarn_ext_factor", 0, 100);
}

/* What the options may say of an architecture: of its layers; Q, K, V may be one; matrices may have factors. */
static const struct subject_arch {
    const char *name;
    bool hybrid, experts, some_experts, fused, scales, latent;
} archs[] = {
    {"llama", .some_experts = true, .fused = true, .scales = true},
    {"qwen2", .fused = true, .scales = true},
    {"qwen3", .fused = true, .scales = true},
    {"qwen3moe", .experts = true, .fused = true, .scales = true},
    {"qwen35", .hybrid = true, .scales = true},
    {"qwen35moe", .hybrid = true, .experts = true, .scales = true},
    {"gemma2", .fused = true, .scales = true},
    {"gemma3", .fused = true, .scales = true},
    {"glm4", .fused = true, .scales = true},
    {"glm4moe", .experts = true, .fused = true, .scales = true},
    {"gpt-oss", .experts = true, .fused = true, .scales = true},
    {"qwen2moe", .experts = true, .fused = true, .scales = true},
    {"smollm3", .fused = true, .scales = true},
    {"phi3", .scales = true},
    {"olmo2", .fused = true, .scales = true},
    {"granite", .some_experts = true, .fused = true, .scales = true},
    {"command-r", .fused = true, .scales = true},
    {"cohere2", .fused = true, .scales = true},
    {"mistral3", .fused = true, .scales = true},
    {"llama4", .experts = true, .fused = true, .scales = true},
    {"minimax-m2", .experts = true, .fused = true, .scales = true},
    {"gemma", .fused = true, .scales = true},
    {"olmoe", .experts = true, .fused = true, .scales = true},
    {"granitemoe", .experts = true, .fused = true, .scales = true},
    {"qwen3next", .hybrid = true, .experts = true, .scales = true},
    {"deepseek2", .experts = true, .latent = true},
    {"mistral4", .experts = true, .latent = true},
    {"phimoe", .scales = true},
    {"deepseek32", .experts = true, .latent = true},
    {"glm-dsa", .experts = true, .latent = true},
    {"deepseek4", .experts = true, .scales = true},
    {"qwen2vl", .fused = true, .scales = true},
    {"gemma4", .some_experts = true, .scales = true},
    {"gemma3n", .scales = true},
    {"seed_oss", .fused = true, .scales = true},
    {"ernie4_5", .fused = true, .scales = true},
    {"exaone4", .fused = true, .scales = true},
    {"lfm2", .fused = true, .scales = true},
    {"lfm2moe", .experts = true, .fused = true, .scales = true},
    {"mamba", .hybrid = true, .scales = true},
    {"mamba2", .hybrid = true, .scales = true},
    {"nemotron_h", .hybrid = true, .scales = true},
    {"falcon-h1", .hybrid = true, .scales = true},
    {"qwen3vl", .fused = true, .scales = true},
    {"qwen3vlmoe", .experts = true, .fused = true, .scales = true},
    {"hunyuan-dense", .fused = true, .scales = true},
    {"hunyuan-moe", .experts = true, .fused = true, .scales = true},
    {"starcoder2", .fused = true},
    {"stablelm", .fused = true, .scales = true},
    {"kimi-linear", .experts = true, .hybrid = true, .latent = true},
    {"glm5next", .experts = true, .hybrid = true, .latent = true},
    {"granitehybrid", .hybrid = true, .some_experts = true, .scales = true},
    {"qwen4exp", .hybrid = true, .experts = true, .scales = true},
};
#define N_RANDOM (int)(sizeof archs / sizeof *archs)

/* Sizes of latent attention; factors of YaRN would need one key more. */
static void add_latent(char options[768], uint64_t *r)
{
    if (archs_among(r, 0, 1))
        add_number(options, r, "q-lora", 8, 64);
    add_number(options, r, "kv-lora", 8, 80);
    add_number(options, r, "value", 4, 48);
}

/* Of few cells, of about as many as there are tokens, or of all. */
static void add_indexer(char options[768], uint64_t *r, bool shared)
{
    add_number(options, r, "index-top", 1, archs_among(r, 0, 1) ? 12 : N_CELLS);
    add_number(options, r, "index-heads", 1, 9);
    add_number(options, r, "index-head", 32, 80);
    if (shared)
        add_number(options, r, "index-period", 1, 3);
}

/* Whole pools of cells; and streams of a token. */
static void add_pools(char options[768], uint64_t *r)
{
    int pool = archs_among(r, 2, 9);
    add(options, " --pool %d --index-top %d", pool,
        pool * archs_among(r, 1, archs_among(r, 0, 1) ? 3 : N_CELLS / pool));
    add_number(options, r, "index-heads", 1, 9);
    add_number(options, r, "index-head", 8, 80);
    add_number(options, r, "streams", 1, 6);
    add_number(options, r, "sinkhorn", 1, 20);
}

/* Means of pools; streams mixed channel by channel; n-grams or none. */
static void add_mix(char options[768], uint64_t *r)
{
    int pool = archs_among(r, 2, 9);
    add(options, " --pool %d --index-top %d", pool,
        pool * archs_among(r, 1, archs_among(r, 0, 1) ? 3 : N_CELLS / pool));
    add_number(options, r, "index-heads", 1, 9);
    add_number(options, r, "index-head", 64, 90);
    add_number(options, r, "streams", 1, 6);
    add_number(options, r, "mix-rank", 1, 40);
    add(options, " --ngrams %d", archs_among(r, 0, 3) ? archs_among(r, 2, 6) : 0);
    add_number(options, r, "ngram-each", 1, 5);
    add_number(options, r, "ngram-width", 1, 40);
    add_number(options, r, "ngram-taps", 2, 5);
}

/* Entries of few tokens, of which few are seen, or of most; groups of heads. */
static void add_compressed(char options[768], uint64_t *r, int kv, int layers)
{
    add(options, " --out-groups %d --kv-heads 1", kv);
    add_number(options, r, "out-rank", 4, 48);
    add_number(options, r, "ratio", 2, 9);
    add_number(options, r, "long-ratio", 2, 40);
    add_number(options, r, "index-top", 1, archs_among(r, 0, 1) ? 4 : N_CELLS);
    add_number(options, r, "index-heads", 1, 9);
    add(options, " --index-head %d", 2 * archs_among(r, 16, 40));
    add_number(options, r, "q-lora", 8, 64);
    add_number(options, r, "hashed", 0, layers);
    if (archs_among(r, 0, 2) == 0)
        add(options, " --yarn %d --context %d", archs_among(r, 2, 32), archs_among(r, 64, 4096));
    add_number(options, r, "streams", 1, 6);
    add_number(options, r, "sinkhorn", 1, 20);
}

/* Of heads with and without a window, widths, caches that later layers read; kv 0: gemma3n's, of one size. */
static void add_sizes(char options[768], uint64_t *r, int layers, int kv)
{
    int period = archs_among(r, 1, 3);
    add(options, " --period %d", period);
    if (kv) {
        add(options, " --local-head %d", 2 * archs_among(r, 2, 32));
        if (archs_among(r, 0, 1))
            add(options, " --full-kv-heads %d", archs_among(r, 0, 1) ? 1 : kv);
        add_flag(options, r, "keys-are-values", 2);
        add_flag(options, r, "layer-scales", 2);
        add_flag(options, r, "freqs", 2);
    } else {
        add_number(options, r, "altup", 2, 8);
        add_number(options, r, "laurel", 1, 40);
        add_number(options, r, "sparse", 0, layers);
    }
    if (layers > period)
        add_number(options, r, "shared-caches", 0, layers - period);
    if (archs_among(r, 0, 1))
        add_number(options, r, "input", 1, 40);
    add_flag(options, r, "wide-shared", 2);
}

void archs_random(uint64_t *r, unsigned seed, char options[768])
{
    static const char *const types[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_K"};
    const struct subject_arch *a = &archs[archs_among(r, 0, N_RANDOM - 1)];
    bool llama = strcmp(a->name, "llama") == 0, latent = a->latent;
    int kv = archs_among(r, 1, 8), group = archs_among(r, 1, 5), half = archs_among(r, 2, 32);
    options[0] = 0;
    add(options, "--arch %s --seed %u --type %s", a->name, seed, types[archs_among(r, 0, 5)]);
    add(options, " --kv-heads %d --heads %d --head %d", kv, kv * group, 2 * half);
    int layers = archs_among(r, 1, 5);
    add(options, " --layers %d", layers);
    add_number(options, r, "window", 1, 20);
    add_number(options, r, "vocab", 258, 600);
    add_width(options, r, "embd", 200);
    add_width(options, r, "ffn", 400);
    add_flag(options, r, "tied", 3);
    if (a->scales)
        add_flag(options, r, "scales", 3);
    if (!latent && strcmp(a->name, "deepseek4") != 0 && archs_among(r, 0, 2) == 0)
        add_scaling(options, r);
    if (a->hybrid)
        add_hybrid(options, r);
    if (a->fused) {
        add_flag(options, r, "fused-qkv", 2);
        add_flag(options, r, "biases", 3);
    }
    if (latent)
        add_latent(options, r);
    if (strcmp(a->name, "mistral4") == 0 && archs_among(r, 0, 2))
        add(options,
            " --yarn %d --context %d --key rope.scaling.yarn_log_multiplier=0.%d --key "
            "attention.temperature_scale=0.%d",
            archs_among(r, 2, 4), archs_among(r, 8, 200), archs_among(r, 0, 2), archs_among(r, 1, 9));
    if (strcmp(a->name, "glm5next") == 0)
        add_pools(options, r);
    if (strcmp(a->name, "qwen4exp") == 0)
        add_mix(options, r);
    if (strcmp(a->name, "deepseek4") == 0)
        add_compressed(options, r, kv, layers);
    if (strcmp(a->name, "deepseek32") == 0 || strcmp(a->name, "glm-dsa") == 0)
        add_indexer(options, r, *a->name == 'g');
    if (llama)
        add_flag(options, r, "freqs", 2);
    if (strcmp(a->name, "gemma4") == 0)
        add_sizes(options, r, layers, kv);
    if (strcmp(a->name, "gemma3n") == 0)
        add_sizes(options, r, layers, 0);
    if (strncmp(a->name, "lfm2", 4) == 0) {
        add_number(options, r, "interval", 1, 4);
        add_number(options, r, "conv", 2, 5);
    }
    if (a->experts || (a->some_experts && archs_among(r, 0, 1)))
        add_experts(options, r);
    if (strcmp(a->name, "phimoe") == 0)
        add(options, " --experts %d --used 2", archs_among(r, 2, 16));
}
