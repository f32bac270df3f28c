"""``hitl-lab doctor``."""

import os
import sys

import click

from hitl_lab.commands._folder import folder_argument, workspace_or_default


@click.command()
@folder_argument
@click.option("--port", default=8888, show_default=True, help="The first port JupyterLab would try on 127.0.0.1.")
def command(directory, port):
    """Check this installation; every line passes or says the command that mends it.

    Exit code 0 if all is well, 1 if anything failed.
    """
    from hitl_lab.course import doctor, jupyter

    # Look where `hitl-lab open` will make JupyterLab look.
    os.environ.update(jupyter.environment())
    failed = 0
    for check in doctor.examine(workspace_or_default(directory), port=port):
        click.echo(check)
        failed += not check.passed
    click.echo("All is well." if not failed else f"{failed} to mend.")
    sys.exit(1 if failed else 0)
