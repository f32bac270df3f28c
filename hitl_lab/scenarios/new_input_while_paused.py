"""A chat message is sent as a new input while the graph waits for an answer.

A new input is no answer: it starts over at START, the question and the sibling's pending write are discarded, and
both nodes run again, as often as somebody replies that way.
"""

from ._scenario import Invoke, Resume, Scenario
from .parallel_sibling import abuild, build

SCENARIO = Scenario(
    name="new_input_while_paused",
    title="A new input while paused starts over and discards what was pending",
    build=build,
    abuild=abuild,
    story=(Invoke({"log": ["order"]}), Invoke({"log": ["two, please"]}), Resume("2")),
    topic="update while paused",
    cases=("A21",),
)
