# %% [markdown]
# # 05 Fix C: update_state, and what it wipes
#
# In fix C the node only asks. While it is paused, the caller writes the payload into the state with `update_state`.
# Then the caller answers.
#
# This works, but `update_state` does more than it says. You will predict what.
#
# You need about 25 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("05")
check

# %% [markdown]
# ## The graph, and the story
#
# The graph is the one you know, without the payload. `story` runs it to the pause, updates the state, and answers.
#
# `update_state` counts as if a node had written. `as_node` says which one. We leave it out at first: then LangGraph
# takes the node that wrote last.

# %%
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt


def draft(state):
    return {"messages": [AIMessage("We refund 40 EUR.", id="a1")]}


def review(state):
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build_graph():
    graph = StateGraph(MessagesState)
    graph.add_node("draft", draft)
    graph.add_node("review", review)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=InMemorySaver())


PAYLOAD = AIMessage("We refund 40 EUR.", id="a1", additional_kwargs={"hitl_payload": "risk: low"})
QUESTION = {"messages": [HumanMessage("My parcel is broken.", id="h1")]}
CONFIG = {"configurable": {"thread_id": "1"}}


def story(as_node=None, answer=True):
    """Run to the pause, update, answer: one trace."""
    graph = build_graph()
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG)
        graph.update_state(CONFIG, {"messages": [PAYLOAD]}, as_node=as_node)
        if answer:
            graph.invoke(Command(resume="approved"), CONFIG)
    return trace


# %% [markdown]
# ## Predict: the question after the update
#
# The person has not answered yet. The caller adds the payload.

# %%
check.predict("question", "A", run=lambda: story(answer=False))

# %% [markdown]
# The update is in the trace too: it is the part after run 1. Compare the checkpoint before it with the one after it.

# %%
check.show("question", lambda: story(answer=False))

# %% [markdown] tags=["explain"]
# **Fact.** A question is a pending write. It belongs to the checkpoint at which the node paused. `update_state` makes
# a new checkpoint, and no pending write goes along.
#
# Think of a page that shows `get_state().interrupts` to a person. It shows nothing now, although the graph still waits.


# %%
def questions():
    graph = build_graph()
    graph.invoke(QUESTION, CONFIG)
    print("before:", [i.value for i in graph.get_state(CONFIG).interrupts])
    graph.update_state(CONFIG, {"messages": [PAYLOAD]})
    print("after: ", [i.value for i in graph.get_state(CONFIG).interrupts], "next:", graph.get_state(CONFIG).next)


check.show("question", questions)

# %% [markdown]
# ## Predict: the answer
#
# `get_state()` shows no question any more. The caller sends the answer all the same.

# %%
check.predict("answer", "C", run=story)

# %%
check.show("answer", lambda: story().ledger)

# %% [markdown]
# ## Predict: as the paused node
#
# Now the caller says `as_node="review"`. That is the node which is paused, so it sounds right.

# %%
check.predict("as_node", "B", run=lambda: story(as_node="review"))

# %% [markdown] tags=["explain"]
# **Fact.** An update made as the paused node is that node's result. The node is skipped, and the answer is lost. There
# is no error.
#
# Leave `as_node` out, or name the node before. Here are both stories under one slider.

# %%
check.show("as_node", lambda: hitl_lab.compare(story(), story(as_node="review"), titles=("fix C", "as review")))

# %% [markdown]
# ## Predict: a finished sibling
#
# Now two nodes run in one superstep. `lookup` finishes, `ask` pauses. Nodes of one superstep are called **siblings**.
#
# `report` comes after both. It writes how many lines it saw.

# %%
import operator
from typing import Annotated, TypedDict


class Order(TypedDict):
    log: Annotated[list[str], operator.add]


def lookup(state):
    return {"log": ["stock: 3"]}


def ask(state):
    return {"log": [f"answer: {interrupt('How many?')}"]}


def report(state):
    return {"log": [f"{len(state['log'])} lines"]}


def siblings():
    graph = StateGraph(Order)
    for node in (lookup, ask, report):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "lookup")
    graph.add_edge(START, "ask")
    graph.add_edge(["lookup", "ask"], "report")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=InMemorySaver())


def update_beside_sibling():
    graph = siblings()
    with hitl_lab.record() as trace:
        graph.invoke({"log": ["order"]}, CONFIG)
        graph.update_state(CONFIG, {"log": ["note"]})
        graph.invoke(Command(resume="2"), CONFIG)
    return trace


check.predict("sibling", "C", run=update_beside_sibling)

# %% [markdown] tags=["explain"]
# **Fact.** `update_state` discards what finished siblings wrote. They run again: a mail that `lookup` sends
# would be sent twice.

# %%
check.show("sibling", lambda: update_beside_sibling().ledger)

# %% [markdown]
# ## Put it in order
#
# Here are the pieces of fix C. One of them does not belong.

# %%
check.order("go_on", "D B A E")

# %% [markdown]
# ## Your turn
#
# The check runs the graph with the siblings to its pause: `lookup` has finished, `ask` waits. Then it calls your
# `go_on`, with this graph and its config.
#
# Add `"note"` to the log, and answer `"2"`. `lookup` must **not** run again, and `report` must see the note.


# %% tags=["stub"]
def go_on(graph, config):
    raise NotImplementedError  # one or two calls, in place of this line


check.exercise("keep_sibling", go_on)


# %% tags=["solution"]
def go_on(graph, config):
    graph.invoke(Command(resume="2", update={"log": ["note"]}), config)


check.exercise("keep_sibling", go_on)

# %% [markdown]
# ## Another graph
#
# A graph can be a node of another graph: a **subgraph**. This one has two nodes, `prepare` and then `ask`, which
# pauses. The caller updates the outer graph, its **parent**, and then answers.


# %%
def prepare(state):
    return {"log": ["prepared"]}


def update_subgraph(inside=False):
    inner = StateGraph(Order)
    inner.add_node("prepare", prepare)
    inner.add_node("ask", ask)
    inner.add_edge(START, "prepare")
    inner.add_edge("prepare", "ask")
    inner.add_edge("ask", END)
    outer = StateGraph(Order)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    outer.add_edge("inner", END)
    graph = outer.compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke({"log": []}, CONFIG)
        config = graph.get_state(CONFIG, subgraphs=True).tasks[0].state.config if inside else CONFIG
        graph.update_state(config, {"log": ["note"]})
        graph.invoke(Command(resume="2"), CONFIG)
    return trace


check.predict("transfer", "B", run=update_subgraph)

# %% [markdown] tags=["explain"]
# **Fact.** The subgraph has a state of its own. If you update that state, with its own config, the subgraph goes on
# where it was. In this ledger `prepare` has written once.

# %%
check.show("transfer", lambda: update_subgraph(inside=True).ledger)

# %% [markdown]
# ## In short

# %%
check.recap()
