"""The human-in-the-loop patterns of LangGraph's documentation, written afresh: none of them has a finding."""

import operator
from typing import Annotated, Literal, TypedDict

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

import hitl_lab

CONFIG = {"configurable": {"thread_id": "1"}}


class Draft(TypedDict, total=False):
    text: str
    verdict: str
    log: Annotated[list[str], operator.add]


def chain(*nodes, state=Draft, **options):
    builder = StateGraph(state)
    for node in nodes:
        builder.add_node(node.__name__, node)
    for a, b in zip([START, *(n.__name__ for n in nodes)], [n.__name__ for n in nodes], strict=False):
        builder.add_edge(a, b)
    return builder.compile(checkpointer=InMemorySaver(), **options)


def write(state):
    return {"text": "draft", "log": ["written"]}


def done(state):
    return {"log": ["done"]}


def stop(state):
    return {"log": ["stopped"]}


@pytest.fixture
def trace():
    with hitl_lab.record() as recorded:
        yield recorded
    assert recorded.story.runs
    assert recorded.findings.codes == (), str(recorded.findings)


def test_approve_or_reject(trace):
    def approve(state) -> Command[Literal["done", "stop"]]:
        return Command(goto="done" if interrupt({"text": state["text"]}) else "stop")

    builder = StateGraph(Draft)
    for node in (write, approve, done, stop):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "write")
    builder.add_edge("write", "approve")
    graph = builder.compile(checkpointer=InMemorySaver())
    for answer in (True, False):
        config = {"configurable": {"thread_id": str(answer)}}
        graph.invoke({}, config)
        graph.invoke(Command(resume=answer), config)


def test_review_and_edit_state(trace):
    def review(state):
        return {"text": interrupt({"task": "edit", "text": state["text"]})["text"]}

    graph = chain(write, review, done)
    graph.invoke({}, CONFIG)
    assert graph.invoke(Command(resume={"text": "edited"}), CONFIG)["text"] == "edited"


def test_edit_state_while_paused(trace):
    def review(state):
        return {"verdict": interrupt(state["text"])}

    graph = chain(write, review, done)
    graph.invoke({}, CONFIG)
    graph.update_state(CONFIG, {"text": "edited"})
    assert graph.invoke(Command(resume="good"), CONFIG)["text"] == "edited"


def model(state):
    if isinstance(state["messages"][-1], ToolMessage):
        return {"messages": [AIMessage("Sunny.", id="a2")]}
    calls = [{"name": "weather", "args": {"city": "Bonn"}, "id": "c1"}]
    return {"messages": [AIMessage("", id="a1", tool_calls=calls)]}


def tools(state):
    call = state["messages"][-1].tool_calls[0]
    return {"messages": [ToolMessage(f"sun in {call['args']['city']}", tool_call_id=call["id"])]}


@pytest.mark.parametrize("answer", ["continue", "update", "feedback"])
def test_review_tool_calls(trace, answer):
    def review(state) -> Command[Literal["model", "tools"]]:
        last = state["messages"][-1]
        call = last.tool_calls[0]
        given = interrupt({"question": "Is this right?", "call": call})
        if given == "continue":
            return Command(goto="tools")
        if given == "update":
            new = AIMessage("", id=last.id, tool_calls=[{**call, "args": {"city": "Köln"}}])
            return Command(goto="tools", update={"messages": [new]})
        told = ToolMessage("ask for another city", tool_call_id=call["id"])
        return Command(goto="model", update={"messages": [told]})

    def more(state):
        return "review" if state["messages"][-1].tool_calls else END

    builder = StateGraph(MessagesState)
    for node in (model, review, tools):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", more, ["review", END])
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": [("user", "Weather?")]}, CONFIG)
    graph.invoke(Command(resume=answer), CONFIG)
    assert not graph.get_state(CONFIG).next


def test_interrupt_in_a_tool(trace):
    def book(call):
        answer = interrupt({"action": call["name"], "args": call["args"]})
        return "booked" if answer["type"] == "accept" else f"booked {answer['args']['city']}"

    def tools(state):
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage(book(call), tool_call_id=call["id"])]}

    graph = chain(model, tools, state=MessagesState)
    graph.invoke({"messages": [("user", "Book.")]}, CONFIG)
    graph.invoke(Command(resume={"type": "edit", "args": {"city": "Ulm"}}), CONFIG)


