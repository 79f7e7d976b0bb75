#!/usr/bin/env python3
"""How good retrieval is, measured with the program that was built. Python 3 standard library only.

  bench_quality.py [--eval DIR] [--rag PATH] [--only NAME,NAME…] [--out docs/quality.md]

Every collection of DIR with the default configuration beside its two legs, then chunks (characters of excerpts found),
pages of PDFs, and relevance (own questions kept, questions of other collections let through). Figures are kept in
target/quality.json, so that a part can be measured again; the tables are written from there, and what stands in the file
under the line BY_HAND stays. Exit 1 where a goal of what was measured is missed.
"""
import argparse, concurrent.futures, contextlib, json, math, os, platform, subprocess, sys, tempfile

# Collection: (goal of the default configuration, what the lexical leg reached when the ranking was designed), nDCG@10.
GOALS = {
    "cranfield": (0.42, 0.3875), "scifact": (0.73, 0.6992), "cacm": (0.585, 0.5485), "cisi": (0.46, 0.4093),
    "adi": (0.53, 0.4937), "cosqa": (0.60, 0.3918), "xquad/en": (0.98, 0.9716), "xquad/de": (0.94, 0.9442),
    "xquad/es": (0.965, 0.9665), "xquad/ru": (0.95, 0.9541), "xquad/zh": (0.965, 0.9666), "xquad/ar": (0.93, 0.9373),
    "jsquad": (0.94, 0.9461),
}
OTHERS = ["chunking-eval", "financebench"]
# Whose questions and documents are in English: relevance is calibrated for what the model knows.
ENGLISH = ["cranfield", "scifact", "cacm", "cisi", "adi", "cosqa", "xquad/en"]
# Collections of one field, which share questions: no strangers to each other.
KIN = [{"adi", "cisi", "cacm"}]
LEG_SLACK, LEXICAL_SLACK = 0.002, 0.005
FOUND = 0.5
# Goals of the means over all collections.
KEPT, LET_THROUGH = 0.90, 0.05
# What follows it in the file is kept.
BY_HAND = "<!-- by hand from here on -->"
FOREIGN_QUESTIONS = 40
STATE = os.path.join("target", "quality.json")


def call(command, codes=(0, 1)):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(command[:3])} …: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def half(value):
    return (value["high"] - value["low"]) / 2


def collection(rag, root, name, index):
    """The default configuration and both legs, asked of one index, which stays for what is asked of it next."""
    folder = os.path.join(root, name)
    result = call([rag, "eval", folder, "--index", index, "--mode", "hybrid,lexical,dense", "--json", "--per-query"])
    by_mode = {one["configuration"]["mode"]: one for one in result["configurations"]}
    figure = {mode: one["metrics"]["ndcg@10"] for mode, one in by_mode.items()}
    goal, lexical = GOALS[name]
    default, best = figure["hybrid"]["mean"], max(figure[leg]["mean"] for leg in ("lexical", "dense"))
    row = {
        "figure": default, "half": half(figure["hybrid"]), "goal": goal, "lexical": figure["lexical"]["mean"],
        "dense": figure["dense"]["mean"], "lexical_goal": lexical, "recall100": by_mode["hybrid"]["metrics"]["recall@100"]["mean"],
        "met": {
            "goal": default >= goal, "leg": default >= best - LEG_SLACK,
            "lexical": figure["lexical"]["mean"] >= lexical - LEXICAL_SLACK,
        },
    }
    if name in ENGLISH:
        asked = by_mode["hybrid"]["per_query"]
        row["kept"] = sum((one["relevance"] or 0) >= FOUND for one in asked) / len(asked)
        row["let_through"], row["strangers"] = strangers(rag, root, name, index)
    return row


def strangers(rag, root, name, index):
    """The share of other collections' questions that are called found here, and how many were asked."""
    known = call([rag, "list", "--index", index, "--json"])["documents"][0]["path"]
    questions = []
    for other in ENGLISH:
        is_kin = any({name, other} <= kin for kin in KIN)
        path = os.path.join(root, other, "queries.jsonl")
        if other == name or is_kin or not os.path.exists(path):
            continue
        lines = [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]
        step = max(1, len(lines) // FOREIGN_QUESTIONS)
        questions += [(f"{other}-{at}", one["text"]) for at, one in enumerate(lines[::step][:FOREIGN_QUESTIONS])]
    with tempfile.TemporaryDirectory() as folder:
        queries, qrels = os.path.join(folder, "queries.jsonl"), os.path.join(folder, "qrels.tsv")
        with open(queries, "w", encoding="utf-8") as out:
            out.writelines(json.dumps({"_id": key, "text": text}) + "\n" for key, text in questions)
        with open(qrels, "w", encoding="utf-8") as out:
            out.writelines(f"{key}\t{known}\t1\n" for key, _ in questions)
        command = [rag, "eval", "--index", index, "--queries", queries, "--qrels", qrels, "--json", "--per-query"]
        asked = call(command)["configurations"][0]["per_query"]
    return sum((one["relevance"] or 0) >= FOUND for one in asked) / len(asked), len(asked)


def ask_all(rag, index, questions, k):
    def one(text):
        return call([rag, "query", text, "-k", str(k), "--index", index, "--json"])["results"]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(one, questions))


