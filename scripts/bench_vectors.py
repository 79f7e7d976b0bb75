#!/usr/bin/env python3
"""Measures the vector core beside other engines, in one session, and draws the result.

    make bench-vectors                             # everything, hours on a small machine
    bench_vectors.py --sets mnist --peers hnswlib --steps query --passes 1
    bench_vectors.py --only-draw                   # tables and plots of what was measured before

Every index is built once, in a process of its own.  Then, --passes times, each engine is opened and queried in a
fresh process, one engine after the other, so that a slow minute of the machine hits all of them.  Of each operating
point the best pass counts.  Peers need a script with the steps of `peers.py` (--peers-script); without one only our
own numbers are measured.  All JSON lines go to OUT/vectors.jsonl, indexes to OUT/work.

Recall is recall@10 with ties by distance counted as right.  Tables compare queries per CPU second at equal recall: by
log-linear interpolation along the curve of each engine's best points.
"""

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = {"rag-flat": "flat", "rag-graph": "graph"}
RECALLS = [0.90, 0.95, 0.98, 0.99, 0.995, 0.999]
HIGHER = ("qps1", "qps1_cpu", "qps2")
LOWER = ("p50_us", "p99_us", "open_ms", "first_ms")


# ---------------------------------------------------------------------------------------------------- measuring


