# %% [markdown]
# # 05 Fix C: update_state, and what it wipes
#
# Fix C leaves the node alone. It only asks. While it is paused, the caller writes the payload with `update_state`, then
# answers.
#
# It works. It also makes a new checkpoint, and what was pending on the old one is not on the new one. You need about
# 20 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("05")
check

# %% [markdown]
# ## The graph, and the story

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

# %%
check.predict("question", "A", run=lambda: story(answer=False))

# %% [markdown]
# The update is a step of its own in the trace. Look at the checkpoint before it and the one after it.

# %%
check.show("question", lambda: story(answer=False))

# %% [markdown] tags=["explain"]
# **Fact.** A question is a pending write. It belongs to the checkpoint at which the node paused. `update_state` makes
# the next checkpoint, and nothing pending goes along.
#
# A page that shows `get_state().interrupts` to a person shows nothing now, although the graph still waits.


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

# %%
check.predict("answer", "C", run=story)

# %%
check.show("answer", lambda: story().ledger)

# %% [markdown]
# ## Predict: as the paused node
#
# `as_node` names the node that the update counts for. `review` is the one that is paused. It sounds right.

# %%
check.predict("as_node", "B", run=lambda: story(as_node="review"))

# %% [markdown] tags=["explain"]
# **Fact.** An update made as the paused node is that node's result. The node is skipped, and the answer is lost in
# silence.
#
# Leave `as_node` out, or name the node before. Here are both stories under one slider.

# %%
check.show("as_node", lambda: hitl_lab.compare(story(), story(as_node="review"), titles=("fix C", "as review")))

# %% [markdown]
# ## Predict: a finished sibling
#
# Now two nodes run in one superstep. `lookup` finishes. `ask` pauses.

# %%
import operator
from typing import Annotated, TypedDict


class Order(TypedDict):
    log: Annotated[list[str], operator.add]


def lookup(state):
    return {"log": ["stock: 3"]}


def ask(state):
    return {"log": [f"answer: {interrupt('How many?')}"]}


def two_nodes():
    graph = StateGraph(Order)
    for node in (lookup, ask):
        graph.add_node(node.__name__, node)
        graph.add_edge(START, node.__name__)
        graph.add_edge(node.__name__, END)
    return graph.compile(checkpointer=InMemorySaver())


def update_beside_sibling():
    graph = two_nodes()
    with hitl_lab.record() as trace:
        graph.invoke({"log": ["order"]}, CONFIG)
        graph.update_state(CONFIG, {"log": ["note"]})
        graph.invoke(Command(resume="2"), CONFIG)
    return trace


check.predict("sibling", "C", run=update_beside_sibling)

# %% [markdown] tags=["explain"]
# **Fact.** `update_state` discards what finished siblings wrote. They run again, with all they do.

# %%
check.show("sibling", lambda: update_beside_sibling().ledger)

# %% [markdown]
# ## Put it in order
#
# One piece does not belong.

# %%
check.order("go_on", "D B A E")

# %% [markdown]
# ## Your turn
#
# The graph with the sibling is paused: `lookup` has finished, `ask` waits. Add `"note"` to the log and answer `"2"`,
# so that `lookup` does **not** run again.


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
# A subgraph with two nodes: `prepare`, then `ask`, which pauses. The caller updates the parent graph, then answers.


# %%
def prepare(state):
    return {"log": ["prepared"]}


def update_parent():
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
        graph.update_state(CONFIG, {"log": ["note"]})
        graph.invoke(Command(resume="2"), CONFIG)
    return trace


check.predict("transfer", "B", run=update_parent)

# %% [markdown]
# ## In short

# %%
check.recap()
