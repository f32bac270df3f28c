"""Two nodes of one superstep ask at the same time; the answers come together, one by one, or wrongly.

Answers go by interrupt id: a map of both, or one after the other. Each resume runs every unanswered node again; an
answered one keeps its pending write. A bare answer is refused while two questions wait, None and {} only ask again.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Continue, Invoke, Resume, Scenario, Update, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def legal(state):
    return {"log": [f"legal: {interrupt('Legal?')}"]}


def sales(state):
    return {"log": [f"sales: {interrupt('Sales?')}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    for node in (legal, sales):
        graph.add_node(node.__name__, kind(node))
        graph.add_edge(START, node.__name__)
        graph.add_edge(node.__name__, END)
    return graph.compile(checkpointer=saver)


def answer(**answers):
    """The id map for these answers, by the first word of the question."""

    def by_id(snapshot):
        return {i.id: answers[i.value[:-1].lower()] for i in snapshot.interrupts if i.value[:-1].lower() in answers}

    return by_id


def variant(name, title, *story, cases=()):
    return Scenario(
        name=name,
        title=title,
        build=build,
        abuild=partial(build, kind=as_async),
        story=(Invoke({"log": []}), *story),
        topic="several questions",
        cases=cases,
    )


BOTH = Resume(answer(legal="yes", sales="no"))

SCENARIOS = (
    variant("two_tasks_ask", "Two questions answered together by an id map", BOTH),
    variant(
        "two_tasks_one_by_one",
        "Two questions answered one after the other: the unanswered node runs at each resume",
        Resume(answer(legal="yes")),
        Resume(answer(sales="no")),
        cases=("A04", "A11"),
    ),
    variant(
        "two_tasks_bare_answer",
        "A bare answer to two questions is refused, and nothing runs",
        Resume("yes"),
        BOTH,
        cases=("A10",),
    ),
    variant("two_tasks_none", "invoke(None) while two questions wait: both are asked again", Continue(), BOTH),
    variant(
        "two_tasks_empty_map", "Command(resume={}) while two questions wait: both are asked again", Resume({}), BOTH
    ),
    variant("two_tasks_unknown_id", "An id that waits nowhere is ignored in silence", Resume({"0" * 32: "yes"}), BOTH),
    variant(
        "two_tasks_answer_then_update",
        "One answered, then update_state: its pending write is discarded and it is asked again",
        Resume(answer(legal="yes")),
        Update({"log": ["note"]}, as_node="__start__"),
        Continue(),
        BOTH,
    ),
)
