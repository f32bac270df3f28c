# %% [markdown]
# # 04 Fix B: interrupt_before, and where the answer goes
#
# Fix B lets LangGraph stop the run before a node: `compile(..., interrupt_before=["review"])`. Such a stop is called a
# **breakpoint**.
#
# Then the person answers, and the run goes on. There are four ways to do it. In two of them nobody hears what the
# person said, or nobody was asked.
#
# You need about 25 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("04")
check

# %% [markdown]
# ## Two graphs
#
# Both graphs stop before `review`. `attach` writes the payload, as in fix A. The two differ in `review`:
#
# - `reads` looks at the last message, and writes what it found. It asks nothing.
# - `asks` calls `interrupt()`.

# %%
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt


def draft(state):
    return {"messages": [AIMessage("We refund 40 EUR.", id="a1")]}


def attach(state):
    message = state["messages"][-1]
    return {"messages": [AIMessage(message.content, id=message.id, additional_kwargs={"hitl_payload": "risk: low"})]}


def reads(state):
    return {"messages": [AIMessage(f"The last word is: {state['messages'][-1].content}", id="a2")]}


def asks(state):
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build_graph(review):
    graph = StateGraph(MessagesState)
    graph.add_node("draft", draft)
    graph.add_node("attach", attach)
    graph.add_node("review", review)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "attach")
    graph.add_edge("attach", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=InMemorySaver(), interrupt_before=["review"])


QUESTION = {"messages": [HumanMessage("My parcel is broken.", id="h1")]}
CONFIG = {"configurable": {"thread_id": "1"}}


def story(review, *inputs):
    """Run to the stop, then go on with each input in turn."""
    graph = build_graph(review)
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG)
        for given in inputs:
            graph.invoke(given, CONFIG)
    return trace


# %% [markdown]
# ## Predict: what is there at the stop?
#
# The run has reached the breakpoint, and `invoke()` has returned. You ask `get_state()`.

# %%
check.predict("question", "C", run=lambda: story(reads))

# %% [markdown]
# Step to the end of the run. Does it stop in `review`, or before it?

# %%
check.show("question", lambda: story(reads))

# %% [markdown] tags=["explain"]
# **Fact.** `interrupt_before` stops in `tick`, before the node begins. The last checkpoint has all that was written.
# There is no question.
#
# So fix B keeps the payload. What is left is the answer.

# %%
check.show("question", lambda: story(reads).ledger)

# %% [markdown]
# ## Predict: an answer to a node that does not ask
#
# The first way: `Command(resume=...)`, as after `interrupt()`. The node is `reads`.

# %%
check.predict("lost", "C", run=lambda: story(reads, Command(resume="approved")))

# %% [markdown] tags=["explain"]
# **Fact.** An answer is taken by `interrupt()` and by nothing else. If no node calls it, the answer is lost. There is
# no error and no warning.
#
# A trace has **findings**: what went wrong, why, and what to do. Here it is one.

# %%
check.show("lost", lambda: print(story(reads, Command(resume="approved")).findings))

# %% [markdown]
# ## Predict: an answer before the question
#
# The second way: the same command, but the node is `asks`.

# %%
check.predict("unseen", "A", run=lambda: story(asks, Command(resume="approved")))

# %% [markdown]
# ## Predict: None first
#
# The third way: `invoke(None)`. It means: go on, with no input and no answer.

# %%
check.predict("none", "B", run=lambda: story(asks, None))

# %% [markdown] tags=["explain"]
# **Fact.** With a breakpoint before a node that asks, there are two pauses: the breakpoint, then the question. `None`
# goes from the first to the second. An answer is for the second.
#
# Here are two stories under one slider. The first answers too early, the second in time.


# %%
def early_and_in_time():
    early = story(asks, Command(resume="approved"))
    in_time = story(asks, None, Command(resume="approved"))
    return hitl_lab.compare(early, in_time, titles=("too early", "in time"))


check.show("none", early_and_in_time)

# %% [markdown]
# ## Put it in order
#
# The fourth way. `reads` takes no answer, so the caller must write it into the state before `reads` runs.
# `update_state` does that. One piece does not belong.

# %%
check.order("go_on", "D B A")

# %% [markdown]
# ## Your turn
#
# Now the node is `asks`. The check runs the graph to the breakpoint. Then it calls your `go_on`, with this graph and
# its config. Go on from there: first let the question come up, then answer it with `"approved"`.


# %% tags=["stub"]
def go_on(graph, config):
    raise NotImplementedError  # two calls, in place of this line


check.exercise("ask_first", go_on)


# %% tags=["solution"]
def go_on(graph, config):
    graph.invoke(None, config)  # to the question
    graph.invoke(Command(resume="approved"), config)


check.exercise("ask_first", go_on)

# %% [markdown]
# ## Another graph
#
# A shop stops before `pay`. The caller has no input to give, and writes `invoke({})`.

# %%
import operator
from typing import Annotated, TypedDict


class Shop(TypedDict):
    log: Annotated[list[str], operator.add]


def cart(state):
    return {"log": ["cart"]}


def pay(state):
    return {"log": ["paid"]}


def empty_input():
    graph = StateGraph(Shop)
    graph.add_node("cart", cart)
    graph.add_node("pay", pay)
    graph.add_edge(START, "cart")
    graph.add_edge("cart", "pay")
    graph.add_edge("pay", END)
    shop = graph.compile(checkpointer=InMemorySaver(), interrupt_before=["pay"])
    with hitl_lab.record() as trace:
        shop.invoke({"log": []}, CONFIG)
        shop.invoke({}, CONFIG)
    return trace


check.predict("transfer", "B", run=empty_input)

# %% [markdown]
# ## In short

# %%
check.recap()
