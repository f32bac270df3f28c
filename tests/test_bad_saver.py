"""Databases that fail in the middle: the user gets the exception there is without a trace, and the trace tells it."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

import hitl_lab
from hitl_lab import Trace, savers, scenarios
from hitl_lab.scenarios.broken_node import QUESTION, build
from hitl_lab.stored import CannotReadRows, stored_rows

CONFIG = {"configurable": {"thread_id": "1"}}


def both(tmp_path, attempt):
    """Do it in a fresh folder without a trace, then with one: the exceptions are the same; return the traced one's."""
    seen = []
    for traced in (False, True):
        folder = tmp_path / str(traced)
        folder.mkdir()
        trace = None
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what the first try tells
            if traced:
                with hitl_lab.record(rows=True, file=tmp_path / "trace.jsonl") as trace:
                    attempt(folder)
            else:
                attempt(folder)
        seen.append(caught.value)
    plain, with_trace = seen
    assert type(with_trace) is type(plain)
    assert str(with_trace).replace("/True/", "/False/") == str(plain)
    assert with_trace.__cause__ is None or type(with_trace.__cause__) is type(plain.__cause__)
    assert not [e for e in trace.events if e.kind == "note" and e.text.startswith("The recorder stopped")]
    assert Trace.load(tmp_path / "trace.jsonl").events == trace.events
    ended = [event for event in trace.events if event.kind == "run_ended"]
    assert ended[-1].status == "error"
    assert type(with_trace).__name__ in ended[-1].error
    return with_trace, trace


def saver_errors(trace):
    return [e.error for e in trace.events if e.kind in ("saver_put", "saver_put_writes") and e.error]


def connect(file, **options):
    return closing(sqlite3.connect(file, check_same_thread=False, **options))


def test_locked(tmp_path):
    def attempt(folder):
        file = folder / "c.sqlite"
        with connect(file, timeout=0.05) as conn, connect(file) as other:
            saver = SqliteSaver(conn)
            saver.setup()
            other.execute("BEGIN IMMEDIATE")
            build(saver).invoke(QUESTION, CONFIG, durability="sync")

    raised, trace = both(tmp_path, attempt)
    assert (type(raised), str(raised)) == (sqlite3.OperationalError, "database is locked")
    assert saver_errors(trace)[0] == "OperationalError: database is locked"
    assert "raised OperationalError: database is locked" in str(trace)


def test_read_only(tmp_path):
    def attempt(folder):
        file = folder / "c.sqlite"
        with connect(file) as conn:
            SqliteSaver(conn).setup()
        with connect(f"{file.as_uri()}?mode=ro", uri=True) as conn:
            build(SqliteSaver(conn)).invoke(QUESTION, CONFIG, durability="sync")

    raised, trace = both(tmp_path, attempt)
    assert str(raised) == "attempt to write a readonly database"
    assert trace


def test_full(tmp_path):
    def attempt(folder):
        with connect(folder / "c.sqlite") as conn:
            saver = SqliteSaver(conn)
            saver.setup()
            # SQLite's own limit fails as a full disk does: SQLITE_FULL.
            conn.execute(f"PRAGMA max_page_count = {conn.execute('PRAGMA page_count').fetchone()[0]}")
            big = {"messages": [("user", "x" * 50_000)]}
            build(saver).invoke(big, CONFIG, durability="sync")

    raised, trace = both(tmp_path, attempt)
    assert (type(raised), str(raised)) == (sqlite3.OperationalError, "database or disk is full")
    assert saver_errors(trace)[0] == "OperationalError: database or disk is full"
    # What get_state() and the rows say after it: nothing of the thread was stored.
    read = [event for event in trace.events if event.kind == "state_read"][-1]
    assert (read.checkpoint, read.values, read.stored["tables"]) == (None, {}, {"checkpoints": 0, "writes": 0})


