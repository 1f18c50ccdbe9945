#!/usr/bin/env python3
"""engine-bench and llama.cpp on the same files, by turns: medians, and ours as a multiple of theirs.

    tests/bench/against-llama.py --llama FOLDER FILE.gguf...

FOLDER has llama-bench, and llama-batched-bench if several sequences are to be timed.  Every round runs each program once,
so that what the machine does meanwhile meets both alike.  Peak memory is that of the process.  What llama.cpp does not
run is left out.  For speed alone: no test calls this.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENS = 32  # decoded, as engine-bench does
BATCH = "512"


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+", metavar="FILE.gguf")
    p.add_argument("--llama", required=True, metavar="FOLDER", help="where llama-bench is")
    p.add_argument("--bench", default=os.path.join(HERE, "..", "..", "build", "engine-bench"), metavar="FILE",
                   help="engine-bench (build/engine-bench of this tree)")
    p.add_argument("--device", default="cpu", help="of ours (cpu)")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of either (all that there are)")
    p.add_argument("--rounds", type=int, default=5, help="medians of so many (5)")
    p.add_argument("--precision", default="exact,fast", help="ours (exact,fast)")
    p.add_argument("--caches", default="f16/f16", help="types of K and V (f16/f16); several: f16/f16,q8_0/q4_0")
    p.add_argument("--prefill", default="512,2048", help="tokens (512,2048), or none")
    p.add_argument("--behind", default="0,4096", help="cells full when tokens are decoded (0,4096), or none")
    p.add_argument("--sequences", default="4,16", help="at once (4,16), or none")
    return p.parse_args()


def run(command, **env):
    """The program's output and the most memory it had; None if it failed, which is said."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, **env)) as process:
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        print(f"exit code {process.returncode}: {' '.join(command)}", file=sys.stderr)
        return None, 0
    return text, used.ru_maxrss * 1024


def plugins(device):
    """Those that drive the device: other plugins' libraries (an OpenCL's compiler) are not in the peer's process."""
    return ",".join(sorted({re.match("[a-z]*", part)[0] for part in re.split("[+,]", device)} | {"meta"}))


def ours(a, file, k, v, precision):
    text, memory = run([a.bench, "-m", file, "-d", a.device, "--json", "--prefill", a.prefill, "--behind", a.behind,
                        "--sequences", a.sequences, "--cache-type-k", k, "--cache-type-v", v, "--precision", precision],
                       ENGINE_CPU_THREADS=str(a.threads), ENGINE_PLUGINS=plugins(a.device))
    if text is None:
        return {}
    p = json.loads(text)["passes"][0]
    figures = {("prefill", x["tokens"]): x["tokens_per_second"] for x in p["prefill"]}
    figures |= {("decode behind", x["behind"]): x["tokens_per_second"] for x in p["decode"]}
    figures |= {("decode of sequences", x["sequences"]): x["tokens_per_second"] for x in p["together"]}
    return figures | {("memory, MB", 0): memory / 1e6}


def theirs(a, file, k, v):
    figures, most = {}, 0
    common = ["-m", file, "-t", str(a.threads), "-ctk", k, "-ctv", v, "-fa", "1", "-r", "1", "-b", BATCH, "-o", "json"]
    tests = [("prefill", "n_prompt", a.prefill, ["-n", "0", "-p", a.prefill]),
             ("decode behind", "n_depth", a.behind, ["-p", "0", "-n", str(TOKENS), "-d", a.behind])]
    for name, key, asked, options in tests:
        if asked == "none":
            continue
        text, memory = run([os.path.join(a.llama, "llama-bench")] + common + options)
        most = max(most, memory)
        for x in json.loads(text) if text else []:
            figures[name, x[key]] = x["avg_ts"]
    batched = os.path.join(a.llama, "llama-batched-bench")
    if a.sequences != "none" and os.path.exists(batched):
        n = max(int(x) for x in a.sequences.split(","))
        text, _ = run([batched, "-m", file, "-t", str(a.threads), "-ctk", k, "-ctv", v, "-fa", "on", "-c", str(n * 64),
                       "-npp", "1", "-ntg", str(TOKENS), "-npl", a.sequences, "--output-format", "jsonl"])
        for line in (text or "").splitlines():
            if line.startswith("{"):
                x = json.loads(line)
                figures["decode of sequences", x["pl"]] = x["speed_tg"]
    if most:
        figures["memory, MB", 0] = most / 1e6
    return figures


def medians(rounds):
    keys = {key for r in rounds for key in r}
    return {key: statistics.median(r[key] for r in rounds if key in r) for key in keys}


def table(a, file, caches, mine, their):
    """A Markdown table: of each figure ours in each precision, theirs, and the ratios."""
    names = list(mine)
    print(f"\n{os.path.basename(file)}, caches {caches}, {a.threads} threads, medians of {a.rounds}; ours / theirs\n")
    print("| | " + " | ".join(names) + " | llama.cpp | " + " | ".join(f"{n}, ratio" for n in names) + " |")
    print("|---" * (2 * len(names) + 2) + "|")
    order = ["prefill", "decode behind", "decode of sequences", "memory, MB"]
    for key in sorted(set().union(their, *mine.values()), key=lambda k: (order.index(k[0]), k[1])):
        label = key[0] if key[0].startswith("memory") else f"{key[0]} {key[1]}"
        cells = [f"{m[key]:.1f}" if key in m else "-" for m in mine.values()]
        ratios = [f"{m[key] / their[key]:.2f}" if key in m and key in their else "-" for m in mine.values()]
        other = f"{their[key]:.1f}" if key in their else "-"
        print(f"| {label} | " + " | ".join(cells) + f" | {other} | " + " | ".join(ratios) + " |", flush=True)


def main():
    a = arguments()
    for program in (a.bench, os.path.join(a.llama, "llama-bench")):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is no program that can be run; build it, or name another with --bench or --llama")
    for file in a.files:
        for caches in a.caches.split(","):
            k, v = caches.split("/")
            mine = {p: [] for p in a.precision.split(",")}
            their = []
            for _ in range(a.rounds):
                for precision, rounds in mine.items():
                    rounds.append(ours(a, file, k, v, precision))
                their.append(theirs(a, file, k, v))
            table(a, file, caches, {p: medians(r) for p, r in mine.items()}, medians(their))


if __name__ == "__main__":
    main()
