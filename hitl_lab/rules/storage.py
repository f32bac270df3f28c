"""Rules over checkpointers: none there, or one that could not store a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hitl_lab import values
from hitl_lab.findings import LOSS, RISK, Advice, Finding, Place
from hitl_lab.ledger import APPLIED
from hitl_lab.rules import _advice
from hitl_lab.rules._case import Case, once, places, write_names
from hitl_lab.rules.writes import not_stored as lost_at_saver
from hitl_lab.sentences import code, listed
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import clean

_SERIALISING = re.compile(r"serializ|serialis|pickle|msgpack|ormsgpack|json", re.IGNORECASE)


def no_checkpointer(case: Case) -> Iterator[Finding]:
    """HL012: it paused, or was resumed, and nothing is saved."""
    for action in case.story.runs:
        start: Any = action.started
        if not isinstance(start, ev.RunStarted) or start.saver is not None:
            continue
        pause = case.pause(action)
        resumed = bool(start.command and "resume" in start.command)
        if pause is None and not resumed:
            continue
        what = "paused" if pause is not None else "was resumed"
        ended = next((e for e in action.events if isinstance(e, ev.RunEnded)), None)
        calls = [e for e in action.events if isinstance(e, ev.InterruptCalled) and not e.answered]
        yield Finding(
            "HL012",
            LOSS,
            listed(pause.nodes) if pause is not None and pause.nodes else start.graph or "graph",
            f"The graph {what} without a checkpointer: `put_writes` has nowhere to keep the question, and no "
            "checkpoint is saved.",
            Advice(
                "Compile with a checkpointer and give a thread_id.",
                "",
                "graph = builder.compile(checkpointer=InMemorySaver())   # a database for more than a try\n"
                'config = {"configurable": {"thread_id": "1"}}',
            ),
            effect="The pause looks normal, but it cannot be resumed."
            if pause is not None
            else f"LangGraph refused it: {clean((ended.error if ended else '') or '')[:90]}.",
            runs=(action.label,),
            events=case.numbers(start, pause, ended),
            places=places(
                *(Place("interrupt()", c.source) for c in calls[:1] if c.source is not None), case.call_of(action)
            ),
        )


def not_stored(case: Case) -> Iterator[Finding]:
    """HL014: the saver's put or put_writes raised, most often on a value that cannot be serialised."""
    for action in case.story.actions:
        failed = [e for e in action.events if isinstance(e, ev.SaverPut | ev.SaverPutWrites) and e.error]
        ended: Any = next((e for e in action.events if isinstance(e, ev.RunEnded | ev.StateUpdated) and e.error), None)
        saver = getattr(action.started, "saver", None)
        text = failed[0].error if failed else ended.error if ended is not None else None
        raised = any(e.error and e.outcome == "error" for e in action.events if isinstance(e, ev.TaskEnded))
        if not text or saver is None or (not failed and (raised or not _SERIALISING.search(text))):
            continue
        mine = [r for r in case.rows_of.get(action.key, ()) if r.key]
        rows = [r for r in mine if lost_at_saver(r) or (r.fate == APPLIED and not r.saved)]
        bad = [r for r in rows if _odd(r.value)] or rows
        serialising = bool(_SERIALISING.search(text))
        channel = bad[0].channel if bad else ""
        yield Finding(
            "HL014",
            LOSS if rows or failed else RISK,
            case.where(bad[0].path, channel) if bad else saver,
            f"{code(saver)} raised {clean(text)[:160]}: what was handed to it is not stored.",
            _plain(bad[0].node, channel) if bad and serialising else _LOOK,
            effect=f"After this run the checkpoint of {listed(once(r.node for r in rows))} is not there: it runs again."
            if rows
            else "",
            runs=(action.label,),
            events=case.numbers(*(r.wrote_at for r in bad), *failed, ended),
            writes=write_names(bad),
            places=places(*(Place("node", r.source) for r in bad[:1] if r.source is not None)),
            channel=channel,
        )


_LOOK = Advice("Look at the database: the graph is right, its saver cannot write.")


def _plain(node: str, channel: str) -> Advice:
    text = (
        f"Keep {code(channel)} out of the state (make it in the node, or hand it in with the Runtime context), or "
        "store a plain form of it: a dict, a string, an id."
    )
    kinds = "str, number, list, dict, dataclass, model"
    sketch = f'def {_advice.ident(node)}(state):\n    return {{"{channel}": plain(value)}}   # {kinds}'
    return Advice(text, "", sketch)


def _odd(value: Any) -> bool:
    return values.is_mark(value, "repr")
