"""``hitl-lab open``."""

import os
import sys

import click

from hitl_lab.commands._folder import folder_argument, workspace_or_default


@click.command()
@folder_argument
@click.option("--port", default=8888, show_default=True, help="The first port to try on 127.0.0.1.")
@click.option("--browser/--no-browser", default=None, help="Open a browser. Default: only where there is a display.")
def command(directory, port, browser):
    """Open the course in JupyterLab, on this machine only.

    DIR is made, or brought up to date, as by `hitl-lab start`. Without a display the address to open is printed.
    Ctrl-C, twice, ends it.
    """
    from importlib.util import find_spec

    from hitl_lab.course import jupyter, workspace

    if find_spec("jupyterlab") is None:
        install = f'"{sys.executable}" -m pip install "hitl_lab[lab]"'
        raise click.ClickException(f"JupyterLab is missing. Install it: {install}")
    report = workspace.start(workspace_or_default(directory))
    click.echo(report)
    sys.stdout.flush()
    arguments = jupyter.command(report.folder, port=port, browser=browser)
    if os.name == "nt":
        # There exec returns to the shell at once and leaves the server in the background.
        import subprocess

        sys.exit(subprocess.run(arguments, check=False, env=jupyter.environment()).returncode)
    os.execve(arguments[0], arguments, jupyter.environment())
