/* engine-generate --fit: asks the library which shares and overrides fit, says so, and takes them. */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "libengine/util/util.h"

/* -- what is said --------------------------------------------------------------------------- */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("engine-generate: --fit: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static const char *size_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes / 1024;
    unsigned u = 0;
    for (; v >= 1024 && u < 3; u++)
        v /= 1024;
    snprintf(text, 32, "%.1f %s", v, units[u]);
    return text;
}

static void say_shares(const eng_lm_fit *fit, const eng_lm_fit_info *info)
{
    char text[ENG_MAX_RANKS * 16] = "", lacked[32];
    size_t at = 0;
    for (uint32_t i = 0; i < info->n_leaves && at < sizeof text; i++) {
        eng_lm_fit_member m = {.size = sizeof m};
        eng_lm_fit_get_member(fit, i, &m);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.4f", i ? "," : "", m.share);
    }
    say("-ts %s, in proportion to free memory: with the shares as they were %s is missing", text,
        size_text(info->lacked, lacked));
}

static void say_moves(const eng_lm_fit *fit, const eng_lm_fit_info *info, bool others)
{
    static const char *const what[] = {[ENG_LM_MOVED_CACHES] = "K and V caches", [ENG_LM_MOVED_EXPERTS] = "experts",
                                       [ENG_LM_MOVED_FFN] = "feed-forward weights"};
    char lacked[32];
    for (uint32_t kind = 0; kind < sizeof what / sizeof *what; kind++) {
        eng_lm_fit_move m = {.size = sizeof m};
        eng_lm_fit_get_move(fit, kind, &m);
        if (m.n_layers)
            say("-ot '%s=%s': the %s of %s %u of %u layers%s, for without that %s is missing", m.pattern, m.device,
                what[kind], m.n_layers < info->n_layers ? "the last" : "all", m.n_layers, info->n_layers,
                others ? ", but what another -ot places" : "", size_text(info->lacked, lacked));
    }
}

/* A pool of memory: what is needed, of what. */
static void say_need(const eng_lm_fit_member *m)
{
    char t[3][32], kept[80] = "";
    int n = (int)strcspn(m->name, "/");
    if (m->pool_free == UINT64_MAX) {
        say("%.*s needs %s; how much it has is not known", n, m->name, size_text(m->pool_bytes, t[0]));
        return;
    }
    if (m->pool_reserve)
        snprintf(kept, sizeof kept, " (what is free, less %s left alone)", size_text(m->pool_reserve, t[0]));
    say("%.*s needs %s of %s%s", n, m->name, size_text(m->pool_bytes, t[1]),
        size_text(m->pool_free > m->pool_reserve ? m->pool_free - m->pool_reserve : 0, t[2]), kept);
}

static void say_all(const options *o, const eng_lm_fit *fit, const eng_lm_fit_info *info)
{
    eng_lm_fit_member m = {.size = sizeof m};
    if (!info->lacked)
        say("all fits%s", info->n_leaves > 1 ? " with the shares as they are" : "");
    else if (info->new_shares)
        say_shares(fit, info);
    say_moves(fit, info, o->n_overrides > 0);
    for (uint32_t i = 0; eng_lm_fit_get_member(fit, i, &m) == ENG_OK; i++, m.size = sizeof m)
        if (m.pool_first && m.pool_bytes)
            say_need(&m);
}

/* -- what is taken ----------------------------------------------------------------------------- */

static int take(options *o, const eng_lm_fit_info *info)
{
    const eng_lm_placement *p = info->placement;
    for (uint32_t i = o->n_overrides; i < p->n_overrides; i++) {
        char *pattern = o->memory[i] = strdup(p->overrides[i].pattern);
        if (!pattern)
            return eng_fail_code(EU_NO_MEMORY("an override"));
        o->overrides[o->n_overrides++] = (eng_lm_override){pattern, "cpu"};
    }
    if (!info->new_shares)
        return ENG_OK;
    o->shares = NULL; /* they are in the name */
    o->device = o->memory[sizeof o->memory / sizeof *o->memory - 1] = strdup(info->device);
    return o->device ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the name of a device"));
}

static int fit_on(eng_context *engine, options *o, eng_device *device, const eng_lm_fit_params *params)
{
    eng_lm_fit_info info = {.size = sizeof info};
    eng_lm_fit *fit = NULL;
    int status = eng_lm_fit_create(engine, device, o->model, params, &fit);
    if (!status)
        status = eng_lm_fit_get_info(fit, &info);
    if (!status) {
        say_all(o, fit, &info);
        status = take(o, &info);
    }
    eng_lm_fit_destroy(fit);
    return status == ENG_ERR_NOMEM ? eng_fail_in(status, "--fit") : status;
}

int device_fit(eng_context *engine, options *o, eng_lm_fit_ask_func ask, void *user)
{
    eng_lm_placement placement = options_placement(o, o->overrides, o->n_overrides);
    eng_lm_fit_params p;
    eng_device *device;
    eng_lm_fit_defaults(&p);
    p.flags = (o->shares || (o->device && strchr(o->device, '@')) ? ENG_LM_FIT_KEEP_SHARES : 0) |
              (o->perplexity ? ENG_LM_FIT_ALL_LOGITS : 0) | (options_block(o) ? ENG_LM_FIT_DRAFTS : 0);
    p.reserve = o->fit_reserve < 0 ? UINT64_MAX : (uint64_t)o->fit_reserve << 20;
    p.placement = &placement;
    p.ask = ask;
    p.ask_user = user;
    int status = device_open(engine, o, &device);
    if (status)
        return status;
    status = fit_on(engine, o, device, &p);
    eng_device_close(device);
    return status;
}