def test_validate_human_input(trace):
    def ask(state):
        question = "How old are you?"
        while True:
            answer = interrupt(question)
            if isinstance(answer, int) and answer > 0:
                return {"text": f"{answer} years"}
            question = f"{answer!r} is no age. How old are you?"

    graph = chain(ask, done)
    graph.invoke({}, CONFIG)
    for answer in ("old", -1, 30):
        graph.invoke(Command(resume=answer), CONFIG)
    assert graph.get_state(CONFIG).values["text"] == "30 years"


def test_several_interrupts_answered_at_once(trace):
    class Texts(TypedDict, total=False):
        texts: list[str]
        log: Annotated[list[str], operator.add]

    def one(state):
        return {"log": [interrupt({"revise": state["text"]})]}

    builder = StateGraph(Texts)
    builder.add_node("one", one)
    builder.add_conditional_edges(START, lambda s: [Send("one", {"text": t}) for t in s["texts"]], ["one"])
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"texts": ["a", "b"]}, CONFIG)
    asked = graph.get_state(CONFIG).interrupts
    graph.invoke(Command(resume={i.id: f"better {i.value['revise']}" for i in asked}), CONFIG)
    assert sorted(graph.get_state(CONFIG).values["log"]) == ["better a", "better b"]


def test_several_interrupts_one_after_the_other(trace):
    def names(state):
        return {"text": f"{interrupt('First name?')} {interrupt('Last name?')}"}

    graph = chain(names)
    graph.invoke({}, CONFIG)
    graph.invoke(Command(resume="Ada"), CONFIG)
    assert graph.invoke(Command(resume="Lovelace"), CONFIG)["text"] == "Ada Lovelace"


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_static_breakpoints(trace, where):
    graph = chain(write, done, **{where: ["write"]})
    graph.invoke({"text": "x"}, CONFIG)
    graph.invoke(None, CONFIG)
    assert not graph.get_state(CONFIG).next


def test_static_breakpoints_at_run_time_and_step_by_step(trace):
    graph = chain(write, done)
    graph.invoke({"text": "x"}, CONFIG, interrupt_before="*")
    while graph.get_state(CONFIG).next:
        graph.invoke(None, CONFIG, interrupt_before="*")


def test_wait_for_the_user_at_a_breakpoint_and_speak_as_the_node(trace):
    def human(state):
        return {}

    graph = chain(write, human, done, interrupt_before=["human"])
    list(graph.stream({"text": "x"}, CONFIG))
    graph.update_state(CONFIG, {"verdict": "good"}, as_node="human")
    list(graph.stream(None, CONFIG))
    assert graph.get_state(CONFIG).values["verdict"] == "good"


def test_chat_of_several_turns(trace):
    def human(state):
        return {"log": [interrupt("Next?")]}

    builder = StateGraph(Draft)
    for node in (write, human):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "write")
    builder.add_edge("write", "human")
    builder.add_conditional_edges("human", lambda s: END if s["log"][-1] == "bye" else "write", ["write", END])
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({}, CONFIG)
    for said in ("more", "bye"):
        graph.invoke(Command(resume=said), CONFIG)
    graph.invoke({"text": "a new talk"}, CONFIG)
    assert graph.get_state(CONFIG).next == ("human",)


def test_side_effect_after_the_question(trace):
    def act(state):
        answer = interrupt("Send it?")
        hitl_lab.effect("send")
        return {"verdict": answer}

    graph = chain(write, act)
    graph.invoke({}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)


def test_time_travel_to_a_question(trace):
    def ask(state):
        return {"verdict": interrupt("Sure?")}

    graph = chain(write, ask, done)
    graph.invoke({}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)
    before = next(s for s in graph.get_state_history(CONFIG) if s.next == ("ask",))
    graph.invoke(None, before.config)
    graph.invoke(Command(resume="no"), CONFIG)
    assert graph.get_state(CONFIG).values["verdict"] == "no"


def test_pause_inside_a_subgraph(trace):
    def ask(state):
        return {"verdict": interrupt("Sure?")}

    inner = StateGraph(Draft)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    builder = StateGraph(Draft)
    builder.add_node("team", inner.compile())
    builder.add_node("done", done)
    builder.add_edge(START, "team")
    builder.add_edge("team", "done")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)
