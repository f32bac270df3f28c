"""`hitl-lab lab`: each table by one command."""

from importlib.metadata import version

import pytest
from click.testing import CliRunner

from hitl_lab.cli import main


def lab(*arguments):
    return CliRunner().invoke(main, ["lab", *arguments])


def test_counterfactual():
    result = lab("counterfactual")
    assert result.exit_code == 0, result.output
    head, _, *rows = result.stdout.splitlines()
    assert head == f"If the writes made before interrupt() were kept, langgraph {version('langgraph')}"
    assert [row.split()[:1] for row in rows[1:]] == [["real"], ["P1"], ["P2"], ["P3"]]


def test_mutation():
    result = lab("mutation", "-n", "2")
    assert result.exit_code == 0, result.output
    assert "send before interrupt()        sqlite  0/2   0/2    0/2" in result.stdout
    assert "mutate the state object, memory" in result.stderr


@pytest.mark.slow
def test_crash():
    result = lab("crash", "--saver", "sqlite", "--at", "in_node", "--durability", "exit")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[2:] == [
        "killed in the node that asks  [sqlite]",
        "    exit   0 of 3 writes; question no; draft attach review → asks",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--at", "nowhere"], "'nowhere' is no point to kill a process at. There are: in_node"),
        (["--durability", "never"], "'never' is no durability mode. There are: sync, async, exit."),
        (["no_such_scenario"], "'no_such_scenario' cannot be found"),
        (["--saver", "memory"], "InMemorySaver dies with its process"),
    ],
)
def test_what_cannot_be_done_is_said_without_a_stack(arguments, says):
    result = lab("crash", "--saver", "sqlite", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_no_postgres(monkeypatch):
    monkeypatch.setenv("HITL_LAB_POSTGRES_DSN", "none")
    result = lab("crash", "--saver", "postgres", "--at", "in_node")
    assert result.exit_code == 1
    assert "make postgres" in result.stderr
