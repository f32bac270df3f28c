"""Notebook 01: a write is in the state only when its whole superstep is over. Built on the live executor."""

from hitl_lab.course.attempt import perform
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke
from hitl_lab.value_text import show
from hitl_lab.values import snapshot

PARTS = ("task.writes", "pending writes", "channels", "checkpoint")
WRITTEN, PENDING, APPLIED = PARTS[:1], PARTS[:2], (PARTS[0], *PARTS[2:])
IN_ORDER = ("draft", "legal", "sales")


def built():
    """The graph of the notebook on a fresh saver."""
    from langgraph.checkpoint.memory import InMemorySaver

    space = {}
    exec(HEAD + SIDE_BY_SIDE, space)  # noqa: S102 - the lesson's own text, the same that the learner reads
    return space["build"](InMemorySaver())


def live():
    """An executor on it."""
    from hitl_lab import TracedExecutor

    config = {"configurable": {"thread_id": "1"}}
    return TracedExecutor(built(), {"log": []}, config, durability="sync")


def stand(phase):
    """What each part holds of channel log after a phase of `draft`."""
    with live() as ex:
        ex.run_to("draft")
        ex.run_to(phase)
        return {
            "task.writes": ex.tasks["draft"].writes.of("log"),
            "pending writes": ex.pending_writes.of("log"),
            "channels": ex.channels["log"],
            "checkpoint": ex.saved().values["log"],
        }


def first_goes(first):
    """The log at the end, when one of the two tasks side by side ran first."""
    with live() as ex:
        ex.run_to("legal")
        ex.step(first)
        ex.finish()
        return ex.returned["log"]


def holders(parts):
    """The parts that hold the write of `draft`."""
    return tuple(name for name in PARTS if "draft" in show(snapshot(parts[name])))


def lines(parts):
    """What each part holds, one line a part."""
    return [f"{name}: {show(snapshot(value))}" for name, value in parts.items()]


def log(result):
    """The log as a line."""
    return [f"log: {show(snapshot(result))}"]


PREDICTIONS = (
    Prediction(
        name="executed",
        question="`draft` has returned. Where is its write now?",
        choices=(
            Choice("In the channels: the node has returned.", ("task.writes", "channels"), "returned_is_in_state"),
            Choice("Only in task.writes.", WRITTEN),
            Choice("In the channels and in the checkpoint.", APPLIED, "returned_is_in_state"),
            Choice("Among the pending writes.", PENDING),
        ),
        measure=holders,
        evidence=lines,
        why={WRITTEN: "A node only fills its own list. Nothing has looked at that list yet: commit does, next."},
    ),
    Prediction(
        name="committed",
        question="commit has dealt with `draft`. Where is its write now?",
        choices=(
            Choice("In task.writes and among the pending writes.", PENDING),
            Choice("In the channels: commit makes it part of the state.", PARTS[:3], "returned_is_in_state"),
            Choice("In all four.", PARTS, "returned_is_in_state"),
        ),
        measure=holders,
        evidence=lines,
        why={
            PENDING: "commit hands the writes to put_writes. They are saved for their task, so "
            "that they need not be made again. The state is still the old one."
        },
    ),
    Prediction(
        name="applied",
        question="after_tick is over. Where is the write of `draft` now?",
        choices=(
            Choice("Still only in task.writes and among the pending writes.", PENDING),
            Choice("In task.writes, the channels and the checkpoint.", APPLIED),
            Choice("In all four.", PARTS),
        ),
        measure=holders,
        evidence=lines,
        why={
            APPLIED: "after_tick applies the writes of all tasks of the superstep, then makes a checkpoint. Nothing "
            "is pending any more. task.writes keeps its list until the next tick makes new tasks."
        },
    ),
    Prediction(
        name="sibling",
        question="`legal` and `sales` are in one superstep. We let `legal` run and commit, then `sales`. "
        "How many entries does `sales` see in the log?",
        choices=(
            Choice("Two: draft, and what `legal` wrote before it.", 2, "siblings_see"),
            Choice("One: draft.", 1),
            Choice("None: the log begins anew in each superstep.", 0),
        ),
        measure=lambda parts: int(parts["sales wrote"][0][0].rsplit(" ", 1)[1]),
        evidence=lines,
        why={
            1: "The write of `legal` is pending. A task gets the state as it was at tick, and nothing is applied before "
            "all tasks of the superstep are committed."
        },
    ),
    Prediction(
        name="order",
        question="Now `sales` runs first, then `legal`. What is the order in the log at the end?",
        choices=(
            Choice("draft, sales, legal: first come, first applied.", ("draft", "sales", "legal"), "first_come"),
            Choice("draft, legal, sales: the order is fixed.", IN_ORDER),
            Choice("It differs from run to run.", ("?",)),
        ),
        measure=lambda found: tuple(entry.split()[0] for entry in found),
        evidence=log,
        why={
            IN_ORDER: "after_tick applies the writes task by task in a fixed order, whoever ran first. "
            "So two runs of the same graph give the same state."
        },
    ),
    Prediction(
        name="transfer",
        question="A parcel: the weight is 1. `weigh` writes weight 3; `price`, in the same superstep, writes 2 times the "
        "weight. What is the price?",
        choices=(
            Choice("6: `weigh` ran before it.", 6, "siblings_see"),
            Choice("2: it saw the old weight.", 2),
            Choice("An error: two nodes cannot start together.", None),
        ),
        measure=lambda returned: returned["price"],
        evidence=lambda returned: [show(snapshot(returned))],
        why={2: "`price` read the weight as it was at tick. The new one is in the state in the next superstep."},
    ),
)

