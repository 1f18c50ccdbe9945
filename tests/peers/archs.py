"""An oracle that nobody here wrote: random models of PyPI's transformers, written as GGUF files under the names that
converters give, run by its own code and by this library; the last logits must be the same to f32's error.

    archs.py LOGITS DEVICE[,DEVICE...] [CASE]...

LOGITS is the program of logits.c.  Without torch and transformers there is nothing to compare with: exit status 77.
"""
import math
import os
import struct
import subprocess
import sys
import tempfile
import types

try:
    import numpy as np
    import torch
    import transformers as T
except ImportError as e:
    print("skipped: %s (pip install torch transformers)" % e)
    sys.exit(77)

from archs_cases import BASE, CASES, MIXED, Longs  # noqa: E402

MOST = 1e-4  # largest error, of the logits' root mean square

# -- GGUF --------------------------------------------------------------------------------------

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def value(v):
    if isinstance(v, bool):
        return struct.pack("<I?", BOOL, v)
    if isinstance(v, int):
        return struct.pack("<IQ", U64, v) if v >= 1 << 32 else struct.pack("<II", U32, v)
    if isinstance(v, float):
        return struct.pack("<If", F32, v)
    if isinstance(v, str):
        return struct.pack("<I", STRING) + text(v)
    if isinstance(v, Longs):
        return struct.pack("<IIQ", ARRAY, U64, len(v)) + struct.pack("<%dQ" % len(v), *v)
    kind = value(v[0])[:4]
    return struct.pack("<I", ARRAY) + kind + struct.pack("<Q", len(v)) + b"".join(value(x)[4:] for x in v)


def write(path, keys, tensors):
    head = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(keys))
    for k, v in keys.items():
        head += text(k) + value(v)
    data = b""
    for name, a in tensors.items():
        a = np.ascontiguousarray(a, dtype=np.int32 if a.dtype.kind == "i" else np.float32)
        head += text(name) + struct.pack("<I", a.ndim) + b"".join(struct.pack("<Q", n) for n in a.shape[::-1])
        head += struct.pack("<IQ", 26 if a.dtype == np.int32 else 0, len(data))
        data += a.tobytes() + bytes(-a.nbytes % 32)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + data)


# -- tensors under the converters' names ---------------------------------------------------------

def paired(w, heads):
    """Rows of a head's two halves next to each other: what converters of llama's kind do to queries and keys."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "self_attn.qkv_proj": "attn_qkv", "self_attn.sinks": "attn_sinks",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp",
    "mlp.experts.gate_up_proj": "ffn_gate_up_exps", "mlp.experts.down_proj": "ffn_down_exps",
    "mlp.gate.e_score_correction_bias": "exp_probs_b.bias", "mlp.e_score_correction_bias": "exp_probs_b.bias",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "linear_attn.out_proj": "ssm_out", "linear_attn.norm": "ssm_norm", "linear_attn.in_proj_ba": "ssm_ba",
    "linear_attn.dt_bias": "ssm_dt.bias", "linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate",
    "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_a": "ssm_alpha",
}
SCANS = {"norm": "attn_norm", "dt_bias": "ssm_dt.bias", "in_proj": "ssm_in", "out_proj": "ssm_out", "A_log": "ssm_a", "D": "ssm_d", "x_proj": "ssm_x", "dt_proj": "ssm_dt",
         "up_proj": "ffn_up", "down_proj": "ffn_down", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v",
         "o_proj": "attn_output", "conv1d": "ssm_conv1d"}


def split_linear(w, c):
    """qkvz of each key head -> q, k, v of all, and z."""
    k, v, d, dv = c.linear_num_key_heads, c.linear_num_value_heads, c.linear_key_head_dim, c.linear_value_head_dim
    r = v // k * dv
    w = w.reshape(k, 2 * d + 2 * r, -1)
    q, key, val, z = np.split(w, [d, 2 * d, 2 * d + r], axis=1)
    flat = [x.reshape(-1, w.shape[-1]) for x in (q, key, val, z)]
    return np.concatenate(flat[:3]), flat[3]


def tiled(w, c, axis, size):
    """Value heads of `size` along an axis: those of one key head side by side -> the first of each, the second, ..."""
    k, v = c.linear_num_key_heads, c.linear_num_value_heads
    order = [h * (v // k) + r for r in range(v // k) for h in range(k)]
    w = np.moveaxis(w, axis, 0)
    w = w.reshape(v, size, *w.shape[1:])[order].reshape(w.shape)
    return np.moveaxis(w, 0, axis)


def tile(base, w, c):
    """A recurrent layer's tensor as converters of qwen35 store it."""
    keys, d = 2 * c.linear_num_key_heads * c.linear_key_head_dim, c.linear_value_head_dim
    if base.endswith(("in_proj_qkv", "conv1d")):
        return np.concatenate([w[:keys], tiled(w[keys:], c, 0, d)])
    if base.endswith(("in_proj_z", "out_proj")):
        return tiled(w, c, 1 if "out" in base else 0, d)
    return w if base.endswith("norm") else tiled(w, c, 0, 1)


