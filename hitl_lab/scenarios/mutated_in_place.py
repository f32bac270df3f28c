"""A node changes the state object it was given instead of returning an update.

That is not a write: `task.writes` stays empty and no reducer is asked. A key set on the state dict is never saved; a
message changed in place may show up in a later checkpoint or not, depending on the saver and the durability mode.
"""

from functools import partial

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(MessagesState):
    note: str


def draft(state):
    return {"messages": [AIMessage("We refund 40 EUR.", id="a1")]}


def set_key(state):
    state["note"] = "risk: low"
    answer = interrupt("Review the draft")
    state["note"] = f"risk: low, {answer}"
    return {}


def change_message(state):
    message = state["messages"][-1]
    message.additional_kwargs["hitl_payload"] = "risk: low"  # the very object that is in the channel
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build(saver, review, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("draft", kind(draft))
    graph.add_node("review", kind(review))
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, review, racy=False, cases=()):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, review=review),
        abuild=partial(build, review=review, kind=as_async),
        story=(Invoke({"messages": [HumanMessage("My parcel is broken.", id="h1")]}), Resume("approved")),
        topic="state",
        cases=cases,
        racy=racy,
    )


SCENARIOS = (
    variant("mutated_state_dict", "A key set on the state dict is never saved", set_key, cases=("A03",)),
    variant("mutated_message", "A message changed in place: undefined, not a write", change_message, racy=True),
)
