"""What `bench/run.py` runs in processes of their own: `python bench/_work.py NAME ARGUMENTS` (JSON) prints a JSON line.

Times are CPU seconds of the whole process (time.process_time): a busy machine and waiting for a disk count less.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


def timed(run):
    """Return the CPU seconds of a call, after a collection so that no other run's garbage is counted."""
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


def interleaved(repeats, **ways):
    """Return the seconds of each way, run in turn, forwards and backwards, so that a slow minute hits all alike."""
    told = {name: [] for name in ways}
    for i in range(repeats):
        order = list(ways.items())
        for name, run in order if i % 2 == 0 else reversed(order):
            told[name].append(timed(run))
    return told


# ------------------------------------------------------------ recording

_files = []


def _graph(kind, steps):
    """Return (a function that makes the graph, its input)."""
    from _growing import loop_graph, talk_graph, wide_graph

    if kind == "small":
        return loop_graph, {"n": 0, "upto": steps}
    if kind == "sqlite":
        return lambda: loop_graph(_sqlite()), {"n": 0, "upto": steps}
    if kind.startswith("growing"):
        make = talk_graph if kind == "growing" else lambda: talk_graph(_sqlite())
        return make, {"n": 0, "upto": steps, "messages": []}
    return wide_graph, {"n": steps + 1, "upto": 200, "log": []}


def _sqlite():
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver

    file = tempfile.NamedTemporaryFile(suffix=".sqlite")  # noqa: SIM115
    _files.append(file)
    return SqliteSaver(sqlite3.connect(file.name, check_same_thread=False))


def record_cost(kind, steps, repeats, debug=False, shown=False):
    """Plain and recorded runs of one graph; with `debug` the debug stream, kept in a list, in place of plain.

    With `shown` also recorded runs until all that the stepper shows of each superstep is there.
    """
    from _growing import CONFIG

    import hitl_lab

    make, given = _graph(kind, 2)

    def plain():
        make().invoke(given, CONFIG, durability="sync")

    def streamed():
        list(make().stream(given, CONFIG, stream_mode="debug", durability="sync"))

    def recorded():
        graph = make()
        with hitl_lab.record() as trace:
            graph.invoke(given, CONFIG, durability="sync")
        return trace

    def framed():
        from hitl_lab.views.stepper import trace_frames

        return trace_frames(recorded())

    ways = {"plain": streamed if debug else plain, "recorded": recorded} | ({"shown": framed} if shown else {})
    for warm_up in ways.values():
        warm_up()
    make, given = _graph(kind, steps)
    return interleaved(repeats, **ways)


def counted(kind, steps, way, without=None, steady=False):
    """One run, alone between two words to callgrind, which counts the instructions of the process in between.

    way: "plain", "recorded" or "debug", the debug stream kept in a list; "alone", plain in a process that never
    imported hitl_lab, or "idle", in one that did, and has recorded before. without: a part of recording to leave out.
    steady: keep the garbage collector from what was there before: whether one of its full rounds falls into the run
    makes more of a difference than most parts do.
    """
    import subprocess

    from _growing import CONFIG

    if way != "alone":
        import hitl_lab

    if without is not None:
        import _parts

        _parts.leave_out(without)

    def run(make, given):
        if way == "recorded":
            with hitl_lab.record():
                return make().invoke(given, CONFIG, durability="sync")
        if way == "debug":
            return list(make().stream(given, CONFIG, stream_mode="debug", durability="sync"))
        return make().invoke(given, CONFIG, durability="sync")

    def count(switch):
        subprocess.run(["callgrind_control", "-i", switch, str(os.getpid())], capture_output=True, check=True)

    run(*_graph(kind, 5))
    if way == "idle":
        with hitl_lab.record():
            run(*_graph(kind, 5))
        run(*_graph(kind, 5))
    gc.collect()
    if steady:
        gc.freeze()
    count("on")
    run(*_graph(kind, steps))
    count("off")
    return {}


def idle(installed, steps, repeats):
    """Plain runs in a process that never imported hitl_lab, or in one that imported it and has recorded before."""
    from _growing import CONFIG, loop_graph

    if installed:
        import hitl_lab

        with hitl_lab.record():
            loop_graph().invoke({"n": 0, "upto": 5}, CONFIG, durability="sync")

    def run():
        loop_graph().invoke({"n": 0, "upto": steps}, CONFIG, durability="sync")

    run()
    return interleaved(repeats, plain=run)


