/* mistral4 (Mistral Small 4): deepseek2 without blocks for drafting, queries may grow with their position. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_LATENT_ATTENTION, LM_ROWS_FFN, LM_ROWS_EXPERTS,
    LM_ROW_CHOICE_BIAS(LM_W_OPTIONAL), LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL),
};

static int more(lm_loader *l)
{
    int status = lm_numbers_tempered(l);
    return status ? status : lm_latent_scale(l);
}

const lm_arch lm_arch_mistral4 = {
    .name = "mistral4",
    LM_ROWS(rows),
    .reads = LM_READS_DENSE_LEAD | LM_READS_GATING | LM_READS_GROUPS | LM_READS_LATENT | LM_READS_TEMPERATURE,
    .rope_part = 1,
    .latent = true,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_COUNT,
    .unnormed = LM_BY_KEY,
    .paired_groups = true,
    .more = more,
};
