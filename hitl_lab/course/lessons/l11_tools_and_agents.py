"""Notebook 11: a pause inside a tool, ToolNode, and an agent with the human-in-the-loop middleware."""

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph

from hitl_lab.course.attempt import Attempt, perform, traced
from hitl_lab.course.lesson import Choice, Exercise, Fact, Goal, Lesson, Mistake, Ordering, Prediction
from hitl_lab.course.lessons import _measure as m
from hitl_lab.course.lessons._given import given
from hitl_lab.scenarios._scenario import Invoke, Resume


def mails(trace, run="run 2"):
    """How many mails went out: results of the tool in the saved messages."""
    return sum(
        m.has(message, "mail sent") for message in m.saved(trace, run)["messages"] if "ToolMessage" in str(message)
    )


def order_of_nodes(trace):
    """The nodes of each run, in their order."""
    names = {run.label: [e.name for e in m.events(trace, "task_started", run.label)] for run in trace.story.runs}
    return [f"{run}: {' → '.join(name for name in nodes if name != '__start__')}" for run, nodes in names.items()]


PREDICTIONS = (
    Prediction(
        name="tool_node",
        question="One message calls two tools: `book` books at once, `pay` asks first. One task of the ToolNode runs both. "
        "After the answer, how often has `book` booked?",
        choices=(
            Choice("Once: it had finished.", 1, "other_tools_wait"),
            Choice("Twice.", 2),
            Choice("Not at all: the pause comes first.", 0),
        ),
        measure=lambda found: found["ran"].count("book"),
        evidence=lambda found: [f"ran: {', '.join(found['ran'])}", *m.counts(found["trace"], "tools")],
        why={
            2: "Both calls are one task, `tools`. At the question the task had not ended, so `commit` handed on nothing but "
            "the question. The task ran again as a whole."
        },
    ),
    Prediction(
        name="sent",
        question="Now each tool call is a task of its own, by Send. After the answer, how often has `book` booked?",
        choices=(Choice("Once.", 1), Choice("Twice, as before.", 2, "siblings_run_again")),
        measure=lambda found: found["ran"].count("book"),
        evidence=lambda found: [f"ran: {', '.join(found['ran'])}", *m.counts(found["trace"], "tools")],
        why={1: "The task of `book` ended, and its write waits as pending. Only the task of `pay` runs again."},
    ),
    Prediction(
        name="rejected",
        question="An agent wants to send a mail. The middleware asks a person, who rejects it. How many mails went out?",
        choices=(
            Choice("One: the model had called the tool already.", 1, "called_is_run"),
            Choice("None.", 0),
        ),
        measure=mails,
        evidence=lambda trace: [f"mails: {mails(trace)}", *m.counts(trace, "model", "tools")],
        why={
            0: "The model only asked for the tool. The middleware asked the person before the tools came, and the tools "
            "never ran. The model then got the no as the result of its call."
        },
    ),
    Prediction(
        name="model",
        question="The same agent, and the person approves. How often is the model called in all?",
        choices=(
            Choice("Twice: once for the tool call, once for the last word.", 2),
            Choice("Three times: it also runs again after the answer.", 3),
            Choice("Once.", 1),
        ),
        measure=lambda trace: m.starts(trace, "model"),
        evidence=lambda trace: m.counts(trace, "model", "HumanInTheLoopMiddleware.after_model", "tools"),
        why={
            2: "The question is asked in a node of its own. That node ran again after the answer, and the model did not."
        },
    ),
    Prediction(
        name="transfer",
        question="`jump` is listed before the approval, and sends every tool call to the tools. The person rejects the mail. How "
        "many mails go out?",
        choices=(
            Choice("None: it was rejected.", 0, "reject_stops_all"),
            Choice("One.", 1),
            Choice("Two.", 2),
        ),
        measure=mails,
        evidence=lambda trace: [f"mails: {mails(trace)}", *order_of_nodes(trace)],
        why={
            1: "Nodes after the model run in reverse order: what is listed first runs last. So `jump` ran after the person's "
            "no, and sent the rejected call to the tools."
        },
    ),
)


