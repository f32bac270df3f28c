"""The text of values: a snapshot as one line, names and errors without what differs from run to run."""

from __future__ import annotations

import re
from typing import Any

from hitl_lab.values import STRING_LIMIT, is_mark

# A uuid, or a hex digest as LangGraph's interrupt ids are: never shown, it differs each time.
_UUID = re.compile(
    r"\b(?:lc_)?(?:run-+)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b"
)


def show(value: Any, width: int = 72) -> str:
    """Return a snapshot as one line of text of at most `width` characters, without uuids, addresses or controls.

    What is too long loses the ends of its strings first, then the tail, so that added fields stay in sight.
    """
    for limit in (STRING_LIMIT, 24, 12):
        text = _UUID.sub("<id>", _show(value, limit))
        if len(text) <= width:
            return text
    return text[: max(1, width - 1)] + "…"


def _show(value: Any, limit: int = STRING_LIMIT) -> str:
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value, limit)
    if isinstance(value, list):
        return "[" + ", ".join(_show(v, limit) for v in value) + "]"
    if not is_mark(value):
        return "{" + ", ".join(f"{_key(k)}: {_show(v, limit)}" for k, v in value.items()) + "}"
    mark = value["$"]
    if mark == "obj":
        return _object(value, limit)
    if mark == "str":
        return f"{_quoted(value['head'], limit)} ({value['len']:,} characters)"
    if mark == "tuple":
        items = [_show(v, limit) for v in value["items"]]
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
    if mark == "set":
        return "{" + ", ".join(_show(v, limit) for v in value["items"]) + "}" if value["items"] else "set()"
    if mark == "dict":
        pairs = (
            _show(p, limit) if is_mark(p) else f"{_show(p[0], limit)}: {_show(p[1], limit)}" for p in value["items"]
        )
        return "{" + ", ".join(pairs) + "}"
    if mark == "bytes":
        return f"<{value['len']:,} bytes>"
    if mark == "more":
        return f"… {value['n']:,} more"
    if mark == "hidden":
        return "<hidden>"
    return clean(str(value.get("text", "")))


def _object(value: dict[str, Any], limit: int) -> str:
    fields = dict(value["fields"])
    name = value["type"]
    if "content" in fields and name.endswith(("Message", "Chunk")):
        parts = [name]
        id_ = fields.pop("id", None)
        if isinstance(id_, str) and not _UUID.search(id_):
            parts.append(clean(id_))
        parts.append(_show(fields.pop("content"), limit))
        extra = fields.pop("additional_kwargs", None)
        if extra:
            parts.append(f"+{_show(extra, limit)}")
        return " ".join([*parts, *(f"{k}={_show(v, limit)}" for k, v in fields.items())])
    return f"{name}({', '.join(f'{k}={_show(v, limit)}' for k, v in fields.items())})"


def _key(key: str) -> str:
    # An id is written alike whether its first hex digit is a letter or a number: that differs from run to run.
    plain = key.isidentifier() or key[:2] == "__" or _UUID.fullmatch(key)
    return clean(key) if plain else _quoted(key, 200)


def _quoted(text: str, limit: int) -> str:
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return '"' + clean(cut).replace('"', '\\"') + '"'


def clean(text: str) -> str:
    """Return `text` on one line: uuids as <id>, controls, bidirectional marks and lone surrogates as escapes."""
    text = _UUID.sub("<id>", text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
