"""Notebook 03: what a node wrote is applied when the node ends, so write in one node and ask in the next."""

from hitl_lab.course.attempt import perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke, Resume
from hitl_lab.scenarios.broken_node import QUESTION, draft
from hitl_lab.scenarios.fix_a_split_node import attach, review

NODES = ("draft", "attach", "review")

PREDICTIONS = (
    Prediction(
        name="kept",
        question="`attach` writes the payload and ends. Then `review` asks. What has become of the payload at the pause?",
        choices=(
            Choice("Dropped, as before: it is the same run that pauses.", "dropped"),
            Choice("Pending: it is applied when the run has ended.", "pending"),
            Choice("Applied: it is in the state and in a checkpoint.", "applied"),
        ),
        measure=lambda trace: m.fate(trace, "attach", "messages"),
        # Not the ledger: it would answer the next question.
        evidence=lambda trace: [
            f"get_state() has the payload: {m.yes(m.has(m.saved(trace), 'hitl_payload'))}",
            f"pending writes: {', '.join(row.channel for row in m.read(trace).pending)}",
        ],
        why={
            "applied": "`attach` ended, so its writes were committed. `after_tick` applied them at the end of that "
            "superstep, and a checkpoint was made. Only then did `review` begin."
        },
    ),
    Prediction(
        name="phantom",
        question="Does invoke() return anything at the pause that is not saved?",
        choices=(
            Choice("Yes: the payload is a phantom, as before.", True),
            Choice("No: what it returns is what get_state() reads.", False),
        ),
        measure=lambda trace: any(row.phantom for row in trace.ledger),
        evidence=lambda trace: [f"{row.write} of `{row.node}`: {row.label}" for row in trace.ledger],
        why={False: "A phantom is a dropped write that was returned. Here `review` had written nothing when it asked."},
    ),
    Prediction(
        name="again",
        question="The person answers. Which nodes run a second time?",
        choices=(
            Choice("None: the run goes on after interrupt().", (), "resumes_at_its_line"),
            Choice("Only `review`.", ("review",)),
            Choice("`attach` and `review`.", ("attach", "review")),
            Choice("All three: the run starts over.", NODES),
        ),
        measure=lambda trace: m.ran_again(trace, *NODES),
        evidence=lambda trace: m.counts(trace, *NODES),
        why={("review",): "A checkpoint stands between `attach` and `review`. The run goes on from there."},
    ),
    Prediction(
        name="transfer",
        question="`attach` runs beside `review`, in one superstep. What has become of its payload at the pause?",
        choices=(
            Choice("Pending: saved for its task, not yet applied.", "pending"),
            Choice("Applied, as before: `attach` has ended.", "applied"),
            Choice("Dropped: the superstep was interrupted.", "dropped"),
        ),
        measure=lambda trace: m.fate(trace, "attach"),
        evidence=m.told,
        why={
            "pending": "`attach` ended, so its write was committed and saved. But a superstep is applied as a whole, "
            "and `review` had not ended. After the answer, both are applied together."
        },
    ),
)

TWO_RUNS = (Invoke(QUESTION), Resume("approved"))

ORDER = Ordering(
    name="split",
    task="Put fix A together: the payload is attached in one node, and the next one asks.",
    head="def build(saver):",
    given=lambda: given(draft=draft, attach=attach, review=review),
    blocks=(
        "graph = StateGraph(MessagesState)",
        'for name, node in (("draft", draft), ("attach", attach), ("review", review)):\n    graph.add_node(name, node)',
        'graph.add_edge(START, "draft")\ngraph.add_edge("draft", "attach")',
        'graph.add_edge("attach", "review")\ngraph.add_edge("review", END)',
        "return graph.compile(checkpointer=saver)",
    ),
    extra={'graph.add_edge("draft", "review")': "then `review` would run beside `attach`, not after it."},
    perform=lambda build: perform(build, TWO_RUNS),
    goals=(
        Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("the payload is applied before the pause", lambda a: m.fate(a.trace, "attach") == "applied"),
        Goal("it is done after the answer", lambda a: not a.paused[1] and len(a.final["messages"]) == 3),
    ),
    hints=(
        "The StateGraph comes first, compile() last. Nodes must be there before edges between them.",
        "`review` must come after `attach`, and not beside it. One piece makes an edge that does the opposite.",
    ),
)

