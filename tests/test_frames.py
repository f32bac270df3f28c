"""Frames: plain data from a trace, the same at every step as what story, ledger and saver say."""

import json
import subprocess
import sys

import jsonschema
import pytest
from _made import long_trace
from _traces import LESSONS, SOME, traced

from hitl_lab import frames as fr
from hitl_lab import values
from hitl_lab.differences import differences
from hitl_lab.frame_view import dropped_steps
from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import _UUID, clean, show
from hitl_lab.views.stepper import trace_frames
from hitl_lab.views.tables import findings_table, ledger_table


def texts(frames, value):
    """A channel's value as the texts of its items, or its own text."""
    return [frames.text(v) for v in value] if isinstance(value, list) else frames.text(value)


def find(frames, kind, **wanted):
    """The first frame of a kind of event whose fields are as wanted."""
    return next(f for f in frames if f["kind"] == kind and all(f[k] == v for k, v in wanted.items()))


@pytest.mark.parametrize("name", SOME)
def test_a_document_fits_its_schema(name):
    jsonschema.validate(trace_frames(traced(name)).document, fr.schema())


def test_the_schema_is_a_schema_and_refuses_what_it_does_not_know():
    jsonschema.Draft202012Validator.check_schema(fr.schema())
    document = json.loads(fr.frames(traced("broken_node")).to_json())
    document["events"][3]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, fr.schema())


def test_frames_import_no_langgraph():
    code = "import sys, hitl_lab.frames, hitl_lab.comparison; print([m for m in sys.modules if m.startswith('lang')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", SOME)
def test_frames_of_a_trace_are_the_same_each_time_and_hold_no_id(name):
    text = fr.frames(traced(name)).to_json()
    assert text == fr.frames(Trace.from_json(traced(name).to_json())).to_json()
    assert _UUID.search(text) is None
    assert "NaN" not in text


def test_the_broken_node_at_the_pause():
    frames = fr.frames(traced("broken_node"))
    commits = [f for f in frames if f["kind"] == "commit" and f["run"] == 0]
    frame = commits[-1]
    (task,) = frame["tasks"]
    (write,) = task["writes"]
    assert task["state"] == "paused"
    assert (write["status"], write["tone"], write["new"]) == ("dropped", "drop", True)
    assert "handed on only the question" in write["reason"]
    assert frames.document["writes"][write["write"]]["name"] == "W3"
    head = frame["persisted"]["checkpoints"][0]
    assert head["rows"] == []
    assert head["absent"] == [write["write"]]
    stored = find(frames, "state_read")["persisted"]["checkpoints"][0]["rows"]
    assert [(r["channel"], r["saved"]) for r in stored] == [("__interrupt__", True)]
    assert [frames.document["nodes"][n]["key"] for n, state in frame["nodes"] if state == "paused"] == ["review"]


def test_the_phantom_is_marked_in_what_was_returned():
    frames = fr.frames(traced("broken_node"))
    read = find(frames, "state_read")["returned"]["read"]
    ((path, returned, saved),) = read["lines"]
    assert read["phantom"] == ["messages"]
    assert path.startswith("messages[1].")
    assert "hitl_payload" in path + frames.text(returned)
    assert saved == -1
    only = next(f for f in frames if f["only_returned"])
    assert only["diff"][0][0] == path
    assert find(frames, "state_read")["channels"] == next(f for f in frames if f["kind"] == "paused")["channels"]


def test_update_state_is_a_step_of_its_own_and_a_resumed_node_runs_again():
    frames = fr.frames(traced("fix_c_update_state"))
    runs = frames.document["runs"]
    assert [r["label"] for r in runs] == ["run 1", "update 1", "run 2"]
    assert {f["phase"] for f in frames if f["run"] == 1} == {"update_state"}
    started = [f for f in frames if f["kind"] == "task_started" and f["run"] == 2]
    assert started[0]["tasks"][0]["state"] == "re-running"


@pytest.mark.parametrize("name", SOME)
def test_rows_of_the_head_are_what_was_read_back_from_the_saver(name):
    trace = traced(name)
    frames = fr.frames(trace)
    reads = iter([e for e in trace.story.events if isinstance(e, ev.StateRead)])
    document = frames.document
    for frame in (f for f in frames if f["kind"] == "state_read"):
        event = next(reads)
        if event.error or event.checkpoint is None:
            continue
        named = {document["checkpoints"][p["checkpoint"]]["name"]: p for p in frame["persisted"]["checkpoints"]}
        shown = named[trace.story.name(event.checkpoint)]["rows"]
        assert sorted({r["channel"] for r in shown}) == sorted({clean(r.channel) for r in event.pending})
        assert all(r["saved"] for r in shown)


@pytest.mark.parametrize("name", [n for n in SOME if not n.startswith("functional")])  # its state is no channel
def test_channels_computed_from_changes_are_what_get_state_reads(name):
    frames = fr.frames(traced(name))
    for frame in frames:
        read = (frame["returned"] or {}).get("read")
        head = frame["persisted"]["checkpoints"][:1]
        if frame["kind"] != "state_read" or read is None or (head and head[0]["rows"]) or frame["path"]:
            continue  # pending rows: get_state() shows finished siblings as applied
        shown = {c["name"]: texts(frames, c["value"]) for c in frame["channels"]}
        told = {name: texts(frames, value) for name, value in read["values"].items()}
        assert {k: shown.get(k) for k in told} == told


