"""Notebook 09: parallel tasks, Send, several questions at once, and answers by interrupt id."""

from hitl_lab.course.attempt import act, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios.two_tasks_ask import build


def refused(trace):
    """What the second run did with a bare answer."""
    return trace.story.runs[1].status


def told_refusal(trace):
    """What the second run raised, and how often the nodes started."""
    raised = [e.error.split(",")[0] for e in m.events(trace, "run_ended", "run 2") if e.error]
    return [*[f"run 2 raised {one}" for one in raised], *m.counts(trace, "legal", "sales")]


def asked(trace):
    """How often each of the two nodes started."""
    return m.starts(trace, "legal"), m.starts(trace, "sales")


PREDICTIONS = (
    Prediction(
        name="sibling",
        question="`lookup` finished, `ask` paused, both in one superstep. The person answers. Which of them runs again?",
        choices=(
            Choice("Both: the superstep is run again.", (2, 2), "siblings_run_again"),
            Choice("Only `ask`.", (1, 2)),
            Choice("Neither.", (1, 1), "resumes_at_its_line"),
        ),
        measure=lambda trace: (m.starts(trace, "lookup"), m.starts(trace, "ask")),
        evidence=lambda trace: [*m.counts(trace, "lookup", "ask"), *m.told(trace)],
        why={
            (1, 2): "`lookup` ended, so its write was committed: it stands as a pending write of its task. A task with "
            "saved writes counts as finished, and is not run again."
        },
    ),
    Prediction(
        name="views",
        question="At the pause, who shows the write of `lookup`: get_state(), the newest checkpoint of the history, or both?",
        choices=(
            Choice("Both show it.", (True, True), "history_is_live"),
            Choice("Neither: it is only pending.", (False, False), "history_is_live"),
            Choice("get_state() shows it, the history does not.", (True, False)),
        ),
        measure=lambda found: tuple("stock: 3" in state.values["log"] for state in found.values()),
        evidence=lambda found: [
            f"{name}: log {state.values['log']}, next {', '.join(sorted(state.next))}" for name, state in found.items()
        ],
        why={
            (
                True,
                False,
            ): "get_state() of a thread is live: it applies what finished siblings have pending, and `next` "
            "names who is left. The history shows the checkpoint as it was made."
        },
    ),
    Prediction(
        name="bare",
        question='`legal` and `sales` both ask. You call Command(resume="yes"). What happens?',
        choices=(
            Choice("Both get the answer.", "done", "answers_what_i_see"),
            Choice("The first one gets it, the other one still waits.", "paused", "answers_what_i_see"),
            Choice("It is refused: which question is meant?", "error"),
        ),
        measure=refused,
        evidence=told_refusal,
        why={
            "error": "When more than one question waits, an answer without an id raises a RuntimeError, and nothing runs."
        },
    ),
    Prediction(
        name="one",
        question="You answer `legal` by its id. In a second call you answer `sales`. How often does each node run in all?",
        choices=(
            Choice("`legal` 2 times, `sales` 2 times.", (2, 2)),
            Choice("`legal` 2 times, `sales` 3 times.", (2, 3)),
            Choice("`legal` 3 times, `sales` 3 times.", (3, 3), "siblings_run_again"),
        ),
        measure=asked,
        evidence=lambda trace: [*m.counts(trace, "legal", "sales"), *m.told(trace)],
        why={
            (
                2,
                3,
            ): "Each resume runs every node that has not finished. `legal` finished at the first resume. `sales` had no "
            "answer there: it ran up to its question once more, for nothing."
        },
    ),
    Prediction(
        name="transfer",
        question="A router sends three items to `grade` by Send. Item 2 asks, 1 and 3 do not. The person answers. How often "
        "does `grade` start in all?",
        choices=(
            Choice("Three times: once for each item.", 3, "resumes_at_its_line"),
            Choice("Four times: item 2 twice.", 4),
            Choice("Six times: every item twice.", 6, "siblings_run_again"),
        ),
        measure=lambda trace: m.starts(trace, "grade"),
        evidence=lambda trace: [*m.counts(trace, "grade"), *m.told(trace)],
        why={
            4: "Each Send is a task of its own. Two of them ended, and their writes wait. Only the one that asked runs again."
        },
    ),
)


def both(attempt):
    """Each department's answer, as it stands in the log."""
    return sorted(attempt.final["log"])


GOALS = (
    Goal("legal said yes and sales said no", lambda a: both(a) == ["legal: yes", "sales: no"]),
    Goal("the run is done", lambda a: not a.paused[-1]),
)

