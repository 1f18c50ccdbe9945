/* mistral3: llama whose queries may grow with their position. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

const lm_arch lm_arch_mistral3 = {
    .name = "mistral3",
    LM_ROWS(rows),
    .reads = LM_READS_TEMPERATURE,
    .more = lm_numbers_tempered,
};
