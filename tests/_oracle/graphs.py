"""Random graphs as plain data, so that hypothesis can shrink and print them, and the real graphs made from them.

Every write carries a token that no other write carries: the name of its node, how often that node has run, and which
write of that run it is. So where a write is to be found can be read off what a checkpointer gives back.
"""

import operator
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from hitl_lab.scenarios._send import send_hook


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]
    last: str


CHANNELS = ("log", "messages", "last")


@dataclass(frozen=True)
class Node:
    """ops: what the node does, in order: ("send", channel), ("ask",), ("swallow",), ("fail", nth run), ("mutate",).

    returns: channels of its return value. goto: nodes named by a returned Command, () for a plain dict.
    """

    name: str
    ops: tuple[tuple[Any, ...], ...] = ()
    returns: tuple[str, ...] = ("log",)
    goto: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """nodes: their edges go by `edges` (from, to). fan: (from, to, how many) Sends. asks: nodes whose router asks.

    inner: name of a node that is a graph -> that graph. checkpointer: of this graph where it is an inner one.
    """

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    fan: tuple[tuple[str, str, int], ...] = ()
    asks: tuple[str, ...] = ()
    inner: tuple[tuple[str, "Graph"], ...] = ()
    checkpointer: bool | None = None
    breakpoints: tuple[str, ...] = ()


LOG_LIMIT = 2_000


@dataclass
class World:
    """What the nodes of one run of an example share: how often each ran."""

    runs: Counter = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, who: str) -> int:
        with self.lock:
            self.runs[who] += 1
            return self.runs[who]


def _value(channel: str, token: str) -> Any:
    if channel == "log":
        return [token]
    return [AIMessage(token, id=token)] if channel == "messages" else token


def _function(spec: Node, world: World, place: str):
    def node(state):
        who = f"{place}{spec.name}"
        if isinstance(state, dict) and "item" in state:
            who += f"@{state['item']}"
        run = world.count(who)
        # A subgraph hands back all of its log, which is then appended to the one it came from: a loop of such nodes
        # makes it nine times as long each superstep, 10**8 items at the recursion limit.
        if isinstance(state, dict) and len(state.get("log") or ()) > LOG_LIMIT:
            raise ValueError(f"{who}: the log is too long")
        made = 0

        def token(kind: str) -> str:
            nonlocal made
            made += 1
            return f"{who}#{run}.{made}{kind}"

        for op, *args in spec.ops:
            if op == "send":
                send_hook()([(args[0], _value(args[0], token("s")))])
            elif op == "ask":
                interrupt(f"{who}?")
            elif op == "swallow":
                try:
                    interrupt(f"{who}?")
                except Exception:
                    pass
            elif op == "fail" and run == args[0]:
                raise ValueError(f"{who} failed")
            elif op == "mutate" and isinstance(state.get("log"), list):
                state["log"].append(token("m"))
        out = {channel: _value(channel, token("r")) for channel in spec.returns}
        return Command(update=out, goto=list(spec.goto)) if spec.goto else out

    node.__name__ = spec.name
    return node


def _async(function):
    async def node(state):
        return function(state)

    node.__name__ = function.__name__
    return node


def build(spec: Graph, world: World, saver: Any, *, use_async: bool, place: str = "") -> Any:
    """Return the compiled graph; the outermost gets `saver`."""
    builder = StateGraph(State)
    inner = dict(spec.inner)
    for node in spec.nodes:
        if node.name in inner:
            made = build(inner[node.name], world, None, use_async=use_async, place=f"{place}{node.name}/")
            builder.add_node(node.name, made)
            continue
        function = _function(node, world, place)
        ends = {"destinations": tuple(node.goto)} if node.goto else {}
        builder.add_node(node.name, _async(function) if use_async else function, **ends)
    for source, target in spec.edges:
        builder.add_edge(START if source == "start" else source, END if target == "end" else target)
    for source, target, count in spec.fan:

        def route(state, target=target, count=count):
            return [Send(target, {"item": i}) for i in range(count)]

        builder.add_conditional_edges(source, route, [target])
    for source in spec.asks:

        def ask(state, source=source):
            interrupt(f"{place}{source} router?")
            return END

        builder.add_conditional_edges(source, ask, [END])
    saver = saver if not place else spec.checkpointer
    return builder.compile(checkpointer=saver, interrupt_before=list(spec.breakpoints) or None, name="graph")


# ---------------------------------------------------------------- strategies


