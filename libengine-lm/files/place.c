/* Which device must hold a tensor: the user's patterns first, then whole layers. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static int compile(lm_placer *p, const eng_lm_placement *placement)
{
    if (placement->n_overrides == 0)
        return ENG_OK;
    p->patterns = lm_calloc(placement->n_overrides, sizeof *p->patterns);
    p->devices = lm_calloc(placement->n_overrides, sizeof *p->devices);
    if (!p->patterns || !p->devices)
        return ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < placement->n_overrides; i++) {
        const eng_lm_override *o = &placement->overrides[i];
        if (!o->pattern || !o->device || !*o->device)
            return eng_fail(ENG_ERR_INVALID, "override %u" ENG_CAUSE
                            "a pattern and a device are needed (PATTERN=DEVICE)", i);
        char why[128];
        p->patterns[i] = eu_pattern_create(o->pattern, why, sizeof why);
        if (!p->patterns[i] && !*why)
            return eng_fail_code(EU_NO_MEMORY("a pattern"));
        if (!p->patterns[i])
            return eng_fail_code(ENG_ERR_INVALID, ENG_CODE_PATTERN_SYNTAX, (int32_t)i,
                                 "override pattern \"%s\" is no regular expression (PCRE2): %s", o->pattern, why);
        p->n_patterns = i + 1;
        p->devices[i] = strdup(o->device);
        if (!p->devices[i])
            return eng_fail_code(EU_NO_MEMORY("the name of a device"));
    }
    return ENG_OK;
}

static int leaves(lm_placer *p, eng_device *device)
{
    p->leaves = lm_calloc(ENG_MAX_RANKS, sizeof *p->leaves);
    p->shares = lm_calloc(ENG_MAX_RANKS, sizeof *p->shares);
    if (!p->leaves || !p->shares)
        return ENG_ERR_NOMEM;
    double sum = 0;
    for (uint32_t i = 0; i < ENG_MAX_RANKS; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        if (eng_device_leaf(device, i, &info, &stats))
            break;
        memcpy(p->leaves[i], info.name, sizeof p->leaves[i]);
        p->leaves[i][sizeof p->leaves[i] - 1] = 0;
        p->shares[i] = stats.share > 0 ? stats.share : 0;
        sum += p->shares[i];
        p->n_leaves = i + 1;
    }
    for (uint32_t i = 0; i < p->n_leaves; i++)
        p->shares[i] = sum > 0 ? p->shares[i] / sum : 1.0 / p->n_leaves;
    return ENG_OK;
}

/* A device alone has no other place: it would leave the request out without a word. */
static int check_device(const lm_placer *p, eng_device *device)
{
    eng_device_info info = {.size = sizeof info};
    int status = eng_device_get_info(device, &info);
    for (uint32_t i = 0; i < p->n_patterns && !status && info.kind != ENG_DEVICE_META; i++)
        if (strcmp(p->devices[i], info.name) != 0)
            status = eng_fail(ENG_ERR_INVALID, "an override keeps tensors on %s, but %.64s is not composed of devices: "
                              "open it as \"%.64s@1\", a composition of one", p->devices[i], info.name, info.name);
    return status;
}

int lm_placer_init(lm_placer *p, const eng_lm_model *model, const eng_lm_placement *placement)
{
    eng_device *device = model->device;
    memset(p, 0, sizeof *p);
    p->model = model;
    p->split = placement->split;
    int status = ENG_OK;
    if (placement->split > ENG_LM_SPLIT_LAYER)
        return eng_fail(ENG_ERR_INVALID, "split %u is none of ENG_LM_SPLIT_*", placement->split);
    if (placement->n_overrides && !placement->overrides)
        return eng_fail(ENG_ERR_INVALID, "%u overrides announced but none given", placement->n_overrides);
    status = compile(p, placement);
    if (!status)
        status = check_device(p, device);
    if (!status && p->split == ENG_LM_SPLIT_LAYER)
        status = leaves(p, device);
    if (status)
        lm_placer_end(p);
    return status;
}

void lm_placer_end(lm_placer *p)
{
    for (uint32_t i = 0; i < p->n_patterns; i++) {
        eu_pattern_destroy(p->patterns[i]);
        free(p->devices[i]);
    }
    free(p->patterns);
    free(p->devices);
    free(p->leaves);
    free(p->shares);
    memset(p, 0, sizeof *p);
}

/* -- which pattern decides --------------------------------------------------------------- */

#define NAME_BYTES 160

/* Expert 7 of "blk.0.ffn_up_exps.weight" is "blk.0.ffn_up_exps.7.weight". */
static void expert_name(const char *stack, int64_t expert, char text[NAME_BYTES])
{
    const char *end = strrchr(stack, '.');
    int stem = end ? (int)(end - stack) : (int)strlen(stack);
    snprintf(text, NAME_BYTES, "%.*s.%lld%s", stem, stack, (long long)expert, end ? end : "");
}

