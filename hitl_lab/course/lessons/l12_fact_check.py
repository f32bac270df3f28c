"""Notebook 12: each claim of the forum answer, taken apart and run; the verdict is computed from the parts."""

from hitl_lab import counterfactual, mutation
from hitl_lab.course.attempt import Attempt, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios.broken_node import QUESTION, build

TRUE, HALF, FALSE = "TRUE", "HALF", "FALSE"
MODES = ("sync", "async", "exit")


def verdict(parts):
    """TRUE if every part of a claim holds, FALSE if none does, else HALF."""
    held = [bool(part) for part in parts.values()]
    return TRUE if all(held) else HALF if any(held) else FALSE


def claim(name, text, why):
    """A claim as a question: what will its verdict be? Its run gives back a dict from part to bool."""
    return Prediction(
        name=name,
        question=f"“{text}”",
        choices=(
            Choice("TRUE: every part of it holds.", TRUE),
            Choice("HALF: some parts hold, some do not.", HALF),
            Choice("FALSE: no part of it holds.", FALSE),
        ),
        measure=verdict,
        evidence=lambda parts: [f"{m.yes(held):3}  {part}" for part, held in parts.items()],
        why=why,
    )


PREDICTIONS = (
    claim(
        "new_list",
        "When a node stops on interrupt(), commit() hands on a new list with only INTERRUPT and RESUME. task.writes still "
        "holds the rest.",
        {TRUE: "The trace saw it happen: what commit got, and what it handed on."},
    ),
    claim(
        "replaced",
        "put_writes() then replaces what was pending for the task, and that is how the write is lost.",
        {
            HALF: "At the pause only the question is pending: that is right. But the write was never handed to put_writes(), "
            "so there was nothing to replace. And a saver keeps the row that it has."
        },
    ),
    claim(
        "durability",
        "The write is lost whatever the durability mode, and whatever the checkpointer.",
        {TRUE: "It was dropped in all six. commit comes first, and saving comes after it."},
    ),
    claim(
        "duplicates",
        "The filter is there against duplicates: the node runs again, so a saved write would be made twice.",
        {
            HALF: "The node does run again. But a write saved under the task's own id would not be there twice: the task "
            "would count as finished, and the answer would be lost. That is the deeper reason."
        },
    ),
    claim(
        "artifact",
        'With durability "exit" the write can seem to survive: a timing artifact of InMemorySaver.',
        {
            FALSE: "It is never saved, and both checkpointers behave alike. What people saw is the phantom, or a message "
            "changed in place."
        },
    ),
    claim(
        "fix_a",
        "Fix A is safe with any durability.",
        {
            HALF: 'Once invoke() has returned, yes. But "exit" saves only at the end. A process that is killed before that '
            "leaves nothing."
        },
    ),
    claim(
        "fix_b",
        "Fix B gives the same result as fix A.",
        {HALF: "The payload is kept. But no question waits, and the answer is lost."},
    ),
    claim(
        "fix_c",
        "Fix C: call update_state() while the graph is paused, then resume. All else stays as it was.",
        {
            HALF: "With one paused node, payload and answer are there. But the question vanishes, and what finished "
            "siblings wrote is discarded."
        },
    ),
    claim(
        "transfer",
        "Every write that is dropped at a pause is returned by invoke() as a phantom.",
        {HALF: "At the top, yes. A write that was dropped inside a subgraph is not returned."},
    ),
)

TRACES = ("broken_node", "fix_a_split_node", "parallel_sibling", "subgraph_as_node")


def truth(trace):
    """The nodes whose writes were dropped in the first run, in order."""
    return [row.node for row in trace.ledger.where(run="run 1", fate="dropped")]


def perform_reader(reader):
    """Let the learner's function read four traces."""
    if not callable(reader):
        return Attempt(untouched=reader is None, problem="Give the function itself, without calling it.")
    answers = {}
    for name in TRACES:
        trace = traced(name)
        try:
            answers[name] = (reader(trace), truth(trace))
        except NotImplementedError:
            return Attempt(untouched=True)
        except Exception as error:  # noqa: BLE001 - the learner's code may raise anything; they read it
            return Attempt(error=error)
        if answers[name][0] is None:
            return Attempt(untouched=True)
    attempt = Attempt()
    attempt.notes["answers"] = answers
    attempt.lines = [f"{name}: it said {list(said)}, the ledger says {true}" for name, (said, true) in answers.items()]
    return attempt


def said(attempt, name):
    """What the learner's function said of a trace."""
    return list(attempt.notes["answers"][name][0])


HEAD = """
def dropped(trace):
"""