class Bank:
    """Counts payments; the first try may fail."""

    def __init__(self, fails=False):
        self.fails, self.paid = fails, 0

    def __call__(self, amount):
        """Pay, or fail."""
        self.paid += 1
        if self.fails:
            raise ConnectionError("the bank did not answer")
        return f"paid {amount}"


def tool_graph(saver, pay):
    """A model that calls `pay` once, and a ToolNode with it."""
    from langgraph.prebuilt import ToolNode

    call = {"name": pay.name, "args": {"amount": 40}, "id": "call1", "type": "tool_call"}
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda _: {"messages": [AIMessage("", id="a1", tool_calls=[call])]})
    graph.add_node("tools", ToolNode([pay], handle_tool_errors=False))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=saver)


def perform_pay(make_pay):
    """Run the learner's tool twice: with a bank that works, and with one that fails."""
    if make_pay is None or not callable(make_pay):
        return perform(make_pay, ())
    story = (Invoke({"messages": []}), Resume("yes"))
    attempts, at_pause = [], []
    for fails in (True, False):
        bank = Bank(fails)
        made = []

        def build(saver, bank=bank, made=made):
            made.append(make_pay(bank))
            return tool_graph(saver, made[0]) if isinstance(made[0], BaseTool) else None

        def answer(snapshot, bank=bank):
            at_pause.append(bank.paid)
            return "yes"

        attempt = perform(build, (story[0], Resume(answer)))
        if made and made[0] is not None and not isinstance(made[0], BaseTool):
            return Attempt(
                problem=f"make_pay gave back a {type(made[0]).__name__}, not a tool. Put @tool above the function."
            )
        attempt.notes.update(paid=bank.paid)
        attempts.append(attempt)
    failing, working = attempts
    working.notes.update(at_pause=sum(at_pause), failing=failing)
    if not (working.untouched or working.problem or working.error or failing.error):
        given = ", ".join(f'"{text}"' for text in results(working)) or "nothing"
        instead = ", ".join(f'"{text}"' for text in results(failing)) or "nothing"
        paid = f"{working.notes['paid']} time{'s' * (working.notes['paid'] != 1)}"
        working.lines = [
            f"with a bank that works it paid {paid} and gave back {given}",
            f"with one that fails it gave back {instead}",
        ]
    working.error = working.error or failing.error
    return working


def results(attempt):
    """The tools' texts at the end."""
    return [message.content for message in attempt.final["messages"] if isinstance(message, ToolMessage)]


HEAD = """
from langchain_core.tools import tool
from langgraph.types import interrupt


def make_pay(bank):
"""

EXERCISE = Exercise(
    name="pay",
    task='Write the tool `pay`: it asks, then pays at the bank. If the bank fails, it returns "the bank failed".',
    perform=perform_pay,
    goals=(
        Goal("it pauses with a question", lambda a: a.paused[0] and bool(a.outcomes[0].interrupts)),
        Goal("nothing is paid before the answer", lambda a: a.notes["at_pause"] == 0),
        Goal('the result is "paid 40"', lambda a: results(a) == ["paid 40"]),
        Goal(
            'if the bank fails, the result is "the bank failed"',
            lambda a: results(a.notes["failing"]) == ["the bank failed"],
        ),
    ),
    mistakes=(
        Mistake(
            "except_is_harmless",
            lambda a: not a.paused[0] and any(e.kind == "interrupt_called" for e in a.trace.events),
            HEAD
            + '''
    @tool
    def pay(amount: int) -> str:
        """Pay, after a person has agreed."""
        try:
            interrupt(f"Pay {amount}?")
            return bank(amount)
        except Exception:
            return "the bank failed"

    return pay


build = make_pay
''',
        ),
        Mistake(
            "side_effects_once",
            lambda a: a.paused[0] and a.notes["at_pause"] > 0,
            HEAD
            + '''
    @tool
    def pay(amount: int) -> str:
        """Pay, then ask."""
        try:
            result = bank(amount)
        except ConnectionError:
            result = "the bank failed"
        interrupt(f"Was {amount} right?")
        return result

    return pay


build = make_pay
''',
        ),
        Mistake(
            "not_asked",
            lambda a: not a.paused[0],
            HEAD
            + '''
    @tool
    def pay(amount: int) -> str:
        """Pay at once."""
        try:
            return bank(amount)
        except ConnectionError:
            return "the bank failed"

    return pay


build = make_pay
''',
            "It paid without asking. Call interrupt() first.",
        ),
        Mistake(
            "failure_not_told",
            lambda a: results(a.notes["failing"]) != ["the bank failed"],
            HEAD
            + '''
    @tool
    def pay(amount: int) -> str:
        """Pay, after a person has agreed."""
        interrupt(f"Pay {amount}?")
        return bank(amount)

    return pay


build = make_pay
''',
            "When the bank fails, the tool must catch it and say so.",
        ),
    ),
    hints=(
        "Only the call of the bank belongs into a `try`. The question does not.",
        "First interrupt(...). Then try: return bank(amount). What does the bank raise when it fails?",
        'except ConnectionError: return "the bank failed". Not `except Exception`: that would catch a pause as well.',
    ),
)


