/* What engine-generate tells about a run: a table, or JSON. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "generate.h"

static double rate(size_t n, double s)
{
    return n && s > 0 ? (double)n / s : 0;
}

void exchanged_note(exchanged *e, eng_device *device)
{
    memset(e, 0, sizeof *e);
    for (uint32_t i = 0; i < ENG_MAX_RANKS; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        if (eng_device_leaf(device, i, &info, &stats))
            break;
        e->bytes[i] = stats.bytes_exchanged;
    }
}

/* Bytes per decoded token (of a measurement: per token) that leaf i has sent. */
static double sent(const report *r, const exchanged *before, uint32_t i, const eng_device_stats *stats)
{
    size_t n = r->measured ? (size_t)r->perplexity.tokens : r->n_decoded;
    return n ? (double)(stats->bytes_exchanged - before->bytes[i]) / (double)n : 0;
}

static const char *bytes_text(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    unsigned u = 0;
    for (; v >= 10000 && u < 4; u++)
        v /= 1024;
    snprintf(text, size, "%.0f %s", v, units[u]);
    return text;
}

/* -- the table --------------------------------------------------------------- */

static void speeds(const report *r)
{
    if (r->measured) {
        fprintf(stderr, "cross entropy  %.5f nats per token over %llu tokens, perplexity %.4f, %.1f tokens/s\n",
                r->perplexity.cross_entropy, (unsigned long long)r->perplexity.tokens, r->perplexity.perplexity,
                rate((size_t)r->perplexity.tokens, r->prompt_seconds));
        return;
    }
    fprintf(stderr, "prompt         %zu token%s, %.1f tokens/s\n", r->n_prompt, r->n_prompt == 1 ? "" : "s",
            rate(r->n_prompt, r->prompt_seconds));
    fprintf(stderr, "generated      %zu token%s (%s)", r->n_tokens, r->n_tokens == 1 ? "" : "s", r->stopped);
    if (r->n_decoded) /* the first token is the prompt's */
        fprintf(stderr, ", %.1f tokens/s", rate(r->n_decoded, r->decode_seconds));
    fputc('\n', stderr);
}

/* Where -nkvo, and overrides that go before it, have put the caches. */
static void cache_devices(eng_device *device)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ENG_MAX_RANKS; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats s = {.size = sizeof s};
        if (eng_device_leaf(device, i, &info, &s))
            break;
        if (s.bytes_cache)
            fprintf(stderr, "%s%s", n++ ? " and " : ", on ", info.name);
    }
}

void report_table(const report *r, const options *o, eng_device *device, eng_lm_context *context,
                  const exchanged *before)
{
    eng_lm_context_params p = {.size = sizeof p};
    eng_lm_context_get_params(context, &p);
    fprintf(stderr, "\n%-16s %7s %11s %11s %11s %11s %11s %16s\n", "device", "share", "weights", "replicated", "cache",
            "state", "compute", r->measured ? "sent/token" : "sent/decoded");
    for (uint32_t i = 0; i < ENG_MAX_RANKS; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats s = {.size = sizeof s};
        char t[6][32];
        if (eng_device_leaf(device, i, &info, &s))
            break;
        fprintf(stderr, "%-16s %6.1f%% %11s %11s %11s %11s %11s %16s\n", info.name, 100 * s.share,
                bytes_text(s.bytes_weights, t[0], sizeof t[0]), bytes_text(s.bytes_replicated, t[1], sizeof t[1]),
                bytes_text(s.bytes_cache, t[2], sizeof t[2]), bytes_text(s.bytes_state, t[3], sizeof t[3]),
                bytes_text(s.bytes_compute, t[4], sizeof t[4]),
                bytes_text((uint64_t)llround(sent(r, before, i, &s)), t[5], sizeof t[5]));
    }
    speeds(r);
    fprintf(stderr, "K/V            %s/%s", eng_type_get(p.type_k)->name, eng_type_get(p.type_v)->name);
    if (p.rotate_k > 1 || p.rotate_v > 1)
        fprintf(stderr, ", rotated in groups of %d and %d", p.rotate_k > 1 ? p.rotate_k : 1,
                p.rotate_v > 1 ? p.rotate_v : 1);
    if (o->no_kv_offload)
        cache_devices(device);
    fputc('\n', stderr);
    fprintf(stderr, "plans built    %llu, in %.3f s\n", (unsigned long long)eng_device_plans_built(device), r->plan_seconds);
}

