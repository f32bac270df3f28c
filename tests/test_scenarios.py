"""Every scenario's right value, measured: the state it ends in, how often each node ran, and what was raised."""

import re
import subprocess
import sys
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from _stories import CHANGED, PAUSED, PAYLOAD, counted, perform, raised, runnable, told
from langchain_core.messages import AIMessage, HumanMessage

from hitl_lab import scenarios
from hitl_lab.scenarios._compare import comparable
from hitl_lab.scenarios._scenario import Continue, Invoke, Rebuild, Scenario, Travel, run
from hitl_lab.scenarios.savers import memory

FOLDER = Path(scenarios.__file__).parent

DONE = f"{PAYLOAD} | human: approved"
BEFORE = "before middle | before innermost"

# name: (state at the end, runs of each node, and what each action raised, "-" for nothing)
# None: the words belong to LangChain and change with it, test_cases.py looks at what matters.
RIGHT = {
    "broken_node": (DONE, "draft review*2"),
    "fix_a_split_node": (DONE, "attach draft review*2"),
    "fix_b_interrupt_before": (
        f"{DONE} | ai: The last word is: approved",
        "attach draft review",
    ),
    "fix_b_answer_lost": (
        "human: My parcel is broken. | ai: We refund 40 EUR. + payload | ai: The last word is: We refund 40 EUR.",
        "attach draft review",
    ),
    "fix_b_question_then_answer": (DONE, "attach draft review*2"),
    "fix_b_answer_before_question": (DONE, "attach draft review"),
    "fix_c_update_state": (DONE, "draft review*2"),
    "fix_c_as_previous_node": (DONE, "draft review*2"),
    "fix_c_as_paused_node": (PAYLOAD, "draft review"),
    "parallel_sibling": ("order | asking | answer: 2 | stock: 3 | 4 lines", "ask*2 lookup report"),
    "parallel_sibling_streamed": ("order | asking | answer: 2 | stock: 3 | 4 lines", "ask*2 lookup report"),
    "send_fan_out": ("items 1 | 2 | 3; 1: automatic | 2: good | 3: automatic | 3 graded", "fan_out grade*4 report"),
    "join_waits": ("long | short | ask: yes | join saw 3", "ask*2 join long short"),
    "join_twice": ("long | short | ask: yes | join saw 2 | join saw 4", "ask*2 join*2 long short"),
    "join_deferred": ("long | short | ask: yes | join saw 3", "ask*2 join long short"),
    "loop_asks": ("draft 1 | no | draft 2 | no | draft 3 | yes", "again*3 ask*6 write*3"),
    "command_goto": ("decided: discard | discarded", "decide*2 discard"),
    "command_goto_and_edge": ("decided: discard | discarded | sent", "decide*2 discard send"),
    "router_interrupts": ("proposal | published", "propose*2 publish route*2"),
    "start_router_interrupts": ("order | proposal", "begin*2 propose"),
    "two_questions": ("size: L | colour: blue", "order*3"),
    "validation_loop": ("age 90; attempts 4", "ask_age*5"),
    "two_tasks_ask": ("legal: yes | sales: no", "legal*2 sales*2"),
    "two_tasks_one_by_one": ("legal: yes | sales: no", "legal*2 sales*3"),
    "two_tasks_bare_answer": ("legal: yes | sales: no", "legal*2 sales*2", "- RuntimeError -"),
    "two_tasks_none": ("legal: yes | sales: no", "legal*3 sales*3"),
    "two_tasks_empty_map": ("legal: yes | sales: no", "legal*3 sales*3"),
    "two_tasks_unknown_id": ("legal: yes | sales: no", "legal*3 sales*3"),
    "two_tasks_answer_then_update": ("note | legal: yes | sales: no", "legal*4 sales*4"),
    "update_discards_sibling": ("order | note | asking | answer: 2 | stock: 3 | 5 lines", "ask*2 lookup*2 report"),
    "update_as_finished_sibling": ("order | note", "ask lookup"),
    "new_input_while_paused": (
        "order | two, please | asking | answer: 2 | stock: 3 | 5 lines",
        "ask*3 lookup*2 report",
    ),
    "subgraph_as_node": ("order | order | prepared | asking | answer: yes | 5 lines", "ask*2 inner*2 prepare report"),
    "subgraph_update_inside": (
        "order | order | prepared | note | asking | answer: yes | 6 lines",
        "ask*2 inner*2 prepare report",
    ),
    "subgraph_update_parent": (
        "order | note | order | note | prepared | asking | answer: yes | 7 lines",
        "ask*2 inner*2 prepare*2 report",
    ),
    "subgraph_streamed": ("order | order | prepared | asking | answer: yes | 5 lines", "ask*2 inner*2 prepare report"),
    "subgraph_streamed_v2": (
        "order | order | prepared | asking | answer: yes | 5 lines",
        "ask*2 inner*2 prepare report",
    ),
    "subgraph_own_checkpointer": ("topic two; report yes, 2 visits", "ask*4 inner*4 prepare*2"),
    "subgraph_inherited_checkpointer": ("topic two; report yes, 1 visits", "ask*4 inner*4 prepare*2"),
    "subgraph_without_checkpointer": ("topic two; report yes, 1 visits", "ask*4 inner*4 prepare*4"),
    "subgraph_without_checkpointer_sync": (
        "topic two",
        "inner*4",
        "AttributeError AttributeError AttributeError AttributeError",
    ),
    "subgraph_in_function": ("order | calling | start | first: 1 | second: 2", "call*3 first*2 second*2"),
    "subgraph_in_function_own_checkpointer": (
        "order | calling | start | first: 1 | second: 2",
        "call*3 first*2 second*2",
    ),
    "subgraph_nested_twice": (
        f"before middle | {BEFORE} | {BEFORE} | before ask | asking | answer: yes",
        "ask*2 before_ask before_innermost before_middle innermost*2 middle*2",
    ),
    "subgraph_nested_update_inside": (
        f"before middle | {BEFORE} | {BEFORE} | before ask | note | asking | answer: yes",
        "ask*2 before_ask before_innermost before_middle innermost*2 middle*2",
    ),
    "subgraph_two_ask": ("legal: yes | sales: no", "legal*2 office*2 sales*2", "- RuntimeError -"),
    "two_subgraphs_ask": ("legal: yes | sales: no", "legal*2 north*2 sales*2 south*2", "- RuntimeError -"),
    "parent_command": ("handed to sales | sales took over", "ask*2 desk*2 sales"),
    "functional_tasks": ("total 6; answer yes", "double*2 order*2"),
    "functional_task_asks": ("doubled 6; confirmed 3", "confirm*2 double order*2"),
    "functional_mutation": ("2", "form*3 remember*2"),
    "functional_nested": ("20: yes", "inner*2 inner_task outer*2 outer_task"),
    "swallowed_by_except": ("asking | tool failed: GraphInterrupt", "ask"),
    "swallowed_by_finally": ("asking | closed", "ask"),
    "finally_runs_twice": ("closed | answer: yes", "ask*2"),
    "except_lets_pause_through": ("answer: yes", "ask*2"),
    "retry_after_answer": ("attempt 4 | charged: yes", "charge*4"),
    "retry_before_question": ("attempt 4 | charged: yes", "charge*4"),
    "node_error": ("booked | paid: yes", "book pay*3", "- ConnectionError -"),
    "node_error_after_write": ("booked | paying", "book pay*2", "- ConnectionError -"),
    "router_error": ("answer: yes", "review*2 route", "- ConnectionError -"),
    "error_handler": ("paying | pay failed: the bank is closed, answer was yes", "__error_handler__pay pay*2"),
    "node_timeout": ("fetching | fetched: yes", "fetch*3", "- NodeTimeoutError -"),
    "step_timeout": ("answer: yes | fetching", "ask*3 fetch", "TimeoutError - -"),
    "cached_node": ("order | stock: 3 | answer: 1", "ask*4 lookup"),
    "mutated_state_dict": ("human: My parcel is broken. | ai: We refund 40 EUR.", "draft review*2"),
    "mutated_message": (DONE, "draft review*2"),
    "pydantic_state": ("draft | asking | answer: yes | 3 lines, note ''; note ", "report review*2"),
    "dataclass_state": ("draft | asking | answer: yes | 3 lines, note ''; note ", "report review*2"),
    "delta_channel": ("order | prepared | asking | answer: yes", "ask*2 prepare"),
    "delta_channel_update": ("order | prepared | note | asking | answer: yes", "ask*2 prepare"),
    "delta_channel_dismissed": ("order | prepared | second order | prepared", "ask*2 prepare*2"),
    "untracked_value": ("connected | yes, no connection", "ask*2 connect"),
    "side_effects": ("yes | 2 e-mails | store says 2", "check notify*2"),
    "changed_draft": ("topic refunds; approved draft 1 on refunds; sent draft 2 on refunds", "write_and_send*2"),
    "kept_draft": (
        "topic refunds; draft draft 1 on refunds; approved draft 1 on refunds; sent draft 1 on refunds",
        "send*2 write",
    ),
    "unserialisable_state": ("answer ", "take_lock", "TypeError"),
    "pushed_message": ("human: My parcel is broken. | ai: Looking at it. | human: approved", "review*2"),
    "breakpoint_before": ("order | written | published", "publish write"),
    "breakpoint_after": ("order | written | published", "publish write"),
    "breakpoint_empty_input": ("order | written | written | published", "publish write*2"),
    "breakpoint_new_input": ("order | written | second order | written | published", "publish write*2"),
    "breakpoint_answered": ("order | written | published", "publish write"),
    "breakpoint_everywhere": ("order | written | published", "publish write"),
    "breakpoint_streamed": ("order | written | published", "publish write"),
    "breakpoint_at_run_time": ("order | written | published | second order | written | published", "publish*2 write*2"),
    "schema_drift": ("order | written", "write"),
    "travel_to_pause": ("order | draft 1 | answer: no | stock: 3", "ask*4 lookup*2 write"),
    "travel_while_paused": ("order | draft 1 | answer: yes | stock: 3", "ask*3 lookup*2 write"),
    "travel_with_answer": ("order | draft 1 | answer: yes | stock: 3", "ask*2 lookup write"),
    "fork_with_update": ("order | draft 1 | draft 2 | answer: no | stock: 3", "ask*4 lookup*2 write"),
    "fork_copied": ("order | draft 1 | answer: no | stock: 3", "ask*4 lookup*2 write"),
    "travel_to_start": ("order | draft 1 | answer: no | stock: 3", "ask*4 lookup*2 write*2"),
    "command_update": ("order | note | answer: yes, saw note", "ask*2"),
    "command_update_goto": ("order | note | answer: yes, saw note | audited", "ask*2 audit"),
    "command_goto_only": ("order | answer: yes, saw order | audited", "ask*3 audit"),
    "command_update_only": ("order | note | answer: yes, saw note", "ask*3"),
    "command_resume_none": ("order | answer: yes, saw order", "ask*2", "- UnboundLocalError -"),
    "command_resume_empty": ("order | answer: yes, saw order", "ask*3"),
    "command_empty": ("order | answer: yes, saw order", "ask*2", "- UnboundLocalError -"),
    "dismissed": ("order | stock: 3 | second order | stock: 3", "ask*2 lookup*2"),
    "durability_sync": ("first | saved by now: 3 | answer: yes", "ask*2 first look"),
    "durability_exit": ("first | saved by now: 0 | answer: yes", "ask*2 first look"),
    "no_checkpointer": ("None", "ask", "- RuntimeError"),
    "no_thread_id": ("None", "", "ValueError"),
    "misspelt_thread_id": ("None", "", "KeyError"),
    "other_thread": ("", "ask*2"),
    "new_saver": ("", "ask*2"),
    "same_saver": ("order | answer: yes", "ask*2"),
    "nothing_to_resume": ("order | answer: yes", "ask*2"),
    "asked_in_pool": ("", "ask*2", "RuntimeError RuntimeError"),
    "asked_in_pool_with_context": ("answer: yes", "ask*2"),
    "asked_in_executor": ("", "ask*2", "RuntimeError RuntimeError"),
    "asked_in_thread": ("answer: yes", "ask*2"),
    "asked_in_asyncio_task": ("answer: yes", "ask*2"),
    "mixed_nodes": ("async | sync asks | sync: yes", "async_node sync_node*2"),
    "drained": ("written | answer: yes", "ask*2 write", "GraphDrained - -"),
    "invalid_answer": ("refund 40", "ask*3", "- ValidationError -"),
    "endless_loop": (
        "answer: yes | spin | spin | spin | spin | spin | spin | spin | spin | spin | spin | spin",
        "ask*2 spin*11",
        "- GraphRecursionError GraphRecursionError",
    ),
    "tool_node": (
        "human: A table, please. | ai:  | tool: booked 1 | tool: paid 2: yes; book | book | pay | pay",
        "count_runs model tools*2",
    ),
    "tools_sent": (
        "human: A table, please. | ai:  | tool: booked 1 | tool: paid 2: yes; book | pay | pay",
        "count_runs each_call model tools*3",
    ),
    "two_tools_ask": (
        "human: A table, please. | ai:  | tool: paid 1: yes | tool: paid 2: no; pay | pay | pay | pay | pay | pay",
        "count_runs model tools*3",
    ),
    "tool_wrapped": ("human: A table, please. | ai:  | tool: paid 1: yes; pay | pay", "count_runs model tools*2"),
    "crossed_answers": ("human: Pay both. | ai:  | tool: paid 1: yes | tool: paid 2: no", "model tools*3"),
    "kept_apart_answers": ("human: Pay both. | ai:  | tool: paid 1: no | tool: paid 2: yes", "each_call model tools*4"),
    "agent_approved": (None, "HumanInTheLoopMiddleware.after_model*3 model*2 tools"),
    "agent_edited": (None, "HumanInTheLoopMiddleware.after_model*3 model*2 tools"),
    "agent_rejected": (None, "HumanInTheLoopMiddleware.after_model*3 model*2"),
    "agent_streamed": (None, "HumanInTheLoopMiddleware.after_model*3 model*2 tools"),
    "agent_jump": (None, "HumanInTheLoopMiddleware.after_model*3 jump.after_model*2 model*2 tools"),
    # what is saved by then is a matter of luck, see test_cases.py
    "durability_async": (None, "ask*2 first look"),
    **dict.fromkeys(
        (
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
        (DONE, "draft review*2"),
    ),
}


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
@pytest.mark.parametrize(
    ("name", "kind"),
    [(s.name, kind) for s in scenarios.all_scenarios() for kind in ("sync", "async") if s.only in (None, kind)],
)
def test_right_value(name, kind):
    scenario = runnable(name)
    state, runs, *errors = RIGHT[name]
    outcomes = perform(scenario, asynchronous=kind == "async")
    assert raised(outcomes) == (errors[0] if errors else " ".join("-" for _ in outcomes))
    assert counted(outcomes) == runs
    if state is not None:
        assert told(outcomes[-1].values) == state


LESSONS = {
    "broken_node": (PAUSED, DONE),
    "fix_a_split_node": (PAYLOAD, DONE),
    "fix_b_interrupt_before": (PAYLOAD, DONE, f"{DONE} | ai: The last word is: approved"),
    "fix_b_answer_lost": (PAYLOAD, f"{PAYLOAD} | ai: The last word is: We refund 40 EUR."),
    "fix_b_question_then_answer": (PAYLOAD, PAYLOAD, DONE),
    "fix_b_answer_before_question": (PAYLOAD, DONE),
    "fix_c_update_state": (PAUSED, PAYLOAD, DONE),
    "fix_c_as_previous_node": (PAUSED, PAYLOAD, DONE),
    "fix_c_as_paused_node": (PAUSED, PAYLOAD, PAYLOAD),
}


@pytest.mark.parametrize(
    ("durability", "call"), [("sync", "invoke"), ("async", "invoke"), ("exit", "invoke"), (None, "stream")]
)
@pytest.mark.parametrize("saver", ["memory", "sqlite"])
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("name", LESSONS)
def test_lessons_save_the_same_everywhere(name, kind, saver, durability, call):
    outcomes = perform(scenarios.get(name), saver, kind == "async", durability=durability, call=call)
    assert tuple(told(outcome.values) for outcome in outcomes) == LESSONS[name]
    assert counted(outcomes) == RIGHT[name][1]
    assert not outcomes[-1].next and not outcomes[-1].interrupts


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_broken_node_returns_what_it_does_not_save(kind, durability):
    paused, _ = perform(scenarios.get("broken_node"), "sqlite", kind == "async", durability=durability)
    assert told(paused.returned["messages"]) == PAYLOAD
    assert told(paused.values) == PAUSED
    assert paused.next == ("review",)
    assert paused.interrupts == ("Review the draft",)


def test_fix_b_pauses_without_a_question():
    paused, _, _ = perform(scenarios.get("fix_b_interrupt_before"))
    assert "__interrupt__" not in paused.returned
    assert paused.next == ("review",)
    assert paused.interrupts == ()


def test_fix_b_question_comes_with_the_second_call():
    first, second, _ = perform(scenarios.get("fix_b_question_then_answer"))
    assert first.interrupts == ()
    assert second.interrupts == ("Review the draft",)


def test_fix_c_hides_the_question():
    paused, updated, _ = perform(scenarios.get("fix_c_update_state"))
    assert paused.interrupts == ("Review the draft",)
    assert updated.interrupts == ()
    assert updated.next == ("review",)


def test_fix_c_as_the_paused_node_skips_it():
    _, updated, resumed = perform(scenarios.get("fix_c_as_paused_node"))
    assert updated.next == ()
    assert resumed.ran == ()


# The scenarios themselves.


def test_every_file_is_listed_with_the_names_in_it():
    files = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")} - {"savers"}
    assert set(scenarios._FILES) == files
    for file, names in scenarios._FILES.items():
        module = import_module(f"hitl_lab.scenarios.{file}")
        found = getattr(module, "SCENARIOS", None) or (module.SCENARIO,)
        assert names == tuple(scenario.name for scenario in found), file


def test_every_scenario_has_a_right_value():
    assert set(RIGHT) == set(scenarios.names())
    assert set(CHANGED) <= set(RIGHT)


@pytest.mark.parametrize("file", scenarios._FILES)
def test_every_file_begins_with_what_it_shows_and_what_happens(file):
    doc = import_module(f"hitl_lab.scenarios.{file}").__doc__
    first, empty, *rest = doc.splitlines()
    assert first.endswith(".") and not empty and rest


def test_names_and_cases_are_well_formed():
    found = scenarios.all_scenarios()
    assert len({scenario.name for scenario in found}) == len(found)
    for scenario in found:
        assert re.fullmatch(r"[a-z][a-z0-9_]+", scenario.name)
        assert all(re.fullmatch(r"A[0-4][0-9]", case) for case in scenario.cases)
        assert scenario.only in (None, "sync", "async")


def test_a_list_of_names_imports_no_langgraph():
    code = "import sys; from hitl_lab import scenarios; scenarios.names(); print('langgraph' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(KeyError, match="did you mean broken_node"):
        scenarios.get("broke_node")
    with pytest.raises(KeyError, match="lists them"):
        scenarios.get("zzz")


def test_what_is_missing_is_said():
    def needing(*needs):
        return Scenario("x", "x", build=lambda saver: None, story=(), needs=needs).missing()

    assert needing("langgraph>=1.0") is None
    assert needing("langgraph>=99") == f"x needs langgraph>=99, installed is {version('langgraph')}"
    assert "no-such-package" in needing("no-such-package")
    assert "no_such_module" in needing("import no_such_module")
    assert needing("import json") is None


# The runner.


@pytest.mark.parametrize(
    "name", ["broken_node", "mutated_message", "two_tasks_one_by_one", "travel_to_pause", "agent_rejected"]
)
def test_a_story_can_be_told_twice(name):
    scenario = runnable(name)
    first, second = (comparable(perform(scenario)) for _ in range(2))
    assert first == second


def test_inputs_are_made_fresh_for_each_run():
    message = HumanMessage("a", id="h1")

    def build(saver):
        def change(state):
            state["messages"][0].additional_kwargs["seen"] = True
            return {}

        from langgraph.graph import START, MessagesState, StateGraph

        graph = StateGraph(MessagesState)
        graph.add_node("change", change)
        graph.add_edge(START, "change")
        return graph.compile(checkpointer=saver)

    perform(Scenario("x", "x", build=build, story=(Invoke({"messages": [message]}),)))
    assert message.additional_kwargs == {}
    made = []
    perform(Scenario("x", "x", build=build, story=(Invoke(lambda: made.append(1) or {"messages": [message]}),)))
    assert made == [1]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_exception_is_an_outcome(kind):
    story = (Travel(lambda history: history[0], Invoke({})), Rebuild(lambda saver: 1 / 0), Continue())
    broken = scenarios.get("broken_node")
    outcomes = perform(Scenario("x", "x", build=broken.build, story=story), asynchronous=kind == "async")
    assert raised(outcomes) == "IndexError ZeroDivisionError EmptyInputError"


def test_a_story_of_something_else_is_refused():
    with pytest.raises(TypeError, match="actions like Invoke"):
        Scenario("x", "x", build=lambda saver: None, story=({"messages": []},))


def test_each_story_runs_on_the_thread_of_its_config():
    with ExitStack() as stack:
        saver = stack.enter_context(memory())
        run(scenarios.get("broken_node"), saver, config={"configurable": {"thread_id": "mine"}})
        assert {found.config["configurable"]["thread_id"] for found in saver.list(None)} == {"mine"}


def test_comparable_masks_ids_and_keeps_the_rest():
    one, two = (perform(scenarios.get("broken_node"))[0] for _ in range(2))
    assert comparable(one) == comparable(two)
    assert comparable(AIMessage("a", id="a1")) != comparable(AIMessage("b", id="a1"))
    assert "Review the draft" in str(comparable(one))
