"""The only file that touches LangGraph's internals: what to swap, how to check it, how to put it back.

While a `record()` is open, some module globals and two methods are swapped for guards. A guard passes straight
through unless the context that CONSTRUCTS a loop (or calls `update_state`) carries a recorder; then the traced
subclass is used, and the recorder is held as an attribute from there on. Looking the context up on each call instead
would miss commits: in a parallel sync superstep `commit` runs in done-callbacks, and the saver's `put_writes` in pool
threads, where the context variable is not visible.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import importlib
import inspect
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hitl_lab import values
from hitl_lab.errors import NotAGraph, UnsupportedLangGraph
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import reading, shapes, sources, stores
from hitl_lab.tracing.observer import InfoData, LoopObserver
from hitl_lab.tracing.recorder import CURRENT, Recorder

SUPPORTED = ((1, 0, 0), (1, 3))
RANGE = "langgraph >= 1.0.0, < 1.3"

_NEEDED: dict[str, tuple[str, ...]] = {
    "langgraph.pregel.main": (
        "SyncPregelLoop", "AsyncPregelLoop", "PregelRunner", "apply_writes",
        "Pregel.bulk_update_state", "Pregel.abulk_update_state", "Pregel.get_state", "Pregel.aget_state",
    ),
    "langgraph.pregel._loop": (
        "apply_writes", "PregelLoop.tick", "PregelLoop.after_tick", "PregelLoop.put_writes", "PregelLoop._first",
        "PregelLoop._put_checkpoint", "PregelLoop._suppress_interrupt", "PregelLoop.accept_push",
        "SyncPregelLoop._checkpointer_put_after_previous", "AsyncPregelLoop._checkpointer_put_after_previous",
    ),
    "langgraph.pregel._runner": ("PregelRunner.commit", "run_with_retry", "arun_with_retry"),
    "langgraph._internal._constants": (
        "CONF", "CONFIG_KEY_SEND", "CONFIG_KEY_SCRATCHPAD", "CONFIG_KEY_TASK_ID", "CONFIG_KEY_CHECKPOINT_NS",
        "CONFIG_KEY_CHECKPOINT_ID", "CONFIG_KEY_THREAD_ID", "CONFIG_KEY_CHECKPOINTER", "INTERRUPT", "RESUME",
        "ERROR", "NO_WRITES", "RETURN", "NULL_TASK_ID", "TASKS", "NS_SEP",
    ),
    "langgraph.pregel.protocol": ("StreamProtocol",),
    "langgraph.channels.untracked_value": ("UntrackedValue",),
    "langgraph.errors": ("GraphInterrupt", "GraphBubbleUp"),
    "langgraph.types": ("Command", "interrupt"),
}  # fmt: skip


def check() -> None:
    """Make sure that the installed LangGraph is one the seams fit.

    Raises UnsupportedLangGraph naming the installed version, the supported range and what is missing.
    """
    try:
        installed = version("langgraph")
    except PackageNotFoundError:
        raise UnsupportedLangGraph(f"LangGraph is not installed. Install {RANGE}.") from None
    numbers = tuple(int(part) for part in installed.split(".")[:3] if part.isdigit())
    if not SUPPORTED[0] <= numbers < SUPPORTED[1]:
        raise UnsupportedLangGraph(
            f"LangGraph {installed} is installed; hitl_lab can record {RANGE}. Install a version in that range, "
            "or a newer hitl_lab."
        )
    missing = [name for name in _missing()]
    if missing:
        raise UnsupportedLangGraph(
            f"LangGraph {installed} is installed, in the supported range ({RANGE}), but lacks {', '.join(missing)}. "
            "It may be patched: reinstall it, or take the patch off before recording."
        )


def _missing() -> Iterator[str]:
    for module_name, names in _NEEDED.items():
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            yield module_name
            continue
        for name in names:
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part, _GONE)
                if found is _GONE:
                    yield f"{module_name}.{name}"
                    break


_GONE = object()

check()  # a missing name is told by name here, before the classes below trip over it

from langgraph._internal import _constants as K  # noqa: E402
from langgraph.channels.untracked_value import UntrackedValue  # noqa: E402
from langgraph.errors import GraphBubbleUp, GraphInterrupt  # noqa: E402
from langgraph.pregel import _loop as L  # noqa: E402
from langgraph.pregel import _runner as R  # noqa: E402
from langgraph.pregel import main as M  # noqa: E402
from langgraph.pregel.protocol import StreamProtocol  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402

CONF, SEND, PAD = K.CONF, K.CONFIG_KEY_SEND, K.CONFIG_KEY_SCRATCHPAD
_SPECIAL = frozenset(
    {K.INTERRUPT, K.RESUME, K.ERROR, K.NO_WRITES, getattr(K, "ERROR_SOURCE_NODE", "__error_source_node__"), "__input__"}
)
_local = threading.local()

FUNCTIONS: dict[str, Any] = {
    "tick": L.PregelLoop.tick,
    "task_started": R.run_with_retry,
    "interrupt_called": interrupt,
    "commit": R.PregelRunner.commit,
    "put_writes": L.PregelLoop.put_writes,
    "after_tick": L.PregelLoop.after_tick,
    "_first": L.PregelLoop._first,
    "_suppress_interrupt": L.PregelLoop._suppress_interrupt,
    "checkpoint": L.PregelLoop._put_checkpoint,
    "update_state": M.Pregel.bulk_update_state,
}
"""The installed functions at work, by the kind of event (or the `where` of Applied) they cause; for views that show
their source."""


def is_control(channel: str) -> bool:
    """Whether a channel carries control flow rather than state: branch, join, Send, and the start trigger."""
    return channel.startswith(("branch:to:", "join:")) or channel in (K.TASKS, "__start__")


_KNOWN: dict[str, Any] = {
    "special": _SPECIAL,
    "is_control": is_control,
    "nothing": K.NO_WRITES,
    "null_task": K.NULL_TASK_ID,
    "result": K.RETURN,
}


def facts() -> dict[str, Any]:
    """Return what the header of a trace says of the installation."""
    return {"langgraph": version("langgraph"), "python": platform.python_version()}


def require_graph(graph: Any, where: str) -> None:
    """Raise NotAGraph unless `graph` is a compiled LangGraph graph (a Pregel)."""
    if isinstance(graph, M.Pregel):
        return
    hint = "Call .compile() on it first." if hasattr(graph, "compile") else "Give the result of builder.compile()."
    raise NotAGraph(f"{where} needs a compiled LangGraph graph, not {type(graph).__name__}. {hint}")


# ---------------------------------------------------------------- swapping

_lock = threading.RLock()
_depth = 0
_originals: list[tuple[Any, str, Any]] = []


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Swap the names in for as long as any `record()` is open; the last one out puts the very same objects back."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            _swap()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _restore()


def _swap() -> None:
    for holder, name, made in (
        (M, "SyncPregelLoop", functools.partial(_guard, TracedSyncLoop)),
        (M, "AsyncPregelLoop", functools.partial(_guard, TracedAsyncLoop)),
        (M, "PregelRunner", _runner_guard),
        (R, "run_with_retry", _run_with_retry),
        (R, "arun_with_retry", _arun_with_retry),
        (L, "apply_writes", _loop_apply_writes),
        (M, "apply_writes", _update_apply_writes),
        (M.Pregel, "bulk_update_state", _bulk_update_state),
        (M.Pregel, "abulk_update_state", _abulk_update_state),
        *stores.swaps(_tell_store),
    ):
        original = vars(holder)[name]
        _originals.append((holder, name, original))
        setattr(holder, name, made(original))


def _tell_store(label: str, via: str, frame: Any) -> None:
    found = current_task()
    if found is not None:
        observer, task = found
        observer.side_effect(task, label, via, sources.of_frame(frame))


def _restore() -> None:
    while _originals:
        holder, name, original = _originals.pop()
        setattr(holder, name, original)


def _guard(traced: type, original: type) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def construct(*args: Any, **kwargs: Any) -> Any:
        recorder = CURRENT.get()
        if recorder is not None and recorder.gates is not None:
            recorder.gates.check()
        nested = _send_of(kwargs.get("config"))
        if nested is None and (recorder is None or recorder.dead or recorder.closed):
            return original(*args, **kwargs)
        loop = traced(*args, **kwargs)
        loop.begin_tracing(recorder, nested, sys._getframe(1))
        return loop

    return construct


def _runner_guard(original: type) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def construct(*args: Any, **kwargs: Any) -> Any:
        loop = getattr(kwargs.get("put_writes", lambda: None)(), "__self__", None)
        if isinstance(loop, _Traced):
            runner = TracedRunner(*args, **kwargs)
            runner.observer, runner.loop = loop.observer, loop
            return runner
        return original(*args, **kwargs)

    return construct


# ---------------------------------------------------------------- a task's send and its interrupt counter


class _Send:
    """Stands for `task.writes.extend` in a task's config and tells the observer of each write."""

    __slots__ = ("observer", "send", "task")

    def __init__(self, observer: LoopObserver, task: Any, send: Callable[[Any], None]) -> None:
        self.observer, self.task, self.send = observer, task, send

    def __call__(self, writes: Any) -> None:
        if type(writes) is not list:
            writes = list(writes)
        observer = self.observer
        if observer.recorder.gates is not None:
            _check(observer)
        self.send(writes)
        frame = sys._getframe(1)
        via, source = ("return", None) if _sender(frame.f_code) == "return" else _via(frame)
        if via == "interrupt()":
            _tell_kept_answer(observer, self.task, frame)
        observer.sent(self.task, writes, via, source)


