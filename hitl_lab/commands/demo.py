"""``hitl-lab demo``."""

import click


@click.command()
@click.argument("names", nargs=-1, metavar="[SCENARIO]...")
def command(names):
    """Run the broken node and its three fixes on the installed LangGraph, and print where each write got to.

    SCENARIO names other scenarios to run instead. Default: broken_node and fixes A, B and C.
    """
    from hitl_lab import scenarios
    from hitl_lab.demo import MAIN, demo

    unknown = [name for name in names if name not in scenarios.names()]
    if unknown:
        raise click.UsageError(f"no scenario named {', '.join(unknown)}. There are: {', '.join(scenarios.names())}.")
    for text in demo(names or MAIN):
        click.echo(text)