def bench_program(args):
    """The path of the bench; cargo builds it unless a program is named."""
    if args.program:
        return args.program
    command = ["cargo", "bench", "--locked", "--bench", "vectors", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    built = [json.loads(line) for line in lines if line.startswith("{")]
    return next(m["executable"] for m in built if m.get("executable") and m["target"]["name"] == "vectors")


def run(command, timeout, env=None):
    """The JSON lines that a step printed, or one that says what went wrong."""
    try:
        done = subprocess.run(command, timeout=timeout, env=env, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return [{"error": f"no answer in {timeout} s"}]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        lines.append({"error": (done.stderr + done.stdout)[-500:]})
    return lines


class Probe:
    """CPU milliseconds of a fixed work of random reads: shows how slow the machine was at the time."""

    def __init__(self):
        import numpy

        random = numpy.random.default_rng(0)
        self.rows, self.query = numpy.ones((200_000, 384), numpy.float32), numpy.ones(384, numpy.float32)
        self.order = random.integers(0, len(self.rows), 20_000)

    def __call__(self):
        def once():
            start = time.process_time()
            self.rows[self.order] @ self.query
            return time.process_time() - start

        return round(min(once() for _ in range(3)) * 1e3, 2)


class Session:
    def __init__(self, args):
        self.args = args
        self.program = bench_program(args)
        self.work = args.out / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.probe = Probe()
        self.failed, self.built = set(), set()

    def keep(self, lines, **more):
        with open(self.args.out / "vectors.jsonl", "a") as out:
            for line in lines:
                line = {**line, **more, "load": round(os.getloadavg()[0], 2)}
                out.write(json.dumps(line) + "\n")
                if "error" in line:
                    print("error:", line, file=sys.stderr)

    def ours(self, step, name, engine=None, *more):
        """Runs a step of our bench; with an engine, on its index."""
        command = [self.program, step, "--set", str(self.args.vec / name), *more]
        if engine:
            command += ["--index", str(self.index(name, engine)), "--kind", OURS[engine]]
        return run(command, self.args.timeout)

    def index(self, name, engine):
        return self.work / f"{name}-{engine}.vec"

    def build(self, name, engine):
        index = self.index(name, engine)
        if Path(f"{index}.json").exists() and (not self.args.rebuild or index in self.built):
            return []
        self.built.add(index)
        command = ["--kind", OURS[engine], "--out", str(index), "--threads", str(self.args.threads)]
        return [line for line in self.ours("build", name, None, *command) if "error" in line]

    def query(self, name, queries, engine, number):
        tag = {"set": name, "queries": queries, "peer": engine, "pass": number}
        if (name, engine) in self.failed:
            return
        say(f"{title(name, queries)}: {engine}, pass {number + 1} of {self.args.passes}")
        rounds = ["--rounds", str(self.args.rounds), "--queries", queries]
        before = self.probe()
        if engine in OURS:
            lines = self.build(name, engine) or self.ours("query", name, engine, *rounds)
        else:
            lines = self.peer(name, engine, number, *rounds)
        self.keep(lines, **tag, probe_ms=[before, self.probe()])
        if any("error" in line for line in lines):
            self.failed.add((name, engine))

    def peer(self, name, engine, number, *more):
        """Builds a peer's index if it is not there, and queries it; `peers.py` has a process for each."""
        args = self.args
        command = [args.python, str(args.peers_script), "all", "--vec", str(args.vec), "--sets", name]
        command += ["--peers", engine, "--work", str(self.work / "peers"), "--out", os.devnull]
        command += ["--timeout", str(args.timeout), *more]
        # As ours, an index is built again in the first pass only.
        command += ["--rebuild"] if args.rebuild and number == 0 else []
        return run(command, 2 * args.timeout)

    def step(self, step, name, engine):
        say(f"{name}: {step} of {engine}")
        tag = {"set": name, "peer": engine, "step": step}
        kind, work = ["--kind", OURS[engine]], ["--work", str(self.work)]
        lines = self.build(name, engine)
        if not lines and step == "churn":
            lines = self.ours(step, name, None, *kind, "--threads", str(self.args.threads))
        elif not lines and step == "merge":
            lines = self.ours(step, name, None, *kind, *work)
        elif not lines:
            lines = self.ours(step, name, engine)
        self.keep(lines, **tag)


def title(name, queries):
    return name if queries == "query" else f"{name}, {queries}"


def say(what):
    print(time.strftime("%H:%M:%S"), what, file=sys.stderr, flush=True)


def measure(args):
    session = Session(args)
    peers = args.peers if args.peers_script and args.peers_script.exists() else []
    if not peers:
        print("No peers: our own numbers only.", file=sys.stderr)
    if "query" in args.steps:
        asked = [(name, q) for name in args.sets for q in args.queries if (args.vec / name / f"{q}.npy").exists()]
        for name, queries in asked:
            for number in range(args.passes):
                # Forwards and backwards, so that nobody always comes first.
                engines = [*args.ours, *peers]
                for engine in engines if number % 2 == 0 else reversed(engines):
                    session.query(name, queries, engine, number)
    for name in args.sets:
        for step in [step for step in args.steps if step != "query"]:
            for engine in args.ours:
                # A graph of half a million rows takes long to build and is not what is asked here.
                if step == "churn" and engine != "rag-graph" or step == "merge" and engine != "rag-flat":
                    continue
                session.step(step, name, engine)


# ------------------------------------------------------------------------------------------------------- tables


def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.startswith("{")]


def best_points(lines):
    """{set: {engine: [point]}} of the best of all passes; errors apart."""
    sets, errors = {}, []
    for line in lines:
        if "error" in line:
            errors.append(line)
        elif "step" not in line:
            name = title(line["set"], line.get("queries", "query"))
            points = sets.setdefault(name, {}).setdefault(line["peer"], {})
            best = points.setdefault(line["point"], dict(line))
            for key in HIGHER:
                best[key] = max(best[key], line[key])
            for key in LOWER:
                best[key] = min(best[key], line[key])
    return {name: {e: list(p.values()) for e, p in engines.items()} for name, engines in sets.items()}, errors


def front(points, key="qps1_cpu"):
    """The points that no other beats in both recall and speed, by rising recall."""
    best = []
    for point in sorted(points, key=lambda p: (-p["recall10"], -p[key])):
        if not best or point[key] > best[-1][key]:
            best.append(point)
    return best[::-1]


def at_recall(points, recall, key="qps1_cpu"):
    """Speed at a recall, between two points of the front; `None` if it is never reached."""
    below = None
    for point in front(points, key):
        if point["recall10"] >= recall:
            if below is None or point["recall10"] == recall:
                return point[key]
            share = (recall - below["recall10"]) / (point["recall10"] - below["recall10"])
            return math.exp((1 - share) * math.log(below[key]) + share * math.log(point[key]))
        below = point
    return None


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def head(*cells):
    row(*cells)
    print("|---|" + "--:|" * (len(cells) - 1))


def number(value, form="{:,.0f}"):
    return "–" if value is None else form.format(value)


def tables(lines, at):
    sets, errors = best_points(lines)
    for name, engines in sets.items():
        order = sorted(engines, key=lambda engine: (engine not in OURS, -(at_recall(engines[engine], at) or 0)))
        print(f"\n### {name}\n\nQueries per CPU second, one thread, at equal recall@10:\n")
        head("engine", *(f"{recall:g}" for recall in RECALLS), "highest recall")
        for engine in order:
            points = engines[engine]
            speeds = [number(at_recall(points, recall)) for recall in RECALLS]
            row(engine, *speeds, f"{max(p['recall10'] for p in points):.4f}")
        peers = [engine for engine in order if engine not in OURS]
        for ours in [engine for engine in order if engine in OURS and peers]:
            print(f"\n{ours} ÷ the other engine (∞: the other one never gets there):\n")
            head("engine", *(f"{recall:g}" for recall in RECALLS))
            for engine in peers:
                row(engine, *(ratio(engines[ours], engines[engine], recall) for recall in RECALLS))
        print(f"\nCost of the index, and latency of single searches at the fastest point of recall ≥ {at:g}:\n")
        head("engine", "build CPU s", "build s", "disk MB", "RSS MB (anonymous)", "open + first ms", "p50 µs", "p99 µs")
        for engine in order:
            costs(engine, engines[engine], at)
    for line in errors:
        print(f"\n{line.get('set')}, {line.get('peer')}: {' '.join(line['error'].split())[-200:]}")
    if any("rag-graph" in engines for engines in sets.values()):
        print("\n### Recall that was asked for, and reached (p50 µs)\n")
        head("set", *RECALLS)
        for name, engines in sets.items():
            reached = {point["point"]: point for point in engines.get("rag-graph", [])}
            asked = [reached.get(f"recall {recall:g}") for recall in RECALLS]
            row(name, *(f"{p['recall10']:.4f} ({p['p50_us']:,.0f})" if p else "–" for p in asked))
    steps(lines)


def ratio(ours, theirs, recall):
    us, them = at_recall(ours, recall), at_recall(theirs, recall)
    if us is None:
        return "–" if them is None else "0"
    return "∞" if them is None else f"{us / them:.2f}"


def costs(engine, points, at):
    first = points[0]
    enough = [point for point in points if point["recall10"] >= at]
    fastest = min(enough, key=lambda point: point["p50_us"], default={})
    row(
        engine,
        number(first.get("build_cpu_s"), "{:.1f}"),
        number(first.get("build_s"), "{:.1f}"),
        number(first.get("disk_mb")),
        f"{first['rss_mb']:.0f} ({first['anon_mb']:.0f})",
        f"{min(point['open_ms'] + point['first_ms'] for point in points):.2f}",
        number(fastest.get("p50_us")),
        number(fastest.get("p99_us")),
    )


def steps(lines):
    """Tables of the steps that only we have."""
    last = {}
    for line in lines:
        if "step" in line and "error" not in line:
            same = ("step", "set", "peer", "filter", "selectivity", "target", "state", "point", "phase", "rows")
            last[tuple(str(line.get(key)) for key in same)] = line
    of = lambda step: [line for line in last.values() if line["step"] == step]
    if of("filters"):
        print("\n### Filters\n\nWorst recall@10 and median time over all filters; the scan is exact and has no filter:\n")
        head("set, engine, recall asked for", "lowest recall", "at", "highest p50 µs", "at", "exact scan µs", "no filter µs")
        groups = {}
        for line in of("filters"):
            groups.setdefault((line["set"], line["peer"], line["target"]), []).append(line)
        for (name, engine, target), group in groups.items():
            worst, slowest = min(group, key=lambda l: l["recall10"]), max(group, key=lambda l: l["p50_us"])
            place = lambda line: f"{line['filter']} {line['selectivity']:g}"
            row(f"{name}, {engine}, {target:g}", f"{worst['recall10']:.4f}", place(worst), number(slowest["p50_us"]),
                place(slowest), number(slowest["scan_us"]), number(slowest["unfiltered_us"]))
    if of("churn"):
        print("\n### Churn: half of the rows replaced\n")
        head("set, point", "state", "recall@10", "p50 µs", "CPU s")
        for line in of("churn"):
            row(f"{line['set']}, {line['point']}", line["state"], f"{line['recall10']:.4f}", number(line["p50_us"]), line["cpu_s"])
    if of("merge"):
        print("\n### Searches during a merge\n")
        head("set, rows", "phase", "searches", "p50 ms", "p99 ms", "worst ms", "p99 CPU ms", "worst CPU ms", "merge s")
        for line in of("merge"):
            row(f"{line['set']}, {line['rows']:,}", line["phase"], line["searches"], line["p50_ms"], line["p99_ms"],
                line["worst_ms"], line.get("p99_cpu_ms", "–"), line.get("worst_cpu_ms", "–"), line.get("merge_s", "–"))
    if of("cold"):
        print("\n### First search of a fresh process, ms, best (median)\n")
        head("set, engine", "open", "first search", "CPU of both", "whole process", "a process that does nothing")
        for line in of("cold"):
            pair = lambda key: "{:.2f} ({:.2f})".format(*line[key])
            row(f"{line['set']}, {line['peer']}", pair("open_ms"), pair("first_ms"), pair("cpu_ms"), pair("process_ms"),
                pair("idle_process_ms"))


# -------------------------------------------------------------------------------------------------------- plots

# Read on white and on black: middling colours, and grey for everything that is no data.
GREY = "#808890"
COLORS = ["#d9480f", "#e8890c", "#2f7ed8", "#2a9d6f", "#9b6bd3", "#c2588f", "#7a8b2a", "#3aa5b5", "#a0744a", "#808890"]


def figure(columns, rows, size):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plot

    plot.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "vectors", "font.family": "sans-serif", "font.size": 9,
        "text.color": GREY, "axes.labelcolor": GREY, "axes.edgecolor": GREY, "xtick.color": GREY, "ytick.color": GREY,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": GREY, "grid.alpha": 0.2,
        "axes.titlesize": 10, "legend.frameon": False,
    })
    width, height = size
    return plot.subplots(rows, columns, figsize=(columns * width, rows * height), squeeze=False, layout="constrained")


