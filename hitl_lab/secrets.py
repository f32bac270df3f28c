"""Hide values that look like secrets, in traces that are shown or sent to others.

Two signs, after the key words and the token patterns that secret scanners such as detect-secrets use: the name a
value stands under (`api_key`, `password`, ...), and the form of the value (`sk-...`, a JWT, a private key, a password
in a URL). No measure of entropy: it would hide ids and hashes, which a trace is read for. What is neither named nor
formed like a secret is shown; `record(redact=...)` hides what you know better.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hitl_lab.tracing import events as ev
from hitl_lab.values import HIDDEN

if TYPE_CHECKING:
    from hitl_lab.trace import Trace

_NAMES = re.compile(
    r"(^|[_\-.\s])(api[_-]?key|secret([_-]?key)?|client[_-]?secret|access[_-]?key([_-]?id)?|private[_-]?key|"
    r"(auth|access|refresh|bearer|id|session|csrf|api)?[_-]?token|passw(or)?d|passwd|pwd|passphrase|authorization|"
    r"credentials?|cookies?|dsn|connection[_-]?string|cvv|cvc|iban|ssn|card[_-]?number)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBERS = re.compile(r"(passw|pwd|secret|cvv|cvc|ssn|card)", re.IGNORECASE)

_FORMS = re.compile(
    r"""
    \bsk-[A-Za-z0-9_-]{16,}                                       # model providers
    | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_\w{40,} | \bglpat-[\w-]{18,}
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}                             # Slack
    | \bA[KS]IA[0-9A-Z]{16}\b                                     # AWS
    | \bAIza[\w-]{30,}                                            # Google
    | \b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}                      # Stripe
    | \bhf_[A-Za-z0-9]{30,} | \blsv2_\w{2}_\w{30,} | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[\w-]{40,}
    | \beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}                     # JSON Web Token
    | -----BEGIN[A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END[A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?<=\bBearer\ )[\w.~+/-]{16,}=*
    | (?<=://)[^\s/:@]+:[^\s/@]+(?=@)                             # user:password in a URL
    """,
    re.VERBOSE,
)
MARK = "<hidden>"


def looks_secret(name: str) -> bool:
    """Whether a name says that what stands under it is a secret."""
    return _NAMES.search(_CAMEL.sub("_", name)) is not None


def hide(value: Any, name: str = "") -> Any:
    """Return plain data with what looks like a secret hidden. name: the name the value stands under."""
    if name and looks_secret(name) and _hideable(value, name):
        return dict(HIDDEN)
    if isinstance(value, str):
        return _FORMS.sub(MARK, value)
    if isinstance(value, list | tuple):
        return [hide(v) for v in value]
    if not isinstance(value, dict):
        return value
    if value.get("$") == "dict":
        pairs = [[hide(p[0]), hide(p[1], str(p[0]))] if isinstance(p, list) else p for p in value["items"]]
        return {**value, "items": pairs}
    return {k: hide(v, k) for k, v in value.items()}


def _hideable(value: Any, name: str) -> bool:
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return False
    return not isinstance(value, int | float) or _NUMBERS.search(name) is not None


def hide_event(event: ev.Event) -> ev.Event:
    """Return the event with what looks like a secret hidden in its values and texts."""
    plain = ev.to_plain(event)
    out = {}
    for key, value in plain.items():
        if key == "changes":
            out[key] = {c: {"set": dict(HIDDEN)} if looks_secret(c) else hide(d) for c, d in value.items()}
        elif key in ("rows", "handed", "pending"):
            out[key] = [{k: hide(v, row["channel"] if k == "value" else "") for k, v in row.items()} for row in value]
        else:
            out[key] = hide(value, plain.get("channel", "") if key == "value" else "")
    return ev.from_plain(out)


def hidden(trace: Trace) -> Trace:
    """Return a trace like this one, with what looks like a secret hidden."""
    from hitl_lab.trace import Trace

    return Trace((hide_event(e) for e in trace.events), facts=trace.facts)
