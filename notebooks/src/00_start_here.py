# %% [markdown]
# # 00 Start here
#
# LangGraph can stop a graph and ask a person. People lose data there, and cannot see why. In this course you see where
# each write of a node goes.
#
# You need to know Python, and to have seen a LangGraph graph once. You need no key and no network. This notebook takes
# about 15 minutes.
#
# Alone you need about four hours for the core: 00 to 05, 08, 09 and 13. The others go deeper and take two hours more.
# Each of them stands alone after 05: 06 crashes, 07 why LangGraph drops the write, 10 subgraphs, 11 tools and agents,
# 12 a fact check.

# %% [markdown]
# ## Does everything work?
#
# Click into the cell below, then press Shift and Enter. Each line says `ok`, or names the command that mends it.

# %%
from hitl_lab.course import doctor

for found in doctor.in_a_notebook():
    print(found)

# %% [markdown]
# ## The five parts
#
# Between your node and what is saved there are five parts. The names are LangGraph's own. The whole course uses them.
#
# ![Channels feed a task. The task fills task.writes. commit hands them on as pending writes. after_tick applies them to
# the channels and saves a checkpoint.](assets/five_parts.svg)
#
# - **channels**: the state. Each key of your state is a channel.
# - **task**: one run of one node.
# - **`task.writes`**: a list of what the task has written so far.
# - **pending writes**: writes that are saved for their task, but are not in the channels yet.
# - **checkpoint**: the channels as they were at one moment, saved.
#
# The arrows are the four phases. `tick` plans the tasks. In `execute` the nodes run. `commit` hands on the writes of a
# task that has ended. `after_tick` applies them to the channels and saves a checkpoint.
#
# You need not learn this now. Notebook 01 goes through it slowly.

# %% [markdown]
# ## Your first trace
#
# This graph has two nodes. `hello` writes into a log. `ask` asks a person, with `interrupt("Your name?")`.
#
# Three more words for the cell:
#
# - A **checkpointer**, or saver, keeps the checkpoints. `InMemorySaver` keeps them in memory.
# - A **thread** is one conversation with the graph. Its id is in `CONFIG`. The saver keeps each thread apart.
# - A **trace** is what `hitl_lab.record()` brings back: everything that happened in the run. The graph does not notice.

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
# Before each run you say what you expect. Choose, then press Commit: your choice is fixed, and the graph runs.
#
# You can also write your letter into the cell, after the name: `check.predict("stop", "A", run=first_run)`. Both count
# the same.
#
# A wrong guess is worth more than a right one: you will remember it.

# %%
check.predict("stop", "C", run=first_run)

# %% [markdown]
# Now look at the run: run the next cell. Go through it with the buttons, or with the arrow keys. Each step has one
# sentence.
#
# Some words in there are new. Let them pass, the next notebooks explain them. Find only this: where does `hello` write,
# and where does `ask` stop?

# %%
check.show("stop", first_run)

# %% [markdown] tags=["explain"]
# **Fact.** At `interrupt()` the run ends and `invoke()` returns. The question is saved: `get_state()` shows it later.


# %%
def question():
    graph = chain(hello, ask)
    graph.invoke({"log": []}, CONFIG)
    print([asked.value for asked in graph.get_state(CONFIG).interrupts])


check.show("stop", question)

# %% [markdown]
# A trace can also be read as a **ledger**: one line for each write. It says how far the write got, and its **fate**.
# `applied` means: it is in a checkpoint. W1 is the input of the graph: LangGraph writes it as the node `__start__`.

# %%
check.show("stop", lambda: first_run().ledger)

# %% [markdown]
# ## Put it in order
#
# Here is a graph in pieces: the node `ask` alone. Put the pieces in an order that works. Select a block, press Use, and
# at the end Run. Or write the letters into the cell: `check.order("first", "A B C D")`.

# %%
check.order("first", "B C D A")

# %% [markdown]
# ## Your turn
#
# Write the node `greet`. It asks for a name with `interrupt()`. Then it returns one entry for the log: `"hello Ada"`,
# if the answer was Ada. `build` is ready.
#
# Run the cell. It tries your graph: it invokes it, answers "Ada", and says what happened. If you are stuck, there are
# three hints.


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
# Now three nodes, and the one in the middle asks. `get_state(CONFIG).next` names the nodes that are to run next.


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
# - The next notebook is `01_the_loop.ipynb`. Open it in the list of files on the left.
# - When you open a notebook again, its buttons are gone. Run all its cells: menu Run, Run All Cells. Your answers come
#   back.
# - `hitl-lab progress`, in a terminal, shows what you have done. It stays on this machine.
# - `hitl-lab reset 00` gives you this notebook fresh, and keeps yours beside it.
