# %% [markdown]
# # 09 Many at once
#
# A superstep can hold several tasks. Some finish, some ask. Who runs again after the answer? And when several ask, how
# do you answer the right one?
#
# You need about 25 minutes.

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


# %% [markdown]
# `side_by_side` puts its nodes into one superstep: each gets an edge from START.
#
# ## One finishes, one asks
#
# `lookup` finishes. `ask` stops for a person. We call `lookup` the finished **sibling** of `ask`.


# %%
def lookup(state):
    return {"log": ["stock: 3"]}


def ask(state):
    return {"log": [f"answer: {interrupt('How many?')}"]}


def sibling_story(answer="2"):
    graph = side_by_side(lookup, ask)
    with hitl_lab.record() as trace:
        graph.invoke({"log": ["order"]}, CONFIG)
        if answer:
            graph.invoke(Command(resume=answer), CONFIG)
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
#
# Here is the ledger as it stands at the pause, before the answer: the write of `lookup` is pending.

# %%
check.show("sibling", lambda: sibling_story(answer=None).ledger)

# %% [markdown]
# ## Predict: two views of one pause
#
# There are two ways to look at the paused thread. `get_state(config)` reads the thread.
# `get_state_history(config)` lists its checkpoints, newest first. Both give values, and `next`: the nodes to run.


# %%
def two_views():
    graph = side_by_side(lookup, ask)
    graph.invoke({"log": ["order"]}, CONFIG)
    newest = next(iter(graph.get_state_history(CONFIG)))
    return {"get_state": graph.get_state(CONFIG), "history": newest}


check.predict("views", "C", run=two_views)

# %% [markdown] tags=["explain"]
# **Fact.** `get_state()` is live: it applies what finished siblings have pending, and `next` names the nodes that are
# left. The history is a record: the checkpoint as it was made, with all nodes still to run.


# %%
def side_by_side_views():
    for name, state in two_views().items():
        print(f"{name:10} log: {state.values['log']}   next: {', '.join(sorted(state.next))}")


check.show("views", side_by_side_views)

# %% [markdown]
# ## Two questions
#
# Now both nodes ask in one superstep.


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
            pass  # the trace tells it
    return trace


# %% [markdown]
# ## Predict: one bare answer

# %%
check.predict("bare", "C", run=bare_answer)

# %% [markdown] tags=["explain"]
# **Fact.** When several questions wait, LangGraph refuses an answer that does not say which one it is for. Nothing runs
# and nothing is lost: both questions still wait.

# %%
check.show("bare", bare_answer)

# %% [markdown]
# ## Predict: one after the other
#
# Each question has an **interrupt id**. `get_state(config).interrupts` lists the questions that wait. Each has an `id`,
# and a `value`: its text.
#
# `Command(resume={id: answer})` answers the question with that id. `by_id` makes such a dict.


# %%
def by_id(graph, answers):
    waiting = graph.get_state(CONFIG).interrupts
    return {question.id: answers[question.value] for question in waiting if question.value in answers}


def one_by_one():
    graph = side_by_side(legal, sales)
    with hitl_lab.record() as trace:
        graph.invoke({"log": []}, CONFIG)
        graph.invoke(Command(resume=by_id(graph, {"Legal?": "yes"})), CONFIG)
        graph.invoke(Command(resume=by_id(graph, {"Sales?": "no"})), CONFIG)
    return trace


check.predict("one", "B", run=one_by_one)

# %% [markdown] tags=["explain"]
# **Fact.** Each resume runs every node that has not finished, also one that gets no answer this time. If you can, give
# all answers in one call.


# %%
def starts():
    for run in one_by_one().story.runs:
        started = [e.name for e in run.events if e.kind == "task_started" and e.name != "__start__"]
        print(f"{run.label} started", *sorted(started))


check.show("one", starts)

# %% [markdown]
# ## Put it in order
#
# Both questions wait. `WORDS` is `{"Legal?": "yes", "Sales?": "no"}`. One piece does not belong.

# %%
check.order("by_id", "A D B")

# %% [markdown]
# ## Your turn
#
# `go_on` gets the paused graph and its config. Both questions wait: `"Legal?"` and `"Sales?"`. Answer `"yes"` to the
# first and `"no"` to the second. Each node may run twice in all, not more.


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
# A router is a function on a conditional edge. This one makes a task for each item, with `Send`. All are tasks of one
# node, `grade`. Item 2 needs a person.


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
