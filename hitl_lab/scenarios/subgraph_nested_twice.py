"""A graph in a graph in a graph; only the innermost node asks.

Each level pauses its parent: three checkpoints wait, one a namespace, and one answer goes through all of them. An
update made with the innermost config goes in there alone.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, Update, as_async, as_is
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def step(name):
    def run(state):
        return {"log": [name]}

    return run


def ask(state):
    send = send_hook()
    send([("log", ["asking"])])
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def wrap(name, inner, kind, saver=None):
    """A graph that does one step of its own, then the inner graph or node."""
    graph = StateGraph(State)
    graph.add_node(f"before_{name}", kind(step(f"before {name}")))
    graph.add_node(name, inner)
    graph.add_edge(START, f"before_{name}")
    graph.add_edge(f"before_{name}", name)
    graph.add_edge(name, END)
    return graph.compile(checkpointer=saver)


def build(saver, kind=as_is):
    innermost = wrap("ask", kind(ask), kind)
    middle = wrap("innermost", innermost, kind)
    return wrap("middle", middle, kind, saver)


def innermost_config(snapshot):
    return snapshot.tasks[0].state.tasks[0].state.config


def variant(name, title, *story):
    return Scenario(
        name=name,
        title=title,
        build=build,
        abuild=partial(build, kind=as_async),
        story=(Invoke({"log": []}), *story, Resume("yes")),
        topic="subgraphs",
    )


SCENARIOS = (
    variant("subgraph_nested_twice", "A question two graphs deep pauses all three"),
    variant(
        "subgraph_nested_update_inside",
        "update_state two graphs deep: only the asking node runs again",
        Update({"log": ["note"]}, config=innermost_config),
    ),
)
