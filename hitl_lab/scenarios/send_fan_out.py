"""A router starts one `grade` task per item by Send; one of them asks a person.

The tasks that finished keep their pending writes; only the one that asked runs again, with its own item.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    items: list[int]
    log: Annotated[list[str], operator.add]


def fan_out(state):
    return [Send("grade", {"item": item}) for item in state["items"]]


def grade(task):
    if task["item"] == 2:
        return {"log": [f"2: {interrupt('Grade item 2')}"]}
    return {"log": [f"{task['item']}: automatic"]}


def report(state):
    return {"log": [f"{len(state['log'])} graded"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("grade", kind(grade))
    graph.add_node("report", kind(report))
    graph.add_conditional_edges(START, fan_out, ["grade"])
    graph.add_edge("grade", "report")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="send_fan_out",
    title="Of several tasks of one node, only the one that asked runs again",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"items": [1, 2, 3], "log": []}), Resume("good")),
    topic="parallel",
)
