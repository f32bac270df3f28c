"""The broken node with LangGraph's public `push_message` instead of the send hook.

push_message streams the message at once and sends it to the channel by the same hook, so the pause drops it as well:
whoever reads the stream has seen a message that is in no checkpoint.
"""

from functools import partial

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import push_message
from langgraph.types import interrupt

from ._scenario import Resume, Scenario, Stream, as_async, as_is


def review(state):
    push_message(AIMessage("Looking at it.", id="a1"))
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build(saver, kind=as_is):
    graph = StateGraph(MessagesState)
    graph.add_node("review", kind(review))
    graph.add_edge(START, "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="pushed_message",
    title="push_message before interrupt(): streamed, and dropped",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(
        Stream({"messages": [HumanMessage("My parcel is broken.", id="h1")]}, modes=("messages", "updates")),
        Resume("approved"),
    ),
    topic="state",
    cases=("A01",),
)
