"""Notebook 13: one's own graph. Record it, read the findings, follow the advice, keep it so by a test."""

import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from hitl_lab import effect
from hitl_lab.course import send_hook
from hitl_lab.course.attempt import Attempt, perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons._given import given
from hitl_lab.findings import findings_lines
from hitl_lab.scenarios._scenario import Invoke, Resume


class Desk(TypedDict, total=False):
    """The state of the desks."""

    amount: int
    note: str
    log: Annotated[list[str], operator.add]


def lines(trace):
    """The findings of a trace, one line each."""
    return findings_lines(trace.findings).splitlines()


def lost_writes(trace):
    """How many writes a finding calls dropped or discarded."""
    return len({w for f in trace.findings.of("HL001", "HL003") for w in f.writes})


PREDICTIONS = (
    Prediction(
        name="desk",
        question="`score` writes and ends. `ask` sends a note, then asks. How many of their writes are dropped at the pause?",
        choices=(
            Choice("None: the state that invoke() returns has them all.", 0, "returned_is_saved"),
            Choice("One: the note that `ask` sent before its question.", 1),
            Choice("Two: the note, and what `score` wrote beside it.", 2, "siblings_run_again"),
        ),
        measure=lost_writes,
        evidence=lines,
        why={
            1: "`score` had finished, so its write is pending and is applied later. `ask` stopped on its question, so commit "
            "handed on only that."
        },
    ),
    Prediction(
        name="assertion",
        question="Both tests run the desk to its pause. Which of them fails?",
        choices=(
            Choice("Both: the note is gone.", "both", "empty_result"),
            Choice("Neither: the note is there.", "neither", "returned_is_saved"),
            Choice("Only assert_survives_pause.", "assertion"),
            Choice("Only the one that looks at what invoke() returned.", "returned"),
        ),
        measure=lambda failed: {(): "neither", ("assertion",): "assertion", ("returned",): "returned"}.get(
            failed, "both"
        ),
        evidence=lambda failed: [f"failed: {', '.join(failed) or 'none'}"],
        why={
            "assertion": "At the pause invoke() returns a phantom: the note, as if it were saved. So a test that looks at it "
            "passes on a broken graph. assert_survives_pause looks at what get_state() reads."
        },
    ),
    Prediction(
        name="advice",
        question="The note has a node of its own, before `ask`. The look-up is still in `ask`. What is found now?",
        choices=(
            Choice("HL001: the note is dropped all the same.", ("HL001",)),
            Choice("HL008: the side effect is repeated.", ("HL008",)),
            Choice("Nothing: the write is saved now.", (), "side_effects_once"),
        ),
        measure=lambda trace: trace.findings.codes,
        evidence=lines,
        why={
            (
                "HL008",
            ): "The write is safe. But the look-up still stands above the question, so it is done again after the answer, "
            "and costs its fee again."
        },
    ),
    Prediction(
        name="transfer",
        question="While the desk is paused, a colleague calls update_state(..., as_node='ask'). Then the answer comes. What is "
        "found?",
        choices=(
            Choice("Nothing: an update at a pause is fix C.", (), "as_paused_node_is_right"),
            Choice("The asking node was skipped, and nothing was left to take the answer.", ("HL005", "HL016")),
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


def tried_with(build, said):
    """Run the learner's desk to its pause and on with an answer, with a `book` that is counted."""
    booked: list[int] = []
    at_pause: list[int] = []

    def answer(snapshot):
        at_pause.append(len(booked))
        return said

    def book(amount):
        booked.append(amount)
        effect(f"book {amount}")

    attempt = perform(lambda saver: build(saver, book), (Invoke({"amount": 40, "log": []}), Resume(answer)))
    attempt.notes.update(booked=len(booked), at_pause=sum(at_pause))
    return attempt


def perform_desk(build):
    """Try the learner's desk with a yes and with a no."""
    if not callable(build):
        return perform(build, ())
    attempt = tried_with(build, "yes")
    if attempt.trace is None or attempt.error:
        return attempt
    refused = tried_with(build, "no")
    attempt.error = refused.error
    attempt.notes["booked_after_no"] = refused.notes["booked"]
    before = attempt.notes["at_pause"]
    attempt.lines = [
        f'with the answer "yes" it booked {times(attempt.notes["booked"])}, {before} before the answer',
        f'with the answer "no" it booked {times(refused.notes["booked"])}',
        *lines(attempt.trace),
    ]
    return attempt


def times(n):
    """A number of times, in words."""
    return f"{n} time{'s' * (n != 1)}"


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
    task="Build the desk anew: the note is saved before the question, the answer is in the log, the amount is booked once and "
    "only after a yes, and the findings are empty.",
    perform=perform_desk,
    goals=(
        Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("the note is saved at the pause", lambda a: at_pause(a, "note") == "risk: low"),
        Goal("nothing is booked before the answer", lambda a: a.notes["at_pause"] == 0),
        Goal("the amount is booked once", lambda a: a.notes["booked"] == 1),
        Goal("the answer is in the log", lambda a: any("yes" in line for line in a.final.get("log", ()))),
        Goal('nothing is booked after a "no"', lambda a: a.notes["booked_after_no"] == 0),
        Goal("the findings are empty", lambda a: not a.trace.findings),
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
            "The note comes with the answer. While the person decides, it is in no checkpoint. Return it from a node before.",
        ),
        Mistake(
            "booked_after_no",
            lambda a: a.notes["booked_after_no"] > 0,
            HEAD
            + """

def build(saver, book):
    def note(state):
        return {"note": "risk: low"}

    def ask(state):
        return {"log": [interrupt("Book it?")]}

    def book_it(state):
        book(state["amount"])
        return {"log": ["booked"]}

    graph = StateGraph(Desk)
    for node in (note, ask, book_it):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "note")
    graph.add_edge("note", "ask")
    graph.add_edge("ask", "book_it")
    return graph.compile(checkpointer=saver)
""",
            'The person said "no", and it was booked. Look at the answer in the log before you book.',
        ),
    ),
    hints=(
        "Three things to do, so three nodes: write the note, ask, book.",
        "The first returns the note. The second only asks, and returns the answer. The third reads the answer from the log.",
        (
            "note returns {'note': 'risk: low'}, ask returns {'log': [interrupt('Book it?')]}, and the third node does: "
            "if state['log'][-1] == 'yes': book(state['amount'])"
        ),
    ),
)


def lossy(saver):
    """A desk that sends its note before the question."""

    def ask(state):
        send_hook()([("note", "risk: low")])
        return {"log": [interrupt("Book it?")]}

    graph = StateGraph(Desk)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=saver)