def save(made, path, legend):
    handles, labels = legend
    if handles:
        # As many columns as fit: each needs a line's sample and room for the longest text.
        columns = int(made.get_figwidth() / (0.6 + 0.07 * max(map(len, labels))))
        made.legend(handles, labels, loc="outside lower center", ncols=max(1, min(columns, len(labels))))
    path.parent.mkdir(parents=True, exist_ok=True)
    made.savefig(path, transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    drawn = re.sub(r"font-family: [^;\"]+", "font-family: sans-serif", path.read_text())
    path.write_text(re.sub(r"(\.\d\d)\d+", r"\1", drawn))
    print(f"drawn: {path}", file=sys.stderr)


def thousands(value, _):
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def draw_recall(lines, path):
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    sets, _ = best_points(lines)
    if not sets:
        return
    columns = min(len(sets), 2)
    made, axes = figure(columns, -(-len(sets) // columns), (4.6, 3.3))
    engines = list(OURS) + sorted({engine for points in sets.values() for engine in points} - set(OURS))
    color = {engine: COLORS[min(at, len(COLORS) - 1)] for at, engine in enumerate(engines)}
    # The scale of recall grows as misses halve; nothing is told apart beyond one in ten thousand.
    stretch = lambda recall: -math.log10(max(1 - recall, 1e-4))
    ticks = [0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999]
    handles = {}
    for axis, (name, points) in zip(axes.flat, sets.items()):
        for engine in [engine for engine in engines if engine in points]:
            curve = [p for p in front(points[engine]) if p["recall10"] >= 0.85]
            ours = engine in OURS
            handles[engine] = axis.plot(
                [stretch(p["recall10"]) for p in curve], [p["qps1_cpu"] for p in curve], color=color[engine],
                linewidth=2.4 if ours else 1.2, marker="o", markersize=3.6 if ours else 2.4, zorder=3 if ours else 2,
            )[0]
        axis.set(yscale="log", title=name, xlabel="recall@10", xlim=(stretch(0.87), 4.1))
        axis.set_xticks([stretch(tick) for tick in ticks], [f"{tick:g}" for tick in ticks])
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(FuncFormatter(thousands))
        axis.yaxis.set_minor_formatter(NullFormatter())
    for axis in axes[:, 0]:
        axis.set_ylabel("queries per CPU second")
    for axis in list(axes.flat)[len(sets):]:
        axis.set_visible(False)
    save(made, path, (handles.values(), handles.keys()))


def draw_filters(lines, path):
    from matplotlib.ticker import FuncFormatter

    lines = [line for line in lines if line.get("step") == "filters" and "error" not in line]
    lines = [line for line in lines if line["target"] == min(l["target"] for l in lines)]
    shown = list(dict.fromkeys((line["set"], line["peer"]) for line in lines))
    if not shown:
        return
    made, axes = figure(len(shown), 2, (3.6, 2.4))
    color = {"random": COLORS[2], "near": COLORS[0], "far": COLORS[3]}
    label = {"random": "any rows", "near": "the rows nearest to the query", "far": "the rows farthest from it"}
    handles = {}
    for column, (name, engine) in enumerate(shown):
        time_axis, recall_axis = axes[:, column]
        mine = [line for line in lines if (line["set"], line["peer"]) == (name, engine)]
        for kind in color:
            latest = {line["selectivity"]: line for line in mine if line["filter"] == kind}
            curve = [latest[share] for share in sorted(latest)]
            shares = [line["selectivity"] for line in curve]
            handles[label[kind]] = time_axis.plot(shares, [l["p50_us"] for l in curve], color=color[kind], marker="o",
                                                  markersize=3, linewidth=1.6)[0]
            recall_axis.plot(shares, [l["recall10"] for l in curve], color=color[kind], marker="o", markersize=3,
                             linewidth=1.6)
        handles["exact scan, no filter"] = time_axis.axhline(mine[-1]["scan_us"], color=GREY, linestyle="--")
        handles["our search, no filter"] = time_axis.axhline(mine[-1]["unfiltered_us"], color=GREY, linestyle=":")
        time_axis.set(title=f"{name}, {engine}", xscale="log", yscale="log")
        time_axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        low = min(line["recall10"] for line in mine)
        recall_axis.set(xscale="log", xlabel="part of the rows that is allowed", ylim=(min(low - 0.005, 0.97), 1.002))
        for axis in (time_axis, recall_axis):
            axis.minorticks_off()
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:g} %"))
    axes[0, 0].set_ylabel("median µs")
    axes[1, 0].set_ylabel("recall@10")
    save(made, path, (handles.values(), handles.keys()))


# --------------------------------------------------------------------------------------------------------- main


def machine():
    try:
        with open("/proc/cpuinfo") as lines:
            name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def main():
    listed = lambda text: [item for item in text.split(",") if item]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=listed, default=["minilm384", "wl256", "mnist", "fashion", "glove50"])
    parser.add_argument("--ours", type=listed, default=list(OURS))
    parser.add_argument("--peers", type=listed, default=listed(
        "hnswlib,rabitqlib-symqg,qdrant-edge-int8,turbovec-2bit,turbovec-4bit,vsag-sq8,zvec-hnsw,faiss-hnswsq8,usearch-i8"
    ))
    parser.add_argument("--peers-script", type=Path, default=ROOT.parent / "shared/bench/peers.py")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the peers")
    parser.add_argument("--vec", type=Path, default=Path("/tmp/vectors"), help="folder of the sets")
    parser.add_argument("--steps", type=listed, default=["query", "filters", "cold"],
                        help="of query, filters, churn, merge, cold")
    parser.add_argument("--queries", type=listed, default=["query"], help="also query_short, of sets that have it")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2, help="in each pass")
    parser.add_argument("--threads", type=int, default=2, help="that build our indexes; peers use 2")
    parser.add_argument("--timeout", type=int, default=1800)
    parser.add_argument("--rebuild", action="store_true")
    parser.add_argument("--program", help="the bench, if it is built already")
    parser.add_argument("--out", type=Path, default=ROOT / "target/bench")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the plots go")
    parser.add_argument("--at", type=float, default=0.99, help="recall at which latencies are compared")
    parser.add_argument("--append", action="store_true", help="keep what was measured before")
    parser.add_argument("--only-draw", action="store_true")
    args = parser.parse_args()
    args.out, args.vec = args.out.resolve(), args.vec.resolve()
    results = args.out / "vectors.jsonl"
    if not args.only_draw:
        missing = [name for name in args.sets if not (args.vec / name / "gt.npy").exists()]
        if missing:
            parser.error(f"no {', '.join(missing)} in {args.vec}")
        if results.exists() and not args.append:
            results.replace(results.with_suffix(".before.jsonl"))
        measure(args)
    lines = read(results)
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    tables(lines, args.at)
    draw_recall(lines, args.docs / "vectors-recall.svg")
    draw_filters(lines, args.docs / "vectors-filters.svg")


if __name__ == "__main__":
    main()
