"""``hitl-lab start``."""

import click

from hitl_lab.commands._folder import folder_argument, workspace_or_default


@click.command()
@folder_argument
def command(directory):
    """Copy the notebooks into DIR, or bring the copies there up to date.

    What you changed is never overwritten: a newer version of such a notebook is put beside yours.
    DIR is the workspace you are in, or else my-notebooks.
    """
    from hitl_lab.course import workspace

    report = workspace.start(workspace_or_default(directory))
    click.echo(report)
    if not report.copied and not report.updated and not report.offered:
        click.echo("Everything was there already.")
    click.echo("Open them: hitl-lab open")
