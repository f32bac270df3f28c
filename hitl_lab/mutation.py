"""What happens to a value that a node changes in place instead of writing it: counts, for no rule decides it.

A change of the object in the channel is no write. Whether it is saved depends on whether the checkpoint that holds the
object was already serialised when the node changed it, so on the durability mode, the saver, and on luck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hitl_lab.counterfactual import columns
from hitl_lab.crashes import DURABILITIES

CASES: dict[str, tuple[str, bool]] = {
    "send before interrupt()": ("send_first", False),
    "mutate the state object": ("mutate", False),
    "mutate, after an earlier node": ("mutate", True),
}
"""Case to the node of `hitl_lab.lab_graphs` and whether another node runs before it."""

SAVERS = ("memory", "sqlite")


@dataclass(frozen=True)
class Count:
    """In how many of `n` runs get_state() showed the value after the pause."""

    seen: int
    n: int

    @property
    def racing(self) -> bool:
        """Whether the runs differed among themselves."""
        return 0 < self.seen < self.n

    def __str__(self) -> str:
        return f"{self.seen}/{self.n}"


def measure(case: str, saver: str, durability: str, n: int = 40) -> Count:
    """Run one case `n` times to its pause, each on a fresh graph and checkpointer.

    Args:
        case: a key of CASES.
        saver: "memory", "sqlite" (here in memory, the serialisation is what matters) or as for `savers.opened`.
        durability: "sync", "async" or "exit".
        n: number of runs; default 40.
    """
    from hitl_lab import lab_graphs, savers

    name, draft = CASES[case]
    seen = 0
    for i in range(n):
        with savers.opened(saver, ":memory:" if saver == "sqlite" else None) as opened:
            graph = lab_graphs.payload_graph(opened, getattr(lab_graphs, name), draft)
            config = {"configurable": {"thread_id": f"mutation {i}"}}
            graph.invoke(lab_graphs.first_message(), config, durability=durability)
            last = graph.get_state(config).values["messages"][-1]
            seen += "hitl_payload" in last.additional_kwargs
    return Count(seen, n)


def measure_all(
    n: int = 40,
    savers: tuple[str, ...] = SAVERS,
    progress: Callable[[str], None] | None = None,
) -> dict[tuple[str, str, str], Count]:
    """Return the counts of every case, saver and durability mode, by (case, saver, durability).

    Args:
        n: runs of each; default 40.
        savers: default InMemorySaver and SqliteSaver.
        progress: called with each case's name and saver when it is done; default nothing.
    """
    found: dict[tuple[str, str, str], Count] = {}
    for case in CASES:
        for saver in savers:
            for durability in DURABILITIES:
                found[case, saver, durability] = measure(case, saver, durability, n)
            if progress is not None:
                progress(f"{case}, {saver}")
    return found


def table(found: dict[tuple[str, str, str], Count] | None = None, *, stable: bool = False) -> str:
    """Return the counts as text: in how many runs the value was there after the pause.

    Args:
        found: from `measure_all`; default measured now.
        stable: show cells whose outcome races as "varies": those that differed, and all "async" cells of a mutation.
    """
    found = measure_all() if found is None else found
    rows: list[list[Any]] = [["seen after the pause", "saver", *DURABILITIES]]
    for case, saver in dict.fromkeys((c, s) for c, s, _ in found):
        cells = []
        for durability in DURABILITIES:
            count = found[case, saver, durability]
            # "async" serialises beside the node: even n out of n there is luck.
            races = count.racing or (durability == "async" and CASES[case][0] == "mutate")
            cells.append("varies" if stable and races else str(count))
        rows.append([case, saver, *cells])
    return columns(rows)
