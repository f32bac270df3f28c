"""``hitl-lab trace``."""

import json
import sys
from pathlib import Path

import click

from hitl_lab.commands import _output

_STEPS = ("input", "resume", "resume_all", "update", "continue_")


class _InOrder(click.Command):
    """Keeps the order in which options of several names were given; click groups them by name."""

    def parse_args(self, ctx, args):
        if args:
            ctx.meta["order"] = [p.name for p in self.make_parser(ctx).parse_args(args=list(args))[2]]
        return super().parse_args(ctx, args)


class _Json(click.ParamType):
    """JSON on the command line, or @FILE."""

    name = "json"

    def convert(self, value, param, ctx):
        text = value
        if value[:1] == "@":
            try:
                text = Path(value[1:]).read_text(encoding="utf-8")
            except OSError as error:
                self.fail(f"{value[1:]} cannot be read: {error.strerror}", param, ctx)
        try:
            return json.loads(text)
        except ValueError as error:
            hint = ""
            if text.strip() and text.strip()[0] not in "{[\"'":
                hint = f" A text is given in double quotes: {param.opts[0]} '{json.dumps(text)}'"
            elif "'" in text:
                hint = " JSON has double quotes, not single ones."
            return self.fail(f"{text[:60]!r} is no JSON: {error}.{hint}", param, ctx)


class _Saver(click.ParamType):
    name = "saver"

    def convert(self, value, param, ctx):
        kind, _, where = value.partition(":")
        if kind not in ("memory", "sqlite", "postgres") or (kind != "memory" and not where):
            self.fail(f"{value!r} is none of memory, sqlite:PATH, postgres:DSN.", param, ctx)
        return f"postgres:{value}" if kind == "postgres" and where.startswith("//") else value


class _Codes(click.ParamType):
    name = "codes"

    def convert(self, value, param, ctx):
        from hitl_lab.findings import SEVERITIES, TITLES

        codes = [c.strip() for c in value.split(",") if c.strip()]
        known = {*TITLES, *SEVERITIES, "any"}
        wrong = [c for c in codes if c not in known]
        if wrong or not codes:
            known_ones = f"HL001 to {max(TITLES)}, loss, risk, note and any"
            self.fail(f"there is no finding {', '.join(wrong) or value!r}; there are {known_ones}.", param, ctx)
        return tuple(codes)


def _object(ctx, param, value):  # noqa: ARG001 - click's signature
    for part in value if isinstance(value, tuple) else (value,):
        if part is not None and not isinstance(part, dict):
            raise click.BadParameter(f"it must be a JSON object, like '{{\"key\": 1}}', not {json.dumps(part)[:40]}.")
    return value


@click.command(cls=_InOrder)
@click.argument("graph", metavar="GRAPH")
@click.option("--input", multiple=True, type=_Json(), help="Run with this input.")
@click.option("--resume", multiple=True, type=_Json(), help="Resume with this answer: Command(resume=...).")
@click.option("--resume-all", multiple=True, type=_Json(), help="Resume all open questions: a list.")
@click.option("--update", multiple=True, type=_Json(), help="update_state with these values.")
@click.option("--as-node", multiple=True, help="The as_node of the --update before it.")
@click.option("--continue", "continue_", multiple=True, is_flag=True, help="Go on without an input: invoke(None).")
@click.option("--thread", help="The thread_id. Default: 1, or a fresh one on a database.")
@click.option("--saver", type=_Saver(), help="memory, sqlite:PATH, postgres:DSN. Default: the graph's, or memory.")
@click.option("--durability", type=click.Choice(["sync", "async", "exit"]), help="Default: as the graph has it.")
@click.option("--config", type=_Json(), callback=_object, help="More of the config: configurable, recursion_limit, ...")
@click.option("--context", type=_Json(), callback=_object, help="The Runtime context of the graph.")
@click.option("--json", "json_file", metavar="FILE", help="Write the trace file (.gz: compressed), event by event.")
@click.option("--html", "html_file", metavar="FILE", help="Write the HTML page, every step in one file.")
@click.option("--fail-on", type=_Codes(), default=None, metavar="CODES",
              help="Exit 1 if one is found: HL001,HL006, or loss, risk, note, any.")  # fmt: skip
