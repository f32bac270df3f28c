"""One sentence for each event, in LangGraph's words; names in backticks. Pure: made from the event and its story."""

from __future__ import annotations

from collections.abc import Iterable

from hitl_lab.story import Story
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import clean, show


def sentence(event: ev.Event, story: Story) -> str:
    """Return what just happened, in one or two short sentences."""
    return _SAY[type(event)](event, story)


def code(text: str) -> str:
    """Return a name in backticks."""
    return f"`{text}`"


def listed(parts: Iterable[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    items = list(parts)
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 2 else items)


def plural(n: int, one: str, many: str | None = None) -> str:
    """Return "1 write", "2 writes"."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def _write(key: int | None, story: Story) -> str:
    wrote = story.wrote.get(key) if key is not None else None
    name = story.write_name(key)
    return f"{name} {code(wrote.channel)}" if wrote is not None and name else ""


def _state_writes(keys: Iterable[int | None], story: Story) -> list[str]:
    return [text for key in keys if (text := _write(key, story))]


def _rows(rows: Iterable[ev.Row], story: Story) -> str:
    parts = [_write(r.write, story) or (code(r.channel) if r.write is None else "") for r in rows]
    return listed(dict.fromkeys(p for p in parts if p))


def _questions(asked: Iterable[ev.InterruptInfo], story: Story) -> str:
    # By name: LangGraph hands the questions of one task on in a random order.
    # Once each: a question asked in a @task, or in an entrypoint in an entrypoint, is listed twice.
    told = sorted({(len(name := story.name(i.id)), name, show(i.value, 60)) for i in asked})
    return listed(f"{name} {value}" for _, name, value in told)


def _error(text: str | None, otherwise: str = "") -> str:
    """Return an error's text without the full stop that the sentence puts behind it."""
    return clean(text or otherwise).removesuffix(".")


def _answer(value: ev.Value, story: Story) -> str:
    """Return a resume value; a map from interrupt ids with the interrupts' names, in their order."""
    if isinstance(value, dict) and value and all(story.name(key) != "?" for key in value):
        value = dict(sorted(((story.name(k), v) for k, v in value.items()), key=lambda pair: (len(pair[0]), pair[0])))
    return show(value, 60)


def _run_started(e: ev.RunStarted, story: Story) -> str:
    if e.command is not None:
        parts = [f"{k}={_answer(v, story) if k == 'resume' else show(v, 60)}" for k, v in e.command.items()]
        given = f"Command({', '.join(parts)})"
    elif e.input is None:
        given = "no input"
    else:
        given = show(e.input, 90)
    where = f"from checkpoint {story.name(e.checkpoint)}" if e.checkpoint else "on a new thread"
    if e.saver is None:
        where = "without a checkpointer"
    elif e.addressed:
        where += ", which the caller named"
    return f"{code(e.action + '()')} starts with {given}, {where}."


def _subgraph_started(e: ev.SubgraphStarted, story: Story) -> str:
    how = f"resumes from checkpoint {story.name(e.checkpoint)}" if e.checkpoint else "starts"
    return f"The graph inside {code(story.place(e.ns))} {how}{'' if e.saver else ', without a checkpointer'}."


def _ticked(e: ev.Ticked, story: Story) -> str:
    names = [f"{code(t.name)} ({story.name(t.id)})" for t in e.tasks]
    if e.status in ("interrupt_before", "interrupt_after"):
        return f"{code('tick')} planned {listed(names)}, then met a breakpoint ({code(e.status)}): nothing runs."
    if e.status == "out_of_steps":
        return f"{code('tick')}: the recursion limit is reached."
    if e.status == "draining":
        return f"{code('tick')}: the run was asked to drain and stops here."
    if not e.tasks:
        return f"{code('tick')} found no task left: the run is done."
    text = f"{code('tick')} planned {plural(len(names), 'task')}: {listed(names)}."
    for how, (one, many) in _HANDED_BACK.items():
        done = [code(t.name) for t in e.tasks if story.stands(t, e) == how]
        if len(done) == 1:
            text += f" {done[0]} {one} in an earlier run: its saved writes are handed back, it does not run again."
        elif done:
            text += f" {listed(done)} {many} in an earlier run: their saved writes are handed back, none runs again."
    return text


_HANDED_BACK = {
    "finished": ("finished", "finished"),
    "failed": ("failed after a write", "failed after a write"),
    "cancelled": ("was cancelled after a write", "were cancelled after a write"),
}


def _pushed(e: ev.TaskPushed, story: Story) -> str:
    if e.via == "error_handler":
        return f"The error handler {code(e.info.name)} ({story.name(e.task)}) is added to this superstep."
    text = f"{code(e.info.name)} was called and becomes task {story.name(e.task)}."
    return text + (" Its saved result is handed back, it does not run again." if e.info.finished else "")


def _started(e: ev.TaskStarted, story: Story) -> str:
    return f"{code(e.name)} runs from its first line."


_HOW = {
    "return": "its return value",
    "send": "a send in the middle of the node",
    "branch": "an edge",
    "interrupt()": "interrupt(), which keeps the answer",
    "cache": "the cache, without running",
    "reapplied": "the saver",
    "loaded": "the saver, from before this trace",
    "input": "the input",
    "command": "the Command",
    "update_state": "update_state",
    "unseen": "a way this trace did not see",
}


def _wrote(e: ev.Wrote, story: Story) -> str:
    if e.control and e.via == "input":
        return f"The input goes to channel {code(e.channel)}."
    if e.control:
        return f"{code(e.name or e.via)} put {code(e.channel)} into {code('task.writes')}: control flow, by {_HOW.get(e.via, e.via)}."
    name = story.write_name(e.write)
    where = f"{code('task.writes')} of {code(e.name)}" if e.via in ("return", "send", "cache") else code(e.channel)
    head = f"{name} {code(e.channel)} = {show(e.value, 80)}"
    if e.via in ("return", "send", "cache"):
        return f"{head} is now in {where}, by {_HOW[e.via]}."
    return f"{head} comes from {_HOW.get(e.via, e.via)}."


def _retried(e: ev.Retried, story: Story) -> str:
    gone = _state_writes(e.cleared, story)
    if e.why == "timeout":
        return f"{code(e.name)} ran out of time: {code('task.writes')} was emptied ({listed(gone) or 'nothing of the state'})."
    return f"{code(e.name)} is tried again: {code('task.writes')} was emptied ({listed(gone) or 'nothing of the state'})."


def _interrupt_called(e: ev.InterruptCalled, story: Story) -> str:
    ask = f"{code(e.name)} calls {code('interrupt(' + show(e.value, 60) + ')')}"
    if e.answered:
        return f"{ask}; an answer is there, so the node goes on."
    return f"{ask}; no answer is there, so it raises GraphInterrupt."


def _side_effect(e: ev.SideEffect, story: Story) -> str:
    return f"{code(e.name)} acts outside the state: {clean(e.label)}. No pause takes that back."


def _task_ended(e: ev.TaskEnded, story: Story) -> str:
    mutated = ""
    if e.mutated:
        keys = [code(k.rstrip("=")) for k in e.mutated]
        mutated = f" It changed {listed(keys)} in place, which is no write."
    if e.outcome == "interrupt":
        what = _questions(e.interrupts, story)
        return f"{code(e.name)} stopped on {code('interrupt()')}{': ' + what if what else ''}.{mutated}"
    if e.outcome == "error":
        return f"{code(e.name)} raised {_error(e.error, 'an exception')}.{mutated}"
    if e.outcome == "cancelled":
        return f"{code(e.name)} was cancelled.{mutated}"
    if e.outcome == "bubble":
        return f"{code(e.name)} left with a Command for the parent graph.{mutated}"
    return f"{code(e.name)} returned.{mutated}"


def _committed(e: ev.Committed, story: Story) -> str:
    handed = _rows(e.handed, story)
    dropped = _state_writes(e.dropped, story)
    head = f"{code('commit')} handed {handed or 'nothing'} of {code(e.name)} to {code('put_writes')}."
    if e.handed and not _state_writes((r.write for r in e.handed), story) and handed:
        head = f"{code('commit')} handed only {handed} of {code(e.name)} to {code('put_writes')}."
    if not dropped:
        return head
    return f"{head} {plural(len(dropped), 'write')} dropped: {listed(dropped)}."


def _put_writes(e: ev.PutWrites, story: Story) -> str:
    whose = code(e.name) if e.task else "no task (the null task)"
    rows = _rows(e.rows, story) or "control flow only"
    text = f"{code('put_writes')}: pending writes of {whose}: {rows}."
    return text + ("" if e.to_saver else " The saver is not called yet.")


def _saver_put_writes(e: ev.SaverPutWrites, story: Story) -> str:
    rows = _rows(e.rows, story) or "control flow only"
    if e.error:
        return f"The saver's {code('put_writes')} raised {_error(e.error)}: {rows} not stored."
    return f"The saver's {code('put_writes')} returned: {rows} stored at checkpoint {story.name(e.checkpoint)}."


def _applied(e: ev.Applied, story: Story) -> str:
    writes = listed(_state_writes(e.writes, story))
    changed = listed(code(k) for k in e.changes)
    if e.where == "_suppress_interrupt":
        return (
            f"{code('_suppress_interrupt')} applies {code('task.writes')} ({writes}) once more, only to make the last "
            "values that are returned. Nothing of this is saved."
        )
    if e.where == "_first" and not e.writes:
        return f"{code('_first')} has nothing to apply to the channels."
    if e.where == "_first":
        return f"The input is applied to the channels{': ' + (writes or changed) if writes or changed else ''}."
    if e.where == "update_state":
        return f"{code('update_state')} applied {writes or 'nothing'} to the channels."
    what = writes or "no write of a state channel"
    return f"{code(e.where)} applied {what}; {'changed: ' + changed if changed else 'no channel changed'}."


def _checkpoint(e: ev.CheckpointCreated, story: Story) -> str:
    after = f" after {story.name(e.parent)}" if e.parent else ""
    later = "" if e.to_saver else " It stays in memory until the run ends (durability exit)."
    return f"Checkpoint {story.name(e.checkpoint)} (source {code(e.source)}){after} is made.{later}"


def _saver_put(e: ev.SaverPut, story: Story) -> str:
    if e.error:
        return f"The saver's {code('put')} raised {_error(e.error)}: checkpoint {story.name(e.checkpoint)} not stored."
    return f"The saver's {code('put')} returned: checkpoint {story.name(e.checkpoint)} is stored."


def _paused(e: ev.Paused, story: Story) -> str:
    nodes = listed(code(n) for n in e.nodes)
    if e.reason == "interrupt":
        return f"Paused: {nodes or 'a node'} {'ask' if len(e.nodes) > 1 else 'asks'} {_questions(e.interrupts, story) or 'a question'}."
    side = "before" if e.reason == "interrupt_before" else "after"
    return f"Paused {side} {nodes} by a breakpoint: there is no question and no interrupt id."


def _returned(e: ev.Returned, story: Story) -> str:
    if not e.seen:
        return f"{code(e.action + '()')} ended; the caller asked for no stream mode that shows values."
    text = f"{code(e.action + '()')} returned {show(e.values, 100)}."
    if e.phantom:
        text += f" Not what is saved: {listed(code(p) for p in e.phantom)} (phantom)."
    return text


def _state_read(e: ev.StateRead, story: Story) -> str:
    if e.error:
        return f"{_live(e, story)} could not be read: {_error(e.error)}."
    nxt = listed(code(n) for n in e.next) or "nothing"
    asks = f"; asks {_questions(e.interrupts, story)}" if e.interrupts else ""
    return (
        f"{_live(e, story)} reads checkpoint {story.name(e.checkpoint)}: {show(e.values, 100)}; "
        f"next: {nxt}{asks}.{_stored(e)}"
    )


def _live(e: ev.StateRead, story: Story) -> str:
    place = story.place(e.ns)
    return f"{code('get_state()')} (live view{' inside ' + code(place) if place else ''})"


def _stored(e: ev.StateRead) -> str:
    """The rows in the database, if `record(rows=True)` counted them."""
    if "error" in e.stored:
        return f" Its rows could not be read: {clean(e.stored['error'])}."
    if not e.stored:
        return ""
    counts = listed(f"{n} in {code(table)}" for table, n in e.stored["tables"].items()) or "none"
    where = f"Rows committed in {e.stored['database']}" if e.stored["committed"] else "Rows, in this process only"
    head = listed(code(channel) for channel in e.stored["head"])
    return f" {where}: {counts}{f'; at this checkpoint {head}' if head else ''}."


def _run_ended(e: ev.RunEnded, story: Story) -> str:
    if e.status == "closed":
        action = story.action(e.run)
        read = next((x for x in (action.events if action else ()) if isinstance(x, ev.StateRead)), None)
        asked = _questions(read.interrupts, story) if read is not None else ""
        text = "The caller stopped the stream early; the run ends here."
        return f"{text} Its thread waits for an answer to {asked}." if asked else text
    return {
        "done": "The run is done.",
        "paused": "The run has paused; its thread waits for a person.",
        "out_of_steps": "The run ended at its recursion limit.",
        "draining": "The run ended because it was asked to drain.",
    }.get(e.status, f"The run ended with {_error(e.error, e.status)}.")


def _subgraph_ended(e: ev.SubgraphEnded, story: Story) -> str:
    place = code(story.place(e.ns))
    if e.status == "error":
        return f"The graph inside {place} ended with {_error(e.error, 'an error')}."
    return f"The graph inside {place} {'paused' if e.status == 'paused' else 'is done'}."


def _update_started(e: ev.UpdateStarted, story: Story) -> str:
    as_node = f" as {code(e.as_node)}" if e.as_node else ""
    named = ", which the caller named" if e.addressed else ""
    text = f"{code(e.action + '()')}{as_node} with {show(e.values, 80)}, on checkpoint {story.name(e.before)}{named}."
    waiting = _rows((r for r in e.pending), story)
    return text + (f" Pending there: {waiting}." if waiting else "")


def _state_updated(e: ev.StateUpdated, story: Story) -> str:
    if e.error:
        return f"{code(e.action + '()')} raised {_error(e.error)}."
    nodes = listed(code(n) for n in dict.fromkeys(e.nodes))
    text = f"{code(e.action + '()')} acted as {nodes or 'no node'}: checkpoint {story.name(e.checkpoint)} is the head now."
    action = story.action(e.run)
    mine = action.events if action is not None else ()
    started = next((x for x in mine if isinstance(x, ev.UpdateStarted)), None)
    after = next((x for x in mine if isinstance(x, ev.StateRead)), None)
    if started and after and started.interrupts and not after.error:
        gone = [i for i in started.interrupts if i.id not in {j.id for j in after.interrupts}]
        if gone:
            text += f" The question {_questions(gone, story)} is no longer shown by {_live(after, story)}."
    if started and after and not after.error and e.nodes:
        skipped = [n for n in started.next if n not in after.next and n in e.nodes]
        if skipped:
            text += f" {listed(code(n) for n in skipped)} counts as done and is skipped."
    return text


def _noted(e: ev.Noted, story: Story) -> str:
    return clean(e.text)


_SAY = {
    ev.RunStarted: _run_started,
    ev.SubgraphStarted: _subgraph_started,
    ev.Ticked: _ticked,
    ev.TaskPushed: _pushed,
    ev.TaskStarted: _started,
    ev.Wrote: _wrote,
    ev.Retried: _retried,
    ev.InterruptCalled: _interrupt_called,
    ev.SideEffect: _side_effect,
    ev.TaskEnded: _task_ended,
    ev.Committed: _committed,
    ev.PutWrites: _put_writes,
    ev.SaverPutWrites: _saver_put_writes,
    ev.Applied: _applied,
    ev.CheckpointCreated: _checkpoint,
    ev.SaverPut: _saver_put,
    ev.Paused: _paused,
    ev.Returned: _returned,
    ev.StateRead: _state_read,
    ev.RunEnded: _run_ended,
    ev.SubgraphEnded: _subgraph_ended,
    ev.UpdateStarted: _update_started,
    ev.StateUpdated: _state_updated,
    ev.Noted: _noted,
}
