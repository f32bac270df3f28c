# %% [markdown]
# # 08 The node runs again
#
# After the answer, the node that asked runs again from its first line. You have seen it in notebook 02.
#
# Its writes do no harm then: what it wrote before the question had been dropped. But a node does more than write. It
# sends mail, calls models, catches errors. What of that? You need about 25 minutes.

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
#
# `outbox` stands for the mail server. `notify` sends an e-mail, then asks.


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
# **Fact.** Whatever a node does before `interrupt()`, it does again after the answer. Only its writes are held back.
#
# An e-mail is no write to LangGraph. Nor is a payment, or a row in a database. We call these **side effects**.

# %%
check.show("mail", lambda: print("e-mails:", mail_story()["mails"]))

# %% [markdown]
# ## Predict: the draft that was approved
#
# A model writes a draft, and it writes another one each time. Here a counter stands for the model.


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
# **Fact.** The person approved draft 1, and draft 2 was sent.
#
# If the work can come out differently, do not ask about it in the same node. Make the draft in the node before. This is
# fix A again.

# %%
check.show("draft", lambda: draft_story().ledger)

# %% [markdown]
# ## Predict: a key for the payment
#
# Many payment services take a key with each payment. A key they have seen before is not paid again. Here `pay` does it
# that way. The node makes a key, pays, then asks.

# %%
from uuid import uuid4


class Order(TypedDict):
    order: str
    answer: str


def new_key(state):
    return str(uuid4())


def key_from_state(state):
    return state["order"]


def key_story(make_key):
    paid = {}

    def pay(key, amount):
        paid.setdefault(key, amount)

    def charge(state):
        pay(make_key(state), 40)
        return {"answer": interrupt("Was that right?")}

    trace = story(one_node(charge, Order), {"order": "order 7"}, "yes")
    return {"payments": len(paid), "trace": trace}


check.predict("key", "B", run=lambda: key_story(new_key))

# %% [markdown] tags=["explain"]
# **Fact.** A key helps only if the second run has the same one. Take it from the state.
#
# Then the second call changes nothing. Such a call is **idempotent**: calling it twice is the same as calling it once.


# %%
def both_keys():
    print("payments with a new key in each run:", key_story(new_key)["payments"])
    print("payments with a key from the state: ", key_story(key_from_state)["payments"])


check.show("key", both_keys)

# %% [markdown]
# ## Predict: a loop around the question
#
# `ask_age` asks until it gets a number.


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

# %% [markdown] tags=["explain"]
# **Fact.** A node that asks N questions runs N + 1 times. In each run, the first `interrupt()` gets the first answer,
# the second gets the second, and so on.
#
# So the questions must come in the same order each time. Here is what each call of `interrupt()` did.


# %%
def calls():
    for action in loop_story().story.actions:
        asked = [e for e in action.events if e.kind == "interrupt_called"]
        print(action.label, ["gets its answer" if e.answered else "stops here" for e in asked])


check.show("loop", calls)

# %% [markdown]
# ## Predict: a try around the question
#
# The node catches every error. That looks careful, and many tools are written like this.


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
# **Fact.** A pause travels as an exception, so `except Exception` catches it.
#
# Let LangGraph's own signals through first: `except GraphBubbleUp: raise`. The pause is one of them. Here are both
# ledgers: the pause caught, and the pause let through.


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
#
# `review` does not return its note. It puts the note into the state that it was given.


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
# **Fact.** A change of the state object is no write. It never enters `task.writes`. What becomes of it is undefined.

# %%
check.show("mutated", lambda: mutated_story().ledger)

# %% [markdown]
# ## Put it in order
#
# `write` makes a draft. `send` asks about the draft in the state, then sends it. One piece does not belong.

# %%
check.order("approved", "B A D E")

# %% [markdown]
# ## Your turn
#
# Build a graph that sends one e-mail, and after that asks the person whether it was right. `build` is given
# `send_mail`: call `send_mail()` to send the e-mail. The state is `Log`. At the end, the answer must stand in `log`.


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
# `charge` charges first, then asks. After the answer the bank does not respond, two times. A `RetryPolicy` lets
# LangGraph try the node again when it raises an error.


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
