"""The real run, one phase at a time: where it stands, what can be seen there, and that it is the same run."""

import asyncio
import gc
import re
import threading
import uuid
import warnings
from typing import TypedDict

import pytest
from _stepping import CONFIG, Log, parallel, stepped, threads
from _stories import runnable
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

import hitl_lab
from hitl_lab import scenarios
from hitl_lab.errors import ExecutorBusy, ExecutorError, RunIsOver, StepTimeoutWarning
from hitl_lab.scenarios._compare import comparable
from hitl_lab.scenarios._scenario import arun, run

INPUT = {"messages": [HumanMessage("My parcel is broken.", id="h1")]}
MODES = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


def broken(saver=None, asynchronous=False, **how):
    scenario = scenarios.get("broken_node")
    build = scenario.abuild if asynchronous and scenario.abuild else scenario.build
    graph = build(saver or InMemorySaver())
    return hitl_lab.TracedExecutor(graph, INPUT, CONFIG, durability="sync", asynchronous=asynchronous, **how)


def phases(ex):
    out = []
    while not ex.over:
        stop = ex.step()
        out.append(f"{stop.phase} {stop.task}".strip())
    return out


def payload(messages):
    return [m.additional_kwargs.get("hitl_payload") for m in messages if m.additional_kwargs]


# ---------------------------------------------------------------- the same run

TIMES = re.compile(r"elapsed: [\d.]+s")


