"""``hitl-lab reset``."""

from pathlib import Path

import click


@click.command()
@click.argument("notebook")
@click.option("--dir", "directory", type=click.Path(path_type=Path), help="The workspace. Default: the one you are in.")
def command(notebook, directory):
    """Get a fresh copy of NOTEBOOK and keep the old one beside it.

    The beginning of its name is enough: hitl-lab reset 02
    """
    from hitl_lab.course import workspace

    fresh, old = workspace.reset(notebook, directory)
    if old is None:
        click.echo(f"{fresh.name} is fresh.")
    else:
        click.echo(f"{fresh.name} is fresh. What you had is now {old.name}")
    click.echo("If it is open in JupyterLab, choose File, Reload Notebook from Disk.")