def _ops(failing: bool):
    one = [
        st.tuples(st.just("send"), st.sampled_from(CHANNELS)),
        st.tuples(st.just("send"), st.just("log")),
        st.just(("ask",)),
        st.just(("ask",)),
        st.just(("swallow",)),
        st.just(("mutate",)),
    ]
    if failing:
        one.append(st.tuples(st.just("fail"), st.integers(1, 2)))
    return st.lists(st.one_of(one), max_size=4).map(tuple)


_RETURNS = st.sampled_from([("log",), ("log", "messages"), (), ("messages",), ("log",), ("last",)])


@st.composite
def graphs(draw, inner_left: int = 2, asynchronous: bool = False) -> Graph:
    """A graph of one to four nodes: levels one after the other, some of two nodes side by side, some fanned out."""
    levels, names = draw(st.integers(1, 3)), iter("abcdefgh")
    nodes: list[Node] = []
    edges: list[tuple[str, str]] = []
    fan: list[tuple[str, str, int]] = []
    asks: list[str] = []
    inner: list[tuple[str, Graph]] = []
    before = ["start"]
    for level in range(levels):
        kind = draw(st.sampled_from(["one", "one", "two", "fan"] if before != ["start"] else ["one", "two"]))
        here = [next(names) for _ in range(2 if kind == "two" else 1)]
        for name in here:
            sub = None
            if kind != "fan" and inner_left and draw(st.integers(0, 4)) == 0:
                sub = draw(graphs(inner_left=inner_left - 1, asynchronous=asynchronous))
                checkpointers = [None, None, True, False] if not asynchronous else [None, None, True]
                sub = Graph(**{**sub.__dict__, "checkpointer": draw(st.sampled_from(checkpointers)), "breakpoints": ()})
                inner.append((name, sub))
            nodes.append(Node(name, draw(_ops(failing=True)), draw(_RETURNS)))
        if kind == "fan":
            fan.append((before[0], here[0], draw(st.integers(1, 3))))
            edges += [(source, here[0]) for source in before[1:]]
        else:
            edges += [(source, target) for source in before for target in here]
        before = here
        if level == levels - 1:
            edges += [(name, "end") for name in here]
    plain = [i for i, n in enumerate(nodes) if n.name not in dict(inner)]
    if plain and draw(st.integers(0, 5)) == 0:
        chosen = nodes[draw(st.sampled_from(plain))].name
        if not any(source == chosen for source, _, _ in fan):
            asks.append(chosen)
    if plain and draw(st.integers(0, 4)) == 0:  # a Command, also a loop, with the edge beside it
        at = draw(st.sampled_from(plain))
        to = draw(st.sampled_from([n.name for n in nodes]))
        if nodes[at].name not in asks and not any(target == to for _, target, _ in fan):
            nodes[at] = Node(nodes[at].name, nodes[at].ops, nodes[at].returns, (to,))
    breakpoints = (draw(st.sampled_from(nodes)).name,) if draw(st.integers(0, 7)) == 0 else ()
    return Graph(tuple(nodes), tuple(edges), tuple(fan), tuple(asks), tuple(inner), None, breakpoints)


ACTIONS = st.one_of(
    st.just(("input",)),
    st.just(("resume",)),
    st.just(("resume",)),
    st.just(("resume",)),
    st.tuples(st.just("resume map"), st.sampled_from(["all", "all", "first", "unknown", "empty"])),
    st.tuples(st.just("resume map"), st.just("all")),
    st.just(("none",)),
    st.just(("empty",)),
    st.tuples(st.just("update"), st.sampled_from([None, None, "a", "b", "c", "end", "start", "copy"])),
    st.tuples(st.just("update inside")),
    st.tuples(st.just("travel"), st.integers(0, 6), st.sampled_from(["none", "resume", "update", "input"])),
    st.tuples(st.just("command"), st.sampled_from(["update", "update resume", "goto", "goto resume", "all"])),
    st.tuples(st.just("stream"), st.sampled_from(["values", "updates", "debug", "tasks", "custom", "messages"])),
    st.tuples(st.just("stop early"), st.integers(1, 4)),
)
"""What the person does; see `actions.plan`."""


@dataclass(frozen=True)
class Example:
    """A graph, what is done with it after the first input, and how."""

    graph: Graph
    actions: tuple[tuple[Any, ...], ...]
    durability: str


def examples(asynchronous: bool = False):
    """A strategy for `Example`."""
    return st.builds(
        Example,
        graphs(asynchronous=asynchronous),
        st.lists(ACTIONS, min_size=1, max_size=5).map(tuple),
        st.sampled_from(["sync", "async", "exit"]),
    )
