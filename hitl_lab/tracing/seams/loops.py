"""The traced loops: LangGraph's own, which tell an observer what they do and wait at its gates."""

from __future__ import annotations

import contextvars
import sys
from typing import Any

from hitl_lab import values
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import reading, shapes
from hitl_lab.tracing.observer import LoopObserver
from hitl_lab.tracing.recorder import Recorder
from hitl_lab.tracing.seams.calls import (
    Call,
    call_site,
    checkpoint_arg,
    enter,
    interrupts_of,
    paused_nodes,
    untracked,
    watch_put_writes,
)
from hitl_lab.tracing.seams.names import (
    CONF,
    KNOWN,
    Command,
    GraphInterrupt,
    K,
    L,
    StreamProtocol,
    local,
)
from hitl_lab.tracing.seams.runner import kept_updates, line_in_commit
from hitl_lab.tracing.seams.tasks import Send, info_of, instrument, task_here

# The task that calls another one right now.
_pushing: contextvars.ContextVar[Any] = contextvars.ContextVar("hitl_lab_pushing", default=None)
_SAVER = K.CONFIG_KEY_CHECKPOINTER


class Traced:
    """What the sync and the async traced loop share; hooks in the order in which they are called.

    Those that run in each superstep pass on arguments that this LangGraph does not have only if there are any: to pack
    and unpack none costs more than the rest of a call.
    """

    observer: LoopObserver
    call = Call("invoke", None)
    caller: ev.Source | None = None
    graph: Any = None
    _left = False
    just_ran: tuple[Any, ...] = ()
    counterfactual: str | None = None
    kept: tuple[tuple[str, Any], ...] = ()
    gates: Any = None
    strand = ""
    writes_are_saved = checkpoints_are_saved = False
    _tick_due = _applied_early = False

    def begin_tracing(self: Any, recorder: Recorder | None, nested: Send | None, frame: Any) -> None:
        if nested is not None and self.is_nested:
            own, run, parent = nested.observer.recorder, nested.observer.run, nested.id
            # A node may open a record() of its own, which hands on to the one outside.
            inside = recorder is not None and any(each is own for each in recorder.lineage())
            recorder = recorder if inside else own
        else:
            assert recorder is not None or nested is not None
            recorder = recorder or nested.observer.recorder
            parent = self.config[CONF].get(K.CONFIG_KEY_TASK_ID, "") if self.is_nested else ""
            run = recorder.run_of_task.get(parent) or recorder.new_run()
        ns = tuple(self.checkpoint_ns) if self.is_nested else ()
        self.observer = LoopObserver(recorder, run, ns, parent_task=parent, **KNOWN)
        self.graph = frame.f_locals.get("self")
        self.counterfactual = next((r.counterfactual for r in recorder.lineage() if r.counterfactual), None)
        if not self.is_nested:
            self.call = call_site(frame, self.graph, self.config)
            self.caller = self.call.source or self.observer.recorder.caller
            self.tap_stream()
        if self.checkpointer_put_writes is not None:
            self.checkpointer_put_writes = watch_put_writes(self, self.checkpointer_put_writes)
            self.writes_are_saved = getattr(self, "durability", "") != "exit"
        self.checkpoints_are_saved = (
            self._checkpointer_put_after_previous is not None and getattr(self, "durability", "") != "exit"
        )
        # The places of the nodes' functions, by name, as far as they were looked up.
        self.sources_of_nodes: dict[str, int | None] = {}
        self.gates = self.observer.recorder.gates
        if self.gates is not None:
            self.strand = parent or task_here()
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
        stack = enter(self, "_first")
        try:
            return super()._first(*args, **kwargs)
        finally:
            stack.pop()

    def tell_start(self: Any) -> None:
        """Emit the start once the checkpoint is loaded, before its input is applied."""
        observer, conf = self.observer, self.config[CONF]
        if observer.started:
            return
        observer.knows(untracked(self.channels))
        command = None
        if isinstance(self.input, Command):
            observer.given = "command"
            command = {
                k: v
                for k in ("resume", "update", "goto")
                if (v := getattr(self.input, k, None)) is not None and v != ()
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
                "action": self.call.method,
                "thread": observer.recorder.thread_name(self.checkpointer, thread),
                "addressed": bool(conf.get(K.CONFIG_KEY_CHECKPOINT_ID)),
                "durability": str(getattr(self, "durability", "")) if self.checkpointer else "",
                "source": self.caller,
                "shape": shapes.shape_of(observer.recorder, self.graph),
            }
        observer.begin(made, self.channels, input=self.input, command=command, **common)

    def tick(self: Any, *args: Any, **kwargs: Any) -> bool:
        more = False
        try:
            more = super().tick(*args, **kwargs) if args or kwargs else super().tick()
        finally:
            observer = self.observer
            try:
                infos, logs, loaded = [], {}, []
                for task in list(getattr(self, "tasks", {}).values()):
                    info = info_of(self, task)
                    infos += info
                    log = logs[info[0]] = instrument(observer, task, info)
                    if info[4]:
                        loaded.append((log, task.writes))
                observer.ticked(self.step, self.status, more, tuple(infos), logs, loaded)
            except Exception as exc:
                observer.recorder.fail("tick", exc)
            if self.gates is not None:
                self.stand_after_tick()
        return more

    def stand_after_tick(self: Any) -> None:
        self.gates.stand("tick", self.strand, self.observer.ns)

    def accept_push(self: Any, task: Any, *args: Any, **kwargs: Any) -> Any:
        token = _pushing.set(task)
        try:
            pushed = super().accept_push(task, *args, **kwargs)
        finally:
            _pushing.reset(token)
        return self.tell_push(pushed, task, "call")

    def schedule_error_handler(self: Any, failed: Any, *args: Any, **kwargs: Any) -> Any:
        return self.tell_push(super().schedule_error_handler(failed, *args, **kwargs), failed, "error_handler")

    async def aschedule_error_handler(self: Any, failed: Any, *args: Any, **kwargs: Any) -> Any:
        return self.tell_push(await super().aschedule_error_handler(failed, *args, **kwargs), failed, "error_handler")

    def tell_push(self: Any, pushed: Any, parent: Any, via: str) -> Any:
        if pushed is not None:
            try:
                info = info_of(self, pushed)
                self.observer.pushed(info, instrument(self.observer, pushed, info), pushed.writes, parent.id, via)
            except Exception as exc:
                self.observer.recorder.fail("accept_push", exc)
            if self.gates is not None and not pushed.writes:
                self.gates.pushed(self.strand if via == "error_handler" else parent.id, pushed.id, pushed.name)
        return pushed

    def tell_cached_push(self: Any, task_id: str) -> None:
        """A task that was called and is in the cache: its writes are handed on before `accept_push` comes back."""
        parent, pushed = _pushing.get(), getattr(self, "tasks", {}).get(task_id)
        if parent is None or pushed is None:
            return
        try:
            info = info_of(self, pushed)
            self.observer.pushed(info, instrument(self.observer, pushed, info), (), parent.id, "call")
        except Exception as exc:
            self.observer.recorder.fail("accept_push", exc)

    def put_writes(self: Any, task_id: str, writes: Any, **kwargs: Any) -> None:
        cached = bool(kwargs and kwargs.get("cached"))
        if cached and task_id not in self.observer.logs:
            self.tell_cached_push(task_id)
        call = self.observer.handing(task_id, writes, self.checkpoint["id"], self.writes_are_saved, cached)
        commit = local.__dict__.get("commit")
        if commit is not None and commit[0] is self:
            if commit[1] is None:
                commit[1] = line_in_commit(sys._getframe(1))
            commit.append(call)
        else:
            self.observer.put_writes(call)
        if kwargs:
            super().put_writes(task_id, writes, **kwargs)
        else:
            super().put_writes(task_id, writes)

    def after_tick(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.interrupt_after:  # the tasks of the next superstep take their place in there
            self.just_ran = tuple(self.tasks.values())
        stack = local.__dict__.get("stack")  # as `enter` does, without a call
        if stack is None:
            stack = local.stack = []
        stack.append((self, "after_tick"))
        try:
            out = super().after_tick(*args, **kwargs) if args or kwargs else super().after_tick()
        finally:
            stack.pop()
        if self.gates is not None:
            self.stand_after_after_tick()
        return out

    def stand_after_after_tick(self: Any) -> None:
        self.gates.stand("after_tick", self.strand, self.observer.ns)

    def _put_checkpoint(self: Any, metadata: Any, *args: Any, **kwargs: Any) -> Any:
        if metadata is self.checkpoint_metadata:  # exiting
            return super()._put_checkpoint(metadata, *args, **kwargs)
        observer, old = self.observer, self.checkpoint["id"]
        observer.step = self.step  # now: the saver may come back before the loop has made its next move
        if args or kwargs:
            out = super()._put_checkpoint(metadata, *args, **kwargs)
        else:
            out = super()._put_checkpoint(metadata)
        new = self.checkpoint["id"]
        if new != old:
            observer.checkpoint(new, old, str(metadata.get("source", "")), self.checkpoints_are_saved)
        return out

    def _suppress_interrupt(self: Any, exc_type: Any, exc: Any, traceback: Any) -> Any:
        stack = enter(self, "_suppress_interrupt")
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
                asked = interrupts_of(exc, self)
                reason = status if status in ("interrupt_before", "interrupt_after") else "interrupt"
                nodes = paused_nodes(self, reason, asked)
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
        """Tell the start of a loop that failed before it loaded anything (a saver that raises, a missing key)."""
        made = ev.SubgraphStarted if self.observer.ns else ev.RunStarted
        more = {} if self.observer.ns else {"action": self.call.method, "source": self.caller}
        saver = type(self.checkpointer).__name__ if self.checkpointer else None
        self.observer.begin(made, {}, input=self.input, command=None, saver=saver, **more)

    def tell_end(self: Any) -> reading.Reads:
        """Read back what is saved, compare it with what was returned, and tell the end."""
        observer = self.observer
        if not observer.ns:
            state = tuple_ = error = None
            if self.checkpointer and self.graph is not None:
                config = reading.head_config(self.config, keep=_SAVER)
                state, tuple_, error = yield from reading.read_state(self.graph, self.checkpointer, config, _SAVER)
            if observer.status not in ("error", "out_of_steps"):  # out of steps: GraphRecursionError comes instead
                if self.call.gives_output and not observer.values_seen and observer.status != "closed":
                    observer.values_seen, observer.last_values = True, self.output
                observer.returned(self.call.method, reading.phantoms(observer, state, tuple_))
            if self.checkpointer:
                thread = self.config.get(CONF, {}).get(K.CONFIG_KEY_THREAD_ID)
                yield from reading.tell_state(observer, self.checkpointer, thread, state, tuple_, error)
        observer.end(observer.status, observer.error)
        self.graph, self.just_ran = None, ()


class TracedSyncLoop(Traced, L.SyncPregelLoop):
    """SyncPregelLoop that tells an observer what it does."""

    def _checkpointer_put_after_previous(self, *args: Any, **kwargs: Any) -> Any:
        if self.gates is not None and self.is_cut_off():
            return None
        try:
            out = super()._checkpointer_put_after_previous(*args, **kwargs)
        except BaseException as exc:
            self.observer.saver_put(checkpoint_arg(args), values.error_text(exc))
            raise
        self.observer.saver_put(checkpoint_arg(args), None)
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
                for config, update in kept_updates(self):
                    graph.update_state(config, update)
            except Exception as fault:
                self.observer.recorder.fail("the end of the run", fault)


class TracedAsyncLoop(Traced, L.AsyncPregelLoop):
    """AsyncPregelLoop that tells an observer what it does.

    Its gates are awaited, so that the event loop, and with it an async saver, goes on while the run stands. `tick` and
    `after_tick` are no coroutines: the gate of a tick is in the first coroutine after it, and `after_tick` is called a
    moment early, at the end of the runner's `atick`, which awaits its gate.
    """

    def stand_after_tick(self) -> None:
        self._tick_due = True

    def stand_after_after_tick(self) -> None:
        """Do nothing: it is awaited, see `after_tick_early`."""

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
            self.observer.saver_put(checkpoint_arg(args), values.error_text(exc))
            raise
        self.observer.saver_put(checkpoint_arg(args), None)
        return out

    if hasattr(L.AsyncPregelLoop, "aaccept_push"):

        async def aaccept_push(self, task: Any, *args: Any, **kwargs: Any) -> Any:
            token = _pushing.set(task)
            try:
                pushed = await super().aaccept_push(task, *args, **kwargs)
            finally:
                _pushing.reset(token)
            return self.tell_push(pushed, task, "call")

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
                for config, update in kept_updates(self):
                    await graph.aupdate_state(config, update)
            except Exception as fault:
                self.observer.recorder.fail("the end of the run", fault)


# LangGraph's own error texts name the class of a loop: they must not change while a run is recorded.
for _traced in (TracedSyncLoop, TracedAsyncLoop):
    _traced.__name__ = _traced.__mro__[2].__name__
    _traced.__qualname__ = _traced.__mro__[2].__qualname__