def scan(base, kind, w, c):
    """A tensor of a layer that scans, or stands where one would, as converters store it: name and values."""
    if base == "norm":
        groups = getattr(c, "mamba_n_groups", None) or c.n_groups
        return "ssm_norm.weight", w.reshape(groups, -1)
    name = SCANS[base]
    if base in ("A_log", "D"):
        w = -np.exp(w) if base == "A_log" else w
        return name, w if c.model_type in ("mamba", "falcon_mamba") else w.reshape(-1, 1)
    return name if "." in name else name + "." + kind, w.squeeze(1) if base == "conv1d" and kind == "weight" else w


def tensors(case, model):
    c = model.config
    names = {**NAMES, **case.get("names", {})}
    out = {}
    for full, p in model.state_dict().items():
        w = (p.detach().double() if p.dtype.is_floating_point else p.detach()).numpy()
        if "rotary" in full or "inv_freq" in full:
            continue
        if full.endswith(("norm.weight", *case.get("norms", ()))) and case.get("plus1") and "linear_attn" not in full:
            w = w + 1
        top = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
               "backbone.embeddings.weight": "token_embd.weight", "backbone.norm_f.weight": "output_norm.weight",
               "model.final_layernorm.weight": "output_norm.weight", "model.embeddings.weight": "token_embd.weight",
               "model.norm_f.weight": "output_norm.weight", "model.norm.bias": "output_norm.bias",
               "lm_head.weight": "output.weight", "lm_head.bias": "output.bias", "model.embedding_norm.weight": "token_embd_norm.weight",
               "model.embed_tokens_per_layer.weight": "per_layer_token_embd.weight",
               "model.per_layer_model_projection.weight": "per_layer_model_proj.weight",
               "model.per_layer_projection_norm.weight": "per_layer_proj_norm.weight",
               "model.hc_head.hc_fn": "output_hc_fn.weight", "model.hc_head.hc_base": "output_hc_base.weight",
               "model.hc_head.hc_scale": "output_hc_scale.weight",
               **{"model.hyper_connection_mixer." + a: "output_hc_%s.weight" % b for a, b in MIXED.items()}}.get(full)
        if full.startswith("model.layers") and full.rsplit(".", 1)[-1] in ("layer_multipliers", "ngram_heads_vocab_sizes", "ngram_heads_offsets"):
            continue  # keys
        if full.startswith("model.altup_"):  # a matrix for each state but the first: one tensor
            name = "altup_unembd_proj.weight" if "unembed" in full else "altup_proj.weight"
            out[name] = np.concatenate([out[name], w[None]]) if name in out else w[None]
            continue
        if top:
            if top != "output.weight" or not c.tie_word_embeddings:
                out[top] = w
            continue
        _, _, layer, rest = full.split(".", 3)
        at = "blk.%s." % layer
        for ours, theirs in (("mlp.", "feed_forward."), ("mlp.", "block_sparse_moe."), ("shared_expert.", "shared_experts.")):
            rest = rest.replace(theirs, ours)
        base, dot, kind = rest.rpartition(".")
        if kind not in ("weight", "bias"):
            base, kind = rest, "weight"
        if case.get("tiled") and base.startswith("linear_attn"):
            w = tile(base, w, c)
        if case.get("paired") and base in ("self_attn.q_proj", "self_attn.k_proj"):
            w = paired(w, c.num_attention_heads if "q_proj" in base else c.num_key_value_heads)
        if base.startswith(("mixer.", "mamba.")):
            part, of = (base.split(".", 1)[1], kind) if base.count(".") else (kind, "weight")
            name, w = scan(part, of, w, c)
            out[at + name] = w
        elif base.startswith("shared_mlp.input_linear"):
            half = w.shape[0] // 2
            beside = "shexp" if case.get("num_local_experts") else ""
            out[at + ("ffn_gate_" + beside).rstrip("_") + ".weight"], out[at + ("ffn_up_" + beside).rstrip("_") + ".weight"] = w[:half], w[half:]
        elif base.startswith("shared_mlp.output_linear"):
            out[at + ("ffn_down_shexp" if case.get("num_local_experts") else "ffn_down") + ".weight"] = w
        elif base == "mlp.experts.gate_up_proj_bias":
            out[at + "ffn_gate_exps.bias"], out[at + "ffn_up_exps.bias"] = w[:, ::2], w[:, 1::2]
        elif base == "mlp.experts.down_proj_bias":
            out[at + "ffn_down_exps.bias"] = w
        elif base.endswith("experts.gate_up_proj") and case.get("apart") and not case.get("columns"):
            half = w.shape[1] // 2
            out[at + "ffn_gate_exps.weight"], out[at + "ffn_up_exps.weight"] = w[:, :half], w[:, half:]
        elif base.startswith("mlp.experts") and case.get("columns"):
            w = w.swapaxes(1, 2)
            if "down" in base:
                out[at + "ffn_down_exps.weight"] = w
            elif case["columns"] == "woven":
                out[at + "ffn_gate_exps.weight"], out[at + "ffn_up_exps.weight"] = w[:, ::2], w[:, 1::2]
            else:
                half = w.shape[1] // 2
                out[at + "ffn_gate_exps.weight"], out[at + "ffn_up_exps.weight"] = w[:, :half], w[:, half:]
        elif base == "linear_attn.in_proj_qkvz":
            out[at + "attn_qkv.weight"], out[at + "attn_gate.weight"] = split_linear(w, c)
        elif base == "linear_attn.A_log":
            out[at + "ssm_a"] = -np.exp(w)
        elif "_layernorm.norms." in base:  # of each head
            name = at + ("attn_q_norm.weight" if "q_layernorm" in base else "attn_k_norm.weight")
            out[name] = np.concatenate([out[name], w[None]]) if name in out else w[None]
        elif base == "self_attn.conv1d":  # of q, k and v; converters leave an extent of 1 in each
            for part, x in zip("qkv", np.split(w, 3)):
                out[at + "ssm_conv1d_%s.weight" % part] = x[None]
        elif base == "self_attn.forget_gate.A_log":
            out[at + "ssm_a"] = -np.exp(w).reshape(-1, 1)
        elif base == "self_attn.indexer.index_qk_proj":
            at_k = c.indexer_n_heads * c.indexer_head_dim
            out[at + "indexer.q_proj.weight"], out[at + "indexer.k_proj.weight"] = w[:at_k], w[at_k:]
        elif base == "ple.ple_embedding.ngram_embedding":
            out["per_layer_token_embd.weight"] = w
        elif base == "ple.conv1d":
            out[at + "ple_conv1d.weight"] = w.squeeze(1)
        elif base == "linear_attn.conv1d":
            out[at + "ssm_conv1d.weight"] = w.squeeze(1)
        elif base == "conv.conv":
            out[at + "shortconv.conv.weight"] = w.squeeze(1)
        elif base == "self_attn.kv_b_proj":
            w = w.reshape(c.num_attention_heads, c.qk_nope_head_dim + c.v_head_dim, -1)
            out[at + "attn_k_b.weight"] = w[:, :c.qk_nope_head_dim].swapaxes(1, 2)
            out[at + "attn_v_b.weight"] = w[:, c.qk_nope_head_dim:]
        elif base == "mlp.shared_expert_gate":
            out[at + "ffn_gate_inp_shexp.weight"] = w.squeeze(0)
        else:
            name = names[base]
            out[at + (name.rstrip(".") if name.endswith((".bias", ".weight", ".scale", ".")) else name + "." + kind)] = w
    if case.get("proportional"):
        half = case["global_head_dim"] // 2
        turned = int(half * case["proportional"])
        out["rope_freqs.weight"] = np.array([1.0] * turned + [1e30] * (half - turned))
    return out


