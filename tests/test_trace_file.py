"""Trace files: whole, streamed, cut off, of another schema, or none at all."""

import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver

import hitl_lab
from hitl_lab import Trace, TraceFileError, scenarios
from hitl_lab.scenarios._scenario import run

NAMES = ["broken_node", "fix_c_as_paused_node", "subgraph_as_node", "functional_tasks", "node_error"]


def traced(name, **options):
    with hitl_lab.record(**options) as trace:
        run(scenarios.get(name), InMemorySaver())
    return trace


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_there_and_back(tmp_path, name, suffix):
    trace = traced(name)
    again = Trace.load(trace.save(tmp_path / f"trace{suffix}"))
    assert again.events == trace.events
    assert again.facts == trace.facts
    assert str(again) == str(trace)
    assert Trace.from_json(trace.to_json()).events == trace.events
    assert Trace.from_plain(json.loads(json.dumps(trace.to_plain()))).events == trace.events


def test_a_streamed_file_is_the_saved_one(tmp_path):
    trace = traced("broken_node", file=tmp_path / "streamed.jsonl")
    assert (tmp_path / "streamed.jsonl").read_text() == trace.to_json()


def test_every_event_is_in_the_file_when_it_happens(tmp_path):
    file = tmp_path / "live.jsonl"
    seen = []
    with hitl_lab.record(file=file, on_event=lambda e: seen.append((e.n, len(Trace.load(file).events)))) as trace:
        run(scenarios.get("fix_a_split_node"), InMemorySaver())
    assert [n for n, _ in sorted(seen)] == list(range(1, len(trace.events) + 1))
    # A saver's thread may have added one more by the time the file is read.
    assert all(n <= in_file for n, in_file in seen)


@pytest.mark.parametrize("name", ["cut.jsonl", "cut.jsonl.gz"])
def test_a_file_cut_anywhere_reads_up_to_its_last_whole_event(tmp_path, name):
    trace = traced("broken_node")
    data = trace.save(tmp_path / name).read_bytes()
    whole = [len(part) for part in data.split(b"\n")]
    for cut in range(0, len(data), 997):
        short = tmp_path / f"short-{name}"
        short.write_bytes(data[:cut])
        try:
            got = Trace.load(short).events
        except TraceFileError:
            got = None
        if got is None:  # only a file without its whole first line is none at all
            assert cut <= whole[0] or name.endswith(".gz")
            continue
        assert got == trace.events[: len(got)]
        if not name.endswith(".gz"):
            assert len(got) >= data[:cut].count(b"\n") - 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a trace"),
        ("hello", "not a trace"),
        ("[1, 2]", "not a trace"),
        ('{"schema": "other", "version": 1}', "not a trace"),
        ('{"schema": "hitl_lab.trace", "version": 99}', "schema version 99"),
        ('{"schema": "hitl_lab.trace"}', "schema version None"),
        ('{"schema": "hitl_lab.trace", "version": 1}\n{"kind": "martian"}', "event 1"),
        ('{"schema": "hitl_lab.trace", "version": 1}\n{"kind": "tick", "colour": 1}', "event 1"),
        ('{"schema": "hitl_lab.trace", "version": 1}\nrubbish\n{"kind": "tick"}', "line 2"),
        ('{"schema": "hitl_lab.trace", "version": 1}\n["list"]\n', "event 1"),
    ],
)
def test_what_is_no_trace_gives_one_clear_error(tmp_path, text, says):
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(TraceFileError, match=says) as caught:
        Trace.load(file)
    assert str(file) in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(TraceFileError, match="no such trace file"):
        Trace.load(tmp_path / "nothing.jsonl")


def test_binary_rubbish(tmp_path):
    for name in ("x.jsonl", "x.jsonl.gz"):
        (tmp_path / name).write_bytes(bytes(range(256)))
        with pytest.raises(TraceFileError):
            Trace.load(tmp_path / name)


def test_a_folder_that_does_not_exist_fails_before_anything_runs(tmp_path):
    with pytest.raises(FileNotFoundError), hitl_lab.record(file=tmp_path / "no" / "trace.jsonl"):
        raise AssertionError("not reached")


def test_a_file_that_cannot_be_written_any_more(monkeypatch, tmp_path):
    """A full disk: the graph goes on, the trace in memory is whole and says so."""
    from hitl_lab.trace import TraceWriter

    count = []

    def write(self, event):
        count.append(1)
        if len(count) > 5:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(TraceWriter, "write", write)
    trace = traced("broken_node", file=tmp_path / "full.jsonl")
    assert "A listener was removed: OSError: [Errno 28] No space left on device" in str(trace)
    assert [r.fate for r in trace.ledger] == ["applied", "applied", "dropped", "applied", "applied"]
