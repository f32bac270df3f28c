"""Findings: the right ones on each scenario, none without proof, one for each write that got lost."""

import contextlib
import re
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path

import pytest
from _proof import prove
from _stories import runnable
from langgraph.checkpoint.memory import InMemorySaver

import hitl_lab
from hitl_lab import scenarios
from hitl_lab.findings import TITLES, finding_text, findings_lines, findings_text
from hitl_lab.scenarios._scenario import arun, run
from hitl_lab.tracing import events as ev

# What each scenario is there to show; those that are not named have none.
EXPECTED = {
    "broken_node": "HL001 HL002",
    "fix_b_answer_lost": "HL006",
    "fix_b_answer_before_question": "HL007",
    "fix_c_as_paused_node": "HL005 HL016",
    "parallel_sibling": "HL001 HL002",
    "router_interrupts": "HL001 HL002",
    "start_router_interrupts": "HL001 HL002",
    "two_questions": "HL001 HL002",
    "two_tasks_bare_answer": "HL017",
    "two_tasks_empty_map": "HL006",
    "two_tasks_unknown_id": "HL006",
    "two_tasks_answer_then_update": "HL003 HL004",
    "update_discards_sibling": "HL001 HL002 HL003 HL004",
    "update_as_finished_sibling": "HL001 HL002 HL003 HL016",
    "new_input_while_paused": "HL001 HL002 HL003 HL004 HL013",
    "subgraph_as_node": "HL001",
    "subgraph_update_parent": "HL001",
    "subgraph_nested_update_inside": "HL001",
    "stream_events": "HL001 HL002",
    "stream_stopped_at_question": "HL001",
    "swallowed_by_except": "HL010 HL016",
    "swallowed_by_finally": "HL010 HL016",
    "retry_before_question": "HL001 HL002 HL015",
    "node_error_after_write": "HL021",
    "router_error": "HL021",
    "step_timeout": "HL021",
    "mutated_state_dict": "HL011",
    "mutated_message": "HL011",
    "pydantic_state": "HL001 HL002 HL011",
    "side_effects": "HL008",
    "changed_draft": "HL009",
    "crossed_answers": "HL009",
    "unserialisable_state": "HL014",
    "command_resume_empty": "HL006",
    "breakpoint_empty_input": "HL013",
    "breakpoint_new_input": "HL013",
    "breakpoint_answered": "HL006",
    "schema_drift": "HL018",
    "travel_while_paused": "HL003",
    "no_checkpointer": "HL012",
    "other_thread": "HL016",
    "new_saver": "HL016",
    "nothing_to_resume": "HL016",
    "asked_in_pool": "HL019",
    "endless_loop": "HL020",
}
CLEAN = [
    "fix_a_split_node",
    "fix_b_interrupt_before",
    "fix_b_question_then_answer",
    "fix_c_update_state",
    "fix_c_as_previous_node",
    "send_fan_out",
    "join_waits",
    "join_twice",
    "loop_asks",
    "command_goto",
    "validation_loop",
    "two_tasks_ask",
    "two_tasks_one_by_one",
    "two_tasks_none",
    "subgraph_own_checkpointer",
    "functional_tasks",
    "functional_mutation",
    "parent_command",
    "cached_node",
    "kept_draft",
    "breakpoint_before",
    "breakpoint_after",
    "breakpoint_everywhere",
    "breakpoint_at_run_time",
    "travel_to_pause",
    "fork_with_update",
    "command_update",
    "command_update_goto",
    "command_goto_only",
    "same_saver",
    "tools_sent",
    "kept_apart_answers",
    "agent_approved",
    "agent_rejected",
    "except_lets_pause_through",
    "node_error",
]


def traced(name):
    scenario = runnable(name)
    with hitl_lab.record() as trace:
        if scenario.only == "async":
            import asyncio

            asyncio.run(arun(scenario, InMemorySaver()))
        else:
            run(scenario, InMemorySaver())
    return trace


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_scenario_shows_is_found(name):
    assert " ".join(traced(name).findings.codes) == EXPECTED[name]


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_right_is_left_in_peace(name):
    assert traced(name).findings.codes == (), str(traced(name).findings)


