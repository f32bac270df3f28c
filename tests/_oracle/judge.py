"""Holds a recorded example against what the checkpointer, the caller and the untraced run say."""

import re
from collections import Counter
from typing import Any

from langchain_core.messages import BaseMessage

from hitl_lab.scenarios._compare import comparable
from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev

from .actions import Played
from .graphs import CHANNELS, Graph

TOKEN = re.compile(r"[\w/@]+#\d+\.\d+[srm]|(?:input|update|command)\d+")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|0x[0-9a-f]{6,}")


class TooLongError(Exception):
    """A snapshot left items out, so the example cannot be judged."""


def tokens(value: Any) -> Counter:
    """Return the tokens in a value or a snapshot; those of state mutated in place are no write's and left out."""
    found: Counter = Counter()
    _collect(value, found)
    return Counter({t: n for t, n in found.items() if not t.endswith("m")})


def _collect(value: Any, found: Counter) -> None:
    if isinstance(value, str):
        if TOKEN.fullmatch(value):
            found[value] += 1
    elif isinstance(value, BaseMessage):
        _collect(value.id, found)
    elif isinstance(value, dict):
        if value.get("$") == "obj":
            _collect(value["fields"].get("id"), found)
        else:
            if value.get("$") == "more":
                raise TooLongError
            for item in value.values():
                _collect(item, found)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, found)


