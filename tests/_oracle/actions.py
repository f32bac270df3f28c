"""Performing an example's actions, traced or not, sync or async, and keeping what came of each."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any

from langgraph.errors import InvalidUpdateError
from langgraph.graph import END
from langgraph.types import Command

from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import record

from .graphs import Example, World, _value, build

CONFIG = {"configurable": {"thread_id": "1"}, "recursion_limit": 9}


@dataclass
class Done:
    """What one action gave back. keys: the runs and updates (Event.run) that it became on the trace."""

    action: tuple[Any, ...]
    returned: Any = None
    error: str | None = None
    state: Any = None
    keys: frozenset[int] = frozenset()


@dataclass
class Played:
    """An example performed: the outcomes, the graph, the world of its nodes, the trace if there was one."""

    example: Example
    graph: Any
    saver: Any
    world: World
    done: list[Done] = field(default_factory=list)
    trace: Any = None
    history: list[Any] = field(default_factory=list)

    def state(self) -> Any:
        """Return the live state after the last action."""
        return self.done[-1].state if self.done else None


def plan(action: tuple[Any, ...], n: int, state: Any, history: list[Any], durability: str):
    """Return (method, args, kwargs, stop_after) for an action, given the live state before it."""
    kind, *args = action
    config, options = CONFIG, {"durability": durability}
    fresh = {"log": [f"input{n}"]}
    # By what they ask: LangGraph gives the questions of one task in a random order.
    asked = sorted((i.value, i.id) for task in state.tasks for i in task.interrupts) if state is not None else []
    asked = [id for _, id in asked]
    if kind == "travel":
        if not history:
            return "invoke", (None, config), options, None
        back, then = args
        config = {**CONFIG, **history[min(back, len(history) - 1)].config}
        config["recursion_limit"] = CONFIG["recursion_limit"]
        kind, args = then, [None]
    if kind == "input":
        return "invoke", (fresh, config), options, None
    if kind == "empty":
        return "invoke", ({}, config), options, None
    if kind == "resume":
        return "invoke", (Command(resume=f"answer{n}"), config), options, None
    if kind == "resume map":
        which = {"all": asked, "first": asked[:1], "unknown": ["0" * 32], "empty": []}[args[0]]
        return "invoke", (Command(resume=dict.fromkeys(which, f"answer{n}")), config), options, None
    if kind == "none":
        return "invoke", (None, config), options, None
    if kind == "update":
        as_node = {"end": END, "start": "__start__", "copy": "__copy__"}.get(args[0], args[0])
        values = None if args[0] in ("end", "copy") else {"log": [f"update{n}"]}
        return "update_state", (config, values), {"as_node": as_node}, None
    if kind == "update inside":
        inside = next((t.state for t in state.tasks if t.state is not None), None) if state is not None else None
        at = getattr(inside, "config", inside) or config
        return "update_state", (at, {"log": [f"update{n}"]}), {}, None
    if kind == "command":
        parts: dict[str, Any] = {}
        if args[0] in ("update", "update resume", "all"):
            parts["update"] = {"log": [f"command{n}"]}
        if args[0] in ("goto", "goto resume", "all"):
            parts["goto"] = "a"
        if args[0] in ("update resume", "goto resume", "all"):
            parts["resume"] = f"answer{n}"
        return "invoke", (Command(**parts), config), options, None
    if kind == "stream":
        return "stream", (fresh, config), {"stream_mode": args[0], **options}, None
    if kind == "stop early":
        return "stream", (fresh, config), {"stream_mode": "updates", **options}, args[0]
    raise AssertionError(kind)


def _begun(trace: Any, seen: int) -> frozenset[int]:
    # Not every event that came since: a task that was cancelled may still tell of the run before.
    return frozenset(e.run for e in trace.events[seen:] if isinstance(e, ev.RunStarted | ev.UpdateStarted))


def _recorded(traced: bool):
    return record() if traced else contextlib.nullcontext()


def play(example: Example, saver: Any, *, traced: bool) -> Played:
    """Perform the example on sync nodes."""
    world = World()
    graph = build(example.graph, world, saver, use_async=False)
    played = Played(example, graph, saver, world)
    with _recorded(traced) as played.trace:
        for n, action in enumerate((("input",), *example.actions)):
            done, seen = Done(action), len(played.trace or ())
            state, history = played.state(), list(graph.get_state_history(CONFIG))
            method, args, options, stop = plan(action, n, state, history, example.durability)
            try:
                out = getattr(graph, method)(*args, **options)
                done.returned = _taken(out, stop) if method == "stream" else out
            except Exception as exc:
                done.error = f"{type(exc).__name__}: {exc}"
            try:
                done.state = graph.get_state(CONFIG, subgraphs=True)
            except InvalidUpdateError:  # two pending writes for a channel that takes one: no state can be read
                pass
            done.keys = _begun(played.trace, seen) if traced else frozenset()
            played.done.append(done)
    played.history = list(graph.get_state_history(CONFIG))
    return played


def _taken(stream: Any, stop: int | None) -> list[Any]:
    chunks = []
    with contextlib.closing(stream):
        for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == stop:
                break
    return chunks


async def aplay(example: Example, saver: Any, *, traced: bool) -> Played:
    """Perform the example on async nodes."""
    world = World()
    graph = build(example.graph, world, saver, use_async=True)
    played = Played(example, graph, saver, world)
    with _recorded(traced) as played.trace:
        for n, action in enumerate((("input",), *example.actions)):
            done, seen = Done(action), len(played.trace or ())
            state = played.state()
            history = [s async for s in graph.aget_state_history(CONFIG)]
            method, args, options, stop = plan(action, n, state, history, example.durability)
            try:
                out = getattr(graph, f"a{method}")(*args, **options)
                done.returned = await (_ataken(out, stop) if method == "stream" else out)
            except Exception as exc:
                done.error = f"{type(exc).__name__}: {exc}"
            try:
                done.state = await graph.aget_state(CONFIG, subgraphs=True)
            except InvalidUpdateError:
                pass
            done.keys = _begun(played.trace, seen) if traced else frozenset()
            played.done.append(done)
    played.history = [s async for s in graph.aget_state_history(CONFIG)]
    return played


async def _ataken(stream: Any, stop: int | None) -> list[Any]:
    chunks = []
    async with contextlib.aclosing(stream):
        async for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == stop:
                break
    return chunks


def both(example: Example, open_saver: Any, *, asynchronous: bool) -> tuple[Played, Played, list[Any]]:
    """Perform the example traced and untraced, each on a saver of its own; return also the traced saver's tuples."""
    if not asynchronous:
        with open_saver() as saver:
            plain = play(example, saver, traced=False)
        with open_saver() as saver:
            traced = play(example, saver, traced=True)
            return traced, plain, list(saver.list(None))

    async def go():
        async with contextlib.AsyncExitStack() as stack:
            plain = await aplay(example, await _entered(stack, open_saver), traced=False)
            saver = await _entered(stack, open_saver)
            traced = await aplay(example, saver, traced=True)
            return traced, plain, [t async for t in saver.alist(None)]

    return asyncio.run(go())


async def _entered(stack: contextlib.AsyncExitStack, open_saver: Any) -> Any:
    made = open_saver()
    return await stack.enter_async_context(made) if hasattr(made, "__aenter__") else stack.enter_context(made)


__all__ = ["CONFIG", "Done", "Played", "_value", "aplay", "both", "play"]
