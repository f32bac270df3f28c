"""Notebook 13: one's own graph. Record it, read the findings, follow the advice, keep it found by a test."""

from hitl_lab.course.attempt import perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Prediction
from hitl_lab.findings import findings_lines
from hitl_lab.scenarios._scenario import Invoke, Resume


def lines(trace):
    """The findings of a trace, one line each."""
    return findings_lines(trace.findings).splitlines()


def lost_writes(trace):
    """How many writes a finding calls dropped or discarded."""
    return len({w for f in trace.findings.of("HL001", "HL003") for w in f.writes})


PREDICTIONS = (
    Prediction(
        name="desk",
        question="The desk looks a customer up, notes what it found, and asks. How many of its writes are lost at the pause?",
        choices=(
            Choice("None: invoke() returned them all.", 0, "returned_is_saved"),
            Choice("One: the note that `ask` sent before its question.", 1),
            Choice("Two: the note, and what `score` wrote beside it.", 2, "siblings_run_again"),
        ),
        measure=lost_writes,
        evidence=lines,
        why={
            1: "`score` had finished: its write is pending and comes back. `ask` stopped on its question, so commit handed "
            "on only that. HL001 says so, with your line and LangGraph's."
        },
    ),
    Prediction(
        name="assertion",
        question="Two tests look at the pause: one at what invoke() returned, one is assert_survives_pause. Which fails?",
        choices=(
            Choice("Both: the note is gone.", "both", "empty_result"),
            Choice("Neither: the note is there.", "neither", "returned_is_saved"),
            Choice("Only assert_survives_pause.", "assertion"),
            Choice("Only the one that looks at what was returned.", "returned"),
        ),
        measure=lambda failed: {(): "neither", ("assertion",): "assertion", ("returned",): "returned"}.get(
            failed, "both"
        ),
        evidence=lambda failed: [f"failed: {', '.join(failed) or 'none'}"],
        why={
            "assertion": "The return is made from task.writes once more: a phantom. A test that looks at it passes on a "
            "broken graph. The assertion compares it with what get_state() reads."
        },
    ),
    Prediction(
        name="advice",
        question="The note moves into a node before `ask`, as HL001 advises. What is found now?",
        choices=(
            Choice("HL001 still: the question drops the note all the same.", ("HL001",)),
            Choice("HL008: the look-up is still done twice.", ("HL008",)),
            Choice("Nothing.", ()),
        ),
        measure=lambda trace: trace.findings.codes,
        evidence=lines,
        why={
            (
                "HL008",
            ): "The write is safe. But the look-up, which costs a fee, still stands above the question: a resume "
            "runs the node from its first line. One finding at a time."
        },
    ),
    Prediction(
        name="transfer",
        question="The desk is right now. While it is paused, a colleague calls update_state(..., as_node='ask'). Then the "
        "customer's answer comes. What is found?",
        choices=(
            Choice("Nothing: an update at a pause is fix C.", ()),
            Choice("The asking node was skipped, and the answer found nothing to answer.", ("HL005", "HL016")),
            Choice("The answer was given to another question.", ("HL009",)),
        ),
        measure=lambda trace: trace.findings.codes,
        evidence=lines,
        why={
            (
                "HL005",
                "HL016",
            ): "An update as the paused node counts as its result. The node is done without an answer, and "
            "the run is over when the answer comes."
        },
    ),
)


def perform_desk(build):
    """Run the learner's desk to its pause and on, with a `book` that is counted."""
    if not callable(build):
        return perform(build, ())
    booked: list[int] = []
    at_pause: list[int] = []

    def answer(snapshot):
        at_pause.append(len(booked))
        return "yes"

    def book(amount):
        booked.append(amount)

    attempt = perform(lambda saver: build(saver, book), (Invoke({"amount": 40, "log": []}), Resume(answer)))
    attempt.notes.update(booked=len(booked), at_pause=sum(at_pause))
    return attempt


