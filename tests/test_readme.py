"""What the README shows is what the program prints. HITL_LAB_REWRITE=1 writes it anew."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- demo begins -->\n)(.*?)(<!-- demo ends -->)", re.S)


def printed():
    done = subprocess.run(
        [sys.executable, "-m", "hitl_lab.cli", "demo"], check=False, capture_output=True, text=True, encoding="utf-8",
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_first_screen_is_the_demo():
    block = f"```console\n$ hitl-lab demo\n{printed().rstrip()}\n```\n"
    text = README.read_text(encoding="utf-8")
    if os.environ.get("HITL_LAB_REWRITE"):
        README.write_text(BLOCK.sub(lambda m: m[1] + block + m[3], text), encoding="utf-8")
        return
    assert BLOCK.search(text)[2] == block


def test_the_demo_says_what_the_lesson_says():
    """Beside the stored text: facts that must stand in it whatever its form."""
    parts = re.split(r"\n(?=[^\n]+\n=+\n)", printed())
    assert len(parts) == 5
    broken, fix_a, fix_b, fix_c = parts[1:]
    assert "dropped" in broken
    assert "phantom: returned, but in no checkpoint" in broken
    assert "rewritten by run 2" in broken
    assert "PregelRunner.commit" in broken
    for fixed in (fix_a, fix_b, fix_c):
        assert "dropped" not in fixed
        assert "hitl_payload" in fixed
    assert "no question and no interrupt id" in fix_b
    assert "no longer shown by `get_state()`" in fix_c


@pytest.mark.parametrize("name", ["fix_b_answer_lost", "fix_c_as_paused_node"])
def test_other_scenarios_by_name(name):
    from hitl_lab.demo import demo

    assert "lost" in "\n".join(demo([name]))


def test_an_unknown_scenario_is_named():
    from hitl_lab.demo import demo

    with pytest.raises(KeyError, match="martian"):
        list(demo(["martian"]))


def test_every_link_in_the_docs_leads_somewhere():
    root = README.parent
    pages = [README, *root.glob("*.md"), *root.glob("docs/**/*.md")]
    missing = []
    for page in pages:
        links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        local = [link for link in links if not re.match(r"[a-z]+:", link)]
        missing += [f"{page.relative_to(root)}: {link}" for link in local if not (page.parent / link).exists()]
    assert missing == []
