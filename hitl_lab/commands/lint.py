"""``hitl-lab lint``."""

import sys
from pathlib import Path

import click

from hitl_lab.commands import _output


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...", required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit 1 if there is a hint.")
def command(paths, strict):
    """Read Python files and hint at what a pause may lose, repeat or be swallowed by; nothing is run.

    Hints are guesses from the source: `hitl-lab trace` tells what happens. `# hitl: ok` on the line, or on the def
    line, silences one. Exit code 0, with --strict 1 if there is a hint, 2 if a path is missing or no Python.
    """
    from hitl_lab import linting

    hints, faults, read = [], [], 0
    for path in paths:
        if not path.exists():
            raise _output.bad_input(f"there is no {path}.")
        for file in linting.files(path):
            read += 1
            try:
                hints += linting.lint_file(file)
            except linting.NotPython as error:
                faults.append(str(error))
    for hint in hints:
        click.echo(hint)
    for fault in faults:
        click.echo(fault, err=True)
    click.echo(f"{len(hints)} hint{'s' * (len(hints) != 1)} in {read} file{'s' * (read != 1)}." + (
        " A hint is a guess; a trace is the proof: hitl-lab trace module:graph --input JSON." if hints else ""
    ))  # fmt: skip
    if faults:
        sys.exit(_output.BAD_INPUT)
    sys.exit(1 if strict and hints else 0)
