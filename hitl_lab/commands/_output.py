"""What `trace`, `show` and `report` print: rich text in a terminal, plain text in a pipe."""

from __future__ import annotations

import sys

BAD_INPUT, GRAPH_RAISED, INTERRUPTED = 2, 3, 130


def bad_input(text):
    """Return a ClickException with the exit code for bad input."""
    import click

    error = click.ClickException(text)
    error.exit_code = BAD_INPUT
    return error


def load_trace(path):
    """Read a trace file, or end with one clear error."""
    from hitl_lab.errors import TraceFileError
    from hitl_lab.trace import Trace

    try:
        return Trace.load(path)
    except TraceFileError as error:
        raise bad_input(str(error)) from error


def text_of(trace, full):
    """Return what is printed of a trace: outline or every event, the ledger, the findings with advice."""
    from hitl_lab.views.text import head, ledger_text, outline, trace_text

    if full and trace.story.events:
        return trace_text(trace) + ("\n\n" + str(trace.findings) if trace.findings else "\n\nFindings: none.")
    if not trace.story.events:
        return trace_text(trace)
    return "\n\n".join([head(trace), outline(trace.story), ledger_text(trace.ledger), str(trace.findings)])


def show(text):
    """Print a text; coloured if stdout is a terminal (rich heeds NO_COLOR, FORCE_COLOR and TERM=dumb)."""
    import click

    if not sys.stdout.isatty():
        # A pipe may have a narrow encoding: a sign that does not fit must not end in a traceback.
        encoding = sys.stdout.encoding or "utf-8"
        click.echo(text.encode(encoding, "replace").decode(encoding))
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text(text)
    shown.highlight_regex(r"\bHL\d{3}\b", "bold")
    shown.highlight_regex(r"(?m)\b(dropped|lost|discarded)$", "bold red")
    shown.highlight_regex(r"(?m)\b(pending|undefined|open)$", "yellow")
    shown.highlight_regex(r"(?m)\bapplied$", "green")
    shown.highlight_regex(r"(?<= · )loss(?= · )", "bold red")
    shown.highlight_regex(r"(?<= · )risk(?= · )", "yellow")
    shown.highlight_regex(r"`[^`\n]+`", "cyan")
    shown.highlight_regex(r"(?m)^ +\|.*$", "dim")
    shown.highlight_regex(r"(?m)^ +(Why|Proof|Do):", "bold")
    Console(soft_wrap=True, highlight=False, markup=False).print(shown)


def write_html(trace, path):
    """Write the HTML player, or end with one clear error."""
    try:
        trace.to_html(path)
    except OSError as error:
        raise bad_input(f"{path} cannot be written: {error.strerror or error}") from error
