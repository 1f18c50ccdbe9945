"""The perplexity of a real model, side by side with llama.cpp's library, counted as llama-perplexity does.

    perplexity.py ENGINE-GENERATE DEVICE MODEL TEXT [CHUNKS [TOKENS]]

CHUNKS of TOKENS (4 of 512) from the beginning of the text: of each the second half is counted, known from the first.  K and V are kept in
f32.  First with the weights made f32 by engine-quantize, which stands beside the other program, then as they are: llama.cpp multiplies
quantised weights with quantised numbers, so its figures are others then.  Where the library comes from, llama.py says; exit status 77: there is none.
"""
import json
import os
import subprocess
import sys
import tempfile

import llama
import numpy as np

MOST, MOST_QUANTISED = 2e-5, 1e-2  # nats a token


def theirs(path, text, chunks, size):
    """Nats a token, and their number."""
    model = llama.Model(path, size, 0)
    ids, first, sum_, n = model.tokens(text), size // 2, 0.0, 0
    begin = llama.lib.llama_vocab_bos(model.vocab) if llama.lib.llama_vocab_get_add_bos(model.vocab) else None
    for i in range(min(chunks, len(ids) // size)):
        chunk = ids[i * size:(i + 1) * size]
        rows = model.run(([begin] if begin is not None else chunk[:1]) + chunk[1:], first)
        for row, want in zip(rows[:-1], chunk[first + 1:]):
            sum_ += np.log(np.exp(row - row.max()).sum()) + row.max() - row[want]
            n += 1
    model.close()
    return sum_ / n, n


def ours(program, device, path, text, chunks, size):
    r = subprocess.run([program, "-m", path, "-d", device, "--perplexity", text, "--perplexity-protocol", "llama",
                        "--chunks", str(chunks), "-c", str(size), "-ctk", "f32", "-ctv", "f32", "--json"],
                       capture_output=True, text=True)
    if r.returncode:
        raise SystemExit(r.stderr)
    said = json.loads(r.stdout)
    return said["cross_entropy"], said["tokens"]


def compare(program, device, path, text, chunks, size, what, most):
    with open(text, encoding="utf-8") as f:
        other, m = theirs(path, f.read(), chunks, size)
    own, n = ours(program, device, path, text, chunks, size)
    for name, nats, tokens in (("engine", own, n), ("llama.cpp", other, m)):
        print("%-14s %-10s %8d tokens  %.6f nats a token  perplexity %.4f" % (what, name, tokens, nats, np.exp(nats)), flush=True)
    return n == m and abs(own - other) < most


def main():
    program, device, path, text = sys.argv[1:5]
    chunks, size = (int(x) for x in (sys.argv[5:7] + ["4", "512"][len(sys.argv[5:7]):]))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        plain = os.path.join(folder, "f32.gguf")
        subprocess.run([os.path.join(os.path.dirname(program), "engine-quantize"), "-q", path, plain, "f32"], check=True)
        good = compare(program, device, plain, text, chunks, size, "made f32", MOST)
    return 0 if compare(program, device, path, text, chunks, size, "as it is", MOST_QUANTISED) and good else 1


if __name__ == "__main__":
    sys.exit(main())
