# %% [markdown]
# # 07 Why the filter exists
#
# `commit` drops what a node wrote before its question. That filter looks like a mistake. Why not simply save the write?
#
# "Because the node runs again, and then the write would be there twice." That is half of the truth. The other half is
# worse.
#
# In this notebook we save the write all the same, in three ways: P1, P2 and P3. For P1 and P2 we change LangGraph
# itself, for the length of a `with` block. You need about 20 minutes.

# %%
import operator
from typing import Annotated, TypedDict

import hitl_lab
from hitl_lab import counterfactual
from hitl_lab.course import open_lesson, send_hook

check = open_lesson("07")
check

# %% [markdown]
# ## The graph
#
# One node. It sends five writes, then asks, then returns the answer. We call the five the **early** writes.
#
# Each goes to another kind of channel: a list that grows, messages with an id and without one, a text, and a number
# that is one more than the node read.

# %%
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt


class State(TypedDict):
    log: Annotated[list, operator.add]
    with_id: Annotated[list, add_messages]
    without_id: Annotated[list, add_messages]
    note: str
    turns: int


def review(state):
    send = send_hook()
    send([("log", ["early"])])
    send([("with_id", [AIMessage("early", id="a1")])])
    send([("without_id", [AIMessage("early")])])
    send([("note", "early"), ("turns", state.get("turns", 0) + 1)])
    return {"log": [interrupt("Approve?")]}


def build_graph(saver, state=State, node=review):
    graph = StateGraph(state)
    graph.add_node(node.__name__, node)
    graph.add_edge(START, node.__name__)
    graph.add_edge(node.__name__, END)
    return graph.compile(checkpointer=saver)


CONFIG = {"configurable": {"thread_id": "1"}}


def story(block):
    """Run to the pause, then answer. `block` says how: record() keeps LangGraph as it is."""
    graph = build_graph(InMemorySaver())
    with block() as trace:
        graph.invoke({"log": ["input"]}, CONFIG)
        graph.invoke(Command(resume="yes"), CONFIG)
    return trace


# %% [markdown]
# First LangGraph as it is. The early writes are dropped at the pause. After the answer the node runs again, and makes
# each of them once more. The last row is the answer.

# %%
for row in story(hitl_lab.record).ledger.where(node="review"):
    print(f"{row.run}  {row.channel:10}  {row.label}")

# %% [markdown]
# ## P1: saved with the task
#
# `counterfactual.own_task()` works like `hitl_lab.record()`. But inside its block, `commit` hands on everything: the
# question, and the early writes with it. All are saved as pending writes of the task. **This is not LangGraph.**

# %%
check.predict("own_task", "B", run=lambda: story(counterfactual.own_task))

# %% [markdown] tags=["explain"]
# **Fact.** A task with saved writes counts as finished. It would not run again. So the answer would reach nobody, and
# nothing would say so.
#
# This is the deeper reason for the filter. In the ledger there is no row of run 2: nobody wrote the answer.

# %%
check.show("own_task", lambda: story(counterfactual.own_task).ledger)

# %% [markdown]
# ## P2: saved for no task
#
# Then let us save them beside the task. LangGraph has a place for writes that belong to no task: the **null task**. You
# have seen it in traces: the answer of a `Command(resume=...)` goes there. What waits there is applied when the next
# run begins.
#
# `counterfactual.null_task()` puts the early writes there. The task stays open, so it runs again and takes the answer.
# **This is not LangGraph either.**
#
# Three questions about it: the list, the messages, the number.

# %%
check.predict("null_task_list", "B", run=lambda: story(counterfactual.null_task))

# %%
check.predict("null_task_messages", "B", run=lambda: story(counterfactual.null_task))

# %%
check.predict("null_task_value", "B", run=lambda: story(counterfactual.null_task))

# %% [markdown] tags=["explain"]
# **Fact.** Every early write would be made twice. You see it where the reducer adds, and where the value is computed
# from the state. A message with an id hides it: the second one replaces the first.

# %%
check.show("null_task_value", lambda: story(counterfactual.null_task).ledger)

# %% [markdown]
# ## P3: saved by a program
#
# This one does not change LangGraph. After the pause, a program saves the early writes with `update_state`, then
# answers. It is fix C, but here the node makes the same writes itself. The update counts as made by the node before
# `review`, which is `__start__`.

# %%
check.predict("update_state", "B", run=lambda: story(counterfactual.update_state))

# %% [markdown]
# ## All ways in one table
#
# Each row is a way. The five columns on the right are the five channels of the graph, in their order. The numbers say
# how often the early write is there at the end. For the last column it is the number itself.

# %% [markdown] tags=["explain"]
# **Fact.** Only LangGraph as it is has each write once **and** takes the answer.

# %%
check.show("update_state", lambda: print(counterfactual.table()))

# %% [markdown]
# ## Put it in order
#
# Measure P2 yourself: how often is `"early"` in the log? One piece does not belong.

# %%
check.order("count_copies", "C A D E")

# %% [markdown]
# ## Your turn
#
# A node is **idempotent** if running it twice gives the same state as running it once. Such a node would be safe even
# in a LangGraph that saves early writes.
#
# Write one, to be run under P2. It must send `"early"` to `log` before it asks, and return the answer to `log`. At the
# end `"early"` must be there only once. `send_hook()` gives you `send`, as in `review` above.


# %% tags=["stub"]
class Log(TypedDict):
    log: Annotated[list, operator.add]


def my_review(state):
    raise NotImplementedError  # write the node here, in place of this line


def build(saver):
    return build_graph(saver, Log, my_review)


check.exercise("once", build)


# %% tags=["solution"]
class Log(TypedDict):
    log: Annotated[list, operator.add]


def my_review(state):
    if "early" not in state["log"]:
        send_hook()([("log", ["early"])])
    return {"log": [interrupt("Approve?")]}


def build(saver):
    return build_graph(saver, Log, my_review)


check.exercise("once", build)

# %% [markdown]
# ## Another graph
#
# `count` counts parcels. It sends a line for the list, and a new total. Then it asks. We run it under P2.


# %%
class Stock(TypedDict):
    lines: Annotated[list[str], operator.add]
    total: int
    answer: str


def count(state):
    send = send_hook()
    send([("lines", ["3 parcels"]), ("total", state.get("total", 0) + 3)])
    return {"answer": interrupt("Book it?")}


def stock():
    graph = build_graph(InMemorySaver(), Stock, count)
    with counterfactual.null_task() as trace:
        graph.invoke({"lines": []}, CONFIG)
        graph.invoke(Command(resume="yes"), CONFIG)
    return trace


check.predict("transfer", "C", run=stock)

# %% [markdown]
# ## In short

# %%
check.recap()
