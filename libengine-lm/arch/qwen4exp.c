/* qwen4exp (Qwen4-Exp; text): qwen35moe with streams of a token instead of one hidden state, pools of cells that an
 * indexer chooses, and rows of a table of n-grams. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_PLAIN_ENDS,   LM_ROWS_MIX, LM_ROWS_NGRAMS,  LM_ROWS_GATED_ATTENTION,  LM_ROWS_HEAD_NORMS(0),
    LM_ROWS_MEAN_INDEXER, LM_ROWS_GDN, LM_ROWS_EXPERTS, LM_ROWS_SHARED_EXPERT(0), LM_ROWS_SHARED_GATE,
};

static int more(lm_loader *l)
{
    int status = lm_numbers_indexer(l);
    return status ? status : lm_numbers_ngrams(l);
}

const lm_arch lm_arch_qwen4exp = {
    .name = "qwen4exp",
    LM_ROWS(rows),
    .reads = LM_READS_DRAFTING | LM_READS_MIX | LM_READS_NGRAMS,
    .needs = LM_READS_MIX,
    .rope = ENG_ROPE_IMROPE,
    .rope_part = 4,
    .hybrid = true,
    .gated = true,
    .sigmoid_gate = true,
    .same_epsilon = true,
    .index_rope = ENG_ROPE_NEOX,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_LENGTH,
    .conv_words = LM_GDN_CHANNELS,
    .head_words = LM_GDN_HEADS,
    .more = more,
};
