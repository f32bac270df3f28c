"""Rows that stand in a database, read over a connection of their own."""

import asyncio
import sqlite3

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

import hitl_lab
from hitl_lab import savers, scenarios
from hitl_lab.scenarios._scenario import arun, run
from hitl_lab.stored import CannotReadRows, astored_rows, stored_rows

BROKEN = scenarios.get("broken_node")
CONFIG = {"configurable": {"thread_id": "1"}}

WHOLE_STORY = """\
  C1  parent none
      T1 [0] messages
      T1 [1] branch:to:draft
  C2  parent C1
      T2 [0] messages
      T2 [1] branch:to:review
  C3  parent C2
      null task [-4] __resume__
      T3 [-4] __resume__
      T3 [-3] __interrupt__
      T3 [0] messages
      T3 [2] messages
  C4  parent C3"""


def test_sqlite_rows_are_committed_ones():
    with savers.sqlite() as saver:
        run(BROKEN, saver)
        rows = stored_rows(saver)
        assert str(rows) == "SQLite, committed: checkpoints 4, writes 9\n" + WHOLE_STORY
        assert rows.committed
        assert [row.checkpoint for row in rows.checkpoints] == sorted(row.checkpoint for row in rows.checkpoints)


def test_memory_rows_are_told_apart():
    saver = InMemorySaver()
    run(BROKEN, saver)
    rows = stored_rows(saver)
    assert str(rows) == "memory, in this process only: checkpoints 4, checkpoint_blobs 9, writes 9\n" + WHOLE_STORY
    assert not rows.committed


def test_what_is_not_committed_is_not_seen():
    with savers.sqlite() as saver:
        run(BROKEN, saver)
        before = stored_rows(saver)
        saver.conn.execute("DELETE FROM writes")
        assert stored_rows(saver) == before
        saver.conn.rollback()


def test_sqlite_in_memory_has_one_connection_only():
    saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
    run(BROKEN, saver)
    rows = stored_rows(saver)
    assert (rows.committed, rows.tables) == (False, {"checkpoints": 4, "writes": 9})


def test_one_thread_of_several():
    with savers.sqlite() as saver:
        for thread in ("a", "b"):
            run(BROKEN, saver, config={"configurable": {"thread_id": thread}})
        assert stored_rows(saver).tables == {"checkpoints": 8, "writes": 18}
        rows = stored_rows(saver, "a")
        assert rows.tables == {"checkpoints": 4, "writes": 9}
        assert {row.thread for row in rows.rows} == {"a"}
        assert str(stored_rows(saver)).count("C1 thread") == 1


def test_an_untouched_database_stays_untouched(tmp_path):
    file = tmp_path / "new.sqlite"
    with savers.sqlite(file) as saver:
        rows = stored_rows(saver)
        assert (str(rows), rows.rows) == ("SQLite, committed: no tables", ())
    assert file.stat().st_size == 0


def test_an_async_saver_from_its_loop_and_from_a_thread(tmp_path):
    async def main():
        async with savers.async_sqlite(tmp_path / "a.sqlite") as saver:
            await arun(BROKEN, saver)
            with pytest.raises(CannotReadRows, match="await astored_rows"):
                stored_rows(saver)
            return await astored_rows(saver), await asyncio.to_thread(stored_rows, saver)

    here, there = asyncio.run(main())
    assert here == there
    assert str(here) == "SQLite, committed: checkpoints 4, writes 9\n" + WHOLE_STORY


@pytest.mark.parametrize("saver", [object(), None, 3])
def test_an_unknown_saver_is_named(saver):
    with pytest.raises(CannotReadRows, match=f"The rows of a {type(saver).__name__} cannot be read: known are"):
        stored_rows(saver)


def test_a_closed_saver():
    with savers.sqlite() as saver:
        pass
    with pytest.raises(CannotReadRows, match="closed database"):
        stored_rows(saver)


def test_the_trace_shows_rows_beside_what_langgraph_reports():
    with savers.sqlite() as saver, hitl_lab.record(rows=True) as trace:
        run(BROKEN, saver)
    paused, done = [event.stored for event in trace.events if event.kind == "state_read"]
    assert paused == {
        "database": "SQLite",
        "committed": True,
        "tables": {"checkpoints": 3, "writes": 5},
        "head": ["__interrupt__"],
    }
    assert done["tables"] == {"checkpoints": 4, "writes": 9}
    said = "Rows committed in SQLite: 3 in `checkpoints` and 5 in `writes`; at this checkpoint `__interrupt__`."
    assert said in str(trace)
    assert hitl_lab.Trace.from_json(trace.to_json()).events == trace.events


def test_rows_of_an_async_run_and_of_an_update():
    scenario = scenarios.get("fix_c_update_state")

    async def main():
        async with savers.async_sqlite() as saver:
            with hitl_lab.record(rows=True) as trace:
                await arun(scenario, saver)
        return trace

    found = [event.stored["tables"] for event in asyncio.run(main()).events if event.kind == "state_read"]
    assert found == [{"checkpoints": 3, "writes": 5}, {"checkpoints": 4, "writes": 7}, {"checkpoints": 5, "writes": 10}]


def test_an_outer_record_may_ask_for_rows():
    with hitl_lab.record(rows=True) as outer, hitl_lab.record():
        run(BROKEN, InMemorySaver())
    assert all(event.stored["database"] == "memory" for event in outer.events if event.kind == "state_read")


def test_rows_are_not_counted_unless_asked_for():
    with hitl_lab.record() as trace:
        run(BROKEN, InMemorySaver())
    assert all(event.stored == {} for event in trace.events if event.kind == "state_read")


def test_rows_that_cannot_be_read_are_told_and_harm_nothing():
    class Own(InMemorySaver):
        storage = property(lambda self: self.kept, lambda self, value: setattr(self, "kept", value))

        def __getattribute__(self, name):
            import sys

            if name == "storage" and "stored.py" in sys._getframe(1).f_code.co_filename:
                raise RuntimeError("no rows for you")
            return super().__getattribute__(name)

    with hitl_lab.record(rows=True) as trace:
        outcomes = run(BROKEN, Own())
    assert [outcome.error for outcome in outcomes] == [None, None]
    assert "Its rows could not be read: RuntimeError: no rows for you." in str(trace)
    assert not any("recorder stopped" in getattr(event, "text", "") for event in trace.events)


def test_no_postgres_is_told(monkeypatch, tmp_path):
    monkeypatch.delenv("HITL_LAB_POSTGRES_DSN", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert savers.postgres_dsn() is None
    assert savers.best() == "sqlite"
    with pytest.raises(savers.NoPostgres, match="make postgres"), savers.postgres():
        pass


def test_a_server_that_does_not_answer_counts_as_none(monkeypatch):
    monkeypatch.setenv("HITL_LAB_POSTGRES_DSN", "postgresql://nobody:secret@127.0.0.1:1/none")
    assert savers.postgres_dsn() is None


@pytest.mark.parametrize("opened", [savers.memory, savers.sqlite])
def test_the_rows_of_tasks_side_by_side_are_told_in_one_order(opened):
    """They come sorted by the tasks' ids, which are another each time."""

    def once():
        with opened() as saver, hitl_lab.record(rows=True) as trace:
            scenarios.get("parallel_sibling").build(saver).invoke({"log": ["order"]}, CONFIG, durability="sync")
            text = str(stored_rows(saver))
        return tuple(next(e.stored["head"] for e in trace.events if e.kind == "state_read")), text

    ((head, text),) = {once() for _ in range(12)}
    assert {"__interrupt__", "log"} <= set(head)
    assert text.count("T2 [") + text.count("T3 [") >= 2
