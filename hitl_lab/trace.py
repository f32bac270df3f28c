"""`Trace`: what happened, in order, over invoke, update_state and resume; plain data, no live LangGraph object."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hitl_lab._steady import collector_paused
from hitl_lab.errors import TraceFileError
from hitl_lab.tracing import events as ev

if TYPE_CHECKING:
    from hitl_lab.findings import Finding
    from hitl_lab.ledger import Ledger
    from hitl_lab.story import Story
    from hitl_lab.tracing.recorder import Recorder
    from hitl_lab.views.stepper import Stepper

SCHEMA = "hitl_lab.trace"
SCHEMA_VERSION = 1


class Trace:
    """The events of a `record()` block, or of a trace file.

    Readable while recording (it then shows what happened so far) and for ever after. Two traces are told apart by
    `events` (order of arrival, with LangGraph's own ids); everything shown is made by `story`, whose order and short
    names do not depend on threads.
    """

    def __init__(
        self,
        events: Iterable[ev.Event] = (),
        *,
        facts: dict[str, Any] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._events: tuple[ev.Event, ...] = tuple(events)
        self._facts = dict(facts or {})
        self._recorder = recorder
        self._made: dict[str, tuple[int, Any]] = {}

    @property
    def events(self) -> tuple[ev.Event, ...]:
        """All events in order of arrival. While recording: those so far."""
        recorder = self._recorder
        if recorder is not None:
            if len(recorder.events) != len(self._events):
                self._events = tuple(recorder.events)
            self._facts = recorder.facts
            if recorder.closed:
                self._recorder = None
        return self._events

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the installation: versions of langgraph and Python."""
        return dict(self._recorder.facts if self._recorder is not None else self._facts)

    @property
    def recording(self) -> bool:
        """Whether the `record()` block is still open."""
        return self._recorder is not None and not self._recorder.closed

    def _cached(self, name: str, make: Any) -> Any:
        events = self.events
        known = self._made.get(name)
        if known is None or known[0] != len(events):
            with collector_paused():
                known = self._made[name] = (len(events), make())
        return known[1]

    @property
    def story(self) -> Story:
        """The events in an order that does not depend on threads, with short names for ids."""
        from hitl_lab.story import Story

        return self._cached("story", lambda: Story(self.events))

    @property
    def ledger(self) -> Ledger:
        """One row a write: its fate and how far it got."""
        from hitl_lab.ledger import Ledger

        return self._cached("ledger", lambda: Ledger(self.story))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What went wrong, why, and what to do."""
        from hitl_lab.findings import find

        return self._cached("findings", lambda: find(self))

    def __len__(self) -> int:
        return len(self.events)

    def __str__(self) -> str:
        from hitl_lab.views.text import trace_text

        return self._cached("text", lambda: trace_text(self))

    def __repr__(self) -> str:
        runs = len({e.run for e in self.events if e.run})
        return f"<Trace of {runs} run{'s' * (runs != 1)}, {len(self.events)} events>"

    # ------------------------------------------------------------ views

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        try:
            return self.stepper()._repr_mimebundle_(**kwargs)
        except ImportError:  # no widgets installed: the text is complete
            return {"text/plain": str(self)}

    def stepper(self, *, title: str = "", source: bool = True, position: int = 1) -> Stepper:
        """Return the stepper widget; see `hitl_lab.views.stepper.Stepper`."""
        from hitl_lab.views.stepper import Stepper

        return Stepper(self, title=title, source=source, position=position)

    def to_html(self, path: str | os.PathLike[str], *, title: str = "", source: bool = True) -> Path:
        """Write the stepper as one self-contained HTML file that needs no network; return its path.

        Args:
            path: of the file.
            title: default the graph's name.
            source: include the installed LangGraph's source of each step; default True.
        """
        from hitl_lab.views import html
        from hitl_lab.views.plain import trace_frames

        return html.write(trace_frames(self, title=title, source=source).document, path, text=str(self))

    # ------------------------------------------------------------ files

    def to_plain(self) -> dict[str, Any]:
        """Return the trace as JSON-ready data: {"schema", "version", "facts", "events"}."""
        events = [ev.to_plain(e) for e in self.events]
        return {"schema": SCHEMA, "version": SCHEMA_VERSION, "facts": self.facts, "events": events}

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> Trace:
        """Return the trace that `to_plain` wrote. Raises TraceFileError if it is none."""
        _check_header(data, "the data")
        return cls(
            (_event(line, "the data", i) for i, line in enumerate(data.get("events", ()), 1)), facts=data.get("facts")
        )

    def to_json(self) -> str:
        """Return the trace as JSON Lines: a header, then one event a line."""
        out = io.StringIO()
        _write_lines(out, self.facts, self.events)
        return out.getvalue()

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Return the trace that `to_json` wrote; a last line that is cut off is left out. Raises TraceFileError."""
        return _parse(io.StringIO(text), "the text")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a trace file (JSON Lines; gzip if the name ends in .gz) event by event; return its path."""
        target = Path(path)
        with _open(target, "w") as out:
            _write_lines(out, self.facts, self.events)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace file, also one that was cut off: up to its last whole event.

        Raises TraceFileError if it is no trace file, of a newer schema, or has no readable header.
        """
        target = Path(path)
        try:
            with _open(target, "r") as lines:
                return _parse(lines, str(path))
        except (OSError, EOFError, UnicodeDecodeError) as exc:
            if isinstance(exc, FileNotFoundError):
                raise TraceFileError(f"{path}: there is no such trace file.") from exc
            raise TraceFileError(f"{path} cannot be read as a trace file: {exc}") from exc


class TraceWriter:
    """Writes a trace file event by event, so that a killed process leaves all whole events behind."""

    def __init__(self, path: str | os.PathLike[str], facts: dict[str, Any]) -> None:
        self.path = Path(path)
        self.facts = facts
        self._out: TextIO | None = None

    def __enter__(self) -> TraceWriter:
        self._out = _open(self.path, "w")
        self._out.write(_header(self.facts))
        self._out.flush()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._out is not None:
            self._out.close()
            self._out = None

    def write(self, event: ev.Event) -> None:
        """Add one event and hand it to the operating system."""
        if self._out is not None:
            self._out.write(_line(event))
            self._out.flush()


def _open(path: Path, mode: str) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, mode + "t", encoding="utf-8", errors="surrogatepass")  # type: ignore[return-value]
    return path.open(mode, encoding="utf-8", errors="surrogatepass")  # type: ignore[return-value]


