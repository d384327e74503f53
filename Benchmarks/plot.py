#!/usr/bin/env python3
"""Draws what a run has found: plot.py RESULTS.json DIRECTORY [--format png]

Makes latency, noisy-disk, throughput and bytes-per-record pictures, of what is in the results.
"""

import argparse
import json
import math
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

# Distinguishable with any kind of color vision: Okabe and Ito's colors. mmlog's is the strongest.
COLORS = {
    "mmlog": "#d55e00",
    "C floor": "#000000",
    "null call": "#999999",
    "spdlog async": "#0072b2",
    "spdlog sync": "#56b4e9",
    "glog": "#009e73",
    "queue + FileHandle": "#cc79a7",
    "queue + buffer": "#8c5a78",
    "fwrite": "#e69f00",
    "quill": "#6a3d9a",
    "fmtlog": "#7f3b08",
    "NanoLog": "#66a61e",
    "binlog": "#e7298a",
}
QUANTILES = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
plt.rcParams.update(
    {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 12,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "svg.hashsalt": "mmlog",
    }
)


def duration(nanoseconds, _=None):
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if nanoseconds >= limit:
            return f"{nanoseconds / limit:g} {unit}"
    return f"{nanoseconds:g} ns"


def large(number, _=None):
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def machine(results):
    facts = results["machine"]
    quick = ", quick run" if results["quick"] else ""
    return f"{facts['processor']}, {facts['processors']} processors, {facts['compiler']}{quick}"


def finish(figure, results, path):
    figure.text(0.01, 0.01, machine(results), fontsize=7, color="#666666")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    print(f"drawn: {path}")


def draw_quantiles(results, curves, title, path):
    """A line for each logger: how long calls took at most, against the part of calls for which that holds."""
    figure, axes = plt.subplots(figsize=(9.5, 5))
    for name, (label, color, style) in curves.items():
        points = [(at, part) for at, part in results["latencies"][name] if 0 < part < 1]
        # On this scale, p99.9 is as far from p99 as p99 is from p90.
        across = [0] + [-math.log10(1 - part) for _, part in points]
        up = [points[0][0]] + [at for at, _ in points]
        axes.step(across, up, style, where="pre", label=label, color=color, linewidth=1.8)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(duration))
    axes.set_xticks([-math.log10(1 - part) for part in QUANTILES])
    axes.set_xticklabels([f"{part * 100:g} %" for part in QUANTILES])
    axes.set_xlim(0, -math.log10(1 - QUANTILES[-1]))
    axes.grid(True, which="major", color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.set_xlabel("this part of all calls")
    axes.set_ylabel("takes at most so long (log)")
    axes.set_title(title)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
    finish(figure, results, path)


def latency(results, path):
    curves = {name: (name, color, "-") for name, color in COLORS.items() if name in results["latencies"]}
    if curves:
        title = "A log call with four arguments, one every 1 to 2 µs"
        draw_quantiles(results, curves, title, path)


def noisy_disk(results, path):
    names = [name for name in results["latencies"] if name.endswith(", noisy disk")]
    styles = {"mmlog, ring on the disk": "-", "mmlog, ring on tmpfs": "--"}
    curves = {}
    for name in sorted(names):
        label = name.removesuffix(", noisy disk")
        curves[name] = (label, COLORS[label.split(",")[0]], styles.get(label, "-"))
    if curves:
        title = "The same beside a process that writes and syncs on the same disk"
        draw_quantiles(results, curves, title, path)


def sustained(results, column):
    """What a column of the table of sustained order messages of one thread says, by name."""
    for table in results["tables"]:
        if table["id"] == "sustained-order-1-0":
            index = table["columns"].index(column)
            return {row["name"]: row["cells"][index] for row in table["rows"]}
    return {}


def draw_bars(results, cells, title, label, path, smallest_on_top=False):
    if not cells:
        return
    names = sorted(cells, key=lambda name: cells[name]["median"], reverse=smallest_on_top)
    values = [cells[name]["median"] for name in names]
    errors = [
        [cells[name]["median"] - cells[name]["minimum"] for name in names],
        [cells[name]["maximum"] - cells[name]["median"] for name in names],
    ]
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(names) + 1.6))
    axes.barh(names, values, xerr=errors, color=[COLORS[name] for name in names], height=0.65, ecolor="#444444")
    for place, name in enumerate(names):
        text = f"  {large(cells[name]['median'])}"
        axes.text(cells[name]["maximum"], place, text, va="center", fontsize=9)
    axes.set_xlim(right=max(cell["maximum"] for cell in cells.values()) * 1.12)
    axes.xaxis.set_major_formatter(FuncFormatter(large))
    axes.grid(True, axis="x", color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(label)
    axes.set_title(title)
    finish(figure, results, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--format", choices=["svg", "png"], default="svg")
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text())

    def path(name):
        return arguments.directory / f"{name}.{arguments.format}"

    latency(results, path("latency"))
    noisy_disk(results, path("noisy-disk"))
    rates = sustained(results, "records/s")
    title = "Order messages a second, until all are written and synced"
    draw_bars(results, rates, title, "records per second, one thread", path("throughput"))
    title = "On the disk for an order message"
    sizes = sustained(results, "bytes per record")
    draw_bars(results, sizes, title, "bytes per record", path("bytes-per-record"), smallest_on_top=True)


main()
