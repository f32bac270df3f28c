# %% [markdown]
# # 02 The broken node and the phantom
#
# A graph drafts an answer. Before a person reviews it, a node adds a payload to the message: a note on the risk.
# Then it asks.
#
# After the pause, the payload is not in the state. Nobody raised an error. Where did it go?
#
# You will predict first, then look. You need about 25 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson, send_hook

check = open_lesson("02")
check

# %% [markdown]
# ## The graph
#
# Two nodes. `draft` writes a message. `review` adds the payload to it, then asks.
#
# `send` puts a write into the `task.writes` of the running task at once, in the middle of the node. `push_message` of
# LangGraph does it the same way. The message keeps its id, so it takes the place of the draft.

# %%
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt


def draft(state):
    return {"messages": [AIMessage("We refund 40 EUR.", id="a1")]}


def with_payload(message):
    return AIMessage(message.content, id=message.id, additional_kwargs={"hitl_payload": "risk: low"})


def review(state):
    send = send_hook()
    send([("messages", [with_payload(state["messages"][-1])])])
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build_graph(saver, review=review):
    graph = StateGraph(MessagesState)
    graph.add_node("draft", draft)
    graph.add_node("review", review)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


# %% [markdown]
# ## Run it to the pause
#
# `pause` makes a fresh graph and runs it until it stops for a person. `hitl_lab.record()` keeps a trace of it. The
# graph does not notice.

# %%
QUESTION = {"messages": [HumanMessage("My parcel is broken.", id="h1")]}
CONFIG = {"configurable": {"thread_id": "1"}}
MODES = ("sync", "async", "exit")


def pause(durability="sync"):
    graph = build_graph(InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG, durability=durability)
    return trace


# %% [markdown]
# ## Predict: what became of the write?
#
# Choose, then commit. The graph runs only after that.

# %%
check.predict("saved", "C", run=pause)

# %% [markdown]
# Now step through the run. Look at `commit`: what was in `task.writes`, and what was handed on?

# %%
check.show("saved", pause)

# %% [markdown] tags=["explain"]
# **Fact.** `task.writes` held the payload. `commit` handed only `__interrupt__` to `put_writes`. The write is
# **dropped**.
#
# The ledger says so on one line, with the line of the installed LangGraph that did it.

# %%
check.show("saved", lambda: pause().ledger)

# %% [markdown]
# ## Predict: returned or saved?
#
# `invoke()` gives a state back, also at a pause. `get_state()` reads what is saved.

# %%
check.predict("returned", "C", run=pause)


# %%
def returned_and_saved():
    graph = build_graph(InMemorySaver())
    returned = graph.invoke(QUESTION, CONFIG)
    saved = graph.get_state(CONFIG).values
    for name, values in (("returned", returned), ("saved", saved)):
        print(f"{name:8}", values["messages"][-1].additional_kwargs)


check.show("returned", returned_and_saved)

# %% [markdown] tags=["explain"]
# **Fact.** At the pause, `invoke()` returns a value that no checkpoint holds. We call it a **phantom**.
#
# It is the reason why people look in the wrong place: they print what came back, and all seems well.

# %%
check.show("returned", lambda: pause().ledger[-1].label)

# %% [markdown]
# ## Predict: an empty result
#
# A stream in the mode "tasks" tells what each task did.


# %%
def results():
    graph = build_graph(InMemorySaver())
    for chunk in graph.stream(QUESTION, CONFIG, stream_mode="tasks"):
        if "result" in chunk:
            print(chunk["name"], "result:", chunk["result"])


results()

# %%
check.predict("result", "B", run=pause)

# %% [markdown]
# ## Predict: another durability mode
#
# The mode says when LangGraph saves: before the next step ("sync"), beside it ("async"), or at the end ("exit").

# %%
check.predict("durability", "D", run=lambda: {mode: pause(mode) for mode in MODES})

# %% [markdown] tags=["explain"]
# **Fact.** The write is dropped in every durability mode. The mode comes later than `commit`.

# %%
check.show("durability", lambda: {mode: pause(mode).ledger[-1].label for mode in MODES})

# %% [markdown]
# ## Predict: the answer comes
#
# Now the person answers. The whole story is one trace: the run to the pause, and the run after the answer.


# %%
def whole_story():
    graph = build_graph(InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG)
        graph.invoke(Command(resume="approved"), CONFIG)
    return trace


check.predict("resumed", "B", run=whole_story)

# %%
check.show("resumed", whole_story)

# %% [markdown] tags=["explain"]
# **Fact.** The node ran again from its first line, and made the write again. So the ledger says of the first one:
# `rewritten by run 2`.
#
# The payload is there in the end. But while the person decided, it was not: whoever read the state then did not see it.

# %%
check.show("resumed", lambda: whole_story().ledger)

# %% [markdown]
# ## Put it in order
#
# Here are the pieces of a graph that pauses. One piece does not belong. Put the others in order.

# %%
check.order("wire", "E A D B")

# %% [markdown]
# ## Your turn
#
# Change `review` so that none of its writes is dropped. It must still ask, and the payload must be in the state after
# the answer. (The person will not see the payload yet. The next three notebooks mend that.)


# %% tags=["stub"]
def my_review(state):
    raise NotImplementedError  # write the node here, in place of this line


def build(saver):
    return build_graph(saver, my_review)


check.exercise("no_drop", build)


# %% tags=["solution"]
def my_review(state):
    answer = interrupt("Review the draft")
    return {"messages": [with_payload(state["messages"][-1]), HumanMessage(answer, id="h2")]}


def build(saver):
    return build_graph(saver, my_review)


check.exercise("no_drop", build)

# %% [markdown]
# ## Another graph
#
# Does it hold elsewhere? Here are other channels: a list that grows, and a plain note. `pick` ends before `pack` asks.

# %%
import operator
from typing import Annotated, TypedDict


class Parcel(TypedDict):
    items: Annotated[list[str], operator.add]
    note: str


def pick(state):
    return {"items": ["tea"], "note": "picked"}


def pack(state):
    send = send_hook()
    send([("items", ["ribbon"]), ("note", "packed")])
    return {"note": interrupt("Send it?")}


def parcel():
    graph = StateGraph(Parcel)
    graph.add_node("pick", pick)
    graph.add_node("pack", pack)
    graph.add_edge(START, "pick")
    graph.add_edge("pick", "pack")
    graph.add_edge("pack", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace:
        compiled.invoke({"items": []}, CONFIG)
    return trace


check.predict("transfer", "D", run=parcel)

# %% [markdown]
# ## In short

# %%
check.recap()
