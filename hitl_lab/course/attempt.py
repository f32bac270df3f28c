"""What a graph did when it was tried: the trace, what each action gave back, and lines of text that tell it."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hitl_lab import record, scenarios
from hitl_lab.scenarios._scenario import Action, Outcome, Scenario, run
from hitl_lab.trace import Trace
from hitl_lab.value_text import show

CONFIG = {"configurable": {"thread_id": "1"}}


@dataclass
class Attempt:
    """One try of an exercise, run and recorded.

    trace: None if nothing ran. outcomes: what each action gave back. error: an exception of the learner's code.
    problem: why it could not be tried, as a sentence. untouched: nothing was written yet. notes: what else was counted.
    lines: what it did, where a trace does not tell it.
    """

    trace: Trace | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    error: BaseException | None = None
    problem: str = ""
    untouched: bool = False
    notes: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def rows(self, channel: str | None = None, **wanted: Any) -> list[Any]:
        """Return the ledger rows of the nodes' writes, of one channel if given, whose fields equal `wanted`."""
        if self.trace is None:
            return []
        rows = [row for row in self.trace.ledger.where(**wanted) if row.node != "__start__"]
        return [row for row in rows if channel in (None, row.channel)]

    @property
    def paused(self) -> list[bool]:
        """For each action: whether the thread stood still after it, with work left."""
        return [bool(outcome.next) for outcome in self.outcomes]

    @property
    def final(self) -> Any:
        """The state's values after the last action, {} if there are none."""
        return self.outcomes[-1].values or {} if self.outcomes else {}

    def told(self) -> list[str]:
        """What the graph did, one line a thing."""
        return [*self.lines, *(told(self.trace) if self.trace is not None else ())]


def perform(build: Any, story: Sequence[Action]) -> Attempt:
    """Build the learner's graph on a fresh saver, do the story with it, and record everything.

    Args:
        build: the learner's function from a saver to a compiled graph; one that gives back None or `...` is untouched.
        story: actions as in a scenario.
    """
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.pregel import Pregel

    if build is None or not callable(build):
        return Attempt(untouched=build is None, problem="Give the function itself, without calling it: build.")
    saver = InMemorySaver()
    try:
        graph = build(saver)
    except NotImplementedError:
        return Attempt(untouched=True)
    except Exception as error:  # noqa: BLE001 - the learner's code may raise anything; they read it
        return Attempt(error=error)
    if graph is None or graph is ...:
        return Attempt(untouched=True)
    if not isinstance(graph, Pregel):
        kind = type(graph).__name__
        hint = " Compile it: graph.compile(checkpointer=saver)." if hasattr(graph, "compile") else ""
        return Attempt(problem=f"Your function gave back a {kind}, not a compiled graph.{hint}")
    if graph.checkpointer is not saver:
        return Attempt(problem="Your graph does not use the saver it was given. Compile it with checkpointer=saver.")
    with record() as trace:
        outcomes = run(Scenario("yours", "your graph", lambda _: graph, tuple(story)), saver)
    error = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
    if isinstance(error, NotImplementedError):
        return Attempt(untouched=True)  # a node that is still the stub
    return Attempt(trace, outcomes, error)


def act(do: Any, build: Callable[[Any], Any], first: Any, config: dict[str, Any] | None = None) -> Attempt:
    """Run a given graph to its pause, then let the learner's function go on with it; record everything.

    Args:
        do: the learner's function of (graph, config).
        build: makes the graph on a saver.
        first: the input of the run that pauses.
    """
    from langgraph.checkpoint.memory import InMemorySaver

    if do is None or not callable(do):
        return Attempt(untouched=do is None, problem="Give the function itself, without calling it.")
    config = config or CONFIG
    saver = InMemorySaver()
    graph = build(saver)
    error = None
    with record() as trace:
        graph.invoke(first, config)
        before = len(trace)
        try:
            do(graph, config)
        except NotImplementedError:
            return Attempt(untouched=True)
        except Exception as caught:  # noqa: BLE001 - the learner's code may raise anything; they read it
            error = caught
        if error is None and len(trace) == before:
            return Attempt(untouched=True)
    state = graph.get_state(config, subgraphs=True)
    return Attempt(trace, [Outcome(Action(), None, error, (), state)], error)


def traced(name: str, *, durability: str = "sync") -> Trace:
    """Run a scenario's story on a fresh saver and return its trace."""
    from langgraph.checkpoint.memory import InMemorySaver

    with record() as trace:
        run(scenarios.get(name), InMemorySaver(), durability=durability)
    return trace


def told(trace: Trace) -> Iterator[str]:
    """Yield what happened in a trace, one line a write, a pause or an end."""
    for action in trace.story.actions:
        if not action.key:
            continue
        yield f"{action.label} ({action.name})"
        for row in trace.ledger:
            if row.action_key == action.key and (action.is_update or row.node != "__start__"):
                wrote = f"wrote {row.channel} = {show(row.value, 58)}" if row.key else f"changed {row.channel} in place"
                yield f"  {row.path} {wrote}: {row.label}"
        for event in action.events:
            if event.kind == "paused" and not event.ns:
                asked = ", ".join(sorted(show(i.value, 40) for i in event.interrupts))
                yield f"  paused at {', '.join(sorted(event.nodes))}" + (f", asking {asked}" if asked else "")
            elif event.kind == "run_ended" and event.status != "paused":
                yield "  done" if event.status == "done" else f"  ended: {event.status}"


def place_of(error: BaseException) -> str:
    """Return where in the learner's own code an exception came from, as a short phrase, "" if nowhere."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        # A notebook cell has a file name of its own, which holds a process id: never shown.
        if "ipykernel_" in frame.filename or frame.filename.startswith("<"):
            line = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
            return f"in line {frame.lineno} of your code" + (f": {line}" if line else "")
    return ""

