"""What people ran into in public, one test a report, named by its id.

Each test says what happens on the newest LangGraph; where that has changed, an older one is skipped.
"""

from importlib.metadata import version

import pytest
from _stories import PAUSED, PAYLOAD, counted, perform, raised, runnable, told
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from packaging.version import Version

from hitl_lab import scenarios

newest = pytest.mark.skipif(
    Version(version("langgraph")) < Version("1.2.24"), reason="what it holds came with a later LangGraph"
)


def story(name, **how):
    scenario = runnable(name)
    return perform(scenario, asynchronous=scenario.only == "async", **how)


def test_every_case_that_a_scenario_names_has_a_test():
    tested = {name[5:8].upper() for name in globals() if name.startswith("test_a")}
    named = {case for scenario in scenarios.all_scenarios() for case in scenario.cases}
    assert named <= tested
    # A02 is a change of LangGraph to come, A14 and A42 need JavaScript or a server
    assert {f"A{n:02}" for n in range(1, 42)} - tested == {"A02", "A14"}


# Lost writes, what is returned, what runs again


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a01_payload_is_gone_after_the_pause(durability):
    paused, resumed = story("broken_node", durability=durability)
    assert told(paused.returned["messages"]) == PAYLOAD
    assert told(paused.values) == PAUSED
    assert [m.id for m in resumed.values["messages"]] == ["h1", "a1", "h2"]  # sent again, yet no second draft


def test_a01_pushed_message_is_streamed_and_gone():
    paused, _ = story("pushed_message")
    (message, _metadata) = paused.returned[0][1]
    assert message.content == "Looking at it."
    assert told(paused.values) == "human: My parcel is broken."


def test_a03_mutated_state_is_no_write():
    for outcome in story("mutated_state_dict"):
        assert "note" not in outcome.values
    assert story("pydantic_state")[-1].values["note"] == ""


def test_a04_unanswered_node_runs_at_every_resume():
    _, first, second = story("two_tasks_one_by_one")
    assert sorted(first.ran) == ["legal", "sales"]
    assert second.ran == ("sales",)


def test_a05_validation_loop_runs_once_more_than_it_asks():
    outcomes = story("validation_loop")
    assert len(outcomes[:-1]) == 4  # questions
    assert counted(outcomes) == "ask_age*5"


@newest
def test_a06_a_pause_is_not_retried():
    paused, resumed = story("retry_after_answer")
    assert paused.ran == ("charge",)
    assert resumed.ran == ("charge",) * 3
    assert told(resumed.values) == "attempt 4 | charged: yes"


def test_a07_goto_beside_an_edge_runs_both():
    assert told(story("command_goto")[-1].values) == "decided: discard | discarded"
    assert told(story("command_goto_and_edge")[-1].values) == "decided: discard | discarded | sent"


def test_a08_another_draft_is_sent_than_was_approved():
    changed, kept = (story(name)[-1].values for name in ("changed_draft", "kept_draft"))
    assert (changed["approved"], changed["sent"]) == ("draft 1 on refunds", "draft 2 on refunds")
    assert kept["approved"] == kept["sent"] == "draft 1 on refunds"


# Several questions


@newest
def test_a09_next_names_the_node_after_its_second_question():
    _, second, _ = story("two_questions")
    assert second.next == ("order",)
    assert second.interrupts == ("Which colour?",)


def test_a10_a_bare_answer_to_two_questions_runs_nothing():
    for name in ("two_tasks_bare_answer", "two_subgraphs_ask"):
        _, refused, answered = story(name)
        assert isinstance(refused.error, RuntimeError) and "interrupt id" in str(refused.error)
        assert refused.ran == ()
        assert told(answered.values) == "legal: yes | sales: no"


@newest
def test_a11_an_answered_question_is_not_shown_any_more():
    _, first, _ = story("two_tasks_one_by_one")
    assert first.interrupts == ("Sales?",)


