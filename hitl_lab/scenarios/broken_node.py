"""A node writes a payload onto a message, then asks a person: after the pause the payload is not in the state.

`commit` hands over only the question, so the write in `task.writes` is dropped; after the answer the node runs again
from its top and writes it a second time.
"""

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario
from ._send import send_hook


def with_payload(message):
    # the same id: the reducer of `messages` replaces the draft by this version of it
    return AIMessage(message.content, id=message.id, additional_kwargs={"hitl_payload": "risk: low"})


def draft(state):
    return {"messages": [AIMessage("We refund 40 EUR.", id="a1")]}


def review(state):
    send = send_hook()
    send([("messages", [with_payload(state["messages"][-1])])])
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build(saver, draft=draft, review=review):
    graph = StateGraph(MessagesState)
    graph.add_node("draft", draft)
    graph.add_node("review", review)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


async def adraft(state):
    return draft(state)


async def areview(state):
    return review(state)


def abuild(saver):
    return build(saver, adraft, areview)


QUESTION = {"messages": [HumanMessage("My parcel is broken.", id="h1")]}

SCENARIO = Scenario(
    name="broken_node",
    title="A write made before interrupt() is dropped at the pause",
    build=build,
    abuild=abuild,
    story=(Invoke(QUESTION), Resume("approved")),
    topic="lessons",
    cases=("A01",),
)
