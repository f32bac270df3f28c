"""Notebook 06: the process dies at the pause. What stands in the database, and what an answer then does."""

from functools import cache

from hitl_lab import crash, mutation
from hitl_lab.answers import answers
from hitl_lab.course.attempt import act
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.scenarios import fix_a_split_node
from hitl_lab.scenarios.broken_node import QUESTION

FIX_A = "fix_a_split_node"


def payload(found):
    """What became of the payload of `attach`: "kept", "gone", or "varies" if its save was not waited for."""
    if any(call.startswith("put of") for call in found.unawaited):
        return "varies"
    place = next((s.place for s in found.survivors if s.node == "attach"), "gone")
    return "kept" if place in ("checkpoint", "pending") else "gone"


def question(found):
    """What became of the question: "stored", "not stored", or "varies"."""
    if found.unawaited:
        return "varies"
    return "stored" if found.question else "not stored"


def told(found):
    """What the killed process had handed over and what stands in the database; of what races, only that it does."""
    lines = [f"killed {crash_words(found.at)}, durability {found.durability}"]
    if found.unawaited:
        return [
            *lines,
            f"saves that nothing waited for: {', '.join(found.unawaited)}",
            "Another try may end otherwise.",
        ]
    lines += [str(survivor) for survivor in found.survivors]
    asked = f"the question: {'stored' if found.question else 'not stored'}"
    return [*lines, asked, f"in the database: {found.rows.counts()}"]


def crash_words(at):
    """The point in words."""
    from hitl_lab.crashes import in_words

    return in_words(at)


CHOICES = {"kept": "It is saved.", "gone": "It is gone.", "varies": "It varies from try to try."}
WHY = {
    ("in_node", "sync"): '"sync" waits for each checkpoint before the next step begins. `attach` had ended, and its '
    "checkpoint was saved before `review` ran.",
    ("in_node", "async"): '"async" saves beside the run. When the process dies, some saves are under way on another '
    "thread, and how far they came is luck.",
    ("in_node", "exit"): '"exit" saves once, when the run is over. It was not over: the process died in it.',
    ("interrupt_chunk", "sync"): "The payload's checkpoint was saved before `review` began.",
    ("interrupt_chunk", "async"): "The chunk is handed out while the saves are still under way.",
    ("interrupt_chunk", "exit"): "The chunk comes before the run is over, and only then is anything saved.",
}
BELIEFS = {"exit": ("kept", "shown_is_stored"), "async": ("kept", "async_is_soon_enough"), "sync": ("gone", "")}


def cell(point, durability, when):
    """One cell of the crash table as a prediction."""
    right = {"sync": "kept", "async": "varies", "exit": "gone"}[durability]
    wrong, belief = BELIEFS[durability]
    return Prediction(
        name=f"{point}_{durability}",
        question=f'Durability "{durability}". The process dies {when}. What of the payload?',
        choices=tuple(Choice(CHOICES[v], v, belief if v == wrong else "") for v in CHOICES),
        measure=payload,
        evidence=told,
        why={right: WHY[point, durability]},
    )


def kept_in(founds):
    """The durability modes in which payload and question were both there."""
    return tuple(mode for mode, found in founds.items() if (payload(found), question(found)) == ("kept", "stored"))


def counts(found):
    """Of the change in place: in how many of n runs it was there, in the two modes that do not race."""
    return tuple("all" if found[d].seen == found[d].n else "none" if not found[d].seen else "some" for d in found)


def ran_lookup(found):
    """Whether the finished sibling ran again."""
    return "lookup" in found.ran


def handed_over(trace):
    """Return which process the applied write of `lookup` is of, and how often `lookup` ran."""
    row = next(row for row in trace.ledger if row.node == "lookup" and row.fate == "applied")
    return row.run, m.starts(trace, "lookup")