def at_pause(attempt, key):
    """A value of the state as saved at the pause."""
    return (attempt.outcomes[0].values or {}).get(key) if attempt.outcomes else None


HEAD = """
import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class Desk(TypedDict, total=False):
    amount: int
    note: str
    log: Annotated[list[str], operator.add]
"""

ONE_NODE = """
    graph = StateGraph(Desk)
    graph.add_node("desk", desk)
    graph.add_edge(START, "desk")
    return graph.compile(checkpointer=saver)
"""

EXERCISE = Exercise(
    name="desk",
    task="Mend the expense desk: the note is saved before anybody is asked, the answer counts, the amount is booked once "
    "and only after a yes, and nothing is found.",
    perform=perform_desk,
    goals=(
        Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("the note is saved at the pause", lambda a: at_pause(a, "note") == "risk: low"),
        Goal("nothing is booked before the answer", lambda a: a.notes["at_pause"] == 0),
        Goal("the amount is booked once", lambda a: a.notes["booked"] == 1),
        Goal("the answer is in the log", lambda a: any("yes" in line for line in a.final.get("log", ()))),
        Goal("nothing is found", lambda a: not a.trace.findings),
    ),
    mistakes=(
        Mistake(
            "except_is_harmless",
            lambda a: "HL010" in a.trace.findings.codes,
            HEAD
            + """

def build(saver, book):
    def desk(state):
        try:
            answer = interrupt("Book it?")
            book(state["amount"])
            return {"note": "risk: low", "log": [answer]}
        except Exception as problem:
            return {"log": [repr(problem)]}
"""
            + ONE_NODE,
        ),
        Mistake(
            "side_effects_once",
            lambda a: a.notes["booked"] > 1 or a.notes["at_pause"] > 0,
            HEAD
            + """

def build(saver, book):
    def desk(state):
        book(state["amount"])
        return {"note": "risk: low", "log": [interrupt("Book it?")]}
"""
            + ONE_NODE,
        ),
        Mistake(
            "mutation_is_a_write",
            lambda a: "HL011" in a.trace.findings.codes,
            HEAD
            + """

def build(saver, book):
    def desk(state):
        state["note"] = "risk: low"
        answer = interrupt("Book it?")
        book(state["amount"])
        return {"log": [answer]}
"""
            + ONE_NODE,
        ),
        Mistake(
            "note_after_the_question",
            lambda a: at_pause(a, "note") is None,
            HEAD
            + """

def build(saver, book):
    def desk(state):
        answer = interrupt("Book it?")
        book(state["amount"])
        return {"note": "risk: low", "log": [answer]}
"""
            + ONE_NODE,
            "The note comes with the answer: while the person decides, it is in no checkpoint. Return it from a node before.",
        ),
    ),
    hints=(
        "Three things, three nodes: note, ask, book.",
        "The first returns the note. The second only asks and returns the answer. The third books.",
        "note: return {'note': 'risk: low'}; ask: return {'log': [interrupt(...)]}; book_it: book(state['amount'])",
    ),
)


LESSON = Lesson(
    name="13_your_own_graph",
    title="Your own graph",
    goals=(
        "record your own graph and read its findings",
        "follow the advice of a finding, and see it gone",
        "keep it found: a test that fails on the broken graph",
    ),
    minutes=40,
    predictions=PREDICTIONS,
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "A finding names the write, your line, LangGraph's line, and the fix that fits.",
            lambda: traced("broken_node").findings.of("HL001")[0].advice.fix == "A",
        ),
        Fact(
            "Followed advice leaves nothing to find.",
            lambda: not traced("fix_a_split_node").findings and not traced("fix_c_update_state").findings,
        ),
        Fact(
            "What invoke() returned at a pause proves nothing; get_state() does.",
            lambda: "HL002" in traced("broken_node").findings.codes,
        ),
        Fact(
            "An update as the paused node skips it.",
            lambda: "HL005" in traced("fix_c_as_paused_node").findings.codes,
        ),
    ),
)
