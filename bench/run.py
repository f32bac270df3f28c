"""What recording costs, and how fast traces are read: `make bench`.

    python bench/run.py [--quick] [--only NAME ...] [--tools]

Writes bench/results.json and the table in docs/performance.md. --only: measure some rows, keep the other rows as they
are. --quick: fewer repeats, to see that it runs; writes nothing. --tools: first install the tools that hitl_lab is
compared with, each in an environment of its own below .run/bench. The notebooks' row takes minutes and is only measured
when it is named: --only course.

Plain and recorded runs are interleaved in one process, and that is done in several processes. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"
ENVIRONMENTS = ROOT / ".run" / "bench"
TOOLS = {
    "langgraph-replay": ["langgraph-checkpoint-sqlite"],
    "langgraph-viz": [],
    "agent-tracegraph": ["langgraph-checkpoint-sqlite"],
    "mlflow": [],
}


def inside(folder):
    """Return the Python of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


class Cannot(Exception):
    """A row that cannot be measured here; the text says why."""


def child(work, python=sys.executable, timeout=600, **given):
    """Run one function of bench/_work.py in a process of its own and return what it printed."""
    return _last_line([python, "bench/_work.py", work, json.dumps(given)], timeout)


def _last_line(command, timeout):
    env = {**os.environ, "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        raise Cannot((done.stderr.strip().splitlines() or ["no output"])[-1][:200])
    return json.loads(done.stdout.strip().splitlines()[-1])


def compared(runs):
    """Return what pairs of plain and recorded runs tell, taken over several processes."""
    plain = [s for run in runs for s in run["plain"]]
    recorded = [s for run in runs for s in run["recorded"]]
    pairs = [b / a for run in runs for a, b in zip(run["plain"], run["recorded"], strict=True)]
    shown = [s for run in runs for s in run.get("shown", ())]
    return {
        **({"shown_median": statistics.median(shown)} if shown else {}),
        "plain": min(plain),
        "recorded": min(recorded),
        "ratio": min(recorded) / min(plain),
        "median_ratio": statistics.median(pairs),
        "plain_median": statistics.median(plain),
        "recorded_median": statistics.median(recorded),
        "pairs": len(pairs),
    }


def cost(kind, steps, processes, repeats, **more):
    """Return the cost of recording one graph."""
    given = {"kind": kind, "steps": steps, "repeats": repeats, **more}
    return compared([child("record_cost", **given) for _ in range(processes)])


def ratio(told):
    """Return "1.12 (1.10)": the median of the pairs, and of the fastest runs."""
    return f"{told['median_ratio']:.2f} ({told['ratio']:.2f})"


def seconds(told):
    """Return "0.071 s → 0.078 s", of the medians."""
    return f"{told['plain_median']:.3f} s → {told['recorded_median']:.3f} s"


# ------------------------------------------------------------ rows: name -> (what it does, what it should reach)


def small(quick):
    """Return the row of 200 supersteps in memory."""
    told = cost("small", 200, *((1, 5) if quick else (6, 16)))
    return told, [("200 supersteps, small state, InMemorySaver", ratio(told), seconds(told), "1.15")]


def sqlite(quick):
    """Return the row of 200 supersteps on SQLite."""
    told = cost("sqlite", 200, *((1, 3) if quick else (5, 8)))
    return told, [("200 supersteps, small state, SqliteSaver", ratio(told), seconds(told), "1.08")]


def growing(quick):
    """Return the rows of a message list that grows."""
    half, full = (cost("growing", n, *((1, 1) if quick else (3, 3))) for n in ((100, 200) if quick else (500, 1000)))
    grows = {way: full[way] / half[way] for way in ("plain", "recorded")}
    steps = 200 if quick else 1000
    return {"half": half, "full": full, "growth": grows}, [
        (f"{steps:,} supersteps, message list that grows to {steps:,}", ratio(full), seconds(full), "1.20"),
        (
            "its growth from half as many supersteps",
            f"× {grows['recorded']:.2f}",
            f"plain × {grows['plain']:.2f}",
            "plain's own",
        ),
    ]


def wide(quick):
    """Return the row of many parallel tasks."""
    told = cost("wide", 3 if quick else 20, *((1, 1) if quick else (3, 4)))
    return told, [("200 parallel tasks a superstep, 20 supersteps", ratio(told), seconds(told), "1.20")]


def idle(quick):
    """Return the rows of a process that has hitl_lab but does not record. A pair is two processes, each at its best."""
    seen = {True: [], False: []}
    for i in range(2 if quick else 8):
        for installed in (True, False) if i % 2 else (False, True):
            runs = child("idle", installed=installed, steps=200, repeats=5 if quick else 12)["plain"]
            seen[installed].append(min(runs))
    told = {
        "plain": min(seen[False]),
        "recorded": min(seen[True]),
        "ratio": min(seen[True]) / min(seen[False]),
        "median_ratio": statistics.median(b / a for a, b in zip(seen[False], seen[True], strict=True)),
        "plain_median": statistics.median(seen[False]),
        "recorded_median": statistics.median(seen[True]),
    }
    rows = [("imported, has recorded before, does not record now", ratio(told), seconds(told), "1.01")]
    try:
        steps = 20 if quick else 200
        told["counted"] = {way: _counted("small", steps, way) for way in ("alone", "idle")}
    except Cannot:
        return told, rows
    plain, idle = told["counted"].values()
    more = f"{plain / 1e6:,.1f} M → {idle / 1e6:,.1f} M instructions"
    return told, [*rows, ("the same, counted", f"{idle / plain:.3f}", more, "1.01")]


def instructions(quick):
    """Return the rows of what callgrind counts, the same on a busy machine."""
    told, rows = {}, []
    for kind, full, name, reach in COUNTED:
        steps = max(1, full // 10) if quick else full
        plain, recorded = (_counted(kind, steps, way) for way in ("plain", "recorded"))
        told[kind] = {"steps": steps, "plain": plain, "recorded": recorded, "ratio": recorded / plain}
        what = f"counted instead of timed: {steps} supersteps, {name}"
        more = f"{plain / 1e6:,.0f} M → {recorded / 1e6:,.0f} M instructions"
        rows.append((what, f"{recorded / plain:.2f}", more, reach))
    return told, rows


COUNTED = (
    ("small", 200, "small state, InMemorySaver", "1.15"),
    ("sqlite", 200, "small state, SqliteSaver", "1.08"),
    ("growing", 400, "growing message list", "1.20"),
    ("wide", 6, "200 parallel tasks each", "1.20"),
)


def parts(quick):
    """Return no rows of the table, but the figures of another: what recording consists of."""
    told = {}
    for kind, full in PARTS_OF.items():
        steps = full // 20 if quick else full
        (empty, *names), ways = _names_of_parts(), ("plain", "recorded", "debug")
        asked = [*((way, "") for way in ways), ("recorded", empty), *(("recorded", name) for name in names)]
        # Each in a process of its own: what is left out stays out. Side by side, for nothing is timed.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda of, kind=kind, steps=steps: _counted(kind, steps, *of, steady=True), asked))
        without = dict(zip(names, found[len(ways) + 1 :], strict=True))
        told[kind] = {"steps": steps, **dict(zip((*ways, "hooks"), found, strict=False)), "without": without}
    return told, []


PARTS_OF = {"small": 200, "growing": 400}


def _names_of_parts():
    told = "print(json.dumps([_parts.EMPTY, *_parts.PARTS]))"
    program = f"import sys, json; sys.path[:0] = ['.', 'bench']; import _parts; {told}"
    return _last_line([sys.executable, "-c", program], 60)


def parts_table(figures):
    """Return the table of the parts as Markdown: thousands of instructions a superstep."""
    columns = {kind: figures[kind] for kind in PARTS_OF}

    def row(name, of):
        cells = (f"{of(one) / one['steps'] / 1e3:,.0f} k" for one in columns.values())
        return f"| {name} | {' | '.join(cells)} |"

    def rest(one):
        return one["recorded"] - one["plain"] - sum(one["recorded"] - n for n in one["without"].values())

    names = next(iter(columns.values()))["without"]
    heads = (f"{one['steps']} supersteps, {PARTS_NAMES[kind]}" for kind, one in columns.items())
    return "\n".join(
        [
            f"| instructions a superstep | {' | '.join(heads)} |",
            "|---|---|---|",
            row("LangGraph, unrecorded", lambda one: one["plain"]),
            row("**recording adds**", lambda one: one["recorded"] - one["plain"]),
            *(row(name, lambda one, name=name: one["recorded"] - one["without"][name]) for name in names),
            row("the rest: tasks planned, started and sending; into each hook and out of it", rest),
            row("**the same hooks, empty, add**", lambda one: one["hooks"] - one["plain"]),
            row('**`stream_mode="debug"`, kept in a list, adds**', lambda one: one["debug"] - one["plain"]),
        ]
    )


PARTS_NAMES = {"small": "small state", "growing": "growing message list"}


def _counted(kind, steps, way, without=None, steady=False):
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        raise Cannot("valgrind is not installed")
    given = json.dumps({"kind": kind, "steps": steps, "way": way, "without": without, "steady": steady})
    with tempfile.TemporaryDirectory() as folder:
        callgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        command = [*callgrind, sys.executable, "bench/_work.py", "counted", given]
        env = {**os.environ, "LANGSMITH_TRACING": "false", "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=900, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None:
        raise Cannot((done.stderr.strip().splitlines() or ["no output"])[-1][:200])
    return int(found[1])


def debug(quick):
    """Return the row against the debug stream."""
    told = cost("growing", 200 if quick else 1000, *((1, 1) if quick else (3, 3)), debug=True)
    return told, [('against `stream_mode="debug"` kept in a list', ratio(told), f"growing, {seconds(told)}", "below 1")]


def memory(quick):
    """Return the rows of what a trace keeps."""
    steps = 100 if quick else 1000
    told = {size: child("kept", steps=steps, size=size) for size in ((2000,) if quick else (400, 2000))}
    rows = []
    for size, kept in told.items():
        rows.append(
            (
                f"memory of a trace, {steps:,} messages of {size:,} characters, against their writes",
                f"{kept['trace'] / kept['writes']:.2f} ×",
                f"{kept['writes'] / steps:,.0f} B → {kept['trace'] / steps:,.0f} B a superstep",
                "3 ×",
            )
        )
        rows.append(
            (
                "the same against the debug stream's list",
                f"{kept['trace'] / kept['debug']:.2f} ×",
                f"{kept['debug'] / steps:,.0f} B a superstep",
                "below 1",
            )
        )
    return told, rows


def reading(quick):
    """Return the rows of reading a long trace."""
    sizes = (5_000, 10_000) if quick else (50_000, 100_000)
    half, full = (child("reading", events=n, repeats=1 if quick else 2) for n in sizes)
    parts = ("story", "ledger", "findings", "frames")
    total = {name: sum(told[p] for p in parts) for name, told in (("half", half), ("full", full))}
    return {"half": half, "full": full, "total": total}, [
        (
            f"story, ledger, findings, frames of {full['events']:,} events",
            f"{total['full']:.2f} s",
            ", ".join(f"{p} {full[p]:.2f}" for p in parts),
            "3 s",
        ),
        ("its growth from half as many events", f"× {total['full'] / total['half']:.2f}", "", "2.2"),
    ]


def file(quick):
    """Return the rows of trace files."""
    told = child("file", events=10_000 if quick else 100_000)
    n = told["events"]
    text, packed = told["trace.jsonl"], told["trace.jsonl.gz"]
    return told, [
        (
            f"trace file of {n:,} events, compressed, written event by event: above its values",
            f"{(packed['bytes'] - told['values']) / n:.0f} B an event",
            f"saved at once {(told['saved'] - told['values']) / n:.0f} B, plain text {text['bytes'] / n:.0f} B",
            "100 B",
        ),
        (
            "memory while it is written",
            f"{max(text['peak'], packed['peak']) / 1e3:.0f} kB",
            f"{text['seconds'] / n * 1e6:.0f} µs an event, compressed {packed['seconds'] / n * 1e6:.0f} µs",
            "bounded",
        ),
    ]


def stepper(quick):
    """Return the rows of the stepper in Chromium."""
    sizes = ((10_000, 2),) if quick else ((10_000, 2), (100_000, 5))
    told = {n: child("stepper", events=n) for n, _ in sizes}
    rows = []
    for n, limit in sizes:
        one = told[n]
        ways = ("next", "jump", "dropped")
        slowest, size = max(one[way]["p95"] for way in ways), f"{one['bytes'] / 1e6:.1f} MB"
        rows.append((f"stepper with {n:,} events: opens in", f"{one['opened']:.2f} s", size, f"{limit} s"))
        rows.append(
            (
                f"stepper with {n:,} events: a step, 95th percentile",
                f"{slowest:.0f} ms",
                ", ".join(f"{way} {one[way]['median']:.0f} / {one[way]['p95']:.0f}" for way in ways),
                "50 ms",
            )
        )
    return told, rows


def imports(quick):
    """Return the row of the import."""
    told = [child("imports") for _ in range(2 if quick else 7)]
    best = {name: min(t[name] for t in told) for name in told[0]}
    return best, [
        (
            "`import hitl_lab` above langgraph",
            f"{best['import'] * 1e3:.0f} ms",
            f"with the first `record()` {best['record'] * 1e3:.0f} ms",
            "150 ms",
        )
    ]


def kernel(_quick):
    """Return the row of a learner's kernel."""
    if not Path("/proc/self/status").exists():
        raise Cannot("resident memory is read from /proc, which this system has not")
    told = child("kernel", notebook="02_the_broken_node.ipynb")
    above = (told["after"] - told["bare"]) / 1e6
    return told, [
        (
            "a kernel after notebook 02, above a bare kernel with langgraph",
            f"{above:.0f} MB",
            f"{told['bare'] / 1e6:.0f} MB → {told['after'] / 1e6:.0f} MB",
            "40 MB",
        )
    ]


def tools(quick):
    """Return no rows of the table, but the figures of another: tools that a user would pick instead, and hitl_lab."""
    steps, processes, repeats = (50, 1, 1) if quick else (200, 3, 6)
    told = {name: cost(kind, steps, processes, repeats, shown=True) for name, kind in OWN.items()}
    for name in TOOLS:
        python = inside(ENVIRONMENTS / name)
        try:
            if not python.exists():
                raise Cannot("not installed: bench/run.py --tools")
            command = [str(python), "bench/_tools.py", name, str(steps), str(repeats)]
            one = compared([_last_line(command, 300) for _ in range(processes)])
        except (Cannot, subprocess.TimeoutExpired) as exc:
            told[name] = {"cannot": str(exc)}
            continue
        ask = f"import importlib.metadata as m; print(*map(m.version, ({name!r}, 'langgraph')))"
        versions = subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True).stdout.split()
        told[name] = {**one, "version": versions[0], "langgraph": versions[1]}
    return told, []


def tools_table(figures):
    """Return the table of the tools as Markdown."""
    out = [
        "| tool | recorded / plain | plain → recorded | until it can be shown | what it shows |",
        "|---|---|---|---|---|",
    ]
    for name, one in figures.items():
        if "cannot" in one:
            out.append(f"| {name} | does not run | | | {_cell(one['cannot'])} |")
            continue
        title = f"{name} {one['version']} (langgraph {one['langgraph']})" if "version" in one else f"**{name}**"
        shown = f"{one['shown_median']:.3f} s" if "shown_median" in one else ""
        out.append(f"| {title} | {ratio(one)} | {seconds(one)} | {shown} | {SHOWS[name]} |")
    return "\n".join(out)


OWN = {"hitl_lab": "growing", "hitl_lab on SqliteSaver": "growing on disk"}
SHOWS = {
    "hitl_lab": "each step of each task: its writes, what is saved of them and what is not",
    "hitl_lab on SqliteSaver": "the same",
    "langgraph-replay": "checkpoints, in a SQLite saver of its own; calls of models; no writes",
    "langgraph-viz": "returned values of each superstep; its server is left out",
    "agent-tracegraph": "checkpoints, read from SqliteSaver's file after the run, which is counted; no dropped write",
    "mlflow": "inputs and outputs of each node (autolog); no saved state",
}


def course(_quick):
    """Return the row of the notebooks under nbval."""
    command = ["-m", "pytest", "-q", "--nbval", "--nbval-current-env", "-n", "2", "--dist", "loadfile", "notebooks"]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    took = time.perf_counter() - start
    if done.returncode:
        raise Cannot(done.stdout.strip().splitlines()[-1][:200])
    return {"seconds": took}, [("the whole course under nbval, 2 processes", f"{took:.0f} s", "wall time", "180 s")]


ROWS = {
    f.__name__: f
    for f in (
        *(small, sqlite, growing, wide, instructions, parts, idle, debug, memory),
        *(reading, file, stepper, imports, kernel, tools, course),
    )
}
NAMED_ONLY = {"course"}
# Tables of their own: name, where they stand on the page, and what makes them of the figures.
OWN_TABLES = (
    ("parts", "<!-- parts begin -->", "<!-- parts end -->", parts_table),
    ("tools", "<!-- tools begin -->", "<!-- tools end -->", tools_table),
)


# ------------------------------------------------------------ the program


def machine():
    """Return what the figures were measured on."""
    model = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        model = platform.processor()
    names = ("langgraph", "langchain-core", "langgraph-checkpoint", "langgraph-checkpoint-sqlite")
    return {
        "cpu": model or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in names},
    }


def install():
    """Install each tool with this langgraph in an environment of its own."""
    pinned = f"langgraph=={importlib.metadata.version('langgraph')}"
    for name, more in TOOLS.items():
        folder = ENVIRONMENTS / name
        # agent-tracegraph needs Python 3.12.
        for python in (sys.executable, "python3.12", "python3.13"):
            try:
                subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
                pip = [str(inside(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
                subprocess.run([*pip, name, pinned, *more], check=True, capture_output=True, text=True)
                print(f"{name}: installed with {python}", flush=True)
                break
            except (OSError, subprocess.CalledProcessError) as exc:
                text = getattr(exc, "stderr", "") or str(exc)
                print(f"{name}: {python}: {str(text).strip().splitlines()[-1][:160]}", flush=True)


def table(results):
    """Return the figures as Markdown."""
    facts = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    out = [
        f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}; Python {facts['python']}; {versions}.",
        "",
        "| work | figure | more | reach |",
        "|---|---|---|---|",
    ]
    for name in ROWS:
        row = results["rows"].get(name)
        rows = row["table"] if row else ()
        out.extend("| " + " | ".join(_cell(c) for c in cells) + " |" for cells in rows)
    return "\n".join(out)


def _cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def write(results):
    """Write results.json and the table into the page."""
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if not PAGE.exists():
        return
    text = _between(PAGE.read_text(encoding="utf-8"), BEGIN, END, table(results))
    for name, begin, end, made in OWN_TABLES:
        figures = results["rows"].get(name, {}).get("figures", {})
        if figures and "cannot" not in figures:
            text = _between(text, begin, end, made(figures))
    PAGE.write_text(text, encoding="utf-8")


def _between(text, begin, end, new):
    if begin not in text:
        return text
    head, rest = text.split(begin, 1)
    return f"{head}{begin}\n{new}\n{end}{rest.split(end, 1)[1]}"


def main():
    """Measure, print, write."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--quick", action="store_true", help="few repeats; writes nothing")
    ask.add_argument("--only", nargs="+", metavar="NAME", choices=ROWS, help=f"some of: {', '.join(ROWS)}")
    ask.add_argument("--tools", action="store_true", help="first install the tools to compare with")
    options = ask.parse_args()
    if options.tools:
        install()
    results = {"rows": {}}
    if options.only and RESULTS.exists():
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
    elif RESULTS.exists():  # a whole run begins anew
        before = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
        results["rows"] = {name: before[name] for name in NAMED_ONLY & before.keys()}
    results["machine"] = machine()
    for name in options.only or [n for n in ROWS if n not in NAMED_ONLY]:
        start = time.perf_counter()
        try:
            told, rows = ROWS[name](options.quick)
        except (Cannot, subprocess.TimeoutExpired) as exc:
            told, rows = {"cannot": str(exc)}, [(name, "not measured", str(exc), "")]
        results["rows"][name] = {"figures": told, "table": rows}
        took = time.perf_counter() - start
        for cells in rows:
            print(" · ".join(c for c in map(str, cells) if c) + f"   [{name}, {took:.0f} s]", flush=True)
        for made in (own[3] for own in OWN_TABLES if own[0] == name and "cannot" not in told):
            print(f"{made(told)}\n[{name}, {took:.0f} s]", flush=True)
        if not options.quick:
            write(results)  # after each row: a run that is stopped leaves what it has measured


if __name__ == "__main__":
    main()