def test_a12_two_questions_in_one_subgraph_task_need_ids():
    _, refused, answered = story("subgraph_two_ask")
    assert isinstance(refused.error, RuntimeError)
    assert told(answered.values) == "legal: yes | sales: no"


def test_a13_every_visit_of_a_node_pauses():
    outcomes = story("loop_asks")
    assert [outcome.interrupts for outcome in outcomes] == [
        ("Is draft 1 good?",),
        ("Is draft 2 good?",),
        ("Is draft 3 good?",),
        (),
    ]


# Updates while paused, static breakpoints


def test_a15_an_update_discards_question_and_sibling():
    paused, updated, resumed = story("update_discards_sibling")
    assert told(paused.values) == "order | stock: 3" and paused.interrupts
    assert told(updated.values) == "order | note" and not updated.interrupts
    assert updated.next == ("ask", "lookup")
    assert sorted(resumed.ran) == ["ask", "lookup", "report"]  # answered without having been asked again


def test_a16_an_update_as_the_paused_node_skips_it():
    _, updated, resumed = story("fix_c_as_paused_node")
    assert updated.next == () and resumed.ran == ()


def test_a17_update_and_answer_in_one_command():
    assert told(story("command_update")[-1].values) == "order | note | answer: yes, saw note"
    both = story("command_update_goto")[-1]
    assert told(both.values) == "order | note | answer: yes, saw note | audited"


def test_a18_only_none_goes_on_from_a_breakpoint():
    assert story("breakpoint_before")[1].ran == ("publish",)
    assert story("breakpoint_empty_input")[1].ran == ("write",)
    assert story("breakpoint_new_input")[1].ran == ("write",)


def test_a19_a_breakpoint_of_one_call_is_not_remembered():
    first, _, again = story("breakpoint_at_run_time")
    assert first.ran == ("write",)
    assert again.ran == ("write", "publish")


def test_a20_a_removed_key_makes_the_breakpoint_fire_for_ever():
    _, _, *tries = story("schema_drift")
    assert [(outcome.ran, outcome.next) for outcome in tries] == [((), ("publish",))] * 3


def test_a21_a_new_input_is_no_answer():
    _, again, resumed = story("new_input_while_paused")
    assert sorted(again.ran) == ["ask", "lookup"]
    assert again.interrupts == ("How many?",)
    assert told(resumed.values) == "order | two, please | asking | answer: 2 | stock: 3 | 5 lines"


# Subgraphs, functional API


@pytest.mark.parametrize("name", ["subgraph_in_function", "subgraph_in_function_own_checkpointer"])
def test_a22_the_caller_of_a_subgraph_runs_again(name):
    _, first, second = story(name)
    assert first.ran == ("call", "first", "second")
    assert second.ran == ("call", "second")


def test_a23_every_question_of_a_subgraph_gets_its_answer():
    outcomes = story("subgraph_in_function")
    assert told(outcomes[-1].values).endswith("first: 1 | second: 2")
    assert counted(outcomes) == "call*3 first*2 second*2"


def test_a24_a_paused_subgraph_is_updated_by_its_own_config():
    _, inside, resumed = story("subgraph_update_inside")
    assert inside.interrupts == ("Ready?",)
    assert told(inside.state.tasks[0].state.values) == "order | prepared | note"
    assert "prepare" not in resumed.ran
    _, parent, resumed = story("subgraph_update_parent")
    assert parent.interrupts == ()
    assert "prepare" in resumed.ran


@newest
def test_a25_tasks_of_nested_entrypoints_run_once():
    paused, resumed = story("functional_nested")
    assert sorted(paused.ran) == ["inner", "inner_task", "outer", "outer_task"]
    assert resumed.ran == ("outer", "inner")


def test_a26_what_a_task_does_to_its_argument_is_not_saved():
    assert story("functional_mutation")[-1].returned == [2]


# Tools and agents


def test_a27_a_plain_tool_beside_an_asking_one_runs_twice():
    assert story("tool_node")[-1].values["log"] == ["book", "book", "pay", "pay"]
    assert story("tools_sent")[-1].values["log"] == ["book", "pay", "pay"]


