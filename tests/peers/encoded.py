"""What engine-quantize makes of seeded matrices, byte by byte beside PyPI's `gguf` (gguf.quants, written in numpy).

    encoded.py ENGINE-QUANTIZE [SEED]

Compared are the types that `gguf` quantises, and what it and engine-quantize decode of them; and of all types that it decodes
what both make of blocks of random bytes.
"""
import os
import subprocess
import sys
import tempfile

import gguf
import numpy
from gguf import quants

TYPES = ("BF16", "F16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0")


def matrices(seed):
    r = numpy.random.default_rng(seed)
    normal = r.standard_normal((64, 512)).astype(numpy.float32)
    scales = numpy.exp2(r.integers(-10, 12, (64, 16))).repeat(32, 1).astype(numpy.float32)
    few = r.integers(-1, 2, (64, 512)).astype(numpy.float32) * 0.37
    zeros = normal * (r.random((64, 512)) < 0.02)
    zeros[::4] = 0
    ties = r.integers(-16, 17, (64, 512)).astype(numpy.float32) / 2
    # not what means the same in other bytes: zeros with a sign, and scales that are 0 as f16, where codes are 0 here
    return {"normal": normal, "scales": normal * scales, "few": few.astype(numpy.float32), "zeros": zeros.astype(numpy.float32) + 0,
            "ties": ties, "uniform": r.random((64, 512)).astype(numpy.float32) - 0.5}


def write(path, tensors, kind=None):
    w = gguf.GGUFWriter(path, "none")
    for name, x in tensors.items():
        w.add_tensor("blk.0.%s.weight" % name, x, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def read(path):
    return {t.name.split(".")[2]: numpy.array(t.data) for t in gguf.GGUFReader(path).tensors}


def quantize(program, source, out, kind):
    subprocess.run([program, "--quiet", "--force", source, out, kind], check=True)
    return read(out)


def decoded_alike(program, folder, kind, r):
    """Of blocks of random bytes: how many numbers are not the same bits.  What NaN says beside being none is nobody's concern."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = r.integers(0, 256, (64, 1024 // elements * size), dtype=numpy.uint8)
    source, back = (os.path.join(folder, x + ".gguf") for x in ("blocks", "values"))
    write(source, {"random": blocks}, kind)
    ours = quantize(program, source, back, "f32")["random"]
    with numpy.errstate(all="ignore"):
        theirs = quants.dequantize(blocks, kind)
    return int(((ours.view(numpy.uint32) != theirs.view(numpy.uint32)) & ~(numpy.isnan(ours) & numpy.isnan(theirs))).sum()), ours.size


def main():
    program = sys.argv[1]
    given = matrices(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
    all_fine, n = True, 0
    with tempfile.TemporaryDirectory() as folder:
        source, coded, back = (os.path.join(folder, x + ".gguf") for x in ("f32", "coded", "back"))
        write(source, given)
        for name in TYPES:
            kind = getattr(gguf.GGMLQuantizationType, name, None)
            n += 1
            try:
                theirs = {k: quants.quantize(x, kind) for k, x in given.items()}
            except (NotImplementedError, AttributeError, KeyError):
                print("ok %d - %s # SKIP this gguf does not quantise it" % (n, name))
                continue
            spelled = name.lower()
            ours = quantize(program, source, coded, spelled)
            wrong = {k: int((ours[k].view(numpy.uint8).reshape(-1) != theirs[k].view(numpy.uint8).reshape(-1)).sum()) for k in given}
            decoded = quantize(program, coded, back, "f32")
            far = [k for k in given if not numpy.array_equal(decoded[k], quants.dequantize(ours[k], kind))]
            fine = not any(wrong.values()) and not far
            all_fine &= fine
            print("%sok %d - %s: bytes of %d matrices as theirs%s%s" % (
                "" if fine else "not ", n, name, len(given), "" if not any(wrong.values()) else ", but of " + ", ".join(
                    "%s (%d of %d)" % (k, w, theirs[k].nbytes) for k, w in wrong.items() if w), ", decoded otherwise: %s" % far if far else ""))
        for kind in sorted(quants._type_traits):
            n += 1
            wrong, of = decoded_alike(program, folder, kind, numpy.random.default_rng(n))
            all_fine &= wrong == 0
            print("%sok %d - %s: of %d numbers of random blocks %d are not theirs" % ("not " if wrong else "", n, kind.name, of, wrong))
    print("1..%d" % n)
    sys.exit(not all_fine)


main()
