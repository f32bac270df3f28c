# %% [markdown]
# # 13 Your own graph
#
# The course is over. Your graph at work is next: record it, read what is found, follow the advice, keep it found.
#
# First a desk as one might have it, then a desk for you to mend, then your own. You need about 40 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("13")
check

# %%
import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from hitl_lab.testing import assert_survives_pause

CONFIG = {"configurable": {"thread_id": "1"}}


class Desk(TypedDict, total=False):
    amount: int
    note: str
    log: Annotated[list[str], operator.add]


def look_up():
    """Stands for a service that takes a fee."""
    hitl_lab.effect("pay for a look-up")
    return "risk: low"


def score(state):
    return {"log": ["score: 7"]}


def ask(state):
    note = look_up()
    send = get_config()["configurable"]["__pregel_send"]
    send([("note", note)])
    return {"log": [interrupt(f"Book {state['amount']} EUR?")]}


def desk():
    graph = StateGraph(Desk)
    graph.add_node("score", score)
    graph.add_node("ask", ask)
    graph.add_edge(START, "score")
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=InMemorySaver())


# %% [markdown]
# `hitl_lab.effect("...")` marks what no pause takes back. It does nothing when nothing is recorded.
#
# ## Predict: what is lost


# %%
def story(graph):
    with hitl_lab.record() as trace:
        graph.invoke({"amount": 40, "log": []}, CONFIG)
        graph.invoke(Command(resume="yes"), CONFIG)
    return trace


def at_the_pause():
    graph = desk()
    with hitl_lab.record() as trace:
        graph.invoke({"amount": 40, "log": []}, CONFIG)
    return trace


check.predict("desk", "B", run=at_the_pause)

# %% [markdown]
# `trace.findings` says more than the ledger: why, with proof, and what to do. The sketch is made for *your* names.

# %%
check.show("desk", lambda: print(story(desk()).findings))

# %% [markdown]
# ## Predict: a test that looks at the wrong thing
#
# A test should fail on this desk. Which one does?


# %%
def two_tests():
    graph, failed = desk(), []
    with hitl_lab.record() as trace:
        returned = graph.invoke({"amount": 40, "log": []}, CONFIG)
    if returned.get("note") != "risk: low":
        failed.append("returned")
    try:
        assert_survives_pause(trace, "note")
    except AssertionError:
        failed.append("assertion")
    return tuple(failed)


check.predict("assertion", "C", run=two_tests)

# %% [markdown] tags=["explain"]
# **Fact.** Test what is saved. In a test file this is all there is to it; the fixture comes with hitl_lab:
#
# ```python
# def test_the_note_is_kept(hitl_trace):
#     graph.invoke({"amount": 40, "log": []}, config)
#     assert_survives_pause(hitl_trace, "note")
# ```


# %%
def message():
    try:
        assert_survives_pause(at_the_pause(), "note")
    except AssertionError as error:
        print("\n".join(str(error).splitlines()[:7]))


check.show("assertion", message)

# %% [markdown]
# ## Predict: after the advice
#
# `note` gets a node of its own. The look-up stays where it was.


# %%
def note(state):
    return {"note": "risk: low"}


def ask_with_fee(state):
    look_up()
    return {"log": [interrupt(f"Book {state['amount']} EUR?")]}


def split_desk(asking=ask_with_fee):
    graph = StateGraph(Desk)
    graph.add_node("note", note)
    graph.add_node("ask", asking)
    graph.add_edge(START, "note")
    graph.add_edge("note", "ask")
    return graph.compile(checkpointer=InMemorySaver())


check.predict("advice", "B", run=lambda: story(split_desk()))

# %% [markdown]
# ## Capstone: mend the desk
#
# This one has three faults. Look at what it does first; `book(amount)` books, and is counted.
#
# ```python
# def build(saver, book):
#     def desk(state):
#         state["note"] = "risk: low"
#         book(state["amount"])
#         try:
#             return {"log": [interrupt("Book it?")]}
#         except Exception as problem:
#             return {"log": [f"failed: {problem!r}"]}
#     ...
# ```
#
# Build it anew. The note must be saved before the question, booked is once and after the answer, the answer is in the
# log, and nothing is found.


# %% tags=["stub"]
def build(saver, book):
    raise NotImplementedError  # a StateGraph(Desk) with your nodes, compiled with checkpointer=saver


check.exercise("desk", build)


# %% tags=["solution"]
def build(saver, book):
    def note(state):
        return {"note": "risk: low"}

    def ask(state):
        return {"log": [interrupt("Book it?")]}

    def book_it(state):
        book(state["amount"])
        return {"log": ["booked"]}

    graph = StateGraph(Desk)
    graph.add_node("note", note)
    graph.add_node("ask", ask)
    graph.add_node("book_it", book_it)
    graph.add_edge(START, "note")
    graph.add_edge("note", "ask")
    graph.add_edge("ask", "book_it")
    return graph.compile(checkpointer=saver)


check.exercise("desk", build)

# %% [markdown]
# ## Another way to lose it
#
# The desk is right now. The colleague is not.


# %%
def only_ask(state):
    return {"log": [interrupt(f"Book {state['amount']} EUR?")]}


def colleague():
    graph = split_desk(only_ask)
    with hitl_lab.record() as trace:
        graph.invoke({"amount": 40, "log": []}, CONFIG)
        graph.update_state(CONFIG, {"note": "risk: high"}, as_node="ask")
        graph.invoke(Command(resume="yes"), CONFIG)
    return trace


check.predict("transfer", "B", run=colleague)

# %%
check.show("transfer", lambda: print(colleague().findings))

# %% [markdown]
# ## Your own
#
# In a notebook, around your own code:
#
# ```python
# with hitl_lab.record() as trace:
#     graph.invoke(...)
# trace                    # the stepper
# print(trace.findings)    # why, with proof, and what to do
# ```
#
# `watching = hitl_lab.watch()` records everything this kernel runs, until `watching.stop()`. After `%load_ext hitl_lab`
# the first line `%%hitl_trace` records one cell.
#
# In a terminal, with the graph of your project, and hints without running anything:
#
# ```console
# $ hitl-lab trace my_app.agent:graph --input '{"messages": [...]}' --resume '"approved"' --html report.html
# $ hitl-lab lint src/
# ```
#
# Secrets are hidden in what the command writes. Each code has a page: docs/findings.
#
# ## In short

# %%
check.recap()
