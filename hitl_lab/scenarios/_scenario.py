"""What a scenario is, and how its story is run on a real graph.

A scenario is a graph and the actions of the person who uses it. `run` performs the actions and keeps what each
one gave back, an exception too, so that two runs (traced and untraced, say) can be held against each other.
"""

from __future__ import annotations

import asyncio
import copy
import functools
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot
from packaging.requirements import Requirement


@dataclass(frozen=True)
class Action:
    """One thing the person does. `options` go to the graph's method; `thread` names another thread than the story's."""

    _: KW_ONLY
    options: Mapping[str, Any] = field(default_factory=dict)
    thread: str | None = None


@dataclass(frozen=True)
class Invoke(Action):
    """`graph.invoke(input)`; the input is copied for each run, or made by a callable without arguments."""

    input: Any


@dataclass(frozen=True)
class Resume(Action):
    """`graph.invoke(Command(resume=value))`; a callable gets the paused StateSnapshot, to look up ids."""

    value: Any


@dataclass(frozen=True)
class Continue(Action):
    """`graph.invoke(None)`: go on from the last checkpoint."""


@dataclass(frozen=True)
class Act(Action):
    """`graph.invoke(command)`, for a Command with more than an answer in it; a callable gets the StateSnapshot."""

    command: Command | Callable[[StateSnapshot], Command]


@dataclass(frozen=True)
class Update(Action):
    """`graph.update_state(config, values, as_node)`; `values` and `config` may be callables of the StateSnapshot."""

    values: Any
    as_node: str | None = None
    config: Callable[[StateSnapshot], Any] | None = None


@dataclass(frozen=True)
class Stream(Action):
    """`graph.stream(input, stream_mode=modes)`; the caller stops after `stop_after` chunks, None reads them all."""

    input: Any
    modes: str | tuple[str, ...] = "updates"
    stop_after: int | None = None


@dataclass(frozen=True)
class Events(Action):
    """`graph.astream_events(input, version=version)`, or `graph.stream_events` in a sync run, which needs "v3"."""

    input: Any
    version: str = "v2"


@dataclass(frozen=True)
class Travel(Action):
    """Do `then` at the checkpoint that `select` picks from get_state_history (newest first)."""

    select: Callable[[list[StateSnapshot]], StateSnapshot]
    then: Action


@dataclass(frozen=True)
class Rebuild(Action):
    """Go on with another graph on the same saver, or on the one that `saver` makes: a new deployment."""

    build: Callable[[Any], Pregel]
    saver: Callable[[], BaseCheckpointSaver] | None = None


@dataclass(frozen=True)
class Scenario:
    """A graph, what the person does with it, and which reported cases it covers.

    Attributes:
        name: how the command line and the tests call it, like "broken_node".
        title: what it shows, in one line.
        build: makes a fresh graph with sync nodes on a saver (None: without one).
        story: the actions, in order.
        abuild: the same graph with async nodes; None where the nodes stay sync in async runs.
        topic: the heading it is listed under.
        cases: the reported cases it reproduces, like ("A01",).
        needs: requirements beyond the package's own, like "langgraph>=1.2", or "import langchain.agents" where versions
            that are installed together may not fit each other.
        configurable: makes the `configurable` of every action from the usual one and the saver; None changes nothing.
        racy: with durability "async", what is saved depends on timing: hold only sync and exit runs against each other.
        only: "sync" or "async" where the other kind of run cannot show it, else None.
    """

    name: str
    title: str
    build: Callable[[BaseCheckpointSaver | None], Pregel]
    story: tuple[Action, ...]
    abuild: Callable[[BaseCheckpointSaver | None], Pregel] | None = None
    topic: str = "basics"
    cases: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    configurable: Callable[[dict[str, Any], Any], dict[str, Any]] | None = None
    racy: bool = False
    only: str | None = None

    def __post_init__(self) -> None:
        for action in self.story:
            if not isinstance(action, Action):
                raise TypeError(f"the story of {self.name!r} is made of actions like Invoke(...), not of {action!r}")

    def missing(self) -> str | None:
        """Why the scenario cannot run on what is installed, or None."""
        for need in self.needs:
            verb, _, module = need.partition(" ")
            try:
                if verb == "import":
                    import_module(module)
                    continue
                wanted = Requirement(need)
                found = version(wanted.name)
            except (PackageNotFoundError, ImportError) as error:
                return f"{self.name} needs {module or need}: {error}"
            if not wanted.specifier.contains(found, prereleases=True):
                return f"{self.name} needs {need}, installed is {found}"
        return None


