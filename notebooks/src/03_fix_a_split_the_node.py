# %% [markdown]
# # 03 Fix A: split the node
#
# The broken node wrote a payload and asked, both at once. The write was dropped.
#
# Fix A makes two nodes of it: one writes, the next one asks. One difference, and you will see all it changes. You need
# about 15 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson, send_hook

check = open_lesson("03")
check

# %% [markdown]
# ## Broken and fixed
#
# `broken_review` is the node you know. `attach` and `review` are the two halves of it. The rest of the graph is the
# same.

# %%
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt


def draft(state):
    return {"messages": [AIMessage("We refund 40 EUR.", id="a1")]}


def with_payload(message):
    return AIMessage(message.content, id=message.id, additional_kwargs={"hitl_payload": "risk: low"})


def broken_review(state):
    send = send_hook()
    send([("messages", [with_payload(state["messages"][-1])])])
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def attach(state):
    return {"messages": [with_payload(state["messages"][-1])]}


def review(state):
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build_graph(*nodes):
    """One node after the other."""
    graph = StateGraph(MessagesState)
    names = [node.__name__ for node in nodes]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=InMemorySaver())


QUESTION = {"messages": [HumanMessage("My parcel is broken.", id="h1")]}
CONFIG = {"configurable": {"thread_id": "1"}}


def pause(*nodes):
    graph = build_graph(*nodes)
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG)
    return trace


def broken():
    return pause(draft, broken_review)


def fixed():
    return pause(draft, attach, review)


# %% [markdown]
# ## Predict: what becomes of the payload?

# %%
check.predict("kept", "C", run=fixed)

# %% [markdown]
# Step through the fixed run. Where does the payload enter a checkpoint? Look for `after_tick`.

# %%
check.show("kept", fixed)

# %% [markdown] tags=["explain"]
# **Fact.** When a node has ended, `commit` hands all its writes to `put_writes`. At the end of the superstep
# `after_tick` applies them, and a checkpoint is made.
#
# The broken node wrote the same thing. The difference is only this: it had not ended.
#
# Here are both runs under one slider.

# %%
check.show("kept", lambda: hitl_lab.compare(broken(), fixed(), titles=("broken", "fix A")))

# %% [markdown]
# ## Predict: is there a phantom?

# %%
check.predict("phantom", "B", run=fixed)

# %% [markdown]
# ## Predict: what runs again?
#
# `whole_story` goes on to the answer.


# %%
def whole_story():
    graph = build_graph(draft, attach, review)
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG)
        graph.invoke(Command(resume="approved"), CONFIG)
    return trace


check.predict("again", "B", run=whole_story)

# %% [markdown] tags=["explain"]
# **Fact.** After the answer, only the node that asked runs again. What a node before it did, was done once.
#
# So a split has a second use: work that must not happen twice goes into the node before the question.

# %%
check.show("again", lambda: whole_story().ledger)

# %% [markdown]
# ## Put it in order
#
# One piece does not belong.

# %%
check.order("split", "D F E A B")

# %% [markdown]
# ## Your turn
#
# A graph for a trip. The input is `{"city": "Oslo"}`. The price, 120, must be in the state **when** the person is
# asked. The answer goes to `answer`.

# %% tags=["stub"]
from typing import TypedDict


class Trip(TypedDict):
    city: str
    price: int
    answer: str


def build(saver):
    raise NotImplementedError  # a StateGraph(Trip) with nodes and edges, compiled with checkpointer=saver


check.exercise("trip", build)

# %% tags=["solution"]
from typing import TypedDict


class Trip(TypedDict):
    city: str
    price: int
    answer: str


def quote(state):
    return {"price": 120}


def ask(state):
    return {"answer": interrupt(f"Go to {state['city']} for {state['price']}?")}


def build(saver):
    graph = StateGraph(Trip)
    graph.add_node("quote", quote)
    graph.add_node("ask", ask)
    graph.add_edge(START, "quote")
    graph.add_edge("quote", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


check.exercise("trip", build)

# %% [markdown]
# ## Another graph
#
# The same nodes, but `draft` leads to both: `attach` and `review` run beside each other, in one superstep.


# %%
def side_by_side():
    graph = StateGraph(MessagesState)
    for node in (draft, attach, review):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "attach")
    graph.add_edge("draft", "review")
    graph.add_edge(["attach", "review"], END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace:
        compiled.invoke(QUESTION, CONFIG)
    return trace


check.predict("transfer", "A", run=side_by_side)

# %% [markdown]
# ## In short

# %%
check.recap()
