"""A paused thread is put to rest without an answer: update_state(None, as_node=END).

The update as END first applies what finished tasks left pending, so the sibling's write is kept; the question is gone,
and nothing is left to run.
"""

from langgraph.graph import END

from ._scenario import Invoke, Resume, Scenario, Update
from .parallel_sibling import abuild, build

SCENARIO = Scenario(
    name="dismissed",
    title="Ending a paused thread by update_state as END",
    build=build,
    abuild=abuild,
    story=(Invoke({"log": ["order"]}), Update(None, as_node=END), Resume("2"), Invoke({"log": ["second order"]})),
    topic="update while paused",
)
