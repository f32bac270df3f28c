"""``hitl-lab progress``."""

import click

from hitl_lab.commands._folder import folder_argument, workspace_or_default


@click.command()
@folder_argument
@click.option("--forget", metavar="NOTEBOOK", help="Delete the progress of one notebook, to do it again.")
def command(directory, forget):
    """Show what is predicted and solved, and with how many hints.

    DIR is the workspace you are in, or else my-notebooks. All of it stays on this machine.
    """
    from hitl_lab.course import lesson, progress

    folder = workspace_or_default(directory)
    if forget:
        name = lesson.load(forget).name
        there = progress.forget(name, folder)
        click.echo(f"{name}: {'forgotten' if there else 'there was nothing to forget'}.")
        return
    click.echo(progress.table(folder))