@click.option("--full", is_flag=True, help="Print every event, not only what each run came to.")
@click.option("--show-values", is_flag=True, help="Show values that look like secrets too.")
@click.option("--traceback", is_flag=True, help="Print the traceback if the graph raises.")
@click.pass_context
def command(ctx, graph, thread, saver, durability, config, context, json_file, html_file, fail_on, full, show_values,
            traceback, **given):  # fmt: skip
    """Run GRAPH, and tell where each write went and what to do about a lost one.

    GRAPH is package.module:graph, path/file.py:graph, or a name in the langgraph.json here or above; it may be a
    builder or a factory, sync or async. --input, --resume, --resume-all, --update and --continue are done in the order
    given, on one thread. JSON may be read from a file: @FILE.

    \b
    Exit codes: 0 done, also with findings
                1 a finding of --fail-on is there
                2 bad input: no such graph, no JSON, a file that cannot be written
                3 the graph raised (the trace so far is printed and written)
                130 stopped by Ctrl-C (the same)
    """
    steps = _steps(ctx, given)
    plan = _plan(steps, thread, saver, durability, config, context)
    ended, trace = _record(graph, plan, json_file, show_values)
    shown = trace
    if not show_values:
        from hitl_lab.secrets import hidden

        shown = hidden(trace)
    _output.show(_output.text_of(shown, full))
    if html_file:
        _output.write_html(shown, html_file)
    for file in (json_file, html_file):
        if file:
            click.echo(f"{file} is written.", err=True)
    if ended is not None:
        _tell(ended, shown, plan, traceback, show_values)
        sys.exit(_output.INTERRUPTED if isinstance(ended, KeyboardInterrupt) else _output.GRAPH_RAISED)
    fail_on = fail_on or ()
    found = [f for f in shown.findings if f.code in fail_on or f.severity in fail_on or "any" in fail_on]
    if found:
        click.echo(f"Failed on {', '.join(dict.fromkeys(f.code for f in found))}, as --fail-on asks.", err=True)
        sys.exit(1)


def _steps(ctx, given):
    """Return the steps in the order of the command line."""
    from hitl_lab.running import Step

    values = {name: list(given[name]) for name in (*_STEPS, "as_node")}
    steps = []
    for name in ctx.meta.get("order", ()):
        if name == "as_node":
            if not steps or steps[-1].kind != "update" or steps[-1].as_node:
                raise click.UsageError("--as-node belongs right after an --update.")
            steps[-1] = Step("update", steps[-1].value, values["as_node"].pop(0))
        elif name in _STEPS:
            steps.append(Step(name.rstrip("_"), values[name].pop(0)))
    for step in steps:
        if step.kind == "resume_all" and not isinstance(step.value, list):
            raise click.UsageError("--resume-all takes a JSON list: one answer for each open question, in their order.")
    if not steps:
        raise click.UsageError("Nothing to do: give --input JSON, or --resume, --update, --continue on a saved thread.")
    return tuple(steps)


def _plan(steps, thread, saver, durability, config, context):
    from hitl_lab.running import Plan

    if thread is None:
        import uuid

        thread = "1" if saver in (None, "memory") else f"hitl-lab-{uuid.uuid4().hex[:8]}"
        if thread != "1":
            click.echo(f"thread: {thread}", err=True)
    return Plan(steps, thread, saver, durability, config or {}, context)


