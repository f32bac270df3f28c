"""A node counts the checkpoints that are saved while the run is under way.

"sync" has saved all three checkpoints that came before this node, "async" perhaps not yet the last, "exit" none. Once
invoke() has returned, the pause is saved in all three modes.
"""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def build(saver, use_async=False):
    def first(state):
        return {"log": ["first"]}

    def look(state):
        return {"log": [f"saved by now: {len(list(saver.list(None)))}"]}

    async def alook(state):
        return {"log": [f"saved by now: {len([found async for found in saver.alist(None)])}"]}

    def ask(state):
        return {"log": [f"answer: {interrupt('Ready?')}"]}

    graph = StateGraph(State)
    graph.add_node("first", first)
    graph.add_node("look", alook if use_async else look)
    graph.add_node("ask", ask)
    graph.add_edge(START, "first")
    graph.add_edge("first", "look")
    graph.add_edge("look", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def abuild(saver):
    return build(saver, use_async=True)


def mode(durability):
    options = {"durability": durability}
    return Scenario(
        name=f"durability_{durability}",
        title=f'What is saved while a run with durability "{durability}" is under way',
        build=build,
        abuild=abuild,
        story=(Invoke({"log": []}, options=options), Resume("yes", options=options)),
        topic="durability",
        cases=("A37", "A39"),
        racy=durability == "async",
    )


SCENARIOS = (mode("sync"), mode("async"), mode("exit"))