EXERCISE = Exercise(
    name="dropped",
    task="Write `dropped(trace)`: the names of the nodes whose writes were dropped in the first run, one for each write.",
    perform=perform_reader,
    goals=tuple(
        Goal(f"right for {name}", lambda a, name=name: said(a, name) == a.notes["answers"][name][1]) for name in TRACES
    ),
    mistakes=(
        Mistake(
            "only_phantoms",
            lambda a: said(a, "broken_node") == ["review"] and said(a, "subgraph_as_node") == [],
            HEAD + "    return [row.node for row in trace.ledger if row.phantom]\n",
            "Your function looks for phantoms. A write that is dropped inside a subgraph is no phantom: the parent never "
            "returned it.",
        ),
        Mistake(
            "returned_is_saved",
            lambda a: said(a, "broken_node") == [],
            HEAD
            + "    return [row.node for row in trace.ledger if not row.returned and row.run == 'run 1' and row.fate == 'dropped']\n",
        ),
        Mistake(
            "too_many",
            lambda a: len(said(a, "fix_a_split_node")) > 0,
            HEAD + "    return [row.node for row in trace.ledger]\n",
            "Your function also names writes that were kept. Look at `row.fate`.",
        ),
    ),
    hints=(
        "trace.ledger is a list of rows, one for each write.",
        "Each row has `node`, `run` and `fate`.",
        'trace.ledger.where(run="run 1", fate="dropped") gives the rows.',
    ),
)


def perform_measure(measure):
    """Run the assembled measurement, recorded."""
    from hitl_lab import record

    try:
        with record() as trace:
            held = measure(build)
    except Exception as error:  # noqa: BLE001 - blocks in a wrong order may raise anything; the learner reads it
        return Attempt(error=error)
    # Each run has a saver of its own, so the trace is no story to tell: only what became of the write.
    modes = [next(m.events(trace, "run_started", run.label)).durability for run in trace.story.runs]
    fates = [m.fate(trace, "review", run=run.label) for run in trace.story.runs]
    lines = [f"{mode}: the write of `review` was {fate}" for mode, fate in zip(modes, fates, strict=True)]
    return Attempt(lines=lines, notes={"held": held, "runs": len(trace.story.runs)})


def order_given():
    """Names for the blocks: the kit itself, and the question."""
    import hitl_lab

    return given(hitl_lab=hitl_lab, QUESTION=QUESTION, CONFIG={"configurable": {"thread_id": "1"}})


ORDER = Ordering(
    name="measure",
    task="Measure the third claim: the write is dropped in every durability mode.",
    head="def measure(build):",
    given=order_given,
    blocks=(
        "fates = []",
        (
            'for mode in ("sync", "async", "exit"):\n    graph = build(InMemorySaver())\n    with hitl_lab.record() as trace:\n'
            "        graph.invoke(QUESTION, CONFIG, durability=mode)\n    fates.append(trace.ledger[-1].fate)"
        ),
        'return fates == ["dropped", "dropped", "dropped"]',
    ),
    extra={
        'return "hitl_payload" not in str(graph.invoke(QUESTION, CONFIG))': "it looks at what was returned, not at what was "
        "saved."
    },
    perform=perform_measure,
    goals=(
        Goal("all three modes were run", lambda a: a.notes["runs"] == 3),
        Goal("the claim holds", lambda a: a.notes["held"] is True),
    ),
    hints=(
        "First an empty list, then a loop that fills it, then a comparison.",
        "`return` ends the function, so it comes last. Which `return` looks at fates?",
    ),
)


def all_dropped():
    """The broken node in three modes."""
    return {m.fate(traced("broken_node", durability=mode), "review") for mode in MODES} == {"dropped"}


LESSON = Lesson(
    name="12_fact_check",
    title="Fact check",
    goals=(
        "take a claim apart into things that can be run",
        "tell a true claim from one that is half true",
        "read a ledger with a few lines of code",
    ),
    minutes=30,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact("The filter in commit() is real, and it does not depend on the durability mode.", all_dropped),
        Fact(
            "The write is lost in commit(): nothing of it was ever handed to put_writes().",
            lambda: next(r for r in traced("broken_node").ledger if r.node == "review").handed is None,
        ),
        Fact(
            "The filter is there for the answer: a task with saved writes would not run again to take it.",
            lambda: counterfactual.measure("P1").answer == "lost",
        ),
        Fact(
            'With "exit" the write is not saved either, on InMemorySaver.',
            lambda: mutation.measure("send before interrupt()", "memory", "exit", n=3).seen == 0,
        ),
        Fact(
            "Fix A keeps payload and answer.",
            lambda: (
                m.fate(traced("fix_a_split_node"), "attach") == "applied"
                and m.answered(traced("fix_a_split_node")) == ["taken"]
            ),
        ),
        Fact(
            "Fix B keeps the payload, and an answer is lost.",
            lambda: m.answered(traced("fix_b_answer_lost")) == ["lost"],
        ),
        Fact(
            "Fix C keeps both, and takes the question away.",
            lambda: not m.read(traced("fix_c_update_state"), "update 1").interrupts,
        ),
    ),
)
