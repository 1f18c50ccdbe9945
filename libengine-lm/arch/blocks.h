/*
 * What architectures are made of: rows of their tables of weights, numbers from
 * their keys, blocks of their graphs.
 *
 * Letters of the rows' words: E embedding, F ffn, V vocabulary, H heads of K and
 * V, G query heads for each, D head size, P rotated pairs; of mixtures X experts,
 * Z the same where it is not cut (every device needs all of the router), M
 * width of an expert, N width of the shared one; of recurrent layers K heads of
 * keys, R value heads for each (tiled: head r K + k belongs to k; or side by
 * side), S their size, C taps of the convolution; of latent attention Q and L
 * sizes of the short vectors that queries, and keys and values, are made of, T a
 * head's channels, A those of them that are rotated, B the others, W those of its value; I what a layer is given
 * of a token itself, Y layers; J hidden states or streams of a token, U those but one, O size of the short vector
 * beside a mixer, or of the one that steps of scans are made of;
 * h channels of a short convolution; i heads of an indexer, j their size, k tokens of a pool;
 * of compressed tokens s tokens of one, u 2 where it has parts of those before it, too, else 1; g groups of query heads
 * whose results become short vectors, e heads of a group, o size of such a vector; a experts a token uses, b vocabulary
 * (uncut); of a table of n-grams m rows, l those that a token takes, q taps of the convolution behind them.
 */
#ifndef ENGINE_LM_BLOCKS_H
#define ENGINE_LM_BLOCKS_H

#include "arch.h"

/* -- rows ---------------------------------------------------------------------- */

#define LM_ATT LM_LAYER_ATTENTION
#define LM_REC LM_LAYER_RECURRENT
#define LM_ALL (LM_ATT | LM_REC | LM_LAYER_PLAIN)