def sound(saver):
    """A desk with a node for its note."""
    graph = StateGraph(Desk)
    graph.add_node("note", lambda _: {"note": "risk: low"})
    graph.add_node("ask", lambda _: {"log": [interrupt("Book it?")]})
    graph.add_edge(START, "note")
    graph.add_edge("note", "ask")
    return graph.compile(checkpointer=saver)


def perform_test(test):
    """Run the assembled test on a desk that loses its note, and on one that keeps it."""
    failed = {}
    for name, build in (("the desk that loses its note", lossy), ("a desk that keeps it", sound)):
        try:
            test(build(InMemorySaver()))
            failed[name] = ""
        except AssertionError as error:
            failed[name] = str(error).splitlines()[0] if str(error) else "AssertionError"
        except Exception as error:  # noqa: BLE001 - blocks in a wrong order may raise anything; the learner reads it
            return Attempt(error=error)
    told = [f"on {name}: {'it fails, ' + why if why else 'it passes'}" for name, why in failed.items()]
    return Attempt(lines=told, notes={"failed": [bool(why) for why in failed.values()]})


def order_given():
    """Names for the blocks: the kit itself, and its assertion."""
    import hitl_lab
    from hitl_lab.testing import assert_survives_pause

    return given(
        hitl_lab=hitl_lab, assert_survives_pause=assert_survives_pause, CONFIG={"configurable": {"thread_id": "1"}}
    )


ORDER = Ordering(
    name="good_test",
    task="A test that fails if the note is not saved at the pause.",
    head="def test_the_note_is_kept(graph):",
    given=order_given,
    blocks=(
        'first = {"amount": 40, "log": []}',
        "with hitl_lab.record() as trace:\n    graph.invoke(first, CONFIG)",
        'assert_survives_pause(trace, "note")',
    ),
    extra={
        'assert graph.invoke(first, CONFIG)["note"] == "risk: low"': "what invoke() returns at a pause can be a phantom, and "
        "then this passes on the desk that loses its note."
    },
    perform=perform_test,
    goals=(
        Goal("it fails on the desk that loses its note", lambda a: a.notes["failed"][0]),
        Goal("it passes on a desk that keeps it", lambda a: not a.notes["failed"][1]),
    ),
    hints=(
        "The run must be recorded before the trace can be looked at.",
        "One piece looks at what was returned. Leave it out.",
    ),
)

LESSON = Lesson(
    name="13_your_own_graph",
    title="Your own graph",
    goals=(
        "record your own graph and read its findings",
        "follow the advice of a finding, and see it gone",
        "write a test that fails when a graph loses a write at a pause",
    ),
    minutes=35,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "A finding names the write, your line, LangGraph's line, and the fix.",
            lambda: traced("broken_node").findings.of("HL001")[0].advice.fix == "A",
        ),
        Fact(
            "After fix A, and after fix C, the findings are empty.",
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