@pytest.mark.parametrize("name", SOME)
def test_the_last_frame_agrees_with_the_ledger(name):
    trace = traced(name)
    frames = fr.frames(trace)
    cells = {r["write"]: r["cells"] for r in frames[-1]["ledger"]["rows"]}
    writes = frames.document["writes"]
    by_name = {writes[w]["name"]: c for w, c in cells.items()}
    for row in trace.ledger:
        if row.key is None or row.write not in by_name or row.fate == "open":
            continue
        status, _, _, _, checkpoint, state, returned, again = by_name[row.write]
        assert status[0] == row.fate, row
        assert (checkpoint[0] == row.checkpoint) or row.checkpoint is None
        assert state[0] == {True: "yes", False: "no", None: ""}[row.in_state]
        assert ("phantom" in returned[0]) == row.phantom
        assert (row.rewritten_by or "") in again[0]


def test_next_dropped_write_stops_at_each_drop_and_nowhere_else():
    frames = fr.frames(traced("broken_node"))
    stops = dropped_steps(frames._index)
    assert [frames[k]["kind"] for k in stops] == ["commit"]
    assert dropped_steps(fr.frames(traced("fix_a_split_node"))._index) == []


def test_a_document_grows_with_the_events_not_with_events_times_state():
    sizes = [len(fr.frames(long_trace(n)).to_json()) for n in (300, 600)]
    assert sizes[1] < 2.1 * sizes[0]


def test_a_long_list_shows_its_first_and_last_items_as_the_snapshot_does():
    trace = long_trace(200)
    frames = fr.frames(trace)
    (channel,) = frames[-1]["channels"]
    items = channel["value"]
    assert len(items) == 61
    assert [-v for v in items if v < 0] == [200 - 60]
    assert frames.text(items[0]) == '"first 0"'
    assert frames.text(items[-1]) == '"first 199"'
    expected = []
    for e in trace.events:
        if isinstance(e, ev.Applied):
            expected = values.apply_change(expected, e.changes["log"])
    assert [frames.text(v) if v >= 0 else v for v in items] == [
        show(v, 110) if not values.is_mark(v) else -v["n"] for v in expected
    ]


@pytest.mark.parametrize("name", ["broken_node", "parallel_sibling", "fix_c_update_state"])
def test_patches_turn_each_document_into_the_next(name):
    events = traced(name).events
    document = {}
    for n in range(1, len(events) + 1):
        new = fr.frames(Trace(events[:n])).document
        patch = fr.patch(document, new)
        for key, change in patch.items():
            document[key] = [*document.get(key, [])[: change["from"]], *change["items"]]
        assert {k: document.get(k, []) for k in fr.GROWING} == {k: new[k] for k in fr.GROWING}


def test_frames_are_a_sequence():
    frames = fr.frames(traced("broken_node"))
    assert frames[-1] == frames[len(frames) - 1]
    assert frames[:2] == [frames[0], frames[1]]
    with pytest.raises(IndexError, match="there is no step 99: the trace has"):
        frames[99]
    assert len(fr.frames(Trace())) == 0


@pytest.mark.parametrize("name", LESSONS)
def test_source_is_left_out_unless_asked_for(name):
    assert trace_frames(traced(name), source=False).document["sources"] == []
    sources = trace_frames(traced(name)).document["sources"]
    assert any(s["function"].endswith("commit") and s["deciding"] for s in sources)


def test_frames_number_events_as_the_text_and_the_findings_do():
    trace = traced("broken_node")
    frames = fr.frames(trace)
    (dropped,) = trace.findings.of("HL001")
    k = frames.step_of(dropped.events[-1])
    first, last = frames[k]["events"]
    assert first <= dropped.events[-1] <= last
    assert [f["events"][1] for f in frames] == [n + 1 for n in frames.document["steps"]]
    assert all(f"{f['events'][1]:>4}  {f['kind']}" in str(trace) for f in frames)


def test_an_item_put_in_the_middle_is_one_difference():
    given, saved = ["order", "asking", "stock: 3"], ["order", "stock: 3"]
    (line,) = differences("log", given, saved)
    assert (line.path, line.before, line.has) == ("log[1]", "asking", False)
    assert [tuple(d)[:3] for d in differences("x", {"a": 1, "b": [1]}, {"a": 2, "b": [1]})] == [("x.a", 1, 2)]
    assert differences("x", float("1"), 1)[0].path == "x"


def test_findings_and_ledger_are_tables_with_the_text_as_their_twin():
    trace = traced("broken_node")
    for made, text in (
        (ledger_table(trace.ledger), str(trace.ledger)),
        (findings_table(trace.findings), str(trace.findings)),
    ):
        assert repr(made) == str(made) == text
        assert made._repr_mimebundle_()[0]["text/plain"] == text
    assert trace._repr_mimebundle_()[0]["text/plain"] == str(trace)
    rows = findings_table(trace.findings)._plain["rows"]
    assert [row[0][0] for row in rows] == [f.code for f in trace.findings]