_SENDERS = {"langgraph/pregel/_write.py": "return", "langgraph/types.py": "interrupt()", "langgraph/pregel/_retry.py": ""}


@functools.lru_cache(maxsize=4096)
def _sender(code: Any) -> str:
    name = code.co_filename.replace("\\", "/")
    return next((via for end, via in _SENDERS.items() if name.endswith(end)), "send")


def _via(frame: Any) -> tuple[str, ev.Source | None]:
    # The first caller that is no guard of a timeout (langgraph wraps the send of a node with a timeout policy).
    via = _sender(frame.f_code)
    for _ in range(4):
        if via or frame.f_back is None:
            break
        frame = frame.f_back
        via = _sender(frame.f_code)
    return (via, None) if via in ("return", "interrupt()") else ("send", sources.of_frame(frame))


def _tell_kept_answer(observer: LoopObserver, task: Any, frame: Any) -> None:
    """`interrupt()` sends the answer it found: tell the call, unless `_NullResume` has."""
    for _ in range(4):
        if frame is None or frame.f_code is interrupt_code:
            break
        frame = frame.f_back
    if frame is not None and _local.__dict__.pop("told", None) != id(frame):
        _tell_interrupt(observer, task, frame, True)


class _NullResume:
    """Stands for a scratchpad's `get_null_resume`: `interrupt()` asks it for an answer when none was kept for the task.

    Not `interrupt_counter`, which `interrupt()` calls first: a retry gets a new one.
    """

    __slots__ = ("get", "observer", "task")

    def __init__(self, observer: LoopObserver, task: Any, get: Callable[..., Any]) -> None:
        self.observer, self.task, self.get = observer, task, get

    def __call__(self, consume: bool = False) -> Any:
        frame = sys._getframe(1)
        # A subgraph's scratchpad passes the question on to its caller's: only interrupt() itself counts.
        if frame.f_code is not interrupt_code:
            return self.get(consume)
        _check(self.observer)
        answer = self.get(consume)
        _tell_interrupt(self.observer, self.task, frame, answer is not None)
        if answer is not None:
            _local.told = id(frame)  # it hands the answer to send next, unless it finds it invalid
        return answer


interrupt_code = inspect.unwrap(interrupt).__code__


def _tell_interrupt(observer: LoopObserver, task: Any, frame: Any, answered: bool) -> None:
    try:
        found, caller = frame.f_locals, frame.f_back
        source = sources.of_frame(caller) if caller is not None else None
        observer.interrupt_called(task, found["idx"], found["value"], answered, source)
    except Exception as exc:
        observer.recorder.note(f"A call of interrupt() could not be read: {values.error_text(exc)}")


