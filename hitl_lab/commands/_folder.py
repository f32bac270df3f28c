"""The workspace argument that several commands share."""

from pathlib import Path

import click


def folder_argument(command):
    """Add the optional argument DIR: the workspace. Default: the one in use, else ./my-notebooks."""
    return click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))(command)


def workspace_or_default(directory):
    """The folder the learner named, else the workspace in use, else ``my-notebooks`` here."""
    from hitl_lab.course import workspace

    if directory is not None:
        return directory
    try:
        return workspace.find()
    except workspace.WorkspaceError:
        return Path("my-notebooks")