HEAD = """
import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


def draft(state):
    return {"log": ["draft"]}


def legal(state):
    return {"log": [f"legal saw {len(state['log'])}"]}


def sales(state):
    return {"log": [f"sales saw {len(state['log'])}"]}


def nodes():
    graph = StateGraph(Log)
    for node in (draft, legal, sales):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "draft")
    return graph

"""

SIDE_BY_SIDE = """
def build(saver):
    graph = nodes()
    graph.add_edge("draft", "legal")
    graph.add_edge("draft", "sales")
    return graph.compile(checkpointer=saver)
"""


def nodes_of():
    """The names that the blocks of the ordering use."""
    space = {}
    exec(HEAD, space)  # noqa: S102 - the lesson's own text, the same that the learner reads
    return {name: space[name] for name in ("Log", "draft", "legal", "sales")}


STORY = (Invoke({"log": []}),)

ORDER = Ordering(
    name="together",
    task="Put a graph together in which `legal` and `sales` run in one superstep, after `draft`.",
    head="def build(saver):",
    given=lambda: given(**nodes_of()),
    blocks=(
        "graph = StateGraph(Log)",
        'for node in (draft, legal, sales):\n    graph.add_node(node.__name__, node)\ngraph.add_edge(START, "draft")',
        'graph.add_edge("draft", "legal")\ngraph.add_edge("draft", "sales")',
        "return graph.compile(checkpointer=saver)",
    ),
    extra={
        'graph.add_edge("draft", "legal")\ngraph.add_edge("legal", "sales")': "one edge after the other makes one "
        "superstep after the other: `sales` then sees what `legal` wrote.",
    },
    perform=lambda build: perform(build, STORY),
    goals=(
        Goal("both see only what draft wrote", lambda a: a.final.get("log", [])[1:] == ["legal saw 1", "sales saw 1"]),
    ),
    hints=(
        "Two edges from one node start two tasks in the next superstep.",
        "The StateGraph comes first, compile() last. Nodes must be there before edges between them.",
    ),
)


def ran_once(attempt):
    """Whether each node ran once."""
    return sorted(attempt.outcomes[0].ran) == ["draft", "legal", "sales"]


EXERCISE = Exercise(
    name="sees_it",
    task="Build the graph so that `sales` sees what `legal` wrote. Each node runs once, and no node is changed.",
    perform=lambda build: perform(build, STORY),
    goals=(
        Goal("`sales` sees two entries", lambda a: "sales saw 2" in a.final.get("log", [])),
        Goal("`legal` sees one", lambda a: "legal saw 1" in a.final.get("log", [])),
        Goal("each node runs once", ran_once),
        Goal("nothing is changed in place", lambda a: not a.rows(fate="undefined")),
    ),
    mistakes=(
        Mistake(
            "mutation_is_a_write",
            lambda a: bool(a.rows(fate="undefined")),
            HEAD.replace(
                """    return {"log": [f"legal saw {len(state['log'])}"]}""",
                """    state["log"].append(f"legal saw {len(state['log'])}")\n    return {"log": []}""",
            )
            + SIDE_BY_SIDE,
        ),
        Mistake(
            "runs_twice",
            lambda a: a.outcomes[0].ran.count("sales") > 1,
            HEAD
            + """
def build(saver):
    graph = nodes()
    graph.add_edge("draft", "legal")
    graph.add_edge("draft", "sales")
    graph.add_edge("legal", "sales")
    return graph.compile(checkpointer=saver)
""",
            "`sales` ran twice: once beside `legal`, for the edge from `draft`, and once after it. An edge starts its "
            "node in the next superstep, each time. Keep one edge into `sales`.",
        ),
        Mistake("siblings_see", lambda a: "sales saw 1" in a.final.get("log", []), HEAD + SIDE_BY_SIDE),
    ),
    hints=(
        "What is written in one superstep is seen in the next.",
        "`sales` must be in a later superstep than `legal`. An edge does that.",
        "Let the edge into `sales` come from `legal`, and take away the one from `draft`.",
    ),
)

LESSON = Lesson(
    name="01_the_loop",
    title="The loop",
    goals=(
        "name the four phases of a superstep, and what each one moves",
        "say when a node's write is in the state",
        "step a real run and look at its parts",
    ),
    minutes=30,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact("A node that has returned has filled task.writes, no more.", lambda: holders(stand("execute")) == WRITTEN),
        Fact("commit makes its writes pending.", lambda: holders(stand("commit")) == PENDING),
        Fact(
            "after_tick applies them and saves a checkpoint.",
            lambda: holders(stand("after_tick")) == APPLIED,
        ),
        Fact(
            "Tasks of one superstep do not see each other's writes.",
            lambda: first_goes("legal")[1:] == ["legal saw 1", "sales saw 1"],
        ),
        Fact("It does not matter which of them ran first.", lambda: first_goes("legal") == first_goes("sales")),
    ),
)