def test_gone_in_the_middle(tmp_path):
    def attempt(folder):
        with connect(folder / "c.sqlite") as conn:
            saver = SqliteSaver(conn)

            def draft(state):
                with saver.lock:  # closed under the hands of the thread that saves, sqlite3 would end the process
                    conn.close()
                return {"messages": [("ai", "We refund 40 EUR.")]}

            build(saver, draft=draft).invoke(QUESTION, CONFIG, durability="sync")

    raised, trace = both(tmp_path, attempt)
    assert (type(raised), str(raised)) == (sqlite3.ProgrammingError, "Cannot operate on a closed database.")
    read = [event for event in trace.events if event.kind == "state_read"][-1]
    assert read.error == "ProgrammingError: Cannot operate on a closed database."
    assert "CannotReadRows" in read.stored["error"]


def test_the_file_is_deleted_in_the_middle(tmp_path):
    file = tmp_path / "c.sqlite"

    def draft(state):
        file.unlink()
        return {"messages": [("ai", "We refund 40 EUR.")]}

    with savers.sqlite(file) as saver:
        with hitl_lab.record(rows=True) as trace:
            build(saver, draft=draft).invoke(QUESTION, CONFIG, durability="sync")
        # The saver's connection goes on with the file that has no name any more; nobody else finds a row.
        read = next(event for event in trace.events if event.kind == "state_read")
        assert read.next == ("review",)
        assert "CannotReadRows" in read.stored["error"]
        with pytest.raises(CannotReadRows, match="unable to open"):
            stored_rows(saver)


def test_tables_of_another_version(tmp_path):
    def attempt(folder):
        with connect(folder / "c.sqlite") as conn:
            # langgraph-checkpoint-sqlite 1.x: checkpoints without a namespace, no table of writes.
            conn.execute("CREATE TABLE checkpoints (thread_id TEXT, thread_ts TEXT, parent_ts TEXT, checkpoint BLOB)")
            conn.execute("CREATE TABLE writes (thread_id TEXT, thread_ts TEXT, task_id TEXT, idx INTEGER)")
            conn.commit()
            build(SqliteSaver(conn)).invoke(QUESTION, CONFIG, durability="sync")

    raised, trace = both(tmp_path, attempt)
    assert type(raised) is sqlite3.OperationalError
    assert "no such column" in str(raised)
    last = [event.stored for event in trace.events if event.kind == "state_read"][-1]
    assert last["tables"] == {"checkpoints": 0, "writes": 0}


def test_no_database_at_all(tmp_path):
    def attempt(folder):
        file = folder / "c.sqlite"
        file.write_bytes(b"this is a letter, not a database" * 100)
        with connect(file) as conn:
            build(SqliteSaver(conn)).invoke(QUESTION, CONFIG, durability="sync")

    raised, _ = both(tmp_path, attempt)
    assert (type(raised), str(raised)) == (sqlite3.DatabaseError, "file is not a database")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit on the size of a file here")
def test_a_disk_that_is_full_for_the_trace_file_too(tmp_path):
    # RLIMIT_FSIZE holds for a whole process, and for the trace file as well as for the database.
    code = f"""
import resource, signal, sys
sys.path[:] = {sys.path!r}
import hitl_lab
from hitl_lab import savers
from hitl_lab.scenarios.broken_node import QUESTION, build
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with savers.sqlite({str(tmp_path / "c.sqlite")!r}) as saver:
    saver.setup()
    graph = build(saver)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    try:
        with hitl_lab.record(file={str(tmp_path / "t.jsonl")!r}) as trace:
            for i in range(50):
                graph.invoke(QUESTION, {{"configurable": {{"thread_id": str(i)}}}}, durability="sync")
    except Exception as exc:
        print(type(exc).__name__, exc)
    print(sum(event.kind == "run_ended" for event in trace.events))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    first, ended = done.stdout.strip().splitlines()[-2:]
    assert first in ("OperationalError database or disk is full", "OperationalError disk I/O error"), done.stdout
    assert int(ended) >= 1
    assert len(Trace.load(tmp_path / "t.jsonl")) > 0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
def test_kill_9_in_the_middle_of_a_trace_file(tmp_path, name):
    file = tmp_path / name
    code = f"""
import sys
sys.path[:] = {sys.path!r}
import hitl_lab
from hitl_lab import savers
from hitl_lab.scenarios.broken_node import QUESTION, build