PREDICTIONS = (
    *(cell("in_node", mode, "in `review`, just before it asks") for mode in ("sync", "async", "exit")),
    *(cell("interrupt_chunk", mode, "when the stream has shown the question") for mode in ("sync", "async", "exit")),
    Prediction(
        name="shown_sync",
        question='Durability "sync". The stream has shown the question, then the process dies. Is the question stored?',
        choices=(
            Choice("Yes: it was shown, so it was stored first.", "stored", "shown_is_stored"),
            Choice("No, never.", "not stored"),
            Choice("It varies from try to try.", "varies"),
        ),
        measure=question,
        evidence=told,
        why={
            "varies": "The question is a pending write. The saver's put_writes for it runs on a thread of its own, and "
            "nothing waits for it before the chunk is handed out."
        },
    ),
    Prediction(
        name="returned",
        question="invoke() has returned, then the process dies. In which modes are payload and question there?",
        choices=(
            Choice('Only in "sync".', ("sync",)),
            Choice('In "sync" and "async".', ("sync", "async")),
            Choice("In all three.", ("sync", "async", "exit")),
        ),
        measure=kept_in,
        evidence=lambda founds: [f"{mode}: payload {payload(f)}, question {question(f)}" for mode, f in founds.items()],
        why={
            (
                "sync",
                "async",
                "exit",
            ): "invoke() waits for every save before it returns. Until then, nothing is promised."
        },
    ),
    Prediction(
        name="resume",
        question='"sync", killed in `review`: nobody saw a question. What does Command(resume="approved") do?',
        choices=(
            Choice("It raises an error: there is no question to answer.", "error"),
            Choice("`review` runs and asks.", "review → asks", "answers_what_i_see"),
            Choice("`review` runs and takes the answer, and the run is done.", "review → done"),
        ),
        measure=lambda found: "error" if found.error else found.resume,
        evidence=lambda found: [f"resume ran: {', '.join(found.ran)}", f"it ended: {found.resume.split()[-1]}"],
        why={
            "review → done": "An answer goes to the next interrupt() that runs. Nobody looks whether its question "
            "was ever stored, or shown."
        },
    ),
    Prediction(
        name="resume_nothing",
        question='"exit", killed at the same place: nothing is saved. What does Command(resume="approved") do?',
        choices=(
            Choice("It raises an error: the thread does not exist.", "error"),
            Choice("The graph starts over and asks. The customer's message is lost.", "asks without the input"),
            Choice("The graph starts over and asks. The customer's message is there.", "asks with the input"),
        ),
        measure=lambda found: (
            "error" if found.error else "asks with" + ("" if has_input(found) else "out") + " the input"
        ),
        evidence=lambda found: [f"resume ran: {', '.join(found.ran)}", f"messages then: {len(messages(found))}"],
        why={
            "asks without the input": "A new thread begins with the answer as its only input. The nodes run, but the "
            "message that started it all was only in the process that died."
        },
    ),
    Prediction(
        name="two_processes",
        question="One process pauses and ends. `lookup` had finished. Another process resumes. How often does `lookup` run?",
        choices=(
            Choice("Twice: the second process knows nothing of it.", ("run 2", 2), "siblings_run_again"),
            Choice("Once, in the first process; its write waits in the database.", ("run 1", 1)),
        ),
        measure=handed_over,
        evidence=lambda trace: [f"{row.run}: {row.node} wrote {row.channel}: {row.label}" for row in trace.ledger],
        why={
            (
                "run 1",
                1,
            ): "Its write was in the database as a pending write, under the id of its task. The second process "
            "took it from there."
        },
    ),
    Prediction(
        name="in_place",
        question="A node changes the message in place, then asks. In which mode is the change in the database then?",
        choices=(
            Choice('In "sync" and in "exit": the state was changed.', ("all", "all"), "mutation_is_a_write"),
            Choice('Only in "sync".', ("all", "none")),
            Choice('Only in "exit".', ("none", "all")),
            Choice("In neither: nothing was written.", ("none", "none")),
        ),
        measure=counts,
        evidence=lambda found: [f"{durability}: in {c.seen} of {c.n} runs" for durability, c in found.items()],
        why={
            ("none", "all"): '"sync" had turned the message into bytes before the node changed it. "exit" does that at '
            'the end, when the change is in it. "async" may do either. It is no write, so nothing is promised.'
        },
    ),
    Prediction(
        name="transfer",
        question="The process died when the write of `lookup` was stored. Does `lookup` run again at the resume?",
        choices=(
            Choice("Yes: its superstep never ended.", True, "siblings_run_again"),
            Choice("No: its write is stored.", False),
        ),
        measure=ran_lookup,
        evidence=lambda found: [
            *(f"{s.node} wrote {s.channel}: {s.place}" for s in found.survivors if s.node == "lookup"),
            f"resume ran: {', '.join(found.ran)}",
        ],
        why={
            False: "A task with saved writes counts as finished, also after a crash. So `ask` ran again, and `lookup` did not."
        },
    ),
)