def _record(name, plan, json_file, show_values):
    """Run the plan; return what ended it (None: all steps were done) and the trace so far."""
    import contextlib

    from hitl_lab import graphs, running
    from hitl_lab.secrets import hide_event
    from hitl_lab.trace import Trace, TraceWriter
    from hitl_lab.tracing.recorder import make_recorder, recording

    try:
        found = graphs.load(name)
    except graphs.GraphNotFound as error:
        raise _output.bad_input(str(error)) from error
    recorder = make_recorder()
    trace = Trace(recorder=recorder)
    ended = None
    with contextlib.ExitStack() as stack:
        if json_file:
            try:
                writer = stack.enter_context(TraceWriter(json_file, recorder.facts))
            except OSError as error:
                raise _output.bad_input(f"{json_file} cannot be written: {error.strerror or error}") from error
            recorder.add_sink(writer.write if show_values else lambda event: writer.write(hide_event(event)))
        stack.enter_context(_progress(recorder))
        stack.enter_context(recording(recorder))
        try:
            running.run(found, plan, name)
        except (graphs.GraphNotFound, running.SaverNotOpened) as error:
            raise _output.bad_input(str(error)) from error
        except KeyboardInterrupt as stopped:
            ended = stopped
        except Exception as raised:  # noqa: BLE001 - whatever the graph raises: the trace so far is told
            ended = raised
    return ended, Trace(trace.events, facts=trace.facts)


def _progress(recorder):
    """Say on stderr how far a run is, once it takes longer than two seconds."""
    import contextlib
    import threading
    import time

    @contextlib.contextmanager
    def telling():
        done, start = threading.Event(), time.monotonic()
        on_one_line = sys.stderr.isatty()

        def tell():
            wait = 2.0
            while not done.wait(wait):
                step = next((e.step for e in reversed(recorder.events) if e.step is not None), None)
                at = f", superstep {step}" if step is not None else ""
                text = f"running for {time.monotonic() - start:.0f} s: {len(recorder.events)} events{at}"
                click.echo(f"\r{text}  " if on_one_line else text, err=True, nl=not on_one_line)
                wait = 1.0 if on_one_line else 10.0
            if on_one_line and time.monotonic() - start > 2:
                click.echo("", err=True)

        thread = threading.Thread(target=tell, name="hitl-lab progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join(timeout=1)

    return telling()


def _tell(ended, trace, plan, traceback, show_values):
    """Say on stderr what ended the run, and the way on."""
    from hitl_lab.secrets import hide
    from hitl_lab.tracing import events as ev

    so_far = "The trace so far is above."
    if isinstance(ended, KeyboardInterrupt):
        click.echo(f"Stopped by Ctrl-C. {so_far}", err=True)
        return
    if traceback:
        import traceback as tb

        click.echo("".join(tb.format_exception(ended)), err=True)
    at = next((e for e in reversed(trace.events) if isinstance(e, ev.TaskEnded) and e.outcome == "error"), None)
    where = f" in node {at.name}" + (f" ({at.source})" if at.source else "") if at is not None else ""
    said = str(ended)[:500] if show_values else hide(str(ended)[:500])
    kind = type(ended).__name__
    if kind == "GraphRecursionError":
        click.echo(
            "The graph reached its recursion limit: it may be endless. If it only needs longer, raise it: "
            f"--config '{{\"recursion_limit\": 100}}'. {so_far}",
            err=True,
        )
        return
    hint = ""
    if "thread_id" in said and "Checkpointer requires" in said:
        hint = " Give the saver's keys: --config '{\"configurable\": {...}}'."
    elif isinstance(ended, KeyError) and at is not None and not plan.config.get("configurable"):
        hint = " If it is read from the config, give it: --config '{\"configurable\": {...}}'."
    elif isinstance(ended, AttributeError) and plan.context is None and "'NoneType'" in said:
        hint = " If it is read from runtime.context, give it: --context '{...}'."
    more = "" if traceback else " --traceback prints where."
    click.echo(f"The graph raised {kind}: {said}{where}.{hint}{more} {so_far}", err=True)
