"""What random graphs found wrong in what is handed on, and saved, after the loop of a graph was left."""

import pytest
from _oracle.graphs import Graph, Node
from test_found import ASK, SEND, SIDE_BY_SIDE, example
from test_oracle import KINDS, judge

OWN = Graph((Node("a", (("fail", 1), ASK)), Node("b", (), ("last",))), tuple(SIDE_BY_SIDE), checkpointer=True)
# `c` runs twice in one superstep, by a Send and by an edge, and both write a channel that takes one value.
TWO_AT_ONCE = Graph(
    (Node("a"), Node("b"), Node("c", (), ("last",))),
    (("start", "a"), ("start", "b"), ("b", "c"), ("c", "end")),
    fan=(("a", "c", 1),),
)
EXAMPLES = {
    "the saver returns when the loop of a cancelled graph was left": example(
        [Node("a"), Node("b", (SEND, ("fail", 1)))],
        SIDE_BY_SIDE,
        ("update", "a"),
        ("update", None),
        inner=(("a", OWN),),
    ),
    "a row that was applied in memory only, inside a task that has ended": example(
        [Node("a"), Node("b"), Node("c")],
        [("start", "a"), ("a", "b"), ("a", "c"), ("b", "end"), ("c", "end")],
        ("travel", 3, "resume"),
        asks=("b",),
        inner=(("c", Graph((Node("a"),), (("start", "a"), ("a", "end")), inner=(("a", TWO_AT_ONCE),))),),
        durability="exit",
    ),
    "a graph with its own checkpointer goes on from an older checkpoint, since its caller went back": example(
        [Node("a"), Node("b", goto=("a",)), Node("c")],
        [("start", "a"), ("start", "b"), ("a", "c"), ("b", "c"), ("c", "end")],
        ("input",),
        ("travel", 0, "none"),
        inner=(("a", Graph((Node("a"), Node("b")), tuple(SIDE_BY_SIDE), asks=("a",), checkpointer=True)),),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_found(name, kind):
    judge(EXAMPLES[name], kind)
