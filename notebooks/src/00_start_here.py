# %% [markdown]
# # 00 Start here
#
# LangGraph can stop a graph and ask a person. People lose data there, and cannot see why. In this course you see it:
# each write of a node, and where it goes.
#
# You need to know Python, and to have seen a LangGraph graph once. No key, no network. This notebook takes 15 minutes.

# %% [markdown]
# ## Does everything work?
#
# Run this cell: click into it, then press Shift and Enter. Each line says `ok`, or the command that mends it.

# %%
from pathlib import Path

from hitl_lab.course import doctor

LOOK_AT = (doctor.check_python, doctor.check_packages, doctor.check_recorder, doctor.check_widgets)
for found in [*(look() for look in LOOK_AT), doctor.check_folder(Path())]:
    print(f"ok    {found.name}" if found.passed else found)

# %% [markdown]
# ## The five parts
#
# The whole course uses five words. They are LangGraph's own.
#
# ![Channels feed a task. The task fills task.writes. commit hands them on as pending writes. after_tick applies them to
# the channels and saves a checkpoint.](assets/five_parts.svg)
#
# - **channels**: the state. Each key of your state is a channel.
# - **task**: one run of one node.
# - **`task.writes`**: what the node has written so far, in a list.
# - **pending writes**: what was handed on and saved for the task, not yet in the channels.
# - **checkpoint**: the channels, saved.
#
# Four things move them. `tick` plans the tasks. Then the nodes run. `commit` hands on the writes of a task that ended.
# `after_tick` applies them and makes a checkpoint. Notebook 01 goes through it slowly.

# %% [markdown]
# ## Your first trace
#
# One node says hello, one asks. `hitl_lab.record()` watches, and changes nothing.

# %%
import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("00")
CONFIG = {"configurable": {"thread_id": "1"}}


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


def hello(state):
    return {"log": ["hello"]}


def ask(state):
    return {"log": [f"your name: {interrupt('Your name?')}"]}


def thank(state):
    return {"log": ["thank you"]}


def chain(*nodes):
    """One node after the other."""
    graph = StateGraph(Log)
    names = [node.__name__ for node in nodes]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=InMemorySaver())


def first_run():
    graph = chain(hello, ask)
    with hitl_lab.record() as trace:
        graph.invoke({"log": []}, CONFIG)
    return trace


# %% [markdown]
# ## Predict, then run
#
# Before each run you say what you expect. Choose, then press Commit. Or write your letter into the cell, as a second
# word in the brackets, in quotes: "A" or "B" or "C". Both count the same.
#
# A wrong guess is worth more than a right one: you will remember it.

# %%
check.predict("stop", "C", run=first_run)

# %% [markdown]
# Now look at the run. Step with the buttons, or with the arrow keys. Every step has one sentence.

# %%
check.show("stop", first_run)

# %% [markdown] tags=["explain"]
# **Fact.** At `interrupt()` the run ends and `invoke()` returns. The question is saved with the checkpoint.
#
# Below the steps is the **ledger**: one line for each write. It says how far the write got.

# %%
check.show("stop", lambda: first_run().ledger)

# %% [markdown]
# ## Put it in order
#
# Here is a graph in pieces. Bring them into an order that works: select a block, press Use. Or write the letters into
# the cell.

# %%
check.order("first", "B C D A")

# %% [markdown]
# ## Your turn
#
# Write the node `greet`. It asks for a name, and puts `hello` and the name into the log. Then run the cell. If you are
# stuck, there are three hints.


# %% tags=["stub"]
def greet(state):
    raise NotImplementedError  # write the node here, in place of this line


def build(saver):
    graph = StateGraph(Log)
    graph.add_node("greet", greet)
    graph.add_edge(START, "greet")
    graph.add_edge("greet", END)
    return graph.compile(checkpointer=saver)


check.exercise("hello", build)


# %% tags=["solution"]
def greet(state):
    name = interrupt("Your name?")
    return {"log": [f"hello {name}"]}


def build(saver):
    graph = StateGraph(Log)
    graph.add_node("greet", greet)
    graph.add_edge(START, "greet")
    graph.add_edge("greet", END)
    return graph.compile(checkpointer=saver)


check.exercise("hello", build)

# %% [markdown]
# ## Another graph
#
# Three nodes. The one in the middle asks.


# %%
def three_nodes():
    graph = chain(hello, ask, thank)
    with hitl_lab.record() as trace:
        graph.invoke({"log": []}, CONFIG)
    return trace


check.predict("transfer", "A", run=three_nodes)

# %% [markdown]
# ## In short

# %%
check.recap()

# %% [markdown]
# ## How to go on
#
# - `hitl-lab progress`, in a terminal, shows what you have done. It stays on this machine.
# - When you open a notebook again, run all its cells first: menu Run, Run All Cells. Your answers come back.
# - `hitl-lab reset 00` gives you this notebook fresh, and keeps yours beside it.
# - Next: notebook 01, the loop.
