"""Random graphs, used at random: the ledger says what the checkpointer gives back, and tracing changes nothing."""

import contextlib
import logging
import os

import pytest
from _oracle.actions import both
from _oracle.graphs import examples
from _oracle.judge import Judge, TooLongError, compare
from hypothesis import HealthCheck, given, seed, settings
from langgraph.checkpoint.memory import InMemorySaver


@pytest.fixture(autouse=True)
def quiet():
    """LangGraph logs what siblings of a broken-off run raise: pages of it, and no failure."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@contextlib.contextmanager
def memory():
    yield InMemorySaver()


def sqlite():
    from langgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver.from_conn_string(":memory:")


def async_sqlite():
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    return AsyncSqliteSaver.from_conn_string(":memory:")


KINDS = {
    "sync memory": (memory, False),
    "sync sqlite": (sqlite, False),
    "async memory": (memory, True),
    "async sqlite": (async_sqlite, True),
}


def judge(example, kind):
    saver, asynchronous = KINDS[kind]
    traced, plain, stored = both(example, saver, asynchronous=asynchronous)
    with contextlib.suppress(TooLongError):
        Judge(traced, stored).check()
    compare(traced, plain)


# The same examples each time, so that a failure is a change of the code; HITL_LAB_SEED=n gives others.
SEED = int(os.environ.get("HITL_LAB_SEED", "0"))


def hold(kind, number, part=0):
    # Threads and a busy machine decide how long an example takes: no deadline, and none is too slow.
    @seed(f"{SEED} {kind} {part}")
    @settings(max_examples=number, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(examples(KINDS[kind][1]))
    def run(example):
        judge(example, kind)

    run()


@pytest.mark.versions
@pytest.mark.parametrize("kind", KINDS)
def test_ledger_against_checkpointer_quick(kind):
    hold(kind, 15)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, 3))
@pytest.mark.parametrize("kind", KINDS)
def test_ledger_against_checkpointer(kind, part):
    hold(kind, 250, part)
