"""Checkpointers by name, each a context manager that closes what it opened; and where a PostgreSQL is to be found."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hitl_lab.errors import HitlLabError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

NAMES = ("memory", "sqlite", "postgres")


class NoPostgres(HitlLabError):
    """A PostgreSQL server is asked for and none is to be found, or its client library is missing."""


def postgres_dsn() -> str | None:
    """Return the address of a PostgreSQL server that answers, or None.

    Source: the environment variable HITL_LAB_POSTGRES_DSN ("none": none is wanted); else the server that
    `make postgres` started.
    """
    try:
        import langgraph.checkpoint.postgres  # noqa: F401
        import psycopg
    except ImportError:
        return None
    dsn = _known_dsn()
    if dsn in (None, "none"):
        return None
    try:
        psycopg.connect(dsn, connect_timeout=3).close()
    except psycopg.Error:
        return None
    return dsn


def _known_dsn() -> str | None:
    given = os.environ.get("HITL_LAB_POSTGRES_DSN")
    if given or not hasattr(os, "getuid"):
        return given or None
    folder = Path(os.environ.get("TMPDIR") or "/tmp") / f"hitl-lab-postgres.{os.getuid()}"
    try:
        return (folder / "dsn").read_text().strip() or None
    except OSError:
        return None


def best() -> str:
    """Return "postgres" if a server answers, else "sqlite"."""
    return "postgres" if postgres_dsn() else "sqlite"


@contextlib.contextmanager
def _file(path: str | os.PathLike[str] | None) -> Iterator[str]:
    if path is not None:
        yield os.fspath(path)
        return
    # Windows keeps the journal of a file just closed locked for a moment.
    with tempfile.TemporaryDirectory(prefix="hitl-lab-", ignore_cleanup_errors=True) as folder:
        yield str(Path(folder) / "checkpoints.sqlite")


@contextlib.contextmanager
def memory() -> Iterator[BaseCheckpointSaver]:
    """Yield an InMemorySaver; for sync and async runs."""
    from langgraph.checkpoint.memory import InMemorySaver

    yield InMemorySaver()


@contextlib.contextmanager
def sqlite(path: str | os.PathLike[str] | None = None) -> Iterator[BaseCheckpointSaver]:
    """Yield a SqliteSaver on a file; for sync runs only.

    Args:
        path: the database file; default a temporary one, deleted at the end.
    """
    from langgraph.checkpoint.sqlite import SqliteSaver

    with _file(path) as name, SqliteSaver.from_conn_string(name) as saver:
        yield saver


@contextlib.asynccontextmanager
async def async_sqlite(path: str | os.PathLike[str] | None = None) -> AsyncIterator[BaseCheckpointSaver]:
    """Yield an AsyncSqliteSaver on a file; it belongs to the event loop that runs now.

    Args:
        path: the database file; default a temporary one, deleted at the end.
    """
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    with _file(path) as name:
        async with AsyncSqliteSaver.from_conn_string(name) as saver:
            yield saver


@contextlib.contextmanager
def postgres(dsn: str | None = None) -> Iterator[BaseCheckpointSaver]:
    """Yield a PostgresSaver whose tables are set up; for sync runs only.

    Args:
        dsn: the server's address; default `postgres_dsn()`.

    Raises:
        NoPostgres: no server is known, or langgraph-checkpoint-postgres is not installed.
        psycopg.OperationalError: the server at `dsn` does not answer.
    """
    saver_class = _postgres_class("langgraph.checkpoint.postgres", "PostgresSaver")
    with saver_class.from_conn_string(need_postgres(dsn)) as saver:
        saver.setup()
        yield saver


@contextlib.asynccontextmanager
async def async_postgres(dsn: str | None = None) -> AsyncIterator[BaseCheckpointSaver]:
    """Yield an AsyncPostgresSaver whose tables are set up; arguments and errors as in `postgres`."""
    saver_class = _postgres_class("langgraph.checkpoint.postgres.aio", "AsyncPostgresSaver")
    async with saver_class.from_conn_string(need_postgres(dsn)) as saver:
        await saver.setup()
        yield saver


def _postgres_class(module: str, name: str):
    from importlib import import_module

    try:
        return getattr(import_module(module), name)
    except ImportError as exc:
        raise NoPostgres(f'The PostgreSQL saver cannot be imported ({exc}): pip install "hitl_lab[postgres]"') from exc


def need_postgres(dsn: str | None = None) -> str:
    """Return `dsn`, or else `postgres_dsn()`; raises NoPostgres if there is neither."""
    dsn = dsn or postgres_dsn()
    if dsn is None:
        raise NoPostgres(
            "No PostgreSQL server answers: start one with `make postgres`, or name one in HITL_LAB_POSTGRES_DSN."
        )
    return dsn


@contextlib.contextmanager
def opened(name: str, place: str | None = None) -> Iterator[BaseCheckpointSaver]:
    """Yield the sync saver of that name: one of NAMES, a PostgreSQL address, or the path of an SQLite file.

    Args:
        name: "memory", "sqlite", "postgres", "postgresql://...", or a path.
        place: the SQLite file or PostgreSQL address behind a bare name; default a temporary file, `postgres_dsn()`.
    """
    if name == "memory":
        made = memory()
    elif name == "postgres" or "://" in name:
        made = postgres(name if "://" in name else place)
    else:
        made = sqlite(place if name == "sqlite" else name)
    with made as saver:
        yield saver
