"""A model's message calls two tools; one of them asks a person. The tools run in one ToolNode, or in a task each.

In one ToolNode both are one task: the answer runs the plain tool again, and of two tools that ask only one question
comes out at a time. Sent to a task each by Send, the finished tool does not run again.
"""

import operator
from functools import partial
from typing import Annotated

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

from ._scenario import Invoke, Resume, Scenario, as_async


class State(MessagesState):
    log: Annotated[list[str], operator.add]


def call(name, number):
    return {"name": name, "args": {"number": number}, "id": f"call{number}", "type": "tool_call"}


def build(saver, calls, split=False, use_async=False, **tool_node_options):
    from langgraph.prebuilt import ToolNode

    runs = []

    def book(number: int) -> str:
        """Book a table, at once."""
        runs.append("book")
        return f"booked {number}"

    def pay(number: int) -> str:
        """Pay, after a person has agreed."""
        runs.append("pay")
        return f"paid {number}: {interrupt(f'Pay {number}?')}"

    # an async run would put sync tools into a thread pool
    book, pay = (tool(as_async(made) if use_async else made) for made in (book, pay))

    def model(state):
        message = AIMessage("", id="a1", tool_calls=[call(name, n) for n, name in enumerate(calls, 1)])
        return {"messages": [message]}

    def each_call(state):
        return [Send("tools", [asked]) for asked in state["messages"][-1].tool_calls]

    def count_runs(state):
        return {"log": sorted(runs)}

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([book, pay], **tool_node_options))
    graph.add_node("count_runs", count_runs)
    graph.add_edge(START, "model")
    if split:
        graph.add_conditional_edges("model", each_call, ["tools"])
    else:
        graph.add_edge("model", "tools")
    graph.add_edge("tools", "count_runs")
    graph.add_edge("count_runs", END)
    return graph.compile(checkpointer=saver)


def pass_through(request, execute):
    return execute(request)


async def apass_through(request, execute):
    return await execute(request)


def variant(name, title, calls, *answers, cases=(), only=None, **more):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, calls=calls, **more),
        abuild=partial(build, calls=calls, use_async=True, **more),
        story=(Invoke({"messages": [HumanMessage("A table, please.", id="h1")], "log": []}), *map(Resume, answers)),
        topic="tools",
        cases=cases,
        only=only,
        needs=("import langgraph.prebuilt",),
    )


SCENARIOS = (
    variant("tool_node", "A plain tool beside one that asks runs twice", ("book", "pay"), "yes", cases=("A27",)),
    variant("tools_sent", "The same tools in a task each", ("book", "pay"), "yes", split=True, cases=("A27",)),
    variant(
        "two_tools_ask",
        "Of two asking tools one question comes at a time",
        ("pay", "pay"),
        "yes",
        "no",
        cases=("A28",),
        only="async",  # sync tools run in a thread pool: which of them asks first is a matter of luck
    ),
    variant(
        "tool_wrapped",
        "wrap_tool_call and handle_tool_errors let the pause through",
        ("pay",),
        "yes",
        wrap_tool_call=pass_through,
        awrap_tool_call=apass_through,
        handle_tool_errors=True,
        cases=("A29",),
    ),
)
