"""llama.cpp as an oracle: the models of archs.py, run by its library, too.  Prints how well each two of the three agree.

    llama.py LOGITS DEVICE [CASE]...
    llama.py --run MODEL TOKEN...         the last token's logits, a number a line: what it runs for each case

LOGITS is the program of logits.c.  The library is the one that PyPI's llama-cpp-py-sync brings, or another build of the
same version that LLAMA=FILE names (libllama.so).  What it does not know, or refuses, says so in its row.  Exit status 77:
there is nothing to compare with.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    if os.environ.get("LLAMA"):
        # Only its declarations: what the package carries itself is not loaded.
        found = importlib.util.find_spec("llama_cpp_py_sync")
        spec = importlib.util.spec_from_file_location(
            "declarations", os.path.join(found.submodule_search_locations[0], "_cffi_bindings.py")) if found else None
        if not spec:
            raise ImportError("no module llama_cpp_py_sync, whose declarations are needed")
        bindings = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(bindings)
        bindings._find_library = lambda: os.environ["LLAMA"]
    else:
        from llama_cpp_py_sync import _cffi_bindings as bindings
    ffi, lib = bindings.get_ffi(), bindings.get_lib()
except (ImportError, RuntimeError, OSError) as e:
    print("skipped: %s (pip install llama-cpp-py-sync, or LLAMA=libllama.so)" % e)
    sys.exit(77)

said = []  # what the library wrote


@ffi.callback("void(enum ggml_log_level, const char *, void *)")
def listen(level, text, user):
    if level == lib.GGML_LOG_LEVEL_ERROR if hasattr(lib, "GGML_LOG_LEVEL_ERROR") else level == 4:
        said.append(ffi.string(text).decode(errors="replace").strip())


lib.llama_log_set(listen, ffi.NULL)
lib.llama_backend_init()


class Model:
    """A model and a context of as many tokens, K and V in `cache` (ggml's number of a type: 0 is f32, 1 f16)."""

    def __init__(self, path, tokens, cache):
        said.clear()
        p = lib.llama_model_default_params()
        self.model = lib.llama_model_load_from_file(path.encode(), p)
        if self.model == ffi.NULL:
            raise ValueError(said[0] if said else "it is not opened")
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.n_vocab = lib.llama_vocab_n_tokens(self.vocab)
        c = lib.llama_context_default_params()
        c.n_ctx = c.n_batch = c.n_ubatch = tokens
        c.n_seq_max, c.n_threads, c.n_threads_batch = 1, 1, 1
        c.type_k = c.type_v = cache
        c.flash_attn_type = 0  # else products are taken in half precision
        self.context = lib.llama_init_from_model(self.model, c)
        if self.context == ffi.NULL:
            lib.llama_model_free(self.model)
            raise ValueError(said[0] if said else "it gets no context")

    def close(self):
        lib.llama_free(self.context)
        lib.llama_model_free(self.model)

    def run(self, ids, wanted):
        """Rows of logits of the tokens from number `wanted` on, of a sequence of its own."""
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        b = lib.llama_batch_init(len(ids), 0, 1)
        b.n_tokens = len(ids)
        for i, token in enumerate(ids):
            b.token[i], b.pos[i], b.n_seq_id[i], b.seq_id[i][0], b.logits[i] = token, i, 1, 0, i >= wanted
        status = lib.llama_decode(self.context, b)
        lib.llama_batch_free(b)
        if status:
            raise ValueError(said[0] if said else "decoding gives %d" % status)
        rows = [ffi.buffer(lib.llama_get_logits_ith(self.context, i), 4 * self.n_vocab) for i in range(wanted, len(ids))]
        return np.array([np.frombuffer(r, dtype=np.float32) for r in rows], dtype=np.float64)

    def tokens(self, text):
        """With the special tokens that the model wants."""
        data = text.encode()
        out = ffi.new("llama_token[]", len(data) + 2)
        n = lib.llama_tokenize(self.vocab, data, len(data), out, len(data) + 2, True, False)
        return list(out[0:n])


def off(a, b):
    return float(abs(a - b).max() / np.sqrt((b ** 2).mean()))


def told(x):
    return "%.1e" % x if isinstance(x, float) else x


def theirs(path, ids):
    """llama.cpp's logits of the last token, or what it says: in a process of its own, for what it does not like may end it."""
    r = subprocess.run([sys.executable, os.path.abspath(__file__), "--run", path] + [str(i) for i in ids],
                       capture_output=True, text=True, env={**os.environ, "GGML_NO_BACKTRACE": "1"})
    if r.returncode == 0:
        return np.array([float(x) for x in r.stdout.split()])
    words = [line for line in r.stderr.splitlines() if "ValueError" in line or "ASSERT" in line] or r.stderr.splitlines()
    return words[-1].split("ValueError: ")[-1].split(": ", 2)[-1].split("/")[-1][:120] if words else "ended by %d" % r.returncode


# What llama.cpp's loader wants to be otherwise: no head of its own, sizes that it takes for granted, keys that it needs and does not use.
TIED = dict(tie_word_embeddings=True)
INDEX = dict(index_head_dim=64, keys={"attention.indexer.key_length": 64})
WANTED = {"gemma": TIED, "gemma2": TIED, "gemma3": TIED, "cohere2": TIED, "command-r": dict(TIED, use_qk_norm=False),
          "olmoe": dict(num_key_value_heads=4), "nemotron_h": dict(keys={"attention.layer_norm_epsilon": 1e-5}),
          **{name: dict(intermediate_size=128, keys={"ssm.inner_size": 128}) for name in ("mamba", "falcon-mamba")},
          **{name: INDEX for name in ("deepseek32", "deepseek32-yarn", "deepseek32-all", "glm-dsa", "glm-dsa-shared")},
          "gemma3n": dict(hidden_size_per_layer_input=256, laurel_rank=64, keys={"embedding_length_per_layer_input": 256}),
          "falcon-h1": dict(names={"pre_ff_layernorm": "ffn_norm."})}


def compare(archs, name, program, device, folder):
    """engine to transformers, engine to llama.cpp, llama.cpp to transformers; a text where one of them has no logits."""
    first, more = archs.CASES[name], WANTED.get(name, {})
    case = {**first, **more, "apart": True, "keys": {"vocab_size": 300, **first.get("keys", {}), **more.get("keys", {})}}
    path, ids, want = archs.make(name, case, folder, {"tokenizer.ggml.model": "no_vocab"})
    ours, other = archs.run(program, device, path, ids), theirs(path, ids)
    os.remove(path)
    return (ours if isinstance(ours, str) else off(ours, want),
            "" if isinstance(ours, str) or isinstance(other, str) else off(ours, other),
            other if isinstance(other, str) else off(other, want))


def main():
    if sys.argv[1:2] == ["--run"]:
        ids = [int(x) for x in sys.argv[3:]]
        for x in Model(sys.argv[2], 64, 0).run(ids, len(ids) - 1)[0]:
            print("%.9g" % x)
        return 0
    import archs
    program, device, chosen, wrong = sys.argv[1], sys.argv[2], sys.argv[3:] or list(archs.CASES), 0
    archs.quiet()
    print("%-18s %-22s %-20s %s" % ("case", "engine, transformers", "engine, llama.cpp", "llama.cpp, transformers"))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name in chosen:
            try:
                row = compare(archs, name, program, device, folder)
            except Exception as e:  # another version of transformers may lack or rename something
                row = ("not made: %s: %s" % (type(e).__name__, str(e)[:100]), "", "")
            wrong += not isinstance(row[0], float) or row[0] > archs.MOST
            print("%-18s %-22s %-20s %s" % (name, *map(told, row)), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
