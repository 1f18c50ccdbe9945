/* What engine-generate tells about a run: a table, or JSON. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "libengine/util/util.h"
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

/* The end of a line: the rate of `all` tokens but those whose passes compiled kernels. */
static void speed(size_t all, size_t cold, double seconds)
{
    if (all > cold)
        fprintf(stderr, ", %.1f tokens/s", rate(all - cold, seconds));
    if (cold && all > cold)
        fprintf(stderr, " without %zu, while kernels were compiled", cold);
    else if (cold)
        fprintf(stderr, ", no rate: kernels were compiled meanwhile");
    fputc('\n', stderr);
}

static void speeds(const report *r)
{
    if (r->measured) {
        fprintf(stderr, "cross entropy  %.5f nats per token over %llu tokens, perplexity %.4f, %.1f tokens/s\n",
                r->perplexity.cross_entropy, (unsigned long long)r->perplexity.tokens, r->perplexity.perplexity,
                rate((size_t)r->perplexity.tokens, r->prompt_seconds));
        return;
    }
    fprintf(stderr, "prompt         %zu token%s", r->n_prompt, r->n_prompt == 1 ? "" : "s");
    if (r->n_held)
        fprintf(stderr, ", %zu of them loaded", r->n_held);
    speed(r->n_prompt - r->n_held, r->prompt_cold, r->prompt_seconds);
    fprintf(stderr, "generated      %zu token%s (%s)", r->n_tokens, r->n_tokens == 1 ? "" : "s", r->stopped);
    speed(r->n_decoded, r->decode_cold, r->decode_seconds); /* the first token is the prompt's */
}

/* What a full context let go. */
static uint64_t n_dropped(const eng_lm_context *context)
{
    eng_lm_stats s = {.size = sizeof s};
    return eng_lm_context_get_stats(context, &s) ? 0 : s.tokens_dropped;
}

static void dropped(const eng_lm_context *context)
{
    uint64_t n = n_dropped(context);
    if (n)
        fprintf(stderr, "dropped        %llu tokens, since the context was full\n", (unsigned long long)n);
}

static void drafts(const report *r)
{
    const eng_lm_draft_stats *d = &r->draft;
    if (!r->draft_from)
        return;
    fprintf(stderr, "drafts         %llu of %llu tokens accepted (%s) in %llu steps: ", (unsigned long long)d->accepted,
            (unsigned long long)d->drafted, r->draft_from, (unsigned long long)d->steps);
    fprintf(stderr, "guessing %.3f s, passes %.3f s, taking back %.6f s, choosing %.3f s\n", 1e-9 * (double)d->guess_ns,
            1e-9 * (double)d->verify_ns, 1e-9 * (double)d->rollback_ns, 1e-9 * (double)d->host_ns);
    if (d->turned_off)
        fprintf(stderr, "drafts off     %llu time%s: guesses took longer than what they brought, tokens of %.2f ms%s\n",
                (unsigned long long)d->turned_off, d->turned_off == 1 ? "" : "s", 1e3 * d->pass_seconds,
                d->off ? "; still off at the end" : "");
    if (d->near_ties)
        fprintf(stderr, "near ties      %llu, the first at token %llu: passes of another size may choose otherwise\n",
                (unsigned long long)d->near_ties, (unsigned long long)d->first_near_tie);
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
    drafts(r);
    dropped(context);
    fprintf(stderr, "K/V            %s/%s", eng_type_get(p.type_k)->name, eng_type_get(p.type_v)->name);
    if (p.rotate_k > 1 || p.rotate_v > 1)
        fprintf(stderr, ", rotated in groups of %d and %d", p.rotate_k > 1 ? p.rotate_k : 1,
                p.rotate_v > 1 ? p.rotate_v : 1);
    if (o->no_kv_offload)
        cache_devices(device);
    fputc('\n', stderr);
    if (r->drawn)
        fprintf(stderr, "seed           %u\n", r->seed);
    fprintf(stderr, "plans built    %llu, in %.3f s\n", (unsigned long long)eng_device_plans_built(device),
            r->plan_seconds);
}

/* -- JSON ------------------------------------------------------------------------ */

/* null: kernels were compiled in all passes. */
static void json_speed(eu_json *j, const char *key, size_t all, size_t cold, double seconds)
{
    eu_json_real(j, key, cold && cold == all ? NAN : rate(all - cold, seconds), 6);
}

static void json_ids(eu_json *j, const char *name, const int32_t *ids, size_t n)
{
    eu_json_list(j, name, false);
    for (size_t i = 0; i < n; i++)
        eu_json_int(j, NULL, ids[i]);
    eu_json_end(j);
}

static void json_chance(eu_json *j, const token_chance *c)
{
    eu_json_int(j, "token", c->token);
    eu_json_real(j, "log_probability", (double)c->log_probability, 6);
}

static void json_chances(eu_json *j, const report *r)
{
    if (!r->chances)
        return;
    eu_json_list(j, "probabilities", true);
    for (size_t i = 0; i < r->n_tokens; i++) {
        const token_chance *own = r->chances + i * (r->n_chances + 1);
        eu_json_object(j, NULL, false);
        json_chance(j, own);
        eu_json_list(j, "top", false);
        for (uint32_t k = 1; k <= r->n_chances; k++) {
            eu_json_object(j, NULL, false);
            json_chance(j, own + k);
            eu_json_end(j);
        }
        eu_json_end(j);
        eu_json_end(j);
    }
    eu_json_end(j);
}

