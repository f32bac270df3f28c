"""Checkpointers that a story can run on, each a context manager that closes what it opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver


@contextmanager
def _folder(path: Path | None) -> Iterator[Path]:
    if path is not None:
        yield path
        return
    # Windows keeps the journal of a file just closed locked for a moment
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "checkpoints.sqlite"


@contextmanager
def memory(path: Path | None = None) -> Iterator[BaseCheckpointSaver]:
    """InMemorySaver; serves sync and async runs, `path` is not used."""
    yield InMemorySaver()


@contextmanager
def sqlite(path: Path | None = None) -> Iterator[BaseCheckpointSaver]:
    """SqliteSaver on a file, a temporary one by default; it has no async methods."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    with _folder(path) as file, SqliteSaver.from_conn_string(str(file)) as saver:
        yield saver


@asynccontextmanager
async def async_sqlite(path: Path | None = None) -> AsyncIterator[BaseCheckpointSaver]:
    """AsyncSqliteSaver on a file: it belongs to the event loop that runs now, so open it inside."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    with _folder(path) as file:
        async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
            yield saver


def savers() -> Mapping[str, Callable[..., AbstractContextManager[BaseCheckpointSaver]]]:
    """The savers of a sync run by name; `async_sqlite` is apart, since it needs `async with`."""
    return {"memory": memory, "sqlite": sqlite}