@pytest.mark.parametrize("asynchronous", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["sync", "async"])
@pytest.mark.parametrize("name", scenarios.names())
def test_a_run_stepped_to_its_end_is_the_run_recorded_at_once(name, asynchronous):
    scenario = runnable(name)
    if scenario.only == ("sync" if asynchronous else "async"):
        pytest.skip(f"{name} runs only {scenario.only}")
    if scenario.racy:
        pytest.skip("what is saved depends on timing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if asynchronous:

            async def plain():
                with hitl_lab.record() as trace:
                    return trace, await arun(scenario, InMemorySaver())

            at_once, outcomes = asyncio.run(plain())
            # Its first tool waits for the second, which a step lets in when its patience is over.
            patience = 0.3 if name == "kept_apart_answers" else 5.0
            live, got, stops = stepped(lambda: arun(scenario, InMemorySaver()), True, patience=patience)
        else:
            with hitl_lab.record() as at_once:
                outcomes = run(scenario, InMemorySaver())
            live, got, stops = stepped(lambda: run(scenario, InMemorySaver()), False)
    assert TIMES.sub("", str(live)) == TIMES.sub("", str(at_once))
    assert TIMES.sub("", repr(comparable(got))) == TIMES.sub("", repr(comparable(outcomes)))
    assert stops > 0 or not at_once.story.runs or at_once.story.runs[0].status == "error"


@MODES
def test_the_broken_node_phase_by_phase(asynchronous):
    with broken(asynchronous=asynchronous) as ex:
        assert phases(ex) == [
            *("tick", "execute __start__", "commit __start__", "after_tick"),
            *("tick", "execute draft", "commit draft", "after_tick"),
            *("tick", "execute review", "commit review", "paused"),
        ]
        ex.resume("approved")
        assert phases(ex) == ["tick", "execute review", "commit review", "after_tick", "tick", "end"]
        assert ex.returned["messages"][-1].content == "approved"
        assert [a.name for a in ex.trace.story.actions] == ["ainvoke" if asynchronous else "invoke", "resume"]


# ---------------------------------------------------------------- the parts


@MODES
def test_the_payload_is_in_task_writes_and_never_in_pending_or_saved_writes(asynchronous):
    with broken(asynchronous=asynchronous) as ex:
        ex.run_to("review")
        assert ex.tasks["review"].writes == ()
        for phase in ("execute", "commit"):
            ex.run_to(phase)
            assert payload(ex.tasks["review"].writes.of("messages")[0]) == ["risk: low"], phase
            assert ex.pending_writes.of("messages") == [], phase
            assert ex.saved().pending_writes.of("messages") == [], phase
            assert payload(ex.saved().values["messages"]) == [], phase
            assert payload(ex.channels["messages"]) == [], phase
        assert [w.channel for w in ex.pending_writes] == ["__interrupt__"]
        ex.finish()
        assert [(w.task, w.channel) for w in ex.saved().pending_writes] == [("review", "__interrupt__")]
        assert payload(ex.saved().values["messages"]) == []
        assert ex.state().next == ("review",)

        ex.resume("approved")
        ex.run_to("commit")
        assert payload(ex.tasks["review"].writes.of("messages")[0]) == ["risk: low"]
        assert payload(ex.pending_writes.of("messages")[0]) == ["risk: low"]
        ex.run_to("after_tick")
        assert payload(ex.channels["messages"]) == ["risk: low"]
        ex.finish()
        assert payload(ex.saved().values["messages"]) == ["risk: low"]


def test_parts_are_copies_and_read_only():
    with broken() as ex:
        ex.run_to("dropped")
        ex.tasks["review"].writes.of("messages")[0][0].additional_kwargs.clear()
        ex.channels["messages"].clear()
        assert payload(ex.tasks["review"].writes.of("messages")[0]) == ["risk: low"]
        assert len(ex.channels["messages"]) == 2
        with pytest.raises(TypeError):
            ex.tasks["review"] = None
        with pytest.raises(AttributeError):
            ex.tasks["review"].writes = ()


def test_parts_print_alike_in_every_run():
    texts = set()
    for _ in range(2):
        with broken() as ex:
            ex.run_to("dropped")
            stand = [str(ex), str(ex.at), repr(ex.tasks), repr(ex.channels), repr(ex.pending_writes), repr(ex.saved())]
            ex.finish()
            texts.add("\n".join([*stand, str(ex), repr(ex.tasks), repr(ex.saved())]))
    assert len(texts) == 1
    text = texts.pop()
    assert "it stands after commit of review, superstep 2" in text
    assert "1 write dropped: W3 `messages`" in text
    assert not re.search(r"[0-9a-f]{32}|0x[0-9a-f]+", text)


def test_after_the_end_no_loop_is_left_and_a_look_says_so():
    with broken() as ex:
        ex.finish()
        assert len(ex.tasks) == 0
        assert "its loop is gone and with it task.writes" in repr(ex.tasks)
        with pytest.raises(ExecutorError, match=r"saved\(\) is what is left"):
            ex.tasks["review"]


def test_no_live_object_of_langgraph_outlives_its_run():
    from langgraph.pregel._loop import PregelLoop
    from langgraph.types import PregelExecutableTask

    def count():
        gc.collect()
        return sum(isinstance(o, PregelLoop | PregelExecutableTask) for o in gc.get_objects())

    before = count()
    ex = broken()
    ex.run_to("dropped")
    seen = (ex.tasks, ex.channels, ex.checkpoint)
    ex.finish()
    assert count() == before
    assert seen[0]["review"].writes
    ex.close()


# ---------------------------------------------------------------- moving


def test_run_to_each_kind_of_target():
    with broken() as ex:
        assert ex.run_to("tick").phase == "tick"
        assert ex.run_to("draft").tasks[0].name == "draft"
        assert ex.run_to("superstep").tasks[0].name == "review"
        wrote = ex.run_to("wrote")
        assert (wrote.phase, wrote.kind, wrote.channel) == ("event", "wrote", "messages")
        assert payload(ex.tasks["review"].writes.of("messages")[0]) == ["risk: low"]
        assert ex.run_to("interrupt_called").value == "Review the draft"
        dropped = ex.run_to("dropped")
        assert (dropped.phase, dropped.task, len(dropped.dropped)) == ("commit", "review", 1)
        assert ex.run_to(lambda event: event.kind == "returned").kind == "returned"
        assert ex.run_to("dropped").phase == "paused"
        with pytest.raises(ValueError, match=r"no phase .*node .*draft.*kind of event"):
            ex.run_to("reveiw")


def test_a_node_that_is_called_like_a_phase():
    graph = StateGraph(Log).add_node("commit", lambda s: {"log": ["c"]}).add_edge(START, "commit").compile()
    with hitl_lab.TracedExecutor(graph, {"log": []}) as ex:
        assert ex.run_to("commit").task == "__start__"
        assert ex.run_to(node="commit").tasks[0].name == "commit"


@MODES
def test_parallel_tasks_move_one_phase_at_a_time_in_the_order_asked_for(asynchronous):
    graph, ran = parallel(InMemorySaver(), asynchronous)
    with hitl_lab.TracedExecutor(graph, {"log": []}, CONFIG) as ex:
        ex.run_to("a")
        assert str(ex.step("b")) == "[execute] `b` returned."
        assert ran == ["b"]
        assert ex.waiting == ("a", "b")
        assert ex.tasks["b"].writes.of("log") == [["b"]]
        assert ex.tasks["a"].writes == ()
        assert ex.step("a").task == "a"
        assert ex.step("b").phase == "commit"
        assert [w.task for w in ex.pending_writes if w.channel == "log"] == ["b"]
        assert [ex.step().phase for _ in range(3)] == ["commit", "after_tick", "tick"]
        assert ex.finish().phase == "end"
        # In which order they ran does not matter: apply_writes takes them in the order of tick.
        assert ex.returned == {"log": ["a", "b"]}
        assert ran == ["b", "a"]


@MODES
def test_a_seed_shows_both_orders_of_a_race(asynchronous):
    orders = set()
    for seed in range(8):
        graph, ran = parallel(InMemorySaver(), asynchronous)
        with hitl_lab.TracedExecutor(graph, {"log": []}, CONFIG, seed=seed) as ex:
            ex.finish()
        graph, again = parallel(InMemorySaver(), asynchronous)
        with hitl_lab.TracedExecutor(graph, {"log": []}, CONFIG, seed=seed) as ex:
            ex.finish()
        assert ran == again
        orders.add(tuple(ran))
    assert orders == {("a", "b"), ("b", "a")}


@MODES
def test_tasks_of_send_are_told_apart(asynchronous):
    async def aworker(n):
        return {"log": [n]}

    def worker(n):
        return {"log": [n]}

    graph = StateGraph(Log).add_node("worker", aworker if asynchronous else worker)
    graph.add_conditional_edges(START, lambda s: [Send("worker", i) for i in range(3)], ["worker"])
    with hitl_lab.TracedExecutor(graph.compile(), {"log": []}) as ex:
        ex.run_to("worker")
        ex.step("worker[2]")
        assert list(ex.tasks) == ["worker[0]", "worker[1]", "worker[2]"]
        assert ex.tasks["worker[2]"].writes.of("log") == [[2]]
        assert ex.tasks["worker[0]"].writes == ()
        ex.finish()
        assert ex.returned == {"log": [0, 1, 2]}


def test_subgraphs_tell_where_they_stand():
    scenario = scenarios.get("subgraph_as_node")
    graph = scenario.build(InMemorySaver())
    with hitl_lab.TracedExecutor(graph, scenario.story[0].input, CONFIG, durability="sync") as ex:
        inside = ex.run_to(lambda event: event.kind == "tick" and bool(event.ns))
        assert inside.place and "/" not in inside.place
        assert ex.parts.ns == inside.place
        ex.run_to("execute")
        assert f"in {inside.place}" in str(ex)
        assert any(name.startswith(f"{inside.place}/") for name in ex.waiting)
        assert ex.finish().phase == "paused"


@pytest.mark.slow
def test_more_tasks_than_threads_move_all_the_same():
    names = tuple(f"n{i}" for i in range(5))
    graph, ran = parallel(InMemorySaver(), names=names)
    with hitl_lab.TracedExecutor(graph, {"log": []}, {**CONFIG, "max_concurrency": 2}) as ex:
        ex.run_to("n0")
        ex.step()
        with pytest.raises(ExecutorError, match="2 tasks run at once"):
            ex.step("n4")
        ex.finish()
        assert ran == list(names)


def test_functional_tasks():
    from langgraph.func import entrypoint, task

    @task
    def add(x):
        return x + 1

    @entrypoint(checkpointer=InMemorySaver())
    def flow(x):
        first, second = add(x), add(x + 10)
        return interrupt("more?") + first.result() + second.result()

    with hitl_lab.TracedExecutor(flow, 1, CONFIG) as ex:
        # The two calls are there at once, and are done first: flow itself has stopped meanwhile.
        assert phases(ex) == [
            *("tick", "execute add", "commit add", "execute add", "commit add", "execute flow", "commit flow"),
            "paused",
        ]
        ex.resume(100)
        ex.finish()
        assert ex.returned == 114


def test_a_task_that_waits_for_another_lets_it_in():
    graph = StateGraph(Log)
    told = threading.Event()

    def waits(state):
        assert told.wait(10)
        return {"log": ["waits"]}

    def tells(state):
        told.set()
        return {"log": ["tells"]}

    graph.add_node("a", waits).add_node("b", tells).add_edge(START, "a").add_edge(START, "b")
    with hitl_lab.TracedExecutor(graph.compile(), {"log": []}, patience=0.1) as ex:
        ex.finish()
        assert ex.returned == {"log": ["waits", "tells"]}


# ---------------------------------------------------------------- going on


@MODES
def test_update_state_and_a_new_input_stay_in_one_trace(asynchronous):
    with broken(asynchronous=asynchronous) as ex:
        ex.finish()
        stop = ex.update_state({"messages": [HumanMessage("kept", id="k")]})
        assert (stop.phase, stop.kind) == ("update", "state_updated")
        assert [m.content for m in ex.saved().values["messages"]][-1] == "kept"
        ex.resume("approved")
        ex.finish()
        ex.invoke({"messages": [HumanMessage("again", id="h9")]})
        assert ex.finish().phase == "paused"
        labels = [a.label for a in ex.trace.story.actions]
        assert labels == ["run 1", "update 1", "run 2", "run 3"]


def test_what_cannot_be_done_now_is_said_and_nothing_is_lost():
    ex = broken()
    ex.run_to("review")
    for call in (lambda: ex.resume("x"), lambda: ex.invoke(None), lambda: ex.update_state({})):
        with pytest.raises(ExecutorError, match=r"the run is not over, it stands after tick.*finish\(\)"):
            call()
    with pytest.raises(ExecutorError, match=r"No task called 'reveiw' can move now. These can: review"):
        ex.step("reveiw")
    ex.finish()
    with pytest.raises(RunIsOver, match=r"The run is paused: answer it with resume\(value\)"):
        ex.step()
    ex.resume("approved")
    ex.finish()
    with pytest.raises(RunIsOver, match="The run has ended"):
        ex.step()
    ex.close()
    ex.close()
    with pytest.raises(RunIsOver, match="closed"):
        ex.step()
    with pytest.raises(RunIsOver, match="closed"):
        ex.resume("x")
    assert len(ex.trace.story.runs) == 2


@MODES
def test_a_graph_that_raises_raises_in_step_and_the_trace_is_kept(asynchronous):
    def bad(state):
        raise ZeroDivisionError("mine")

    async def abad(state):
        raise ZeroDivisionError("mine")

    graph = StateGraph(Log).add_node("bad", abad if asynchronous else bad).add_edge(START, "bad")
    saver = InMemorySaver()
    with hitl_lab.TracedExecutor(graph.compile(checkpointer=saver), {"log": []}, CONFIG) as ex:
        ex.run_to("bad")
        assert str(ex.step()) == "[execute] `bad` raised ZeroDivisionError: mine."
        assert ex.step().phase == "commit"
        with pytest.raises(ZeroDivisionError, match="mine") as caught:
            ex.step()
        assert "the trace up to here is in the executor's .trace" in caught.value.__notes__[-1]
        assert ex.trace.story.runs[0].status == "error"
        assert (ex.at.phase, ex.over, ex.returned) == ("end", True, None)


@MODES
def test_a_node_interrupted_by_the_keyboard_raises_in_step(asynchronous):
    for names in (("a",), ("a", "b")):
        graph = StateGraph(Log)

        def bad(state):
            raise KeyboardInterrupt

        async def abad(state):
            raise KeyboardInterrupt

        for name in names:
            graph.add_node(name, abad if asynchronous else bad).add_edge(START, name)
        before = threads()
        with hitl_lab.TracedExecutor(graph.compile(), {"log": []}, CONFIG) as ex, pytest.raises(KeyboardInterrupt):
            ex.finish()
        assert threads() <= before


def test_a_second_thread_is_told_off():
    here, go = threading.Event(), threading.Event()

    def slow(state):
        here.set()
        go.wait(10)
        return {"log": ["slow"]}

    graph = StateGraph(Log).add_node("slow", slow).add_edge(START, "slow").compile()
    with hitl_lab.TracedExecutor(graph, {"log": []}) as ex:
        thread = threading.Thread(target=ex.finish)
        thread.start()
        assert here.wait(10)
        with pytest.raises(ExecutorBusy, match="another thread"):
            ex.step()
        with pytest.raises(ExecutorError, match="The run is moving"):
            ex.tasks  # noqa: B018
        go.set()
        thread.join(10)
        assert ex.over


def test_a_step_timeout_is_told_at_once():
    graph, _ = parallel(InMemorySaver())
    graph.step_timeout = 0.05
    with pytest.warns(StepTimeoutWarning, match="step_timeout=0.05: the time it stands"):
        ex = hitl_lab.TracedExecutor(graph, {"log": []}, CONFIG)
    with ex:
        ex.run_to("a")
        ex.step()
        assert not threading.Event().wait(0.2)
        with pytest.raises(TimeoutError) as caught:
            ex.finish()
        assert any("step_timeout" in note for note in caught.value.__notes__)
        assert any("step_timeout" in e.text for e in ex.trace.events if e.kind == "note")


def test_other_recordings_go_on_between_two_steps():
    with hitl_lab.record() as outer:
        ex = broken()
        ex.run_to("review")
        with hitl_lab.record() as other:
            run(scenarios.get("fix_a_split_node"), InMemorySaver())
        ex.finish()
        ex.close()
    assert len(other.story.runs) == 2
    assert len(outer.story.runs) == 3
    assert len(ex.trace.story.runs) == 1


# ---------------------------------------------------------------- savers


def test_sqlite_shows_what_is_saved_at_each_stop(tmp_path):
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(tmp_path / "db.sqlite")) as saver, broken(saver) as ex:
        assert not ex.saved().exists
        ex.run_to("dropped")
        assert len(ex.saved().values["messages"]) == 2
        ex.finish()
        assert [w.channel for w in ex.saved().pending_writes] == ["__interrupt__"]


