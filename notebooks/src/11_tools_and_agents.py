# %% [markdown]
# # 11 Tools and agents
#
# Most people meet a pause here: a model calls a tool, and a person must agree first.
#
# The model in this notebook is a script. It needs no key and no network, and says the same each time. You need about
# 25 minutes.

# %%
import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("11")
check

# %%
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, after_model
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

from hitl_lab.scenarios.agent_approval import ScriptedModel

CONFIG = {"configurable": {"thread_id": "1"}}


def story(graph, first, *answers):
    with hitl_lab.record() as trace:
        graph.invoke(first, CONFIG)
        for answer in answers:
            graph.invoke(Command(resume=answer), CONFIG)
    return trace


# %% [markdown]
# ## Two tools in one message
#
# `book` books at once. `pay` asks a person first. `ran` keeps a list of what really ran.


# %%
def two_tools(each_in_a_task=False):
    ran = []

    @tool
    def book(number: int) -> str:
        """Book a table, at once."""
        ran.append("book")
        return f"booked {number}"

    @tool
    def pay(number: int) -> str:
        """Pay, after a person has agreed."""
        ran.append("pay")
        return f"paid {number}: {interrupt(f'Pay {number}?')}"

    def model(state):
        calls = [
            {"name": name, "args": {"number": n}, "id": f"call{n}", "type": "tool_call"}
            for n, name in enumerate(("book", "pay"), 1)
        ]
        return {"messages": [AIMessage("", id="a1", tool_calls=calls)]}

    def each_call(state):
        return [Send("tools", [call]) for call in state["messages"][-1].tool_calls]

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([book, pay]))
    graph.add_edge(START, "model")
    if each_in_a_task:
        graph.add_conditional_edges("model", each_call, ["tools"])
    else:
        graph.add_edge("model", "tools")
    graph.add_edge("tools", END)
    first = {"messages": [HumanMessage("A table, please.", id="h1")]}
    trace = story(graph.compile(checkpointer=InMemorySaver()), first, "yes")
    return {"ran": sorted(ran), "trace": trace}


# %% [markdown]
# ## Predict: the tool that does not ask

# %%
check.predict("tool_node", "B", run=two_tools)

# %%
check.show("tool_node", lambda: two_tools()["trace"].ledger)

# %% [markdown] tags=["explain"]
# **Fact.** One ToolNode runs all calls of a message in one task. If one of them asks, all of them run again.

# %%
check.show("tool_node", lambda: print("ran:", two_tools()["ran"]))

# %% [markdown]
# ## Predict: a task for each call
#
# `Send` makes a task of each call. It is the same ToolNode.

# %%
check.predict("sent", "A", run=lambda: two_tools(each_in_a_task=True))

# %% [markdown] tags=["explain"]
# **Fact.** With a task for each call, the finished tool keeps its pending write and does not run again.

# %%
check.show("sent", lambda: two_tools(each_in_a_task=True)["trace"])

# %% [markdown]
# ## An agent with a person in the loop
#
# `HumanInTheLoopMiddleware` puts a node between the model and the tools. It asks there.


# %%
@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"mail sent to {to}"


APPROVAL = HumanInTheLoopMiddleware(interrupt_on={"send_mail": True})
ASK = {"messages": [HumanMessage("Write to Ada.", id="h1")]}
NO = {"decisions": [{"type": "reject", "message": "No."}]}
YES = {"decisions": [{"type": "approve"}]}


def agent(decision, middleware=(APPROVAL,)):
    graph = create_agent(ScriptedModel(), [send_mail], middleware=middleware, checkpointer=InMemorySaver())
    return story(graph, ASK, decision)


# %% [markdown]
# ## Predict: a rejected mail

# %%
check.predict("rejected", "B", run=lambda: agent(NO))

# %%
check.show("rejected", lambda: agent(NO))

# %% [markdown]
# ## Predict: calls of the model
#
# A call of a model costs money, and it may say something else the second time.

# %%
check.predict("model", "A", run=lambda: agent(YES))

# %% [markdown] tags=["explain"]
# **Fact.** The middleware asks in a node of its own. After the answer that node runs again; the model does not.
#
# It is fix A, built in: one node writes, the next one asks.

# %%
check.show("model", lambda: agent(YES).ledger)

# %% [markdown]
# ## Put it in order
#
# One piece does not belong.

# %%
check.order("split", "B D E A")

# %% [markdown]
# ## Your turn
#
# Write the tool `pay`. It asks a person, then calls `bank(amount)` and gives its text back. The bank may raise a
# ConnectionError: then the tool says `"the bank failed"`. The pause must still work.


# %% tags=["stub"]
def make_pay(bank):
    @tool
    def pay(amount: int) -> str:
        """Pay, after a person has agreed."""
        raise NotImplementedError

    return pay


check.exercise("pay", make_pay)


# %% tags=["solution"]
def make_pay(bank):
    @tool
    def pay(amount: int) -> str:
        """Pay, after a person has agreed."""
        interrupt(f"Pay {amount}?")
        try:
            return bank(amount)
        except ConnectionError:
            return "the bank failed"

    return pay


check.exercise("pay", make_pay)

# %% [markdown]
# ## Another graph
#
# Two middlewares. `jump` is listed first. It sees an open tool call and jumps to the tools.


# %%
@after_model(can_jump_to=["tools"])
def jump(state, runtime):
    last = state["messages"][-1]
    wants_tool = isinstance(last, ToolMessage) or bool(getattr(last, "tool_calls", None))
    return {"jump_to": "tools"} if wants_tool else None


check.predict("transfer", "B", run=lambda: agent(NO, middleware=(jump, APPROVAL)))

# %% [markdown]
# ## In short

# %%
check.recap()
