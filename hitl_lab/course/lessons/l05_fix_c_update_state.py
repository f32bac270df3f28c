"""Notebook 05: update_state brings the payload in while the node is paused, and wipes what was pending there."""

import operator
from typing import Annotated, TypedDict

from hitl_lab.course.attempt import act, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios.broken_node import QUESTION, with_payload
from hitl_lab.scenarios.fix_c_update_state import build

UPDATE = "update 1"
PAYLOAD = "hitl_payload"


def questions(trace):
    """How many questions get_state() shows before and after the update."""
    return len(m.read(trace).interrupts), len(m.read(trace, UPDATE).interrupts)


def end(trace, run="run 2"):
    """What the story ends with: is the payload there, and the answer."""
    values = m.saved(trace, run)
    return m.has(values, PAYLOAD), m.has(values, "approved")


def told(trace):
    """What happened, with the fate of each answer."""
    return [*m.told(trace), *m.answer_lines(trace)]


def sibling(trace):
    """The fate of what the finished sibling wrote, and how often it ran."""
    return m.fate(trace, "lookup"), m.starts(trace, "lookup")


PREDICTIONS = (
    Prediction(
        name="question",
        question="`review` is paused and asks. You call update_state. Does get_state() still show the question?",
        choices=(
            Choice("No, it is gone.", (1, 0)),
            Choice("Yes: the graph is still paused at `review`.", (1, 1), "update_keeps_question"),
            Choice("Yes, twice: once for each checkpoint.", (1, 2)),
        ),
        measure=questions,
        evidence=lambda trace: [
            f"questions before the update: {questions(trace)[0]}, after it: {questions(trace)[1]}",
            f"next before: {', '.join(m.read(trace).next)}; after: {', '.join(m.read(trace, UPDATE).next)}",
        ],
        why={
            (1, 0): "A question is a pending write of the checkpoint at which the node paused. update_state made a new "
            "checkpoint, and that begins without pending writes. `review` is still next: it will ask again."
        },
    ),
    Prediction(
        name="answer",
        question='After the update you call Command(resume="approved"). What is in the state at the end?',
        choices=(
            Choice(
                "Only the payload: the answer had no question, so it is lost.", (True, False), "update_keeps_question"
            ),
            Choice("Only the answer: the node ran again, and wrote over the payload.", (False, True)),
            Choice("The payload and the answer.", (True, True)),
        ),
        measure=end,
        evidence=told,
        why={
            (
                True,
                True,
            ): "`review` runs again from its top and calls interrupt(). The answer is there, so it takes it. "
            "Fix C works: with one paused node, and as_node left alone."
        },
    ),
    Prediction(
        name="as_node",
        question='The same, but update_state(..., as_node="review"). What is in the state at the end?',
        choices=(
            Choice("The payload and the answer.", (True, True), "as_paused_node_is_right"),
            Choice("Only the payload: the answer is lost.", (True, False)),
            Choice("Nothing new: the update is refused.", (False, False)),
        ),
        measure=end,
        evidence=told,
        why={
            (True, False): "as_node says whose result this is. `review` has its result now, so it is done and is "
            "skipped. Nobody calls interrupt(), and nobody takes the answer."
        },
    ),
    Prediction(
        name="sibling",
        question="`lookup` has finished beside the paused `ask`. What does update_state do to its pending write?",
        choices=(
            Choice("Nothing: it stays, and is applied after the answer.", ("applied", 1), "update_keeps_question"),
            Choice("It discards it, and `lookup` does not run again.", ("lost", 1)),
            Choice("It discards it, and `lookup` runs again.", ("discarded", 2)),
        ),
        measure=sibling,
        evidence=lambda trace: [*m.counts(trace, "lookup", "ask"), *m.told(trace)],
        why={
            (
                "discarded",
                2,
            ): "The new checkpoint has none of the pending writes, not the question and not the write of "
            "`lookup`. Neither node counts as finished, so both run again."
        },
    ),
    Prediction(
        name="transfer",
        question="`ask` is paused in a subgraph, after `prepare`. You update the parent graph, then answer. "
        "How often does `prepare` run in all?",
        choices=(
            Choice("Once: the subgraph goes on where it was.", 1),
            Choice("Twice: the subgraph starts from its first node.", 2),
            Choice("Three times: for the first run, the update and the answer.", 3),
        ),
        measure=lambda trace: m.starts(trace, "prepare"),
        evidence=lambda trace: m.counts(trace, "prepare", "ask"),
        why={
            2: "For the parent, the subgraph is one task, and its pause belongs to the old checkpoint. From the new one "
            "the task starts from its beginning."
        },
    ),
)


def final(attempt):
    """Payload and answer are in the state, and the run is done."""
    text = [message.content for message in attempt.final["messages"]]
    payload = any(PAYLOAD in message.additional_kwargs for message in attempt.final["messages"])
    return not attempt.paused[-1] and "approved" in text and payload