def test_an_async_sqlite_saver_is_read_while_the_run_stands(tmp_path):
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async def go():
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "db.sqlite")) as saver:
            for thread, durability in (("1", "sync"), ("2", "async"), ("3", "exit")):
                graph = scenarios.get("broken_node").build(saver)
                config = {"configurable": {"thread_id": thread}}
                with hitl_lab.TracedExecutor(graph, INPUT, config, durability=durability) as ex:
                    while not ex.over:
                        ex.step()
                        ex.saved()
                        ex.state()
                    assert [w.channel for w in ex.saved().pending_writes] == ["__interrupt__"]
                    ex.resume("approved")
                    ex.finish()
                    assert payload(ex.saved().values["messages"]) == ["risk: low"]

    asyncio.run(go())


def check_story(saver, thread, **how):
    """The broken node on a saver, step by step, its saved state looked at everywhere."""
    graph = scenarios.get("broken_node").build(saver)
    config = {"configurable": {"thread_id": thread}}
    with hitl_lab.TracedExecutor(graph, INPUT, config, **how) as ex:
        while not ex.over:
            ex.step()
            assert payload(ex.saved().values.get("messages", [])) == []
            ex.state()
        assert [w.channel for w in ex.saved().pending_writes] == ["__interrupt__"]
        ex.update_state({"messages": [HumanMessage("kept", id="k")]})
        ex.resume("approved")
        ex.finish()
        assert [m.content for m in ex.saved().values["messages"]][-2:] == ["kept", "approved"]
        ex.invoke(INPUT)
        ex.run_to("dropped")
        rows = ex.crash_here()
        assert rows.committed
        return rows


