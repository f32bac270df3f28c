"""Fix C: `review` only asks; while it is paused, the caller writes the payload with update_state, then resumes.

The update is a checkpoint of its own, without the question: get_state() shows no interrupt any more. Made as the
paused node itself, it counts as that node's result: the node is skipped and the answer is lost.
"""

from ._scenario import Invoke, Resume, Scenario, Update
from .broken_node import QUESTION, adraft, draft, with_payload
from .broken_node import build as build_draft_review
from .fix_a_split_node import areview, review


def build(saver):
    return build_draft_review(saver, draft, review)


def abuild(saver):
    return build_draft_review(saver, adraft, areview)


def payload(snapshot):
    return {"messages": [with_payload(snapshot.values["messages"][-1])]}


SCENARIOS = (
    Scenario(
        name="fix_c_update_state",
        title="Fix C: update_state while the node is paused, then resume",
        build=build,
        abuild=abuild,
        story=(Invoke(QUESTION), Update(payload), Resume("approved")),
        topic="lessons",
        cases=("A01", "A15"),
    ),
    Scenario(
        name="fix_c_as_previous_node",
        title="Fix C with as_node='draft': the node before the pause, which LangGraph would also infer",
        build=build,
        abuild=abuild,
        story=(Invoke(QUESTION), Update(payload, as_node="draft"), Resume("approved")),
        topic="lessons",
        cases=("A01",),
    ),
    Scenario(
        name="fix_c_as_paused_node",
        title="Fix C with as_node='review': the paused node counts as done, the answer is lost",
        build=build,
        abuild=abuild,
        story=(Invoke(QUESTION), Update(payload, as_node="review"), Resume("approved")),
        topic="lessons",
        cases=("A01", "A16"),
    ),
)
