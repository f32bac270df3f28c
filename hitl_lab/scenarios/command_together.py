"""The answer comes in one Command together with an update, and with a goto.

The update is no checkpoint of its own: it is a pending write of no task (the null task) on the paused checkpoint, and
the node that asked sees it when it runs again. A goto starts another node beside it.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ._scenario import Act, Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def ask(state):
    answer = interrupt("Ready?")
    return {"log": [f"answer: {answer}, saw {state['log'][-1]}"]}


def audit(state):
    return {"log": ["audited"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("ask", kind(ask))
    graph.add_node("audit", kind(audit))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    graph.add_edge("audit", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, command, *then, cases=()):
    return Scenario(
        name=name,
        title=title,
        build=build,
        abuild=partial(build, kind=as_async),
        story=(Invoke({"log": ["order"]}), Act(command), *then),
        topic="update while paused",
        cases=cases,
    )


NOTE = {"log": ["note"]}
YES = Resume("yes")

SCENARIOS = (
    variant("command_update", "Command(update=..., resume=...)", Command(update=NOTE, resume="yes"), cases=("A17",)),
    variant(
        "command_update_goto",
        "Command(update=..., goto=..., resume=...) runs both nodes",
        Command(update=NOTE, goto="audit", resume="yes"),
        cases=("A17",),
    ),
    variant("command_goto_only", "Command(goto=...) without an answer: the question stays", Command(goto="audit"), YES),
    variant("command_update_only", "Command(update=...) without an answer: asked again", Command(update=NOTE), YES),
    variant("command_resume_none", "Command(resume=None) is no answer, and an error", Command(resume=None), YES),
    variant(
        "command_resume_empty", "Command(resume={}) is an id map without an id: asked again", Command(resume={}), YES
    ),
    variant("command_empty", "Command() without anything in it is an error", Command(), YES),
)
