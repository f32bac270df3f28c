"""A team in a subgraph whose lead asks the user. Broken: the caller catches every exception, so nobody is asked.

    hitl-lab trace examples/team.py:broken --input '{"task": "logo"}' --resume '"blue"'

HL010: interrupt() raises GraphInterrupt, an Exception; `except Exception` takes the pause for a failed team.
"""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    task: str
    sketch: str
    report: str


def sketch(state: State):
    return {"sketch": f"sketch of a {state['task']}"}


def lead(state: State):
    return {"report": f"{state['sketch']} in {interrupt('Which colour?')}"}


def _team():
    builder = StateGraph(State)
    builder.add_node("sketch", sketch)
    builder.add_node("lead", lead)
    builder.add_edge(START, "sketch")
    builder.add_edge("sketch", "lead")
    return builder.compile()


team = _team()


def call_team(state: State):
    try:
        return {"report": team.invoke({"task": state["task"]})["report"]}
    except Exception as problem:
        return {"report": f"the team failed: {type(problem).__name__}"}


def _broken():
    builder = StateGraph(State)
    builder.add_node("team", call_team)
    builder.add_edge(START, "team")
    return builder.compile()


# Fixed: the team is a node, and only what can fail is caught, in the node where it fails.


def _fixed():
    builder = StateGraph(State)
    builder.add_node("team", team)
    builder.add_edge(START, "team")
    return builder.compile()


broken = _broken()
fixed = _fixed()
