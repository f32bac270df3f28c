"""What stands in a checkpointer's database, read over a connection of its own: what it shows is committed.

The reader asks SQLite and PostgreSQL with plain SQL and LangGraph with nothing, so it can be held against what
`get_state()` says.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hitl_lab.errors import HitlLabError

# Table to the column that tells one row from another in it, for the tables of langgraph-checkpoint-sqlite 2 and 3
# and langgraph-checkpoint-postgres 2 and 3. What is not there is left out.
_WRITES = ("writes", "checkpoint_writes")
_CHECKPOINTS = "checkpoints"
_TABLES = (_CHECKPOINTS, "checkpoint_blobs", *_WRITES)


class CannotReadRows(HitlLabError):
    """The rows of a checkpointer cannot be read: an unknown saver, or a database that does not answer."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One row: a checkpoint, or one write of a task at a checkpoint (then task, index and channel are set).

    index: the place of the write in its task, from 0; LangGraph's own writes have negative ones (-3 is the interrupt).
    """

    table: str
    thread: str
    ns: str
    checkpoint: str
    parent: str | None = None
    task: str = ""
    index: int | None = None
    channel: str = ""


@dataclass(frozen=True, repr=False)
class StoredRows:
    """The rows of a database, or of one thread in it.

    database: "SQLite", "PostgreSQL" or "memory". committed: read over a connection of its own. tables: rows by table.
    """

    database: str
    committed: bool
    tables: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[StoredRow, ...] = ()

    @property
    def checkpoints(self) -> tuple[StoredRow, ...]:
        """The rows of checkpoints, oldest first."""
        return tuple(r for r in self.rows if r.table == _CHECKPOINTS)

    @property
    def writes(self) -> tuple[StoredRow, ...]:
        """The rows of writes, by checkpoint, task and index."""
        return tuple(r for r in self.rows if r.channel)

    def at(self, checkpoint: StoredRow) -> list[StoredRow]:
        """Return the rows of writes at a checkpoint (a row of one): task by task, each by index.

        The null task comes first, then the tasks by what they wrote: their ids are another each time.
        """
        by_task: dict[str, list[StoredRow]] = {}
        for write in self.writes:
            if (write.thread, write.ns, write.checkpoint) == (checkpoint.thread, checkpoint.ns, checkpoint.checkpoint):
                by_task.setdefault(write.task, []).append(write)
        groups = sorted(by_task.values(), key=lambda g: (not _is_null(g[0]), [(w.index or 0, w.channel) for w in g]))
        return [write for group in groups for write in group]

    def counts(self) -> str:
        """Return "checkpoints 3, writes 4"."""
        return ", ".join(f"{name} {n}" for name, n in self.tables.items()) or "no tables"

    def __str__(self) -> str:
        """Return the rows as text, ids as C1, C2 (checkpoints) and T1, T2 (tasks) in the order they were stored."""
        means = "committed" if self.committed else "in this process only"
        lines = [f"{self.database}, {means}: {self.counts()}"]
        names, tasks = _short(self.checkpoints), {}
        threads = len({r.thread for r in self.rows}) > 1
        for row in self.checkpoints:
            at = names[row.thread, row.ns, row.checkpoint]
            where = (f" thread {row.thread}" if threads else "") + (f" in {_plain_ns(row.ns)}" if row.ns else "")
            parent = names.get((row.thread, row.ns, row.parent or ""), "none")
            lines.append(f"  {at}{where}  parent {parent}")
            for write in self.at(row):
                task = "null task" if _is_null(write) else tasks.setdefault(write.task, f"T{len(tasks) + 1}")
                lines.append(f"      {task} [{write.index}] {write.channel}")
        known = set(names)
        adrift = sum((w.thread, w.ns, w.checkpoint) not in known for w in self.writes)
        if adrift:
            lines.append(f"  {adrift} writes of checkpoints that are not there")
        return "\n".join(lines)

    __repr__ = __str__  # a notebook shows it, and ids must not get there


def _is_null(write: StoredRow) -> bool:
    # An all-zero task id is LangGraph's null task: writes that no task made.
    return not write.task.replace("-", "").strip("0")


def _short(checkpoints: Iterable[StoredRow]) -> dict[tuple[str, str, str], str]:
    # Checkpoint ids are uuid6: sorted by text they are sorted by time, over all namespaces.
    ordered = sorted(checkpoints, key=lambda r: (r.thread, r.checkpoint))
    return {(r.thread, r.ns, r.checkpoint): f"C{i}" for i, r in enumerate(ordered, 1)}


def _plain_ns(ns: str) -> str:
    return "/".join(part.split(":")[0] for part in ns.split("|"))


def stored_rows(saver: Any, thread: str | None = None) -> StoredRows:
    """Return the rows that stand in a checkpointer's database.

    Args:
        saver: an InMemorySaver, SqliteSaver, PostgresSaver or a subclass of one; an AsyncPostgresSaver too. An
            AsyncSqliteSaver can be asked only from another thread than its event loop's: there use `astored_rows`.
        thread: the thread_id to look at; default all.

    Raises:
        CannotReadRows: the saver is of no kind named here, or the database does not answer.
    """
    return _read(*_place(saver), thread)


async def astored_rows(saver: Any, thread: str | None = None) -> StoredRows:
    """Return what `stored_rows` returns, without blocking the event loop; for async savers too."""
    conn = getattr(saver, "conn", None)
    if _module(conn).startswith("aiosqlite"):
        async with conn.execute("PRAGMA database_list") as cursor:
            place: tuple[str, Any] = ("sqlite", _file_of(await cursor.fetchall()) or conn)
        if place[1] is conn:
            raise CannotReadRows("The rows of an AsyncSqliteSaver on :memory: cannot be read. Give it a file.")
    else:
        place = _place(saver)
    if place[0] == "memory":
        return _read(*place, thread)
    return await asyncio.to_thread(_read, *place, thread)


def _module(value: Any) -> str:
    return type(value).__module__


def _place(saver: Any) -> tuple[str, Any]:
    """Return the kind of database, and what it takes to open it once more."""
    conn = getattr(saver, "conn", None)
    if isinstance(conn, sqlite3.Connection):
        try:
            file = _file_of(conn.execute("PRAGMA database_list").fetchall())
        except sqlite3.Error as exc:
            raise CannotReadRows(f"The checkpointer's own connection does not answer: {exc}") from exc
        # ":memory:" is seen by its one connection only.
        return "sqlite", file or conn
    if _module(conn).startswith("aiosqlite"):
        return "sqlite", _file_over_loop(saver, conn)
    if _module(conn).startswith("psycopg_pool"):
        kwargs = conn.kwargs if isinstance(getattr(conn, "kwargs", None), dict) else {}
        known = {k: v for k, v in kwargs.items() if k not in ("autocommit", "prepare_threshold", "row_factory")}
        return "postgres", (conn.conninfo, known)
    if _module(conn).startswith("psycopg"):
        info = conn.info
        # info.dsn leaves the password out.
        return "postgres", (info.dsn, {"password": info.password} if info.password else {})
    if isinstance(getattr(saver, "storage", None), Mapping) and hasattr(saver, "writes"):
        return "memory", saver
    raise CannotReadRows(
        f"The rows of a {type(saver).__name__} cannot be read: known are InMemorySaver, SqliteSaver, AsyncSqliteSaver, "
        "PostgresSaver and AsyncPostgresSaver."
    )


def _file_of(database_list: Iterable[Any]) -> str | None:
    return next((row[2] for row in database_list if row[1] == "main" and row[2]), None)


def _file_over_loop(saver: Any, conn: Any) -> str:
    loop = saver.loop
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        raise CannotReadRows("An AsyncSqliteSaver is asked from its own event loop: await astored_rows(saver) there.")

    async def ask() -> Any:
        async with conn.execute("PRAGMA database_list") as cursor:
            return await cursor.fetchall()

    if not loop.is_running():
        raise CannotReadRows("The event loop of this AsyncSqliteSaver does not run any more: open its file anew.")
    file = _file_of(asyncio.run_coroutine_threadsafe(ask(), loop).result(30))
    if file is None:
        raise CannotReadRows("The rows of an AsyncSqliteSaver on :memory: cannot be read. Give it a file.")
    return file


def _read(kind: str, place: Any, thread: str | None) -> StoredRows:
    if kind == "memory":
        return _memory(place, thread)
    try:
        if kind == "postgres":
            return _postgres(*place, thread)
        if isinstance(place, sqlite3.Connection):
            return _sql(place, "SQLite", False, _sqlite_columns(place), thread, "?")
        # Read only, so that looking changes nothing and a missing file is not made.
        uri = f"{Path(place).resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=5)) as conn:
            return _sql(conn, "SQLite", True, _sqlite_columns(conn), thread, "?")
    except CannotReadRows:
        raise
    except Exception as exc:
        raise CannotReadRows(f"The database of the checkpointer does not answer: {_without_password(exc)}") from exc


def _without_password(exc: Exception) -> str:
    return re.sub(r"://[^@\s/]+@", "://…@", f"{type(exc).__name__}: {str(exc).strip()}")


def _postgres(conninfo: str, kwargs: dict[str, Any], thread: str | None) -> StoredRows:
    import psycopg

    with psycopg.connect(conninfo, **{"connect_timeout": 10, **kwargs}, autocommit=True) as conn:
        columns: dict[str, set[str]] = {}
        for table, column in conn.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = ANY (current_schemas(false))"
        ):
            columns.setdefault(table, set()).add(column)
        return _sql(conn, "PostgreSQL", True, columns, thread, "%s")


def _sqlite_columns(conn: sqlite3.Connection) -> dict[str, set[str]]:
    tables = [row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {t: {r[1] for r in conn.execute(f"PRAGMA table_info({t})")} for t in tables if t in _TABLES}


def _sql(
    conn: Any, database: str, committed: bool, columns: dict[str, set[str]], thread: str | None, mark: str
) -> StoredRows:
    where, args = (f" WHERE thread_id = {mark}", (thread,)) if thread is not None else ("", ())
    tables: dict[str, int] = {}
    rows: list[StoredRow] = []
    for table in _TABLES:
        have = columns.get(table)
        if not have or "thread_id" not in have:
            continue
        tables[table] = conn.execute(f"SELECT count(*) FROM {table}{where}", args).fetchone()[0]
        if not {"checkpoint_ns", "checkpoint_id"} <= have:
            continue
        if table == _CHECKPOINTS:
            parent = "parent_checkpoint_id" if "parent_checkpoint_id" in have else "NULL"
            asked = f"SELECT thread_id, checkpoint_ns, checkpoint_id, {parent} FROM {table}{where} ORDER BY 1, 3"
            rows += [StoredRow(table, *row) for row in conn.execute(asked, args).fetchall()]
        elif {"task_id", "idx", "channel"} <= have:
            asked = f"SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel FROM {table}{where}"
            got = conn.execute(f"{asked} ORDER BY 1, 3, 4, 5", args).fetchall()
            rows += [StoredRow(table, t, ns, c, None, task, idx, channel) for t, ns, c, task, idx, channel in got]
    return StoredRows(database, committed, tables, tuple(rows))


def _memory(saver: Any, thread: str | None) -> StoredRows:
    checkpoints = [
        StoredRow(_CHECKPOINTS, str(t), ns, cid, found[2])
        for t, by_ns in list(saver.storage.items())
        for ns, by_id in list(by_ns.items())
        for cid, found in list(by_id.items())
        if thread in (None, str(t))
    ]
    writes = [
        StoredRow("writes", str(t), ns, cid, None, task, index, found[1])
        for (t, ns, cid), by_key in list(saver.writes.items())
        for (task, index), found in list(by_key.items())
        if thread in (None, str(t))
    ]
    checkpoints.sort(key=lambda r: (r.thread, r.checkpoint))
    writes.sort(key=lambda r: (r.thread, r.checkpoint, r.task, r.index or 0))
    blobs = [key for key in list(getattr(saver, "blobs", ())) if thread in (None, str(key[0]))]
    tables = {_CHECKPOINTS: len(checkpoints), "checkpoint_blobs": len(blobs), "writes": len(writes)}
    return StoredRows("memory", False, tables, tuple(checkpoints + writes))