# -- models --------------------------------------------------------------------------------------------

OWN = {"apart", "norms", "factors", "arch", "config", "keys", "names", "paired", "plus1", "columns", "original", "tiled", "proportional", "body"}


class Headed(torch.nn.Module):
    """A text model that transformers has no head for."""

    def __init__(self, model, c):
        super().__init__()
        self.model, self.config = model, c
        self.lm_head = torch.nn.Linear(c.hidden_size, c.vocab_size, bias=False)

    def forward(self, ids, use_cache):
        hidden = self.model(input_ids=ids, use_cache=use_cache).last_hidden_state
        return types.SimpleNamespace(logits=self.lm_head(hidden))


def randomise(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        if name.endswith("tid2eid"):  # different experts in each row
            first = torch.randint(0, 1000, (p.shape[0], 1), generator=g)
            p.copy_((first + torch.arange(p.shape[1])) % model.config.n_routed_experts)
        skipped = "inv_freq" in name or "embed_scale" in name or "mup_vector" in name
        if skipped or p.dim() == 0 or not p.dtype.is_floating_point:
            continue
        r = torch.randn(p.shape, generator=g, dtype=torch.float32)
        if name.endswith("norm.weight") and p.dim() <= 2:
            zero = bool((p.detach() == 0).all())
            v = 0.1 * r + (0 if zero else 1)
            if getattr(model, "attn_plain", 0) and "q_norm" in name:
                v = v / math.sqrt(p.shape[0])  # their products are multiplied by nothing
        elif name.endswith(("layer_scalar", "router.scale", "per_expert_scale", "correct_output_scale", "_hc.scale", "hc_scale")):
            v = 0.1 * r + 1
        elif name.endswith((".D", "position_bias")):
            v = r
        elif "A_log" in name:
            v = torch.rand(p.shape, generator=g) * math.log(16)
        elif p.dim() == 1:
            v = 0.1 * r if "sinks" not in name else r
        elif "embed_tokens" in name or "embeddings" in name:
            v = r
        elif "conv1d" in name:
            v = r
        else:
            fan = p.shape[1] if name.endswith(("gate_up_proj", "down_proj")) and getattr(model, "by_columns", 0) else p.shape[-1]
            v = r / math.sqrt(fan) * (2 if "lm_head" in name else 1)
        with torch.no_grad():
            p.copy_(v.to(p.dtype))


def usual_keys(case, c):
    heads = getattr(c, "num_attention_heads", 4)
    d = case.get("head_dim") or getattr(c, "head_dim", None) or c.hidden_size // heads
    theta = (getattr(c, "rope_parameters", None) or {}).get("rope_theta", 10000.0)
    keys = {"block_count": c.num_hidden_layers, "context_length": c.max_position_embeddings,
            "embedding_length": c.hidden_size, "feed_forward_length": c.intermediate_size,
            "attention.head_count": heads, "attention.head_count_kv": case.get("num_key_value_heads") or c.num_key_value_heads,
            "attention.key_length": d, "attention.value_length": d, "rope.freq_base": float(theta)}
    if hasattr(c, "rms_norm_eps"):
        keys["attention.layer_norm_rms_epsilon"] = c.rms_norm_eps
    for name in ("layer_norm_eps", "norm_epsilon"):
        if hasattr(c, name):
            keys["attention.layer_norm_epsilon"] = getattr(c, name)
    for name in ("num_experts", "num_local_experts", "n_routed_experts"):
        if case.get(name):
            keys["expert_count"] = case[name]
            keys["expert_used_count"] = getattr(c, "num_experts_per_tok", None) or c.top_k_experts
    for name, key in (("moe_intermediate_size", "expert_feed_forward_length"),
                      ("shared_expert_intermediate_size", "expert_shared_feed_forward_length"),
                      ("n_shared_experts", "expert_shared_count"), ("sliding_window", "attention.sliding_window")):
        if case.get(name):
            keys[key] = case[name]
    return {**keys, **case.get("keys", {})}


def make(name, case, folder, more=None):
    """A file of the case's model, the tokens that it is run with, and the last one's logits."""
    options = {**BASE, "tie_word_embeddings": False, **{k: v for k, v in case.items() if k not in OWN}}
    c = getattr(T, case["config"])(**options)
    c._attn_implementation = "eager"
    model = Headed(getattr(T, case["body"])._from_config(c), c) if "body" in case else \
        T.AutoModelForCausalLM.from_config(c, attn_implementation="eager")
    model = model.float().eval()
    model.by_columns, model.attn_plain = bool(case.get("columns")), case["arch"].startswith(("gemma3n", "gemma4"))
    randomise(model, len(name) + 7)
    ids = [(i * 37 + 11) % 300 for i in range(40)]
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0].double().numpy()
    keys = {"general.architecture": case["arch"], **(more or {}), **{case["arch"] + "." + k: v for k, v in usual_keys(case, c).items()}}
    if "factors" in case:
        keys[case["arch"] + ".ple.layer_multipliers"] = [
            int(x) for n, b in model.named_buffers() if n.endswith(case["factors"]) for x in b]
    path = os.path.join(folder, name + ".gguf")
    write(path, keys, tensors(case, model))
    return path, ids, logits[-1]


