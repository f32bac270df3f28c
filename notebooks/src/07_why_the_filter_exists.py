# %% [markdown]
# # 07 Why the filter exists
#
# `commit` drops what a node wrote before its question. It looks like a mistake. Why not simply save it?
#
# "Because the node runs again, and then the write would be there twice." That is half of the truth. The other half is
# worse. In this notebook we change LangGraph, for a block of code, and see.
#
# You need about 20 minutes.

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
# One node. It sends five writes, each to another kind of channel, then asks, and returns the answer.

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


def build_graph(saver, state=State, review=review):
    graph = StateGraph(state)
    graph.add_node("review", review)
    graph.add_edge(START, "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


CONFIG = {"configurable": {"thread_id": "1"}}


def story(block):
    graph = build_graph(InMemorySaver())
    with block() as trace:
        graph.invoke({"log": ["input"]}, CONFIG)
        graph.invoke(Command(resume="yes"), CONFIG)
    return trace


# %% [markdown]
# As it is: the five writes are dropped at the pause, and made again after the answer. Each is there once.

# %%
print(*[f"{row.run}  {row.channel:10}  {row.label}" for row in story(hitl_lab.record).ledger], sep="\n")

# %% [markdown]
# ## P1: saved with the task
#
# `counterfactual.own_task()` is like `hitl_lab.record()`, but for the runs of its block `commit` hands on everything:
# the question, and the five writes with it. **This is not LangGraph.**

# %%
check.predict("own_task", "B", run=lambda: story(counterfactual.own_task))

# %% [markdown] tags=["explain"]
# **Fact.** A task with saved writes counts as finished. It would not run again, so the answer would reach nobody, and
# nothing would say so. This is the deeper reason for the filter.

# %%
check.show("own_task", lambda: story(counterfactual.own_task).ledger)

# %% [markdown]
# ## P2: saved for no task
#
# Then save them elsewhere: for the null task, as LangGraph does with the writes of a `Command`. They are applied at the
# next run. The task stays open, the node runs again, the answer is taken. **Not LangGraph either.**

# %%
check.predict("null_task_list", "B", run=lambda: story(counterfactual.null_task))

# %%
check.predict("null_task_messages", "B", run=lambda: story(counterfactual.null_task))

# %%
check.predict("null_task_value", "B", run=lambda: story(counterfactual.null_task))

# %% [markdown] tags=["explain"]
# **Fact.** Every early write would be made twice. It shows wherever the reducer adds, or the value is computed from the
# state. A message with an id hides it.

# %%
check.show("null_task_value", lambda: story(counterfactual.null_task).ledger)

# %% [markdown]
# ## P3: saved by a program
#
# No change to LangGraph: after the pause, a program takes the five values and saves them with `update_state`. It is
# fix C, used on a node that writes them itself.

# %%
check.predict("update_state", "B", run=lambda: story(counterfactual.update_state))

# %% [markdown]
# ## The table
#
# How often each early write is in the state at the end, and what became of the answer. `hitl-lab lab counterfactual`
# prints it for any LangGraph.

# %%
check.show("update_state", lambda: print(counterfactual.table()))

# %% [markdown] tags=["explain"]
# **Fact.** Only as it is, each write is there once and the answer is taken.

# %%
check.show("update_state", lambda: counterfactual.measure("real").copies)

# %% [markdown]
# ## Your turn
#
# Suppose a LangGraph that saves early writes, as P2 does. Your node must write `"early"` to `log` before it asks, and
# return the answer. Make sure that `"early"` is there only once.


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
# `count` counts parcels: a line for the list, and a new total. Then it asks. We run it under P2.


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
