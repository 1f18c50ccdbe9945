#!/usr/bin/env python3
"""What PyTorch (cuBLAS, its attention) and, where installed, flash-linear-attention do in cases of engine-bench, on the first
NVIDIA card.  A line a case: microseconds (median), GB/s of what must be moved at least, TFLOP/s.  Needs PyTorch; tests only.

    python3 tests/bench/card-peers.py [PATTERN]

PATTERN: only cases whose names match it (a regular expression).  Operands are as many as make 512 MB, so that no cache holds them.
"""
import re
import statistics
import sys

NOT_TRIED = 77  # exit code, as Automake's tests have it

try:
    import torch
except ImportError:
    print("card-peers: no PyTorch here")
    sys.exit(NOT_TRIED)
if not torch.cuda.is_available():
    print("card-peers: PyTorch finds no card")
    sys.exit(NOT_TRIED)

torch.backends.cuda.matmul.allow_tf32 = False
WORKING_SET = 512 << 20
PATTERN = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")


def microseconds(run, sets, rounds=30):
    """The median over rounds; run(i) takes the i-th of the sets of operands."""
    for i in range(3):
        run(i % sets)
    torch.cuda.synchronize()
    times = []
    for i in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run(i % sets)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return statistics.median(times)


def report(name, make, run, moved, operations):
    """make() gives a set of operands, run(operands) is timed; moved: bytes, at least."""
    if not PATTERN.search(name):
        return
    try:
        count = max(1, min(64, WORKING_SET // max(1, moved)))
        sets = [make() for _ in range(count)]
        us = microseconds(lambda i: run(*sets[i]), count)
        print(f"{us:12.1f} us {moved / us / 1e3:9.1f} GB/s {operations / us / 1e6:9.2f} TFLOP/s  {name}", flush=True)
    except Exception as e:  # one library that is missing or refuses leaves the others
        print(f"    not run: {name}: {type(e).__name__}: {str(e).splitlines()[0][:120]}", flush=True)


def random(*shape, kind=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(kind)


def product(kind, n, m=4096, k=4096):
    size = torch.finfo(kind).bits // 8
    report(f"mul_mat {str(kind)[6:]} [{k},{m}] x [{k},{n}]", lambda: (random(m, k, kind=kind), random(n, k, kind=kind)),
           lambda a, b: torch.nn.functional.linear(b, a), size * (m * k + n * k + n * m), 2 * m * k * n)


def attention(tokens, cells, heads=32, shared=8, d=128):
    half = torch.float16

    def run(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1, enable_gqa=True)

    report(f"attention f16, {heads}/{shared} heads of {d}, {tokens} tokens, {cells} cells",
           lambda: (random(1, heads, tokens, d, kind=half), random(1, shared, cells, d, kind=half),
                    random(1, shared, cells, d, kind=half)),
           run, 2 * (2 * shared * cells * d + 2 * heads * tokens * d),
           4 * heads * d * tokens * cells // (2 if tokens > 1 else 1))


def delta_net(tokens, key_heads, heads, d=128):
    if not PATTERN.search("gated_delta_net"):
        return
    try:
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule
    except Exception as e:
        print(f"    not run: gated_delta_net: {type(e).__name__}: {e}")
        return
    bf16 = torch.bfloat16

    def make():
        k = torch.nn.functional.normalize(random(1, tokens, heads, d), dim=-1).to(bf16)
        return (random(1, tokens, heads, d, kind=bf16), k, random(1, tokens, heads, d, kind=bf16),
                -torch.rand(1, tokens, heads, device="cuda"), torch.rand(1, tokens, heads, device="cuda").to(bf16),
                random(1, heads, d, d))

    report(f"gated_delta_net bf16 (fla), {key_heads}/{heads} heads of {d}, {tokens} tokens", make,
           lambda q, k, v, g, beta, s: chunk_gated_delta_rule(q, k, v, g, beta, initial_state=s, output_final_state=True),
           2 * tokens * d * (2 * key_heads + 2 * heads) + 8 * heads * d * d, 6 * tokens * heads * d * d)


def main():
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    report("copy f32 [67108864]", lambda: (random(1 << 26),), lambda x: x.clone(), 8 << 26, 0)
    report("sum f32 [134217728]", lambda: (random(1 << 27),), lambda x: x.sum(), 4 << 27, 0)
    for kind in (torch.float32, torch.float16, torch.bfloat16):
        product(kind, 1, m=14336)
        for n in (1, 2, 4, 8, 16, 32, 512, 4096):
            product(kind, n)
    attention(1, 8192)
    attention(512, 512)
    attention(512, 512, 16, 2, 256)
    report("rms_norm f32 [4096,512]", lambda: (random(512, 4096), random(4096)),
           lambda x, w: torch.nn.functional.rms_norm(x, (4096,), w, 1e-5), 8 * 512 * 4096, 0)
    report("soft_max f32 [4096,512]", lambda: (random(512, 4096),), lambda x: x.softmax(-1), 8 * 512 * 4096, 0)
    report("add f32 [4096,4096]", lambda: (random(4096, 4096), random(4096, 4096)), torch.add, 12 << 24, 0)
    report("cpy f32 to f16 [4096,4096]", lambda: (random(4096, 4096),), lambda x: x.half(), 6 << 24, 0)
    for tokens in (64, 512, 1024):
        delta_net(tokens, 16, 32)
    delta_net(8192, 16, 64)


main()
