# %% [markdown]
# # 08 The node runs again
#
# After the answer, the node that asked runs again from its first line. `interrupt()` then gives the answer back.
#
# For writes this is harmless: they were dropped. For everything else it is not. You need about 25 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("08")
check

# %%
import operator
from itertools import count
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


def one_node(node, state=Log, **options):
    graph = StateGraph(state)
    graph.add_node(node.__name__, node, **options)
    graph.add_edge(START, node.__name__)
    graph.add_edge(node.__name__, END)
    return graph.compile(checkpointer=InMemorySaver())


def story(graph, first, *answers):
    """Run to the pause, then give one answer after the other."""
    with hitl_lab.record() as trace:
        graph.invoke(first, CONFIG)
        for answer in answers:
            graph.invoke(Command(resume=answer), CONFIG)
    return trace


# %% [markdown]
# ## Predict: an e-mail before the question


# %%
def mail_story():
    outbox = []

    def notify(state):
        outbox.append("e-mail")
        return {"log": [interrupt("Was that right?")]}

    trace = story(one_node(notify), {"log": []}, "yes")
    return {"mails": len(outbox), "trace": trace}


check.predict("mail", "C", run=mail_story)

# %%
check.show("mail", lambda: mail_story()["trace"])

# %% [markdown] tags=["explain"]
# **Fact.** Whatever a node does before `interrupt()`, it does once more after the answer. Only writes are held back.
#
# A row in a database, a payment, an e-mail: none of them is a write to LangGraph.

# %%
check.show("mail", lambda: print("e-mails:", mail_story()["mails"]))

# %% [markdown]
# ## Predict: the draft that was approved
#
# `count` stands for a model here. It makes something else each time.


# %%
class Draft(TypedDict):
    sent: str
    answer: str


def draft_story():
    drafts = count(1)

    def write_and_send(state):
        draft = f"draft {next(drafts)}"
        return {"answer": interrupt(f"Send {draft}?"), "sent": draft}

    return story(one_node(write_and_send, Draft), {}, "yes")


check.predict("draft", "B", run=draft_story)

# %% [markdown] tags=["explain"]
# **Fact.** The person approved draft 1, and draft 2 was sent. The question and the work must not be made in one node
# if the work can differ.
#
# This is fix A again: make the draft in the node before.

# %%
check.show("draft", lambda: draft_story().ledger)

# %% [markdown]
# ## Predict: a loop around the question


# %%
class Age(TypedDict):
    age: int


def loop_story():
    def ask_age(state):
        answer = interrupt("How old are you?")
        while not answer.isdigit():
            answer = interrupt(f"{answer} is no number. How old are you?")
        return {"age": int(answer)}

    return story(one_node(ask_age, Age), {}, "old", "very", "90")


check.predict("loop", "C", run=loop_story)

# %%
check.show("loop", loop_story)

# %% [markdown]
# ## Predict: a try around the question
#
# It looks careful. Many tools are written so.


# %%
def caught_story():
    def ask(state):
        try:
            return {"log": [f"answer: {interrupt('Sure?')}"]}
        except Exception as error:
            return {"log": [f"failed: {type(error).__name__}"]}

    return story(one_node(ask), {"log": []})


check.predict("caught", "B", run=caught_story)

# %% [markdown] tags=["explain"]
# **Fact.** `except Exception` catches the pause. Let LangGraph's own signals through first: `except GraphBubbleUp:
# raise`.


# %%
def let_through():
    def ask(state):
        try:
            return {"log": [f"answer: {interrupt('Sure?')}"]}
        except GraphBubbleUp:
            raise
        except Exception as error:
            return {"log": [f"failed: {type(error).__name__}"]}

    return story(one_node(ask), {"log": []}, "yes")


check.show("caught", lambda: print(caught_story().ledger, let_through().ledger, sep="\n\n"))

# %% [markdown]
# ## Predict: the state, changed in place


# %%
class Note(TypedDict):
    note: str
    answer: str


def mutated_story():
    def review(state):
        state["note"] = "risk: low"
        return {"answer": interrupt("Review it")}

    return story(one_node(review, Note), {"note": ""})


check.predict("mutated", "C", run=mutated_story)

# %% [markdown] tags=["explain"]
# **Fact.** A change of the state object is no write. `task.writes` never sees it.

# %%
check.show("mutated", lambda: mutated_story().ledger)

# %% [markdown]
# ## Put it in order
#
# `write` makes a draft. `send` asks about it and sends it. One piece does not belong.

# %%
check.order("approved", "B A D E")

# %% [markdown]
# ## Your turn
#
# Send one e-mail, then ask whether it was right. `build` gets the function that sends it. The state is
# `{"log": [...]}`; the answer must be in it at the end.


# %% tags=["stub"]
def build(saver, send_mail):
    raise NotImplementedError  # a StateGraph(Log) with your nodes, compiled with checkpointer=saver


check.exercise("one_mail", build)


# %% tags=["solution"]
def build(saver, send_mail):
    def mail(state):
        send_mail()
        return {"log": ["sent"]}

    def ask(state):
        return {"log": [interrupt("Was that right?")]}

    graph = StateGraph(Log)
    graph.add_node("mail", mail)
    graph.add_node("ask", ask)
    graph.add_edge(START, "mail")
    graph.add_edge("mail", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


check.exercise("one_mail", build)

# %% [markdown]
# ## Another graph
#
# `charge` charges first, then asks. After the answer it fails twice, and a RetryPolicy tries again.


# %%
def charge_story():
    charges, failures = [], count(1)

    def charge(state):
        charges.append(40)
        answer = interrupt("Charge 40 EUR?")
        if next(failures) <= 2:
            raise ConnectionError("the bank did not answer")
        return {"log": [answer]}

    retry = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False, retry_on=ConnectionError)
    trace = story(one_node(charge, retry_policy=retry), {"log": []}, "yes")
    return {"charges": len(charges), "trace": trace}


check.predict("transfer", "C", run=charge_story)

# %% [markdown]
# ## In short

# %%
check.recap()
