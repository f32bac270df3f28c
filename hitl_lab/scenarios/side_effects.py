"""Before its question a node puts into the store, streams a custom event and sends an e-mail.

None of these is a write: nothing is rolled back at the pause, and the resume does each of them again.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt

from ._scenario import Resume, Scenario, Stream, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def build(saver, kind=as_is):
    outbox = []

    def notify(state):
        store, tell = get_store(), get_stream_writer()
        outbox.append("e-mail")
        sent = store.get(("mail",), "sent")
        store.put(("mail",), "sent", {"count": (sent.value["count"] if sent else 0) + 1})
        tell("notified")
        answer = interrupt("Was that right?")
        return {"log": [answer, f"{len(outbox)} e-mails"]}

    def check(state):
        return {"log": [f"store says {get_store().get(('mail',), 'sent').value['count']}"]}

    graph = StateGraph(State)
    graph.add_node("notify", kind(notify))
    graph.add_node("check", kind(check))
    graph.add_edge(START, "notify")
    graph.add_edge("notify", "check")
    graph.add_edge("check", END)
    return graph.compile(checkpointer=saver, store=InMemoryStore())


SCENARIO = Scenario(
    name="side_effects",
    title="Store, stream and e-mail are no writes: kept at the pause, doubled at the resume",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Stream({"log": []}, modes=("updates", "custom")), Resume("yes")),
    topic="state",
)
