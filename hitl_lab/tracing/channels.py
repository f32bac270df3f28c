"""The channels of one loop: their values when last read, what they changed by, and the values written to them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from hitl_lab import fingerprints, values
from hitl_lab.tracing.recorder import Recorder

LEAST = -(2**63)
"""Numbers from here to -LEAST are their own snapshots."""
_ABSENT = object()


class Channels:
    """Follows the state channels of one loop. control: by channel, whether it is one of LangGraph's own."""

    def __init__(self, recorder: Recorder, control: Mapping[str, bool]) -> None:
        self.recorder, self.control = recorder, control
        self.before: dict[str, Any] = {}
        # What the lists written in this superstep hold, by id(): fingerprint and snapshot; the writes keep them alive.
        self.parts: dict[int, tuple[Any, dict[str, Any]]] = {}

    def snap(self, channel: str, value: Any) -> Any:
        """Return the snapshot of a write, and remember those of the items of a list, for `snap_again`."""
        taken = self.recorder.snap(channel, value)
        if type(taken) is list and type(value) is list and len(taken) == len(value):
            for item, part in zip(value, taken, strict=True):
                if type(part) is dict:
                    self.parts[id(item)] = fingerprints.whole_fingerprint(item), part
        return taken

    def read(self, channels: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state channels' values that are there, and remember them for the next change."""
        out: dict[str, Any] = {}
        for name, channel in channels.items():
            if self.control[name]:
                continue
            try:
                out[name] = channel.get()
            except Exception:  # LangGraph's EmptyChannelError: nothing was written yet
                continue
        self.before = {k: (list(v) if type(v) is list else v) for k, v in out.items()}
        return out

    def changes(self, channels: Mapping[str, Any], updated: Iterable[str] | None) -> dict[str, Any]:
        """Return the change of each state channel since it was last read."""
        out: dict[str, Any] = {}
        known, control, recorder = self.before, self.control, self.recorder
        for name in sorted(channels if updated is None else updated):
            if control[name] or name not in channels:
                continue
            try:
                now = channels[name].get()
            except Exception:
                continue
            before = known.get(name, _ABSENT)
            if type(now) is not list:
                if now is not before:
                    atom = type(now) is int and LEAST <= now < -LEAST and recorder.redact is None
                    out[name] = {"set": now if atom else recorder.snap(name, now)}
                    known[name] = now
                continue
            delta = values.change(before, now, functools.partial(self.snap_again, name))
            if delta is not None:
                out[name] = delta
                known[name] = list(now)
        return out

    def snap_again(self, channel: str, value: Any) -> Any:
        """Return a snapshot that shares the items of a list with the writes they came from, unless they changed since.

        What a message list grows by is then looked through and kept once instead of twice.
        """
        parts = self.parts
        if not parts or type(value) is not list or len(value) > values.ITEMS_LIMIT or self.recorder.redact is not None:
            return self.recorder.snap(channel, value)
        out = []
        for item in value:
            known = parts.get(id(item))
            if known is not None and known[0] is not None and known[0] == fingerprints.whole_fingerprint(item):
                out.append(known[1])
            else:
                out.append(self.recorder.snap(channel, item))
        return out
