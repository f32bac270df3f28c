"""Notebook 07: what would happen if the writes made before interrupt() were persisted. Measured, in three ways."""

from functools import cache

from hitl_lab import counterfactual
from hitl_lab.answers import answers
from hitl_lab.course.attempt import Attempt, perform
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke, Resume


def starts_and_answer(trace):
    """Return how often `review` ran, and what became of the answer."""
    return m.starts(trace, "review"), answers(trace.story)[-1].fate


def told_starts(trace):
    """The same as lines."""
    ran, fate = starts_and_answer(trace)
    return [f"`review` ran {ran} time{'s' * (ran != 1)}", f"the answer was {fate}", *m.told(trace)]


def last(trace):
    """The saved state at the end."""
    return m.saved(trace, trace.story.actions[-1].label)


def early(trace, channel):
    """How often an early write is in the channel at the end."""
    return sum(m.has(item, "early") for item in last(trace)[channel])


def copies(trace):
    """Return how often the message with an id is there, and the one without."""
    return early(trace, "with_id"), early(trace, "without_id")


def finished(trace):
    """How the tick of the resume saw the task."""
    tick = next(m.events(trace, "tick", "run 2"))
    return [f"`{task.name}`: {'finished, it does not run' if task.finished else 'runs'}" for task in tick.tasks]


PREDICTIONS = (
    Prediction(
        name="own_task",
        who="the run",
        question="P1: the early writes are saved with the question, as pending writes of the task. Then the person answers. "
        "What happens?",
        choices=(
            Choice(
                "`review` runs twice, the answer is taken, the list holds the entry twice.",
                (2, "taken"),
                "only_duplicates",
            ),
            Choice("`review` runs once, and the answer is lost.", (1, "lost")),
            Choice("`review` goes on at interrupt() and takes the answer.", (1, "taken"), "resumes_at_its_line"),
        ),
        measure=starts_and_answer,
        evidence=lambda trace: [*told_starts(trace), *finished(trace)],
        why={
            (1, "lost"): "A task with saved writes counts as finished: that is how finished siblings are spared. So "
            "`review` is not run again, and nobody calls interrupt() to take the answer."
        },
    ),
    Prediction(
        name="null_task_list",
        who="the run",
        question='P2: the early writes are saved for no task. `log` is a list that grows (operator.add). How often is "early" '
        "in it at the end?",
        choices=(
            Choice("Once: it is the same write.", 1),
            Choice("Twice.", 2),
            Choice("Three times.", 3),
        ),
        measure=lambda trace: early(trace, "log"),
        evidence=told_starts,
        why={
            2: "The stored write is applied when the run resumes. Then `review` runs from its top and writes it again."
        },
    ),
    Prediction(
        name="null_task_messages",
        who="the run",
        question="P2: one early message has an id, the other has none. How often is each in the state at the end?",
        choices=(
            Choice("Once each: messages are merged.", (1, 1)),
            Choice("With id once, without id twice.", (1, 2)),
            Choice("Twice each.", (2, 2)),
        ),
        measure=copies,
        evidence=lambda trace: [f"{name}: {early(trace, name)}" for name in ("with_id", "without_id")],
        why={
            (1, 2): "add_messages replaces a message that has the same id. One without an id gets a new id each time."
        },
    ),
    Prediction(
        name="null_task_value",
        who="the run",
        question="P2: `turns` has no reducer, so the last write wins. The node writes one more than it read. At first it is 0. "
        "What is it at the end?",
        choices=(
            Choice("1: the last write wins, so nothing can double.", 1),
            Choice("2: the second run read what the first one had written.", 2),
        ),
        measure=lambda trace: last(trace)["turns"],
        evidence=lambda trace: [f"{r.run}: turns = {r.value}" for r in trace.ledger.where(channel="turns")],
        why={
            2: "When the node ran again, the early write was in the state that it read, so it added one to that. A plain "
            "value is safe only if the node does not compute it from the state."
        },
    ),
    Prediction(
        name="update_state",
        question='P3: after the pause a program saves the early writes with update_state. How often is "early" in `log` at the '
        "end?",
        choices=(Choice("Once: this is fix C.", 1), Choice("Twice.", 2)),
        measure=lambda trace: early(trace, "log"),
        evidence=told_starts,
        why={
            2: "Fix C brings in a payload that the node does not write. Here the node runs again and writes it as well."
        },
    ),
    Prediction(
        name="transfer",
        who="the run",
        question="Under P2, `count` finds 3 parcels: it sends a line and the new total, then asks. The person answers. What is "
        "saved at the end?",
        choices=(
            Choice('lines ["3 parcels"], total 3', (1, 3)),
            Choice('lines ["3 parcels", "3 parcels"], total 3', (2, 3)),
            Choice('lines ["3 parcels", "3 parcels"], total 6', (2, 6)),
        ),
        measure=lambda trace: (len(last(trace)["lines"]), last(trace)["total"]),
        evidence=m.told,
        why={
            (
                2,
                6,
            ): "`lines` has a reducer that adds. `total` has none, but the node reads it, adds 3 and writes it. So both "
            "double."
        },
    ),
)

