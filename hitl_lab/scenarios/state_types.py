"""The broken node with the state as a Pydantic model and as a dataclass.

The state object is made afresh for each task, so an attribute set on it is never saved; only what is returned or sent
is a write, and the pause drops what was sent, whatever the state's type.
"""

import operator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from ._scenario import Invoke, Resume, Scenario, as_async, as_is
from ._send import send_hook


class PydanticState(BaseModel):
    log: Annotated[list[str], operator.add] = Field(default_factory=list)
    note: str = ""


@dataclass
class DataclassState:
    log: Annotated[list[str], operator.add] = field(default_factory=list)
    note: str = ""


def review(state):
    state.note = "never saved"
    send = send_hook()
    send([("log", ["asking"])])
    answer = interrupt(f"Review {state.log[-1]}")
    return {"log": [f"answer: {answer}"]}


def report(state):
    return type(state)(log=[f"{len(state.log)} lines, note {state.note!r}"])


def build(saver, state_type, kind=as_is):
    graph = StateGraph(state_type)
    graph.add_node("review", kind(review))
    graph.add_node("report", kind(report))
    graph.add_edge(START, "review")
    graph.add_edge("review", "report")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, state_type):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, state_type=state_type),
        abuild=partial(build, state_type=state_type, kind=as_async),
        story=(Invoke({"log": ["draft"]}), Resume("yes")),
        topic="state",
        cases=("A03",),
    )


SCENARIOS = (
    variant("pydantic_state", "The broken node with a Pydantic state", PydanticState),
    variant("dataclass_state", "The broken node with a dataclass state", DataclassState),
)