def chunks(rag, root, name, index):
    """The share of the excerpts' characters that five chunks hold, scored by the collection's own tool."""
    folder = os.path.join(root, name)
    call([rag, "ingest", os.path.join(folder, "corpus"), "--index", index, "--json"])
    path = os.path.join(folder, "questions.jsonl")
    questions = [json.loads(line) for line in open(path, encoding="utf-8")]
    found = ask_all(rag, index, [one["question"] for one in questions], 5)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8", delete=False) as out:
        for question, results in zip(questions, found):
            spans = [{"doc": r["path"], "start": r["byte_range"][0], "end": r["byte_range"][1]} for r in results]
            out.write(json.dumps({"qid": question["id"], "results": spans}) + "\n")
    score = [sys.executable, os.path.join(root, "chunk_score.py"), path, out.name, "--unit", "byte"]
    scored = call(score + ["--corpus", os.path.join(folder, "corpus"), "--json"])
    os.unlink(out.name)
    recall, iou = 100 * scored["Recall"], 100 * scored["IoU"]
    return {
        "figure": recall, "half": 196 * scored["Recall_sd"] / math.sqrt(len(questions)), "goal": 95.0, "iou": iou,
        "iou_goal": 5.0, "met": {"goal": recall >= 95, "iou": iou >= 5.0},
    }


def pages(rag, root, name, index):
    """How often a chunk of the right PDF whose pages hold an evidence page is among the first five and ten."""
    folder = os.path.join(root, name)
    call([rag, "ingest", os.path.join(folder, "corpus"), "--index", index, "--json"], (0, 3))
    questions = [json.loads(line) for line in open(os.path.join(folder, "evidence.jsonl"), encoding="utf-8")]
    found = ask_all(rag, index, [one["question"] for one in questions], 10)

    def is_hit(question, result):
        # The evidence counts pages from 0.
        wanted = {one["page_index0"] + 1 for one in question["evidence"]}
        span = result["pages"] or [0, -1]
        return os.path.basename(result["path"]) == question["doc"] and any(span[0] <= page <= span[1] for page in wanted)

    def share(k):
        return sum(any(is_hit(q, r) for r in results[:k]) for q, results in zip(questions, found)) / len(questions)

    five, ten = share(5), share(10)
    error = 1.96 * math.sqrt(five * (1 - five) / len(questions))
    return {
        "figure": five, "half": error, "goal": 0.60, "ten": ten, "ten_goal": 0.80,
        "met": {"goal": five >= 0.60, "ten": ten >= 0.80},
    }


@contextlib.contextmanager
def kept(keep, name):
    """The folder of a collection's index: a lasting one where it is to be asked again, else one that goes."""
    if keep:
        folder = os.path.join(keep, name)
        os.makedirs(folder, exist_ok=True)
        yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="rag-quality-") as folder:
            yield folder


def machine():
    model = platform.machine()
    try:
        lines = open("/proc/cpuinfo", encoding="utf-8").read().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{platform.system()} {platform.machine()}, {model}, {os.cpu_count()} cores"


def sign(met):
    return "" if met else " ✗"


