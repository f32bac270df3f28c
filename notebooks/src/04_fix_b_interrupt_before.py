# %% [markdown]
# # 04 Fix B: interrupt_before, and where the answer goes
#
# Fix B lets LangGraph stop the run: `interrupt_before=["review"]`. The payload is kept.
#
# But a stop is not a question. This notebook is about the answer: four ways to go on, and in two of them the person is
# not heard. You need about 20 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("04")
check

# %% [markdown]
# ## Two graphs
#
# Both stop before `review`. In the first, `review` only reads the state. In the second, it calls `interrupt()`.

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

# %%
check.predict("question", "C", run=lambda: story(reads))

# %% [markdown]
# Step to the end of the run. Where does it stop: in `review`, or before it?

# %%
check.show("question", lambda: story(reads))

# %% [markdown] tags=["explain"]
# **Fact.** `interrupt_before` stops in `tick`, before the node begins. The last checkpoint has all that was written.
# There is no question and no interrupt id.
#
# So fix B keeps the payload. Now the answer.

# %%
check.show("question", lambda: print(story(reads).ledger))

# %% [markdown]
# ## Predict: Command(resume=...) to a node that does not ask

# %%
check.predict("lost", "C", run=lambda: story(reads, Command(resume="approved")))

# %% [markdown] tags=["explain"]
# **Fact.** An answer is taken by `interrupt()` and by nothing else. If no node calls it, the answer is lost, without an
# error and without a warning.

# %%
check.show("lost", lambda: story(reads, Command(resume="approved")).ledger)

# %% [markdown]
# ## Predict: Command(resume=...) before the question

# %%
check.predict("unseen", "A", run=lambda: story(asks, Command(resume="approved")))

# %% [markdown]
# ## Predict: None first

# %%
check.predict("none", "B", run=lambda: story(asks, None))

# %% [markdown] tags=["explain"]
# **Fact.** Before a node that asks there are two pauses: the breakpoint, then the question. `None` goes from the first
# to the second. An answer is for the second.
#
# The first story answers too early, the second one in time.

# %%
def early_and_in_time():
    early = story(asks, Command(resume="approved"))
    in_time = story(asks, None, Command(resume="approved"))
    return hitl_lab.compare(early, in_time, titles=("too early", "in time"))


check.show("none", early_and_in_time)

# %% [markdown]
# ## Put it in order
#
# For the graph whose `review` only reads, the answer must go into the state. One piece does not belong.

# %%
check.order("go_on", "D B A")

# %% [markdown]
# ## Your turn
#
# Now for the graph whose `review` asks. It stands at the breakpoint. Go on from there: first let the question be shown,
# then answer it with `"approved"`.


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
# A shop. The run stops before `pay`. The caller has no input to give, and writes `invoke({})`.

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
