"""Run a graph through a list of steps, for the command line: sync or async, with any saver."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from hitl_lab import graphs
from hitl_lab.errors import HitlLabError


class SaverNotOpened(HitlLabError):
    """The checkpointer that was asked for cannot be opened."""


@dataclass(frozen=True)
class Step:
    """One thing to do. kind: "input", "resume", "resume_all" (one answer a question), "update", "continue"."""

    kind: str
    value: Any = None
    as_node: str | None = None


@dataclass
class Plan:
    """What to run. saver: "memory", "sqlite:PATH", "postgres:DSN", or None for the graph's own, else memory."""

    steps: tuple[Step, ...]
    thread: str
    saver: str | None = None
    durability: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    context: Any = None

    @property
    def run_config(self) -> dict[str, Any]:
        """The config of each call."""
        given = dict(self.config)
        given["configurable"] = {"thread_id": self.thread, **given.get("configurable", {})}
        return given

    @property
    def options(self) -> dict[str, Any]:
        """The further arguments of invoke."""
        out: dict[str, Any] = {}
        if self.durability:
            out["durability"] = self.durability
        if self.context is not None:
            out["context"] = self.context
        return out


def run(found: Any, plan: Plan, name: str = "it") -> None:
    """Do the steps on a graph, a builder or a factory (see `hitl_lab.graphs.load`); async if it must be.

    Raises what the graph raises, GraphNotFound, SaverNotOpened.
    """
    made = graphs.make(found, plan.run_config)
    if graphs.is_async(made):
        asyncio.run(_arun(made, plan, name))
        return
    with contextlib.ExitStack() as stack:
        if not graphs.is_graph(made) and hasattr(made, "__enter__"):
            made = stack.enter_context(made)
        graph = graphs.finished(made, name)
        if graphs.is_async(graph):
            asyncio.run(_arun(graph, plan, name))
            return
        if needs_saver(graph, plan):
            graph = graphs.with_saver(graph, stack.enter_context(_saver(plan.saver or "memory")))
        for step in plan.steps:
            _do(graph, step, plan)


def needs_saver(graph: Any, plan: Plan) -> bool:
    """Whether the graph gets a checkpointer: one was named, or it has none of its own."""
    return plan.saver is not None or not hasattr(graph.checkpointer, "get_tuple")


def _input(step: Step, asked: Any) -> Any:
    from langgraph.types import Command

    if step.kind == "resume":
        return Command(resume=step.value)
    if step.kind == "resume_all":
        return Command(resume={i.id: a for i, a in zip(asked, step.value, strict=False)})
    return None if step.kind == "continue" else step.value


def _do(graph: Any, step: Step, plan: Plan) -> None:
    config = plan.run_config
    if step.kind == "update":
        graph.update_state(config, step.value, as_node=step.as_node)
        return
    asked = graph.get_state(config).interrupts if step.kind == "resume_all" else ()
    graph.invoke(_input(step, asked), config, **plan.options)


async def _arun(made: Any, plan: Plan, name: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        if inspect.isawaitable(made):
            made = await made
        if not graphs.is_graph(made) and hasattr(made, "__aenter__"):
            made = await stack.enter_async_context(made)
        graph = graphs.finished(made, name)
        if needs_saver(graph, plan):
            graph = graphs.with_saver(graph, await stack.enter_async_context(_asaver(plan.saver or "memory")))
        for step in plan.steps:
            config = plan.run_config
            if step.kind == "update":
                await graph.aupdate_state(config, step.value, as_node=step.as_node)
                continue
            asked = (await graph.aget_state(config)).interrupts if step.kind == "resume_all" else ()
            await graph.ainvoke(_input(step, asked), config, **plan.options)


@contextlib.contextmanager
def _saver(name: str) -> Iterator[Any]:
    kind, _, where = name.partition(":")
    with contextlib.ExitStack() as stack:
        try:
            if kind == "sqlite":
                from langgraph.checkpoint.sqlite import SqliteSaver

                saver = stack.enter_context(SqliteSaver.from_conn_string(where))
                saver.setup()
            elif kind == "postgres":
                from langgraph.checkpoint.postgres import PostgresSaver

                saver = stack.enter_context(PostgresSaver.from_conn_string(where))
                saver.setup()
            else:
                from langgraph.checkpoint.memory import InMemorySaver

                saver = InMemorySaver()
        except Exception as exc:
            raise _not_opened(kind, exc) from exc
        yield saver


@contextlib.asynccontextmanager
async def _asaver(name: str) -> AsyncIterator[Any]:
    kind, _, where = name.partition(":")
    async with contextlib.AsyncExitStack() as stack:
        try:
            if kind == "sqlite":
                from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

                saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(where))
                await saver.setup()
            elif kind == "postgres":
                from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

                saver = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(where))
                await saver.setup()
            else:
                from langgraph.checkpoint.memory import InMemorySaver

                saver = InMemorySaver()
        except Exception as exc:
            raise _not_opened(kind, exc) from exc
        yield saver


def _not_opened(kind: str, exc: Exception) -> SaverNotOpened:
    if isinstance(exc, ImportError):
        extra = ' Install it: pip install "hitl_lab[postgres]"' if kind == "postgres" else ""
        return SaverNotOpened(f"the {kind} checkpointer is not installed: {exc}.{extra}")
    return SaverNotOpened(f"the {kind} checkpointer cannot be opened: {type(exc).__name__}: {str(exc)[:200].strip()}")
