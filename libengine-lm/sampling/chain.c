/* The order of the steps between the logits and the draw. */
#include "config.h"

#include <string.h>

#include "engine/lm.h"
#include "chain.h"

static const struct {
    const char *name;
    lm_step step;
} names[] = {
    {"penalties", LM_STEP_PENALTIES}, {"dry", LM_STEP_DRY}, {"top_n_sigma", LM_STEP_TOP_N_SIGMA}, {"top_k", LM_STEP_TOP_K},
    {"typ_p", LM_STEP_TYPICAL}, {"typical_p", LM_STEP_TYPICAL}, {"top_p", LM_STEP_TOP_P}, {"min_p", LM_STEP_MIN_P},
    {"xtc", LM_STEP_XTC}, {"temperature", LM_STEP_TEMPERATURE},
};

static int add(lm_chain *chain, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) != length || strncmp(names[i].name, name, length) != 0)
            continue;
        if (memchr(chain->steps, names[i].step, chain->n))
            return eng_fail(ENG_ERR_INVALID, "samplers: %s comes twice", names[i].name);
        chain->steps[chain->n++] = (uint8_t)names[i].step;
        return ENG_OK;
    }
    return eng_fail(ENG_ERR_INVALID,
                    "samplers" ENG_CAUSE "there is no '%.*s'; there are penalties, dry, top_n_sigma, top_k, typ_p, "
                    "top_p, min_p, xtc and temperature",
                    (int)(length < 64 ? length : 64), name);
}

int lm_chain_parse(const char *text, lm_chain *chain)
{
    *chain = (lm_chain){.n = 0};
    if (!text) {
        for (; chain->n < LM_STEPS; chain->n++)
            chain->steps[chain->n] = (uint8_t)chain->n;
        return ENG_OK;
    }
    while (*text) {
        size_t length = strcspn(text, ";");
        int status = add(chain, text, length);
        if (status)
            return status;
        text += length + (text[length] == ';');
    }
    return ENG_OK;
}