def test_a28_one_question_of_two_tools_at_a_time():
    first, second, _ = story("two_tools_ask")
    assert (first.interrupts, second.interrupts) == (("Pay 1?",), ("Pay 2?",))


def test_a28_an_answer_reaches_another_tool_than_the_one_that_asked():
    asked, _, done = story("crossed_answers")
    assert asked.interrupts == ("Pay 2?",)  # and the answer to it was yes
    assert told(done.values).endswith("paid 1: yes | tool: paid 2: no")
    asked, done = story("kept_apart_answers")
    assert asked.interrupts == ("Pay 1?", "Pay 2?")
    assert told(done.values).endswith("paid 1: no | tool: paid 2: yes")


def test_a29_a_tool_wrapper_lets_the_pause_through():
    paused, done = story("tool_wrapped")
    assert paused.interrupts == ("Pay 1?",)
    assert told(done.values["messages"][-1]) == "tool: paid 1: yes"


def test_a30_a_swallowed_pause_is_none_and_keeps_the_write():
    for name in ("swallowed_by_except", "swallowed_by_finally"):
        first, _ = story(name)
        assert not first.interrupts and not first.next
        assert first.values["log"][0] == "asking"
    assert story("finally_runs_twice")[0].interrupts == ("Sure?",)
    assert story("except_lets_pause_through")[0].interrupts == ("Sure?",)


def test_a31_a_pause_is_not_raised_to_the_caller():
    graph = scenarios.get("broken_node").build(InMemorySaver())
    try:
        returned = graph.invoke({"messages": []}, {"configurable": {"thread_id": "1"}})
    except GraphInterrupt:
        pytest.fail("the caller saw LangGraph's own signal")
    assert [asked.value for asked in returned["__interrupt__"]] == ["Review the draft"]


def test_a32_a_rejected_tool_call_is_not_executed():
    approved, edited, rejected = (story(f"agent_{how}")[-1] for how in ("approved", "edited", "rejected"))
    assert "mail sent to Ada" in told(approved.values["messages"][2])
    assert "mail sent to Grace" in told(edited.values["messages"][2])
    assert "mail sent" not in told(rejected.values["messages"])
    assert "tools" not in rejected.ran


def test_a33_a_jump_of_another_middleware_runs_the_rejected_call():
    done = story("agent_jump")[-1]
    assert "tools" in done.ran
    assert "mail sent to Ada" in told(done.values["messages"])


# Set-up, durability, async, streams, time travel


def test_a34_set_up_mistakes():
    paused, refused = story("no_checkpointer")
    assert "__interrupt__" in paused.returned
    assert "without checkpointer" in str(refused.error)
    assert raised(story("no_thread_id")) == "ValueError"
    assert raised(story("misspelt_thread_id")) == "KeyError"
    for name in ("other_thread", "new_saver"):  # a run from nothing, and nobody says so
        last = story(name)[-1]
        assert told(last.values) == "" and last.interrupts == ("Ready?",)


@pytest.mark.parametrize(
    ("durability", "ran", "saved"), [("sync", ("take_lock",), True), ("exit", ("take_lock", "ask"), False)]
)
def test_a35_when_a_value_that_cannot_be_saved_fails(durability, ran, saved):
    (outcome,) = story("unserialisable_state", durability=durability)
    assert isinstance(outcome.error, TypeError)
    assert outcome.ran == ran
    assert bool(outcome.values) == saved


def test_a36_interrupt_needs_the_context_of_its_node():
    assert raised(story("asked_in_pool")) == "RuntimeError RuntimeError"
    assert raised(story("asked_in_executor")) == "RuntimeError RuntimeError"
    for name in ("asked_in_pool_with_context", "asked_in_thread", "asked_in_asyncio_task"):
        assert told(story(name)[-1].values) == "answer: yes"


