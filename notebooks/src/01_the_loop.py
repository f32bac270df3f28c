# %% [markdown]
# # 01 The loop
#
# A node returns a value. When is it in the state?
#
# LangGraph runs a graph in **supersteps**. A superstep is one round: all nodes that may run now, run. In each superstep
# four phases come one after the other:
#
# ![Channels feed a task. The task fills task.writes. commit hands them on as pending writes. after_tick applies them to
# the channels and saves a checkpoint.](assets/five_parts.svg)
#
# 1. `tick` plans the tasks: one for each node that runs now.
# 2. `execute`: the nodes run.
# 3. `commit` takes the writes of each task that has ended, and hands them on.
# 4. `after_tick` applies them to the channels, and saves a checkpoint.
#
# Here you stop a real run after each phase, and look at its parts. You need about 30 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("01")
check

# %% [markdown]
# ## The graph
#
# `draft` comes first. Two edges lead from it, so `legal` and `sales` run together, in the next superstep. Each of them
# writes how many entries it saw in the log.
#
# `operator.add` makes the log grow: what a node returns is added at its end.

# %%
import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


def draft(state):
    return {"log": ["draft"]}


def legal(state):
    return {"log": [f"legal saw {len(state['log'])}"]}


def sales(state):
    return {"log": [f"sales saw {len(state['log'])}"]}


def nodes():
    graph = StateGraph(Log)
    for node in (draft, legal, sales):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "draft")
    return graph


def build_graph(saver):
    graph = nodes()
    graph.add_edge("draft", "legal")
    graph.add_edge("draft", "sales")
    return graph.compile(checkpointer=saver)


# %% [markdown]
# ## Stop a run
#
# A `TracedExecutor` runs the graph in the background. After each phase it waits for you. `step()` lets it go on by one
# phase. `run_to("draft")` lets it go on until `draft` is about to run.
#
# While it waits, you can look at its parts. They are the real ones: nothing is simulated.
#
# `durability="sync"` tells LangGraph to wait for each save. So you see the same each time. Notebook 06 is about it.

# %%
CONFIG = {"configurable": {"thread_id": "1"}}


def live():
    return hitl_lab.TracedExecutor(build_graph(InMemorySaver()), {"log": []}, CONFIG, durability="sync")


with live() as ex:
    print(ex.run_to("draft"))
    print("tasks:          ", ex.tasks)
    print("pending writes: ", ex.pending_writes)
    print("channels:       ", ex.channels)
    print(ex)

# %% [markdown]
# `draft` is planned as a task. T2 is only its name here: the second task of this run. Its list of writes is empty, and
# so is the log.
#
# ## Predict: the node has returned
#
# `stand` runs to the end of a phase of `draft`. Then it tells what each part holds for the channel `log`. For the
# checkpoint it asks the saver.


# %%
def stand(phase):
    with live() as ex:
        ex.run_to("draft")
        ex.run_to(phase)
        return {
            "task.writes": ex.tasks["draft"].writes.of("log"),
            "pending writes": ex.pending_writes.of("log"),
            "channels": ex.channels["log"],
            "checkpoint": ex.saved().values["log"],
        }


check.predict("executed", "B", run=lambda: stand("execute"))

# %% [markdown] tags=["explain"]
# **Fact.** A node that has returned has filled `task.writes`, no more.
#
# The double brackets are no mistake: it is a list of writes, and each write is a list here.

# %%
check.show("executed", lambda: stand("execute"))

# %% [markdown]
# ## Predict: after commit
#
# We let the run go on by one phase: `commit`. (The button Commit under a question is something else: it fixes your
# choice.)

# %%
check.predict("committed", "A", run=lambda: stand("commit"))

# %% [markdown] tags=["explain"]
# **Fact.** After `commit` the write is **pending**: saved for its task, but not in the state.
#
# Remember this place. At a pause `commit` does something else, and notebook 02 goes there.

# %%
check.show("committed", lambda: stand("commit"))

# %% [markdown]
# ## Predict: the end of the superstep
#
# One phase more: `after_tick`. Then the superstep is over.

# %%
check.predict("applied", "B", run=lambda: stand("after_tick"))

# %% [markdown] tags=["explain"]
# **Fact.** `after_tick` applies the write to its channel, and saves a checkpoint.

# %%
check.show("applied", lambda: stand("after_tick"))

# %% [markdown]
# ## Move it yourself
#
# Here is the same run with buttons. Press **Step** until it ends. Each step has one sentence.
#
# Then go back with the left arrow key. The run itself does not go back, but all that you saw is kept.
#
# By code it is `mine.step()`. Both move the same run.

# %%
mine = live()
check.show("applied", lambda: mine)

# %% [markdown]
# ## Predict: side by side
#
# `legal` and `sales` are in one superstep. With `step("legal")` we choose who moves: first `legal` runs and is
# committed, then `sales` runs.


# %%
def legal_first():
    with live() as ex:
        ex.run_to("legal")
        ex.step("legal")  # it has run
        ex.step("legal")  # and is committed
        pending = ex.pending_writes.of("log")
        ex.step("sales")
        return {"pending before sales ran": pending, "sales wrote": ex.tasks["sales"].writes.of("log")}


check.predict("sibling", "B", run=legal_first)

# %% [markdown] tags=["explain"]
# **Fact.** Tasks of one superstep do not see each other's writes. Each gets the state as it was at `tick`.

# %%
check.show("sibling", legal_first)

# %% [markdown]
# ## Predict: the other way round
#
# Now `sales` moves first. `finish()` lets the run go to its end.


# %%
def sales_first():
    with live() as ex:
        ex.run_to("legal")
        ex.step("sales")
        ex.step("sales")
        ex.finish()
        return ex.returned["log"]


check.predict("order", "B", run=sales_first)

# %% [markdown] tags=["explain"]
# **Fact.** It does not matter which task ran first. `after_tick` applies their writes in a fixed order.

# %%
check.show("order", sales_first)

# %% [markdown]
# ## Put it in order
#
# Here are the pieces of the graph that you just saw. One of them does not belong.

# %%
check.order("together", "B E D C")

# %% [markdown]
# ## Your turn
#
# `sales` should see what `legal` wrote. Write a `build` with other edges. `nodes()` from above gives you the graph with
# its three nodes and the edge to `draft`. Compile it with `checkpointer=saver`.
#
# Do not change the nodes. Each one must run once.


# %% tags=["stub"]
def build(saver):
    raise NotImplementedError  # write the graph here, in place of this line


check.exercise("sees_it", build)


# %% tags=["solution"]
def build(saver):
    graph = nodes()
    graph.add_edge("draft", "legal")
    graph.add_edge("legal", "sales")
    return graph.compile(checkpointer=saver)


check.exercise("sees_it", build)

# %% [markdown]
# ## Another graph
#
# Is it the same without a list? Here are two plain numbers: a write takes the place of the old value. `weigh` and
# `price` start together, and `weigh` is the first to run.


# %%
class Parcel(TypedDict):
    weight: int
    price: int


def weigh(state):
    return {"weight": 3}


def price(state):
    return {"price": 2 * state["weight"]}


def parcel():
    graph = StateGraph(Parcel)
    graph.add_node("weigh", weigh)
    graph.add_node("price", price)
    graph.add_edge(START, "weigh")
    graph.add_edge(START, "price")
    with hitl_lab.TracedExecutor(graph.compile(), {"weight": 1}) as ex:
        ex.run_to("weigh")
        ex.step("weigh")
        ex.finish()
        return ex.returned


check.predict("transfer", "B", run=parcel)

# %% [markdown]
# ## In short

# %%
check.recap()