/* -- JSON ------------------------------------------------------------------------ */

/* Length of the well-formed UTF-8 character at s; 0: there is none. */
static size_t character(const unsigned char *s, size_t n)
{
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

static void json_string(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    putchar('"');
    for (size_t i = 0; i < n;) {
        size_t length = character(s + i, n - i);
        if (length == 0) {
            fputs("\\ufffd", stdout);
            length = 1;
        } else if (s[i] == '"' || s[i] == '\\') {
            printf("\\%c", s[i]);
        } else if (s[i] < 0x20 || s[i] == 0x7f) {
            printf("\\u%04x", s[i]);
        } else {
            fwrite(s + i, 1, length, stdout);
        }
        i += length;
    }
    putchar('"');
}

static void json_ids(const char *name, const int32_t *ids, size_t n)
{
    printf("  \"%s\": [", name);
    for (size_t i = 0; i < n; i++)
        printf("%s%d", i ? ", " : "", ids[i]);
    puts("],");
}

static void json_devices(const report *r, eng_device *device, const exchanged *before)
{
    puts("  \"devices\": [");
    for (uint32_t i = 0; i < ENG_MAX_RANKS; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats s = {.size = sizeof s};
        if (eng_device_leaf(device, i, &info, &s))
            break;
        printf("%s    {\"name\": ", i ? ",\n" : "");
        json_string(info.name, strlen(info.name));
        printf(", \"description\": ");
        json_string(info.description, strlen(info.description));
        printf(", \"share\": %.6g,\n     \"weights\": %llu, \"replicated\": %llu, \"cache\": %llu, \"state\": %llu, "
               "\"compute\": %llu, \"io\": %llu,\n     \"bytes_exchanged_per_token\": %.6g}", s.share,
               (unsigned long long)s.bytes_weights, (unsigned long long)s.bytes_replicated,
               (unsigned long long)s.bytes_cache, (unsigned long long)s.bytes_state,
               (unsigned long long)s.bytes_compute,
               (unsigned long long)s.bytes_io, sent(r, before, i, &s));
    }
    puts("\n  ],");
}

void report_json(const report *r, const options *o, eng_device *device, eng_lm_context *context,
                 const exchanged *before)
{
    eng_lm_context_params p = {.size = sizeof p};
    eng_device_info info = {.size = sizeof info};
    eng_lm_context_get_params(context, &p);
    if (eng_device_get_info(device, &info))
        info.name[0] = 0;
    printf("{\n  \"model\": ");
    json_string(o->model, strlen(o->model));
    printf(",\n  \"device\": ");
    json_string(info.name, strlen(info.name));
    puts(",");
    if (r->measured)
        printf("  \"cross_entropy\": %.9g,\n  \"tokens\": %llu,\n  \"perplexity\": %.9g,\n  \"chunks\": %u,\n",
               r->perplexity.cross_entropy, (unsigned long long)r->perplexity.tokens, r->perplexity.perplexity,
               r->perplexity.chunks);
    printf("  \"text\": ");
    json_string(r->text ? r->text : "", r->text_length);
    puts(",");
    json_ids("prompt_ids", r->prompt_ids, r->n_prompt);
    json_ids("token_ids", r->token_ids, r->n_tokens);
    printf("  \"stopped\": \"%s\",\n", r->stopped);
    printf("  \"prompt_tokens_per_second\": %.6g,\n  \"decode_tokens_per_second\": %.6g,\n",
           rate(r->measured ? (size_t)r->perplexity.tokens : r->n_prompt, r->prompt_seconds),
           rate(r->n_decoded, r->decode_seconds));
    puts("  \"drafted\": 0,\n  \"accepted\": 0,");
    printf("  \"type_k\": \"%s\",\n  \"type_v\": \"%s\",\n  \"rotate_k\": %d,\n  \"rotate_v\": %d,\n",
           eng_type_get(p.type_k)->name, eng_type_get(p.type_v)->name, p.rotate_k, p.rotate_v);
    printf("  \"context\": %u,\n", p.n_cells);
    json_devices(r, device, before);
    printf("  \"plans_built\": %llu,\n  \"plan_seconds\": %.6g\n}\n", (unsigned long long)eng_device_plans_built(device),
           r->plan_seconds);
}
