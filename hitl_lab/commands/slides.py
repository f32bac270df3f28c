"""``hitl-lab slides``."""

from pathlib import Path

import click


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.argument("notebooks", metavar="[NOTEBOOK]...", nargs=-1)
def command(directory, notebooks):
    """Write slides of the notebooks into DIR, one HTML page each, to show to a group.

    The beginning of a name is enough; without one all are written. Right arrow: on, and what was held back.
    """
    from hitl_lab.course import slides, workspace

    for path in slides.write(directory, list(notebooks), workspace.source_folder()):
        click.echo(path)
