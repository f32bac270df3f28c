# %% [markdown]
# # 11 Tools and agents
#
# Most people meet a pause here: a model calls a tool, and a person must agree first.
#
# The models in this notebook are scripts. They need no key and no network, and say the same each time. You need about
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
# A model does not run a tool. It only asks for one: its message holds a **tool call**, a name and arguments. The
# `ToolNode` of LangGraph is the node that runs the tools.
#
# Here one message calls two tools. `book` books at once. `pay` asks a person before it pays. `ran` counts how often
# each of them was started.


# %%
def make_tools(ran):
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

    return [book, pay]


def model(state):
    calls = [
        {"name": "book", "args": {"number": 1}, "id": "call1", "type": "tool_call"},
        {"name": "pay", "args": {"number": 2}, "id": "call2", "type": "tool_call"},
    ]
    return {"messages": [AIMessage("", id="a1", tool_calls=calls)]}


def one_task(saver, tools):
    """One task runs all calls of the message."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=saver)


def two_tools(build):
    """Run it to the pause, then say yes."""
    ran = []
    graph = build(InMemorySaver(), make_tools(ran))
    trace = story(graph, {"messages": [HumanMessage("A table, please.", id="h1")]}, "yes")
    return {"ran": sorted(ran), "trace": trace}


# %% [markdown]
# ## Predict: the tool that does not ask

# %%
check.predict("tool_node", "B", run=lambda: two_tools(one_task))

# %% [markdown] tags=["explain"]
# **Fact.** Here one task runs all calls of a message. If one of them asks, all of them run again.

# %%
check.show("tool_node", lambda: print("ran:", *two_tools(one_task)["ran"]))

# %% [markdown]
# The ledger does not show the second booking. A booking is a side effect, and no write: the task wrote once, at its
# end.

# %%
check.show("tool_node", lambda: two_tools(one_task)["trace"].ledger)

# %% [markdown]
# ## Predict: a task for each call
#
# The same tools, and the same ToolNode. But a router sends each call on its own, with `Send`. So each call is a task.


# %%
def each_call(state):
    return [Send("tools", [call]) for call in state["messages"][-1].tool_calls]


def task_for_each(saver, tools):
    """A task of its own for each call of the message."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", each_call, ["tools"])
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=saver)


check.predict("sent", "A", run=lambda: two_tools(task_for_each))

# %% [markdown] tags=["explain"]
# **Fact.** With a task for each call, the write of the finished tool is pending, and the tool does not run again.

# %%
check.show("sent", lambda: two_tools(task_for_each)["trace"])

# %% [markdown]
# ## An agent with a person in the loop
#
# `create_agent` makes a graph of two nodes that go round: the model, and the tools it asked for. A **middleware** adds
# nodes to it. `HumanInTheLoopMiddleware` adds one after the model, and asks the person there.
#
# `ScriptedModel` asks for `send_mail` once. Then it says what came of it.


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

# %% [markdown]
# Step through it. Which nodes run after the answer?

# %%
check.show("rejected", lambda: agent(NO))

# %% [markdown]
# ## Predict: calls of the model
#
# A call of the model costs money, and the model may say something else the next time. The node `model` is one call.

# %%
check.predict("model", "A", run=lambda: agent(YES))

# %% [markdown] tags=["explain"]
# **Fact.** The middleware asks in a node of its own. After the answer that node runs again, and the model does not.
#
# It is fix A, built in: one node writes, the next one asks. The middleware's node started three times: after each of
# the two calls of the model, and once more for the answer.


# %%
def started():
    for run in agent(YES).story.runs:
        print(f"{run.label}:", *[e.name for e in run.events if e.kind == "task_started" and e.name != "__start__"])


check.show("model", started)

# %% [markdown]
# And the ledger of the same story. `hitl_edited_tool_calls` is a channel of the middleware's own.

# %%
check.show("model", lambda: agent(YES).ledger)

# %% [markdown]
# ## Put it in order
#
# `model`, `each_call` and the ToolNode `tools` are those from above. One piece does not belong.

# %%
check.order("split", "B D E A")

# %% [markdown]
# ## Your turn
#
# Write the tool `pay`:
#
# - It asks a person first, with `interrupt(...)`. Any answer counts as a yes.
# - Then it calls `bank(amount)`, and returns the text that it gets.
# - If the bank raises a `ConnectionError`, it returns `"the bank failed"`.
#
# The check runs your tool twice: with a bank that works, and with one that fails.


# %% tags=["stub"]
def make_pay(bank):
    @tool
    def pay(amount: int) -> str:
        """Pay, after a person has agreed."""
        raise NotImplementedError  # write the tool here, in place of this line

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
# Now two middlewares, and both add a node after the model. `jump` is listed first. When the last message has a tool
# call, or is the result of one, it sends the run to the tools. The person rejects the mail again.


# %%
@after_model(can_jump_to=["tools"])
def jump(state, runtime):
    last = state["messages"][-1]
    wants_tool = isinstance(last, ToolMessage) or bool(getattr(last, "tool_calls", None))
    return {"jump_to": "tools"} if wants_tool else None


check.predict("transfer", "B", run=lambda: agent(NO, middleware=(jump, APPROVAL)))

# %% [markdown] tags=["explain"]
# **Fact.** A no stops the node that asked, not the nodes after it. Nodes after the model run in reverse order: what is
# listed first comes last, so `jump` came after the person's no.

# %%
check.show("transfer", lambda: agent(NO, middleware=(jump, APPROVAL)).ledger)

# %% [markdown]
# ## In short

# %%
check.recap()