def tell(event):
    if event.n == 400:
        print("400 events", flush=True)

with savers.memory() as saver, hitl_lab.record(file={str(file)!r}, on_event=tell):
    graph, i = build(saver), 0
    while True:
        graph.invoke(QUESTION, {{"configurable": {{"thread_id": str(i := i + 1)}}}})
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"400 events\n"
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    assert child.returncode == -signal.SIGKILL
    trace = Trace.load(file)
    assert len(trace) >= 400
    assert [event.n for event in trace.events] == list(range(1, len(trace) + 1))
    # It is a trace as any other: the killed run stands as running, the earlier ones as paused.
    states = [action.status for action in trace.story.actions]
    assert set(states[:-1]) == {"paused"}
    assert len(trace.ledger.where(fate="dropped")) >= len(states) - 1


# ---------------------------------------------------------------- PostgreSQL


def test_a_wrong_address(tmp_path):
    import psycopg

    def attempt():
        with savers.postgres("postgresql://nobody:secret@127.0.0.1:1/none") as saver:
            build(saver).invoke(QUESTION, CONFIG)

    for traced in (False, True):
        with pytest.raises(psycopg.OperationalError, match=r"127\.0\.0\.1"):
            if traced:
                with hitl_lab.record() as trace:
                    attempt()
            else:
                attempt()
    assert [event.text.split(":")[0] for event in trace.events] == ["The recorded code ended with OperationalError"]
    assert "secret" not in trace.to_json()


def test_the_connection_is_ended_by_the_server(postgres_dsn):
    import psycopg

    def draft_of(saver):
        def draft(state):
            with psycopg.connect(postgres_dsn, autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(%s)", (saver.conn.info.backend_pid,))
            return {"messages": [("ai", "We refund 40 EUR.")]}

        return draft

    seen = []
    for traced in (False, True):
        config = {"configurable": {"thread_id": f"ended {os.getpid()} {traced}"}}
        with savers.postgres(postgres_dsn) as saver:
            graph = build(saver, draft=draft_of(saver))
            with pytest.raises(psycopg.OperationalError) as caught:
                if traced:
                    with hitl_lab.record(rows=True) as trace:
                        graph.invoke(QUESTION, config, durability="sync")
                else:
                    graph.invoke(QUESTION, config, durability="sync")
            seen.append((type(caught.value), str(caught.value)))
    assert seen[0] == seen[1]
    assert saver_errors(trace)
    # The saver's connection is gone; the reader of rows has its own, and shows what was committed before.
    read = [event for event in trace.events if event.kind == "state_read"][-1]
    assert read.error
    assert read.stored["tables"]["checkpoints"] == 2
    with savers.postgres(postgres_dsn) as saver:
        out = build(saver).invoke(None, config)
        assert "__interrupt__" in out
        assert build(saver).invoke(Command(resume="yes"), config)["messages"][-1].content == "yes"


def test_without_the_tables(postgres_dsn):
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        admin.execute("DROP SCHEMA IF EXISTS empty CASCADE; CREATE SCHEMA empty")
    with psycopg.connect(postgres_dsn, **options, options="-c search_path=empty") as conn:
        saver = PostgresSaver(conn)
        with pytest.raises(psycopg.errors.UndefinedTable), hitl_lab.record(rows=True) as trace:
            build(saver).invoke(QUESTION, CONFIG)
        assert stored_rows(saver).tables == {}
    assert [event.status for event in trace.events if event.kind == "run_ended"] == ["error"]


def test_an_async_database_that_is_gone():
    async def main():
        async with savers.async_sqlite() as saver:
            await saver.setup()
            graph = scenarios.get("broken_node").abuild(saver)
            with hitl_lab.record(rows=True) as trace:
                await graph.ainvoke(QUESTION, CONFIG)
                await saver.conn.close()
                with pytest.raises(ValueError, match="no active connection"):
                    await graph.ainvoke(Command(resume="yes"), CONFIG)
        return trace

    trace = asyncio.run(main())
    assert [event.status for event in trace.events if event.kind == "run_ended"] == ["paused", "error"]
    assert str(trace)  # it outlives its event loop
