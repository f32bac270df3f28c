"""Recorded scenarios for the tests of views; each is run once a test session."""

import functools

from langgraph.checkpoint.memory import InMemorySaver

from hitl_lab import record, scenarios
from hitl_lab.scenarios import _scenario
from hitl_lab.trace import Trace

LESSONS = ("broken_node", "fix_a_split_node", "fix_b_interrupt_before", "fix_c_update_state")
SOME = (
    *LESSONS,
    "parallel_sibling",
    "subgraph_as_node",
    "subgraph_nested_twice",
    "send_fan_out",
    "update_discards_sibling",
    "two_tasks_ask",
    "functional_tasks",
    "loop_asks",
    "durability_exit",
    "mutated_state_dict",
    "retry_before_question",
    "node_error",
    "no_checkpointer",
    "new_input_while_paused",
)


@functools.cache
def traced(name):
    """The trace of a scenario, through its JSON, as a file would give it."""
    scenario = scenarios.get(name)
    with record() as trace:
        _scenario.run(scenario, InMemorySaver(), durability=None if name.startswith("durability") else "sync")
    return Trace.from_json(trace.to_json())
