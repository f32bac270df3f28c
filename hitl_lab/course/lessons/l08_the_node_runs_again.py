"""Notebook 08: after the answer the node runs again from its top, with all it does before the question."""

import operator
from typing import Annotated, TypedDict

from langgraph.types import interrupt

from hitl_lab.course.attempt import perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke, Resume


def starts_by_run(trace, node):
    """How often a node started, for each run."""
    return [
        (run.label, sum(1 for _ in m.events(trace, "task_started", run.label, name=node))) for run in trace.story.runs
    ]


def last(trace, run="run 2"):
    """The saved log's last entry."""
    return m.saved(trace, run)["log"][-1]


PREDICTIONS = (
    Prediction(
        name="mail",
        question="`notify` sends an e-mail, then asks. The person answers once. How many e-mails went out?",
        choices=(
            Choice("None: the pause took it back.", 0),
            Choice("One.", 1, "side_effects_once"),
            Choice("Two.", 2),
        ),
        measure=lambda found: found["mails"],
        evidence=lambda found: [f"e-mails: {found['mails']}", *m.counts(found["trace"], "notify")],
        why={
            2: "The node ran twice from its first line, and each time it sent one. An e-mail is no write: nothing holds "
            "it back at the pause."
        },
    ),
    Prediction(
        name="draft",
        question="A node makes draft 1 and asks about it. The person approves. Which draft is sent?",
        choices=(
            Choice("Draft 1: it is the one that was approved.", "draft 1", "resumes_at_its_line"),
            Choice("Draft 2: nobody has seen it.", "draft 2"),
            Choice("None: the node has forgotten its draft.", ""),
        ),
        measure=lambda trace: m.saved(trace, "run 2").get("sent", ""),
        evidence=lambda trace: [f"{k}: {v}" for k, v in m.saved(trace, "run 2").items()],
        why={
            "draft 2": "The answer comes back from interrupt(), but everything before it was made anew: also the draft. "
            "The person approved one text, and another one is sent."
        },
    ),
    Prediction(
        name="key",
        question="The node makes a new key with uuid4(), pays with it, then asks. A key that was seen before is not paid again. "
        "The person answers. How many payments were made?",
        choices=(
            Choice("One: the key keeps the second payment out.", 1, "key_made_in_the_node"),
            Choice("Two.", 2),
            Choice("None: it is paid after the answer.", 0),
        ),
        measure=lambda found: found["payments"],
        evidence=lambda found: [f"payments: {found['payments']}", *m.counts(found["trace"], "charge")],
        why={
            2: "The node ran twice from its first line, and the key was made there. So the second run had another key, and "
            "for the service it was another payment."
        },
    ),
    Prediction(
        name="loop",
        question='A node asks for an age until it gets a number. The answers: "old", "very", "90". How often does the node run?',
        choices=(
            Choice("Once: it waits in its loop.", 1, "resumes_at_its_line"),
            Choice("Three times: once for each answer.", 3),
            Choice("Four times: once to ask, and once for each answer.", 4),
            Choice("Twice: once to ask, once at the end.", 2),
        ),
        measure=lambda trace: m.starts(trace, "ask_age"),
        evidence=lambda trace: m.counts(trace, "ask_age"),
        why={
            4: "Each answer runs the node from its top. The earlier answers are given back by their position: the first "
            "interrupt() gets the first answer, and so on."
        },
    ),
    Prediction(
        name="caught",
        question="The question stands in a `try` with `except Exception`. What does the graph do at the question?",
        choices=(
            Choice("It pauses: a pause is no error.", "pauses", "except_is_harmless"),
            Choice("It runs on without an answer.", "runs on"),
            Choice("It raises GraphInterrupt to the caller.", "raises"),
        ),
        measure=lambda trace: {"paused": "pauses", "done": "runs on", "error": "raises"}[trace.story.runs[0].status],
        evidence=m.told,
        why={
            "runs on": "A pause travels through the node as a GraphInterrupt, which is an Exception. The `except` caught "
            "it, the node returned, and for LangGraph it had finished."
        },
    ),
    Prediction(
        name="mutated",
        question="The node sets `state['note']` instead of returning it, then asks. What is the note for LangGraph?",
        choices=(
            Choice("A write like any other.", "dropped", "mutation_is_a_write"),
            Choice("A write that is applied at once.", "applied", "mutation_is_a_write"),
            Choice("No write at all.", "undefined"),
        ),
        measure=lambda trace: m.fate(trace, "review", "note"),
        evidence=m.told,
        why={
            "undefined": "Only what is returned or sent enters task.writes. The node changed its own copy of the state. "
            "Whether such a change shows up anywhere is undefined."
        },
    ),
    Prediction(
        name="transfer",
        question="`charge` charges, then asks. After the answer it fails twice and is tried again each time. How often did it "
        "charge in all?",
        choices=(
            Choice("Once.", 1, "side_effects_once"),
            Choice("Twice: at the pause and at the resume.", 2),
            Choice("Four times.", 4),
        ),
        measure=lambda found: found["charges"],
        evidence=lambda found: [
            f"charges: {found['charges']}",
            *[f"`charge` started {n} times in {run}" for run, n in starts_by_run(found["trace"], "charge")],
        ],
        why={
            4: "Once before the pause, and three times after the answer: the first try and two retries, each from the top."
        },
    ),
)


class Log(TypedDict):
    """The state of the exercise."""

    log: Annotated[list[str], operator.add]


