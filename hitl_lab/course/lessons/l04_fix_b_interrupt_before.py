"""Notebook 04: interrupt_before keeps the payload, but nobody asks, so the answer can be lost."""

from hitl_lab.course.attempt import act, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios.broken_node import QUESTION
from hitl_lab.scenarios.fix_b_interrupt_before import build, build_asking


def what_happened_to_the_answer(trace):
    """Each answer's fate, as evidence."""
    return [*m.told(trace), *m.answer_lines(trace)]


def in_state(trace, run="run 2"):
    """Whether the saved messages hold the answer."""
    return m.has(m.saved(trace, run), "approved")


def first_answer(trace):
    """The fate of the first answer, "" without one."""
    return next(iter(m.answered(trace)), "")


PREDICTIONS = (
    Prediction(
        name="question",
        question="The graph stops before `review`. What do you find in get_state()?",
        choices=(
            Choice("The payload, and one question that waits.", ("payload", 1), "question_at_breakpoint"),
            Choice("No payload, and no question.", ("", 0)),
            Choice("The payload, and no question.", ("payload", 0)),
        ),
        measure=lambda trace: (
            "payload" if m.has(m.saved(trace), "hitl_payload") else "",
            len(m.read(trace).interrupts),
        ),
        evidence=lambda trace: [
            *m.told(trace),
            f"get_state() has the payload: {m.yes(m.has(m.saved(trace), 'hitl_payload'))}",
            f"questions in get_state(): {len(m.read(trace).interrupts)}",
        ],
        why={
            (
                "payload",
                0,
            ): "The stop comes in the next `tick`, after the checkpoint with the payload. `review` has not "
            "begun, so nobody has called interrupt()."
        },
    ),
    Prediction(
        name="lost",
        question='`review` calls no interrupt(). You go on with Command(resume="approved"). Where is the answer?',
        choices=(
            Choice("In the state, as a message.", "in the state", "resume_always_answers"),
            Choice("Nowhere: LangGraph raises an error, because nobody asked.", "refused"),
            Choice("Nowhere, and nothing says so.", "lost"),
        ),
        measure=lambda trace: "in the state" if in_state(trace) else first_answer(trace),
        evidence=what_happened_to_the_answer,
        why={
            "lost": "Only interrupt() takes an answer. `review` ran and never called it. The answer was saved as "
            "`__resume__`, and nobody asked for it."
        },
    ),
    Prediction(
        name="unseen",
        question='`review` calls interrupt(). At the breakpoint you answer: Command(resume="approved"). What happens?',
        choices=(
            Choice("The run is done: a question that nobody saw took the answer.", "taken before asked"),
            Choice(
                "It stops and shows the question; the answer waits until you confirm it.", "stops", "answers_what_i_see"
            ),
            Choice("The answer is refused: no question was shown.", "refused", "answers_what_i_see"),
        ),
        measure=lambda trace: "stops" if m.read(trace, "run 2").next else first_answer(trace),
        evidence=what_happened_to_the_answer,
        why={
            "taken before asked": "An answer goes to the first interrupt() that runs. It does not know whether the "
            "person has seen that question. Here nobody had."
        },
    ),
    Prediction(
        name="none",
        question="The same graph, but you go on with invoke(None) first. What happens?",
        choices=(
            Choice("It runs to the end, without an answer.", 0),
            Choice("It stops again, now with the question.", 1),
            Choice("It stops again at the breakpoint.", -1, "question_at_breakpoint"),
        ),
        measure=lambda trace: len(m.read(trace, "run 2").interrupts) if m.starts(trace, "review") else -1,
        evidence=m.told,
        why={1: "None means: go on. `review` runs, calls interrupt(), and the graph pauses a second time."},
    ),
    Prediction(
        name="transfer",
        question="At the breakpoint before `pay`, the caller calls invoke({}). How often does `cart` run in all?",
        choices=(
            Choice("Once: {} is nothing, so the graph goes on with `pay`.", 1),
            Choice("Twice: {} is an input, so the graph starts over.", 2),
            Choice("Once: an empty input is an error.", "error"),
        ),
        measure=lambda trace: m.starts(trace, "cart"),
        evidence=lambda trace: [*m.counts(trace, "cart", "pay"), *m.told(trace)],
        why={2: "An input starts a run from START, even an empty one. Only None and a Command go on."},
    ),
)