def run(program, device, path, ids):
    """The engine's logits of the last token, or why there are none."""
    r = subprocess.run([program, path, device] + [str(i) for i in ids], capture_output=True, text=True)
    return r.stderr.strip() if r.returncode else np.array([float(x) for x in r.stdout.split()])


def compare(program, device, path, ids, want):
    """The largest error, or why there is none."""
    got = run(program, device, path, ids)
    return got if isinstance(got, str) else float(abs(got - want).max() / np.sqrt((want ** 2).mean()))


def quiet():
    torch.set_num_threads(1)
    T.logging.set_verbosity_error()


def main():
    quiet()
    program, devices, chosen, failures = sys.argv[1], sys.argv[2].split(","), sys.argv[3:] or list(CASES), 0
    print("%-16s %-12s %s" % ("case", "device", "error"))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name in chosen:
            try:
                path, ids, want = make(name, CASES[name], folder)
            except Exception as e:  # another version of transformers may lack or rename something
                print("%-16s not made: %s: %s" % (name, type(e).__name__, str(e)[:200]))
                failures += 1
                continue
            for device in devices:
                error = compare(program, device, path, ids, want)
                good = isinstance(error, float) and error < MOST
                failures += not good
                print("%-16s %-12s %s" % (name, device, "%.1e" % error if isinstance(error, float) else error))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