def _check(observer: LoopObserver) -> None:
    # A node that runs on after its executor was let go ends at the next thing it does.
    gates = observer.recorder.gates
    if gates is not None:
        gates.check()


def _send_of(config: Any) -> _Send | None:
    send = config.get(CONF, {}).get(SEND) if config else None
    return send if isinstance(send, _Send) else None


def _instrument(observer: LoopObserver, task: Any) -> None:
    conf = task.config[CONF] if task.config else None
    if not conf:
        return
    send = conf.get(SEND)
    if send is not None and not isinstance(send, _Send):
        conf[SEND] = _Send(observer, task, send)
    pad = conf.get(PAD)
    get = getattr(pad, "get_null_resume", None)
    if get is not None and type(get) is not _NullResume:
        # The scratchpad is a frozen dataclass that the config, and closures, already hold: set the field on it.
        try:
            object.__setattr__(pad, "get_null_resume", _NullResume(observer, task, get))
        except (AttributeError, TypeError) as exc:
            observer.recorder.note(f"Calls of interrupt() cannot be seen: {values.error_text(exc)}")


def _task_here() -> str:
    """Return the id of the task that starts a graph which does not know its caller's config, "" outside a node."""
    found = current_task()
    return found[1].id if found is not None else ""


def current_task() -> tuple[LoopObserver, Any] | None:
    """Return the observer and task of the node that runs in this context, None outside a recorded node."""
    from langgraph.config import get_config

    try:
        found = _send_of(get_config())
    except RuntimeError:  # LangGraph's word for "outside of a runnable context"
        return None
    return (found.observer, found.task) if found is not None else None


# ---------------------------------------------------------------- loops


def _untracked(channels: Any) -> frozenset[str]:
    return frozenset(name for name, channel in channels.items() if isinstance(channel, UntrackedValue))


