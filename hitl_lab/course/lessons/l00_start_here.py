"""Notebook 00: the installation, the five parts, and a first trace."""

from hitl_lab.course.attempt import perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke, Resume

PREDICTIONS = (
    Prediction(
        name="stop",
        question="`ask` calls interrupt(). What does invoke() do?",
        choices=(
            Choice("It waits until somebody types an answer.", "waits"),
            Choice("It raises an exception to the caller.", "raises"),
            Choice("It returns.", "returns"),
        ),
        measure=lambda trace: "returns" if any(m.events(trace, "returned", "run 1")) else "raises",
        evidence=lambda trace: [*m.told(trace), f"the run ended: {trace.story.runs[0].status}"],
        why={
            "returns": "Inside, interrupt() raises GraphInterrupt. LangGraph catches it, saves the question, and returns. "
            "Nothing waits: the program may end, and the answer may come tomorrow."
        },
    ),
    Prediction(
        name="transfer",
        question="`hello` has ended, `ask` asks, `thank` comes after it. What does get_state().next say at the pause?",
        choices=(
            Choice("ask: it has not ended.", ("ask",)),
            Choice("thank: `ask` has begun already.", ("thank",), "resumes_at_its_line"),
            Choice("ask, thank: both are still to do.", ("ask", "thank")),
            Choice("nothing: the run has ended.", ()),
        ),
        measure=lambda trace: tuple(sorted(m.read(trace).next)),
        evidence=m.told,
        why={
            (
                "ask",
            ): "`ask` began, but it did not end. So it is what runs next. After the answer it runs again, from its "
            "first line. `thank` comes up only when `ask` has ended."
        },
    ),
)

GOALS = (
    Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
    Goal('the log says "hello Ada" at the end', lambda a: a.final["log"][-1] == "hello Ada"),
)


def parts():
    """The names that the blocks of the ordering use, as in the notebook."""
    space = {}
    exec(HEAD + ASK, space)  # noqa: S102 - the lesson's own text, the same that the learner reads
    return {name: space[name] for name in ("Log", "ask")}


STORY = (Invoke({"log": []}), Resume("Ada"))

ORDER = Ordering(
    name="first",
    task="Put your first graph together: one node, which asks.",
    head="def build(saver):",
    given=lambda: given(**parts()),
    blocks=(
        "graph = StateGraph(Log)",
        'graph.add_node("ask", ask)',
        'graph.add_edge(START, "ask")\ngraph.add_edge("ask", END)',
        "return graph.compile(checkpointer=saver)",
    ),
    perform=lambda build: perform(build, STORY),
    goals=(
        GOALS[0],
        Goal('the log says "your name: Ada" at the end', lambda a: a.final["log"] == ["your name: Ada"]),
    ),
    hints=("Nodes and edges are added to a StateGraph, so it must be there first.", "compile() comes last."),
)

HEAD = """
import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class Log(TypedDict):
    log: Annotated[list[str], operator.add]

"""

ASK = """
def ask(state):
    return {"log": [f"your name: {interrupt('Your name?')}"]}
"""

BUILD = """

def build(saver):
    graph = StateGraph(Log)
    graph.add_node("greet", greet)
    graph.add_edge(START, "greet")
    graph.add_edge("greet", END)
    return graph.compile(checkpointer=saver)
"""

EXERCISE = Exercise(
    name="hello",
    task='Write the node `greet`: it asks for a name, and returns one entry for the log, like "hello Ada".',
    perform=lambda build: perform(build, STORY),
    goals=GOALS,
    mistakes=(
        Mistake(
            "nobody_asked",
            lambda a: not a.paused[0],
            HEAD + '\ndef greet(state):\n    return {"log": ["hello Ada"]}\n' + BUILD,
            "The graph ran through: nobody was asked. Call interrupt() with your question.",
        ),
        Mistake(
            "mutation_is_a_write",
            lambda a: bool(a.rows(fate="undefined")),
            HEAD + "\ndef greet(state):\n    state['log'].append(f\"hello {interrupt('Your name?')}\")\n" + BUILD,
        ),
        Mistake(
            "answer_not_used",
            lambda a: a.paused[0] and "Ada" not in str(a.final["log"]),
            HEAD + "\ndef greet(state):\n    interrupt('Your name?')\n    return {'log': ['hello']}\n" + BUILD,
            "The answer is what interrupt() gives back. Use it.",
        ),
        Mistake(
            "other_words",
            lambda a: a.paused[0] and "Ada" in str(a.final["log"]),
            HEAD + "\ndef greet(state):\n    return {'log': ['hello', interrupt('Your name?')]}\n" + BUILD,
            'The name is in the log, but not as one entry "hello Ada".',
        ),
    ),
    hints=(
        "interrupt(question) stops the run. When the answer has come, it gives the answer back.",
        'So the first line is: name = interrupt("Your name?")',
        'And the second: return {"log": [f"hello {name}"]}',
    ),
)

LESSON = Lesson(
    name="00_start_here",
    title="Start here",
    goals=("know that the installation works", "name the five parts", "read a first trace"),
    minutes=15,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "A pause is no error: invoke() returns, and the question is saved.",
            lambda: bool(m.read(traced("loop_asks")).interrupts),
        ),
        Fact("The node that asked is still to be run.", lambda: m.read(traced("loop_asks")).next == ("ask",)),
        Fact(
            "What a node returns goes through task.writes and pending writes into a checkpoint.",
            lambda: m.fate(traced("loop_asks"), "write") == "applied",
        ),
    ),
)
