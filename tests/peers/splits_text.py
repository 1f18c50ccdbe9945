"""Seeded text of every script, and the expressions of our pre-tokenizers."""
import subprocess

# What the matchers of split.c stand for, and what rules say in words.
HAND = {
    1: [r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"],
    2: [r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    3: [r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    4: [r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    5: [r"\p{N}", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"],
    7: [r"[^\n]+|[\n]+"],
}
WORDS = {
    "<digits>": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
    "<digits before no word>": r"\d{1,3}(?=(?:\d{3})*\b)",
    "<cuts between digits>": r"(?=(\d{3})+(?!\d))",
}
# First and last characters of scripts; those that Unicode has had for long, for the peer has tables of its own.
SCRIPTS = [(0x20, 0x7e), (0x20, 0x7e), (0x20, 0x7e), (0xa0, 0x17f), (0x370, 0x3ff), (0x400, 0x4ff), (0x531, 0x556), (0x5d0, 0x5ea),
           (0x620, 0x669), (0x905, 0x939), (0x93e, 0x96f), (0x985, 0x9b9), (0xe01, 0xe5b), (0xe81, 0xec4), (0xf00, 0xf47),
           (0x1000, 0x1049), (0x10a0, 0x10ff), (0x1100, 0x11ff), (0x1200, 0x1248), (0x1780, 0x17e9), (0x1f00, 0x1f15),
           (0x2010, 0x2064), (0x20a0, 0x20bf), (0x2100, 0x218b), (0x2190, 0x23ff), (0x2460, 0x24ff), (0x2e80, 0x2e99),
           (0x3000, 0x303f), (0x3041, 0x3096), (0x30a0, 0x30ff), (0x3105, 0x312d), (0x4e00, 0x9fa5), (0xac00, 0xd7a3),
           (0xff01, 0xff5e), (0x300, 0x36f), (0x10400, 0x1044f), (0x1d400, 0x1d454), (0x1f600, 0x1f64f), (0x20000, 0x2a6d6)]
BITS = ["'s", "'LL", "'Re", " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", " \n", "12", "1234567", "0", "1234567abc", " don't",
        "HTTPServer", "camelCase", "ABC", "...", "//", "=>", "\u00a0", "\u3000", "IMGIMGAZ", "\u0301", "\u4e2d\u6587", "$", "_", "!a"]


def text(r):
    parts = []
    for _ in range(r.randint(1, 12)):
        if r.random() < 0.5:
            parts.append(r.choice(BITS))
        else:
            first, last = r.choice(SCRIPTS)
            parts.append("".join(chr(r.randint(first, last)) for _ in range(r.randint(1, 6))))
    return "".join(parts)


def rules(cut):
    """Names, one of those that share expressions."""
    seen, out = set(), []
    for line in subprocess.run([cut, "--rules"], check=True, capture_output=True, text=True).stdout.splitlines():
        name, split, *expressions = line.split("\t")
        expressions = [WORDS.get(e, e) for e in expressions] or HAND[int(split)]
        if tuple(expressions) not in seen:
            seen.add(tuple(expressions))
            out.append((name, expressions))
    return out
