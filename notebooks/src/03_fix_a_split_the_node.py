# %% [markdown]
# # 03 Fix A: split the node
#
# The broken node did two things: it wrote a payload, and it asked. The write was dropped.
#
# Fix A makes two nodes of it. The first one writes, the next one asks. You will see what this small difference changes.
#
# You need about 20 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson, send_hook

check = open_lesson("03")
check

# %% [markdown]
# ## Broken and fixed
#
# `broken_review` is the node you know from notebook 02. `attach` and `review` are its two halves. The rest of the graph
# is the same.
#
# `broken` runs the old graph to the pause, `fixed` the new one.

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
#
# `attach` has ended when `review` asks. But it is the same run that pauses.

# %%
check.predict("kept", "C", run=fixed)

# %% [markdown]
# ## Predict: is there a phantom?
#
# With the broken node, `invoke()` returned a payload that was not saved.

# %%
check.predict("phantom", "B", run=fixed)

# %% [markdown]
# ## See it happen
#
# Step through the fixed run. Look for the `after_tick` that applies the payload. Which checkpoint holds it, and is
# `review` running by then?

# %%
check.show("phantom", fixed)

# %% [markdown] tags=["explain"]
# **Fact.** When a node has ended, `commit` hands on all its writes. At the end of the superstep `after_tick` applies
# them and saves a checkpoint.
#
# The broken node wrote the same thing. The difference is that it had not ended.
#
# Here are both runs under one slider. **next difference** brings you to the places that matter.

# %%
check.show("phantom", lambda: hitl_lab.compare(broken(), fixed(), titles=("broken", "fix A")))

# %% [markdown]
# ## Predict: what runs again?
#
# In notebook 02 the node that asked ran again after the answer. Now there are two nodes. `whole_story` goes on to the
# answer.


# %%
def whole_story():
    graph = build_graph(draft, attach, review)
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG)
        graph.invoke(Command(resume="approved"), CONFIG)
    return trace


check.predict("again", "B", run=whole_story)

# %% [markdown] tags=["explain"]
# **Fact.** After the answer, only the node that asked runs again. The node before it ran once.
#
# So a split has a second use. Work that must not happen twice goes into the node before the question.

# %%
check.show("again", lambda: whole_story().ledger)

# %% [markdown]
# ## Put it in order
#
# Here are the pieces of fix A. One of them does not belong.

# %%
check.order("split", "D F E A B")

# %% [markdown]
# ## Your turn
#
# Build a graph for a trip. The input is `{"city": "Oslo"}`. The price is 120. It must be in the state **when** the
# person is asked: in the channel `price`. The answer goes to the channel `answer`.
#
# Write the nodes, and `build`, which connects and compiles them. The check invokes your graph, answers "yes", and tells
# what it did.

# %% tags=["stub"]
from typing import TypedDict


class Trip(TypedDict):
    city: str
    price: int
    answer: str


def build(saver):
    raise NotImplementedError  # a StateGraph(Trip) with its nodes and edges, compiled with checkpointer=saver


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
# The same nodes, but with two edges from `draft`. So `attach` and `review` run in one superstep.


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
