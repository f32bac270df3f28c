"""Fix B: the graph stops before `review` (interrupt_before), so `attach` is applied and saved before the pause.

Nobody calls interrupt(): there is no question, no interrupt id and nothing that takes an answer, so what becomes of the
answer depends on how the graph goes on.
"""

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from ._scenario import Continue, Invoke, Resume, Scenario, Update
from .broken_node import QUESTION, adraft, draft
from .fix_a_split_node import aattach, attach
from .fix_a_split_node import areview as aask
from .fix_a_split_node import review as ask


def review(state):
    return {"messages": [AIMessage(f"The last word is: {state['messages'][-1].content}", id="a2")]}


def build(saver, draft=draft, attach=attach, review=review):
    graph = StateGraph(MessagesState)
    graph.add_node("draft", draft)
    graph.add_node("attach", attach)
    graph.add_node("review", review)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "attach")
    graph.add_edge("attach", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver, interrupt_before=["review"])


async def areview(state):
    return review(state)


def abuild(saver):
    return build(saver, adraft, aattach, areview)


# The same stop in front of a node that does ask: two pauses, and the first takes no answer.
def build_asking(saver):
    return build(saver, review=ask)


def abuild_asking(saver):
    return build(saver, adraft, aattach, aask)


ANSWER = {"messages": [HumanMessage("approved", id="h2")]}

SCENARIOS = (
    Scenario(
        name="fix_b_interrupt_before",
        title="Fix B: stop before the node, put the answer in by update_state, go on with None",
        build=build,
        abuild=abuild,
        story=(Invoke(QUESTION), Update(ANSWER), Continue()),
        topic="lessons",
        cases=("A01",),
    ),
    Scenario(
        name="fix_b_answer_lost",
        title="Fix B, but resumed with an answer: no interrupt() takes it, it is lost in silence",
        build=build,
        abuild=abuild,
        story=(Invoke(QUESTION), Resume("approved")),
        topic="lessons",
        cases=("A01",),
    ),
    Scenario(
        name="fix_b_question_then_answer",
        title="Fix B before a node that asks: None brings the question, then the answer",
        build=build_asking,
        abuild=abuild_asking,
        story=(Invoke(QUESTION), Continue(), Resume("approved")),
        topic="lessons",
        cases=("A01",),
    ),
    Scenario(
        name="fix_b_answer_before_question",
        title="Fix B before a node that asks, answered at once: nobody ever saw the question",
        build=build_asking,
        abuild=abuild_asking,
        story=(Invoke(QUESTION), Resume("approved")),
        topic="lessons",
        cases=("A01",),
    ),
)
