"""Vocabularies of unigram, WordPiece and the longest piece first, for tokens.py: each gives (path, flags, function from text to ids)."""
import ast
import io
import os

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


# A map of characters that is small, unlike those that SentencePiece has: text, and what it becomes.
RULES = [("\ufb01", "fi"), ("\u3000", " "), ("\n", " "), ("\t", " "), ("\xad", ""), ("e\u0301", "\xe9"), ("...", "\u2026"), ("\u2025", "..")]
RULES += [(chr(0xff01 + i), chr(33 + i)) for i in range(94)]


def fields(message):
    """Number and value of each field of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            n = varint() if key & 7 == 2 else 8 if key & 7 == 1 else 4
            yield key >> 3, message[at:at + n]
            at += n


def unigram(write, folder, corpus, size, name, user, rule, fewer, fallback):
    import sentencepiece as spm
    made = io.BytesIO()
    normalised = {"normalization_rule_name": rule}
    if not isinstance(rule, str):
        normalised = {"normalization_rule_tsv": os.path.join(folder, "rules.tsv")}
        with open(normalised["normalization_rule_tsv"], "w", encoding="utf-8") as f:
            f.writelines("%s\t%s\n" % tuple(" ".join("%X" % ord(c) for c in side) for side in r) for r in rule)
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter([x for c in corpus[:1] + corpus[-60:] for x in c.split("\n") if x]), model_writer=made, vocab_size=size,
        model_type="unigram", byte_fallback=fallback, user_defined_symbols=user, hard_vocab_limit=False, **normalised,
        remove_extra_whitespaces=fewer, character_coverage=0.98, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2)
    model = made.getvalue()
    p = spm.SentencePieceProcessor(model_proto=model)
    n = p.get_piece_size()
    tokens = [p.id_to_piece(i) for i in range(n)]
    types = [UNKNOWN if p.is_unknown(i) else CONTROL if p.is_control(i) else BYTE if p.is_byte(i) else
             USER if tokens[i] in user else UNUSED if p.is_unused(i) else NORMAL for i in range(n)]
    normalizer = dict(fields(dict(fields(model))[3]))
    keys = {"precompiled_charsmap": normalizer[2]} if normalizer.get(2) else {}
    path = os.path.join(folder, name + ".gguf")
    write(path, "t5", tokens, types, scores=[p.get_score(i) for i in range(n)], add_space_prefix=True, remove_extra_whitespaces=fewer,
          **keys)
    return path, [], lambda x: p.encode(x)


def words(write, folder, corpus, size):
    """As files of BERT have it: pieces that begin a word with U+2581 before them, those that go on without "##"."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    corpus = [x.replace("\u2581", "") for x in corpus]
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, limit_alphabet=500, show_progress=False))
    vocabulary = t.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    types = [UNKNOWN if x == "[UNK]" else CONTROL if x in special else NORMAL for x in tokens]
    tokens = [x if x in special else x[2:] if x.startswith("##") else "\u2581" + x for x in tokens]
    path = os.path.join(folder, "bert.gguf")
    write(path, "bert", tokens, types, unknown_token_id=1, cls_token_id=2, seperator_token_id=3)
    # In such a file a piece that goes on with U+2581 is spelled as one that begins a word.  U+0EBA is a mark since Unicode 12,
    # of which `tokenizers` 0.23 does not know.
    return path, ["--special"], lambda x: None if {"\u2581", "\u0eba"} & set(x) else t.encode(x, add_special_tokens=False).ids


def write_bytes(write, path, pieces):
    """Pieces by id from 1 on; files spell them as Python does."""
    tokens = ["<s>"] + [repr(p)[2:-1] for p in pieces]
    write(path, "rwkv", tokens, [CONTROL] + [NORMAL] * len(pieces))


def greedy(write, folder, corpus, size):
    words = {}
    for word in " ".join(corpus).split(" "):
        for piece in (word, " " + word):
            words[piece] = words.get(piece, 0) + 1
    common = sorted(words, key=lambda w: (-words[w], w))[:size]
    pieces = [bytes([i]) for i in range(256)]
    pieces += sorted({x for w in common for x in (w.encode(), w.encode()[:5])} - set(pieces) - {b""})
    path = os.path.join(folder, "rwkv.gguf")
    write_bytes(write, path, pieces)
    ids = {p: i + 1 for i, p in enumerate(pieces)}
    longest = max(map(len, pieces))

    def theirs(text):
        b, at, out = text.encode(), 0, []
        while at < len(b):
            n = next(n for n in range(longest, 0, -1) if b[at:at + n] in ids and at + n <= len(b))
            out.append(ids[b[at:at + n]])
            at += n
        return out
    return path, [], theirs


def world(write, folder):
    """RWKV's own vocabulary, of the package that has it."""
    import pyrwkv_tokenizer
    t = pyrwkv_tokenizer.RWKVTokenizer()
    pieces = []
    for i, line in enumerate(open(t.vocab_filepath, encoding="utf-8"), 1):
        number, piece = line.split(" ", 1)[0], ast.literal_eval(line[line.index(" "):line.rindex(" ")].strip())
        assert int(number) == i
        pieces.append(piece if isinstance(piece, bytes) else piece.encode())
    path = os.path.join(folder, "rwkv-world.gguf")
    write_bytes(write, path, pieces)
    return path, [], t.encode
