"""A real PostgreSQL: nothing is lost or crossed, and the ledger agrees with the rows."""

import asyncio
import threading
import uuid

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.types import Command
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool
from test_stitching import check_handed_over, hand_over

import hitl_lab
from hitl_lab import crash, savers, scenarios
from hitl_lab.scenarios._scenario import arun, run
from hitl_lab.stored import astored_rows, stored_rows

SIBLING = scenarios.get("parallel_sibling")
BROKEN = scenarios.get("broken_node")
THREADS = 20


@pytest.fixture
def thread():
    """A thread_id of the test's own: one server serves all tests."""
    return f"test {uuid.uuid4()}"


def place(thread):
    return {"configurable": {"thread_id": thread}}


def check_ledger_against_rows(trace, rows, thread):
    """Every applied or pending write has its row, under its task and channel; a dropped one has none of its own."""
    stored = {}
    for row in rows.writes:
        assert row.thread == thread
        stored.setdefault((row.task, row.channel), []).append(row.index)
    saved = {row.checkpoint for row in rows.checkpoints}
    for event in trace.events:
        if event.kind == "checkpoint":
            assert event.checkpoint in saved
    told = {}
    for row in trace.ledger:
        if row.via == "input":
            continue
        assert row.fate in ("applied", "dropped"), row
        if row.fate == "applied":
            told.setdefault((row.task_id, row.channel), []).append(row)
    regular = {key: found for key, found in stored.items() if not key[1].startswith(("__", "branch:", "join:"))}
    assert {key: len(found) for key, found in regular.items()} == {key: len(found) for key, found in told.items()}


def test_sync(postgres_dsn, thread):
    with savers.postgres(postgres_dsn) as saver, hitl_lab.record(rows=True) as trace:
        run(SIBLING, saver, config=place(thread))
        rows = stored_rows(saver, thread)
    assert (rows.database, rows.committed) == ("PostgreSQL", True)
    check_ledger_against_rows(trace, rows, thread)
    last = [event.stored for event in trace.events if event.kind == "state_read"][-1]
    assert last["tables"] == rows.tables


def test_async(postgres_dsn, thread):
    async def main():
        async with savers.async_postgres(postgres_dsn) as saver:
            with hitl_lab.record(rows=True) as trace:
                await arun(SIBLING, saver, config=place(thread))
            return trace, await astored_rows(saver, thread), await asyncio.to_thread(stored_rows, saver, thread)

    trace, rows, again = asyncio.run(main())
    assert rows == again
    check_ledger_against_rows(trace, rows, thread)


def test_it_tells_what_sqlite_tells(postgres_dsn, thread):
    with savers.postgres(postgres_dsn) as one, savers.sqlite() as two:
        with hitl_lab.record() as there:
            run(BROKEN, one, config=place(thread))
        with hitl_lab.record() as here:
            run(BROKEN, two, config=place(thread))
        first, second = str(stored_rows(one, thread)), str(stored_rows(two, thread))
    assert first.splitlines()[1:] == second.splitlines()[1:]
    assert str(there.ledger) == str(here.ledger)
    assert str(there).replace("PostgresSaver", "SqliteSaver") == str(here)


def test_what_is_not_committed_is_not_seen(postgres_dsn, thread):
    with psycopg.connect(postgres_dsn, row_factory=dict_row, prepare_threshold=0) as conn:
        saver = PostgresSaver(conn)
        saver.setup()
        conn.commit()
        run(BROKEN, saver, config=place(thread))
        assert stored_rows(saver, thread).rows == ()
        conn.commit()
        assert stored_rows(saver, thread).tables["checkpoints"] == 4


def test_twenty_threads_pause_and_resume_at_once(postgres_dsn):
    names = [f"{uuid.uuid4()} {i}" for i in range(THREADS)]
    paused, errors, traces = threading.Barrier(THREADS), [], {}

    def work(graph, name):
        try:
            with hitl_lab.record() as trace:
                graph.invoke({"log": [name]}, place(name))
                paused.wait(60)
                graph.invoke(Command(resume=f"answer to {name}"), place(name))
            traces[name] = trace
        except BaseException as exc:
            errors.append(exc)
            paused.abort()

    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(postgres_dsn, min_size=4, max_size=8, kwargs=options) as pool:
        saver = PostgresSaver(pool)
        saver.setup()
        # One graph and one saver for all: what could cross would cross here.
        graph = SIBLING.build(saver)
        workers = [threading.Thread(target=work, args=(graph, name)) for name in names]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
        assert errors == []
        for name in names:
            log = graph.get_state(place(name)).values["log"]
            assert log[0] == name
            assert f"answer: answer to {name}" in log
            assert len(log) == 5
            check_ledger_against_rows(traces[name], stored_rows(saver, name), name)
    fates = {tuple((row.node, row.channel, row.label) for row in trace.ledger) for trace in traces.values()}
    assert len(fates) == 1


def test_pause_in_one_process_resume_in_another(postgres_dsn, tmp_path, thread):
    trace = hand_over(tmp_path, postgres_dsn, thread)
    check_handed_over(trace)
    assert [e.stored["database"] for e in trace.events if e.kind == "state_read"] == ["PostgreSQL"] * 2


def test_a_crash(postgres_dsn):
    found = crash("fix_a_split_node", at="in_node", saver=postgres_dsn)
    assert [s.place for s in found.survivors] == ["checkpoint"] * 3
    assert (found.saver, found.question, found.resume) == ("postgres", False, "review → done")
    with savers.postgres(postgres_dsn) as saver:
        assert not [row for row in stored_rows(saver).rows if row.thread.startswith("crash-")]


def test_the_password_is_in_no_error(postgres_dsn):
    with savers.postgres(postgres_dsn) as saver:
        saver.conn.close()
        try:
            found = stored_rows(saver)
        except Exception as exc:
            found = exc
    password = postgres_dsn.split(":")[2].split("@")[0]
    assert password not in str(found)
