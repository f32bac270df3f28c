"""Notebook 10: a pause inside a subgraph, inside a graph called as a function, inside an entrypoint."""

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from hitl_lab.course.attempt import perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke, Resume
from hitl_lab.scenarios.loop_asks import State


def runs_of(*nodes):
    """Measure how often each of the nodes started."""
    return lambda trace: tuple(m.starts(trace, node) for node in nodes)


def lines_of(*nodes):
    """The same as lines of evidence, with what was written."""
    return lambda trace: [*m.counts(trace, *nodes), *m.told(trace)]


PREDICTIONS = (
    Prediction(
        name="inside",
        question="A subgraph is a node. In it, `prepare` comes first, then `ask` pauses. The person answers. How often have they "
        "run?",
        choices=(
            Choice("`prepare` once, `ask` twice.", (1, 2)),
            Choice("`prepare` twice, `ask` twice: the subgraph is one node.", (2, 2)),
            Choice("`prepare` once, `ask` once.", (1, 1), "resumes_at_its_line"),
        ),
        measure=runs_of("prepare", "ask"),
        # No more than the counts: the next question is about a write of the same run.
        evidence=lambda trace: m.counts(trace, "prepare", "ask"),
        why={
            (1, 2): "The subgraph has checkpoints of its own, below the parent's. `prepare` is saved there, so the "
            "subgraph goes on at `ask`."
        },
    ),
    Prediction(
        name="phantom",
        question="Inside the subgraph, `ask` sends a write before its question. Does invoke() of the parent return it at the "
        "pause?",
        choices=(
            Choice("Yes: a phantom, as at the top.", (True, "dropped")),
            Choice("No, and it is dropped all the same.", (False, "dropped")),
            Choice("No: in a subgraph it is pending.", (False, "pending")),
        ),
        measure=lambda trace: (any(r.phantom for r in trace.ledger), m.fate(trace, "ask")),
        evidence=m.told,
        why={
            (False, "dropped"): "What invoke() returns is read from the parent's channels. The dropped write was for a "
            "channel of the subgraph. The parent never got it."
        },
    ),
    Prediction(
        name="function",
        question="The node `call` calls a graph in which `first` asks, then `second` asks. Two answers come. How often have "
        "`call` and `first` run?",
        choices=(
            Choice("`call` once, `first` twice: only the inner node runs again.", (1, 2), "subgraph_resumes_outer"),
            Choice("`call` twice, `first` twice.", (2, 2)),
            Choice("`call` three times, `first` twice.", (3, 2)),
            Choice("`call` three times, `first` three times.", (3, 3)),
        ),
        measure=runs_of("call", "first"),
        evidence=lambda trace: m.counts(trace, "call", "first", "second"),
        why={
            (
                3,
                2,
            ): "Inside, the subgraph goes on where it paused. But `call` is a node like any other: each resume runs "
            "it from its first line. What it does before inner.invoke() happens each time."
        },
    ),
    Prediction(
        name="functional",
        question="The @entrypoint `order` calls the @task `price`, then asks. The person answers. How often have they run?",
        choices=(
            Choice("The entrypoint once, `price` once.", (1, 1), "resumes_at_its_line"),
            Choice("The entrypoint twice, `price` once.", (2, 1)),
            Choice("The entrypoint twice, `price` twice.", (2, 2)),
        ),
        measure=runs_of("order", "price"),
        evidence=lines_of("order", "price"),
        why={
            (
                2,
                1,
            ): "The entrypoint runs again from its top. The result of a finished @task is saved and handed back, so "
            "the task is not run again."
        },
    ),
    Prediction(
        name="transfer",
        question="The graph `middle` is a node. In it, `before` comes first, then `call` calls a graph that asks. One answer "
        "comes. How often have `before` and `call` run?",
        choices=(
            Choice("`before` twice, `call` twice.", (2, 2)),
            Choice("`before` once, `call` once.", (1, 1), "subgraph_resumes_outer"),
            Choice("`before` once, `call` twice.", (1, 2)),
        ),
        measure=runs_of("before", "call"),
        evidence=lambda trace: m.counts(trace, "before", "call", "ask"),
        why={
            (
                1,
                2,
            ): "`middle` is a subgraph as a node: it goes on after `before`. But `call` calls a graph, so it runs "
            "again from its first line."
        },
    ),
)


def ask(state):
    """Ask for the time."""
    return {"log": [f"time: {interrupt('What time?')}"]}


def make_inner():
    """A small graph that asks, to be put into another one."""
    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile()


def perform_booking(build):
    """Run the learner's graph with a `book` that is counted."""
    if not callable(build):
        return perform(build, ())
    booked: list[str] = []
    at_pause: list[int] = []

    def answer(snapshot):
        at_pause.append(len(booked))
        return "8 pm"

    attempt = perform(
        lambda saver: build(saver, make_inner(), lambda: booked.append("table")), (Invoke({"log": []}), Resume(answer))
    )
    attempt.notes.update(booked=len(booked), at_pause=sum(at_pause))
    if attempt.trace is not None:
        times = f"{len(booked)} time{'s' * (len(booked) != 1)}"
        attempt.lines = [f"it booked {times}, {sum(at_pause)} before the answer"]
    return attempt