static void json_devices(eu_json *j, const report *r, eng_device *device, const exchanged *before)
{
    eu_json_list(j, "devices", true);
    for (uint32_t i = 0; i < ENG_MAX_RANKS; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats s = {.size = sizeof s};
        if (eng_device_leaf(device, i, &info, &s))
            break;
        eu_json_object(j, NULL, false);
        eu_json_text(j, "name", info.name);
        eu_json_text(j, "description", info.description);
        eu_json_real(j, "share", s.share, 6);
        eu_json_uint(j, "weights", s.bytes_weights);
        eu_json_uint(j, "replicated", s.bytes_replicated);
        eu_json_uint(j, "cache", s.bytes_cache);
        eu_json_uint(j, "state", s.bytes_state);
        eu_json_uint(j, "compute", s.bytes_compute);
        eu_json_uint(j, "io", s.bytes_io);
        eu_json_real(j, "bytes_exchanged_per_token", sent(r, before, i, &s), 6);
        eu_json_end(j);
    }
    eu_json_end(j);
}

static void json_measured(eu_json *j, const eng_lm_perplexity_result *p)
{
    eu_json_real(j, "cross_entropy", p->cross_entropy, 9);
    eu_json_uint(j, "tokens", p->tokens);
    eu_json_real(j, "perplexity", p->perplexity, 9);
    eu_json_uint(j, "chunks", p->chunks);
}

static void json_drafts(eu_json *j, const report *r)
{
    const eng_lm_draft_stats *d = &r->draft;
    if (!r->draft_from)
        return;
    eu_json_uint(j, "drafted", d->drafted);
    eu_json_uint(j, "accepted", d->accepted);
    eu_json_object(j, "drafting", true);
    eu_json_text(j, "from", r->draft_from);
    eu_json_uint(j, "steps", d->steps);
    eu_json_uint(j, "tokens", d->tokens);
    eu_json_uint(j, "rollbacks", d->rollbacks);
    eu_json_real(j, "guess_seconds", 1e-9 * (double)d->guess_ns, 6);
    eu_json_real(j, "pass_seconds", 1e-9 * (double)d->verify_ns, 6);
    eu_json_real(j, "rollback_seconds", 1e-9 * (double)d->rollback_ns, 6);
    eu_json_real(j, "host_seconds", 1e-9 * (double)d->host_ns, 6);
    eu_json_uint(j, "turned_off", d->turned_off);
    eu_json_uint(j, "near_ties", d->near_ties);
    if (d->near_ties)
        eu_json_uint(j, "first_near_tie", d->first_near_tie);
    eu_json_end(j);
}

void report_json(const report *r, const options *o, eng_device *device, eng_lm_context *context,
                 const exchanged *before)
{
    eng_lm_context_params p = {.size = sizeof p};
    eng_device_info info = {.size = sizeof info};
    eu_json json = {.write = eu_json_to_file, .user = stdout}, *j = &json;
    eng_lm_context_get_params(context, &p);
    if (eng_device_get_info(device, &info))
        info.name[0] = 0;
    eu_json_object(j, NULL, true);
    eu_json_text(j, "model", o->model);
    eu_json_text(j, "device", info.name);
    if (r->measured)
        json_measured(j, &r->perplexity);
    eu_json_bytes(j, "text", r->text ? r->text : "", r->text_length);
    json_ids(j, "prompt_ids", r->prompt_ids, r->n_prompt);
    if (o->load_state)
        eu_json_uint(j, "loaded_tokens", r->n_held);
    json_ids(j, "token_ids", r->token_ids, r->n_tokens);
    json_chances(j, r);
    eu_json_text(j, "stopped", r->stopped);
    json_speed(j, "prompt_tokens_per_second", r->measured ? (size_t)r->perplexity.tokens : r->n_prompt - r->n_held,
               r->prompt_cold, r->prompt_seconds);
    json_speed(j, "decode_tokens_per_second", r->n_decoded, r->decode_cold, r->decode_seconds);
    if (r->drawn)
        eu_json_uint(j, "seed", r->seed);
    json_drafts(j, r);
    if (o->shift)
        eu_json_uint(j, "dropped_tokens", n_dropped(context));
    eu_json_text(j, "precision", eng_precision_name(p.precision));
    eu_json_uint(j, "weights", r->weights);
    eu_json_uint(j, "weights_in_place", r->weights_in_place);
    eu_json_uint(j, "weights_packed", r->weights_packed);
    eu_json_text(j, "type_k", eng_type_get(p.type_k)->name);
    eu_json_text(j, "type_v", eng_type_get(p.type_v)->name);
    eu_json_int(j, "rotate_k", p.rotate_k);
    eu_json_int(j, "rotate_v", p.rotate_v);
    eu_json_uint(j, "context", p.n_cells);
    json_devices(j, r, device, before);
    eu_json_uint(j, "plans_built", eng_device_plans_built(device));
    eu_json_real(j, "plan_seconds", r->plan_seconds, 6);
    eu_json_end(j);
}

void report_unread(const eng_lm_model *model)
{
    const char *what;
    for (uint32_t i = 0; (what = eng_lm_model_unread(model, i)) != NULL; i++)
        fprintf(stderr, "not read: %s\n", what);
}
