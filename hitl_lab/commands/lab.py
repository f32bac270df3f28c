"""``hitl-lab lab``: the three tables of the labs, measured on the installed LangGraph."""

import click


def _say(text):
    click.echo(text, err=True)


def _head(title):
    from importlib.metadata import version

    click.echo(f"{title}, langgraph {version('langgraph')}\n")


@click.group()
def command():
    """Measure one of the tables of the course on the installed LangGraph."""


@command.command()
@click.argument("factory", default="fix_a_split_node")
@click.option("--saver", "savers", multiple=True, help="sqlite, postgres, or an address. Default: all that are there.")
@click.option("--durability", "durabilities", multiple=True, help="sync, async or exit. Default: all three.")
@click.option("--at", "points", multiple=True, help="Where to kill it, like put:attach. Default: the whole way.")
@click.option("--times", default=5, show_default=True, help="Tries of a cell that races.")
@click.option("--jobs", default=2, show_default=True, help="Processes at a time.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for each process.")
def crash(factory, savers, durabilities, points, times, jobs, timeout):
    """Kill a graph's process at every point, see what stands in the database, and resume.

    FACTORY is a scenario's name, or module:name of a function that takes a checkpointer and returns a graph. Each cell
    tells how many of the writes made so far survived, whether the question did, and what a resume runs and how it ends.
    A cell that races is tried several times and shown as counts.
    """
    from hitl_lab import crashes
    from hitl_lab import savers as known

    if not savers:
        savers = ("sqlite", "postgres") if known.postgres_dsn() else ("sqlite",)
        if len(savers) == 1:
            _say("No PostgreSQL server here (`make postgres` starts one): SQLite only.")
    found = crashes.crash_table(
        factory,
        points=points or crashes.TABLE_POINTS,
        durabilities=durabilities or crashes.DURABILITIES,
        savers=savers,
        times=times,
        jobs=jobs,
        timeout=timeout,
        progress=_say,
    )
    _head(f"What survives a crash: {factory}")
    click.echo(found)


@command.command()
def counterfactual():
    """What if the writes made before interrupt() were persisted? P1, P2 and P3 are not LangGraph.

    The numbers say how often each early write is in the state at the end.
    """
    from hitl_lab import counterfactual as lab

    _head("If the writes made before interrupt() were kept")
    click.echo(lab.table())


@command.command()
@click.option("-n", "n", default=40, show_default=True, help="Runs of each cell.")
def mutation(n):
    """In how many runs a value that was changed in place is there after the pause."""
    from hitl_lab import mutation as lab

    found = lab.measure_all(n, progress=_say)
    _head("A change in place is no write")
    click.echo(lab.table(found))
