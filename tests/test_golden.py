"""The story and the ledger of every scenario, as reviewed: tests/golden/NAME.txt.

HITL_LAB_REWRITE=1 writes them anew; read the difference before it is committed. They hold for the locked LangGraph,
whose lines they name. Async runs tell the same, but for the names of the methods.
"""

import os
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from _stories import perform

from hitl_lab import scenarios
from hitl_lab.tracing.recorder import record
from hitl_lab.views.text import outline

GOLDEN = Path(__file__).parent / "golden"
LOCK = Path(__file__).parent.parent / "requirements.lock"
# A value in it tells how far the saver was in the background when a node looked: chance.
CHANCE = {"durability_async"}
# Not the same async, each with its reason.
DIFFERS = {
    "subgraph_without_checkpointer_sync": "only the sync run of a graph with checkpointer=False and durability fails",
    "node_timeout": "LangGraph refuses timeouts of sync nodes",
}

locked = pytest.mark.skipif(
    f"langgraph=={version('langgraph')}" not in LOCK.read_text("utf-8").split(),
    reason="golden texts hold for the locked LangGraph",
)


def told(name, kind):
    scenario = scenarios.get(name)
    if reason := scenario.missing():
        pytest.skip(reason)
    with record() as trace:
        perform(scenario, asynchronous=kind == "async")
    return f"{outline(trace.story)}\n\n{trace.ledger}\n"


def as_sync(text):
    """The text of an async run with the names of the sync methods, columns squeezed: names differ in width."""
    text = re.sub(r"\ba(invoke|stream|update_state|bulk_update_state|stream_events)\b", r"\1", text)
    return re.sub(r" +", " ", text)


@locked
@pytest.mark.parametrize("name", [n for n in scenarios.names() if n not in CHANCE])
def test_golden(name):
    path = GOLDEN / f"{name}.txt"
    text = told(name, scenarios.get(name).only or "sync")
    if os.environ.get("HITL_LAB_REWRITE"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text("utf-8"), "HITL_LAB_REWRITE=1 writes it anew"


@locked
@pytest.mark.parametrize("name", [n for n in scenarios.names() if n not in CHANCE | set(DIFFERS)])
def test_async_tells_the_same(name):
    if scenarios.get(name).only:
        pytest.skip("its golden text is of one kind of run")
    assert as_sync(told(name, "async")) == as_sync((GOLDEN / f"{name}.txt").read_text("utf-8"))


@locked
def test_no_golden_text_without_a_scenario():
    assert {p.stem for p in GOLDEN.glob("*.txt")} == set(scenarios.names()) - CHANCE
