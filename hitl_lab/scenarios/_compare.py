"""Holding two runs of one story against each other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Interrupt

from ._scenario import Outcome

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|elapsed: [0-9.]+s")


def comparable(value: Any) -> Any:
    """The value as plain data whose ids and times are masked, so that two runs of one story compare equal.

    What has no fixed order, because parallel tasks finish as they like, is sorted: the chunks of a stream, the names of
    what ran, the questions.
    """
    if isinstance(value, Interrupt):
        return {"interrupt": comparable(value.value)}
    if isinstance(value, Outcome):
        error = value.error and (type(value.error).__name__, comparable(str(value.error)))
        state = value.state and (comparable(value.values), value.next, comparable(value.interrupts))
        returned = comparable(value.returned)
        if isinstance(value.returned, list):
            returned = sorted(returned, key=repr)
        return {"returned": returned, "error": error, "ran": sorted(value.ran), "state": state}
    if isinstance(value, BaseMessage):
        return comparable(value.model_dump())
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: comparable(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        hidden = ("created_at", "ts", "timestamp", "channel_versions", "versions_seen", "updated_channels")
        return {comparable(k): comparable(v) for k, v in value.items() if k not in hidden}
    if isinstance(value, list | tuple):
        items = [comparable(v) for v in value]
        return sorted(items, key=repr) if items and all(isinstance(v, Interrupt) for v in value) else items
    return _ID.sub("<id>", value) if isinstance(value, str) else value
