"""Notebook 02: a write made before interrupt() is dropped at the pause, and yet invoke() returns it."""

from hitl_lab.course.attempt import perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke, Resume
from hitl_lab.scenarios.broken_node import QUESTION, draft
from hitl_lab.scenarios.fix_a_split_node import review

PAYLOAD = "hitl_payload"
MODES = ("sync", "async", "exit")


def where(trace):
    """In which of the two, the returned and the saved state, the payload is."""
    there = (m.has(m.returned(trace), PAYLOAD), m.has(m.saved(trace), PAYLOAD))
    return {(True, True): "both", (True, False): "returned", (False, True): "saved", (False, False): "neither"}[there]


def written(trace):
    """How many writes of state channels stood in task.writes of `review` when it was committed."""
    commit = next(m.events(trace, "commit", "run 1", name="review"))
    return sum(trace.story.write_name(key) is not None for key in commit.writes)


def modes_that_save(traces):
    """The durability modes whose pause kept the payload."""
    return tuple(mode for mode, trace in traces.items() if m.has(m.saved(trace), PAYLOAD))


def payloads(trace):
    """How many saved messages carry the payload after the answer."""
    return sum(m.has(message, PAYLOAD) for message in m.saved(trace, "run 2")["messages"])


def starts(trace):
    """How often `review` ran, as a line of evidence."""
    return [f"`review` ran {m.starts(trace, 'review')} times", *m.told(trace)]


PREDICTIONS = (
    Prediction(
        name="saved",
        question="`review` writes the payload, then calls interrupt(). The graph pauses. What became of the write?",
        choices=(
            Choice("It is in the state: it came before the question.", "applied", "before_interrupt_is_saved"),
            Choice("It is saved as a pending write and waits for the answer.", "pending"),
            Choice("It is gone: neither in the state nor pending.", "dropped"),
        ),
        measure=lambda trace: m.fate(trace, "review", "messages"),
        # Not the ledger: it would answer the next two questions.
        evidence=lambda trace: [
            f"get_state() has the payload: {m.yes(m.has(m.saved(trace), PAYLOAD))}",
            f"pending writes of `review`: {', '.join(row.channel for row in m.read(trace).pending)}",
        ],
        why={
            "dropped": "A task's writes are committed together, when its node has ended. `review` had not ended: it "
            "stopped on interrupt(). So `commit` handed on the question and nothing else."
        },
    ),
    Prediction(
        name="returned",
        question="The graph is paused. Where do you find the payload?",
        choices=(
            Choice("In what invoke() returned, and in get_state().", "both", "returned_is_saved"),
            Choice("In neither.", "neither"),
            Choice("Only in what invoke() returned.", "returned"),
            Choice("Only in get_state().", "saved"),
        ),
        measure=where,
        evidence=lambda trace: [
            f"invoke() returned the payload: {m.yes(m.has(m.returned(trace), PAYLOAD))}",
            f"get_state() has the payload: {m.yes(m.has(m.saved(trace), PAYLOAD))}",
        ],
        why={
            "returned": "At the pause LangGraph makes one last value for the caller, and what `review` wrote is in it. "
            "Nothing of that is saved. We call such a value a phantom."
        },
    ),
    Prediction(
        name="result",
        question='The stream mode "tasks" reports `result: {}` for `review`. How many writes are in its task.writes?',
        choices=(
            Choice("None: the result is empty.", 0, "empty_result"),
            Choice("One: the payload.", 1),
            Choice("Two: the payload and the answer.", 2),
        ),
        measure=written,
        evidence=lambda trace: [
            line
            for e in m.events(trace, "commit", "run 1", name="review")
            for line in (
                f"writes in task.writes of `{e.name}`: {len(e.writes)}",
                f"writes that commit handed on: {len(e.writes) - len(e.dropped)}",
                f"and besides: {', '.join(row.channel for row in e.handed)}",
            )
        ],
        why={
            1: "The write went into task.writes and stayed there. The stream reports only the writes that `commit` "
            "handed on, and that was none."
        },
    ),
    Prediction(
        name="durability",
        question='We run it with durability "sync", "async" and "exit". Which of them saves the payload at the pause?',
        choices=(
            Choice('Only "sync": it saves before the next step.', ("sync",), "durability_saves"),
            Choice('Only "exit": it saves everything at the end.', ("exit",), "durability_saves"),
            Choice("All three.", ("sync", "async", "exit"), "durability_saves"),
            Choice("None of them.", ()),
        ),
        measure=modes_that_save,
        evidence=lambda traces: [f"{mode}: {row.label}" for mode, t in traces.items() for row in m.rows(t, "review")],
        why={(): "The mode decides when something is saved. `commit` decided before that, and left the write out."},
    ),
    Prediction(
        name="resumed",
        question='Now the person answers: Command(resume="approved"). How many messages carry the payload then?',
        choices=(
            Choice("None: the node goes on after interrupt(), past the write.", 0, "resumes_at_its_line"),
            Choice("One.", 1),
            Choice("Two: the node wrote it twice.", 2),
        ),
        measure=payloads,
        evidence=starts,
        why={
            1: "The node ran again from its first line and made the write again. This time it ended, so its writes "
            "were applied. The message has the same id, so the reducer put it in place of the draft, once."
        },
    ),
    Prediction(
        name="transfer",
        question="A parcel: `pick` finished. `pack` sent a note and an item, then asked. What is saved at the pause?",
        choices=(
            Choice(
                'items ["tea", "ribbon"], note "packed"', (("tea", "ribbon"), "packed"), "before_interrupt_is_saved"
            ),
            Choice('items ["tea"], note "packed"', (("tea",), "packed"), "other_key_is_safe"),
            Choice('items ["tea", "ribbon"], note "picked"', (("tea", "ribbon"), "picked"), "other_key_is_safe"),
            Choice('items ["tea"], note "picked"', (("tea",), "picked")),
        ),
        measure=lambda trace: (tuple(m.saved(trace)["items"]), m.saved(trace)["note"]),
        evidence=m.told,
        why={
            (("tea",), "picked"): "`pick` had ended, so its writes were applied and saved. `pack` had not: both its "
            "writes were dropped, whichever channel they were for."
        },
    ),
)