class _Traced:
    """What the sync and the async traced loop share; hooks in the order in which they are called."""

    observer: LoopObserver
    action = "invoke"
    caller: ev.Source | None = None
    graph: Any = None
    _left = False
    just_ran: tuple[Any, ...] = ()
    counterfactual: str | None = None
    kept: tuple[tuple[str, Any], ...] = ()
    gates: Any = None
    strand = ""
    _tick_due = _applied_early = False

    def begin_tracing(self: Any, recorder: Recorder | None, nested: _Send | None, frame: Any) -> None:
        if nested is not None and self.is_nested:
            recorder, run, parent = nested.observer.recorder, nested.observer.run, nested.task.id
        else:
            assert recorder is not None or nested is not None
            recorder = recorder or nested.observer.recorder
            parent = self.config[CONF].get(K.CONFIG_KEY_TASK_ID, "") if self.is_nested else ""
            run = recorder.run_of_task.get(parent) or recorder.new_run()
        ns = tuple(self.checkpoint_ns) if self.is_nested else ()
        self.observer = LoopObserver(recorder, run, ns, parent_task=parent, **_KNOWN)
        self.graph = frame.f_locals.get("self")
        self.counterfactual = next((r.counterfactual for r in recorder.lineage() if r.counterfactual), None)
        if not self.is_nested:
            self.action, self.caller = _call_site(frame)
            self.caller = self.caller or self.observer.recorder.caller
            self.tap_stream()
        if self.checkpointer_put_writes is not None:
            self.checkpointer_put_writes = _watch_put_writes(self, self.checkpointer_put_writes)
        self.gates = self.observer.recorder.gates
        if self.gates is not None:
            self.strand = parent or _task_here()
            self.gates.loop_began(self)

    def is_cut_off(self) -> bool:
        """Whether nothing may reach the checkpointer any more: the executor that ran this loop was let go."""
        return self.gates is not None and self.gates.gone

    def tap_stream(self: Any) -> None:
        stream, observer = self.stream, self.observer
        if stream is None:
            return
        observer.values_seen = "values" in stream.modes

        def tap(chunk: Any) -> None:
            if chunk[1] == "values" and not chunk[0]:
                observer.last_values = chunk[2]
            stream(chunk)

        self.stream = StreamProtocol(tap, stream.modes)

    def _first(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.tell_start()
        stack = _enter(self, "_first")
        try:
            return super()._first(*args, **kwargs)
        finally:
            stack.pop()

    def tell_start(self: Any) -> None:
        """Emit the start once the checkpoint is loaded, before its input is applied."""
        observer, conf = self.observer, self.config[CONF]
        if observer.started:
            return
        observer.untracked = _untracked(self.channels)
        command = None
        if isinstance(self.input, Command):
            command = {
                k: v for k in ("resume", "update", "goto") if (v := getattr(self.input, k, None)) is not None and v != ()
            }
        loaded = self.checkpoint["id"] if self.checkpoint_metadata.get("step", -2) >= -1 else None
        common = {
            "graph": getattr(self.graph, "name", "") or "",
            "resuming": bool(self.checkpoint["channel_versions"]) and (self.input is None or command is not None),
            "checkpoint": loaded,
            "saver": type(self.checkpointer).__name__ if self.checkpointer else None,
        }
        if observer.ns:
            common["resuming"] = bool(conf.get(getattr(K, "CONFIG_KEY_RESUMING", "__pregel_resuming")))
            made: type[ev.Event] = ev.SubgraphStarted
            common["task"] = observer.parent_task
        else:
            made = ev.RunStarted
            thread = conf.get(K.CONFIG_KEY_THREAD_ID)
            common |= {
                "action": self.action,
                "thread": None if thread is None else str(thread),
                "addressed": bool(conf.get(K.CONFIG_KEY_CHECKPOINT_ID)),
                "durability": str(getattr(self, "durability", "")) if self.checkpointer else "",
                "source": self.caller,
                "shape": shapes.shape_of(observer.recorder, self.graph),
            }
        observer.begin(made, self.channels, input=self.input, command=command, **common)

    def tick(self: Any, *args: Any, **kwargs: Any) -> bool:
        try:
            more = super().tick(*args, **kwargs)
        except BaseException:
            self.tell_tick(False)
            self.stand_after_tick()
            raise
        self.tell_tick(more)
        self.stand_after_tick()
        return more

    def stand_after_tick(self: Any) -> None:
        if self.gates is not None:
            self.gates.stand("tick", self.strand, self.observer.ns)

    def tell_tick(self: Any, more: bool) -> None:
        try:
            tasks = getattr(self, "tasks", {})
            infos = [_info(self, task) for task in tasks.values()]
            self.observer.ticked(self.step, self.status, more, infos, tasks.values())
            for task in tasks.values():
                _instrument(self.observer, task)
        except Exception as exc:
            self.observer.recorder.fail("tick", exc)

    def accept_push(self: Any, task: Any, *args: Any, **kwargs: Any) -> Any:
        return self.tell_push(super().accept_push(task, *args, **kwargs), task, "call")

    def schedule_error_handler(self: Any, failed: Any, *args: Any, **kwargs: Any) -> Any:
        return self.tell_push(super().schedule_error_handler(failed, *args, **kwargs), failed, "error_handler")

    async def aschedule_error_handler(self: Any, failed: Any, *args: Any, **kwargs: Any) -> Any:
        return self.tell_push(await super().aschedule_error_handler(failed, *args, **kwargs), failed, "error_handler")

    def tell_push(self: Any, pushed: Any, parent: Any, via: str) -> Any:
        if pushed is not None:
            try:
                self.observer.pushed(_info(self, pushed), pushed, parent.id, via)
                _instrument(self.observer, pushed)
            except Exception as exc:
                self.observer.recorder.fail("accept_push", exc)
            if self.gates is not None and not pushed.writes:
                self.gates.pushed(self.strand if via == "error_handler" else parent.id, pushed.id, pushed.name)
        return pushed

    def put_writes(self: Any, task_id: str, writes: Any, *args: Any, **kwargs: Any) -> None:
        to_saver = self.checkpointer_put_writes is not None and getattr(self, "durability", "") != "exit"
        cached = bool(kwargs.get("cached"))
        tell = functools.partial(
            self.observer.put_writes, task_id, list(writes), self.checkpoint["id"], to_saver, cached
        )
        if to_saver:
            self.observer.handing(task_id, self.checkpoint["id"], writes)
        commit = getattr(_local, "commit", None)
        if commit is not None and commit["loop"] is self:
            commit["calls"].append((task_id, list(writes)))
            commit["tell"].append(tell)
            if commit["line"] is None:
                commit["line"] = _line_in_commit(sys._getframe(1))
            super().put_writes(task_id, writes, *args, **kwargs)
        else:
            tell()
            super().put_writes(task_id, writes, *args, **kwargs)

    def after_tick(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.just_ran = tuple(self.tasks.values())  # the tasks of the next superstep take their place in there
        stack = _enter(self, "after_tick")
        try:
            return super().after_tick(*args, **kwargs)
        finally:
            stack.pop()

    def _put_checkpoint(self: Any, metadata: Any, *args: Any, **kwargs: Any) -> Any:
        old, exiting = self.checkpoint["id"], metadata is self.checkpoint_metadata
        if not exiting:
            self.observer.step = self.step  # now: the saver may come back before the loop has made its next move
        out = super()._put_checkpoint(metadata, *args, **kwargs)
        if not exiting and self.checkpoint["id"] != old:
            saves = self._checkpointer_put_after_previous is not None and getattr(self, "durability", "") != "exit"
            self.observer.checkpoint(self.checkpoint["id"], old, str(metadata.get("source", "")), saves)
        return out

    def _suppress_interrupt(self: Any, exc_type: Any, exc: Any, traceback: Any) -> Any:
        stack = _enter(self, "_suppress_interrupt")
        try:
            out = super()._suppress_interrupt(exc_type, exc, traceback)
        finally:
            stack.pop()
        self.tell_status(exc)
        return out

    def tell_status(self: Any, exc: BaseException | None) -> None:
        observer, status = self.observer, getattr(self, "status", "done")
        try:
            if isinstance(exc, GraphInterrupt):
                observer.status = "paused"
                asked = _interrupts(exc, self)
                reason = status if status in ("interrupt_before", "interrupt_after") else "interrupt"
                nodes = _paused_nodes(self, reason, asked)
                observer.paused(reason, nodes, asked)
            elif exc is not None:
                if isinstance(exc, GeneratorExit):
                    observer.status = "closed"
                else:
                    observer.status, observer.error = "error", values.error_text(exc)
            else:
                observer.status = status if status in ("out_of_steps", "draining") else "done"
        except Exception as fault:
            observer.recorder.fail("_suppress_interrupt", fault)

    def left(self: Any, exc: BaseException | None) -> bool:
        """Whether the end is to be told now; `exc` is what leaving the loop raised, if anything."""
        if self._left or not hasattr(self, "observer"):
            return False
        self._left = True
        observer = self.observer
        if self.gates is not None:
            self.gates.loop_left(self)
        if not observer.started:
            self.tell_start_without_state()
        if exc is not None and not isinstance(exc, GeneratorExit):
            observer.status, observer.error = "error", values.error_text(exc)
        return not (observer.recorder.dead or observer.recorder.closed)

    def tell_start_without_state(self: Any) -> None:
        """The loop failed before it loaded anything (a saver that raises, a missing key): tell the start all the same."""
        made = ev.SubgraphStarted if self.observer.ns else ev.RunStarted
        more = {} if self.observer.ns else {"action": self.action, "source": self.caller}
        saver = type(self.checkpointer).__name__ if self.checkpointer else None
        self.observer.begin(made, {}, input=self.input, command=None, saver=saver, **more)

    def tell_end(self: Any) -> reading.Reads:
        """Read back what is saved, compare it with what was returned, and tell the end."""
        observer = self.observer
        if not observer.ns:
            state = tuple_ = error = None
            if self.checkpointer and self.graph is not None:
                config = reading.head_config(self.config, keep=K.CONFIG_KEY_CHECKPOINTER)
                state, tuple_, error = yield from reading.read_state(self.graph, self.checkpointer, config)
            if observer.status not in ("error", "out_of_steps"):  # out of steps: GraphRecursionError comes instead
                observer.returned(self.action, reading.phantoms(observer, state, tuple_))
            if self.checkpointer:
                thread = self.config.get(CONF, {}).get(K.CONFIG_KEY_THREAD_ID)
                yield from reading.tell_state(observer, self.checkpointer, thread, state, tuple_, error)
        observer.end(observer.status, observer.error)
        self.graph, self.just_ran = None, ()


class TracedSyncLoop(_Traced, L.SyncPregelLoop):
    """SyncPregelLoop that tells an observer what it does."""

    def after_tick(self, *args: Any, **kwargs: Any) -> Any:
        out = super().after_tick(*args, **kwargs)
        if self.gates is not None:
            self.gates.stand("after_tick", self.strand, self.observer.ns)
        return out

    def _checkpointer_put_after_previous(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_cut_off():
            return None
        try:
            out = super()._checkpointer_put_after_previous(*args, **kwargs)
        except BaseException as exc:
            self.observer.saver_put(_checkpoint_arg(args), values.error_text(exc))
            raise
        self.observer.saver_put(_checkpoint_arg(args), None)
        return out

    def __enter__(self) -> Any:
        try:
            return super().__enter__()
        except BaseException as exc:
            self.finish(exc)
            raise

    def __exit__(self, exc_type: Any, exc: Any, traceback: Any) -> Any:
        try:
            out = super().__exit__(exc_type, exc, traceback)
        except BaseException as raised:
            self.finish(raised)
            raise
        self.finish(None)
        return out

    def finish(self, exc: BaseException | None) -> None:
        graph = self.graph if hasattr(self, "observer") else None
        if self.left(exc):
            try:
                reading.drive(self.tell_end())
                for config, update in _kept_updates(self):
                    graph.update_state(config, update)
            except Exception as fault:
                self.observer.recorder.fail("the end of the run", fault)


class TracedAsyncLoop(_Traced, L.AsyncPregelLoop):
    """AsyncPregelLoop that tells an observer what it does.

    Its gates are awaited, so that the event loop, and with it an async saver, goes on while the run stands. `tick` and
    `after_tick` are no coroutines: the gate of a tick is in the first coroutine after it, and `after_tick` is called a
    moment early, at the end of the runner's `atick`, which awaits its gate.
    """

    def stand_after_tick(self) -> None:
        self._tick_due = self.gates is not None

    async def amatch_cached_writes(self, *args: Any, **kwargs: Any) -> Any:
        await self.astand_after_tick()
        return await super().amatch_cached_writes(*args, **kwargs)

    async def astand_after_tick(self, leaving: bool = False) -> None:
        if self._tick_due:
            self._tick_due = False
            await self.gates.astand("tick", self.strand, self.observer.ns, leaving=leaving)

    def after_tick(self, *args: Any, **kwargs: Any) -> Any:
        if self._applied_early:
            self._applied_early = False
            return None
        return super().after_tick(*args, **kwargs)

    async def after_tick_early(self) -> None:
        self.after_tick()
        self._applied_early = True
        await self.gates.astand("after_tick", self.strand, self.observer.ns)

    async def _checkpointer_put_after_previous(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_cut_off():
            return None
        try:
            out = await super()._checkpointer_put_after_previous(*args, **kwargs)
        except BaseException as exc:
            self.observer.saver_put(_checkpoint_arg(args), values.error_text(exc))
            raise
        self.observer.saver_put(_checkpoint_arg(args), None)
        return out

    if hasattr(L.AsyncPregelLoop, "aaccept_push"):

        async def aaccept_push(self, task: Any, *args: Any, **kwargs: Any) -> Any:
            return self.tell_push(await super().aaccept_push(task, *args, **kwargs), task, "call")

    async def __aenter__(self) -> Any:
        try:
            return await super().__aenter__()
        except BaseException as exc:
            await self.finish(exc)
            raise

    async def __aexit__(self, exc_type: Any, exc: Any, traceback: Any) -> Any:
        await self.astand_after_tick(leaving=True)
        try:
            out = await super().__aexit__(exc_type, exc, traceback)
        except BaseException as raised:
            await self.finish(raised)
            raise
        await self.finish(None)
        return out

    async def finish(self, exc: BaseException | None) -> None:
        graph = self.graph if hasattr(self, "observer") else None
        if self.left(exc):
            try:
                await reading.adrive(self.tell_end())
                for config, update in _kept_updates(self):
                    await graph.aupdate_state(config, update)
            except Exception as fault:
                self.observer.recorder.fail("the end of the run", fault)


# LangGraph's own error texts name the class of a loop: they must not change while a run is recorded.
for _traced in (TracedSyncLoop, TracedAsyncLoop):
    _traced.__name__ = _traced.__mro__[2].__name__
    _traced.__qualname__ = _traced.__mro__[2].__qualname__


def _enter(loop: Any, where: str) -> list[tuple[Any, str]]:
    """Note on this thread which loop function is at work, so that `apply_writes`, a plain function, knows its caller.

    Returns the stack to pop when it is left: a context manager would cost three times as much, at each superstep.
    """
    try:
        stack = _local.stack
    except AttributeError:
        stack = _local.stack = []
    stack.append((loop, where))
    return stack


def _loop_apply_writes(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply_writes(checkpoint: Any, channels: Any, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        stack = getattr(_local, "stack", None)
        if not stack:
            return original(checkpoint, channels, tasks, *args, **kwargs)
        loop, where = stack[-1]
        tasks = list(tasks)
        try:
            out = original(checkpoint, channels, tasks, *args, **kwargs)
        except BaseException as exc:
            loop.observer.half_applied(where, channels, values.error_text(exc))
            raise
        via = "command" if isinstance(loop.input, Command) else "input"
        loop.observer.applied(where, loop.checkpoint["id"], tasks, channels, _updated(out), via)
        return out

    return apply_writes


def _updated(out: Any) -> Any:
    return out if isinstance(out, set | frozenset) else None


def _watch_put_writes(loop: Any, put_writes: Callable[..., Any]) -> Callable[..., Any]:
    observer = loop.observer

    def tell(args: tuple[Any, ...], kwargs: dict[str, Any], error: str | None) -> None:
        if len(args) < 3:
            named = dict(zip(("config", "writes", "task_id"), args, strict=False)) | kwargs
            args = (named["config"], named["writes"], named["task_id"])
        config, writes, task_id = args[:3]
        observer.saver_put_writes(task_id, writes, config[CONF].get(K.CONFIG_KEY_CHECKPOINT_ID), error)

    if inspect.iscoroutinefunction(put_writes):

        @functools.wraps(put_writes)
        async def awatched(*args: Any, **kwargs: Any) -> Any:
            if loop.is_cut_off():
                return None
            try:
                out = await put_writes(*args, **kwargs)
            except BaseException as exc:
                tell(args, kwargs, values.error_text(exc))
                raise
            tell(args, kwargs, None)
            return out

        return awatched

    @functools.wraps(put_writes)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if loop.is_cut_off():
            return None
        try:
            out = put_writes(*args, **kwargs)
        except BaseException as exc:
            tell(args, kwargs, values.error_text(exc))
            raise
        tell(args, kwargs, None)
        return out

    return watched


def _checkpoint_arg(args: tuple[Any, ...]) -> str:
    # (..., config, checkpoint, metadata, new_versions): what stands before them grew over the versions.
    return args[-3]["id"]


def _info(loop: Any, task: Any) -> InfoData:
    path = task.path
    if path and path[0] == "__pregel_push":
        function = getattr(path[-1], "func", None)
        source = sources.of_function(function) if function is not None else _node_source(loop, task.name)
        arg = values.snapshot(task.input) if loop.observer.recorder.redact is None else None
        kind = "push"
    else:
        kind, arg, source = "pull", None, _node_source(loop, task.name)
    tags = task.config.get("tags") if task.config else None
    hidden = bool(tags) and "langsmith:hidden" in tags
    return task.id, task.name, kind, tuple(task.triggers), bool(task.writes), hidden, arg, source


def _node_source(loop: Any, name: str) -> ev.Source | None:
    known = loop.__dict__.setdefault("_sources", {})
    if name not in known:
        bound = getattr(loop.nodes.get(name), "bound", None)
        function = getattr(bound, "func", None) or getattr(bound, "afunc", None)
        known[name] = sources.of_function(function) if function is not None else None
    return known[name]


def _interrupts(exc: BaseException, loop: Any) -> tuple[ev.InterruptInfo, ...]:
    asked = exc.args[0] if exc.args else ()
    by_id = {}
    for tid, channel, value in getattr(loop, "checkpoint_pending_writes", ()):
        if channel == K.INTERRUPT:
            for item in value if isinstance(value, list | tuple) else (value,):
                by_id[getattr(item, "id", None)] = tid
    tasks = getattr(loop, "tasks", {})
    order = {tid: i for i, tid in enumerate(tasks)}
    snap = loop.observer.recorder.snap
    out = []
    for item in asked or ():
        tid = by_id.get(getattr(item, "id", None), "")
        node = tasks[tid].name if tid in tasks else ""
        out.append((order.get(tid, len(order)), ev.InterruptInfo(str(item.id), snap(K.INTERRUPT, item.value), tid, node)))
    # LangGraph collects them from a set: their order in the exception is random, that of the tasks is not.
    return tuple(info for _, info in sorted(out, key=lambda pair: pair[0]))


def _paused_nodes(loop: Any, reason: str, asked: tuple[ev.InterruptInfo, ...]) -> tuple[str, ...]:
    if reason == "interrupt":
        return tuple(dict.fromkeys(i.node for i in asked if i.node))
    if reason == "interrupt_before":
        at, tasks = loop.interrupt_before, [t for t in getattr(loop, "tasks", {}).values() if not t.writes]
    else:
        at, tasks = loop.interrupt_after, loop.just_ran
    return tuple(dict.fromkeys(t.name for t in tasks if (t.name in at if at != "*" else not _is_hidden(t))))


def _is_hidden(task: Any) -> bool:
    return "langsmith:hidden" in ((task.config or {}).get("tags") or ())


def _call_site(frame: Any) -> tuple[str, ev.Source | None]:
    """Return which public method started the loop, and the user's line that called it."""
    names = ("stream", "astream", "invoke", "ainvoke", "stream_events", "astream_events")
    action, at = "invoke", frame
    for _ in range(16):
        if at is None or not sources.is_machinery(at.f_code.co_filename):
            break
        if at.f_code.co_name in names and at.f_code.co_filename.endswith("main.py"):
            action = at.f_code.co_name
        at = at.f_back
    user = sources.user_frame(at)
    return action, sources.of_frame(user) if user is not None else None


# ---------------------------------------------------------------- running and committing a task


def _observer_of(task: Any) -> LoopObserver | None:
    send = _send_of(task.config)
    return send.observer if send is not None else None


def _run_with_retry(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        observer = _observer_of(task)
        if observer is None:
            return original(task, *args, **kwargs)
        gates = observer.recorder.gates
        if gates is not None:
            gates.stand("ready", task.id, observer.ns)
        observer.task_started(task)
        try:
            out = original(task, *args, **kwargs)
        except BaseException as exc:
            _tell_task_end(observer, task, exc)
            if gates is not None:
                gates.stand("execute", task.id, observer.ns)
            raise
        _tell_task_end(observer, task, None)
        if gates is not None:
            gates.stand("execute", task.id, observer.ns)
        return out

    return run_with_retry


def _arun_with_retry(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def arun_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        observer = _observer_of(task)
        if observer is None:
            return await original(task, *args, **kwargs)
        gates = observer.recorder.gates
        if gates is not None:
            await gates.astand("ready", task.id, observer.ns)
        observer.task_started(task)
        try:
            out = await original(task, *args, **kwargs)
        except BaseException as exc:
            _tell_task_end(observer, task, exc)
            if gates is not None and not isinstance(exc, asyncio.CancelledError):
                await gates.astand("execute", task.id, observer.ns)
            raise
        _tell_task_end(observer, task, None)
        if gates is not None:
            await gates.astand("execute", task.id, observer.ns)
        return out

    return arun_with_retry


def _outcome(exc: BaseException | None) -> str:
    if exc is None:
        return "finished"
    if isinstance(exc, GraphInterrupt):
        return "interrupt"
    if isinstance(exc, GraphBubbleUp):
        return "bubble"
    return "error" if isinstance(exc, Exception) else "cancelled"


def _tell_task_end(observer: LoopObserver, task: Any, exc: BaseException | None) -> None:
    _local.__dict__.pop("told", None)
    outcome, error, asked, source = _outcome(exc), None, (), None
    if exc is not None:
        source = sources.of_traceback(exc)
        if outcome == "interrupt":
            found = exc.args[0] if exc.args else ()
            snap = observer.recorder.snap
            asked = tuple(
                ev.InterruptInfo(str(i.id), snap(K.INTERRUPT, i.value), task.id, task.name) for i in found or ()
            )
        elif outcome != "bubble":
            error = values.error_text(exc)
    observer.task_ended(task, outcome, error, asked, source)


class TracedRunner(R.PregelRunner):
    """PregelRunner that tells what `commit` hands on and what it does not."""

    observer: LoopObserver
    loop: Any

    def tick(self, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        gates = self.loop.gates
        if gates is None:
            return super().tick(tasks, *args, **kwargs)
        tasks = tuple(tasks)
        self.tell_batch(gates, tasks, kwargs.get("get_waiter") is not None)
        return super().tick(tasks, *args, **kwargs)

    def atick(self, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        gates = self.loop.gates
        if gates is None:
            return super().atick(tasks, *args, **kwargs)
        tasks = tuple(tasks)
        self.tell_batch(gates, tasks, False)
        return self.gated_atick(gates, tasks, args, kwargs)

    async def gated_atick(self, gates: Any, tasks: Any, args: Any, kwargs: Any) -> Any:
        try:
            async for _ in super().atick(tasks, *args, **kwargs):
                yield
        except Exception:
            await gates.hold(self.loop.strand)
            raise
        await gates.hold(self.loop.strand)
        await self.loop.after_tick_early()

    def tell_batch(self, gates: Any, tasks: Any, waiter: bool) -> None:
        room = self.loop.config.get("max_concurrency")
        if not isinstance(self.loop, L.AsyncPregelLoop):
            pool = getattr(getattr(self.loop.submit, "__self__", None), "executor", None)
            room = getattr(pool, "_max_workers", room)
            room = room - waiter if room and len(tasks) > 1 else room
        gates.batch(self.loop.strand, [(t.id, t.name) for t in tasks], room or None)

    def commit(self, task: Any, *args: Any, **kwargs: Any) -> Any:
        if self.loop.is_cut_off():
            return None  # the pool that would hand the writes to the saver may be gone, too
        exc = kwargs.get("exception", args[0] if args else None)
        put = self.put_writes()
        before = getattr(_local, "commit", None)
        seen: dict[str, Any] = {"loop": getattr(put, "__self__", None), "calls": [], "tell": [], "line": None}
        _local.commit = seen
        try:
            how = self.loop.counterfactual
            if how is not None and isinstance(exc, GraphInterrupt) and exc.args and exc.args[0]:
                if how == "task":
                    return _keep_as_own(self, task, exc.args[0])
                super().commit(task, *args, **kwargs)
                return _keep_elsewhere(how, self, task)
            return super().commit(task, *args, **kwargs)
        finally:
            _local.commit = before
            where = seen["line"] or sources.of_function(super().commit)
            self.observer.committed(task, _outcome(exc), seen["calls"], where)
            for tell in seen["tell"]:
                tell()
            gates = self.loop.gates
            if gates is not None:
                # It may run in a done-callback of a pool thread: an exception raised there would be lost or logged.
                if isinstance(self.loop, L.AsyncPregelLoop):
                    gates.post("commit", task.id, self.observer.ns)
                else:
                    gates.stand("commit", task.id, self.observer.ns, leaving=True)


def _keep_as_own(runner: TracedRunner, task: Any, asked: Any) -> None:
    """NOT LangGraph (hitl_lab.counterfactual): hand on a task's question and its other writes as well."""
    own = [w for w in task.writes if w[0] == K.RESUME or w[0] not in _SPECIAL]
    runner.put_writes()(task.id, [(K.INTERRUPT, asked), *own])


def _keep_elsewhere(how: str, runner: TracedRunner, task: Any) -> None:
    """NOT LangGraph (hitl_lab.counterfactual): keep what `commit` did not hand on, by another way."""
    own = [w for w in task.writes if w[0] not in _SPECIAL]
    if how == "null task" and own:
        runner.observer.share(task, own)
        runner.put_writes()(K.NULL_TASK_ID, own)
    elif how == "update_state" and not runner.observer.ns:
        runner.loop.kept += tuple(w for w in own if not is_control(w[0]))


def _kept_updates(loop: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield config and values of each update_state that saves what was kept: as many as one channel has writes."""
    left, loop.kept = list(loop.kept), ()
    config = reading.head_config(loop.config, keep=K.CONFIG_KEY_CHECKPOINTER)
    while left:
        update: dict[str, Any] = {}
        rest = []
        for channel, value in left:
            if channel in update:
                rest.append((channel, value))
            else:
                update[channel] = value
        yield config, update
        left = rest


def _line_in_commit(frame: Any) -> ev.Source | None:
    """Return the line of the installed `commit` that is calling `put_writes` right now."""
    for _ in range(12):
        above = frame.f_back
        if above is None:
            return None
        if above.f_code is TracedRunner.commit.__code__:
            return sources.of_frame(frame)
        frame = above
    return None


# ---------------------------------------------------------------- update_state

_updating: contextvars.ContextVar[reading.Update | None] = contextvars.ContextVar("hitl_lab_update", default=None)


def _update_apply_writes(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply_writes(checkpoint: Any, channels: Any, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        update = _updating.get()
        if update is None or update.recorder.dead:
            return original(checkpoint, channels, tasks, *args, **kwargs)
        tasks = list(tasks)
        update.observer.untracked = _untracked(channels)
        _quietly(update, update.observer.read, channels)
        out = original(checkpoint, channels, tasks, *args, **kwargs)
        _quietly(update, update.applied, tasks, channels, _updated(out))
        return out

    return apply_writes


def _quietly(update: reading.Update, call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except Exception as exc:
        update.recorder.fail(update.action, exc)
        return None


def _update_of(graph: Any, config: Any, supersteps: Any, frame: Any) -> reading.Update | None:
    recorder = CURRENT.get()
    if recorder is None or recorder.dead or recorder.closed or _updating.get() is not None:
        return None
    try:
        conf = (config or {}).get(CONF, {})
        ns = tuple(part for part in str(conf.get(K.CONFIG_KEY_CHECKPOINT_NS) or "").split(K.NS_SEP) if part)
        observer = LoopObserver(recorder, recorder.new_run(), ns, **_KNOWN)
        own = graph.checkpointer if hasattr(graph.checkpointer, "get_tuple") else None
        saver = conf.get(K.CONFIG_KEY_CHECKPOINTER) or own
        above = frame.f_back
        single = above is not None and frame.f_code.co_name in ("update_state", "aupdate_state")
        action = frame.f_code.co_name if single else "bulk_update_state"
        user = sources.user_frame(frame)
        source = sources.of_frame(user) if user is not None else recorder.caller
        return reading.Update(observer, graph, saver, config, supersteps, action, source, K.CONFIG_KEY_CHECKPOINTER)
    except Exception as exc:
        recorder.fail("update_state", exc)
        return None


def _bulk_update_state(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def bulk_update_state(self: Any, config: Any, supersteps: Any, *args: Any, **kwargs: Any) -> Any:
        update = _update_of(self, config, supersteps, sys._getframe(1))
        if update is None:
            return original(self, config, supersteps, *args, **kwargs)
        _quietly(update, reading.drive, update.begin())
        token = _updating.set(update)
        try:
            out = original(self, config, supersteps, *args, **kwargs)
        except BaseException as exc:
            _quietly(update, update.failed, exc)
            raise
        finally:
            _updating.reset(token)
        _quietly(update, reading.drive, update.finish(out))
        return out

    return bulk_update_state


def _abulk_update_state(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def abulk_update_state(self: Any, config: Any, supersteps: Any, *args: Any, **kwargs: Any) -> Any:
        update = _update_of(self, config, supersteps, sys._getframe(1))
        if update is None:
            return await original(self, config, supersteps, *args, **kwargs)
        await _aquietly(update, update.begin())
        token = _updating.set(update)
        try:
            out = await original(self, config, supersteps, *args, **kwargs)
        except BaseException as exc:
            _quietly(update, update.failed, exc)
            raise
        finally:
            _updating.reset(token)
        await _aquietly(update, update.finish(out))
        return out

    return abulk_update_state


async def _aquietly(update: reading.Update, reads: reading.Reads) -> None:
    try:
        await reading.adrive(reads)
    except Exception as exc:
        update.recorder.fail(update.action, exc)


# ---------------------------------------------------------------- the live parts of a loop


def parts(loop: Any) -> dict[str, Any]:
    """Return the parts of a loop that stands still: the very objects, so copy them before they are shown.

    Keys: ns, step, status, channels {name: value}, tasks [(id, name, triggers, input, writes)], pending
    [(task id, channel, value)], checkpoint {id, channel_values, ...}. Source: the attributes of PregelLoop.
    """
    channels: dict[str, Any] = {}
    for name, channel in getattr(loop, "channels", {}).items():
        try:
            channels[name] = channel.get()
        except Exception:  # LangGraph's EmptyChannelError
            continue
    return {
        "ns": loop.observer.ns,
        "step": getattr(loop, "step", None),
        "status": getattr(loop, "status", ""),
        "channels": channels,
        "tasks": [(t.id, t.name, tuple(t.triggers), t.input, list(t.writes)) for t in getattr(loop, "tasks", {}).values()],
        "pending": list(getattr(loop, "checkpoint_pending_writes", ())),
        "checkpoint": getattr(loop, "checkpoint", {}),
    }


def saved_parts(tuple_: Any) -> dict[str, Any]:
    """Return what a CheckpointTuple holds, in the same form: channels, pending, step, source."""
    return {
        "channels": dict(tuple_.checkpoint["channel_values"]),
        "pending": list(tuple_.pending_writes or ()),
        "step": tuple_.metadata.get("step"),
        "source": tuple_.metadata.get("source", ""),
        "checkpoint": tuple_.checkpoint,
    }


def is_async_only(graph: Any) -> bool:
    """Whether a graph can only run async: a node without a sync function, or a saver that has no sync side here."""
    saver = type(getattr(graph, "checkpointer", None))
    if saver.__name__.startswith("Async") and hasattr(saver, "aput"):
        return True
    try:
        inner = [sub for _, sub in graph.get_subgraphs(recurse=True)]
    except Exception:
        inner = []
    for each in (graph, *inner):
        for node in each.nodes.values():
            bound = getattr(node, "bound", None)
            if hasattr(bound, "afunc") and bound.func is None and bound.afunc is not None:
                return True
    return False


def names_of_nodes(graph: Any) -> tuple[set[str], bool]:
    """Return the node names of a graph and its subgraphs, and whether that is all: functional tasks are not known."""
    names = set(graph.nodes)
    try:
        for _, sub in graph.get_subgraphs(recurse=True):
            names |= set(sub.nodes)
    except Exception:
        return names, False
    return names, hasattr(graph, "builder")


def step_timeouts(graph: Any) -> list[tuple[str, float]]:
    """Return (name of graph, seconds) for a graph and its subgraphs that have a step_timeout."""
    found = [(graph.name, graph.step_timeout)]
    with contextlib.suppress(Exception):
        found += [(name, sub.step_timeout) for name, sub in graph.get_subgraphs(recurse=True)]
    return [(name, seconds) for name, seconds in found if seconds is not None]