def as_is(node: Callable) -> Callable:
    """The node itself: what a `build` function puts its nodes through unless `as_async` is given."""
    return node


def as_async(node: Callable) -> Callable:
    """The node as an async function of the same name and parameters."""

    @functools.wraps(node)
    async def anode(*args: Any, **kwargs: Any) -> Any:
        return node(*args, **kwargs)

    return anode


@dataclass(frozen=True)
class Outcome:
    """What one action gave back, and the thread afterwards.

    Attributes:
        action: what was done.
        returned: the return value; for a stream the list of its chunks.
        error: the exception that came out instead.
        ran: the nodes, tasks and routers that started, in order; a retry counts again, a cached result does not.
        state: the live StateSnapshot afterwards, with subgraphs; None without a checkpointer.
    """

    action: Action
    returned: Any
    error: Exception | None
    ran: tuple[str, ...]
    state: StateSnapshot | None

    @property
    def values(self) -> Any:
        return self.state.values if self.state else None

    @property
    def next(self) -> tuple[str, ...]:
        return tuple(sorted(self.state.next)) if self.state else ()

    @property
    def interrupts(self) -> tuple[Any, ...]:
        """The questions that wait, by value: their ids differ from run to run, and so does their order."""
        return tuple(sorted((i.value for i in self.state.interrupts), key=repr)) if self.state else ()


class _Starts(BaseCallbackHandler):
    """Collects the names of what starts. `ran` comes from LangChain's callbacks, so a lesson's nodes stay clean."""

    run_inline = True  # else an async run calls it from a thread pool, out of order

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, *args: Any, name: str | None = None, **kwargs: Any) -> None:
        if name and name not in ("LangGraph", "__start__"):
            self.names.append(name)


@dataclass
class _Run:
    """What sync and async runs share: everything that does not wait."""

    graph: Any
    saver: Any
    durability: str | None
    config: dict[str, Any]
    call: str
    configurable: Callable[[dict[str, Any], Any], dict[str, Any]] | None
    starts: _Starts = field(default_factory=_Starts)

    def place(self, action: Action) -> dict[str, Any]:
        configurable = dict(self.config.get("configurable", {}))
        if action.thread is not None:
            configurable["thread_id"] = f"{configurable.get('thread_id', '1')}-{action.thread}"
        if self.configurable is not None:
            configurable = self.configurable(configurable, self.saver)
        return {
            **self.config,
            "configurable": configurable,
            "callbacks": [*self.config.get("callbacks", ()), self.starts],
        }

    def plan(self, action: Action, config: dict[str, Any], before: StateSnapshot | None) -> tuple[str, tuple, dict]:
        """The graph's method to call, with its arguments."""

        def made(value: Any) -> Any:
            return value(before) if callable(value) else value

        def fresh(given: Any) -> Any:
            return given() if callable(given) else copy.deepcopy(given)

        if isinstance(action, Update):
            where = config if action.config is None else action.config(before)
            return "update_state", (where, made(action.values)), {"as_node": action.as_node, **action.options}
        options = dict(action.options)
        if self.durability is not None and self.saver is not None:
            options.setdefault("durability", self.durability)
        if isinstance(action, Stream):
            modes = list(action.modes) if isinstance(action.modes, tuple) else action.modes
            return "stream", (fresh(action.input), config), {"stream_mode": modes, **options}
        if isinstance(action, Events):
            return "stream_events", (fresh(action.input), config), {"version": action.version, **options}
        if isinstance(action, Invoke):
            given = fresh(action.input)
        elif isinstance(action, Resume):
            given = Command(resume=made(action.value))
        elif isinstance(action, Act):
            given = made(action.command)
        elif isinstance(action, Continue):
            given = None
        else:
            raise TypeError(f"{type(action).__name__} cannot be done at another checkpoint")
        return self.call, (given, config), options

    def rebuild(self, action: Rebuild) -> None:
        if action.saver is not None:
            self.saver = action.saver()
        self.graph = action.build(self.saver)

    def outcome(self, action: Action, returned: Any, error: Exception | None, state: StateSnapshot | None) -> Outcome:
        ran, self.starts.names = tuple(self.starts.names), []
        return Outcome(action, returned, error, ran, state)


def _start(scenario: Scenario, saver: Any, durability: str | None, config: Any, call: str, use_async: bool) -> _Run:
    build = scenario.abuild if use_async and scenario.abuild else scenario.build
    config = config or {"configurable": {"thread_id": "1"}}
    return _Run(build(saver), saver, durability, config, call, scenario.configurable)


