"""Rules over answers: lost, taken unseen, given to another question, one for several."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hitl_lab.findings import LOSS, RISK, Advice, Finding, Place
from hitl_lab.rules import _advice
from hitl_lab.rules._case import Attempt, Case, once, places
from hitl_lab.sentences import code, listed
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import clean, show

_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f-]{36}")


def lost(case: Case) -> Iterator[Finding]:
    """HL006: no interrupt() took the answer. HL016: there was nothing to take it."""
    for answer in case.answers:
        start: Any = answer.action.started
        if answer.fate == "refused" or start.saver is None:
            continue
        given = show(answer.value, 60)
        ids = _ids(answer.value)
        if answer.fate != "lost":
            yield from _unknown_ids(case, answer, ids)
            continue
        before = case.before(answer.action)
        read = case.read(before)
        fresh = start.checkpoint is None
        finished = read is not None and not read.next and read.checkpoint == start.checkpoint
        if fresh or finished:
            yield _nothing_paused(case, answer, fresh)
            continue
        pause = case.pause(before)
        pending = {i.id for i in read.interrupts} if read is not None else set()
        if pause is not None and pause.reason != "interrupt":
            nodes = listed(code(n) for n in pause.nodes)
            side = pause.reason.removeprefix("interrupt_")
            why = f"a breakpoint stopped the run {side} {nodes}, where no interrupt() waits"
            sketch = (
                'graph.update_state(config, {"answer": text})   # as a write, before the node runs\n'
                "graph.invoke(None, config)"
            )
            advice = Advice(
                "A breakpoint asks nothing: put the person's words in by update_state and go on with None, or ask with "
                "interrupt() in the node.",
                "C",
                sketch,
            )
        elif ids and not ids & pending:
            why = "no question has the interrupt id it was given under"
            sketch = (
                "asked = graph.get_state(config).interrupts   # the ids that are open now\n"
                "graph.invoke(Command(resume={i.id: answers[i.value] for i in asked}), config)"
            )
            advice = Advice("Read the open ids right before you resume: an update_state ends the old ones.", "", sketch)
        elif before is not None and before.is_update:
            why = f"after {before.label} the node that asked was not planned any more"
            advice = Advice(
                "Update without as_node, or as the node before the one that asks, then resume.",
                "C",
                "graph.update_state(config, {...})\ngraph.invoke(Command(resume=answer), config)",
            )
        else:
            why = "no task called interrupt() in this run"
            advice = Advice("Look at get_state().interrupts before you resume: only an open question takes an answer.")
        yield Finding(
            "HL006",
            LOSS,
            listed(read.next) if read is not None and read.next else "no node",
            f"Command(resume={given}) put `__resume__` on the checkpoint, and no interrupt() took it: {why}.",
            advice,
            effect="The person answered, and the graph went on without the answer.",
            runs=once([before.label if before else None, answer.action.label]),
            events=case.numbers(pause, start),
            places=places(case.call_of(answer.action)),
        )


def _ids(value: Any) -> set[str]:
    if isinstance(value, dict) and value and "$" not in value and all(_ID.fullmatch(k) for k in value):
        return set(value)
    return set()


def _unknown_ids(case: Case, answer: Any, ids: set[str]) -> Iterator[Finding]:
    before = case.read(case.before(answer.action))
    if not ids or before is None or before.checkpoint != answer.action.started.checkpoint:
        return
    extra = [i for i in answer.value if i not in {q.id for q in before.interrupts}]
    if not extra:
        return
    yield Finding(
        "HL006",
        LOSS,
        listed(before.next),
        f"Command(resume=...) held {len(extra)} of {len(ids)} answers under interrupt ids that no open question has.",
        Advice(
            "Read the open ids right before you resume: an update_state ends the old ones.",
            "",
            "asked = graph.get_state(config).interrupts\n"
            "graph.invoke(Command(resume={i.id: answers[i.value] for i in asked}), config)",
        ),
        effect="They were ignored without a word.",
        runs=(answer.action.label,),
        events=case.numbers(before, answer.action.started),
        places=places(case.call_of(answer.action)),
    )


def _nothing_paused(case: Case, answer: Any, fresh: bool) -> Finding:
    start = answer.action.started
    if fresh:
        why = f"{code(start.saver)} has no checkpoint of this thread, so the graph started over without an input"
        text = (
            "Resume with the saver and the thread_id that paused: another thread_id, or a new InMemorySaver after a "
            "restart, is a new thread. Use a saver that outlives the process."
        )
        sketch = (
            'config = {"configurable": {"thread_id": thread_id}}     # the same as at the pause\n'
            'with SqliteSaver.from_conn_string("threads.sqlite") as saver:\n'
            "    graph = builder.compile(checkpointer=saver)"
        )
    else:
        why = "the run on this thread was done, nothing waited"
        text = "Resume only while get_state().next is not empty; a second click or a retried request comes too late."
        sketch = "if graph.get_state(config).interrupts:\n    graph.invoke(Command(resume=answer), config)"
    return Finding(
        "HL016",
        LOSS if fresh else RISK,
        case.story.threads.get(answer.action.thread, "thread"),
        f"{start.action}() came with Command(resume={show(answer.value, 60)}), but {why}.",
        Advice(text, "", sketch),
        effect="No interrupt() took the answer.",
        runs=(answer.action.label,),
        events=case.numbers(start),
        places=places(case.call_of(answer.action)),
    )


def before_question(case: Case) -> Iterator[Finding]:
    """HL007: the question was never shown, and an answer for another stop was taken for it."""
    for answer in case.answers:
        start: Any = answer.action.started
        read = case.read(case.before(answer.action))
        # A pause from before the trace began is not seen: only a checkpoint known to have no question proves it.
        known = read is not None and read.checkpoint == start.checkpoint and not read.interrupts and read.next
        if answer.fate != "taken before asked" or not known:
            continue
        call = answer.calls[0]
        before = case.before(answer.action)
        update = before is not None and before.is_update
        if update and _asked_before_update(before):
            continue
        sketch = "graph.invoke(None, config)                     # runs up to interrupt(): now the question is there\n"
        sketch += "graph.invoke(Command(resume=answer), config)"
        yield Finding(
            "HL007",
            RISK,
            call.name,
            f"The run was paused without a question, and interrupt({show(call.value, 40)}) in {code(call.name)} "
            f"took the waiting answer {show(answer.value, 40)} at once.",
            Advice(
                "Go on with None first, show the question, then resume; or leave the breakpoint out, interrupt() is a "
                "pause by itself.",
                "B",
                sketch,
            ),
            effect="Nobody saw the question that this answer counts for.",
            runs=(answer.action.label,),
            events=case.numbers(read, start, call),
            places=places(
                Place("interrupt()", call.source) if call.source is not None else None, case.call_of(answer.action)
            ),
        )


def _asked_before_update(action: Any) -> bool:
    return bool(getattr(action.started, "interrupts", ()))


def other_question(case: Case) -> Iterator[Finding]:
    """HL009: an answer is found by position, and at that position another question is asked now."""
    asked: dict[tuple[str, int], tuple[Attempt, ev.InterruptCalled]] = {}
    for attempt in case.attempts:
        command = getattr(attempt.action.started, "command", None) or {}
        for call in attempt.asked:
            key = (attempt.task, call.index)
            if not call.answered:
                asked[key] = (attempt, call)
                continue
            old = asked.get(key)
            if old is None or "update" in command:
                continue
            before, now = show(old[1].value, 400), show(call.value, 400)
            if before == now:
                continue
            yield Finding(
                "HL009",
                LOSS,
                attempt.path,
                f"interrupt() number {call.index + 1} of {code(attempt.name)} asked {show(old[1].value, 50)}, "
                f"and on resume the call there asked {show(call.value, 50)}: answers are matched by position.",
                _advice.ask_from_state(attempt.path),
                effect="The person agreed to one thing, and another was done.",
                runs=once([old[0].action.label, attempt.action.label]),
                events=case.numbers(old[1], call),
                places=places(Place("interrupt()", call.source) if call.source is not None else None),
            )
            asked[key] = (attempt, call)


def several_questions(case: Case) -> Iterator[Finding]:
    """HL017: a bare answer while several questions are open."""
    for answer in case.answers:
        read = case.read(case.before(answer.action))
        ended = next((e for e in answer.action.events if isinstance(e, ev.RunEnded)), None)
        if answer.fate != "refused" or read is None or len(read.interrupts) < 2 or _ids(answer.value) or ended is None:
            continue
        yield Finding(
            "HL017",
            RISK,
            listed(read.next),
            f"{len(read.interrupts)} questions were open, and Command(resume={show(answer.value, 40)}) does not "
            "say which one it answers.",
            Advice(
                "Resume with a map from interrupt id to answer.",
                "",
                "asked = graph.get_state(config).interrupts\n"
                "graph.invoke(Command(resume={i.id: answer_to(i.value) for i in asked}), config)",
            ),
            effect=f"LangGraph refused it ({clean((ended.error or '')[:90])}); nothing ran.",
            runs=(answer.action.label,),
            events=case.numbers(read, answer.action.started, ended),
            places=places(case.call_of(answer.action)),
        )