class Judge:
    """All that is said of one traced example; `check` raises AssertionError with the ledger in its text."""

    def __init__(self, played: Played, stored: list[Any]) -> None:
        self.played, self.stored = played, stored
        self.trace: Trace = played.trace
        self.story, self.ledger = self.trace.story, self.trace.ledger
        ids = {name: id for id, name in self.story._names.items()}
        self.id_of = {row.write: ids.get(row.checkpoint) for row in self.ledger}
        self.rows = [r for r in self.ledger if r.key is not None and r.channel in CHANNELS]
        self.tokens = {row.key: tokens(row.value) for row in self.rows}
        self.heads: dict[str, Any] = {}
        self.parents: dict[str, str | None] = {}
        for item in stored:
            conf = item.config["configurable"]
            ns, id = conf["checkpoint_ns"], conf["checkpoint_id"]
            if ns not in self.heads or id > self.heads[ns].config["configurable"]["checkpoint_id"]:
                self.heads[ns] = item
            self.parents[id] = (item.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        for event in self.trace.events:
            if isinstance(event, ev.CheckpointCreated) and event.parent:
                self.parents[event.checkpoint] = event.parent

        self.notes = [e.text for e in self.trace.events if isinstance(e, ev.Noted)]

    def check(self) -> None:
        if any("half-way" in note for note in self.notes):
            self.trace_is_whole()  # LangGraph left a superstep applied in part, as the trace says: no row can be right
            return
        for part in (
            self.nothing_failed, self.heads_hold_what_was_applied, self.pending_is_what_is_stored,
            self.what_is_not_applied_is_in_no_checkpoint, self.callers_got_what_the_rows_say, self.lost_or_next,
            self.trace_is_whole,
        ):  # fmt: skip
            try:
                part()
            except AssertionError as exc:
                raise AssertionError(f"{part.__name__}: {exc}\n{self.ledger}\n{self.played.example}") from exc

    def nothing_failed(self) -> None:
        assert not self.notes, self.notes
        assert "open" not in {r.fate for r in self.rows}, "a write without a fate"

    def chain(self, id: str | None) -> set[str]:
        out: set[str] = set()
        while id and id not in out:
            out.add(id)
            id = self.parents.get(id)
        return out

    def heads_hold_what_was_applied(self) -> None:
        for ns, head in self.heads.items():
            chain = self.chain(head.config["configurable"]["checkpoint_id"])
            rows = [
                r for r in self.rows if "|".join(r.ns) == ns and r.fate == "applied" and self.id_of[r.write] in chain
            ]
            for channel in ("log", "messages"):
                mine = sum((self.tokens[r.key] for r in rows if r.channel == channel), Counter())
                found = tokens(head.checkpoint["channel_values"].get(channel))
                if channel == "messages":
                    mine, found = Counter(set(mine)), Counter(set(found))
                assert mine == found, (ns, channel, "ledger", mine - found, "saver", found - mine)
            last = tokens(head.checkpoint["channel_values"].get("last"))
            told = [r for r in rows if r.channel == "last"]
            assert not last or any(last == self.tokens[r.key] for r in told), (ns, "last", last)
            assert bool(last) == bool(told), (ns, "last", last)
        kept = sum((tokens(t.checkpoint["channel_values"]) for t in self.stored), Counter())
        for row in self.rows:
            if row.fate == "applied" and row.saved and row.channel != "last":
                assert set(self.tokens[row.key]) <= set(kept), (row.write, "is saved nowhere")

    def live(self) -> dict[str, Any]:
        """Return the namespaces that a resume would go on with, each with its snapshot."""
        out: dict[str, Any] = {}

        def walk(state: Any, ns: str) -> None:
            out[ns] = state
            for task in state.tasks:
                inner = task.state
                if inner is not None and hasattr(inner, "values"):
                    walk(inner, inner.config["configurable"]["checkpoint_ns"])

        if self.played.state() is not None:
            walk(self.played.state(), "")
        return out

    def pending_is_what_is_stored(self) -> None:
        live = self.live()
        said: dict[str, Counter] = {}
        for row in self.rows:
            if row.fate == "pending":
                said.setdefault("|".join(row.ns), Counter()).update(self.tokens[row.key])
        for ns in {*live, *said}:
            stored: Counter = Counter()
            head = self.heads.get(ns)
            for _, channel, value in (head.pending_writes or ()) if head else ():
                if channel in CHANNELS:
                    stored += tokens(value)
            mine = said.get(ns, Counter())
            assert mine == stored, (ns, "ledger", mine - stored, "saver", stored - mine)

    def what_is_not_applied_is_in_no_checkpoint(self) -> None:
        held: set[str] = set()
        for row in self.rows:
            if row.fate == "applied" and row.saved:
                held |= set(self.tokens[row.key])
        seen = {t for item in self.stored for t in tokens(item.checkpoint["channel_values"])}
        for row in self.rows:
            if row.fate != "applied" or not row.saved:
                wrong = set(self.tokens[row.key]) & seen - held
                assert not wrong, (row.write, row.fate, "yet saved", wrong)
        assert seen <= held, ("saved, but no row says so", seen - held)

    def callers_got_what_the_rows_say(self) -> None:
        for done in self.played.done:
            rows = [r for r in self.rows if r.action_key in done.keys and not r.ns and r.channel != "last"]
            if done.error is not None:
                assert all(not r.phantom and r.returned is None for r in rows), "returned by a run that raised"
                continue
            if not isinstance(done.returned, dict) or done.action[0].startswith("update") or done.state is None:
                continue
            got, saved = tokens(done.returned), tokens(done.state.values)
            for row in rows:
                mine = set(self.tokens[row.key])
                if not mine:
                    continue
                assert bool(row.returned) == (mine <= set(got)), (row.write, "returned", row.returned)
                assert row.in_state == (mine <= set(saved)), (row.write, "in_state", row.in_state)
                # get_state() does not show what a task started by goto wrote, but the checkpointer has it: no phantom.
                phantom = mine <= set(got) and not mine & set(saved) and row.handed is None
                assert row.phantom == phantom, (row.write, "phantom", row.phantom)
            told = [r for r in self.rows if r.handed or (r.phantom and r.action_key in done.keys)]
            said = {t for r in told for t in self.tokens[r.key]}
            assert set(got) - set(saved) - said == set(), ("phantoms that no row tells", set(got) - set(saved) - said)

    def lost_or_next(self) -> None:
        if self.played.state() is None:
            return
        nxt = self.played.state().next
        for row in self.rows:
            top = row.ns[0].split(":")[0] if row.ns else row.node
            if (
                row.fate in ("dropped", "discarded")
                and not row.rewritten_by
                and row.via not in ("command", "update_state")
            ):
                assert top in nxt, (row.write, row.fate, "but its node is not next", nxt)

    def trace_is_whole(self) -> None:
        trace, story = self.trace, self.story
        assert sorted(e.n for e in story.events) == [e.n for e in trace.events], "an event twice or not at all"
        again = Trace.from_json(trace.to_json())
        assert again.events == trace.events, "JSON does not round-trip"
        text = str(trace)
        assert str(again) == text, "another text after loading"
        assert str(again.ledger) == str(trace.ledger), "another ledger after loading"
        wrong = [line for line in text.splitlines() if _ID.search(line)]
        assert not wrong, ("an id in the text", wrong[:2])


def is_parallel(graph: Graph) -> bool:
    """Whether two of its tasks can run side by side."""
    targets = Counter(source for source, _ in graph.edges)
    return (
        any(n > 1 for n in targets.values())
        or bool(graph.fan)
        or any(n.goto for n in graph.nodes)
        or any(is_parallel(inner) for _, inner in graph.inner)
    )


def _parts(action: tuple[Any, ...]) -> list[str]:
    return (
        [word for part in action if isinstance(part, str) for word in part.split()] if action[0] != "resume map" else []
    )


def compare(traced: Played, plain: Played) -> None:
    """Raise AssertionError where the traced example gave back, saved, raised or ran anything else than the untraced."""
    example = traced.example
    parallel = is_parallel(example.graph) or any(a[0] == "command" for a in example.actions)
    if parallel and any(d.error or d.action[0] == "stop early" for d in (*traced.done, *plain.done)):
        return  # which of the siblings came first decides what is stored, traced or not
    if parallel and example.graph.inner and any("resume" in (*a, *_parts(a)) for a in example.actions):
        return  # a bare answer goes to the subgraph whose thread asks first
    for one, other in zip(traced.done, plain.done, strict=True):
        assert _seen(one, parallel) == _seen(other, parallel), (one.action, example)
    assert traced.world.runs == plain.world.runs, example
    assert [_snapshot(s) for s in traced.history] == [_snapshot(s) for s in plain.history], example


def _seen(done: Any, parallel: bool) -> Any:
    got = _masked(done.returned)
    if parallel and isinstance(done.returned, list):
        got = sorted(map(repr, got))
    return got, done.error and _ID.sub("<id>", done.error), _snapshot(done.state)


def _snapshot(state: Any) -> Any:
    if state is None:
        return None
    tasks = sorted(
        (t.name, str(t.error), sorted(repr(i.value) for i in t.interrupts), repr(_masked(t.result)))
        for t in state.tasks
    )
    meta = state.metadata and (state.metadata.get("source"), state.metadata.get("step"))
    return _masked(state.values), sorted(state.next), tasks, meta


def _masked(value: Any) -> Any:
    return _unmutated(comparable(value))


def _unmutated(value: Any) -> Any:
    """Leave out what a node put into the state in place: with a background saver it is saved or not, as it happens."""
    if isinstance(value, dict):
        # LangGraph collects the questions of a task from a set: their order is random.
        return {
            k: sorted(map(_unmutated, v), key=repr) if k == "interrupts" and isinstance(v, list) else _unmutated(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_unmutated(v) for v in value if not (isinstance(v, str) and TOKEN.fullmatch(v) and v.endswith("m"))]
    return value