ORDER = Ordering(
    name="by_id",
    task="Answer both questions in one call: yes to legal, no to sales.",
    head="def go_on(graph, config):",
    given=lambda: given(WORDS={"Legal?": "yes", "Sales?": "no"}),
    blocks=(
        "questions = graph.get_state(config).interrupts",
        "answers = {question.id: WORDS[question.value] for question in questions}",
        "graph.invoke(Command(resume=answers), config)",
    ),
    extra={
        'graph.invoke(Command(resume=["yes", "no"]), config)': "a list counts as one answer, and does not say for which "
        "question."
    },
    perform=lambda go_on: act(go_on, build, {"log": []}),
    goals=GOALS,
    hints=(
        "First get the questions. Each has an id and a value.",
        "Then make a dict from id to answer. It goes into Command(resume=...).",
    ),
)

HEAD = """
from langgraph.types import Command

"""

EXERCISE = Exercise(
    name="answers",
    task="Answer yes to `legal` and no to `sales`. Each node may run twice in all, not more.",
    perform=lambda go_on: act(go_on, build, {"log": []}),
    goals=(*GOALS, Goal("each node ran twice", lambda a: asked(a.trace) == (2, 2))),
    mistakes=(
        Mistake(
            "answers_what_i_see",
            lambda a: "refused" in m.answered(a.trace),
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(Command(resume="yes"), config)
    graph.invoke(Command(resume="no"), config)
""",
        ),
        Mistake(
            "one_after_the_other",
            lambda a: not a.paused[-1] and max(asked(a.trace)) > 2 and both(a) == ["legal: yes", "sales: no"],
            HEAD
            + """
def go_on(graph, config):
    for question, answer in (("Legal?", "yes"), ("Sales?", "no")):
        waiting = graph.get_state(config).interrupts
        graph.invoke(Command(resume={i.id: answer for i in waiting if i.value == question}), config)
""",
            "Both answers are in, but one after the other. So the second node ran up to its question once more. Give both "
            "in one call.",
        ),
        Mistake(
            "same_answer_for_all",
            lambda a: not a.paused[-1] and len({line.split(": ")[1] for line in both(a)}) == 1,
            HEAD
            + """
def go_on(graph, config):
    waiting = graph.get_state(config).interrupts
    graph.invoke(Command(resume={i.id: "yes" for i in waiting}), config)
""",
            "Both got the same answer. Look at `value` of each interrupt to see which question it is.",
        ),
        Mistake(
            "crossed",
            lambda a: both(a) == ["legal: no", "sales: yes"],
            HEAD
            + """
def go_on(graph, config):
    words = {"Legal?": "no", "Sales?": "yes"}
    waiting = graph.get_state(config).interrupts
    graph.invoke(Command(resume={i.id: words[i.value] for i in waiting}), config)
""",
            "The answers are crossed: legal got the one for sales.",
        ),
        Mistake(
            "unknown_id",
            lambda a: a.paused[-1],
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(Command(resume={"0" * 32: "yes"}), config)
""",
            "A question still waits. An id that is not among the waiting ones is ignored in silence.",
        ),
    ),
    hints=(
        "graph.get_state(config).interrupts lists the questions; each has an `id` and a `value`.",
        "Command(resume=...) takes a dict from id to answer.",
        'Build it: {i.id: "yes" if i.value == "Legal?" else "no" for i in graph.get_state(config).interrupts}',
    ),
)

LESSON = Lesson(
    name="09_many_at_once",
    title="Many at once",
    goals=(
        "say which of several tasks runs again",
        "answer several questions by interrupt id",
        "tell the live state from the record",
    ),
    minutes=25,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "A finished sibling is not run again; its write waits as pending.",
            lambda: m.starts(traced("parallel_sibling"), "lookup") == 1,
        ),
        Fact(
            "A bare answer to several questions is refused, and nothing runs.",
            lambda: refused(traced("two_tasks_bare_answer")) == "error",
        ),
        Fact(
            "A dict from interrupt id to answer answers them in one call. Each node runs twice.",
            lambda: asked(traced("two_tasks_ask")) == (2, 2),
        ),
        Fact(
            "If you answer one by one, the unanswered node runs at every resume.",
            lambda: 3 in asked(traced("two_tasks_one_by_one")),
        ),
        Fact("Each Send is a task of its own.", lambda: m.starts(traced("send_fan_out"), "grade") == 4),
    ),
)