HEAD = """
from langgraph.graph import END, START, StateGraph

from hitl_lab.scenarios.loop_asks import State

"""

WRONG_BUILD = """
    graph = StateGraph(State)
    graph.add_node("call", call)
    graph.add_edge(START, "call")
    graph.add_edge("call", END)
    return graph.compile(checkpointer=saver)
"""

EXERCISE = Exercise(
    name="book_once",
    task="Build a graph that books a table once, then runs the graph `inner`, which asks for the time.",
    perform=perform_booking,
    goals=(
        Goal("it pauses with the question of `inner`", lambda a: a.outcomes[0].interrupts == ("What time?",)),
        Goal("the table is booked once", lambda a: a.notes["booked"] == 1),
        Goal("it is booked before the question", lambda a: a.notes["at_pause"] > 0),
        Goal("the answer is in the log", lambda a: "time: 8 pm" in a.final["log"]),
    ),
    mistakes=(
        Mistake(
            "subgraph_resumes_outer",
            lambda a: a.notes["booked"] > 1,
            HEAD
            + """
def build(saver, inner, book):
    def call(state):
        book()
        return inner.invoke({"log": []})
"""
            + WRONG_BUILD,
        ),
        Mistake(
            "booked_late",
            lambda a: a.notes["booked"] == 1 and a.notes["at_pause"] == 0,
            HEAD
            + """
def build(saver, inner, book):
    def call(state):
        result = inner.invoke({"log": []})
        book()
        return result
"""
            + WRONG_BUILD,
            "Booked once, but after the question. Book in a node of its own, before.",
        ),
        Mistake(
            "not_booked",
            lambda a: a.notes["booked"] == 0,
            HEAD
            + """
def build(saver, inner, book):
    graph = StateGraph(State)
    graph.add_node("inner", inner)
    graph.add_edge(START, "inner")
    graph.add_edge("inner", END)
    return graph.compile(checkpointer=saver)
""",
            "No table was booked. Call book() in a node.",
        ),
    ),
    hints=(
        "What stands before inner.invoke() in a node runs again after the answer. Where would it not?",
        "In a node before it. And `inner` is a compiled graph: it can be a node itself.",
        'graph.add_node("book", a_function_that_books); graph.add_node("inner", inner); an edge between them.',
    ),
)


def book_node(state):
    """Stands for the booking."""
    return {"log": ["booked"]}


ORDER = Ordering(
    name="as_node",
    task="Make the compiled graph `inner` a node, so that what is before it runs once.",
    head="def build(saver):",
    given=lambda: given(State=State, inner=make_inner(), book=book_node),
    blocks=(
        "graph = StateGraph(State)",
        'graph.add_node("book", book)\ngraph.add_node("inner", inner)',
        'graph.add_edge(START, "book")\ngraph.add_edge("book", "inner")',
        "return graph.compile(checkpointer=saver)",
    ),
    extra={
        'graph.add_node("both", lambda state: {**book(state), **inner.invoke(state)})': "a node that calls `inner` runs "
        "again from its first line, and books again."
    },
    perform=lambda build: perform(build, (Invoke({"log": []}), Resume("8 pm"))),
    goals=(
        Goal("it asks for the time", lambda a: a.outcomes[0].interrupts == ("What time?",)),
        Goal("`book` ran once", lambda a: m.starts(a.trace, "book") == 1),
        Goal("the answer is in the log", lambda a: "time: 8 pm" in a.final["log"]),
    ),
    hints=("Nodes first, edges then, compile() last.", "`inner` is added like any node: add_node(name, inner)."),
)

LESSON = Lesson(
    name="10_nested",
    title="Nested graphs and the functional API",
    goals=(
        "say what runs again when the pause is inside another graph",
        "choose between a subgraph as a node and a graph called in a function",
        "use @task for work that must not happen twice",
    ),
    minutes=20,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "A subgraph as a node goes on inside: what it finished is not run again.",
            lambda: m.starts(traced("subgraph_as_node"), "prepare") == 1,
        ),
        Fact(
            "A dropped write inside a subgraph is not returned by the parent: no phantom.",
            lambda: not any(row.phantom for row in traced("subgraph_as_node").ledger),
        ),
        Fact(
            "A node that calls a graph runs again from its first line at every resume.",
            lambda: m.starts(traced("subgraph_in_function"), "call") == 3,
        ),
        Fact(
            "An entrypoint runs again, a finished @task does not.",
            lambda: runs_of("order", "double")(traced("functional_task_asks")) == (2, 1),
        ),
    ),
)
