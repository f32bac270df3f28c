"""``hitl-lab show``."""

import click

from hitl_lab.commands import _output


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("--full", is_flag=True, help="Every event, not only what each run came to.")
@click.option("--show-values", is_flag=True, help="Show values that look like secrets too.")
def command(file, full, show_values):
    """Print a trace file: what each run came to, the ledger, and the findings.

    A file that was cut off is read up to its last whole event. Exit code 2 if it cannot be read at all.
    """
    from hitl_lab.secrets import hidden

    trace = _output.load_trace(file)
    _output.show(_output.text_of(trace if show_values else hidden(trace), full))