def perform_mail(build):
    """Run the learner's graph to the pause and on, with a `send_mail` that is counted."""
    if not callable(build):
        return perform(build, ())
    mails: list[str] = []
    at_pause: list[int] = []

    def answer(snapshot):
        at_pause.append(len(mails))
        return "yes"

    attempt = perform(lambda saver: build(saver, lambda: mails.append("mail")), (Invoke({"log": []}), Resume(answer)))
    attempt.notes.update(mails=len(mails), mails_at_pause=sum(at_pause))
    if attempt.trace is not None:
        attempt.lines = [f"it sent {len(mails)} e-mail{'s' * (len(mails) != 1)}, {sum(at_pause)} before the answer"]
    return attempt


HEAD = """
import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class Log(TypedDict):
    log: Annotated[list[str], operator.add]
"""

ONE_NODE = """
    graph = StateGraph(Log)
    graph.add_node("notify", notify)
    graph.add_edge(START, "notify")
    graph.add_edge("notify", END)
    return graph.compile(checkpointer=saver)
"""

EXERCISE = Exercise(
    name="one_mail",
    task="Build a graph that sends exactly one e-mail, before the person is asked whether it was right.",
    perform=perform_mail,
    goals=(
        Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("one e-mail went out", lambda a: a.notes["mails"] == 1),
        Goal("it went out before the question", lambda a: a.notes["mails_at_pause"] != 0),
        Goal("the answer is in the log", lambda a: "yes" in a.final["log"]),
    ),
    mistakes=(
        Mistake(
            "side_effects_once",
            lambda a: a.notes["mails"] > 1,
            HEAD
            + """

def build(saver, send_mail):
    def notify(state):
        send_mail()
        return {"log": [interrupt("Was that right?")]}
"""
            + ONE_NODE,
        ),
        Mistake(
            "mail_after_the_question",
            lambda a: a.notes["mails"] == 1 and a.notes["mails_at_pause"] == 0,
            HEAD
            + """

def build(saver, send_mail):
    def notify(state):
        answer = interrupt("Was that right?")
        send_mail()
        return {"log": [answer]}
"""
            + ONE_NODE,
            "One e-mail, but after the answer: the person was asked about something that had not happened.",
        ),
        Mistake(
            "no_mail",
            lambda a: a.notes["mails"] == 0,
            HEAD
            + """

def build(saver, send_mail):
    def notify(state):
        return {"log": [interrupt("Was that right?")]}
"""
            + ONE_NODE,
            "No e-mail went out. Call send_mail() in a node.",
        ),
    ),
    hints=(
        "The node that asks runs twice. A node that has finished before it does not.",
        "Send the e-mail in a node of its own, with an edge to the node that asks.",
        "def mail(state): send_mail(); return {'log': ['sent']}   and   def ask(state): return {'log': [interrupt(...)]}",
    ),
)


def write(state):
    """Stands for a model that writes something."""
    return {"log": ["draft"]}


def send(state):
    """Asks about what is in the state, then sends it."""
    return {"log": [f"sent {state['log'][-1]}: {interrupt('Send ' + state['log'][-1] + '?')}"]}


ORDER = Ordering(
    name="approved",
    task="Put a graph together in which what was approved is what is sent.",
    head="def build(saver):",
    given=lambda: given(Log=Log, write=write, send=send),
    blocks=(
        "graph = StateGraph(Log)",
        'graph.add_node("write", write)\ngraph.add_node("send", send)',
        'graph.add_edge(START, "write")\ngraph.add_edge("write", "send")',
        "return graph.compile(checkpointer=saver)",
    ),
    extra={
        'graph.add_node("both", lambda state: {**write(state), **send(state)})': "writing and asking in one node makes "
        "the draft anew after the answer."
    },
    perform=lambda build: perform(build, (Invoke({"log": []}), Resume("yes"))),
    goals=(
        Goal("it asks about the draft", lambda a: a.outcomes[0].interrupts == ("Send draft?",)),
        Goal("`write` ran once", lambda a: m.starts(a.trace, "write") == 1),
        Goal("the approved draft is sent", lambda a: a.final["log"] == ["draft", "sent draft: yes"]),
    ),
    hints=("The draft must be in the state before anybody is asked.", "Two nodes, and an edge from one to the other."),
)


def three_runs_of_two_questions():
    """A node that asks two questions runs three times."""
    return m.starts(traced("two_questions"), "order") == 3


LESSON = Lesson(
    name="08_the_node_runs_again",
    title="The node runs again",
    goals=(
        "say what happens twice at a resume",
        "place side effects so that they happen once",
        "keep a try/except from swallowing a pause",
    ),
    minutes=25,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "What a node does before its question happens once more at the resume.",
            lambda: last(traced("side_effects")) == "store says 2",
        ),
        Fact("A node that asks N questions runs N + 1 times.", three_runs_of_two_questions),
        Fact(
            "If one node makes the draft and asks about it, another draft may be used than the one approved.",
            lambda: m.saved(traced("changed_draft"), "run 2")["sent"].startswith("draft 2"),
        ),
        Fact(
            "`except Exception` swallows a pause; raising GraphBubbleUp again lets it through.",
            lambda: (
                traced("swallowed_by_except").story.runs[0].status == "done"
                and traced("except_lets_pause_through").story.runs[0].status == "paused"
            ),
        ),
        Fact(
            "State changed in place is no write.", lambda: m.fate(traced("mutated_state_dict"), "review") == "undefined"
        ),
    ),
)
