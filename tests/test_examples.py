"""The five graphs of examples/: traced by the command line and by the plugin's fixture, broken and fixed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hitl_lab import Trace, graphs, linting
from hitl_lab.cli import main
from hitl_lab.running import Plan, Step, run
from hitl_lab.watching import watch

HERE = Path(__file__).resolve().parent.parent / "examples"

EXAMPLES = {
    "approval_agent": (
        "HL001 HL002 HL008",
        ["--input", f"@{HERE / 'order.json'}", "--resume", '"yes"'],
    ),
    "form": ("HL009 HL011", ["--input", '{"asked": 0}', "--resume", '"ten"', "--resume", '"41"']),
    "document_review": (
        "HL003 HL004 HL008",
        ["--input", '{"text": "Terms", "log": []}', "--update", '{"log": ["page 3 is new"]}', "--continue",
         "--resume-all", '["ok", "ok"]'],
    ),
    "team": ("HL010 HL016", ["--input", '{"task": "logo"}', "--resume", '"blue"']),
    "payment": ("HL001 HL002 HL008", ["--input", '{"euros": 40, "log": []}', "--resume", '"1234"', "--resume", '"yes"']),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_command_line_finds_what_is_broken_and_nothing_once_it_is_fixed(name, monkeypatch, tmp_path):
    expected, steps = EXAMPLES[name]
    monkeypatch.chdir(HERE)
    file = tmp_path / "trace.json"
    broken = CliRunner().invoke(main, ["trace", name, *steps, "--fail-on", "any", "--json", str(file)])
    assert broken.exit_code == 1, broken.output
    trace = Trace.load(file)
    assert " ".join(trace.findings.codes) == expected
    for code in expected.split():
        assert f"\n{code} " in broken.output
    fixed = CliRunner().invoke(main, ["trace", f"{name}_fixed", *steps, "--fail-on", "any"])
    assert fixed.exit_code == 0, fixed.output
    assert "Findings: none." in fixed.output


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_same_in_process(name, monkeypatch):
    monkeypatch.chdir(HERE)
    steps = plan_of(EXAMPLES[name][1])
    for version, expected in (("broken", EXAMPLES[name][0]), ("fixed", "")):
        with watch() as watching:
            run(graphs.load(f"{name}.py:{version}"), Plan(steps, "1"))
        assert " ".join(watching.findings.codes) == expected


def plan_of(arguments):
    kinds = {"--input": "input", "--resume": "resume", "--update": "update", "--resume-all": "resume_all"}
    steps, rest = [], list(arguments)
    while rest:
        option = rest.pop(0)
        if option == "--continue":
            steps.append(Step("continue"))
            continue
        text = rest.pop(0)
        steps.append(Step(kinds[option], json.loads(Path(text[1:]).read_text() if text[:1] == "@" else text)))
    return tuple(steps)


def test_the_static_hints_see_the_same_lines():
    hints = [h for file in linting.files(HERE) for h in linting.lint_file(file)]
    assert {(Path(h.file).stem, h.code) for h in hints} == {
        ("approval_agent", "HL102"),
        ("form", "HL103"),
        ("payment", "HL101"),
        ("team", "HL104"),
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_says_how_it_is_run(name):
    text = (HERE / f"{name}.py").read_text(encoding="utf-8")
    assert f"hitl-lab trace examples/{name}.py:broken" in text
    for code in EXAMPLES[name][0].split():
        assert code in text or code in ("HL016", "HL008")
