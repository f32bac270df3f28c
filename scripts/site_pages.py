"""Pages made from the code: the scenarios with a player each, and what each command prints for --help."""

from __future__ import annotations

import os
import re
import warnings
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

import click
from langgraph.checkpoint.memory import InMemorySaver

from hitl_lab import record, scenarios
from hitl_lab.cli import main
from hitl_lab.scenarios import _scenario
from hitl_lab.views import html
from hitl_lab.views.stepper import trace_frames

DOCS = Path(__file__).resolve().parent.parent / "docs"


def first_stepper() -> str:
    """The broken node's stepper, to stand on the first page."""
    with record() as trace:
        _scenario.run(scenarios.get("broken_node"), InMemorySaver())
    document = trace_frames(trace, title="Step through it: the write of the broken node").document
    # One line: a blank one would end the block of HTML in Markdown.
    return f"<div>{html.frame(document, text=str(trace))}</div>\n".replace("\n", "&#10;").removesuffix("&#10;") + "\n"


def scenario_table(players: Path) -> str:
    """Run every scenario, write its player into a folder, and return the table of all of them as Markdown."""
    players.mkdir(parents=True, exist_ok=True)
    rows = defaultdict(list)
    for scenario in scenarios.all_scenarios():
        # Some scenarios exist to fail, and LangGraph warns of some: what is shown is what the trace says.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if reason := scenario.missing():
                raise SystemExit(f"the site shows every scenario: {reason}")
            with record() as trace:
                _scenario.run(scenario, InMemorySaver(), asynchronous=scenario.only == "async")
        trace.to_html(players / f"{scenario.name}.html", title=scenario.title)
        found = ", ".join(dict.fromkeys(finding.code for finding in trace.findings))
        fates = ", ".join(dict.fromkeys(row.fate for row in trace.ledger if row.fate != "applied"))
        rows[scenario.topic].append((scenario.name, scenario.title, fates or "–", found or "–"))
    out = [f"Run on langgraph {version('langgraph')} when this site was built.\n"]
    for topic, listed in rows.items():
        out.append(f"## {topic[0].upper()}{topic[1:]}\n\n| scenario | what it shows | writes not applied | findings |")
        out.append("|---|---|---|---|")
        for name, title, fates, found in listed:
            codes = re.sub(r"HL\d+", lambda code: _page(code[0]), found)
            out.append(f'| <a href="players/{name}.html">{name}</a> | {_cell(title)} | {fates} | {codes} |')
        out.append("")
    return "\n".join(out)


def _page(code: str) -> str:
    """A link to a finding's page, where there is one."""
    return f"[{code}](findings/{code}.md)" if (DOCS / "findings" / f"{code}.md").is_file() else code


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def command_help() -> str:
    """What `hitl-lab` and each of its commands print for --help, as Markdown."""
    os.environ["COLUMNS"] = "100"
    top = click.Context(main, info_name="hitl-lab", terminal_width=100)
    out = [_help("hitl-lab", main.get_help(top))]
    for name in main.list_commands(top):
        command = main.get_command(top, name)
        context = click.Context(command, info_name=name, parent=top, terminal_width=100)
        out.append(_help(f"hitl-lab {name}", command.get_help(context)))
        for sub in command.list_commands(context) if isinstance(command, click.Group) else ():
            below = command.get_command(context, sub)
            inner = click.Context(below, info_name=sub, parent=context, terminal_width=100)
            out.append(_help(f"hitl-lab {name} {sub}", below.get_help(inner)))
    return "\n".join(out)


def _help(name: str, text: str) -> str:
    return f"## {name}\n\n```text\n{text}\n```\n"