static bool found_in(const lm_placer *p, uint32_t i, const char *name, const char *single)
{
    return eu_pattern_found(p->patterns[i], name) || (single && eu_pattern_found(p->patterns[i], single));
}

/* The first pattern that is found in either name (`single` may be NULL); n_patterns: none. */
static uint32_t first_found(const lm_placer *p, const char *name, const char *single)
{
    uint32_t i = 0;
    while (i < p->n_patterns && !found_in(p, i, name, single))
        i++;
    return i;
}

/* -- patterns must be good for something ---------------------------------------------- */

/* What patterns have to do: by[i] is the pattern that decides for what pattern i is found in.  A pattern that decides
 * for something itself stays with that. */
typedef struct usage {
    const lm_placer *p;
    uint32_t *by; /* n_patterns: found nowhere */
} usage;

static void use(const usage *u, const char *name, const char *single)
{
    uint32_t n = u->p->n_patterns, first = first_found(u->p, name, single);
    for (uint32_t i = first; i < n; i++)
        if (i == first || (u->by[i] == n && found_in(u->p, i, name, single)))
            u->by[i] = first;
}

static void use_row(const usage *u, const eng_lm_model *m, const lm_weight_row *row, int layer)
{
    char name[NAME_BYTES], single[NAME_BYTES];
    if (layer < 0)
        snprintf(name, sizeof name, "%s", row->name);
    else
        snprintf(name, sizeof name, "blk.%d.%s", layer, row->name);
    if (!(row->flags & LM_W_EXPERTS))
        use(u, name, NULL);
    for (int64_t i = 0; row->flags & LM_W_EXPERTS && i < m->n.n_experts; i++) {
        expert_name(name, i, single);
        use(u, name, single);
    }
}

static void use_weights(const usage *u, const eng_lm_model *m)
{
    for (uint32_t i = 0; i < m->arch->n_rows; i++) {
        const lm_weight_row *row = &m->arch->rows[i];
        for (int layer = row->layers ? 0 : -1; layer < (row->layers ? m->n.n_layers + m->n.n_drafting : 0); layer++)
            if (m->weights[layer + 1][row->role] >= 0)
                use_row(u, m, row, layer);
    }
}

/* A model without a single layer of a kind has none of its memory to place: patterns for that (-nkvo where nothing
 * attends) are right and have nothing to do. */
static void use_memory(const usage *u, const eng_lm_model *m)
{
    for (int layer = 0; layer < m->n.n_layers; layer++) {
        bool attention = m->n.kind[layer] & LM_LAYER_ATTENTION, owner = m->n.layer[layer].owner == layer;
        bool recurrent = m->n.kind[layer] & LM_LAYER_RECURRENT, states = m->n.recurrent && m->arch->head_words;
        const struct { const char *name; bool has; } memory[] = {
            {"cache_k", (attention && owner) || !m->n.attention}, {"cache_v", (attention && owner) || !m->n.attention},
            {"cache_i", m->n.layer[layer].chooses}, {"pool", m->n.pool && m->n.layer[layer].chooses},
            {"cache_entry_k", m->n.layer[layer].ratio > 0}, {"cache_entry_v", m->n.layer[layer].ratio > 0},
            {"entry", m->n.layer[layer].ratio > 0}, {"entry_i", m->n.layer[layer].ratio > 0 && m->n.layer[layer].chooses},
            {"ngrams", m->n.ngrams.rows && layer == m->n.ngrams.layer},
            {"conv", recurrent || !m->n.recurrent}, {"state", recurrent || !states}};
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof name, "%s.%d", memory[i].name, layer);
            if (memory[i].has)
                use(u, name, NULL);
        }
    }
}

static int found_nowhere(const eng_lm_model *m, uint32_t index, const char *pattern)
{
    char memory[2][NAME_BYTES] = {"", ""};
    for (int layer = m->n.n_layers - 1; layer >= 0; layer--) {
        if (m->n.kind[layer] & LM_LAYER_ATTENTION && m->n.layer[layer].owner == layer)
            snprintf(memory[0], NAME_BYTES, ", cache_k.%d", layer);
        if (m->n.kind[layer] & LM_LAYER_RECURRENT)
            snprintf(memory[1], NAME_BYTES, ", %s.%d", m->arch->head_words ? "state" : "conv", layer);
    }
    return eng_fail_code(ENG_ERR_INVALID, ENG_CODE_PATTERN_UNUSED, (int32_t)index,
                         "override pattern \"%s\" is found in the name of no tensor: correct it or leave it out "
                         "(names are such as blk.0.%s.weight%s%s)", pattern,
                         m->n.n_experts ? "ffn_down_exps.0" : "ffn_down", memory[0], memory[1]);
}

