"""Where our pre-tokenizers cut seeded text of every script, and where PyPI's `tokenizers` cuts with the same expressions.

    splits.py CUT [TEXTS [SEED]]     compares; CUT is the program tests/peers/cut
    splits.py CUT --write FILE       writes tests/data/rules.txt: texts and the cuts of `tokenizers`
"""
import random
import subprocess
import sys

from tokenizers import Regex, pre_tokenizers

from splits_text import rules, text


def theirs(expressions):
    parts = [pre_tokenizers.Split(Regex(e), "isolated") for e in expressions]
    whole = pre_tokenizers.Sequence(parts)
    return lambda t: [b - a for _, (a, b) in whole.pre_tokenize_str(t)]


def main():
    cut = sys.argv[1]
    if sys.argv[2:3] == ["--write"]:
        write(cut, sys.argv[3])
        return
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 7)
    texts = [text(r) for _ in range(n)]
    wrong = 0
    for i, (name, expressions) in enumerate(rules(cut)):
        lines = "".join("%s %s\n" % (name, " ".join("%x" % ord(c) for c in t)) for t in texts)
        ours = subprocess.run([cut], input=lines, check=True, capture_output=True, text=True).stdout.splitlines()
        split = theirs(expressions)
        bad = [(t, o, s) for t, o, s in ((t, o, " ".join(map(str, split(t)))) for t, o in zip(texts, ours)) if o != s]
        print("%sok %d - %s cuts %d texts as tokenizers does" % ("not " if bad else "", i + 1, name, len(texts)))
        for t, o, s in bad[:3]:
            print("# %s (%s): %s, there %s" % (ascii(t), len(bad), o, s))
        wrong += bool(bad)
    print("1..%d" % (i + 1))
    sys.exit(wrong > 0)


def write(cut, path):
    r = random.Random(15)
    with open(path, "w", encoding="utf-8") as f:
        f.write("# Where rules of names.c cut: a text, then the lengths in characters of its pieces, by `tokenizers` (splits.py).\n")
        all_rules = [(name, theirs(e)) for name, e in rules(cut)]
        written = 0
        while written < 48:
            t = text(r)
            if any(c in t for c in "\x85\u2028\u2029\x0b\x0c"):
                continue
            written += 1
            f.write("text %s\n" % t.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t"))
            for name, split in all_rules:
                f.write("%s %s\n" % (name, " ".join(map(str, split(t)))))


main()
