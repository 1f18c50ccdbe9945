#!/usr/bin/env python3
"""Shares of the roof as a table in Markdown, what falls short most first.

    engine-bench -d cpu -d opencl:0 --json >1.json      once or several times
    tests/bench/shares.py 1.json 2.json ...             prints the table
    tests/bench/shares.py --write docs/performance.md 1.json ...
                                                        puts it between that file's marks

Of several reports of one machine the least time of each case counts, beside the medians of the roofs: what others use of
a host makes times longer.  A case is as short as its device that falls short most.
"""
import argparse
import json
import os
import statistics
import sys

BEGIN, END = "<!-- shares: begin -->", "<!-- shares: end -->"
SHORT = 0.85  # shares from here on are not listed one by one


def read(paths):
    """Of each device a line, and {case: {device: (share, roof, us)}}."""
    devices, found = {}, {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        except (OSError, ValueError) as error:
            sys.exit(f"shares.py: cannot read {path}: {error}")
        if report.get("schema") != "engine-bench/1":
            sys.exit(f"shares.py: {path} is no report of engine-bench --json")
        for device in report["devices"]:
            devices.setdefault(device["name"], []).append(device)
        for case in report["cases"]:
            if "share" in case:
                found.setdefault(case["case"], {}).setdefault(case["device"], []).append(case)
    return devices, {case: {name: best(runs) for name, runs in of.items()} for case, of in found.items()}


def best(runs):
    """The least time, its share of the roof as that was in most reports, and the roof that bound most often."""
    floor = statistics.median(r["share"] * r["us"] for r in runs)
    least = min(r["us"] for r in runs)
    return floor / least, statistics.mode(r["roof"] for r in runs), least


def roofs(runs):
    units = {"read": ("reads", "GB/s"), "copy": ("copies", "GB/s"), "fma": ("computes", "GFLOP/s"),
             "dot": ("dot products of bytes", "GOP/s"), "matrix": ("matrices", "GFLOP/s")}
    parts = []
    for name, (what, unit) in units.items():
        values = [r["roofs"][name] for r in runs if r["roofs"].get(name)]
        if values:
            parts.append(f"{what} {statistics.median(values) / 1e9:.0f} {unit}")
    return ", ".join(parts)


def cell(value):
    if value is None:
        return "-"
    share, roof, us = value
    return f"{share:.2f} {roof}, {us:.0f}" if us >= 100 else f"{share:.2f} {roof}, {us:.1f}"


def table(devices, cases):
    names = list(devices)
    lines = [f"`{n}`: {devices[n][0]['description']}, {devices[n][0]['driver']}; {roofs(devices[n])}." for n in names]
    lines += ["", "| case | " + " | ".join(f"{n}: share of the roof, us" for n in names) + " |",
              "|---|" + "---|" * len(names)]
    least = {case: min(v[0] for v in of.values()) for case, of in cases.items()}
    short = [case for case in sorted(cases, key=least.get) if least[case] < SHORT]
    for case in short:
        lines.append(f"| `{case}` | " + " | ".join(cell(cases[case].get(n)) for n in names) + " |")
    lines += ["", f"{len(cases) - len(short)} of {len(cases)} cases reach {SHORT} on every device."]
    return "\n".join(lines)


def replace(path, text):
    with open(path, encoding="utf-8") as file:
        before = file.read()
    if before.count(BEGIN) != 1 or before.count(END) != 1 or before.index(BEGIN) > before.index(END):
        sys.exit(f"shares.py: {path} has no line '{BEGIN}' and '{END}' behind it: put them where the table belongs")
    after = before[: before.index(BEGIN)] + BEGIN + "\n" + text + "\n" + before[before.index(END):]
    aside = path + ".new"
    with open(aside, "w", encoding="utf-8") as file:
        file.write(after)
    os.replace(aside, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    parser.add_argument("--write", metavar="FILE", help="put the table there, between its marks")
    given = parser.parse_args()
    text = table(*read(given.reports))
    if given.write:
        replace(given.write, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