def model(state):
    """Stands for a model that calls two tools."""
    calls = [("book", 1), ("pay", 2)]
    asked = [{"name": name, "args": {"number": n}, "id": f"call{n}", "type": "tool_call"} for name, n in calls]
    return {"messages": [AIMessage("", id="a1", tool_calls=asked)]}


def make_tools():
    """A ToolNode with a plain tool and one that asks."""
    from langchain_core.tools import tool
    from langgraph.prebuilt import ToolNode
    from langgraph.types import interrupt

    @tool
    def book(number: int) -> str:
        """Book a table, at once."""
        return f"booked {number}"

    @tool
    def pay(number: int) -> str:
        """Pay, after a person has agreed."""
        return f"paid {number}: {interrupt(f'Pay {number}?')}"

    return ToolNode([book, pay])


def each_call(state):
    """One task for each tool call."""
    from langgraph.types import Send

    return [Send("tools", [call]) for call in state["messages"][-1].tool_calls]


ORDER = Ordering(
    name="split",
    task="Give each tool call a task of its own.",
    head="def build(saver):",
    given=lambda: given(model=model, tools=make_tools(), each_call=each_call),
    blocks=(
        "graph = StateGraph(MessagesState)",
        'graph.add_node("model", model)\ngraph.add_node("tools", tools)',
        'graph.add_edge(START, "model")\ngraph.add_conditional_edges("model", each_call, ["tools"])',
        "return graph.compile(checkpointer=saver)",
    ),
    extra={'graph.add_edge("model", "tools")': "with that edge, one task gets all calls."},
    perform=lambda build: perform(build, (Invoke({"messages": []}), Resume("yes"))),
    goals=(
        Goal("it pauses with a question", lambda a: bool(a.outcomes[0].interrupts)),
        Goal("both tools have a result", lambda a: results(a) == ["booked 1", "paid 2: yes"]),
        Goal("only the asking tool ran again", lambda a: m.starts(a.trace, "tools") == 3),
    ),
    hints=("`each_call` is a router: it belongs to a conditional edge.", "compile() comes last."),
)

LESSON = Lesson(
    name="11_tools_and_agents",
    title="Tools and agents",
    goals=(
        "say which tools run again when one of them asks",
        "write a tool whose errors are handled and whose pause works",
        "say what a person's no stops, and what not",
    ),
    minutes=25,
    predictions=PREDICTIONS,
    orderings=(ORDER,),
    exercises=(EXERCISE,),
    recap=(
        Fact(
            "All calls of one ToolNode task run again when one of them asks.",
            lambda: m.saved(traced("tool_node"), "run 2")["log"].count("book") == 2,
        ),
        Fact(
            "With a task for each call, a finished tool does not run again.",
            lambda: m.saved(traced("tools_sent"), "run 2")["log"].count("book") == 1,
        ),
        Fact("A rejected tool call is not executed.", lambda: mails(traced("agent_rejected")) == 0),
        Fact(
            "The resume does not repeat the call of the model.",
            lambda: m.starts(traced("agent_approved"), "model") == 2,
        ),
        Fact(
            "A middleware that runs after it and jumps to the tools executes it all the same.",
            lambda: mails(traced("agent_jump")) == 1,
        ),
    ),
)