HEAD = """
import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from hitl_lab.course import send_hook


class State(TypedDict):
    log: Annotated[list, operator.add]


def build(saver):
    graph = StateGraph(State)
    graph.add_node("review", review)
    graph.add_edge(START, "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)

"""


def under_p2(build):
    """Run the learner's graph with early writes kept for the null task. Not LangGraph."""
    found: list[Attempt] = []
    with counterfactual.null_task():
        found.append(perform(build, (Invoke({"log": ["input"]}), Resume("yes"))))
    return found[0]


EXERCISE = Exercise(
    name="once",
    task='Under P2: send "early" to `log` before you ask, return the answer to `log`, and have "early" there only once.',
    perform=under_p2,
    goals=(
        Goal("it writes before it asks", lambda a: bool(a.rows("log", run="run 1"))),
        Goal("it pauses, and the answer is in the log", lambda a: a.paused[0] and "yes" in a.final.get("log", ())),
        Goal('"early" is there once', lambda a: a.final.get("log", []).count("early") == 1),
    ),
    mistakes=(
        Mistake(
            "doubled",
            lambda a: a.final.get("log", []).count("early") > 1,
            HEAD
            + """
def review(state):
    send_hook()([("log", ["early"])])
    return {"log": [interrupt("Approve?")]}
""",
            "The node ran twice, and each time it wrote. In the second run the entry was in the state already: look there "
            "first.",
        ),
        Mistake(
            "not_early",
            lambda a: not a.rows("log", run="run 1"),
            HEAD
            + """
def review(state):
    answer = interrupt("Approve?")
    return {"log": ["early", answer]}
""",
            "That is the right way in LangGraph as it is. Here the write must come before the question.",
        ),
        Mistake(
            "answer_forgotten",
            lambda a: "yes" not in a.final.get("log", ()),
            HEAD
            + """
def review(state):
    if "early" not in state["log"]:
        send_hook()([("log", ["early"])])
    interrupt("Approve?")
    return {}
""",
            "The answer came, and the node did not write it.",
        ),
    ),
    hints=(
        "Under P2 the early write is in the state when the node runs again. The node can see it.",
        'Send "early" only if it is not in state["log"] yet.',
        'if "early" not in state["log"]: send([("log", ["early"])])',
    ),
)


def count_story(count_copies):
    """Let the blocks run and count."""
    try:
        copies = count_copies()
    except Exception as error:  # noqa: BLE001 - blocks in a wrong order may raise anything; the learner reads it
        return Attempt(error=error)
    return Attempt(lines=[f'it found "early" in the log {copies} time{"s" * (copies != 1)}'], notes={"copies": copies})


def order_given():
    """Names for the blocks: the graph of the notebook, and the ways to run it."""
    import hitl_lab
    from hitl_lab.lab_graphs import early_writes

    return given(
        hitl_lab=hitl_lab,
        counterfactual=counterfactual,
        build_graph=early_writes,
        CONFIG={"configurable": {"thread_id": "1"}},
    )


TWO_RUNS = """\
    graph.invoke({"log": ["input"]}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)"""

ORDER = Ordering(
    name="count_copies",
    task='Run the graph under P2 and count "early" in the log.',
    head="def count_copies():",
    given=order_given,
    blocks=(
        "graph = build_graph(InMemorySaver())",
        f"with counterfactual.null_task():\n{TWO_RUNS}",
        'log = graph.get_state(CONFIG).values["log"]',
        'return log.count("early")',
    ),
    extra={
        f"with hitl_lab.record():\n{TWO_RUNS}": "record() keeps LangGraph as it is, so the early writes are dropped at the "
        "pause."
    },
    perform=count_story,
    goals=(Goal('it counted "early" twice', lambda a: a.notes["copies"] == 2),),
    hints=(
        "A graph must be there before it runs, and it must have run before its state is read.",
        "Which `with` saves the early writes for the null task?",
    ),
)


@cache
def measured(way):
    """One way, measured."""
    return counterfactual.measure(way)


LESSON = Lesson(
    name="07_why_the_filter_exists",
    title="Why the filter exists",
    goals=(
        "say what would be lost if a paused task's writes were saved",
        "say what would double, and what would not",
        "write a node that may run twice",
    ),
    minutes=20,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "Saved under its own task, the early write would cost the answer: the task counts as finished.",
            lambda: (measured("P1").node_runs, measured("P1").answer) == (1, "lost"),
        ),
        Fact("Saved elsewhere, a list that adds would hold it twice.", lambda: measured("P2").copies["log"] == 2),
        Fact(
            "A message with an id would be there once, one without an id twice.",
            lambda: (measured("P2").copies["with_id"], measured("P2").copies["without_id"]) == (1, 2),
        ),
        Fact("A value computed from itself would be computed twice.", lambda: measured("P2").copies["turns"] == 2),
        Fact(
            "As it is, each early write is there once and the answer is taken.",
            lambda: set(measured("real").copies.values()) == {1} and measured("real").answer == "taken",
        ),
    ),
)
