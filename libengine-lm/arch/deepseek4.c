/* deepseek4 (DeepSeek V4): one head of keys that are the values, seen in a window and, compressed, beyond it; streams
 * of a token instead of one hidden state; experts everywhere, in the first layers those that a table has for the
 * token. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_HYPER, LM_ROWS_HYPER_HEAD, LM_ROWS_ONE_KEY, LM_ROWS_ENTRIES, LM_ROW_TOKEN_EXPERTS,
    LM_ROWS_EXPERTS, {LM_CHOICE_BIAS, "exp_probs_b.bias", "Z", LM_W_F32 | LM_W_MOE, LM_ALL, 0, LM_TOKEN_EXPERTS + 1},
    LM_ROWS_SHARED_EXPERT(0),
};

const lm_arch lm_arch_deepseek4 = {
    .name = "deepseek4",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW | LM_READS_DRAFTING | LM_READS_GATING | LM_READS_LATENT | LM_READS_HYPER |
             LM_READS_CLAMPS | LM_READS_COMPRESSED,
    .needs = LM_READS_WINDOW | LM_READS_COMPRESSED | LM_READS_HYPER | LM_NEEDS_ROPE_PART,
    .rope_part = 8,
    .local_plain = true,
    .same_epsilon = true,
    .index_rope = ENG_ROPE_NORMAL,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_COUNT,
    .root_softplus = true,
    .one_clamp = true,
    .unnormed = LM_IF_KEY_DENIES,
    .more = lm_numbers_compressed,
};
