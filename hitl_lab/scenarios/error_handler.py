"""A node fails after its answer, and the error handler of the node takes over.

The handler is a task of its own after the failed one: both tasks' writes are applied, the failed one's too, and the
caller sees no exception. A pause is no error: it drops the write as always, and the handler does not see it.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def pay(state):
    send = send_hook()
    send([("log", ["paying"])])
    answer = interrupt("Pay 40 EUR?")
    raise ConnectionError(f"the bank is closed, answer was {answer}")


def build(saver, kind=as_is):
    from langgraph.errors import NodeError

    def sorry(state: State, error: NodeError) -> Command:
        return Command(update={"log": [f"{error.node} failed: {error.error}"]})

    graph = StateGraph(State)
    graph.add_node("pay", kind(pay), error_handler=kind(sorry))
    graph.add_edge(START, "pay")
    graph.add_edge("pay", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="error_handler",
    title="A node's error handler adds its writes to the failed task's; the pause is no error",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Resume("yes")),
    topic="errors",
    needs=("langgraph>=1.2.0",),
)