def kept(steps, size):
    """The bytes kept by a trace, by the debug stream's list, and by the writes themselves."""
    from _growing import CONFIG, talk_graph
    from langchain_core.messages import AIMessage

    import hitl_lab

    given = {"n": 0, "upto": steps, "messages": []}

    def trace():
        with hitl_lab.record() as held:
            talk_graph(size=size).invoke(given, CONFIG, durability="sync")
        return held

    def debug():
        return list(talk_graph(size=size).stream(given, CONFIG, stream_mode="debug", durability="sync"))

    def writes():
        return [
            [("n", 1_000 + i), ("messages", [AIMessage(f"{i:>{size}}", id=f"m{i}")]), ("branch:to:step", None)]
            for i in range(steps)
        ]

    given["upto"] = 3
    trace(), debug()
    given["upto"] = steps
    out = {}
    tracemalloc.start()
    for make in (trace, debug, writes):
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        held = make()
        gc.collect()
        out[make.__name__] = tracemalloc.get_traced_memory()[0] - before
        del held
    return out


# ------------------------------------------------------------ reading, files


def _trace(events):
    """A recorded trace of about so many events: one long run."""
    from _growing import recorded

    return recorded("one_long_run", events // 11)


def reading(events, repeats):
    """CPU seconds to make story, ledger, findings and frames of a trace."""
    from hitl_lab.trace import Trace
    from hitl_lab.views.stepper import trace_frames

    trace = _trace(events)
    start = time.process_time()
    made = trace.events
    told = {"events": len(made), "made": time.process_time() - start}
    for _ in range(repeats):
        again = Trace(made, facts=trace.facts)
        for name in ("story", "ledger", "findings"):
            told[name] = min(told.get(name, 1e9), timed(lambda: getattr(again, name)))  # noqa: B023
        told["frames"] = min(told.get("frames", 1e9), timed(lambda: trace_frames(again)))  # noqa: B023
    return told


def file(events):
    """A trace file written event by event, as record(file=...) does, and saved at once."""
    from hitl_lab.trace import Trace, TraceWriter

    trace = _trace(events)
    values = [
        [getattr(e, name, None) for name in ("value", "values", "changes", "input", "command")] for e in trace.events
    ]
    above = len(gzip.compress(json.dumps(values, separators=(",", ":")).encode()))
    told = {"events": len(trace.events), "values": above}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("trace.jsonl", "trace.jsonl.gz"):
            path = Path(folder) / name

            def write(path=path):
                with TraceWriter(path, trace.facts) as out:
                    for event in trace.events:
                        out.write(event)

            told[name] = {"seconds": timed(write), "bytes": path.stat().st_size}
            tracemalloc.start()
            write()
            told[name]["peak"] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        told["saved"] = trace.save(Path(folder) / "saved.jsonl.gz").stat().st_size
        told["load"] = timed(lambda: Trace.load(Path(folder) / "saved.jsonl.gz"))
    return told


# ------------------------------------------------------------ the rest


def imports():
    """CPU seconds of `import hitl_lab` after langgraph, and of that and the first record()."""
    import langgraph.checkpoint.memory
    import langgraph.graph
    import langgraph.types  # noqa: F401

    start = time.process_time()
    import hitl_lab

    imported = time.process_time() - start
    with hitl_lab.record():
        pass
    return {"import": imported, "record": time.process_time() - start}


def kernel(notebook):
    """Resident bytes of a kernel that imported langgraph, and of one that ran every cell of a notebook."""
    import nbformat
    from jupyter_client.manager import start_new_kernel

    os.environ.setdefault("LANGSMITH_TRACING", "false")

    def resident(cells):
        manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT / "notebooks"))
        try:
            for cell in cells:
                client.execute_interactive(cell, output_hook=lambda _: None, timeout=120, stop_on_error=False)
            status = Path(f"/proc/{manager.provisioner.pid}/status").read_text()
            return 1024 * int(status.split("VmRSS:")[1].split()[0])
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)

    bare = ["import langgraph.graph, langgraph.checkpoint.memory, langchain_core.messages", "import gc; gc.collect()"]
    cells = [c.source for c in nbformat.read(ROOT / "notebooks" / notebook, 4).cells if c.cell_type == "code"]
    return {"bare": resident(bare), "after": resident([*cells, "import gc; gc.collect()"])}


def stepper(events):
    """The stepper in Chromium, see bench/stepper.py."""
    import stepper as program

    return program.figures(events)


if __name__ == "__main__":
    work, given = globals()[sys.argv[1]], json.loads(sys.argv[2])
    print(json.dumps(work(**given)), flush=True)
    for held in _files:
        held.close()