def test_postgres(postgres_dsn):
    with hitl_lab.savers.postgres(postgres_dsn) as saver:
        rows = check_story(saver, f"executor {uuid.uuid4()}", durability="sync")
        assert len(rows.checkpoints) > 5


def test_async_postgres(postgres_dsn):
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async def go():
        async with AsyncPostgresSaver.from_conn_string(postgres_dsn) as saver:
            await saver.setup()
            for durability in ("sync", "async"):
                rows = check_story(saver, f"executor {uuid.uuid4()}", durability=durability)
                assert len(rows.checkpoints) > 5

    asyncio.run(go())


@pytest.mark.parametrize(("durability", "checkpoints"), [("sync", 3), ("exit", 0)])
def test_what_survives_a_crash_is_read_from_the_file(tmp_path, durability, checkpoints):
    """Fix A: the node that attaches the payload is done, the pause is not reached."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(tmp_path / "db.sqlite")) as saver:
        graph = scenarios.get("fix_a_split_node").build(saver)
        ex = hitl_lab.TracedExecutor(graph, INPUT, CONFIG, durability=durability)
        ex.run_to("attach")
        ex.run_to("after_tick")
        rows = ex.crash_here()
        assert rows.committed
        assert len(rows.checkpoints) == checkpoints + bool(checkpoints)
        found = graph.get_state(CONFIG).values.get("messages", [])
        assert payload(found) == (["risk: low"] if checkpoints else [])
        assert "The process died here" in ex.trace.events[-1].text


def test_crash_here_in_memory_leaves_nothing():
    ex = broken()
    ex.run_to("dropped")
    rows = ex.crash_here()
    assert (rows.committed, rows.rows) == (False, ())
    with pytest.raises(RunIsOver, match="crash_here"):
        ex.step()


# ---------------------------------------------------------------- ending


@MODES
@pytest.mark.parametrize("where", ["review", "execute", "commit", "wrote"])
def test_a_closed_run_writes_nothing_more(tmp_path, asynchronous, where):
    """No error write, no checkpoint, and no node runs on."""
    saver = InMemorySaver()
    ran = []

    class State(TypedDict):
        x: int

    def first(state):
        ran.append("first")
        return {"x": 1}

    def second(state):
        ran.append("second")
        return {"x": 2}

    async def afirst(state):
        return first(state)

    async def asecond(state):
        return second(state)

    graph = StateGraph(State)
    graph.add_node("review", afirst if asynchronous else first).add_node("second", asecond if asynchronous else second)
    graph = graph.add_edge(START, "review").add_edge("review", "second").compile(checkpointer=saver)
    for durability in ("sync", "async", "exit"):
        ran.clear()
        config = {"configurable": {"thread_id": f"{durability}-{where}"}}
        before = threads()
        ex = hitl_lab.TracedExecutor(graph, {"x": 0}, config, durability=durability)
        ex.run_to("review")
        ex.run_to(where) if where != "review" else None
        stood = dict(saver.storage), {k: dict(v) for k, v in saver.writes.items()}
        thread = config["configurable"]["thread_id"]
        count = len(list(saver.list(config)))
        ex.close()
        assert threads() <= before
        assert len(list(saver.list(config))) == count
        written = [w for key, rows in saver.writes.items() if key[0] == thread for w in rows.values()]
        assert not [w for w in written if w[1] == "__error__"]
        assert "second" not in ran
        assert ex.trace.events[-1].kind == "note"
        del stood


@pytest.mark.slow
@MODES
def test_parallel_tasks_are_let_go_without_a_word(asynchronous, caplog, capfd):
    saver = InMemorySaver()
    for stops in range(1, 9):
        graph, ran = parallel(saver, asynchronous, ("a", "b", "c"))
        before = threads()
        ex = hitl_lab.TracedExecutor(graph, {"log": []}, {"configurable": {"thread_id": str(stops)}})
        ex.run_to("a")
        for _ in range(stops):
            ex.step()
        did = list(ran)
        ex.close()
        assert threads() <= before
        assert ran == did
        gc.collect()
    assert caplog.text == ""
    assert capfd.readouterr().err == ""
    assert not [w for rows in saver.writes.values() for w in rows.values() if w[1] == "__error__"]


@pytest.mark.slow
@MODES
def test_a_hundred_executors_leave_no_threads_and_no_memory(asynchronous):
    import tracemalloc

    def one(i):
        ex = broken(asynchronous=asynchronous)
        for _ in range(i % 13):
            if not ex.over:
                ex.step()
        ex.close()

    for i in range(26):
        one(i)
    gc.collect()
    before, threads_before = len(gc.get_objects()), threads()
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    for i in range(100):
        one(i)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert threads() <= threads_before
    assert len(gc.get_objects()) - before < 500
    assert grown < 300_000


def test_dropped_without_close_its_thread_ends():
    before = threads()
    ex = broken()
    ex.run_to("commit")
    mine = threads() - before
    assert mine
    del ex
    gc.collect()
    for thread in mine:
        thread.join(5)
    assert threads() <= before
