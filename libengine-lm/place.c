/* Which device must hold a tensor: the user's patterns first, then whole layers. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int compile(lm_placer *p, const eng_lm_placement *placement)
{
    if (placement->n_overrides == 0)
        return ENG_OK;
    p->regex = lm_calloc(placement->n_overrides, sizeof *p->regex);
    p->devices = lm_calloc(placement->n_overrides, sizeof *p->devices);
    if (!p->regex || !p->devices)
        return ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < placement->n_overrides; i++) {
        const eng_lm_override *o = &placement->overrides[i];
        if (!o->pattern || !o->device || !*o->device)
            return eng_fail(ENG_ERR_INVALID, "override %u: a pattern and a device are needed (PATTERN=DEVICE)", i);
        int bad = regcomp(&p->regex[i], o->pattern, REG_EXTENDED | REG_NOSUB);
        if (bad) {
            char text[128];
            regerror(bad, &p->regex[i], text, sizeof text);
            return eng_fail(ENG_ERR_INVALID, "override pattern \"%s\" is not an extended regular expression: %s",
                            o->pattern, text);
        }
        p->n_regex = i + 1;
        p->devices[i] = strdup(o->device);
        if (!p->devices[i])
            return eng_fail(ENG_ERR_NOMEM, "no memory for the name of a device");
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
    for (uint32_t i = 0; i < p->n_regex && !status && info.kind != ENG_DEVICE_META; i++)
        if (strcmp(p->devices[i], info.name) != 0)
            status = eng_fail(ENG_ERR_INVALID, "an override keeps tensors on %s, but %.64s is not composed of devices: "
                              "open it as \"%.64s@1\", a composition of one", p->devices[i], info.name, info.name);
    return status;
}

int lm_placer_init(lm_placer *p, eng_device *device, const eng_lm_placement *placement)
{
    memset(p, 0, sizeof *p);
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
    for (uint32_t i = 0; i < p->n_regex; i++) {
        regfree(&p->regex[i]);
        free(p->devices[i]);
    }
    free(p->regex);
    free(p->devices);
    free(p->leaves);
    free(p->shares);
    memset(p, 0, sizeof *p);
}

/* -- patterns must be good for something ---------------------------------------------- */

static bool found_in(const regex_t *regex, const char *prefix, int layer, const char *name)
{
    char text[160];
    if (layer < 0)
        snprintf(text, sizeof text, "%s", name);
    else if (*prefix)
        snprintf(text, sizeof text, "%s.%d", prefix, layer);
    else
        snprintf(text, sizeof text, "blk.%d.%s", layer, name);
    return regexec(regex, text, 0, NULL, 0) == 0;
}

/* Expert 7 of "blk.0.ffn_up_exps.weight" is "blk.0.ffn_up_exps.7.weight". */
static void expert_name(const char *stack, int64_t expert, char text[160])
{
    const char *end = strrchr(stack, '.');
    int stem = end ? (int)(end - stack) : (int)strlen(stack);
    snprintf(text, 160, "%.*s.%lld%s", stem, stack, (long long)expert, end ? end : "");
}

static bool found_in_row(const regex_t *regex, const eng_lm_model *m, const lm_weight_row *row, int layer)
{
    char text[160];
    if (found_in(regex, "", layer, row->name))
        return true;
    for (int64_t i = 0; row->flags & LM_W_EXPERTS && i < m->n.n_experts; i++) {
        expert_name(row->name, i, text);
        if (found_in(regex, "", layer, text))
            return true;
    }
    return false;
}

static bool found_in_weights(const regex_t *regex, const eng_lm_model *m)
{
    for (uint32_t i = 0; i < m->arch->n_rows; i++) {
        const lm_weight_row *row = &m->arch->rows[i];
        for (int layer = row->layers ? 0 : -1; layer < (row->layers ? m->n.n_layers : 0); layer++)
            if (m->weights[layer + 1][row->role] >= 0 && found_in_row(regex, m, row, layer))
                return true;
    }
    return false;
}

/* A model without a single layer of a kind has none of its memory to place: patterns for that (-nkvo where nothing
 * attends) are right and have nothing to do. */
static bool found_in_memory(const regex_t *regex, const eng_lm_model *m)
{
    for (int layer = 0; layer < m->n.n_layers; layer++) {
        bool attention = m->n.kind[layer] == LM_LAYER_ATTENTION;
        if ((attention || !m->n.attention) &&
            (found_in(regex, "cache_k", layer, NULL) || found_in(regex, "cache_v", layer, NULL)))
            return true;
        if ((!attention || !m->n.recurrent) &&
            (found_in(regex, "state", layer, NULL) || found_in(regex, "conv", layer, NULL)))
            return true;
    }
    return false;
}

int lm_placer_check(const lm_placer *p, const eng_lm_placement *placement, const eng_lm_model *model)
{
    for (uint32_t i = 0; i < p->n_regex; i++)
        if (!found_in_weights(&p->regex[i], model) && !found_in_memory(&p->regex[i], model))
            return eng_fail(ENG_ERR_INVALID, "override pattern \"%s\" is found in the name of no tensor: correct it or "
                            "leave it out (names are such as blk.0.ffn_up.weight, "
                            "blk.0.ffn_up_exps.7.weight, cache_k.0, state.0)",
                            placement->overrides[i].pattern);
    return ENG_OK;
}

/* Without a pattern: nowhere in particular, or where the layer is. */
static const char *home_of_layer(const lm_placer *p, int layer, int n_layers)
{
    if (p->split != ENG_LM_SPLIT_LAYER || p->n_leaves < 2)
        return NULL;
    /* The head counts as one layer more; the embeddings go with the first. */
    double at = layer == LM_LAYER_END ? n_layers : layer < 0 ? 0 : layer;
    at = (at + 0.5) / (n_layers + 1);
    double sum = 0;
    for (uint32_t i = 0; i < p->n_leaves; i++) {
        sum += p->shares[i];
        if (at < sum)
            return p->leaves[i];
    }
    return p->leaves[p->n_leaves - 1];
}

const char *lm_placer_device(const lm_placer *p, const char *name, int layer, int n_layers)
{
    for (uint32_t i = 0; i < p->n_regex; i++)
        if (regexec(&p->regex[i], name, 0, NULL, 0) == 0)
            return p->devices[i];
    return home_of_layer(p, layer, n_layers);
}

const char *lm_placer_expert(const lm_placer *p, const char *stack, int64_t expert, int layer, int n_layers)
{
    char single[160];
    expert_name(stack, expert, single);
    for (uint32_t i = 0; i < p->n_regex; i++)
        if (regexec(&p->regex[i], stack, 0, NULL, 0) == 0 || regexec(&p->regex[i], single, 0, NULL, 0) == 0)
            return p->devices[i];
    return home_of_layer(p, layer, n_layers);
}
