#!/usr/bin/env python3
"""What blocks for drafting (MTP) guess, against transformers.

    drafts.py DRAFTS DEVICE[,DEVICE...] [CASE...]

Random models of archs.py get a block of transformers' own (MtpModel); a prompt's most likely token and three guesses
after it must be the same.  DRAFTS is the program of drafts.c.
"""
import os
import subprocess
import sys
import tempfile

import archs
import archs_cases
import torch
import transformers as T

try:
    from transformers.modeling_layers import MtpModel
except ImportError as e:
    print("skipped: %s (transformers 5.23 has it)" % e)
    sys.exit(77)

COUNT = 3
TYPES = dict(mtp_layer_types=["full_attention"], mtp_mlp_layer_types=["sparse"])
CASES = {
    "glm4moe": dict(archs.CASES["glm4moe"]),
    "deepseek3": dict(archs.CASES["deepseek3"]),
    "deepseek32": dict(archs.CASES["deepseek32"], **TYPES),
}
# Gemma 4 and its assistant.  Windows are longer than the text: transformers counts an assistant's otherwise than the model's.
GEMMA4 = dict(archs_cases.gemma4("llglg", kv=1, width=0), sliding_window=64)
ASSISTANT = dict(archs_cases.gemma4("lglg", kv=1, width=0, keys={"nextn_predict_layers": 4, "attention.shared_kv_layers": 4,
                                                           "embedding_length_out": 64}), sliding_window=64, hidden_size=48)
NAMES = {"enorm": "nextn.enorm", "hnorm": "nextn.hnorm", "eh_proj": "nextn.eh_proj", "post_norm": "nextn.shared_head_norm"}


class Whole:
    """The model with its block behind its layers, as a checkpoint has them."""

    def __init__(self, model, block):
        self.config, self.states = model.config, dict(model.state_dict())
        for name, p in block.state_dict().items():
            if name.startswith("layers.0."):
                rest = name.split(".", 2)[2].replace("mtp_block.", "")
                self.states["model.layers.%d.%s" % (model.config.num_hidden_layers, rest)] = p

    def state_dict(self):
        return self.states


def chain(model, block, ids):
    """The next token and COUNT guesses: the first of the model's states, each further one of the block's own."""
    states = model.model(torch.tensor([ids]), use_cache=False).last_hidden_state
    found = [int(model.lm_head(states[:, -1]).argmax())]
    tokens = ids[1:] + found
    for _ in range(COUNT):
        at = torch.arange(1, len(tokens) + 1)[None]
        out = block.forward_layer(0, states, at, None, input_ids=torch.tensor([tokens]))
        found.append(int(model.lm_head(out[:, -1]).argmax()))
        states, tokens = torch.cat([states, out[:, -1:]], dim=1), tokens + found[-1:]
    return found


def make(name, case, folder):
    options = {**archs.BASE, "tie_word_embeddings": False, **{k: v for k, v in case.items() if k not in archs.OWN}}
    c = getattr(T, case["config"])(**options, num_mtp_layers=1)
    model = T.AutoModelForCausalLM.from_config(c, attn_implementation="eager").float().eval()
    block = MtpModel(model, 1).float().eval()
    archs.randomise(model, len(name) + 40)
    archs.randomise(block.layers, len(name) + 50)
    ids = [(i * 37 + 11) % 300 for i in range(24)]
    with torch.no_grad():
        want = chain(model, block, ids)
    keys = {**archs.usual_keys(case, c), "block_count": c.num_hidden_layers + 1, "nextn_predict_layers": 1}
    case = {**case, "names": {**case.get("names", {}), **NAMES}}
    path = os.path.join(folder, name + ".gguf")
    archs.write(path, {"general.architecture": case["arch"], **{case["arch"] + "." + k: v for k, v in keys.items()}},
                archs.tensors(case, Whole(model, block)))
    return path, ids, want


def sharing(c):
    """Whose K and V a layer has, whatever the number of layers that keep none: 5.23 refuses configurations of assistants."""
    own = c.num_hidden_layers - c.num_kv_shared_layers
    last = {kind: i for i, kind in enumerate(c.layer_types[:own])}
    return ["store" if i in last.values() else None for i in range(own)] + ["reuse"] * c.num_kv_shared_layers


T.Gemma4TextConfig.kv_sharing_modes = property(sharing)


def text_config(case):
    return T.Gemma4TextConfig(**{**archs.BASE, **{k: v for k, v in case.items() if k not in archs.OWN}})


def save(case, c, model, folder, name, more=()):
    keys = {"general.architecture": case["arch"], **{case["arch"] + "." + k: v for k, v in archs.usual_keys(case, c).items()}}
    path = os.path.join(folder, name)
    archs.write(path, keys, {**archs.tensors(case, model), **dict(more)})
    return path


def assist(model, assistant, ids):
    """As transformers' SinglePositionMultiTokenCandidateGenerator: all from the place of the last token."""
    out = model.model(torch.tensor([ids]), use_cache=False, return_shared_kv_states=True)
    state, found = out.last_hidden_state[:, -1:], [int(model(torch.tensor([ids])).logits[:, -1].argmax())]
    for _ in range(COUNT):
        given = torch.cat([model.get_input_embeddings()(torch.tensor([found[-1:]])), state], dim=-1)
        got = assistant(inputs_embeds=given, position_ids=torch.tensor([[len(ids)]]), shared_kv_states=out.shared_kv_states)
        found.append(int(got.logits[:, -1].argmax()))
        state = got.last_hidden_state
    return found


def make_assisted(folder):
    c, small = text_config(GEMMA4), text_config({**ASSISTANT, "num_kv_shared_layers": 4, "vocab_size_per_layer_input": 0})
    model = T.AutoModelForCausalLM.from_config(c, attn_implementation="eager").float().eval()
    both = T.Gemma4AssistantConfig(text_config=small, backbone_hidden_size=64)
    assistant = T.AutoModelForCausalLM.from_config(both, attn_implementation="eager").float().eval()
    model.attn_plain = assistant.attn_plain = True
    archs.randomise(model, 70)
    archs.randomise(assistant, 71)
    ids = [(i * 37 + 11) % 300 for i in range(24)]
    with torch.no_grad():
        want = assist(model, assistant, ids)
    ends = {"nextn.%s.weight" % k: getattr(assistant, k).weight.detach().double().numpy()
            for k in ("pre_projection", "post_projection")}
    inner = archs.types.SimpleNamespace(config=small, state_dict=lambda: {
        k: v for k, v in assistant.state_dict().items() if k.startswith("model.")})
    first = save(GEMMA4, c, model, folder, "gemma4.gguf")
    second = save({**ASSISTANT, "arch": "gemma4-assistant"}, small, inner, folder, "assistant.gguf", ends)
    return first + ":" + second, ids, want


def main():
    torch.set_num_threads(1)
    T.logging.set_verbosity_error()
    program, devices, chosen, failures = sys.argv[1], sys.argv[2].split(","), sys.argv[3:] or [*CASES, "gemma4"], 0
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name in chosen:
            path, ids, want = make_assisted(folder) if name == "gemma4" else make(name, CASES[name], folder)
            for device in devices:
                r = subprocess.run([program, path, device, str(COUNT)] + [str(i) for i in ids], capture_output=True, text=True)
                got = [int(x) for x in r.stdout.split()]
                failures += got != want
                print("%-16s %-12s %s" % (name, device, r.stderr.strip() or "%s, transformers %s" % (got, want)))
    return 1 if failures else 0


sys.exit(main())
