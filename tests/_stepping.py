"""Stepping any code to its end, and graphs to step."""

import asyncio
import operator
import random
import threading
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph

from hitl_lab.trace import Trace
from hitl_lab.tracing.gates import Gates
from hitl_lab.tracing.recorder import make_recorder
from hitl_lab.tracing.worker import Job, Worker

CONFIG = {"configurable": {"thread_id": "1"}}


def stepped(call, asynchronous, seed=None, patience=5.0):
    """Run `call` in an executor's worker, one phase at a time: its trace, what it returned, how many stops."""
    gates = Gates(patience)
    if seed is not None:
        gates.choose = random.Random(seed).choice
    recorder = make_recorder(on_event=gates.on_event)
    recorder.gates = gates
    trace, job, stops = Trace(recorder=recorder), Job(call), 0
    worker = Worker(gates, recorder, asynchronous)
    worker.start()
    try:
        gates.begin()
        worker.submit(job)
        while gates.advance(lambda: job.done) is not None:
            stops += 1
    finally:
        worker.let_go()
        assert worker.join(5)
    if job.error is not None:
        raise job.error
    return trace, job.result, stops


class Log(TypedDict):
    log: Annotated[list, operator.add]


def parallel(saver, asynchronous=False, names=("a", "b")):
    """Nodes side by side, each of which writes its name and notes that it ran in `parallel.ran`."""
    graph = StateGraph(Log)
    ran = []

    def make(name):
        def node(state):
            ran.append(name)
            return {"log": [name]}

        async def anode(state):
            await asyncio.sleep(0)
            return node(state)

        return anode if asynchronous else node

    for name in names:
        graph.add_node(name, make(name))
        graph.add_edge(START, name)
    compiled = graph.compile(checkpointer=saver)
    return compiled, ran


def threads():
    return {t for t in threading.enumerate() if t.is_alive()}
