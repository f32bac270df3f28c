"""Tools a user would pick instead, each run in an environment of its own: `python bench/_tools.py NAME STEPS REPEATS`.

Prints one JSON line: CPU seconds of plain and watched runs of the graph with the growing list, interleaved; and, if the
tool shows what is saved, of watched runs until each superstep's saved state is there to be shown.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "tests")]

from _growing import CONFIG, talk_graph  # noqa: E402
from _work import interleaved  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
_names = iter(range(10**9))


def new_file():
    return str(Path(FOLDER.name) / f"{next(_names)}.sqlite")


def on_disk(path):
    from langgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver(sqlite3.connect(path, check_same_thread=False))


def ways(name, given):
    """Return the ways to run: plain, on the kind of saver the tool goes with; with the tool; until it can show."""

    def run(graph, config=CONFIG):
        return graph.invoke(given, config, durability="sync")

    def plain():
        run(talk_graph())

    def plain_on_disk():
        run(talk_graph(on_disk(new_file())))

    if name == "langgraph-replay":
        from langgraph_replay import ReplayCallbackHandler, ReplayCheckpointer

        def replay():
            path = new_file()
            run(talk_graph(ReplayCheckpointer(db_path=path)), {**CONFIG, "callbacks": [ReplayCallbackHandler(path)]})
            return path

        def timeline():  # what its page asks its server for, without the server and HTTP
            from langgraph_replay.server import create_app

            asked = {route.path: route.endpoint for route in create_app(replay()).routes if hasattr(route, "endpoint")}
            steps = asked["/api/threads/{thread_id}/steps"]("1")
            state = asked["/api/threads/{thread_id}/steps/{checkpoint_id}/state"]
            return [state("1", step["checkpoint_id"]) for step in steps]

        return {"plain": plain_on_disk, "recorded": replay, "shown": timeline}
    if name == "langgraph-viz":
        from langgraph_viz.state_tracker import CaptureConfig, StateTracker
        from langgraph_viz.wrapper import WrappedApp

        def viz():  # what visualize() wraps a graph in, without its server, which would count too
            run(WrappedApp(talk_graph(), StateTracker(CaptureConfig())))

        return {"plain": plain, "recorded": viz}
    if name == "agent-tracegraph":
        from tracegraph import artifact
        from tracegraph.normalize import normalize
        from tracegraph.sqlite_snapshot import ingest_snapshot

        def ingested():
            path = new_file()
            run(talk_graph(on_disk(path)))
            artifact.save(normalize(ingest_snapshot(Path(path), "1", error_channel="error")), Path(path + ".json"))

        return {"plain": plain_on_disk, "recorded": ingested, "shown": ingested}
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{new_file()}")
    mlflow.create_experiment("bench", artifact_location=Path(FOLDER.name).as_uri())
    mlflow.set_experiment("bench")

    def logged():
        mlflow.langchain.autolog()
        try:
            run(talk_graph())
            with contextlib.suppress(AttributeError):
                mlflow.flush_trace_async_logging()
        finally:
            mlflow.langchain.autolog(disable=True)

    return {"plain": plain, "recorded": logged}


if __name__ == "__main__":
    given = {"n": 0, "upto": 3, "messages": []}
    each = ways(sys.argv[1], given)
    for warm_up in each.values():
        warm_up()
    given["upto"] = int(sys.argv[2])
    print(json.dumps(interleaved(int(sys.argv[3]), **each)), flush=True)