ORDER = Ordering(
    name="go_on",
    task="`review` is paused. Bring the payload into the state, then answer.",
    head="def go_on(graph, config):",
    given=lambda: given(with_payload=with_payload),
    blocks=(
        'message = graph.get_state(config).values["messages"][-1]',
        'update = {"messages": [with_payload(message)]}',
        "graph.update_state(config, update)",
        'graph.invoke(Command(resume="approved"), config)',
    ),
    extra={'graph.update_state(config, update, as_node="review")': "as the paused node, it skips the node."},
    perform=lambda go_on: act(go_on, build, QUESTION),
    goals=(
        Goal("payload and answer are in the state, and the run is done", final),
        Goal("the answer was taken", lambda a: m.answered(a.trace) == ["taken"]),
    ),
    hints=(
        "Read the draft, put the payload on it, write it into the state, answer.",
        "as_node says whose result the update is. Leave it out here.",
    ),
)

HEAD = """
from langgraph.types import Command

"""


class Order(TypedDict):
    """The state of the notebook's second graph."""

    log: Annotated[list[str], operator.add]


def build_sibling(saver):
    """The notebook's second graph: `lookup` and `ask` in one superstep, then `report`."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    def lookup(state):
        return {"log": ["stock: 3"]}

    def ask(state):
        return {"log": [f"answer: {interrupt('How many?')}"]}

    def report(state):
        return {"log": [f"{len(state['log'])} lines"]}

    graph = StateGraph(Order)
    for node in (lookup, ask, report):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "lookup")
    graph.add_edge(START, "ask")
    graph.add_edge(["lookup", "ask"], "report")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=saver)


EXERCISE = Exercise(
    name="keep_sibling",
    task="`lookup` has finished, `ask` is paused. Add the note and answer 2. `lookup` must not run again, and `report` "
    "must see the note.",
    perform=lambda go_on: act(go_on, build_sibling, {"log": ["order"]}),
    goals=(
        Goal("`lookup` ran once", lambda a: m.starts(a.trace, "lookup") == 1),
        Goal("the note is in the log", lambda a: "note" in a.final["log"]),
        Goal("the answer was taken", lambda a: m.answered(a.trace) == ["taken"] and "answer: 2" in a.final["log"]),
        Goal("the run is done", lambda a: not a.paused[-1]),
        Goal("`report` saw the note", lambda a: a.final["log"][-1] == "4 lines"),
    ),
    mistakes=(
        Mistake(
            "update_keeps_question",
            lambda a: m.starts(a.trace, "lookup") > 1,
            HEAD
            + """
def go_on(graph, config):
    graph.update_state(config, {"log": ["note"]})
    graph.invoke(Command(resume="2"), config)
""",
            "update_state made a new checkpoint without the pending writes, so `lookup` ran again. There is a way to "
            "bring a note in together with the answer.",
        ),
        Mistake(
            "resume_always_answers",
            lambda a: "lost" in m.answered(a.trace),
            HEAD
            + """
def go_on(graph, config):
    graph.update_state(config, {"log": ["note"]}, as_node="lookup")
    graph.invoke(Command(resume="2"), config)
""",
        ),
        Mistake(
            "note_forgotten",
            lambda a: "note" not in a.final["log"],
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(Command(resume="2"), config)
""",
            "The answer is in, the note is not.",
        ),
        Mistake(
            "note_comes_late",
            lambda a: m.answered(a.trace) == ["taken"] and any(e.kind == "state_updated" for e in a.trace.events),
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(Command(resume="2"), config)
    graph.update_state(config, {"log": ["note"]}, as_node="report")
""",
            "The note came after the run: no node has seen it. Bring it in together with the answer.",
        ),
    ),
    hints=(
        "The pending writes stay if no new checkpoint is made while the node is paused.",
        "A Command can carry more than an answer.",
        'graph.invoke(Command(resume="2", update={"log": ["note"]}), config)',
    ),
)

LESSON = Lesson(
    name="05_fix_c_update_state",
    title="Fix C: update_state, and what it wipes",
    goals=(
        "bring a payload in while a node is paused",
        "say what an update discards",
        "choose as_node, and know when to leave it alone",
    ),
    minutes=25,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "With one paused node, update_state and then an answer keeps both.",
            lambda: end(traced("fix_c_update_state")) == (True, True),
        ),
        Fact(
            "update_state takes the question out of get_state().",
            lambda: questions(traced("fix_c_update_state")) == (1, 0),
        ),
        Fact(
            "Made as the paused node, it skips the node, and the answer is lost.",
            lambda: m.answered(traced("fix_c_as_paused_node")) == ["lost"],
        ),
        Fact(
            "It discards what finished siblings wrote; they run again.",
            lambda: sibling(traced("update_discards_sibling")) == ("discarded", 2),
        ),
        Fact(
            "Updating the parent starts a paused subgraph over.",
            lambda: m.starts(traced("subgraph_update_parent"), "prepare") == 2,
        ),
    ),
)