def done_with_answer(attempt):
    """The answer is in the state and nothing is left to do."""
    return not attempt.paused[-1] and "approved" in [message.content for message in attempt.final["messages"]]


ORDER = Ordering(
    name="go_on",
    task="`review` asks nothing. Put the answer into the state, then let the graph go on.",
    head="def go_on(graph, config):",
    given=given,
    blocks=(
        'answer = HumanMessage("approved", id="h2")',
        'graph.update_state(config, {"messages": [answer]})',
        "graph.invoke(None, config)",
    ),
    extra={
        'graph.invoke(Command(resume="approved"), config)': "`review` calls no interrupt(): the answer goes nowhere."
    },
    perform=lambda go_on: act(go_on, build, QUESTION),
    goals=(
        Goal("the answer is in the state, and the run is done", done_with_answer),
        Goal("`review` saw the answer", lambda a: m.has(m.saved(a.trace, "run 2"), "The last word is: approved")),
    ),
    hints=(
        "The answer must be in the state before `review` runs.",
        "Make the message, write it into the state, then let the graph go on without an answer.",
    ),
)

HEAD = """
from langchain_core.messages import HumanMessage
from langgraph.types import Command

"""


def question_was_shown(attempt):
    """No answer was given before its question had been asked."""
    return m.answered(attempt.trace) == ["taken"]


EXERCISE = Exercise(
    name="ask_first",
    task="`review` asks. Go on from the breakpoint so that the question is shown first, then answer it: approved.",
    perform=lambda go_on: act(go_on, build_asking, QUESTION),
    goals=(
        Goal("the question was shown before it was answered", question_was_shown),
        Goal("the answer is in the state, and the run is done", done_with_answer),
        Goal("`draft` ran once", lambda a: m.starts(a.trace, "draft") == 1),
    ),
    mistakes=(
        Mistake(
            "answers_what_i_see",
            lambda a: "taken before asked" in m.answered(a.trace),
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(Command(resume="approved"), config)
""",
        ),
        Mistake(
            "empty_input_restarts",
            lambda a: m.starts(a.trace, "draft") > 1,
            HEAD
            + """
def go_on(graph, config):
    graph.invoke({}, config)
    graph.invoke(None, config)
    graph.invoke(Command(resume="approved"), config)
""",
            "An input, even an empty one, starts over from START. Go on with None.",
        ),
        Mistake(
            "update_is_no_answer",
            lambda a: not m.answered(a.trace) and any(e.kind == "state_updated" for e in a.trace.events),
            HEAD
            + """
def go_on(graph, config):
    graph.update_state(config, {"messages": [HumanMessage("approved", id="h2")]})
    graph.invoke(None, config)
""",
            "The state has the text, but interrupt() still waits for an answer. Answer it with Command(resume=...).",
        ),
        Mistake(
            "still_waits",
            lambda a: a.paused[-1] and not m.answered(a.trace),
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(None, config)
""",
            "The question is shown now, and nobody has answered it yet.",
        ),
    ),
    hints=(
        "Two calls: one that brings the question, one that answers it.",
        "invoke(None) lets `review` run until it asks.",
        'Then graph.invoke(Command(resume="approved"), config).',
    ),
)

LESSON = Lesson(
    name="04_fix_b_interrupt_before",
    title="Fix B: interrupt_before, and where the answer goes",
    goals=(
        "stop a graph before a node and keep what was written",
        "say for each way to go on where the answer ends",
        "tell a question from a breakpoint",
    ),
    minutes=25,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "interrupt_before stops after a checkpoint: the payload is applied.",
            lambda: m.fate(traced("fix_b_interrupt_before"), "attach") == "applied",
        ),
        Fact(
            "A breakpoint asks nothing: get_state() has no interrupt.",
            lambda: not m.read(traced("fix_b_interrupt_before")).interrupts,
        ),
        Fact(
            "An answer for which nobody calls interrupt() is lost in silence.",
            lambda: m.answered(traced("fix_b_answer_lost")) == ["lost"],
        ),
        Fact(
            "An answer given at the breakpoint is taken by a question that nobody has seen.",
            lambda: m.answered(traced("fix_b_answer_before_question")) == ["taken before asked"],
        ),
        Fact(
            "invoke(None) brings the question; then an answer reaches it.",
            lambda: m.answered(traced("fix_b_question_then_answer")) == ["taken"],
        ),
    ),
)
