"""Fix A: the payload is written by a node of its own, and the next node only asks.

`attach` completes, so its write is applied and saved with the checkpoint; `review` has nothing left to lose.
"""

from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario
from .broken_node import QUESTION, adraft, draft, with_payload


def attach(state):
    return {"messages": [with_payload(state["messages"][-1])]}


def review(state):
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build(saver, draft=draft, attach=attach, review=review):
    graph = StateGraph(MessagesState)
    graph.add_node("draft", draft)
    graph.add_node("attach", attach)
    graph.add_node("review", review)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "attach")
    graph.add_edge("attach", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


async def aattach(state):
    return attach(state)


async def areview(state):
    return review(state)


def abuild(saver):
    return build(saver, adraft, aattach, areview)


SCENARIO = Scenario(
    name="fix_a_split_node",
    title="Fix A: write in one node, ask in the next",
    build=build,
    abuild=abuild,
    story=(Invoke(QUESTION), Resume("approved")),
    topic="lessons",
    cases=("A01", "A08"),
)
