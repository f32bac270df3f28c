"""The log is a DeltaChannel: checkpoints hold no value for it, it is put together from the writes of all checkpoints.

So for this channel the saved writes are the state. A write dropped at the pause is in none of them, and update_state
keeps what came before, also with the saver given in the config instead of at compile time.
"""

from functools import partial
from typing import Annotated, TypedDict

from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, Update, as_async, as_is
from ._send import send_hook


def append(log, writes):
    return log + [line for write in writes for line in write]


def prepare(state):
    return {"log": ["prepared"]}


def ask(state):
    send = send_hook()
    send([("log", ["asking"])])
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def build(saver, kind=as_is, in_config=False):
    from langgraph.channels import DeltaChannel

    class State(TypedDict):
        log: Annotated[list[str], DeltaChannel(append)]

    graph = StateGraph(State)
    graph.add_node("prepare", kind(prepare))
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=None if in_config else saver)


def with_saver(configurable, saver):
    # how a server hands its saver to a graph that was compiled without one
    return {**configurable, CONFIG_KEY_CHECKPOINTER: saver}


def variant(name, title, *story, in_config=False, cases=()):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, in_config=in_config),
        abuild=partial(build, kind=as_async, in_config=in_config),
        story=(Invoke({"log": ["order"]}), *story),
        topic="state",
        cases=cases,
        needs=("langgraph>=1.2.0",),
        configurable=with_saver if in_config else None,
    )


SCENARIOS = (
    variant("delta_channel", "A DeltaChannel lives by its saved writes", Resume("yes")),
    variant(
        "delta_channel_update", "update_state on a DeltaChannel while paused", Update({"log": ["note"]}), Resume("yes")
    ),
    variant(
        "delta_channel_dismissed",
        "Ending a paused thread as END, with the saver given in the config, keeps the history",
        Update(None, as_node=END),
        Invoke({"log": ["second order"]}),
        in_config=True,
        cases=("A41",),
    ),
)
