/*
 * What architectures are made of: rows of their tables of weights, numbers from
 * their keys, blocks of their graphs.
 *
 * Letters of the rows' words: E embedding, F ffn, V vocabulary, H heads of K and
 * V, G query heads for each, D head size, P rotated pairs; of mixtures X experts,
 * Z the same where it is not cut (every device needs all of the router), M
 * width of an expert, N width of the shared one; of recurrent layers K heads of
 * keys, R value heads for each (tiled: head r K + k belongs to k), S their size,
 * C taps of the convolution.
 */
#ifndef ENGINE_LM_BLOCKS_H
#define ENGINE_LM_BLOCKS_H

#include "arch.h"

/* -- rows ---------------------------------------------------------------------- */

#define LM_ATT LM_LAYER_ATTENTION
#define LM_REC LM_LAYER_RECURRENT
#define LM_ALL (LM_ATT | LM_REC)

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
    {role##_SCALE, base ".scale", "Z", LM_W_F32 | LM_W_OPTIONAL | LM_W_MOE, layers, role + 1, 0}

/* Embeddings, head, and the norms that all layers have; `norm` names the second. */
#define LM_ROWS_COMMON(norm) \
    {LM_EMBD, "token_embd.weight", "E, V", LM_W_MATRIX, 0, 0, 0}, \
    {LM_OUT_NORM, "output_norm.weight", "E", LM_W_F32 | LM_W_END, 0, 0, 0}, \
    LM_MATRIX(LM_OUT, "output", "E", "V", LM_W_OPTIONAL | LM_W_END, 0, 0), \
    {LM_NORM, "attn_norm.weight", "E", LM_W_F32, LM_ALL, 0, 0}, \
    {LM_FFN_NORM, norm ".weight", "E", LM_W_F32, LM_ALL, 0, 0}
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
#define LM_ROWS_HEAD_NORMS \
    {LM_Q_NORM, "attn_q_norm.weight", "D", LM_W_F32, LM_ATT, 0, 0}, \
    {LM_K_NORM, "attn_k_norm.weight", "D", LM_W_F32, LM_ATT, 0, 0}
#define LM_ROWS_FFN \
    LM_LINEAR(LM_GATE, "ffn_gate", "E", "F", LM_W_DENSE, LM_W_OPTIONAL, LM_ALL, 0), \
    LM_LINEAR(LM_UP, "ffn_up", "E", "F", LM_W_DENSE, LM_W_OPTIONAL, LM_ALL, 0), \
    LM_LINEAR(LM_DOWN, "ffn_down", "F", "E", LM_W_DENSE, LM_W_OPTIONAL, LM_ALL, 0)
/* Experts; gate and up in one tensor (gate's rows first) or in two. */
#define LM_ROWS_EXPERTS \
    LM_MATRIX(LM_ROUTER, "ffn_gate_inp", "E", "Z", LM_W_MOE, LM_ALL, 0), \
    LM_EXPERTS(LM_GATE_UP_EXPERTS, "ffn_gate_up_exps", "E", "2 M", LM_W_OPTIONAL, LM_ALL, 0), \
    LM_EXPERTS(LM_GATE_EXPERTS, "ffn_gate_exps", "E", "M", 0, LM_ALL, LM_GATE_UP_EXPERTS + 1), \
    LM_EXPERTS(LM_UP_EXPERTS, "ffn_up_exps", "E", "M", 0, LM_ALL, LM_GATE_UP_EXPERTS + 1), \
    LM_EXPERTS(LM_DOWN_EXPERTS, "ffn_down_exps", "M", "E", 0, LM_ALL, 0)
/* The expert that every token uses, weighted by a gate of its own. */
#define LM_ROWS_SHARED_EXPERT \
    LM_MATRIX(LM_SHARED_ROUTER, "ffn_gate_inp_shexp", "E", "1", LM_W_MOE, LM_ALL, 0), \
    LM_MATRIX(LM_GATE_SHARED, "ffn_gate_shexp", "E", "N", LM_W_MOE, LM_ALL, 0), \
    LM_MATRIX(LM_UP_SHARED, "ffn_up_shexp", "E", "N", LM_W_MOE, LM_ALL, 0), \
    LM_MATRIX(LM_DOWN_SHARED, "ffn_down_shexp", "N", "E", LM_W_MOE, LM_ALL, 0)
/* Gated delta net. */
#define LM_GDN_CHANNELS "K S | K S | R K S"
#define LM_GDN_HEADS "R K"
#define LM_ROWS_GDN \
    LM_MATRIX(LM_GDN_QKV, "attn_qkv", "E", LM_GDN_CHANNELS, 0, LM_REC, 0), \
    LM_MATRIX(LM_GDN_GATE, "attn_gate", "E", "R K S", 0, LM_REC, 0), \
    {LM_GDN_CONV, "ssm_conv1d.weight", "C, " LM_GDN_CHANNELS, LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_DT, "ssm_dt.bias", LM_GDN_HEADS, LM_W_F32, LM_REC, 0, 0}, \
    {LM_GDN_A, "ssm_a", LM_GDN_HEADS, LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_GDN_BETA, "ssm_beta", "E", LM_GDN_HEADS, 0, LM_REC, 0), \
    LM_MATRIX(LM_GDN_ALPHA, "ssm_alpha", "E", LM_GDN_HEADS, 0, LM_REC, 0), \
    {LM_GDN_NORM, "ssm_norm.weight", "S", LM_W_F32, LM_REC, 0, 0}, \
    LM_MATRIX(LM_GDN_OUT, "ssm_out", "R K S", "E", 0, LM_REC, 0)

/* -- numbers from keys, and the letters of their rows ------------------------------- */

/* Embeddings, layers (all of attention), heads, epsilon; no rope, no feed-forward. */
int lm_numbers_common(lm_loader *l);
int lm_numbers_ffn(lm_loader *l);
/* Rope over whole heads, in `mode`. */
int lm_numbers_rope(lm_loader *l, int mode);
/* All of a dense model whose rope turns the two halves of a head together. */
int lm_numbers_dense(lm_loader *l);
/* Experts of the width that the file's key gives, of that of the feed-forward (`own` false). */
int lm_numbers_experts(lm_loader *l, bool own);
int lm_numbers_shared_expert(lm_loader *l);
/* Recurrent layers with one of attention every few; rope over a part of the heads. */
int lm_numbers_hybrid(lm_loader *l);

/* -- blocks ---------------------------------------------------------------------------- */

eng_value lm_weight(lm_build *b, int layer, int role); /* ENG_NO_VALUE if absent */
/* The role's matrix times x, scaled and with its bias added if it has them. */
eng_value lm_product(lm_build *b, int layer, int role, eng_value x);
eng_value lm_norm(lm_build *b, eng_value x, int layer, int role);
/* silu(gate x) * (up x), then down */
eng_value lm_ffn_swiglu(lm_build *b, eng_value x, int layer, int gate, int up, int down);
/* The rows of the tokens whose logits are wanted. */
eng_value lm_pick(lm_build *b, eng_value x);
/* Attention with its projections: u[E, T] -> [E, T], or `wanted` -> the rows of the tokens whose logits are wanted:
 * the others are there for their K and V alone. */
eng_value lm_attention_block(lm_build *b, eng_value u, int layer, bool wanted);
/* The experts that the router chooses for each token, and the shared one: x[E, T] -> [E, T]. */
eng_value lm_moe(lm_build *b, eng_value x, int layer);
/* A recurrent layer's mixer: u[E, T] -> [E, T]. */
eng_value lm_gated_delta_net(lm_build *b, eng_value u, int layer);
/* The layer's caches (K 0, V 1) or pools (state 0, convolution window 1). */
eng_value lm_layer_memory(lm_build *b, int layer, uint32_t which);

/* The whole: embeddings, layers of a mixer and a feed-forward, each after a norm and added to what it was given, norm,
 * head. */
eng_value lm_layers(lm_build *b);

#endif
