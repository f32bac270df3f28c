# %% [markdown]
# # 09 Many at once
#
# A superstep can hold several tasks. Some finish, some ask. This notebook is about who runs again, and about how to
# answer the right question. You need about 25 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("09")
check

# %%
import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def side_by_side(*nodes):
    graph = StateGraph(State)
    for node in nodes:
        graph.add_node(node.__name__, node)
        graph.add_edge(START, node.__name__)
        graph.add_edge(node.__name__, END)
    return graph.compile(checkpointer=InMemorySaver())


def by_name(graph, **answers):
    """A dict from interrupt id to answer, by the first word of the question."""
    waiting = graph.get_state(CONFIG).interrupts
    return {i.id: answers[i.value.lower().rstrip("?")] for i in waiting if i.value.lower().rstrip("?") in answers}


# %% [markdown]
# ## One finishes, one asks


# %%
def lookup(state):
    return {"log": ["stock: 3"]}


def ask(state):
    return {"log": [f"answer: {interrupt('How many?')}"]}


def sibling_story():
    graph = side_by_side(lookup, ask)
    with hitl_lab.record() as trace:
        graph.invoke({"log": ["order"]}, CONFIG)
        graph.invoke(Command(resume="2"), CONFIG)
    return trace


# %% [markdown]
# ## Predict: who runs again?

# %%
check.predict("sibling", "B", run=sibling_story)

# %%
check.show("sibling", sibling_story)

# %% [markdown] tags=["explain"]
# **Fact.** What a finished sibling wrote is saved as a pending write of its task. The resume takes it from there and
# runs only the task that asked.

# %%
check.show("sibling", lambda: sibling_story().ledger)

# %% [markdown]
# ## Predict: two views of one pause
#
# `get_state(config)` reads the thread. `get_state_history(config)` lists its checkpoints, newest first.


# %%
def two_views():
    graph = side_by_side(lookup, ask)
    graph.invoke({"log": ["order"]}, CONFIG)
    live = graph.get_state(CONFIG)
    record = next(iter(graph.get_state_history(CONFIG)))
    return {"live": [live.values["log"], sorted(live.next)], "record": [record.values["log"], sorted(record.next)]}


check.predict("views", "C", run=two_views)

# %% [markdown] tags=["explain"]
# **Fact.** `get_state()` is live: it applies what is pending, and `next` names the tasks that are left. The history is
# a record: the checkpoint as it was made, with all tasks still to run.

# %%
check.show("views", lambda: print(*two_views().items(), sep="\n"))

# %% [markdown]
# ## Two questions


# %%
def legal(state):
    return {"log": [f"legal: {interrupt('Legal?')}"]}


def sales(state):
    return {"log": [f"sales: {interrupt('Sales?')}"]}


def bare_answer():
    graph = side_by_side(legal, sales)
    with hitl_lab.record() as trace:
        graph.invoke({"log": []}, CONFIG)
        try:
            graph.invoke(Command(resume="yes"), CONFIG)
        except RuntimeError:
            pass  # told by the trace
    return trace


# %% [markdown]
# ## Predict: one bare answer

# %%
check.predict("bare", "C", run=bare_answer)

# %% [markdown] tags=["explain"]
# **Fact.** With several questions, LangGraph refuses an answer without an id. Nothing runs, nothing is lost: the
# questions still wait.

# %%
check.show("bare", bare_answer)

# %% [markdown]
# ## Predict: one after the other


# %%
def one_by_one():
    graph = side_by_side(legal, sales)
    with hitl_lab.record() as trace:
        graph.invoke({"log": []}, CONFIG)
        graph.invoke(Command(resume=by_name(graph, legal="yes")), CONFIG)
        graph.invoke(Command(resume=by_name(graph, sales="no")), CONFIG)
    return trace


check.predict("one", "B", run=one_by_one)

# %% [markdown] tags=["explain"]
# **Fact.** Each resume runs every node that still has no answer. If you can, give all answers in one call.

# %%
check.show("one", lambda: one_by_one().ledger)

# %% [markdown]
# ## Put it in order
#
# `WORDS` is `{"Legal?": "yes", "Sales?": "no"}`. One piece does not belong.

# %%
check.order("by_id", "A D B")

# %% [markdown]
# ## Your turn
#
# The graph is paused, both questions wait. Answer `"yes"` to `legal` and `"no"` to `sales`. Each node may run twice,
# not more.


# %% tags=["stub"]
def go_on(graph, config):
    raise NotImplementedError  # find the ids, then answer


check.exercise("answers", go_on)


# %% tags=["solution"]
def go_on(graph, config):
    words = {"Legal?": "yes", "Sales?": "no"}
    waiting = graph.get_state(config).interrupts
    graph.invoke(Command(resume={i.id: words[i.value] for i in waiting}), config)


check.exercise("answers", go_on)

# %% [markdown]
# ## Another graph
#
# A router makes one task for each item, with `Send`. They are all tasks of one node, `grade`. Item 2 needs a person.


# %%
class Items(TypedDict):
    items: list[int]
    log: Annotated[list[str], operator.add]


def fan_out(state):
    return [Send("grade", {"item": item}) for item in state["items"]]


def grade(task):
    if task["item"] == 2:
        return {"log": [f"2: {interrupt('Grade item 2')}"]}
    return {"log": [f"{task['item']}: automatic"]}


def grade_story():
    builder = StateGraph(Items)
    builder.add_node("grade", grade)
    builder.add_conditional_edges(START, fan_out, ["grade"])
    builder.add_edge("grade", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke({"items": [1, 2, 3], "log": []}, CONFIG)
        graph.invoke(Command(resume="good"), CONFIG)
    return trace


check.predict("transfer", "B", run=grade_story)

# %% [markdown]
# ## In short

# %%
check.recap()