def test_a37_what_is_saved_while_the_run_is_under_way():
    assert story("durability_sync")[0].values["log"][1] == "saved by now: 3"
    assert story("durability_exit")[0].values["log"][1] == "saved by now: 0"
    for mode in ("sync", "async", "exit"):
        assert story(f"durability_{mode}")[0].interrupts == ("Ready?",)


def test_a38_where_the_pause_shows_in_a_stream():
    values = story("parallel_sibling_streamed")[0].returned
    assert ["__interrupt__" in chunk for chunk in values] == [False, True, False]
    assert told(values[-1]) == "order | asking | stock: 3"
    (asked,) = [c["__interrupt__"] for c in story("stream_updates")[0].returned if "__interrupt__" in c]
    assert asked[0].value == "Review the draft"
    stopped = story("breakpoint_streamed")[0].returned
    assert stopped[-1] == {"__interrupt__": ()}
    assert "__interrupt__" not in story("breakpoint_before")[0].returned


def test_a38_v2_tells_value_and_interrupts_apart():
    output = story("invoke_v2")[0].returned
    assert [i.value for i in output.interrupts] == ["Review the draft"]
    assert told(output.value) == PAYLOAD
    assert story("stream_v2")[0].returned[-1]["interrupts"] == ()


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a38_events_tell_of_the_pause_at_the_end(kind):
    events = perform(runnable("stream_events_v3"), asynchronous=kind == "async")[0].returned
    assert [i.value for i in events[-1]["interrupts"]] == ["Review the draft"]


def test_a39_saved_state_inside_a_stream_loop():
    def seen(durability):
        graph = scenarios.get("fix_a_split_node").build(InMemorySaver())
        config, found = {"configurable": {"thread_id": "1"}}, []
        for chunk in graph.stream(scenarios.get("broken_node").story[0].input, config, durability=durability):
            messages = graph.get_state(config).values.get("messages", [])
            found.append((next(iter(chunk)), len(messages)))
        return found

    assert seen("sync") == [("draft", 2), ("attach", 2), ("__interrupt__", 2)]
    assert seen("exit")[:2] == [("draft", 0), ("attach", 0)]


@newest
def test_a40_going_back_to_a_pause_asks_anew():
    _, answered, travelled, again = story("travel_to_pause")
    assert travelled.interrupts == ("Send draft 1?",)
    assert sorted(travelled.ran) == ["ask", "lookup"]
    assert told(again.values) == told(answered.values).replace("yes", "no")
    assert story("travel_with_answer")[-1].ran == ("ask",)


@newest
def test_a41_an_update_keeps_the_history_of_a_delta_channel():
    _, dismissed, again = story("delta_channel_dismissed")
    assert told(dismissed.values) == "order | prepared" and not dismissed.interrupts
    assert told(again.values) == "order | prepared | second order | prepared"


# Found while these scenarios were written


def test_a_node_that_wrote_and_raised_is_never_run_again():
    _, failed, after = story("node_error_after_write")
    assert isinstance(failed.error, ConnectionError)
    assert failed.next == () and after.ran == ()
    assert told(after.values) == "booked | paying"
    assert story("node_error")[-1].ran == ("pay",)


def test_sync_durability_fails_in_a_graph_without_checkpointer():
    outcomes = story("subgraph_without_checkpointer_sync")
    assert {type(outcome.error) for outcome in outcomes} == {AttributeError}


def test_a_command_without_anything_in_it_fails_and_loses_nothing():
    _, failed, answered = story("command_empty")
    assert failed.error is not None and failed.ran == ()
    assert told(answered.values) == "order | answer: yes, saw order"


def test_a_sibling_started_by_goto_is_pending_though_get_state_does_not_show_it():
    _, started, resumed = story("command_goto_only")
    assert told(started.values) == "order"
    assert "audit" not in resumed.ran
    assert told(resumed.values) == "order | answer: yes, saw order | audited"


def test_an_answer_survives_the_timeout_that_follows_it():
    _, timed_out, done = story("node_timeout")
    assert told(timed_out.values) == ""
    assert told(done.values) == "fetching | fetched: yes"