ORDER = Ordering(
    name="wire",
    task="Put a graph together that drafts, pauses for a person, and goes on with the answer.",
    head="def build(saver):",
    given=lambda: given(draft=draft, review=review),
    blocks=(
        "graph = StateGraph(MessagesState)",
        'graph.add_node("draft", draft)\ngraph.add_node("review", review)',
        'graph.add_edge(START, "draft")\ngraph.add_edge("draft", "review")\ngraph.add_edge("review", END)',
        "return graph.compile(checkpointer=saver)",
    ),
    extra={
        "return graph.compile()": "without a checkpointer nothing is saved at the pause, so nothing can go on from it.",
    },
    perform=lambda build: perform(build, (Invoke(QUESTION), Resume("approved"))),
    goals=(
        Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("it is done after the answer", lambda a: not a.paused[1] and len(a.final["messages"]) == 3),
    ),
    hints=(
        "A node must be added to something: begin with the StateGraph.",
        "compile() makes the graph as it is by then: it comes last.",
    ),
)


def kept(attempt):
    """Whether exactly one message carries the payload at the end."""
    return sum(PAYLOAD in message.additional_kwargs for message in attempt.final["messages"]) == 1


HEAD = """
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import interrupt

from hitl_lab.course import send_hook
from hitl_lab.scenarios.broken_node import build as build_graph
from hitl_lab.scenarios.broken_node import draft, with_payload
"""

BUILD = """
def build(saver):
    return build_graph(saver, draft, review)
"""

EXERCISE = Exercise(
    name="no_drop",
    task="Write `my_review` so that no write is dropped: it still asks, and the payload is there after the answer.",
    perform=lambda build: perform(build, (Invoke(QUESTION), Resume("approved"))),
    goals=(
        Goal("it still pauses and asks", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("no write is dropped", lambda a: not a.rows(fate="dropped") and not a.rows(fate="lost")),
        Goal("nothing is changed in place", lambda a: not a.rows(fate="undefined")),
        Goal("the payload is there after the answer, once", kept),
    ),
    mistakes=(
        Mistake(
            "except_is_harmless",
            lambda a: not a.paused[0] and any(e.kind == "interrupt_called" for e in a.trace.events),
            HEAD
            + """
def review(state):
    try:
        answer = interrupt("Review the draft")
    except Exception:
        answer = "no answer yet"
    return {"messages": [with_payload(state["messages"][-1]), HumanMessage(answer, id="h2")]}
"""
            + BUILD,
        ),
        Mistake(
            "no_question",
            lambda a: not a.paused[0],
            HEAD
            + """
def review(state):
    return {"messages": [with_payload(state["messages"][-1])]}
"""
            + BUILD,
            "The graph ran through: nobody was asked. Keep the interrupt().",
        ),
        Mistake(
            "mutation_is_a_write",
            lambda a: bool(a.rows(fate="undefined")),
            HEAD
            + """
def review(state):
    state["messages"][-1].additional_kwargs["hitl_payload"] = "risk: low"
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}
"""
            + BUILD,
        ),
        Mistake(
            "before_interrupt_is_saved",
            lambda a: bool(a.rows(fate="dropped")),
            HEAD
            + """
def review(state):
    send = send_hook()
    send([("messages", [with_payload(state["messages"][-1])])])
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}
"""
            + BUILD,
        ),
        Mistake(
            "payload_forgotten",
            lambda a: not kept(a),
            HEAD
            + """
def review(state):
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}
"""
            + BUILD,
            "Nothing was dropped, but nothing was written either: the payload is missing after the answer.",
        ),
    ),
    hints=(
        "A write is dropped if the node stops at interrupt() after it. When does the node no longer stop?",
        "Write after interrupt() gave the answer back. What the node returns is written when it ends.",
        "Return two messages: `with_payload(state['messages'][-1])` and the HumanMessage with the answer.",
    ),
)


def broken():
    """The broken node's whole story."""
    return traced("broken_node")


LESSON = Lesson(
    name="02_the_broken_node",
    title="The broken node and the phantom",
    goals=(
        "say where a write goes that was made before interrupt()",
        "tell what was returned from what is saved",
        "read a ledger",
    ),
    minutes=30,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "A write made before interrupt() is dropped at the pause.",
            lambda: m.fate(broken(), "review") == "dropped",
        ),
        Fact("invoke() returns it all the same: a phantom.", lambda: m.rows(broken(), "review")[0].phantom),
        Fact("task.writes held it, but commit handed on only the question.", lambda: written(broken()) == 1),
        Fact(
            "It is so in every durability mode.",
            lambda: {m.fate(traced("broken_node", durability=d), "review") for d in MODES} == {"dropped"},
        ),
        Fact(
            "After the answer the node runs again from its top, and its writes are applied when it ends.",
            lambda: m.starts(broken(), "review") == 2 and m.fate(broken(), "review", run="run 2") == "applied",
        ),
    ),
)
