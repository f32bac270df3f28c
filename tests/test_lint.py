"""hitl-lab lint: each kind of hint on a bad sample, none on the good one beside it."""

import textwrap

import pytest
from click.testing import CliRunner

from hitl_lab import linting
from hitl_lab.cli import main

HEAD = "from langgraph.types import interrupt\n"


def codes(source, head=HEAD):
    return [h.code for h in linting.lint(head + textwrap.dedent(source))]


BAD = {
    "HL101 effect": "def n(s):\n    hitl_lab.effect('pay')\n    return interrupt('?')",
    "HL101 network": "def n(s):\n    requests.post(url, json=s)\n    return interrupt('?')",
    "HL101 store": "def n(s, store):\n    store.put(('a',), 'k', s)\n    return interrupt('?')",
    "HL101 verb": "def n(s):\n    send_email(s['to'])\n    return interrupt('?')",
    "HL101 file": "def n(s):\n    open('f', 'w').close()\n    return interrupt('?')",
    "HL101 async": "async def n(s):\n    await client.post(url)\n    return interrupt('?')",
    "HL101 helper": "def ask():\n    return interrupt('?')\ndef n(s):\n    charge_card(s)\n    return ask()",
    "HL102 send": "def n(s, config):\n    config['configurable']['__pregel_send']([('a', 1)])\n    return interrupt('?')",  # noqa: E501
    "HL102 push": "def n(s):\n    push_message(m)\n    return interrupt('?')",
    "HL103 key": "def n(state):\n    state['a'] = 1\n    return interrupt('?')",
    "HL103 append": "def n(state):\n    state['a'].append(1)\n    return interrupt('?')",
    "HL104 bare": "def n(s):\n    try:\n        interrupt('?')\n    except:\n        pass",
    "HL104 exception": "def n(s):\n    try:\n        interrupt('?')\n    except Exception as e:\n        log(e)",
    "HL104 tuple": "def n(s):\n    try:\n        interrupt('?')\n    except (ValueError, BaseException):\n        return {}",  # noqa: E501
    "HL104 suppress": "def n(s):\n    with contextlib.suppress(Exception):\n        interrupt('?')",
    "HL104 finally": "def n(s):\n    try:\n        interrupt('?')\n    finally:\n        return {}",
    "HL105 model": "def n(s):\n    draft = model.invoke(s)\n    return interrupt(draft)",
    "HL105 uuid": "def n(s):\n    return interrupt({'id': uuid.uuid4()})",
    "HL106 list": "def n(s):\n    seen.append(s)\n    return interrupt('?')",
    "HL106 global": "def n(s):\n    global count\n    count += 1\n    return interrupt('?')",
}
GOOD = {
    "after": "def n(s):\n    a = interrupt('?')\n    requests.post(url, json=a)\n    return {}",
    "no question": "def n(s):\n    requests.post(url)\n    state['a'] = 1\n    return {}",
    "reads": "def n(s):\n    r = requests.get(url)\n    return interrupt('?')",
    "local list": "def n(s):\n    found = []\n    found.append(1)\n    return interrupt(found)",
    "raised on": "def n(s):\n    try:\n        interrupt('?')\n    except Exception:\n        raise",
    "let through": "def n(s):\n    try:\n        interrupt('?')\n    except GraphInterrupt:\n        raise\n"
    "    except Exception:\n        pass",
    "narrow": "def n(s):\n    try:\n        interrupt('?')\n    except ValueError:\n        pass",
    "cleans up": "def n(s):\n    try:\n        interrupt('?')\n    finally:\n        lock.release()",
    "other branch": "def n(s):\n    if s['x']:\n        requests.post(url)\n        return {}\n    return interrupt('?')",  # noqa: E501
    "nested": "def n(s):\n    def later():\n        requests.post(url)\n    return interrupt('?')",
    "silenced": "def n(s):\n    requests.post(url)  # hitl: ok, it is idempotent\n    return interrupt('?')",
    "silenced node": "def n(s):  # hitl: ok\n    requests.post(url)\n    return interrupt('?')",
    "another interrupt": "def n(s):\n    requests.post(url)\n    return other.interrupt('?')",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_sample_gets_its_hint(name):
    assert codes(BAD[name]) == [name.split()[0]]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_sample_gets_none(name):
    assert codes(GOOD[name]) == []


@pytest.mark.parametrize(("head", "call"), [
    ("from langgraph.types import interrupt as ask\n", "ask"),
    ("from langgraph import types\n", "types.interrupt"),
    ("import langgraph.types\n", "langgraph.types.interrupt"),
    ("import langgraph.types as lt\n", "lt.interrupt"),
])  # fmt: skip
def test_interrupt_is_known_under_each_name(head, call):
    assert codes(f"def n(s):\n    requests.post(url)\n    return {call}('?')", head) == ["HL101"]


def test_a_hint_says_that_it_is_one_and_how_to_be_sure():
    hint = linting.lint(HEAD + BAD["HL101 verb"], "agent.py")[0]
    text = str(hint)
    assert text.startswith("agent.py:3:5: HL101 hint: n: send_email(...) acts before interrupt()")
    assert "trace a run that pauses here and look for HL008" in text


def test_the_command(tmp_path):
    (tmp_path / "bad.py").write_text(HEAD + BAD["HL103 key"])
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "lib.py").write_text(HEAD + BAD["HL103 key"])
    done = CliRunner().invoke(main, ["lint", str(tmp_path)])
    assert done.exit_code == 0
    assert "1 hint in 1 file. A hint is a guess" in done.output
    assert CliRunner().invoke(main, ["lint", "--strict", str(tmp_path)]).exit_code == 1
    (tmp_path / "worse.py").write_text("def (:\n")
    broken = CliRunner().invoke(main, ["lint", str(tmp_path)])
    assert broken.exit_code == 2
    assert "worse.py is no Python" in broken.output
    assert CliRunner().invoke(main, ["lint", str(tmp_path / "none.py")]).exit_code == 2
