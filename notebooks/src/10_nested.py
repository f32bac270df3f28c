# %% [markdown]
# # 10 Nested graphs and the functional API
#
# A graph can run inside another one. It can **be** a node, or a node can **call** it. At a pause the two differ.
#
# LangGraph also has a way to write a graph as plain functions: the functional API. There you can ask as well.
#
# You need about 20 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson, send_hook

check = open_lesson("10")
check

# %%
import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def chain(saver, **nodes):
    """One node after the other."""
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
    for before, after in zip([START, *nodes], [*nodes, END], strict=True):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


def story(graph, first, *answers):
    with hitl_lab.record() as trace:
        graph.invoke(first, CONFIG)
        for answer in answers:
            graph.invoke(Command(resume=answer), CONFIG)
    return trace


# %% [markdown]
# ## A subgraph as a node
#
# The graph `inner` is a node of another graph, its parent. It is compiled without a checkpointer: it uses the parent's.


# %%
def prepare(state):
    return {"log": ["prepared"]}


def ask(state):
    send = send_hook()
    send([("log", ["asking"])])
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def subgraph(*answers):
    inner = chain(None, prepare=prepare, ask=ask)
    return story(chain(InMemorySaver(), inner=inner), {"log": []}, *answers)


# %% [markdown]
# ## Predict: what runs again inside?

# %%
check.predict("inside", "A", run=lambda: subgraph("yes"))

# %% [markdown]
# ## Predict: a phantom from inside?
#
# In notebook 02, `invoke()` returned the write that was dropped: a phantom. Here `ask` is inside a subgraph.

# %%
check.predict("phantom", "B", run=subgraph)

# %% [markdown]
# Now step through it. The rows of the subgraph have checkpoints of their own.

# %%
check.show("phantom", lambda: subgraph("yes"))

# %% [markdown] tags=["explain"]
# **Fact.** A subgraph has checkpoints of its own. It goes on inside, after the last node that finished.
#
# In the ledger, `inner/ask` is the node `ask` inside `inner`. Its writes go to the subgraph's channels. The parent's
# `get_state()` and `invoke()` do not show those channels: two dashes. When the subgraph is done, `inner` writes its
# whole `log` to the parent: the last row.

# %%
check.show("phantom", lambda: subgraph("yes").ledger)

# %% [markdown] tags=["explain"]
# **Fact.** What was dropped inside a subgraph is not returned: no phantom. It is dropped all the same.


# %%
def returned_at_the_pause():
    inner = chain(None, prepare=prepare, ask=ask)
    print("returned:", chain(InMemorySaver(), inner=inner).invoke({"log": []}, CONFIG)["log"])
    print("`asking`:", subgraph().ledger.where(node="ask")[0].label)


check.show("phantom", returned_at_the_pause)

# %% [markdown]
# ## A graph called in a function
#
# Now the graph is no node. The node `call` calls it, with `inner.invoke(...)`. The graph asks twice.


# %%
class Inner(TypedDict):
    notes: Annotated[list[str], operator.add]


def first(state):
    return {"notes": [f"first: {interrupt('First?')}"]}


def second(state):
    return {"notes": [f"second: {interrupt('Second?')}"]}


def called(*answers):
    builder = StateGraph(Inner)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    inner = builder.compile()

    def call(state):
        return {"log": inner.invoke({"notes": []})["notes"]}

    return story(chain(InMemorySaver(), call=call), {"log": []}, *answers)


# %% [markdown]
# ## Predict: does the caller run again?

# %%
check.predict("function", "C", run=lambda: called("1", "2"))

# %% [markdown] tags=["explain"]
# **Fact.** The graph that was called goes on inside. But the node that calls it runs again from its first line at every
# resume, like any other node that is not finished.

# %%
check.show("function", lambda: called("1", "2"))

# %% [markdown]
# ## The functional API
#
# An `@entrypoint` is a function that LangGraph runs as a graph. It can ask. A `@task` is a piece of work that it calls.
# `.result()` waits for what the task gives back.


# %%
def functional(*answers):
    @task
    def price(item):
        return 40

    @entrypoint(checkpointer=InMemorySaver())
    def order(item):
        amount = price(item).result()
        return {"amount": amount, "answer": interrupt(f"Pay {amount}?")}

    return story(order, "tea", *answers)


check.predict("functional", "B", run=lambda: functional("yes"))

# %% [markdown] tags=["explain"]
# **Fact.** An entrypoint runs again from its first line. A finished `@task` does not: its saved result is given back.
# So work that must happen once goes into a task.
#
# In the ledger, `__return__` is the result of a task, and `__end__` what the entrypoint returned. `__previous__` is
# kept for the next call on this thread.

# %%
check.show("functional", lambda: functional("yes").ledger)

# %% [markdown]
# ## Put it in order
#
# `book` is a node that books a table. `inner` is a compiled graph that asks for the time. One piece does not belong.

# %%
check.order("as_node", "C A E B")

# %% [markdown]
# ## Your turn
#
# Build a graph that books a table, then asks for the time. `build` is given `inner`, a compiled graph that asks, and
# `book`: call `book()` to book. It must be called once. Both graphs use `State`.
#
# Do not wonder about the log. `inner` gets the whole `log` of the parent and gives it back with its own line, and
# `operator.add` puts that behind what is there. So a line can stand there twice, though the table was booked once.


# %% tags=["stub"]
def build(saver, inner, book):
    raise NotImplementedError  # a StateGraph(State), compiled with checkpointer=saver


check.exercise("book_once", build)


# %% tags=["solution"]
def build(saver, inner, book):
    def booking(state):
        book()
        return {"log": ["booked"]}

    return chain(saver, booking=booking, inner=inner)


check.exercise("book_once", build)

# %% [markdown]
# ## Another graph
#
# Three levels. The outer graph has the graph `middle` as a node. In `middle`, `before` comes first. Then `call` calls a
# third graph, which asks.


# %%
def before(state):
    return {"log": ["before"]}


def three_levels():
    deep = chain(None, ask=ask)

    def call(state):
        return {"log": deep.invoke({"log": []})["log"]}

    middle = chain(None, before=before, call=call)
    return story(chain(InMemorySaver(), middle=middle), {"log": []}, "yes")


check.predict("transfer", "C", run=three_levels)

# %% [markdown]
# ## In short

# %%
check.recap()
