# %% [markdown]
# # 13 Your own graph
#
# You can now predict what a pause keeps, drops and runs again. Next is your graph at work.
#
# You record it, read the **findings**, follow their advice, and write a test, so that the fault does not come back. We
# do this with a graph of ours first. Then you mend a second one. Then comes your own.
#
# You need about 35 minutes, without your own graph.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("13")
check

# %% [markdown]
# ## The desk
#
# An expense desk decides whether an amount is booked. `score` rates the expense. In the same superstep `ask` looks the
# customer up, which costs a fee, sends a note about it, and asks a person.
#
# `hitl_lab.effect("...")` marks a side effect, so that the recording sees it. When nothing is recorded it does nothing.

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
    send = get_config()["configurable"]["__pregel_send"]  # what send_hook() gave you in this course
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
# ## Predict: what is lost
#
# `first_run` runs a desk to its question. `story` also gives the answer.


# %%
def story(graph):
    with hitl_lab.record() as trace:
        graph.invoke({"amount": 40, "log": []}, CONFIG)
        graph.invoke(Command(resume="yes"), CONFIG)
    return trace


def first_run(graph):
    with hitl_lab.record() as trace:
        graph.invoke({"amount": 40, "log": []}, CONFIG)
    return trace


check.predict("desk", "B", run=lambda: first_run(desk()))

# %% [markdown]
# `trace.findings` says more than the ledger. Each finding has a code, a reason, the lines that prove it, and advice.
# The advice ends in a sketch with the names of *your* graph. Here are those of the whole story, with the answer.

# %%
check.show("desk", lambda: story(desk()).findings)

# %% [markdown]
# ## Predict: a test that looks at the wrong thing
#
# The desk loses its note, so a test of it should fail. Here are two tests. One looks at what `invoke()` returned. The
# other is `assert_survives_pause` of hitl_lab.


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
# **Fact.** What `invoke()` returns at a pause proves nothing. Test what is saved.
#
# Here is how the test that fails says it.


# %%
def message():
    try:
        assert_survives_pause(first_run(desk()), "note")
    except AssertionError as error:
        print("\n".join(str(error).splitlines()[:7]))


check.show("assertion", message)

# %% [markdown]
# With pytest it is shorter. The fixture `hitl_trace` comes with hitl_lab and records all runs of the test:
#
# ```python
# def test_the_note_is_kept(hitl_trace):
#     graph.invoke({"amount": 40, "log": []}, config)
#     assert_survives_pause(hitl_trace, "note")
# ```
#
# ## Put it in order
#
# Without pytest: put a test together that fails on the desk above, and passes on a desk that keeps its note. `graph` is
# the desk. One piece does not belong.

# %%
check.order("good_test", "C D B")

# %% [markdown]
# ## Predict: after the advice
#
# Somebody follows the advice of HL001: the note now has a node of its own, before `ask`. But they forget to take the
# look-up out of `ask`.


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
# Here is another desk. It writes the same note, and it books. `book(amount)` stands for the booking: it must not happen
# twice, and not without a yes. The desk has three faults. Its first run gives two findings.


# %%
def broken_desk(saver, book):
    def decide(state):
        state["note"] = "risk: low"
        book(state["amount"])
        try:
            return {"log": [interrupt("Book it?")]}
        except Exception as problem:
            return {"log": [f"failed: {type(problem).__name__}"]}

    graph = StateGraph(Desk)
    graph.add_node("decide", decide)
    graph.add_edge(START, "decide")
    return graph.compile(checkpointer=saver)


def book(amount):
    hitl_lab.effect(f"book {amount}")


check.show("advice", lambda: first_run(broken_desk(InMemorySaver(), book)).findings)

# %% [markdown]
# Start with these two findings. The third fault shows only when they are mended. Build the desk anew, so that
#
# - the note `"risk: low"` is in `note`, and saved, before anybody is asked,
# - a person is asked, and the answer is in `log` at the end,
# - after `"yes"` the amount is booked, once,
# - after `"no"` it is not booked,
# - the findings are empty.
#
# The check runs your desk twice: with the answer `"yes"`, and with `"no"`.


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
        if state["log"][-1] != "yes":
            return {"log": ["not booked"]}
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
# This desk is in order: the note has a node, and `only_ask` does nothing but ask. While it waits for the person, a
# colleague corrects the note by hand.


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
check.show("transfer", lambda: colleague().findings)

# %% [markdown]
# ## Your own
#
# Now your graph. In a notebook, put `record()` around your own code:
#
# ```python
# with hitl_lab.record() as trace:
#     graph.invoke(...)
# ```
#
# Then `trace` is the stepper, `trace.ledger` the writes, and `trace.findings` what went wrong. Mark your side effects
# with `hitl_lab.effect("...")`.
#
# If you cannot put a `with` around it: `watching = hitl_lab.watch()` records everything in this kernel, until
# `watching.stop()`. And after `%load_ext hitl_lab`, a cell that begins with `%%hitl_trace` is recorded.
#
# In a terminal, the first command runs a graph of your project. The second one only reads your source, and gives hints:
#
# ```console
# $ hitl-lab trace my_app.agent:graph --input '{"messages": [...]}' --resume '"approved"' --html report.html
# $ hitl-lab lint src/
# ```
#
# What the command writes hides values that look like secrets. Each finding has a page in the documentation, by its
# code.
#
# ## In short

# %%
check.recap()