/* Was every search ended by its answer?  Names are as many as the model is large: a pattern may not take long. */
static int searched(const lm_placer *p, const eng_lm_placement *placement)
{
    for (uint32_t i = 0; i < p->n_patterns; i++) {
        eu_pattern_state state = eu_pattern_get_state(p->patterns[i]);
        if (state == EU_PATTERN_NO_MEMORY)
            return eng_fail_code(EU_NO_MEMORY("a search"));
        if (state != EU_PATTERN_FINE)
            return eng_fail_code(ENG_ERR_INVALID, ENG_CODE_PATTERN_SYNTAX, (int32_t)i,
                                 "override pattern \"%s\"" ENG_CAUSE EU_PATTERN_CAUSE ENG_ADVICE EU_PATTERN_ADVICE,
                                 placement->overrides[i].pattern);
    }
    return ENG_OK;
}

/* by: which pattern decides for what each is found in; to be freed. */
static int find_usage(const lm_placer *p, const eng_lm_placement *placement, const eng_lm_model *model, uint32_t **by)
{
    usage u = {p, lm_calloc(p->n_patterns + 1, sizeof *u.by)};
    if (!u.by)
        return ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < p->n_patterns; i++)
        u.by[i] = p->n_patterns;
    use_weights(&u, model);
    use_memory(&u, model);
    *by = u.by;
    return searched(p, placement);
}

int lm_placement_decides(const eng_lm_model *model, const eng_lm_placement *placement, uint32_t index, bool *decides)
{
    lm_placer p = {.model = model};
    uint32_t *by = NULL;
    int status = compile(&p, placement);
    if (!status)
        status = find_usage(&p, placement, model, &by);
    if (!status)
        *decides = by[index] == index;
    free(by);
    lm_placer_end(&p);
    return status;
}

int lm_placer_check(const lm_placer *p, const eng_lm_placement *placement, const eng_lm_model *model)
{
    uint32_t *by = NULL;
    int status = find_usage(p, placement, model, &by);
    for (uint32_t i = 0; i < p->n_patterns && !status; i++) {
        const eng_lm_override *o = placement->overrides;
        if (by[i] == p->n_patterns)
            status = found_nowhere(model, i, o[i].pattern);
        else if (by[i] != i)
            status =
                eng_fail_code(ENG_ERR_INVALID, ENG_CODE_PATTERN_HIDDEN, (int32_t)i,
                              "override pattern \"%s\" is hidden by \"%s\", which comes first and decides: put \"%s\" "
                              "before it, or leave it out",
                              o[i].pattern, o[by[i]].pattern, o[i].pattern);
    }
    free(by);
    return status;
}

/* -- whole layers ------------------------------------------------------------------------- */

/* Without a pattern: nowhere in particular, or where the layer is. */
static const char *home_of_layer(const lm_placer *p, int layer)
{
    if (p->split != ENG_LM_SPLIT_LAYER || p->n_leaves < 2)
        return NULL;
    const uint64_t *bytes = p->model->layer_bytes;
    int unit = layer == LM_LAYER_END ? p->model->n.n_layers + 1 : layer + 1;
    double all = 0, before = 0, sum = 0;
    for (int i = 0; i < p->model->n.n_layers + 2; i++) {
        all += (double)bytes[i];
        before += i < unit ? (double)bytes[i] : 0;
    }
    double middle = all > 0 ? (before + (double)bytes[unit] / 2) / all : 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < p->n_leaves; i++) {
        sum += p->shares[i];
        if (p->shares[i] <= 0)
            continue;
        last = i; /* rounding may leave the sum of all shares below the last middle */
        if (middle < sum)
            break;
    }
    return p->leaves[last];
}

uint64_t lm_placer_left(const lm_placer *p, const char *name, int64_t n_experts, uint64_t bytes)
{
    uint64_t left = 0;
    char single[NAME_BYTES];
    if (n_experts == 0)
        return first_found(p, name, NULL) == p->n_patterns ? bytes : 0;
    for (int64_t i = 0; i < n_experts; i++) {
        expert_name(name, i, single);
        left += first_found(p, name, single) == p->n_patterns ? bytes / (uint64_t)n_experts : 0;
    }
    return left;
}

const char *lm_placer_device(const lm_placer *p, const char *name, int layer)
{
    uint32_t i = first_found(p, name, NULL);
    return i < p->n_patterns ? p->devices[i] : home_of_layer(p, layer);
}

const char *lm_placer_expert(const lm_placer *p, const char *stack, int64_t expert, int layer)
{
    char single[NAME_BYTES];
    expert_name(stack, expert, single);
    uint32_t i = first_found(p, stack, single);
    return i < p->n_patterns ? p->devices[i] : home_of_layer(p, layer);
}