/* A matrix from `in` to `out` with the factor of its weights, if the file has one. */
#define LM_MATRIX(role, base, in, out, flags, layers, unless) \
    {role, base ".weight", in ", " out, LM_W_MATRIX | (flags), layers, 0, unless}, \
    {role##_SCALE, base ".scale", "1", LM_W_F32 | LM_W_OPTIONAL | (flags), layers, role + 1, 0}
/* The same, and what is added to the product: `bias` is LM_W_OPTIONAL or 0. */
#define LM_LINEAR(role, base, in, out, flags, bias, layers, unless) \
    LM_MATRIX(role, base, in, out, flags, layers, unless), \
    {role##_BIAS, base ".bias", out, LM_W_F32 | (bias) | ((flags) & ~LM_W_OPTIONAL), layers, role + 1, 0}
/* One matrix for each expert. */
#define LM_EXPERTS(role, base, in, out, flags, layers, unless) \
    {role, base ".weight", in ", " out ", X", LM_W_MATRIX | LM_W_MOE | LM_W_EXPERTS | (flags), layers, 0, unless}, \
    {role##_SCALE, base ".scale", "Z", LM_W_F32 | LM_W_OPTIONAL | LM_W_MOE, layers, role + 1, 0}, \
    {role##_BIAS, base ".bias", out ", Z", LM_W_F32 | LM_W_OPTIONAL | LM_W_MOE, layers, role + 1, 0}

/* Embeddings and head. */
#define LM_ROWS_ENDS LM_ROWS_ENDS_OF("output_norm")
#define LM_ROWS_ENDS_OF(norm) {LM_OUT_NORM, norm ".weight", "E", LM_W_F32 | LM_W_END, 0, 0, 0}, LM_ROWS_PLAIN_ENDS
#define LM_ROWS_PLAIN_ENDS \
    {LM_EMBD, "token_embd.weight", "E, V", LM_W_MATRIX, 0, 0, 0}, \
    LM_LINEAR(LM_OUT, "output", "E", "V", LM_W_OPTIONAL | LM_W_END, LM_W_OPTIONAL, 0, 0)
/* A norm of a whole token, in all layers. */
#define LM_ROW_NORM(role, base) {role, base ".weight", "E", LM_W_F32, LM_ALL, 0, 0}
/* Both, with the norms that most layers have; `norm` names the second. */
#define LM_ROWS_COMMON(norm) LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROW_NORM(LM_FFN_NORM, norm)
/* Norms of what a block gives. */
#define LM_ROWS_POST_NORMS \
    LM_ROW_NORM(LM_POST_NORM, "post_attention_norm"), LM_ROW_NORM(LM_FFN_POST_NORM, "post_ffw_norm")
/* What is added to norms that take the mean off; `second`: LM_W_OPTIONAL, if there may be no second norm. */
#define LM_ROWS_NORM_BIASES(second) \
    {LM_OUT_NORM_BIAS, "output_norm.bias", "E", LM_W_F32 | LM_W_END, 0, 0, 0}, \
    {LM_NORM_BIAS, "attn_norm.bias", "E", LM_W_F32, LM_ALL, 0, 0}, \
    {LM_FFN_NORM_BIAS, "ffn_norm.bias", "E", LM_W_F32 | (second), LM_ALL, 0, 0}
#define LM_ROWS_ROPE_FREQS {LM_ROPE_FREQS, "rope_freqs.weight", "P", LM_W_F32 | LM_W_OPTIONAL, 0, 0, 0}
/* Q, K and V, each of its own or in one matrix; `bias` as in LM_LINEAR, of Q, K and V. */
#define LM_ROWS_ATTENTION(bias) \
    LM_LINEAR(LM_QKV, "attn_qkv", "E", "H G D | H D | H D", LM_W_OPTIONAL, bias, LM_ATT, 0), \
    LM_LINEAR(LM_Q, "attn_q", "E", "H G D", 0, bias, LM_ATT, LM_QKV + 1), \
    LM_LINEAR(LM_K, "attn_k", "E", "H D", 0, bias, LM_ATT, LM_QKV + 1), \
    LM_LINEAR(LM_V, "attn_v", "E", "H D", 0, bias, LM_ATT, LM_QKV + 1), \
    LM_LINEAR(LM_ATTN_OUT, "attn_output", "H G D", "E", 0, LM_W_OPTIONAL, LM_ATT, 0)
/* The same where a head's query is followed by its gate. */
#define LM_ROWS_GATED_ATTENTION \
    LM_LINEAR(LM_Q, "attn_q", "E", "H G 2 D", 0, LM_W_OPTIONAL, LM_ATT, 0), \
    LM_LINEAR(LM_K, "attn_k", "E", "H D", 0, LM_W_OPTIONAL, LM_ATT, 0), \
    LM_LINEAR(LM_V, "attn_v", "E", "H D", 0, LM_W_OPTIONAL, LM_ATT, 0), \
    LM_LINEAR(LM_ATTN_OUT, "attn_output", "H G D", "E", 0, LM_W_OPTIONAL, LM_ATT, 0)
/* Norms of queries and keys: of each head, the same for all; over all heads; of each head, its own. */
#define LM_ROWS_HEAD_NORMS(flags) \
    {LM_Q_NORM, "attn_q_norm.weight", "D", LM_W_F32 | (flags), LM_ATT, 0, 0}, \
    {LM_K_NORM, "attn_k_norm.weight", "D", LM_W_F32 | (flags), LM_ATT, 0, 0}
#define LM_ROWS_WIDE_NORMS \
    {LM_Q_NORM, "attn_q_norm.weight", "H G D", LM_W_F32, LM_ATT, 0, 0}, \
    {LM_K_NORM, "attn_k_norm.weight", "H D", LM_W_F32, LM_ATT, 0, 0}
#define LM_ROWS_OWN_NORMS \
    {LM_Q_NORM, "attn_q_norm.weight", "D, H G", LM_W_F32 | LM_W_OPTIONAL, LM_ATT, 0, 0}, \
    {LM_K_NORM, "attn_k_norm.weight", "D, H", LM_W_F32 | LM_W_OPTIONAL, LM_ATT, 0, 0}
/* Where some layers read the cache of an earlier one: those need queries alone.  `v`: LM_W_OPTIONAL, if values may be
 * the keys. */
#define LM_ROWS_SHARED_ATTENTION(v) \
    LM_LINEAR(LM_Q, "attn_q", "E", "H G D", 0, LM_W_OPTIONAL, LM_ATT, 0), \
    LM_LINEAR(LM_K, "attn_k", "E", "H D", LM_W_CACHE, LM_W_OPTIONAL, LM_ATT, 0), \
    LM_LINEAR(LM_V, "attn_v", "E", "H D", LM_W_CACHE | (v), LM_W_OPTIONAL, LM_ATT, 0), \
    LM_LINEAR(LM_ATTN_OUT, "attn_output", "H G D", "E", 0, LM_W_OPTIONAL, LM_ATT, 0), \
    {LM_Q_NORM, "attn_q_norm.weight", "D", LM_W_F32, LM_ATT, 0, 0}, \
    {LM_K_NORM, "attn_k_norm.weight", "D", LM_W_F32 | LM_W_CACHE, LM_ATT, 0, 0}
/* What each layer is given of a token itself: a table for all layers, what is added of the model's own embedding, and
 * how a layer takes it. */
#define LM_ROWS_INPUTS \
    {LM_INPUT_EMBD, "per_layer_token_embd.weight", "Y I, V", LM_W_MATRIX | LM_W_INPUTS, 0, 0, 0}, \
    LM_MATRIX(LM_INPUT, "per_layer_model_proj", "E", "Y I", LM_W_INPUTS, 0, 0), \
    {LM_INPUT_NORM, "per_layer_proj_norm.weight", "I", LM_W_F32 | LM_W_INPUTS, 0, 0, 0}, \
    LM_MATRIX(LM_INPUT_GATE, "inp_gate", "E", "I", LM_W_INPUTS, LM_ALL, 0), \
    LM_MATRIX(LM_INPUT_OUT, "proj", "I", "E", LM_W_INPUTS, LM_ALL, 0), \
    {LM_INPUT_POST_NORM, "post_norm.weight", "E", LM_W_F32 | LM_W_INPUTS, LM_ALL, 0, 0}
/* Several hidden states of a token: the others from the first and back, and what a layer that gets one makes of all. */
#define LM_ROWS_ALTUP \
    {LM_ALTUP_BEGIN, "altup_proj.weight", "E, E, U", LM_W_MATRIX, 0, 0, 0}, \
    {LM_ALTUP_END, "altup_unembd_proj.weight", "E, E, U", LM_W_MATRIX | LM_W_END, 0, 0, 0}, \
    LM_MATRIX(LM_ALTUP_ROUTER, "altup_router", "E", "J", 0, LM_ALL, 0), \
    LM_ROW_NORM(LM_ALTUP_NORM, "altup_router_norm"), \
    LM_MATRIX(LM_ALTUP_PREDICT, "altup_predict_coef", "J", "J J", 0, LM_ALL, 0), \
    LM_MATRIX(LM_ALTUP_CORRECT, "altup_correct_coef", "J", "J", 0, LM_ALL, 0), \
    LM_ROW_NORM(LM_ALTUP_SCALE, "altup_correct_scale")
/* Several streams of a token: before and behind mixer and feed-forward; `LM_ROWS_HYPER_HEAD`: what makes one of them,
 * without which it is their mean. */
#define LM_HYPER_SAYS "J | J | J J"
#define LM_ROWS_HYPER \
    LM_MATRIX(LM_HYPER_MIXER, "hc_attn_fn", "J E", LM_HYPER_SAYS, 0, LM_ALL, 0), \
    {LM_HYPER_MIXER_BASES, "hc_attn_base.weight", LM_HYPER_SAYS, LM_W_F32, LM_ALL, 0, 0}, \
    {LM_HYPER_MIXER_FACTORS, "hc_attn_scale.weight", "3", LM_W_F32, LM_ALL, 0, 0}, \
    LM_MATRIX(LM_HYPER_FFN, "hc_ffn_fn", "J E", LM_HYPER_SAYS, 0, LM_ALL, 0), \
    {LM_HYPER_FFN_BASES, "hc_ffn_base.weight", LM_HYPER_SAYS, LM_W_F32, LM_ALL, 0, 0}, \
    {LM_HYPER_FFN_FACTORS, "hc_ffn_scale.weight", "3", LM_W_F32, LM_ALL, 0, 0}
#define LM_ROWS_HYPER_HEAD \
    LM_MATRIX(LM_HYPER_OUT, "output_hc_fn", "J E", "J", LM_W_END, 0, 0), \
    {LM_HYPER_OUT_BASES, "output_hc_base.weight", "J", LM_W_F32 | LM_W_END, 0, 0, 0}, \
    {LM_HYPER_OUT_FACTORS, "output_hc_scale.weight", "1", LM_W_F32 | LM_W_END, 0, 0, 0}
/* Streams that are mixed channel by channel, by what a short vector says; what each gets of a block's result. */
#define LM_ROWS_MIX_OF(role, base, flags, layers) \
    {role##_NORM, base "_norm.weight", "J E", LM_W_F32 | (flags), layers, 0, 0}, \
    LM_MATRIX(role##_DOWN, base "_down", "J E", "O", flags, layers, 0), \
    LM_MATRIX(role##_UP, base "_up", "O", "J E", flags, layers, 0)
#define LM_ROWS_MIX \
    LM_ROWS_MIX_OF(LM_MIX, "hc_attn", 0, LM_ALL), LM_MATRIX(LM_MIX_GIVE, "hc_attn_inject", "J E", "J", 0, LM_ALL, 0), \
    LM_ROWS_MIX_OF(LM_MIX_FFN, "hc_ffn", 0, LM_ALL), LM_MATRIX(LM_MIX_FFN_GIVE, "hc_ffn_inject", "J E", "J", 0, LM_ALL, 0), \
    LM_ROWS_MIX_OF(LM_MIX_OUT, "output_hc", LM_W_END, 0)
/* A table of n-grams, and how one layer takes its rows. */
#define LM_ROWS_NGRAMS \
    {LM_INPUT_EMBD, "per_layer_token_embd.weight", "I, m", LM_W_MATRIX | LM_W_NGRAMS, 0, 0, 0}, \
    LM_MATRIX(LM_NGRAM_KEY, "ple_key", "l I", "J E", LM_W_NGRAMS, LM_REC, 0), \
    LM_MATRIX(LM_NGRAM_VALUE, "ple_value", "l I", "E", LM_W_NGRAMS, LM_REC, 0), \
    {LM_NGRAM_KEY_NORM, "ple_norm_key.weight", "J E", LM_W_F32 | LM_W_NGRAMS, LM_REC, 0, 0}, \
    {LM_NGRAM_QUERY_NORM, "ple_norm_query.weight", "J E", LM_W_F32 | LM_W_NGRAMS, LM_REC, 0, 0}, \
    {LM_NGRAM_NORM, "ple_norm_conv.weight", "J E", LM_W_F32 | LM_W_NGRAMS, LM_REC, 0, 0}, \
    {LM_NGRAM_CONV, "ple_conv1d.weight", "q, J E", LM_W_F32 | LM_W_NGRAMS, LM_REC, 0, 0}
/* A learned way around the mixer. */
#define LM_ROWS_LAUREL \
    LM_MATRIX(LM_LAUREL_IN, "laurel_l", "E", "O", 0, LM_ALL, 0), \
    LM_MATRIX(LM_LAUREL_OUT, "laurel_r", "O", "E", 0, LM_ALL, 0), LM_ROW_NORM(LM_LAUREL_NORM, "laurel_post_norm")
/* Queries from a short vector of their own or not; keys and values from one with the rotated part of all keys behind
 * it, and each head's matrices that make them. */
#define LM_ROWS_LATENT_ATTENTION LM_ROWS_LATENT_ATTENTION_OF("L | A")
/* `words`: "L" where nothing is rotated. */
#define LM_ROWS_LATENT_ATTENTION_OF(words) \
    LM_MATRIX(LM_Q_A, "attn_q_a", "E", "Q", LM_W_OPTIONAL, LM_ATT, 0), \
    {LM_Q_A_NORM, "attn_q_a_norm.weight", "Q", LM_W_F32, LM_ATT, LM_Q_A + 1, 0}, \
    {LM_Q_B, "attn_q_b.weight", "Q, H G T", LM_W_MATRIX, LM_ATT, LM_Q_A + 1, 0}, \
    {LM_Q_B_SCALE, "attn_q_b.scale", "1", LM_W_F32 | LM_W_OPTIONAL, LM_ATT, LM_Q_B + 1, 0}, \
    LM_MATRIX(LM_Q, "attn_q", "E", "H G T", 0, LM_ATT, LM_Q_A + 1), \
    LM_MATRIX(LM_KV_A, "attn_kv_a_mqa", "E", words, 0, LM_ATT, 0), \
    {LM_KV_A_NORM, "attn_kv_a_norm.weight", "L", LM_W_F32, LM_ATT, 0, 0}, \
    {LM_K_B, "attn_k_b.weight", "B, L, H G", LM_W_MATRIX, LM_ATT, 0, 0}, \
    {LM_V_B, "attn_v_b.weight", "L, W, H G", LM_W_MATRIX, LM_ATT, 0, 0}, \
    LM_MATRIX(LM_ATTN_OUT, "attn_output", "H G W", "E", 0, LM_ATT, 0)
/* What chooses the cells that attention sees: no device has less than all of it. */
#define LM_ROWS_INDEXER \
    LM_MATRIX(LM_INDEX_Q, "indexer.attn_q_b", "Q", "i j", LM_W_CHOOSES, LM_ATT, 0), \
    LM_MATRIX(LM_INDEX_K, "indexer.attn_k", "E", "j", LM_W_CHOOSES, LM_ATT, 0), \
    {LM_INDEX_K_NORM, "indexer.k_norm.weight", "j", LM_W_F32 | LM_W_CHOOSES, LM_ATT, 0, 0}, \
    {LM_INDEX_K_NORM_BIAS, "indexer.k_norm.bias", "j", LM_W_F32 | LM_W_CHOOSES, LM_ATT, 0, 0}, \
    LM_MATRIX(LM_INDEX_WEIGHTS, "indexer.proj", "E", "i", LM_W_CHOOSES, LM_ATT, 0)
/* The same, where keys of pools are means of tokens', and normed then, as queries are. */
#define LM_ROWS_MEAN_INDEXER \
    LM_MATRIX(LM_INDEX_Q, "indexer.q_proj", "E", "i j", LM_W_CHOOSES, LM_ATT, 0), \
    LM_MATRIX(LM_INDEX_K, "indexer.k_proj", "E", "j", LM_W_CHOOSES, LM_ATT, 0), \
    {LM_INDEX_Q_NORM, "indexer.q_norm.weight", "j", LM_W_F32 | LM_W_CHOOSES, LM_ATT, 0, 0}, \
    {LM_INDEX_K_NORM, "indexer.k_norm.weight", "j", LM_W_F32 | LM_W_CHOOSES, LM_ATT, 0, 0}
/* Where those are chosen in pools: how much of its pool's key a token's is, by itself and by its place. */
#define LM_ROWS_POOLS \
    LM_MATRIX(LM_POOL_GATE, "indexer_compressor_gate", "E", "j", LM_W_CHOOSES, LM_ATT, 0), \
    {LM_POOL_PLACES, "indexer_compressor_ape.weight", "j, k", LM_W_F32 | LM_W_CHOOSES, LM_ATT, 0, 0}
/* One head of K, which is V, too; queries of a short vector; the results of groups of heads become short vectors. */
#define LM_ROWS_ONE_KEY \
    LM_MATRIX(LM_Q_A, "attn_q_a", "E", "Q", 0, LM_ATT, 0), \
    {LM_Q_A_NORM, "attn_q_a_norm.weight", "Q", LM_W_F32, LM_ATT, 0, 0}, \
    LM_MATRIX(LM_Q_B, "attn_q_b", "Q", "g e D", 0, LM_ATT, 0), \
    LM_MATRIX(LM_KV_A, "attn_kv", "E", "D", 0, LM_ATT, 0), \
    {LM_KV_A_NORM, "attn_kv_a_norm.weight", "D", LM_W_F32, LM_ATT, 0, 0}, \
    {LM_SINKS, "attn_sinks.weight", "g e", LM_W_F32, LM_ATT, 0, 0}, \
    LM_MATRIX(LM_ATTN_OUT_A, "attn_output_a", "e D", "o, g", LM_W_STACK, LM_ATT, 0), \
    LM_MATRIX(LM_ATTN_OUT, "attn_output_b", "g o", "E", 0, LM_ATT, 0)
/* Entries of several tokens each, and those of an indexer that chooses among them: made of what tokens say, weighed by
 * what they and their places say. */
#define LM_ROWS_ENTRIES \
    LM_MATRIX(LM_ENTRY_KV, "attn_compressor_kv", "E", "u D", LM_W_ENTRIES, LM_ATT, 0), \
    LM_MATRIX(LM_ENTRY_GATE, "attn_compressor_gate", "E", "u D", LM_W_ENTRIES, LM_ATT, 0), \
    {LM_ENTRY_PLACES, "attn_compressor_ape.weight", "u D, s", LM_W_ENTRIES, LM_ATT, 0, 0}, \
    {LM_ENTRY_NORM, "attn_compressor_norm.weight", "D", LM_W_F32 | LM_W_ENTRIES, LM_ATT, 0, 0}, \
    LM_MATRIX(LM_INDEX_Q, "indexer.attn_q_b", "Q", "i j", LM_W_CHOOSES, LM_ATT, 0), \
    LM_MATRIX(LM_INDEX_WEIGHTS, "indexer.proj", "E", "i", LM_W_CHOOSES, LM_ATT, 0), \
    LM_MATRIX(LM_INDEX_K, "indexer_compressor_kv", "E", "2 j", LM_W_CHOOSES, LM_ATT, 0), \
    LM_MATRIX(LM_POOL_GATE, "indexer_compressor_gate", "E", "2 j", LM_W_CHOOSES, LM_ATT, 0), \
    {LM_POOL_PLACES, "indexer_compressor_ape.weight", "2 j, s", LM_W_CHOOSES, LM_ATT, 0, 0}, \
    {LM_INDEX_K_NORM, "indexer_compressor_norm.weight", "j", LM_W_F32 | LM_W_CHOOSES, LM_ATT, 0, 0}
#define LM_ROW_SINKS {LM_SINKS, "attn_sinks.weight", "H G", LM_W_F32, LM_ATT, 0, 0}
#define LM_ROWS_LONG_ROPE \
    {LM_ROPE_LONG, "rope_factors_long.weight", "P", LM_W_F32 | LM_W_OPTIONAL, 0, 0, 0}, \
    {LM_ROPE_SHORT, "rope_factors_short.weight", "P", LM_W_F32 | LM_W_OPTIONAL, 0, 0, 0}
#define LM_ROWS_FFN LM_ROWS_FFN_OF(LM_W_DENSE)
/* `flags`: LM_W_DENSE, or 0 where layers with experts have it, too. */
#define LM_ROWS_FFN_OF(flags) \
    LM_LINEAR(LM_GATE, "ffn_gate", "E", "F", flags, LM_W_OPTIONAL, LM_ALL, 0), \
    LM_LINEAR(LM_UP, "ffn_up", "E", "F", flags, LM_W_OPTIONAL, LM_ALL, 0), \
    LM_LINEAR(LM_DOWN, "ffn_down", "F", "E", flags, LM_W_OPTIONAL, LM_ALL, 0)
/* Without a gate. */
#define LM_ROWS_UNGATED_FFN(layers) \
    LM_LINEAR(LM_UP, "ffn_up", "E", "F", 0, LM_W_OPTIONAL, layers, 0), \
    LM_LINEAR(LM_DOWN, "ffn_down", "F", "E", 0, LM_W_OPTIONAL, layers, 0)
/* The same with gate and up in one matrix, gate's rows first. */
#define LM_ROWS_FUSED_FFN \
    LM_LINEAR(LM_GATE_UP, "ffn_up", "E", "2 F", LM_W_DENSE, LM_W_OPTIONAL, LM_ALL, 0), \
    LM_LINEAR(LM_DOWN, "ffn_down", "F", "E", LM_W_DENSE, LM_W_OPTIONAL, LM_ALL, 0)
/* Experts; gate and up in one tensor (gate's rows first) or in two. */
#define LM_ROWS_EXPERTS \
    LM_LINEAR(LM_ROUTER, "ffn_gate_inp", "E", "Z", LM_W_MOE, LM_W_OPTIONAL, LM_ALL, 0), LM_ROWS_EXPERT_STACKS
#define LM_ROWS_EXPERT_STACKS \
    LM_EXPERTS(LM_GATE_UP_EXPERTS, "ffn_gate_up_exps", "E", "2 M", LM_W_OPTIONAL, LM_ALL, 0), \
    LM_EXPERTS(LM_GATE_EXPERTS, "ffn_gate_exps", "E", "M", 0, LM_ALL, LM_GATE_UP_EXPERTS + 1), \
    LM_EXPERTS(LM_UP_EXPERTS, "ffn_up_exps", "E", "M", 0, LM_ALL, LM_GATE_UP_EXPERTS + 1), \
    LM_EXPERTS(LM_DOWN_EXPERTS, "ffn_down_exps", "M", "E", 0, LM_ALL, 0)
/* Experts beside a dense feed-forward, each with norms of its own; the router norms what it gets by itself. */
#define LM_ROWS_EXPERTS_BESIDE \
    LM_ROWS_FFN_OF(0), \
    {LM_ROUTER, "ffn_gate_inp.weight", "E, Z", LM_W_MATRIX | LM_W_MOE, LM_ALL, 0, 0}, \
    {LM_ROUTER_NORM, "ffn_gate_inp.scale", "E", LM_W_F32 | LM_W_MOE, LM_ALL, 0, 0}, \
    LM_ROWS_EXPERT_STACKS, \
    {LM_DENSE_POST_NORM, "post_ffw_norm_1.weight", "E", LM_W_F32 | LM_W_MOE, LM_ALL, 0, 0}, \
    {LM_EXPERTS_NORM, "pre_ffw_norm_2.weight", "E", LM_W_F32 | LM_W_MOE, LM_ALL, 0, 0}, \
    {LM_EXPERTS_POST_NORM, "post_ffw_norm_2.weight", "E", LM_W_F32 | LM_W_MOE, LM_ALL, 0, 0}
/* Of layers whose experts a table names: each token's. */
#define LM_ROW_TOKEN_EXPERTS {LM_TOKEN_EXPERTS, "ffn_gate_tid2eid.weight", "a, b", LM_W_IDS | LM_W_HASHED, LM_ALL, 0, 0}
/* What is added to the router's probabilities when experts are chosen, and then alone. */
#define LM_ROW_CHOICE_BIAS(flags) {LM_CHOICE_BIAS, "exp_probs_b.bias", "Z", LM_W_F32 | LM_W_MOE | (flags), LM_ALL, 0, 0}
/* The expert that every token uses; `flags`: LM_W_OPTIONAL, if there may be none. */
#define LM_ROWS_SHARED_EXPERT(flags) \
    LM_MATRIX(LM_GATE_SHARED, "ffn_gate_shexp", "E", "N", LM_W_MOE | (flags), LM_ALL, 0), \
    LM_MATRIX(LM_UP_SHARED, "ffn_up_shexp", "E", "N", LM_W_MOE | (flags), LM_ALL, 0), \
    LM_MATRIX(LM_DOWN_SHARED, "ffn_down_shexp", "N", "E", LM_W_MOE | (flags), LM_ALL, 0)
/* And the gate that weighs it. */
#define LM_ROWS_SHARED_GATE LM_MATRIX(LM_SHARED_ROUTER, "ffn_gate_inp_shexp", "E", "1", LM_W_MOE, LM_ALL, 0)
/* Gated delta net, value heads tiled over those of keys, or those of a key head side by side. */
#define LM_GDN_CHANNELS "K S | K S | R K S"
#define LM_GDN_HEADS "R K"
#define LM_GDN_GROUPED_CHANNELS "K S | K S | K R S"
#define LM_GDN_GROUPED_HEADS "K R"
#define LM_ROWS_GDN_ANY(channels, heads) \
    LM_MATRIX(LM_GDN_QKV, "attn_qkv", "E", channels, 0, LM_REC, 0), \
    LM_MATRIX(LM_GDN_GATE, "attn_gate", "E", heads " S", 0, LM_REC, 0), \
    {LM_GDN_CONV, "ssm_conv1d.weight", "C, " channels, LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_DT, "ssm_dt.bias", heads, LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_A, "ssm_a", heads, LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_NORM, "ssm_norm.weight", "S", LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_GDN_OUT, "ssm_out", heads " S", "E", 0, LM_REC, 0)
#define LM_ROWS_GDN \
    LM_ROWS_GDN_ANY(LM_GDN_CHANNELS, LM_GDN_HEADS), \
    LM_MATRIX(LM_GDN_BETA, "ssm_beta", "E", LM_GDN_HEADS, 0, LM_REC, 0), \
    LM_MATRIX(LM_GDN_ALPHA, "ssm_alpha", "E", LM_GDN_HEADS, 0, LM_REC, 0)
#define LM_ROWS_GDN_GROUPED \
    LM_ROWS_GDN_ANY(LM_GDN_GROUPED_CHANNELS, LM_GDN_GROUPED_HEADS), \
    LM_MATRIX(LM_GDN_BETA_ALPHA, "ssm_ba", "E", "K 2 R", 0, LM_REC, 0)

/* Kimi Delta Attention: a convolution for each of q, k and v; how fast each channel of a head forgets, and its gate, of
 * short vectors. */
#define LM_KDA_CHANNELS "K S | K S | K S"
#define LM_KDA_HEADS "K"
#define LM_ROWS_KDA \
    LM_MATRIX(LM_Q, "attn_q", "E", "K S", 0, LM_REC, 0), \
    LM_MATRIX(LM_K, "attn_k", "E", "K S", 0, LM_REC, 0), \
    LM_MATRIX(LM_V, "attn_v", "E", "K S", 0, LM_REC, 0), \
    {LM_KDA_Q_CONV, "ssm_conv1d_q.weight", "C, K S", LM_W_F32, LM_REC, 0, 0}, \
    {LM_KDA_K_CONV, "ssm_conv1d_k.weight", "C, K S", LM_W_F32, LM_REC, 0, 0}, \
    {LM_KDA_V_CONV, "ssm_conv1d_v.weight", "C, K S", LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_KDA_FORGET_A, "ssm_f_a", "E", "S", 0, LM_REC, 0), \
    LM_MATRIX(LM_KDA_FORGET_B, "ssm_f_b", "S", "K S", 0, LM_REC, 0), \
    LM_MATRIX(LM_GDN_BETA, "ssm_beta", "E", "K", 0, LM_REC, 0), \
    {LM_GDN_DT, "ssm_dt.bias", "K S", LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_A, "ssm_a", "1, K", LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_KDA_GATE_A, "ssm_g_a", "E", "S", 0, LM_REC, 0), \
    LM_MATRIX(LM_KDA_GATE_B, "ssm_g_b", "S", "K S", 0, LM_REC, 0), \
    {LM_GDN_NORM, "ssm_norm.weight", "S", LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_GDN_OUT, "attn_output", "K S", "E", 0, LM_REC, 0)

/* Layers of that, and between them latent attention of which nothing is rotated; experts chosen by sigmoids. */
#define LM_KDA_BESIDE_LATENT                                                                                          \
    .rope_part = 1, .rope_rest = 1, .latent = true, .headless = true, .kda = true, .experts = LM_EXPERTS_OWN,         \
    .shared = LM_SHARED_COUNT, .sigmoid = true, .unnormed = LM_IF_KEY_DENIES, .conv_words = LM_KDA_CHANNELS,          \
    .head_words = LM_KDA_HEADS

/* A short convolution between two gates, made of the token with them. */
#define LM_SHORT_CONV_CHANNELS "h"
#define LM_ROWS_SHORT_CONV \
    LM_MATRIX(LM_CONV_IN, "shortconv.in_proj", "E", "h | h | h", 0, LM_REC, 0), \
    {LM_CONV, "shortconv.conv.weight", "C, h", LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_CONV_OUT, "shortconv.out_proj", "h", "E", 0, LM_REC, 0)

/* The selective scan: z, x, b, c and dt in one matrix; heads of a group side by side, S a head's channels, U their
 * states. */
#define LM_SCAN_HEADS "K R"
#define LM_SCAN_CHANNELS "K R S | K U | K U"
#define LM_ROWS_SCAN LM_ROWS_SCAN_OF(0)
/* `norm`: LM_W_OPTIONAL, if there may be none. */
#define LM_ROWS_SCAN_OF(norm) \
    LM_LINEAR(LM_SCAN_IN, "ssm_in", "E", "K R S | " LM_SCAN_CHANNELS " | K R", 0, LM_W_OPTIONAL, LM_REC, 0), \
    {LM_GDN_CONV, "ssm_conv1d.weight", "C, " LM_SCAN_CHANNELS, LM_W_F32, LM_REC, 0, 0}, \
    {LM_SCAN_CONV_BIAS, "ssm_conv1d.bias", LM_SCAN_CHANNELS, LM_W_F32 | LM_W_OPTIONAL, LM_REC, 0, 0}, \
    {LM_GDN_DT, "ssm_dt.bias", LM_SCAN_HEADS, LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_A, "ssm_a", "1, " LM_SCAN_HEADS, LM_W_F32, LM_REC, 0, 0}, \
    {LM_SCAN_SKIP, "ssm_d", "1, " LM_SCAN_HEADS, LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_NORM, "ssm_norm.weight", "R S, K", LM_W_F32 | (norm), LM_REC, 0, 0}, \
    LM_LINEAR(LM_GDN_OUT, "ssm_out", LM_SCAN_HEADS " S", "E", 0, LM_W_OPTIONAL, LM_REC, 0)

/* The selective scan of each channel by itself: x and z in one matrix; the short vector of steps, b and c of x. */
#define LM_CHANNEL_SCAN_CHANNELS "h"
#define LM_ROWS_CHANNEL_SCAN \
    LM_MATRIX(LM_SCAN_IN, "ssm_in", "E", "h | h", 0, LM_REC, 0), \
    {LM_GDN_CONV, "ssm_conv1d.weight", "C, h", LM_W_F32, LM_REC, 0, 0}, \
    {LM_SCAN_CONV_BIAS, "ssm_conv1d.bias", "h", LM_W_F32 | LM_W_OPTIONAL, LM_REC, 0, 0}, \
    LM_MATRIX(LM_SCAN_X, "ssm_x", "h", "O | U | U", 0, LM_REC, 0), \
    LM_LINEAR(LM_SCAN_DT, "ssm_dt", "O", "h", 0, 0, LM_REC, 0), \
    {LM_GDN_A, "ssm_a", "U, h", LM_W_F32, LM_REC, 0, 0}, \
    {LM_SCAN_SKIP, "ssm_d", "h", LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_GDN_OUT, "ssm_out", "h", "E", 0, LM_REC, 0)

/* What makes a block for drafting of a layer; embeddings and head are the model's unless it has its own. */
#define LM_ROWS_DRAFTING \
    LM_MATRIX(LM_DRAFT_IN, "nextn.eh_proj", "2 E", "E", 0, LM_LAYER_DRAFTING, 0), \
    {LM_DRAFT_TOKEN_NORM, "nextn.enorm.weight", "E", LM_W_F32, LM_LAYER_DRAFTING, 0, 0}, \
    {LM_DRAFT_STATE_NORM, "nextn.hnorm.weight", "E", LM_W_F32, LM_LAYER_DRAFTING, 0, 0}, \
    {LM_DRAFT_EMBD, "nextn.embed_tokens.weight", "E, V", LM_W_MATRIX | LM_W_OPTIONAL, LM_LAYER_DRAFTING, 0, 0}, \
    {LM_DRAFT_OUT_NORM, "nextn.shared_head_norm.weight", "E", LM_W_F32 | LM_W_OPTIONAL, LM_LAYER_DRAFTING, 0, 0}, \
    {LM_DRAFT_OUT, "nextn.shared_head_head.weight", "E, V", LM_W_MATRIX | LM_W_OPTIONAL, LM_LAYER_DRAFTING, 0, 0}

#define LM_ROWS(table) .rows = table, .n_rows = sizeof table / sizeof *table

/* -- numbers from keys, and the letters of their rows (numbers.c) ------------------- */

int lm_numbers_read(lm_loader *l);
/* Heads of latent attention, and what their products are multiplied by once rope is known (latent.c). */
int lm_numbers_latent(lm_loader *l);
int lm_latent_scale(lm_loader *l);
/* An indexer's heads, and which layers have one (indexer.c); with the former. */
int lm_numbers_indexer(lm_loader *l);
int lm_latent_indexed(lm_loader *l);
/* Tokens of a pool (pools.c); with them. */
int lm_numbers_pools(lm_loader *l);
int lm_numbers_pool_means(lm_loader *l);
/* Heads are rotated, if a key does not deny it (granite.c). */
int lm_granite_rope(lm_loader *l);
/* Taps, the size of a state, and heads that share and that do not: what all layers with states have (recurrent.c). */
int lm_numbers_states(lm_loader *l);
/* Heads of recurrent layers (recurrent.c). */
int lm_numbers_recurrent(lm_loader *l);
int lm_numbers_kda(lm_loader *l);
/* Which layers scan, attend or do neither; what those that scan are made of (scan.c). */
int lm_scan_layers(lm_loader *l);
int lm_numbers_scan(lm_loader *l);
/* Those of scans of single channels (channel_scan.c). */
int lm_numbers_channel_scan(lm_loader *l);
/* Streams of a token, and how they are mixed (hyper.c). */
int lm_numbers_hyper(lm_loader *l);
int lm_numbers_mix(lm_loader *l); /* mix.c */
/* A table of n-grams, if there is one (ngrams.c). */
int lm_numbers_ngrams(lm_loader *l);
/* Which layers see compressed tokens, and how; the groups of their heads (compressed.c). */
int lm_numbers_compressed(lm_loader *l);
/* How queries grow with their position (tempered.c). */
int lm_numbers_tempered(lm_loader *l);
/* Between what gates and ups of feed-forwards stay (moe.c). */
int lm_numbers_clamps(lm_loader *l);
bool lm_arch_reads(const lm_loader *l, uint32_t what);

/* -- blocks ---------------------------------------------------------------------------- */

eng_value lm_weight(lm_build *b, int layer, int role); /* ENG_NO_VALUE if absent */
/* The role's matrix times x, scaled and with its bias added if it has them. */
eng_value lm_product(lm_build *b, int layer, int role, eng_value x);
eng_value lm_norm(lm_build *b, eng_value x, int layer, int role);
/* x[a, n, t] -> the sums over the n: [a, 1, t] */
eng_value lm_sum_second(lm_build *b, eng_value x, int64_t n);
/* The architecture's function of gate and up; up ENG_NO_VALUE: both are in `gate`, one behind the other.  limit: see
 * lm_layer's clamp. */
eng_value lm_glu_of(lm_build *b, eng_value gate, eng_value up, double limit);
/* act(gate x) * (up x), then down */
eng_value lm_ffn(lm_build *b, eng_value x, int layer, int gate, int up, int down);
/* Turns heads by their positions as the layer does; `wanted`: those of the tokens whose logits are wanted. */
eng_value lm_rope(lm_build *b, eng_value x, int layer, bool wanted);
/* q[d, heads, T], k[d, kv, T], v[e, kv, T] -> [e, heads, T]: K and V go into the layer's cache, and queries attend. */
eng_value lm_attend(lm_build *b, eng_value q, eng_value k, eng_value v, int layer, bool wanted);
/* The same with the caches of the layer's memory from `first` on, and how they are seen; that which lm_attend has. */
eng_value lm_attend_as(lm_build *b, eng_value q, eng_value k, eng_value v, int layer, uint32_t first,
                       const eng_attention_params *a);
eng_attention_params lm_sight(lm_build *b, int layer, bool wanted);
/* Heads x[d, heads, T] as rows of a cache of a type: zeros change no product; and the tokens' rows put there. */
eng_value lm_cache_widen(lm_build *b, eng_value x, int64_t d, uint32_t type);
void lm_cache_keep(lm_build *b, eng_value cache, eng_value x);
/* How many whole times `in` goes into positions plus `offset`, in f32; and n ones. */
eng_value lm_times(lm_build *b, eng_value pos, double offset, int64_t in);
eng_value lm_ones(lm_build *b, int64_t n);
/* Queries of a layer, grown if its are (tempered.c). */
eng_value lm_tempered(lm_build *b, eng_value q, int layer, bool wanted);
/* What positions mean beyond the order of tokens; before the first layer. */
void lm_positions(lm_build *b);
/* The rows of the tokens whose logits are wanted; of a pass of one token x itself, wanted or not. */
eng_value lm_pick(lm_build *b, eng_value x);
/* Attention with its projections: u[E, T] -> [E, T], or `wanted` -> the rows of the tokens whose logits are wanted:
 * the others are there for their K and V alone. */
eng_value lm_attention_block(lm_build *b, eng_value u, int layer, bool wanted);
eng_value lm_latent_attention(lm_build *b, eng_value u, int layer, bool wanted);
/* The same to a window of tokens and to entries of several each, of all before it (compressed.c); before the first
 * layer. */
eng_value lm_compressed_attention(lm_build *b, eng_value u, int layer, bool wanted);
void lm_compressed_begin(lm_build *b);
#define LM_UNSEEN (-1e30) /* the score of a cell that is not the token's to see */
int64_t lm_seen_cells(const lm_build *b); /* all of the caches */
/* Of scores x[cells, t]: 0 for the best of them, else -inf. */
eng_value lm_best_seen(lm_build *b, eng_value x, int64_t top, int64_t cells, int64_t t);
/* Which cells tokens may see at all, before the first layer; and b->chosen of a layer, of u and the short vectors of
 * its queries: with an indexer of its own, whose keys are kept, or what the last one chose (indexer.c). */
void lm_indexer_begin(lm_build *b);
void lm_choose(lm_build *b, eng_value u, eng_value queries, int layer, bool wanted);
/* 0 for the cells that tokens may see, of sequences cseq, else LM_UNSEEN. */
eng_value lm_unseen(lm_build *b, eng_value cseq, bool wanted);
/* The same choice among entries, of keys k[d, T]: 0 for those chosen, else -inf; ENG_NO_VALUE: all are. */
eng_value lm_choose_entries(lm_build *b, const lm_entries *e, eng_value k, eng_value u, eng_value queries, int layer,
                            bool wanted);
/* Cells that are chosen in pools: the key of each token's, of its tokens' keys k up to it; what tokens' pools are; and
 * the best pools, of the scores of all cells: 0 for their cells, else -inf (pools.c). */
eng_value lm_pool_keys(lm_build *b, eng_value k, eng_value u, int layer);
/* The means of the tokens' k, and the positions of pools' first tokens. */
eng_value lm_pool_means(lm_build *b, eng_value k, int layer);
eng_value lm_first_positions(lm_build *b, int64_t pool);
void lm_pools_begin(lm_build *b);
eng_value lm_pools_best(lm_build *b, eng_value x, const lm_pools *p, int64_t t);
/* The experts that the router chooses for each token, and the shared one: u[E, T] -> [E, T].  x: what u was normed
 * from, for routers that norm it by themselves. */
eng_value lm_moe(lm_build *b, eng_value x, eng_value u, int layer);
/* A recurrent layer's mixer: u[E, T] -> [E, T]. */
eng_value lm_gated_delta_net(lm_build *b, eng_value u, int layer);
eng_value lm_kimi_delta_attention(lm_build *b, eng_value u, int layer);
eng_value lm_scan(lm_build *b, eng_value u, int layer);
eng_value lm_channel_scan(lm_build *b, eng_value u, int layer);
eng_value lm_short_conv(lm_build *b, eng_value u, int layer);
/* Taps and channels of short convolutions, and their letters (short_conv.c). */
int lm_numbers_short_conv(lm_loader *l);
/* What each layer is given of the tokens themselves, of their embeddings x; and what a layer with the result x adds for
 * its part of it (inputs.c). */
eng_value lm_inputs_make(lm_build *b, eng_value x);
eng_value lm_inputs_take(lm_build *b, eng_value x, int layer);
/* Several hidden states of each token, b->altup: made of the embeddings; what goes through a layer; what becomes of
 * them with its result; one of all (altup.c). */
void lm_altup_begin(lm_build *b, eng_value x);
eng_value lm_altup_predict(lm_build *b, int layer);
void lm_altup_correct(lm_build *b, eng_value x, int layer);
eng_value lm_altup_end(lm_build *b);
/* Several streams of each token, b->streams: made of the embeddings; what a block is given of them, by the weights of
 * these roles; only those of the tokens wanted, after that and before what follows; the block's result taken in; one of
 * all (hyper.c). */
typedef struct lm_hyper_roles {
    int matrix, base, scale;
} lm_hyper_roles;
void lm_hyper_begin(lm_build *b, eng_value x);
/* Streams x[E, n, T], each normed by itself, with the weights of the role. */
eng_value lm_streams_norm(lm_build *b, eng_value x, int layer, int role);
/* The same where they are mixed channel by channel, before mixer or feed-forward; one of all (mix.c). */
eng_value lm_mix_take(lm_build *b, int layer, bool ffn);
eng_value lm_mix_end(lm_build *b);
/* What a layer adds to the streams of the rows that tokens take of a table (ngrams.c). */
void lm_ngrams_add(lm_build *b, int layer);
eng_value lm_hyper_take(lm_build *b, int layer, const lm_hyper_roles *roles);
void lm_hyper_pick(lm_build *b);
void lm_hyper_give(lm_build *b, eng_value x);
eng_value lm_hyper_end(lm_build *b);
/* Of the block for drafting: what its layer is given, of the tokens' embeddings and b->states (block.c). */
eng_value lm_draft_input(lm_build *b, eng_value tokens);
/* The layer's caches (K 0, V 1) or pools (state, if it has one, then the convolution's window). */
eng_value lm_layer_memory(lm_build *b, int layer, uint32_t which);

#endif