HEAD = """
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from hitl_lab.course import send_hook


class Trip(TypedDict):
    city: str
    price: int
    answer: str
"""

ONE_NODE = """

def build(saver):
    graph = StateGraph(Trip)
    graph.add_node("offer", offer)
    graph.add_edge(START, "offer")
    graph.add_edge("offer", END)
    return graph.compile(checkpointer=saver)
"""

EXERCISE = Exercise(
    name="trip",
    task="Build a graph for a trip: `price` is in the state when the person is asked, `answer` after that.",
    perform=lambda build: perform(build, (Invoke({"city": "Oslo"}), Resume("yes"))),
    goals=(
        Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("`price` is applied before the pause", lambda a: m.applied_before_pause(a.trace, "price")),
        Goal("no write is dropped", lambda a: not a.rows(fate="dropped")),
        Goal('`answer` is "yes" at the end', lambda a: a.final["answer"] == "yes"),
    ),
    mistakes=(
        Mistake(
            "except_is_harmless",
            lambda a: not a.paused[0] and any(e.kind == "interrupt_called" for e in a.trace.events),
            HEAD
            + """

def offer(state):
    try:
        answer = interrupt("Book it?")
    except Exception:
        answer = "yes"
    return {"price": 120, "answer": answer}
"""
            + ONE_NODE,
        ),
        Mistake(
            "before_interrupt_is_saved",
            lambda a: bool(a.rows("price", fate="dropped")),
            HEAD
            + """

def offer(state):
    send = send_hook()
    send([("price", 120)])
    return {"answer": interrupt("Book it?")}
"""
            + ONE_NODE,
        ),
        Mistake(
            "written_after_the_answer",
            lambda a: bool(a.rows("price", run="run 2")) and not a.rows("price", run="run 1"),
            HEAD
            + """

def offer(state):
    answer = interrupt("Book it?")
    return {"price": 120, "answer": answer}
"""
            + ONE_NODE,
            "`price` was written after the answer: the person decided without it. Write it in a node before.",
        ),
        Mistake(
            "beside_not_before",
            lambda a: bool(a.rows("price", run="run 1")) and not m.applied_before_pause(a.trace, "price"),
            HEAD
            + """

def quote(state):
    return {"price": 120}


def ask(state):
    return {"answer": interrupt("Book it?")}


def build(saver):
    graph = StateGraph(Trip)
    for node in (quote, ask):
        graph.add_node(node.__name__, node)
        graph.add_edge(START, node.__name__)
        graph.add_edge(node.__name__, END)
    return graph.compile(checkpointer=saver)
""",
            "`price` was written beside the question, in one superstep with it: pending, not applied. Put an edge "
            "between the two nodes.",
        ),
    ),
    hints=(
        "You need two nodes: one that ends with the price written, one that asks.",
        "Connect them with an edge: START to the first, the first to the second, the second to END.",
        'The first returns {"price": 120}; the second returns {"answer": interrupt("Book it?")}.',
    ),
)


def fixed():
    """Fix A's whole story."""
    return traced("fix_a_split_node")


LESSON = Lesson(
    name="03_fix_a_split_the_node",
    title="Fix A: split the node",
    goals=(
        "say when a write is applied",
        "split a node so that nothing is lost at the pause",
        "tell a node before the question from one beside it",
    ),
    minutes=20,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "The writes of a node that ended are applied before the next one asks.",
            lambda: m.fate(fixed(), "attach") == "applied",
        ),
        Fact(
            "So there is no phantom: all that is returned is saved.",
            lambda: not any(row.phantom for row in fixed().ledger),
        ),
        Fact(
            "After the answer only the node that asked runs again.", lambda: m.ran_again(fixed(), *NODES) == ("review",)
        ),
    ),
)
