# %% [markdown]
# # 02 The broken node and the phantom
#
# A graph drafts an answer for a customer. A node adds a **payload** to the draft: a note on the risk. The person who
# reviews the draft needs it. So the node writes the payload first, and then asks.
#
# This is code that people really wrote. It goes wrong, and there is no error. What goes wrong, and where?
#
# You will predict first, then look. You need about 30 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson, send_hook

check = open_lesson("02")
check

# %% [markdown]
# ## The graph
#
# There are two nodes. `draft` writes a message. `review` adds the payload to it, then asks.
#
# A node usually writes by what it returns. With `send` it writes earlier: `send` puts a write into the `task.writes` of
# the running task at once, in the middle of the node. LangGraph's `push_message` does it the same way.
#
# The message with the payload has the same id as the draft. So it will take the place of the draft.

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
# `pause` makes a fresh graph and runs it until it stops for a person. It gives back the trace of the run.

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
# `review` has written, and has asked. Now the graph is paused.

# %%
check.predict("saved", "C", run=pause)

# %% [markdown]
# ## Predict: returned or saved?
#
# `invoke()` returns a state, also at a pause. `get_state()` reads what is saved.

# %%
check.predict("returned", "C", run=pause)

# %% [markdown] tags=["explain"]
# **Fact.** At the pause, `invoke()` returns a value that no checkpoint holds. We call it a **phantom**.
#
# This is why people look in the wrong place. They print what came back, and all seems well.


# %%
def returned_and_saved():
    graph = build_graph(InMemorySaver())
    returned = graph.invoke(QUESTION, CONFIG)
    saved = graph.get_state(CONFIG).values
    for name, values in (("returned", returned), ("saved", saved)):
        print(f"{name:8}", values["messages"][-1].additional_kwargs)


check.show("returned", returned_and_saved)

# %% [markdown]
# ## Predict: an empty result
#
# Some people do not trust what comes back. They look at a stream in the mode "tasks": it reports the result of each
# task.


# %%
def results():
    graph = build_graph(InMemorySaver())
    for chunk in graph.stream(QUESTION, CONFIG, stream_mode="tasks"):
        if "result" in chunk:
            texts = {channel: [message.content for message in found] for channel, found in chunk["result"].items()}
            print(chunk["name"], "result:", texts)


results()

# %%
check.predict("result", "B", run=pause)

# %% [markdown]
# ## See it happen
#
# Now step through the run. **next dropped write** brings you to the place. What is in `task.writes` there? What does
# `commit` hand on?

# %%
check.show("result", pause)

# %% [markdown] tags=["explain"]
# **Fact.** `task.writes` held the payload. `commit` handed on only `__interrupt__`, which is the question. The write is
# **dropped**.
#
# The ledger says it in one line. Under it is the line of the installed LangGraph that did it.

# %%
check.show("result", lambda: pause().ledger)

# %% [markdown]
# ## Predict: another durability mode
#
# You can tell LangGraph when to save: before the next superstep begins ("sync"), while it runs ("async"), or at the end
# of the run ("exit"). This is the durability mode. Until now it was "sync".

# %%
check.predict("durability", "D", run=lambda: {mode: pause(mode) for mode in MODES})

# %% [markdown] tags=["explain"]
# **Fact.** The write is dropped in every durability mode. The mode is about saving, and `commit` comes before that.

# %%
check.show("durability", lambda: {mode: pause(mode).ledger[-1].label for mode in MODES})

# %% [markdown]
# ## Predict: the answer comes
#
# Now the person answers. `whole_story` records both runs in one trace: the run to the pause, and the run after the
# answer.


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
# **Fact.** The node ran again from its first line, and made the write again. So the ledger says of the first write:
# `rewritten by run 2`.
#
# In the end the payload is there. But while the person decided, it was not. Whoever read the state then did not see it.

# %%
check.show("resumed", lambda: whole_story().ledger)

# %% [markdown]
# ## Put it in order
#
# Here are the pieces of a graph that pauses. One of them does not belong. Put the others in order.

# %%
check.order("wire", "E A D B")

# %% [markdown]
# ## Your turn
#
# Write `my_review`. It does what `review` does, but none of its writes is dropped. It must still ask, and after the
# answer the payload must be in the state. Use `with_payload` from above.
#
# The person does not see the payload yet when they decide. The next three notebooks mend that.


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
# Is it the same with other channels? Here are a list that grows, and a plain note. `pick` ends before `pack` asks.

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
