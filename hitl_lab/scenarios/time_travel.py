"""From a checkpoint in the history the run is started again, forked with another state, or copied.

invoke(None) at the checkpoint of a pause asks anew, in a new branch; update_state there makes a fork. The thread goes
on from the newest checkpoint, which is the one the fork made.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Continue, Invoke, Resume, Scenario, Travel, Update, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def write(state):
    return {"log": [f"draft {len(state['log'])}"]}


def lookup(state):
    return {"log": ["stock: 3"]}


def ask(state):
    question = f"Send {state['log'][-1]}?"
    return {"log": [f"answer: {interrupt(question)}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    for node in (write, lookup, ask):
        graph.add_node(node.__name__, kind(node))
    graph.add_edge(START, "write")
    graph.add_edge("write", "lookup")
    graph.add_edge("write", "ask")
    graph.add_edge("lookup", END)
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def paused(history):
    """The newest checkpoint at which `ask` was still to run."""
    return next(snapshot for snapshot in history if "ask" in snapshot.next)


def before_write(history):
    return next(snapshot for snapshot in history if snapshot.next == ("write",))


def variant(name, title, *story, cases=()):
    return Scenario(
        name=name,
        title=title,
        build=build,
        abuild=partial(build, kind=as_async),
        story=(Invoke({"log": ["order"]}), *story),
        topic="time travel",
        cases=cases,
    )


SCENARIOS = (
    variant(
        "travel_to_pause",
        "Back to the pause of a finished run: the question comes again, a finished sibling runs again",
        Resume("yes"),
        Travel(paused, Continue()),
        Resume("no"),
        cases=("A40",),
    ),
    variant(
        "travel_while_paused",
        "invoke(None) at the paused checkpoint itself forks and asks again",
        Travel(paused, Continue()),
        Resume("yes"),
        cases=("A40",),
    ),
    variant(
        "travel_with_answer",
        "The answer is sent to the checkpoint of the pause, by its id",
        Travel(paused, Resume("yes")),
        cases=("A40",),
    ),
    variant(
        "fork_with_update",
        "update_state at an old checkpoint: the thread goes on from the fork",
        Resume("yes"),
        Travel(paused, Update({"log": ["draft 2"]})),
        Continue(),
        Resume("no"),
    ),
    variant(
        "fork_copied",
        "as_node='__copy__' makes a copy of an old checkpoint, without a pending write",
        Resume("yes"),
        Travel(paused, Update(None, as_node="__copy__")),
        Continue(),
        Resume("no"),
    ),
    variant(
        "travel_to_start",
        "Back to before the first node: everything runs again",
        Resume("yes"),
        Travel(before_write, Continue()),
        Resume("no"),
    ),
)