def run(
    scenario: Scenario,
    saver: BaseCheckpointSaver | None,
    *,
    durability: str | None = "sync",
    config: dict[str, Any] | None = None,
    asynchronous: bool = False,
    call: str = "invoke",
) -> list[Outcome]:
    """Perform the story on a fresh graph and give back one Outcome per action.

    Args:
        scenario: what to run.
        saver: the checkpointer; its thread must be unused, else the story goes on from an old pause.
        durability: "sync", "async", "exit", or None for LangGraph's own default.
        config: with the thread id; by default thread "1".
        asynchronous: `asyncio.run` of `arun`, so not for a running event loop, and not with an AsyncSqliteSaver.
        call: "invoke" or "stream", how the actions that run the graph are made.
    """
    if asynchronous:
        return asyncio.run(arun(scenario, saver, durability=durability, config=config, call=call))
    now = _start(scenario, saver, durability, config, call, use_async=False)
    return [_perform(now, action) for action in scenario.story]


async def arun(
    scenario: Scenario,
    saver: BaseCheckpointSaver | None,
    *,
    durability: str | None = "sync",
    config: dict[str, Any] | None = None,
    call: str = "invoke",
) -> list[Outcome]:
    """The same as `run`, through `ainvoke`, `astream` and `aupdate_state`, with async nodes where there are some."""
    now = _start(scenario, saver, durability, config, call, use_async=True)
    return [await _aperform(now, action) for action in scenario.story]


def _perform(now: _Run, action: Action) -> Outcome:
    returned, error, config, doing = None, None, now.place(action), action
    try:
        if isinstance(action, Rebuild):
            now.rebuild(action)
        else:
            if isinstance(action, Travel):
                chosen = action.select(list(now.graph.get_state_history(config)))
                config, doing = {**config, **chosen.config}, action.then
            method, args, options = now.plan(doing, config, _state(now, config))
            call = getattr(now.graph, method)(*args, **options)
            returned = _take(call, getattr(doing, "stop_after", None)) if method.startswith("stream") else call
    except Exception as caught:  # an outcome like any other: a traced run must raise it too
        error = caught
    return now.outcome(action, returned, error, _state(now, now.place(action)))


def _state(now: _Run, config: dict[str, Any]) -> StateSnapshot | None:
    try:
        return now.graph.get_state(_quiet(config), subgraphs=True)
    except (ValueError, KeyError):  # no checkpointer, or no thread id
        return None


def _take(stream: Any, stop_after: int | None) -> list[Any]:
    chunks: list[Any] = []
    try:
        for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == stop_after:
                break
    finally:
        if hasattr(stream, "close"):  # a generator goes on waiting without it, the run of "v3" events has none
            stream.close()
    if hasattr(stream, "interrupts"):
        chunks.append({"interrupts": stream.interrupts})
    return chunks


async def _aperform(now: _Run, action: Action) -> Outcome:
    returned, error, config, doing = None, None, now.place(action), action
    try:
        if isinstance(action, Rebuild):
            now.rebuild(action)
        else:
            if isinstance(action, Travel):
                chosen = action.select([s async for s in now.graph.aget_state_history(config)])
                config, doing = {**config, **chosen.config}, action.then
            method, args, options = now.plan(doing, config, await _astate(now, config))
            call = getattr(now.graph, f"a{method}")(*args, **options)
            stop_after = getattr(doing, "stop_after", None)
            returned = await (_atake(call, stop_after) if method.startswith("stream") else call)
    except Exception as caught:  # an outcome like any other: a traced run must raise it too
        error = caught
    return now.outcome(action, returned, error, await _astate(now, now.place(action)))


async def _astate(now: _Run, config: dict[str, Any]) -> StateSnapshot | None:
    try:
        return await now.graph.aget_state(_quiet(config), subgraphs=True)
    except (ValueError, KeyError):  # no checkpointer, or no thread id
        return None


async def _atake(stream: Any, stop_after: int | None) -> list[Any]:
    chunks: list[Any] = []
    if asyncio.iscoroutine(stream):  # "v3" events
        stream = await stream
    try:
        async for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == stop_after:
                break
    finally:
        if hasattr(stream, "aclose"):
            await stream.aclose()
    if hasattr(stream, "interrupts"):
        chunks.append({"interrupts": await stream.interrupts()})
    return chunks


def _quiet(config: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in config.items() if k != "callbacks"}
