"""The benchmark's table of parts: what it leaves out is left out, and changes nothing for the graph."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from _growing import CONFIG, talk_graph

import hitl_lab

sys.path.append(str(Path(__file__).resolve().parent.parent / "bench"))

import _parts

WITHOUT = {
    "`commit`, what it hands on, the saver's coming back": {"commit", "put_writes", "saver_put_writes", "saver_put"},
    "checkpoints made": {"checkpoint"},
    "the thread, read back at the end": {"returned", "state_read", "run_ended"},
}
"""The kinds of events that a part, left out, takes from the trace."""


def run():
    with hitl_lab.record() as trace:
        out = talk_graph().invoke({"n": 0, "upto": 3, "messages": []}, CONFIG, durability="sync")
    return out, Counter(event.kind for event in trace.events)


@pytest.mark.parametrize("name", _parts.PARTS)
def test_a_part_left_out_takes_its_own_events_and_no_others(name, monkeypatch):
    out, kinds = run()
    for stand_in in _parts.stand_ins(name):
        monkeypatch.setattr(*stand_in)
    left = run()
    assert left[0] == out
    if name == "to put down what was seen":
        assert not left[1]
    else:
        assert left[1] == Counter({kind: n for kind, n in kinds.items() if kind not in WITHOUT.get(name, ())})


def test_of_the_empty_hooks_nothing_is_kept(monkeypatch):
    out, kinds = run()
    for stand_in in _parts.stand_ins(_parts.EMPTY):
        monkeypatch.setattr(*stand_in)
    assert run() == (out, Counter())
    monkeypatch.undo()
    assert run() == (out, kinds)


def test_a_stand_in_for_what_is_gone_is_an_error(monkeypatch):
    monkeypatch.setitem(_parts.PARTS, "gone", [(_parts.loops, "no_such_hook", _parts.nothing)])
    with pytest.raises(AttributeError, match="no_such_hook"):
        _parts.leave_out("gone")
