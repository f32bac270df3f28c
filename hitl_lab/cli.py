"""``hitl-lab``: the command line. Each subcommand is one file in ``hitl_lab/commands``."""

import importlib
import pkgutil

import click

from hitl_lab import commands
from hitl_lab.errors import HitlLabError


class _Commands(click.Group):
    """Finds subcommands by file name, and imports only the one that is called."""

    def list_commands(self, ctx):
        return sorted(
            module.name.replace("_", "-")
            for module in pkgutil.iter_modules(commands.__path__)
            if not module.name.startswith("_")
        )

    def get_command(self, ctx, cmd_name):
        if cmd_name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}").command

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except HitlLabError as error:
            # The kit's own errors say what to do; a stack would hide it. A graph's exceptions keep theirs.
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hitl_lab", prog_name="hitl-lab")
def main():
    """See where each write of a LangGraph node goes at a human-in-the-loop pause."""


if __name__ == "__main__":
    main()
