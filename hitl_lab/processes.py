"""`in_another_process()`: one call of a graph, done and recorded by a process of its own.

A pause outlives its process only in the database: pause in one, resume in the next, and `stitch` makes one trace.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hitl_lab import _child, savers
from hitl_lab.trace import Trace


def in_another_process(
    graph_factory: Any,
    input: Any,
    *,
    saver: str,
    thread: str = "1",
    durability: str = "sync",
    rows: bool = True,
    timeout: float = 60,
) -> Trace:
    """Call `graph.invoke(input)` in a fresh process, wait for it to end, and return the trace it wrote.

    Args:
        graph_factory: as for `hitl_lab.crash`.
        input: of the call, e.g. a dict of state or Command(resume=...); it is pickled.
        saver: the path of an SQLite file, "postgres" or "postgresql://...": what the processes share.
        thread: the thread_id; default "1".
        durability: "sync", "async" or "exit"; default "sync".
        rows: count the rows in the database at its end; default True.
        timeout: seconds for the process; default 60.

    Raises:
        CannotRunThere, TookTooLong: the graph could not be run in another process, or it raised there.
        NoPostgres: no server is known.
    """
    spelled = _child.spell(graph_factory)
    name, place = "sqlite", str(Path(saver).resolve())
    if saver == "postgres" or "://" in saver:
        name, place = "postgres", savers.need_postgres(saver if "://" in saver else None)
    with tempfile.TemporaryDirectory(prefix="hitl-lab-") as folder:
        file = Path(folder) / "trace.jsonl"
        _child.run(_child.Job(spelled, name, place, thread, input, str(file), "", durability, rows), timeout)
        return Trace.load(file)