_dump = functools.partial(json.dumps, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _header(facts: dict[str, Any]) -> str:
    return _dump({"schema": SCHEMA, "version": SCHEMA_VERSION, "facts": facts}) + "\n"


def _line(event: ev.Event) -> str:
    return _dump(ev.to_plain(event)) + "\n"


def _write_lines(out: TextIO, facts: dict[str, Any], events: Iterable[ev.Event]) -> None:
    out.write(_header(facts))
    for event in events:
        out.write(_line(event))


def _check_header(data: Any, where: str) -> None:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise TraceFileError(f"{where} is not a trace: it does not begin with a {SCHEMA} header.")
    if not isinstance(data.get("version"), int) or data["version"] > SCHEMA_VERSION:
        raise TraceFileError(
            f"{where} is a trace of schema version {data.get('version')}; this hitl_lab reads up to {SCHEMA_VERSION}. "
            "Install a newer hitl_lab to read it."
        )


def _event(data: dict[str, Any], where: str, number: int) -> ev.Event:
    try:
        return ev.from_plain(data)
    except (ValueError, AttributeError, TypeError) as exc:
        raise TraceFileError(f"{where}: event {number} cannot be read: {exc}") from exc


def _parse(lines: Iterable[str], where: str) -> Trace:
    source = iter(lines)
    first = next(source, "")
    try:
        header = json.loads(first)
    except ValueError:
        raise TraceFileError(f"{where} is not a trace: its first line is no JSON.") from None
    _check_header(header, where)
    with collector_paused():
        if "events" in header:
            return Trace.from_plain(header)
        return Trace(_events(source, where), facts=header.get("facts"))


def _events(lines: Iterator[str], where: str) -> Iterator[ev.Event]:
    number = 0
    while True:
        try:
            line = next(lines, None)
        except (EOFError, OSError, UnicodeDecodeError):
            return  # a gzip stream that was cut off
        if line is None:
            return
        if not line.strip():
            continue
        number += 1
        try:
            data = json.loads(line)
        except ValueError:
            if next((True for rest in lines if rest.strip()), False):
                raise TraceFileError(f"{where}: line {number + 1} is no JSON.") from None
            return  # the last line was cut off while it was written
        yield _event(data, where, number)