def table(state):
    rows = state["rows"]
    lines = [
        "# Quality", "",
        "Measured by `make bench-quality` with the default configuration; a part of it by `make bench-quality ONLY=cranfield,cisi`. ✗ marks a",
        f"figure under its goal. Figures are means over questions ± half of their 95 % interval. {state['version']} on {state['machine']}.", "",
        "## Ranking", "",
        f"nDCG@10 by `rag eval DIR --mode hybrid,lexical,dense`. Goals: the figure named; not under the better leg by more than {LEG_SLACK}; the",
        f"lexical leg not under what it reached when the ranking was designed by more than {LEXICAL_SLACK}.", "",
        "| collection | default | goal | lexical (designed) | dense | better leg | recall@100 |", "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in GOALS:
        if name in rows:
            row = rows[name]
            leg = "lexical" if row["lexical"] >= row["dense"] else "dense"
            gain = row["figure"] - max(row["lexical"], row["dense"])
            lines.append(
                f"| {name} | {row['figure']:.4f} ± {row['half']:.3f}{sign(row['met']['goal'])} | {row['goal']} | {row['lexical']:.4f} "
                f"({row['lexical_goal']}){sign(row['met']['lexical'])} | {row['dense']:.4f} | {leg} {gain:+.4f}{sign(row['met']['leg'])} | {row['recall100']:.3f} |"
            )
    if any("kept" in row for row in rows.values()):
        lines += [
            "", "## Relevance", "",
            f"The share of questions whose relevance is at least {FOUND}: a collection's own, and those of the other English",
            f"collections that are of another field. Goals: on average at least {KEPT} and at most {LET_THROUGH}. By `rag eval --per-query --json`.", "",
            "| collection | own kept | others let through | others asked |", "| --- | --- | --- | --- |",
        ]
        for name in ENGLISH:
            if "kept" in rows.get(name, {}):
                row = rows[name]
                lines.append(f"| {name} | {row['kept']:.2f} | {row['let_through']:.3f} | {row['strangers']} |")
        own, foreign = relevance(rows)
        lines.append(f"| mean | {own:.2f}{sign(own >= KEPT)} | {foreign:.3f}{sign(foreign <= LET_THROUGH)} | |")
    if any(name in rows for name in OTHERS):
        lines += ["", "## Chunks and pages", "", "| what | figure | goal | command |", "| --- | --- | --- | --- |"]
    if "chunking-eval" in rows:
        row = rows["chunking-eval"]
        lines.append(f"| characters of excerpts in 5 chunks, % | {row['figure']:.1f} ± {row['half']:.1f}{sign(row['met']['goal'])} | {row['goal']} | `rag query -k 5`, 276 questions |")
        lines.append(f"| IoU of 5 chunks, % | {row['iou']:.1f}{sign(row['met']['iou'])} | {row['iou_goal']} | the same |")
    if "financebench" in rows:
        row = rows["financebench"]
        lines.append(f"| FinanceBench: evidence page in the first 5 | {row['figure']:.2f} ± {row['half']:.2f}{sign(row['met']['goal'])} | {row['goal']} | `rag query -k 10`, 25 questions |")
        lines.append(f"| … in the first 10 | {row['ten']:.2f}{sign(row['met']['ten'])} | {row['ten_goal']} | the same |")
    minutes = sum(row.get("cpu_minutes", 0) for row in rows.values())
    if minutes:
        lines += ["", f"All of the above took {minutes:.0f} CPU minutes, most of it embedding."]
    return "\n".join(lines) + "\n"


def relevance(rows):
    """Means over the collections: own questions kept, others let through."""
    of = [row for row in rows.values() if "kept" in row]
    return sum(row["kept"] for row in of) / len(of), sum(row["let_through"] for row in of) / len(of)


def write(path, text):
    """Writes the tables, and keeps what was written by hand under them."""
    below = ""
    if os.path.exists(path):
        _, mark, below = open(path, encoding="utf-8").read().partition(BY_HAND)
        below = f"\n{mark}{below}" if mark else ""
    with open(path, "w", encoding="utf-8") as out:
        out.write(text + below)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--eval", default="../shared/eval", help="folder of the collections")
    options.add_argument("--rag", default="target/release/rag")
    options.add_argument("--only", default="", help="names, comma-separated")
    options.add_argument("--keep", default="", help="folder that keeps the indexes: ranking is measured again without embedding again")
    options.add_argument("--out", default="docs/quality.md")
    options = options.parse_args()
    rag, root = os.path.abspath(options.rag), os.path.abspath(options.eval)
    if not os.path.isdir(root):
        sys.exit(f"no collections at {root}: --eval names their folder")
    known = list(GOALS) + OTHERS
    wanted = [name for name in options.only.split(",") if name] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"no collection {', '.join(unknown)}; there are {', '.join(known)}")
    state = {"rows": {}}
    if os.path.exists(STATE):
        state = json.load(open(STATE, encoding="utf-8"))
    # Figures of two programs do not belong into one table.
    version = subprocess.run([rag, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if state.get("version", version) != version:
        state = {"rows": {}}
    state |= {"version": version, "machine": machine()}
    missed = []
    for name in wanted:
        measure = {"chunking-eval": chunks, "financebench": pages}.get(name, collection)
        began = os.times()
        with kept(options.keep, name) as folder:
            row = measure(rag, root, name, os.path.join(folder, "index"))
        ended = os.times()
        # An index that was there costs less than what the figure is about.
        before = state["rows"].get(name, {}).get("cpu_minutes", 0)
        spent = ended.children_user + ended.children_system - began.children_user - began.children_system
        row["cpu_minutes"] = before if options.keep else spent / 60
        state["rows"][name] = row
        os.makedirs(os.path.dirname(STATE), exist_ok=True)
        json.dump(state, open(STATE, "w", encoding="utf-8"), indent=1)
        bad = [what for what, met in row["met"].items() if not met]
        missed += [f"{name} ({what})" for what in bad]
        print(f"{name:14} {row['figure']:.4f} ± {row['half']:.4f}  goal {row['goal']}  {'missed: ' + ', '.join(bad) if bad else 'met'}", flush=True)
    if any("kept" in state["rows"][name] for name in wanted):
        own, foreign = relevance(state["rows"])
        missed += ["own questions kept"] * (own < KEPT) + ["others let through"] * (foreign > LET_THROUGH)
    write(options.out, table(state))
    if missed:
        print("under their goals:", ", ".join(missed))
        sys.exit(1)


if __name__ == "__main__":
    main()
