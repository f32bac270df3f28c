"""While `ask` is paused beside a finished sibling, the caller updates the state without as_node.

The new checkpoint has no pending writes: the question is gone from get_state(), the sibling's write is discarded and
both nodes run again. The next answer is taken by a question that was never shown again.
"""

from ._scenario import Invoke, Resume, Scenario, Update
from .parallel_sibling import abuild, build

SCENARIOS = (
    Scenario(
        name="update_discards_sibling",
        title="update_state while paused discards the finished sibling's pending write",
        build=build,
        abuild=abuild,
        story=(Invoke({"log": ["order"]}), Update({"log": ["note"]}), Resume("2")),
        topic="update while paused",
        cases=("A15",),
    ),
    Scenario(
        name="update_as_finished_sibling",
        title="update_state as the finished sibling: the thread ends, question and sibling are lost",
        build=build,
        abuild=abuild,
        story=(Invoke({"log": ["order"]}), Update({"log": ["note"]}, as_node="lookup"), Resume("2")),
        topic="update while paused",
        cases=("A15",),
    ),
)