@pytest.mark.parametrize("name", scenarios.names())
def test_no_finding_without_proof_and_no_lost_write_without_a_finding(name):
    prove(traced(name))


def test_a_finding_names_the_lines_of_user_and_langgraph_and_a_sketch_for_the_node():
    found = traced("broken_node").findings.of("HL001")[0]
    write, stop, langgraph = found.places
    assert write.what == "write"
    assert write.source.function == "review"
    assert stop.what == "interrupt()"
    assert stop.source.line == write.source.line + 1
    assert langgraph.source.file.endswith("_runner.py")
    assert langgraph.source.function == "PregelRunner.commit"
    assert found.advice.fix == "A"
    assert 'builder.add_edge("draft", "before_review")' in found.advice.sketch
    text = finding_text(found)
    for part in (found.cause, found.advice.text, str(write), "HL001"):
        assert part in text


def test_sketches_are_python():
    for name in EXPECTED:
        if scenarios.get(name).missing():
            continue
        for found in traced(name).findings:
            compile(found.advice.sketch, name, "exec")


def test_the_text_of_a_trace_ends_with_a_line_a_finding_and_findings_print_in_full():
    trace = traced("broken_node")
    assert findings_lines(trace.findings) in str(trace)
    assert str(trace.findings) == findings_text(trace.findings)
    assert str(traced("fix_a_split_node").findings) == "Findings: none."


def test_event_numbers_are_those_of_the_text():
    trace = traced("broken_node")
    found = trace.findings.of("HL001")[0]
    kinds = [trace.story.events[n - 1] for n in found.events]
    assert isinstance(kinds[0], ev.Wrote)
    assert isinstance(kinds[1], ev.Committed)
    assert f"{found.events[1]:>4}  commit" in str(trace)


def test_findings_do_not_depend_on_the_file():
    trace = traced("update_discards_sibling")
    again = hitl_lab.Trace.from_json(trace.to_json())
    assert str(again.findings) == str(trace.findings)


def test_each_code_has_a_page_and_each_page_a_code():
    folder = Path(__file__).resolve().parent.parent / "docs" / "findings"
    pages = {p.stem for p in folder.glob("HL*.md")}
    assert pages == set(TITLES)
    for code, title in TITLES.items():
        text = (folder / f"{code}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {code}: {title}\n\n**How do I ")
        for block in re.findall(r"```python\n(.*?)```", text, re.S):
            compile(block, code, "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_a_pause_from_before_the_trace_is_not_guessed_at():
    """The question was shown before the trace began: its answer is neither lost nor taken unseen."""
    scenario = scenarios.get("fix_a_split_node")
    graph = scenario.build(InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke(scenario.story[0].input, config)
    with hitl_lab.record() as trace:
        from langgraph.types import Command

        graph.invoke(Command(resume="approved"), config)
    assert trace.findings.codes == ()


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_random_graphs_used_at_random(asynchronous):
    from _oracle.actions import both
    from _oracle.graphs import examples
    from hypothesis import HealthCheck, given, settings

    @contextlib.contextmanager
    def memory():
        yield InMemorySaver()

    @settings(max_examples=20, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(examples(asynchronous))
    def hold(example):
        prove(both(example, memory, asynchronous=asynchronous)[0].trace)

    hold()


def test_advice_gives_a_new_node_a_name_that_is_free():
    (found,) = traced("subgraph_nested_update_inside").findings
    assert 'builder.add_node("before_ask_2", before_ask_2)' in found.advice.sketch  # the graph has a before_ask
    assert 'builder.add_edge("before_ask", "before_ask_2")' in found.advice.sketch


def test_advice_for_a_router_at_the_start():
    first, _ = traced("start_router_interrupts").findings
    assert 'builder.add_edge(START, "ask_after_start")' in first.advice.sketch
    assert "drops what `__start__` took from the input" in first.advice.text