def messages(found):
    """The messages of the state after the resume."""
    return m.saved(found.resumed)["messages"]


def has_input(found):
    """Whether the person's first message is in the state after the resume."""
    return m.has(messages(found), "My parcel is broken")


def stopped(saver):
    """Fix A, standing where a crash before the question leaves it: all saved, `review` next, no question."""
    graph = fix_a_split_node.build(saver)
    graph.interrupt_before_nodes = ["review"]
    return graph


def stop_and_go(go_on):
    """Stop before `review`, as a crash does, then let the learner go on."""

    def do(graph, config):
        graph.interrupt_before_nodes = []
        return go_on(graph, config)

    if go_on is None or not callable(go_on):
        return act(go_on, stopped, QUESTION)
    return act(do, stopped, QUESTION)


def answered(attempt):
    """What became of each answer."""
    return [answer.fate for answer in answers(attempt.trace.story)]


HEAD = """
from langgraph.types import Command

"""

EXERCISE = Exercise(
    name="after_crash",
    task='Go on after the crash: see that the question comes up first, then answer "approved".',
    perform=stop_and_go,
    goals=(
        Goal("the question came up before the answer", lambda a: answered(a)[-1:] == ["taken"]),
        Goal("the answer is in the state", lambda a: a.final["messages"][-1].content == "approved"),
        Goal("the run is done", lambda a: not a.paused[-1]),
        Goal("`attach` did not run again", lambda a: m.starts(a.trace, "attach") == 1),
    ),
    mistakes=(
        Mistake(
            "answers_what_i_see",
            lambda a: "taken before asked" in answered(a),
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(Command(resume="approved"), config)
""",
            "The answer was taken, but by a question that nobody had seen. Let the node ask first.",
        ),
        Mistake(
            "starts_over",
            lambda a: m.starts(a.trace, "attach") > 1,
            HEAD
            + """
def go_on(graph, config):
    graph.invoke({"messages": []}, config)
    graph.invoke(Command(resume="approved"), config)
""",
            "A new input starts the graph over, from its first node. What was saved is enough: go on from there.",
        ),
        Mistake(
            "not_answered",
            lambda a: not answered(a),
            HEAD
            + """
def go_on(graph, config):
    graph.invoke(None, config)
""",
            "The question is there now, and nobody has answered it yet.",
        ),
    ),
    hints=(
        "get_state(config) says what is next and whether a question waits. After this crash, none does.",
        "invoke(None, config) goes on from the last checkpoint: the node runs and asks.",
        'if not graph.get_state(config).interrupts: graph.invoke(None, config). Then Command(resume="approved").',
    ),
)


@cache
def killed(at, durability="sync"):
    """A crash of fix A; kept, for each takes a second and a half."""
    return crash(FIX_A, at=at, durability=durability)


LESSON = Lesson(
    name="06_durability_and_crashes",
    title="Durability and crashes",
    goals=(
        "say what is saved when a process dies, in each durability mode",
        "look into the database instead of believing",
        "go on after a crash without an answer to an unseen question",
    ),
    minutes=40,
    predictions=PREDICTIONS,
    exercises=(EXERCISE,),
    recap=(
        Fact('"sync" saves each step before the next.', lambda: payload(killed("in_node")) == "kept"),
        Fact(
            '"async" saves beside the run: a crash is a race.', lambda: payload(killed("in_node", "async")) == "varies"
        ),
        Fact(
            '"exit" saves nothing before the run is over, not even a question that was shown.',
            lambda: killed("interrupt_chunk", "exit").rows.tables == {"checkpoints": 0, "writes": 0},
        ),
        Fact("Once invoke() has returned, all is saved.", lambda: question(killed("returned", "async")) == "stored"),
        Fact(
            "An answer is taken by the next interrupt(), stored or not.",
            lambda: killed("in_node").resume == "review → done",
        ),
        Fact(
            "A change in place is no write.",
            lambda: str(mutation.measure("mutate the state object", "sqlite", "sync", 3)) == "0/3",
        ),
    ),
)
