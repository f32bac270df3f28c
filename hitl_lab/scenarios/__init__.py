"""Graphs on the real LangGraph that show one thing each, by name; LangGraph is imported when one is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._scenario import Scenario

__all__ = ["all_scenarios", "get", "names"]

# File to the names in it: written down, so that a list of names costs no import of LangGraph.
_FILES: dict[str, tuple[str, ...]] = {
    "broken_node": ("broken_node",),
    "fix_a_split_node": ("fix_a_split_node",),
    "fix_b_interrupt_before": (
        "fix_b_interrupt_before",
        "fix_b_answer_lost",
        "fix_b_question_then_answer",
        "fix_b_answer_before_question",
    ),
    "fix_c_update_state": ("fix_c_update_state", "fix_c_as_previous_node", "fix_c_as_paused_node"),
    "parallel_sibling": ("parallel_sibling", "parallel_sibling_streamed"),
    "send_fan_out": ("send_fan_out",),
    "join_waits": ("join_waits", "join_twice", "join_deferred"),
    "loop_asks": ("loop_asks",),
    "command_goto": ("command_goto", "command_goto_and_edge"),
    "router_interrupts": ("router_interrupts", "start_router_interrupts"),
    "two_questions": ("two_questions",),
    "validation_loop": ("validation_loop",),
    "two_tasks_ask": (
        "two_tasks_ask",
        "two_tasks_one_by_one",
        "two_tasks_bare_answer",
        "two_tasks_none",
        "two_tasks_empty_map",
        "two_tasks_unknown_id",
        "two_tasks_answer_then_update",
    ),
    "update_discards_sibling": ("update_discards_sibling", "update_as_finished_sibling"),
    "new_input_while_paused": ("new_input_while_paused",),
    "subgraph_as_node": (
        "subgraph_as_node",
        "subgraph_update_inside",
        "subgraph_update_parent",
        "subgraph_streamed",
        "subgraph_streamed_v2",
    ),
    "subgraph_own_checkpointer": (
        "subgraph_own_checkpointer",
        "subgraph_inherited_checkpointer",
        "subgraph_without_checkpointer",
        "subgraph_without_checkpointer_sync",
    ),
    "subgraph_in_function": ("subgraph_in_function", "subgraph_in_function_own_checkpointer"),
    "subgraph_nested_twice": ("subgraph_nested_twice", "subgraph_nested_update_inside"),
    "subgraph_two_ask": ("subgraph_two_ask", "two_subgraphs_ask"),
    "parent_command": ("parent_command",),
    "functional_tasks": ("functional_tasks", "functional_task_asks"),
    "functional_mutation": ("functional_mutation",),
    "functional_nested": ("functional_nested",),
    "swallowed_pause": (
        "swallowed_by_except",
        "swallowed_by_finally",
        "finally_runs_twice",
        "except_lets_pause_through",
    ),
    "retries": ("retry_after_answer", "retry_before_question"),
    "node_error": ("node_error", "node_error_after_write", "router_error"),
    "error_handler": ("error_handler",),
    "node_timeout": ("node_timeout", "step_timeout"),
    "cached_node": ("cached_node",),
    "mutated_in_place": ("mutated_state_dict", "mutated_message"),
    "state_types": ("pydantic_state", "dataclass_state"),
    "delta_channel": ("delta_channel", "delta_channel_update", "delta_channel_dismissed"),
    "untracked_value": ("untracked_value",),
    "side_effects": ("side_effects",),
    "changed_draft": ("changed_draft", "kept_draft"),
    "unserialisable_state": ("unserialisable_state",),
    "pushed_message": ("pushed_message",),
    "breakpoints": (
        "breakpoint_before",
        "breakpoint_after",
        "breakpoint_empty_input",
        "breakpoint_new_input",
        "breakpoint_answered",
        "breakpoint_everywhere",
        "breakpoint_streamed",
        "breakpoint_at_run_time",
    ),
    "schema_drift": ("schema_drift",),
    "time_travel": (
        "travel_to_pause",
        "travel_while_paused",
        "travel_with_answer",
        "fork_with_update",
        "fork_copied",
        "travel_to_start",
    ),
    "command_together": (
        "command_update",
        "command_update_goto",
        "command_goto_only",
        "command_update_only",
        "command_resume_none",
        "command_resume_empty",
        "command_empty",
    ),
    "dismissed": ("dismissed",),
    "streams": (
        "stream_values",
        "stream_updates",
        "stream_tasks",
        "stream_checkpoints",
        "stream_debug",
        "stream_messages",
        "stream_custom",
        "stream_all_modes",
        "stream_v2",
        "invoke_v2",
        "stream_events_v1",
        "stream_events",
        "stream_events_v3",
        "stream_stopped_early",
        "stream_stopped_at_question",
        "stream_stopped_before_apply",
    ),
    "durability_modes": ("durability_sync", "durability_async", "durability_exit"),
    "set_up": (
        "no_checkpointer",
        "no_thread_id",
        "misspelt_thread_id",
        "other_thread",
        "new_saver",
        "same_saver",
        "nothing_to_resume",
    ),
    "lost_context": (
        "asked_in_pool",
        "asked_in_pool_with_context",
        "asked_in_executor",
        "asked_in_thread",
        "asked_in_asyncio_task",
    ),
    "mixed_nodes": ("mixed_nodes",),
    "drained": ("drained",),
    "invalid_answer": ("invalid_answer",),
    "endless_loop": ("endless_loop",),
    "tool_node": ("tool_node", "tools_sent", "two_tools_ask", "tool_wrapped"),
    "crossed_answers": ("crossed_answers", "kept_apart_answers"),
    "agent_approval": ("agent_approved", "agent_edited", "agent_rejected", "agent_streamed"),
    "agent_jump": ("agent_jump",),
}


def names() -> tuple[str, ...]:
    """The names of all scenarios, in the order of the lessons."""
    return tuple(name for found in _FILES.values() for name in found)


@cache
def _load(file: str) -> dict[str, Scenario]:
    module = import_module(f"{__name__}.{file}")
    found = getattr(module, "SCENARIOS", None) or (module.SCENARIO,)
    return {scenario.name: scenario for scenario in found}


def get(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        KeyError: there is none; the message names the nearest ones.
    """
    for file, found in _FILES.items():
        if name in found:
            return _load(file)[name]
    from difflib import get_close_matches

    near = get_close_matches(str(name), names(), n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "hitl_lab.scenarios.names() lists them"
    raise KeyError(f"no scenario is called {name!r}: {hint}")


def all_scenarios() -> tuple[Scenario, ...]:
    """All scenarios, also those that what is installed cannot run: see `Scenario.missing()`."""
    return tuple(get(name) for name in names())
