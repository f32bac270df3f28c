"""Two tools ask in one ToolNode task; at the resume the other one comes first.

Answers go to questions by the order in which one task asks them. The person saw "Pay 2?" and said yes, but at the
resume the tool for payment 1 is first to ask, takes the yes, and pays. A task for each tool keeps them apart.
"""

import asyncio

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

from ._scenario import Invoke, Resume, Scenario


def build(saver, split=False):
    from langgraph.prebuilt import ToolNode

    second_has_asked, first_run = asyncio.Event(), [True]

    @tool
    async def pay(number: int) -> str:
        """Pay, after a person has agreed."""
        if number == 1 and first_run:
            first_run.clear()
            await second_has_asked.wait()  # a slow look-up, the first time only
        if number == 2:
            second_has_asked.set()
        return f"paid {number}: {interrupt(f'Pay {number}?')}"

    def model(state):
        calls = [{"name": "pay", "args": {"number": n}, "id": f"call{n}", "type": "tool_call"} for n in (1, 2)]
        return {"messages": [AIMessage("", id="a1", tool_calls=calls)]}

    def each_call(state):
        return [Send("tools", [asked]) for asked in state["messages"][-1].tool_calls]

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([pay]))
    graph.add_edge(START, "model")
    if split:
        graph.add_conditional_edges("model", each_call, ["tools"])
    else:
        graph.add_edge("model", "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=saver)


def build_split(saver):
    return build(saver, split=True)


def by_question(**answers):
    def by_id(snapshot):
        return {i.id: answers[i.value[:-1].replace(" ", "_").lower()] for i in snapshot.interrupts}

    return by_id


ASK = Invoke({"messages": [HumanMessage("Pay both.", id="h1")]})

SCENARIOS = (
    Scenario(
        name="crossed_answers",
        title='The yes to "Pay 2?" pays 1: answers in one task go by order',
        build=build,
        story=(ASK, Resume("yes"), Resume("no")),
        topic="tools",
        cases=("A08", "A28"),
        needs=("import langgraph.prebuilt",),
        only="async",
    ),
    Scenario(
        name="kept_apart_answers",
        title="The same tools in a task each: every answer finds its question",
        build=build_split,
        story=(ASK, Resume(by_question(pay_1="no", pay_2="yes"))),
        topic="tools",
        cases=("A28",),
        needs=("import langgraph.prebuilt",),
        only="async",
    ),
)
