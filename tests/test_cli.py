"""hitl-lab trace, show and report: what they print, write and answer, also to bad input."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from hitl_lab import Trace, secrets
from hitl_lab.cli import main
from hitl_lab.tracing import events as ev

AGENT = '''
"""Graphs that a user might have."""
import operator
import time
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    api_key: str
    note: str


class Context(TypedDict):
    user: str


def draft(state):
    return {"log": ["draft"], "api_key": "top-" + "secret", "note": "my key is sk" + "-" + "a1B2" * 6}


def review(state):
    get_config()["configurable"]["__pregel_send"]([("log", ["asking"])])
    return {"log": [interrupt("ok?")]}


def chain(*nodes, **options):
    builder = StateGraph(State, **options)
    for a, b in zip((None, *nodes), nodes):
        builder.add_node(b.__name__, b)
        builder.add_edge(a.__name__ if a else START, b.__name__)
    return builder


builder = chain(draft, review)
graph = builder.compile()
own = builder.compile(checkpointer=InMemorySaver())


def factory():
    return builder.compile()


def factory_of_config(config):
    return builder.compile(name="graph of " + config["configurable"]["thread_id"])


async def afactory():
    return builder.compile()


@contextmanager
def opened():
    yield builder.compile()


@asynccontextmanager
async def aopened():
    yield builder.compile()


def nothing():
    return 3


async def areview(state):
    return {"log": [interrupt("ok?")]}


only_async = chain(areview).compile()


def spin(state):
    return {"log": [1]}


endless = chain(spin).add_edge("spin", "spin").compile()


def who(state):
    return {"log": [get_config()["configurable"]["user"]]}


def whose(state, runtime: Runtime[Context]):
    return {"log": [runtime.context["user"]]}


needs_config = chain(who).compile()
needs_context = chain(whose, context_schema=Context).compile()


def slow(state):
    print("sleeping", flush=True)
    time.sleep(60)
    return {}


sleeps = chain(draft, slow).compile()
number = 3
'''


@pytest.fixture(scope="module", autouse=True)
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "user_agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "breaks.py").write_text("import user_agent\n1 / 0\n", encoding="utf-8")
    (folder / "lacks.py").write_text("import no_such_library\n", encoding="utf-8")
    package = folder / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "names.py").write_text("LOG = 'log'\n", encoding="utf-8")
    (package / "graph.py").write_text("from .names import LOG\nfrom user_agent import graph\n", encoding="utf-8")
    (folder / "langgraph.json").write_text(
        '{"graphs": {"mine": "./user_agent.py:graph", "packed": {"path": "pack/graph.py:graph"}}, "env": ".env"}',
        encoding="utf-8",
    )
    (folder / ".env").write_text("export HITL_LAB_TEST_ENV='from the project'\n# note\n", encoding="utf-8")
    before, path = Path.cwd(), list(sys.path)
    os.chdir(folder)
    yield folder
    os.chdir(before)
    sys.path[:] = path
    os.environ.pop("HITL_LAB_TEST_ENV", None)


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


INPUT = ("--input", '{"log": []}')


@pytest.mark.parametrize(
    "name",
    [
        "user_agent:graph",
        "user_agent:own",
        "user_agent:builder",
        "user_agent:factory",
        "user_agent:factory_of_config",
        "user_agent:afactory",
        "user_agent:opened",
        "user_agent:aopened",
        "./user_agent.py:graph",
        "mine",
        "packed",
        "pack.graph:graph",
    ],
)
def test_a_graph_is_found_however_it_is_named_and_made(name):
    done = call("trace", name, *INPUT, "--resume", '"yes"')
    assert done.exit_code == 0, done.output
    assert "HL001 write dropped at the pause · risk · review → log · run 1" in done.output
    assert "run 2     resume        The run is done." in done.output


def test_an_async_graph_is_run_async():
    done = call("trace", "user_agent:only_async", *INPUT, "--resume", '"yes"', "--full")
    assert done.exit_code == 0, done.output
    assert "`ainvoke()` starts" in done.output
    assert "Findings: none." in done.output


def test_the_project_sets_its_environment():
    call("trace", "mine", *INPUT)
    assert os.environ["HITL_LAB_TEST_ENV"] == "from the project"


def test_steps_are_done_in_the_order_given():
    done = call(
        "trace", "mine", *INPUT, "--update", '{"log": ["u"]}', "--as-node", "draft", "--continue", "--resume", '"a"',
        "--input", "{}", "--resume", '"b"',
    )  # fmt: skip
    told = re.findall(r"^(run \d|update \d) +(\w+)", done.output, re.M)
    assert told == [
        ("run 1", "invoke"), ("update 1", "update_state"), ("run 2", "invoke"),
        ("run 3", "resume"), ("run 4", "invoke"), ("run 5", "resume"),
    ]  # fmt: skip


def test_a_thread_is_gone_on_with_on_a_database(tmp_path):
    saver = ("--saver", f"sqlite:{tmp_path / 'threads.sqlite'}", "--thread", "t1")
    assert "Paused" in call("trace", "mine", *INPUT, *saver).output
    again = call("trace", "mine", "--resume", '"yes"', *saver)
    assert again.exit_code == 0, again.output
    assert "The run is done." in again.output
    fresh = call("trace", "user_agent:afactory", *INPUT, "--saver", f"sqlite:{tmp_path / 'threads.sqlite'}")
    assert "thread: hitl-lab-" in fresh.stderr
    assert fresh.exit_code == 0, fresh.output


def test_a_database_of_postgres(postgres_dsn):
    done = call("trace", "mine", *INPUT, "--resume", '"y"', "--saver", f"postgres:{postgres_dsn}", "--thread", "cli")
    assert done.exit_code == 0, done.output
    assert "PostgresSaver" in done.output


def test_config_context_and_durability():
    missing = call("trace", "user_agent:needs_config", *INPUT)
    assert missing.exit_code == 3
    assert "The graph raised KeyError: 'user' in node who (user_agent.py:" in missing.stderr
    assert '--config \'{"configurable"' in missing.stderr
    given = call("trace", "user_agent:needs_config", *INPUT, "--config", '{"configurable": {"user": "ada"}}')
    assert given.exit_code == 0, given.output
    none = call("trace", "user_agent:needs_context", *INPUT)
    assert none.exit_code == 3
    context = call("trace", "user_agent:needs_context", *INPUT, "--context", '{"user": "ada"}', "--durability", "exit")
    assert context.exit_code == 0, context.output
    assert "durability exit" in call("trace", "mine", *INPUT, "--durability", "exit", "--full").output


BAD = {
    "no module": (["no_such_module:graph", *INPUT], "there is no module 'no_such_module'"),
    "no library": (["lacks:graph", *INPUT], "importing lacks failed: No module named 'no_such_library'"),
    "breaks": (["breaks:graph", *INPUT], "breaks raised ZeroDivisionError: division by zero (at breaks.py:2)"),
    "no file": (["none.py:graph", *INPUT], "there is no file none.py"),
    "no attribute": (["user_agent:grph", *INPUT], "user_agent has no 'grph'. Graphs there: builder, graph, own"),
    "no graph": (["user_agent:number", *INPUT], "user_agent:number is no graph but an int"),
    "factory of nothing": (["user_agent:nothing", *INPUT], "user_agent:nothing gave an int, which is no graph"),
    "not in project": (["theirs", *INPUT], "has no graph 'theirs'. It has: mine, packed"),
    "no JSON": (["mine", "--input", "{log: []}"], "is no JSON"),
    "single quotes": (["mine", "--input", "{'log': []}"], "JSON has double quotes"),
    "bare word": (["mine", "--resume", "yes"], """A text is given in double quotes: --resume '"yes"'"""),
    "no such file": (["mine", "--input", "@none.json"], "none.json cannot be read"),
    "nothing to do": (["mine"], "Nothing to do: give --input JSON"),
    "as-node alone": (["mine", *INPUT, "--as-node", "draft"], "--as-node belongs right after an --update"),
    "resume-all": (["mine", "--resume-all", '"x"'], "takes a JSON list"),
    "config": (["mine", *INPUT, "--config", "[]"], "it must be a JSON object"),
    "saver": (["mine", *INPUT, "--saver", "oracle:x"], "is none of memory, sqlite:PATH, postgres:DSN"),
    "code": (["mine", *INPUT, "--fail-on", "HL999"], "there is no finding 'HL999'"),
    "unwritable": (["mine", *INPUT, "--json", "none/x.json"], "none/x.json cannot be written: No such file"),
    "no server": (["mine", *INPUT, "--saver", "postgres://u:p@127.0.0.1:1/x"], "checkpointer cannot be opened"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_error(name):
    arguments, message = BAD[name]
    done = call("trace", *arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_an_endless_graph(tmp_path):
    file = tmp_path / "t.json"
    done = call("trace", "user_agent:endless", *INPUT, "--config", '{"recursion_limit": 5}', "--json", file)
    assert done.exit_code == 3
    assert "The graph reached its recursion limit: it may be endless" in done.stderr
    assert Trace.load(file).findings.codes == ("HL020",)


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send to a process")
def test_ctrl_c_leaves_the_trace_so_far(project, tmp_path):
    file = tmp_path / "t.json"
    program = [sys.executable, "-m", "hitl_lab.cli", "trace", "user_agent:sleeps", *INPUT, "--json", str(file)]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    running = subprocess.Popen(program, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        assert running.stdout.readline() == "sleeping\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130, err
    assert "Stopped by Ctrl-C. The trace so far is above." in err
    assert "draft → log" in out
    assert any(isinstance(e, ev.TaskStarted) and e.name == "slow" for e in Trace.load(file).events)


def test_fail_on(tmp_path):
    assert call("trace", "mine", *INPUT, "--fail-on", "HL001,HL006").exit_code == 1
    assert call("trace", "mine", *INPUT, "--fail-on", "risk").exit_code == 1
    assert call("trace", "mine", *INPUT, "--fail-on", "HL006").exit_code == 0
    assert "Failed on HL001, as --fail-on asks." in call("trace", "mine", *INPUT, "--fail-on", "HL001").stderr


def test_files_hold_no_secrets_unless_asked(tmp_path):
    key = "sk" + "-" + "a1B2" * 6
    hidden, shown = tmp_path / "hidden.json", tmp_path / "shown.json"
    page = tmp_path / "page.html"
    done = call("trace", "mine", *INPUT, "--json", hidden, "--html", page, "--full")
    assert done.exit_code == 0, done.output
    for text in (done.output, hidden.read_text(), page.read_text()):
        assert "top-secret" not in text
        assert key not in text
    assert "<hidden>" in done.output
    assert "top-secret" in call("trace", "mine", *INPUT, "--json", shown, "--show-values").output
    assert key in shown.read_text()
    assert "top-secret" not in call("show", shown).output
    assert "top-secret" in call("show", shown, "--show-values").output
    assert call("report", shown, "-o", page).exit_code == 0
    assert "top-secret" not in page.read_text()
    # What is hidden is hidden for good, and the trace is whole all the same.
    assert "HL001" in call("show", hidden, "--show-values").output


def test_show_and_report(tmp_path):
    file = tmp_path / "t.json.gz"
    traced = call("trace", "mine", *INPUT, "--json", file)
    assert call("show", file).output == traced.stdout
    assert "     1  run_started" in call("show", file, "--full").output
    assert call("report", file, "-o", tmp_path / "r.html").output.endswith("r.html is written.\n")
    assert "<!doctype html>" in (tmp_path / "r.html").read_text()[:20]


def test_a_file_that_is_no_trace(tmp_path):
    good = tmp_path / "good.json"
    call("trace", "mine", *INPUT, "--json", good)
    lines = good.read_text().splitlines(keepends=True)
    cut, newer, other, empty = (tmp_path / n for n in ("cut.json", "newer.json", "other.json", "empty.json"))
    cut.write_text("".join(lines[:-1]) + lines[-1][:20])
    newer.write_text(lines[0].replace('"version":1', '"version":99') + "".join(lines[1:]))
    other.write_text('{"a": 1}\n')
    empty.write_text("")
    assert call("show", cut).exit_code == 0
    for file, message in (
        (newer, "is a trace of schema version 99"), (other, "is not a trace"), (empty, "is not a trace"),
        (tmp_path / "none.json", "there is no such trace file"),
    ):  # fmt: skip
        for command in (("show", file), ("report", file, "-o", tmp_path / "r.html")):
            done = call(*command)
            assert done.exit_code == 2
            assert message in done.stderr
            assert len(done.stderr.strip().splitlines()) == 1


def test_plain_in_a_pipe_and_coloured_in_a_terminal(tmp_path, monkeypatch, capsys):
    from hitl_lab.commands import _output

    assert "\x1b" not in call("trace", "mine", *INPUT).output
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    _output.show("HL001 write dropped · risk · a\n`commit`")
    assert "\x1b[" in capsys.readouterr().out


def test_a_pipe_with_a_narrow_encoding(project):
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    program = [sys.executable, "-m", "hitl_lab.cli", "trace", "mine", *INPUT]
    done = subprocess.run(program, cwd=project, capture_output=True, env=env, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"HL001" in done.stdout


def test_help_is_quick_and_names_the_exit_codes():
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "hitl_lab.cli", "trace", "--help"], capture_output=True, text=True,
                          check=True, timeout=60)  # fmt: skip
    took = time.perf_counter() - start
    assert "130 stopped by Ctrl-C" in done.stdout
    code = "import sys, hitl_lab.cli, hitl_lab.commands.trace; sys.exit('langgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert took < 3  # 0.3 s here; a busy machine gets ten times that


@pytest.mark.parametrize("name", [
        "api_key", "apiKey", "OPENAI_API_KEY", "password", "db_password", "clientSecret", "access_token", "token",
        "Authorization", "cookie", "dsn", "cvv",
    ])  # fmt: skip
def test_names_of_secrets(name):
    assert secrets.looks_secret(name)
    assert secrets.hide({name: "x"}) == {name: {"$": "hidden"}}


@pytest.mark.parametrize(
    "name", ["tokens", "max_tokens", "token_count", "key", "author", "secretary", "passport", "monkey", "messages"]
)
def test_names_of_no_secrets(name):
    assert not secrets.looks_secret(name)


def test_numbers_under_a_name_like_token_are_shown_and_patterns_are_hidden_anywhere():
    assert secrets.hide({"token": 17}) == {"token": 17}
    assert secrets.hide({"pwd": 17}) == {"pwd": {"$": "hidden"}}
    jwt = ".".join(["eyJ" + "hbGciOiJIUzI1", "eyJ" + "zdWIiOiIxMjM0", "sig" * 5])
    texts = {
        f"use {jwt} now": "use <hidden> now",
        "postgres://ada:pa55@db/x": "postgres://<hidden>@db/x",
        "Authorization: Bearer " + "ab12" * 6: "Authorization: Bearer <hidden>",
        "AKIA" + "ABCDEFGHIJKLMNOP": "<hidden>",
        "a uuid 1f0c7a52-7a52-6a52-8a52-1f0c7a521f0c": "a uuid 1f0c7a52-7a52-6a52-8a52-1f0c7a521f0c",
    }
    for text, wanted in texts.items():
        assert secrets.hide([text]) == [wanted]


def test_progress_is_told_on_stderr(project):
    code = textwrap.dedent(
        """
        import sys, time
        from hitl_lab.commands import trace
        class R: events = []
        with trace._progress(R): time.sleep(2.4)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == "running for 2 s: 0 events\n"
    assert done.stdout == ""
