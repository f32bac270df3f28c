# %% [markdown]
# # 10 Nested graphs and the functional API
#
# A graph can stand inside another one. There are two ways to put it there, and at a pause they differ. An
# `@entrypoint` is a third place to ask from. You need about 20 minutes.

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
# `inner` is compiled without a checkpointer. It gets the parent's.


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

# %%
check.show("inside", lambda: subgraph("yes"))

# %% [markdown] tags=["explain"]
# **Fact.** A subgraph has checkpoints of its own. It goes on inside, after the last node that finished.

# %%
check.show("inside", lambda: subgraph("yes").ledger)

# %% [markdown]
# ## Predict: a phantom from inside?

# %%
check.predict("phantom", "B", run=subgraph)

# %% [markdown]
# ## A graph called in a function
#
# Here a node calls another graph by hand.


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
# **Fact.** The graph that was called goes on inside. The node that calls it is a node like any other: it runs again
# from its first line at every resume.

# %%
check.show("function", lambda: called("1", "2"))

# %% [markdown]
# ## The functional API
#
# An `@entrypoint` is a function that can pause. A `@task` is a piece of work in it, whose result is saved.


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
# **Fact.** An entrypoint runs again from its top. A finished `@task` gives its saved result back without running.
#
# So in the functional API, work that must happen once goes into a task.

# %%
check.show("functional", lambda: functional("yes").ledger)

# %% [markdown]
# ## Put it in order
#
# One piece does not belong.

# %%
check.order("as_node", "C A E B")

# %% [markdown]
# ## Your turn
#
# `inner` is a compiled graph that asks for a time. `book()` books a table. Build a graph that books once, then runs
# `inner`. Both use `State` with its `log`.


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
# Three levels. `outer` holds `middle` as a node. In `middle`, `before` comes first, then `call` calls a graph by hand.


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
