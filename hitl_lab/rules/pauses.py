"""Rules over runs and pauses: siblings, skipped nodes, swallowed interrupts, new input, breakpoints, side effects."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from hitl_lab import values
from hitl_lab.findings import LOSS, RISK, Advice, Finding, Place
from hitl_lab.ledger import DISCARDED, LOST
from hitl_lab.rules import _advice
from hitl_lab.rules._case import Attempt, Case, once, places
from hitl_lab.rules.writes import _resume_instead
from hitl_lab.sentences import code, listed
from hitl_lab.story import Action
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import clean, show


def _siblings(case: Case) -> Iterator[tuple[Attempt, Attempt, list[Action]]]:
    """Yield (finished attempt beside a pause, the attempt that repeats it, the actions from pause to repetition)."""
    for action in case.story.runs:
        if action.status != "paused" or case.pause(action) is None or case.pause(action).reason != "interrupt":
            continue
        mine = [a for a in case.attempts_of(action) if not a.ns]
        if not mine:
            continue
        last = max(a.step if a.step is not None else -2 for a in mine)
        done = [a for a in mine if a.step == last and a.outcome == "finished"]
        if not done or not any(a.outcome == "interrupt" for a in mine if a.step == last):
            continue
        after = case.upto_next_run(action)
        if not after or getattr(after[-1].started, "addressed", False):
            continue
        theirs = [a for a in case.attempts_of(after[-1]) if not a.ns]
        steps = [a.step for a in theirs if a.step is not None and not _hidden(case, a)]
        lowest = min(steps, default=None)
        first = [a for a in theirs if steps and a.step == lowest]
        repeats = _Repeats(case, first, {a.task for a in mine})
        for attempt in done:
            again = repeats.of(attempt)
            if again is not None:
                yield attempt, again, [action, *after]


def _hidden(case: Case, attempt: Attempt) -> bool:
    info = case.story.tasks.get(attempt.task)
    return info is not None and info.hidden


class _Repeats:
    """Finds the attempt that does the same work once more: the same task, or the same node under a new task id.

    Pushed tasks of one node are told apart by what they were sent; a @task call by nothing but its id. before: the
    tasks that were there already; under one of those another Send has its turn only now.
    """

    def __init__(self, case: Case, attempts: list[Attempt], before: set[str]) -> None:
        self.tasks, self.attempts = case.story.tasks, attempts
        self.by_task: dict[str, int] = {}
        self.pulled: dict[str, int] = {}
        self.sent: dict[tuple[str, Any], int] = {}
        for at, attempt in enumerate(attempts):
            self.by_task.setdefault(attempt.task, at)
            info = self.tasks.get(attempt.task)
            if info is None or attempt.task in before:
                continue
            if info.kind == "pull":
                self.pulled.setdefault(attempt.path, at)
            if info.arg is not None:
                self.sent.setdefault((attempt.path, values.frozen(info.arg)), at)

    def of(self, old: Attempt) -> Attempt | None:
        found = [self.by_task.get(old.task)]
        info = self.tasks.get(old.task)
        if info is not None and info.kind == "pull":
            found.append(self.pulled.get(old.path))
        if info is not None and info.arg is not None:
            found.append(self.sent.get((old.path, values.frozen(info.arg))))
        first = min((at for at in found if at is not None), default=None)
        return self.attempts[first] if first is not None else None


def sibling_again(case: Case) -> Iterator[Finding]:
    """HL004: a task that had finished beside the pause runs a second time."""
    for attempt, again, way in _siblings(case):
        updates = [a for a in way if a.is_update]
        start: Any = way[-1].started
        if updates:
            why = f"{updates[0].label} made a checkpoint without the writes that stood for it as done"
            advice = _advice.update_with_answer("")
        elif start.input is not None:
            why = f"{way[-1].label} came with a new input and started over"
            advice = _resume_instead(attempt.name)
        else:
            why = "its saved writes were not handed back"
            advice = Advice("Resume the thread from where it stands, with the saver that holds its writes.")
        yield Finding(
            "HL004",
            RISK,
            attempt.path,
            f"{code(attempt.name)} had finished in the superstep that paused, and {why}: `tick` planned it again.",
            advice,
            effect=f"All of {code(attempt.name)} runs twice, with what it does outside the state.",
            runs=once(a.label for a in way),
            events=case.numbers(attempt.started, attempt.ended, *(u.started for u in updates), again.started),
            places=places(*(case.call_of(u) for u in updates or way[-1:])),
        )


def skipped(case: Case) -> Iterator[Finding]:
    """HL005: update_state as the node that asks counts it as done."""
    for action in case.story.actions:
        start = action.started
        if not isinstance(start, ev.UpdateStarted) or not start.interrupts:
            continue
        done = next((e for e in action.events if isinstance(e, ev.StateUpdated) and not e.error), None)
        read = next((e for e in reversed(action.events) if isinstance(e, ev.StateRead) and not e.error), None)
        if done is None or read is None:
            continue
        asking = {i.node for i in start.interrupts if i.node} or set(start.next)
        for name in (n for n in dict.fromkeys(done.nodes) if n in asking and n in start.next and n not in read.next):
            asked = listed(show(i.value, 40) for i in start.interrupts if i.node in (name, ""))
            chosen = f"as_node={name!r}" if start.as_node else f"the as_node LangGraph inferred, {name!r},"
            place = case.story.place(action.events[0].ns)
            yield Finding(
                "HL005",
                LOSS,
                f"{place}/{name}" if place else name,
                f"{start.action}() with {chosen} made a checkpoint in which {code(name)}, which was waiting for an "
                "answer, counts as done.",
                _advice.update_beside(name),
                effect=f"The rest of {code(name)} never runs, and its question {asked} cannot be answered any more.",
                runs=(action.label,),
                events=case.numbers(start, done, read),
                places=places(case.call_of(action)),
            )


def swallowed(case: Case) -> Iterator[Finding]:
    """HL010: interrupt() raised, and the node went on."""
    for attempt in case.attempts:
        if attempt.outcome not in ("finished", "error"):
            continue
        asked = [c for c in attempt.asked if not c.answered]
        inner = case.paused_inside.get((attempt.action.key, attempt.task), [])
        if not asked and not inner:
            continue
        shown = f"interrupt({show(asked[0].value, 40)})" if asked else ""
        question = shown or "a graph called inside it paused, which"
        kept = "Its writes were handed on as those of a finished task." if attempt.outcome == "finished" else ""
        name = _advice.ident(attempt.name)
        sketch = "\n".join([
            f"def {name}(state):",
            "    try:",
            "        ...                      # what can fail, without interrupt()",
            "    except SomeError:            # or: except GraphBubbleUp: raise, before except Exception",
            "        ...",
            "    answer = interrupt(...)      # outside the try",
        ])  # fmt: skip
        yield Finding(
            "HL010",
            LOSS,
            attempt.path,
            f"{code(attempt.name)}: {question} raised GraphInterrupt, and the node caught it (an `except` that is too "
            f"wide, or `return` in `finally`): no pause.",
            Advice(
                "Let GraphInterrupt pass: keep interrupt() outside the try, catch narrower, or re-raise GraphBubbleUp "
                "first; never return from finally.",
                "",
                sketch,
            ),
            effect=f"Nobody is asked. {kept}".strip(),
            runs=(attempt.action.label,),
            events=case.numbers(*asked, *inner, attempt.ended),
            places=places(*(Place("interrupt()", c.source) for c in asked if c.source is not None)),
        )


def new_input(case: Case) -> Iterator[Finding]:
    """HL013: a paused thread got a new input, {} among them, and started over."""
    for action in case.story.runs:
        start = action.started
        if not isinstance(start, ev.RunStarted) or start.input is None or start.command is not None or start.addressed:
            continue
        before = case.before(action)
        read = case.read(before)
        if read is None or not read.next or read.checkpoint != start.checkpoint:
            continue
        waiting = before
        while waiting is not None and waiting.is_update:
            waiting = case.before(waiting)
        pause = case.pause(waiting)
        if pause is None:
            continue
        asks = bool(read.interrupts)
        nodes = listed(code(n) for n in read.next)
        what = "{}" if start.input == {} else "a new input"
        dropped = listed(show(i.value, 40) for i in read.interrupts)
        go_on = "Command(resume=...)" if asks else "None"
        if asks:
            advice = _resume_instead(read.next[0])
        else:
            sketch = f"graph.{start.action}(None, config)   # goes on with {', '.join(read.next)}"
            text = "After a breakpoint go on with None as the input; put changes in by update_state."
            advice = Advice(text, "B", sketch)
        yield Finding(
            "HL013",
            RISK,
            listed(read.next),
            f"The thread was paused at {nodes}, and {start.action}() came with {what} instead of {go_on}: a new "
            "input is applied in `_first` and starts over from START.",
            advice,
            effect=f"The question {dropped} is gone unanswered." if asks else f"{nodes} was not gone on with.",
            runs=once([waiting.label, action.label] if waiting else [action.label]),
            events=case.numbers(pause, read, start),
            places=places(case.call_of(action)),
        )


def stuck_breakpoint(case: Case) -> Iterator[Finding]:
    """HL018: a breakpoint met twice at one checkpoint, though the caller went on."""
    told: set[tuple[str | None, str | None]] = set()
    for action in case.story.runs:
        start, pause = action.started, case.pause(action)
        before = case.before(action)
        old = case.pause(before)
        if pause is None or old is None or not isinstance(start, ev.RunStarted) or start.addressed:
            continue
        if not (pause.reason == old.reason == "interrupt_before" and pause.nodes == old.nodes):
            continue
        ran = bool(case.attempts_of(action))
        read, read_before = case.read(action), case.read(before)
        same = read is not None and read_before is not None and read.checkpoint == read_before.checkpoint
        key = (action.thread, read.checkpoint if read else None)
        if start.input is not None or ran or not same or key in told:
            continue
        told.add(key)
        nodes = listed(code(n) for n in pause.nodes)
        sketch = (
            "saved = graph.get_state(config)\n"
            "graph.update_state(config, None, as_node=...)   # a new checkpoint, made by this graph"
        )
        yield Finding(
            "HL018",
            RISK,
            listed(pause.nodes),
            f"`tick` met the breakpoint before {nodes} again at the same checkpoint: it compares channel versions with "
            "those seen at the last pause, and a channel that this graph no longer has counts as new each time.",
            Advice(
                "The thread was saved by a graph with other state keys. Keep the removed key in the state until its "
                "threads are done, or write a checkpoint of the new graph with update_state.",
                "",
                sketch,
            ),
            effect="The run can never go on from here.",
            runs=once([before.label, action.label] if before else [action.label]),
            events=case.numbers(old, start, pause),
            places=places(case.call_of(action)),
        )


def repeated_effect(case: Case) -> Iterator[Finding]:
    """HL008: what a paused attempt did outside the state, another attempt of the task did again."""
    undone = {id(first): again for first, again, _ in _siblings(case)}
    gone = {(r.action_key, r.task_id) for r in case.ledger if r.fate in (DISCARDED, LOST)}
    told: dict[tuple[Any, ...], list[tuple[Attempt, ev.SideEffect]]] = {}
    for attempt in case.attempts:
        for effect in attempt.effects:
            key = (attempt.action.thread, attempt.path, effect.via, effect.source or effect.label)
            told.setdefault(key, []).append((attempt, effect))
    for (_, path, via, _), done in told.items():
        pairs = list(_pairs(done, undone, gone))
        if not pairs:
            continue
        first, effect = pairs[0][0], pairs[0][1]
        times = {id(x): None for a, x, b, y in pairs for x in (x, y)}
        same = all(x.label == y.label for _, x, _, y in pairs)
        paused = first.outcome == "interrupt"
        why = (
            "the node stopped on interrupt() after it, and a resume runs the node from its first line"
            if paused
            else "the node ran again, though it had done it already"
        )
        stores = via != "effect"
        yield Finding(
            "HL008",
            RISK if stores and same else LOSS,
            path,
            f"{code(first.name)} did {clean(effect.label)!r} {len(times)} times: {why}.",
            _advice.effect_after(path, clean(effect.label)),
            effect="A put to the store under the same key is harmless if the value is the same; nothing takes it back."
            if stores
            else "No pause takes it back, and no saver knows of it.",
            runs=once(a.action.label for p in pairs for a in (p[0], p[2])),
            events=case.numbers(*(e for p in pairs for e in (p[1], p[3]))),
            places=places(
                Place("side effect", effect.source) if effect.source is not None else None, case.stop_of(first)
            ),
        )


_Done = tuple[Attempt, ev.SideEffect]


def _pairs(done: list[_Done], undone: dict[int, Attempt], gone: set[tuple[int, str]]) -> Iterator[tuple[Any, ...]]:
    """Yield (attempt, effect, later attempt, its effect) for what was done again, at one place of one node.

    Not each pair: of those that belong together the first is told with all that follow it, each other with its next
    one. That names all of them, and grows with the effects instead of with their square.
    """
    of_task: dict[Any, list[int]] = {}
    of_label: dict[Any, list[int]] = {}
    of_attempt: dict[Any, list[int]] = {}
    for i, (a, x) in enumerate(done):
        for index, key in ((of_task, a.task), (of_label, x.label), (of_attempt, id(a))):
            index.setdefault(key, []).append(i)
    led: set[Any] = set()
    for i, (a, x) in enumerate(done):
        mine = of_attempt[id(a)]
        together: list[tuple[Any, list[int], int]] = []
        retry = bisect_right(a.retries, x.n, key=lambda r: r.n)
        if retry < len(a.retries):  # tried again inside one attempt
            after = bisect_right(mine, a.retries[retry].n, key=lambda j: done[j][1].n)
            together.append((("retry", id(a)), mine[after:], i))
        if a.outcome in ("interrupt", "error", "cancelled"):
            together.append((("task", a.task), of_task[a.task], mine[-1]))
        if id(a) in undone:
            together.append((("undone", id(a)), of_attempt.get(id(undone[id(a)]), []), mine[-1]))
        if (a.action.key, a.task) in gone:
            together.append((("gone", x.label), of_label[x.label], mine[-1]))
        found: set[int] = set()
        for key, members, last in together:
            at = bisect_right(members, last)
            found.update(members[at : at + 1] if key in led else members[at:])
            led.add(key)
        for j in sorted(found):
            yield a, x, *done[j]


def outside_context(case: Case) -> Iterator[Finding]:
    """HL019: interrupt() in a thread that does not carry the node's context variables."""
    for attempt in case.attempts:
        ended = attempt.ended
        if ended is None or attempt.outcome != "error" or "outside of a runnable context" not in (ended.error or ""):
            continue
        sketch = "\n".join([
            "context = contextvars.copy_context()",
            "pool.submit(context.run, work)          # or: await asyncio.to_thread(work), which copies it",
        ])  # fmt: skip
        yield Finding(
            "HL019",
            RISK,
            attempt.path,
            f"{code(attempt.name)} called interrupt() (or another function that reads the config) where the context of "
            "its task is not: a pool thread starts with an empty one.",
            Advice("Ask in the node itself, or carry the context along.", "", sketch),
            effect="It raised RuntimeError instead of pausing.",
            runs=(attempt.action.label,),
            events=case.numbers(ended),
            places=places(Place("call", ended.source) if ended.source is not None else None),
        )


def endless(case: Case) -> Iterator[Finding]:
    """HL020: a run stopped at its recursion limit."""
    for action in case.story.runs:
        ended = next((e for e in action.events if isinstance(e, ev.RunEnded) and e.status == "out_of_steps"), None)
        if ended is None:
            continue
        ticks = [e for e in action.events if isinstance(e, ev.Ticked) and not e.ns]
        names = list(dict.fromkeys(t.name for e in ticks[-8:] for t in e.tasks if not t.hidden))
        yield Finding(
            "HL020",
            RISK,
            listed(names) or "graph",
            f"`tick` reached the recursion limit after {len(ticks)} supersteps; last ran "
            f"{listed(code(n) for n in names)}.",
            Advice(
                "See what the edge out of the loop waits for; a dropped write (HL001) or a state changed in place "
                "(HL011) keeps such a condition from ever coming true. Only then raise recursion_limit in the config.",
            ),
            effect="Checkpoints up to there are saved: invoke(None) goes on from the last.",
            runs=(action.label,),
            events=case.numbers(ticks[-1] if ticks else None, ended),
            places=places(case.call_of(action)),
        )
