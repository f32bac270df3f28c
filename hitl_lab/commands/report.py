"""``hitl-lab report``."""

import click

from hitl_lab.commands import _output


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("-o", "--output", default="report.html", show_default=True, help="The HTML file to write.")
@click.option("--show-values", is_flag=True, help="Show values that look like secrets too.")
def command(file, output, show_values):
    """Make an HTML page of a trace file: every step, without a network; to send or to keep.

    Exit code 2 if the file cannot be read or written.
    """
    from hitl_lab.secrets import hidden

    trace = _output.load_trace(file)
    _output.write_html(trace if show_values else hidden(trace), output)
    click.echo(f"{output} is written.")
