"""The HTML player in Chromium, opened as a file with the network off: what it shows is what Python's frames hold."""

import json
import re

import pytest
from _browser import new_page, open_file
from _reading import READ, expected
from _traces import LESSONS, SOME, traced

from hitl_lab import compare
from hitl_lab.frame_view import dropped_steps
from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev
from hitl_lab.values import snapshot
from hitl_lab.views import graph
from hitl_lab.views.stepper import trace_frames
from hitl_lab.views.tables import ledger_table

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
ROOT = "#hitl-lab"


def read(watched):
    return watched.page.eval_on_selector(ROOT, READ)


def go(watched, position):
    watched.page.evaluate(f"document.querySelector('{ROOT}').hitlLab.go({position})")


def axe(watched):
    found = pytest.importorskip("axe_playwright_python.sync_playwright").Axe().run(watched.page)
    told = [(v["id"], [n["html"][:160] for n in v["nodes"]][:3]) for v in found.response["violations"]]
    assert told == []


@pytest.fixture
def player(page, tmp_path):
    """Write a trace's player and open it; afterwards nothing was asked of the network, nothing was complained of."""

    def show(trace, **options):
        open_file(page, trace.to_html(tmp_path / "player.html", **options))
        return page

    yield show
    page.assert_clean()


@pytest.mark.parametrize("name", LESSONS)
def test_each_step_shows_what_the_frame_holds(player, name):
    trace = traced(name)
    frames = trace_frames(trace)
    watched = player(trace)
    for k in range(len(frames)):
        assert read(watched) == expected(frames, k), f"step {k + 1}"
        watched.page.click(".hl-next", force=True)


@pytest.mark.parametrize("name", SOME)
def test_the_page_computes_the_same_view_as_python(player, name):
    trace = traced(name)
    frames = trace_frames(trace)
    watched = player(trace)
    got = watched.page.evaluate(
        f"""() => {{ const player = document.querySelector('{ROOT}').hitlLab, out = [];
            for (let k = 1; k <= player.size; k++) {{ player.go(k); out.push(player.panes[0].view); }} return out; }}"""
    )
    for k, view in enumerate(got):
        # Through JSON, for which 1 and 1.0 are the same and a tuple is a list.
        assert view == json.loads(json.dumps(frames[k])), f"step {k + 1}"


def test_mouse_and_keys_move_and_d_jumps_to_the_dropped_write(player):
    trace = traced("broken_node")
    frames = trace_frames(trace)
    (drop,) = dropped_steps(frames._index)
    watched = player(trace)
    at = lambda: int(watched.page.inner_text(".hl-pos").split()[0])  # noqa: E731
    for selector, position in (
        (".hl-next", 2), (".hl-next", 3), (".hl-prev", 2), (".hl-last", len(frames)), (".hl-first", 1),
        (".hl-jump", drop + 1),
    ):  # fmt: skip
        watched.page.click(selector)
        assert at() == position, selector
    assert "dropped" in watched.page.inner_text(".hl-w.hl-drop")
    watched.page.focus(ROOT)
    for key, position in (
        ("Home", 1), ("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", len(frames)), ("d", drop + 1),
        ("Home", 1), ("d", drop + 1),
    ):  # fmt: skip
        watched.page.keyboard.press(key)
        assert at() == position, key
    watched.page.fill(".hl-slider", "5")
    assert at() == 5
    watched.page.click(".hl-part >> nth=1")
    assert read(watched)["say"].startswith("invoke() starts with Command(resume=")


def test_play_goes_on_at_its_pace_and_stops_at_the_end_or_by_hand(player):
    watched = player(traced("broken_node"))
    watched.page.select_option(".hl-pace", "0.5")
    watched.page.click(".hl-play")
    watched.page.wait_for_selector(".hl-pos >> text=/^3 of/", timeout=5000)
    watched.page.click("[aria-label=pause]")
    stopped = watched.page.inner_text(".hl-pos")
    watched.page.wait_for_timeout(700)
    assert watched.page.inner_text(".hl-pos") == stopped


def test_a_long_value_folds_open_and_stays_open_and_is_copied(player):
    long = ["a word " * 60, {"key": list(range(40))}]
    events = traced("broken_node").events
    changed = [
        e if not isinstance(e, ev.Wrote) else ev.from_plain(ev.to_plain(e) | {"value": snapshot(long)}) for e in events
    ]
    watched = player(Trace(changed))
    watched.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    watched.page.click(".hl-jump")
    watched.page.click(".hl-w summary")
    whole = watched.page.inner_text(".hl-w .hl-full pre")
    assert "a word " * 60 in whole
    assert len(whole.splitlines()) > 2
    watched.page.click(".hl-next")
    assert watched.page.inner_text(".hl-w .hl-full pre") == whole
    watched.page.click(".hl-w .hl-full .hl-copy")
    watched.page.wait_for_selector(".hl-copied")
    assert watched.page.evaluate("navigator.clipboard.readText()") == whole


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium, tmp_path, scheme):
    trace = traced("broken_node")
    files = {
        "player": trace.to_html(tmp_path / "player.html"),
        "compare": compare(trace, traced("fix_a_split_node"), titles=["Broken", "Fix A"]).to_html(
            tmp_path / "compare.html"
        ),
        "ledger": ledger_table(trace.ledger).to_html(tmp_path / "ledger.html"),
    }
    with new_page(chromium, color_scheme=scheme) as watched:
        for name, file in files.items():
            open_file(watched, file)
            if name != "ledger":
                for _ in range(2):
                    watched.page.click(".hl-jump")
                    axe(watched)
                watched.page.click(".hl-last")
            axe(watched)
        watched.assert_clean()


@pytest.mark.parametrize(("width", "scale"), [(700, 1), (1024, 1), (1600, 1), (700, 2), (640, 2)])
def test_it_fits_from_700_to_1600_and_at_a_zoom_of_200_percent(chromium, tmp_path, width, scale):
    viewport = {"width": width, "height": 800}
    with new_page(chromium, viewport=viewport, device_scale_factor=scale) as watched:
        open_file(watched, traced("subgraph_nested_twice").to_html(tmp_path / "player.html"))
        for position in (1, 40, 80):
            go(watched, position)
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
            hidden = watched.page.eval_on_selector_all(
                ".hl-say, .hl-nav button, .hl-ph, .hl-w, .hl-cp",
                "els => els.filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.className)",
            )
            assert hidden == []


def test_everything_has_a_name_and_the_sentence_is_announced(player):
    watched = player(traced("broken_node"))
    nameless = watched.page.eval_on_selector_all(
        "button, input, select",
        "els => els.filter(e => !(e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)",
    )
    assert nameless == []
    assert watched.page.get_attribute(".hl-say", "aria-live") == "polite"
    watched.page.click(".hl-jump")
    # Not by colour alone: each tone has its sign and its word.
    tags = watched.page.eval_on_selector_all(".hl-tag.hl-drop, .hl-tag.hl-keep", "els => els.map(e => e.textContent)")
    assert tags
    assert all(re.match(r"[✓✕] \w+", t) for t in tags)


def test_the_installed_source_is_shown_with_its_lines_and_left_out_when_asked(player, tmp_path):
    trace = traced("broken_node")
    watched = player(trace)
    watched.page.click(".hl-jump")
    assert "PregelRunner.commit" in watched.page.inner_text(".hl-source h3")
    hits = watched.page.eval_on_selector_all(".hl-hit", "els => els.map(e => e.textContent)")
    assert any("INTERRUPT" in line for line in hits)
    assert all("▸" in line for line in hits)
    bare = trace.to_html(tmp_path / "bare.html", source=False)
    assert "exception.args[0]" not in bare.read_text()
    open_file(watched, bare)
    assert watched.page.is_hidden(".hl-source")


def test_without_graphviz_the_nodes_are_listed_with_a_hint(player, monkeypatch):
    monkeypatch.setattr(graph, "dot_executable", lambda: None)
    watched = player(traced("broken_node"))
    assert "graphviz-pure" in watched.page.inner_text(".hl-graph .hl-note")
    watched.page.click(".hl-jump")
    shown = watched.page.eval_on_selector_all(".hl-nodes li", "els => els.map(e => e.innerText.replace(/\\s+/g, ' '))")
    assert "review ‖ paused" in shown


HOSTILE = {
    "end of script": "</script><script>window.hacked = 1</script><!--",
    "markup": "<img src=x onerror='window.hacked = 1'><b>bold</b> &amp; <style>*{display:none}</style>",
    "controls": "a\x00b\x07c\x1b[31md\r\ne",
    "right to left": "\u202eevil\u202c \u0627\u0644\u0633\u0644\u0627\u0645 \u2066x\u2069",
    "separators": "a\u2028b\u2029c",
    "megabyte": "x" * 1_000_000,
    "not a number": [float("nan"), float("inf"), -0.0, 10**400],
    "bytes": b"\x00\xff</script>",
    "surrogate": "lone \ud800 half",
    "template": "${window.hacked = 1}`\\u0041",
    "prototype": {"__proto__": {"polluted": 1}, "constructor": "x", "toString": 1, "$": "obj"},
}


def hostile_trace(value):
    """The broken node's trace with a hostile value, channel, node, question and graph name throughout."""
    name = value if isinstance(value, str) and len(value) < 200 else "review"
    taken = snapshot(value)

    def worse(data):
        if isinstance(data, list):
            return [worse(v) for v in data]
        if not isinstance(data, dict):
            return (
                {"messages": name, "review": name, "LangGraph": name}.get(data, data) if isinstance(data, str) else data
            )
        out = {(name if k == "messages" else k): worse(v) for k, v in data.items()}
        if out.get("kind") in ("wrote", "interrupt_called"):
            out["value"] = taken
        if out.get("kind") in ("returned", "state_read"):
            out["values"] = {name: taken}
        return out

    return Trace.from_plain(worse(traced("broken_node").to_plain()))


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_values_are_text_in_the_stepper(player, kind):
    trace = hostile_trace(HOSTILE[kind])
    frames = trace_frames(trace, title=kind)
    watched = player(trace, title=kind)
    for k in range(0, len(frames), 2):
        go(watched, k + 1)
        assert read(watched) == expected(frames, k)
    unharmed(watched)


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_values_are_text_in_comparison_and_table(page, tmp_path, kind):
    trace = hostile_trace(HOSTILE[kind])
    title = HOSTILE[kind] if isinstance(HOSTILE[kind], str) else kind
    open_file(page, compare(trace, traced("broken_node"), titles=[title[:100], "B"]).to_html(tmp_path / "compare.html"))
    for _ in range(3):
        page.page.click(".hl-jump")
    unharmed(page)
    open_file(page, ledger_table(trace.ledger).to_html(tmp_path / "ledger.html"))
    assert page.page.locator("tbody tr:not(.hl-under)").count() == len(trace.ledger)
    unharmed(page)
    page.assert_clean()


def unharmed(watched):
    assert watched.page.evaluate("window.hacked === undefined && ({}).polluted === undefined")
    assert watched.page.locator("#hitl-lab :is(script, img, b:not(.hl-sub b), style, iframe)").count() == 0


def test_a_comparison_stops_at_each_difference(page, tmp_path):
    both = compare(traced("broken_node"), traced("fix_a_split_node"), titles=["Broken", "Fix A"])
    open_file(page, both.to_html(tmp_path / "compare.html"))
    seen = []
    for row, _, _ in both.differences:
        page.page.click(".hl-jump")
        assert page.page.inner_text(".hl-pos").startswith(f"{row + 1} of ")
        seen.append(page.page.inner_text(".hl-difference"))
    assert seen[0].startswith(f"difference 1 of {len(seen)} Only in Fix A")
    assert any("1 write dropped" in text for text in seen)
    steps = page.page.evaluate("document.querySelector('#hitl-lab').hitlLab.panes.map(p => p.view.position)")
    last = both.differences[-1][0]
    assert steps == [max(r[i] for r in both.rows[: last + 1] if r[i] is not None) + 1 for i in (0, 1)]
    page.assert_clean()


def test_a_table_sorts_and_filters(page, tmp_path):
    trace = traced("parallel_sibling")
    open_file(page, ledger_table(trace.ledger).to_html(tmp_path / "ledger.html"))
    first = lambda: page.page.eval_on_selector_all("tbody th", "els => els.map(e => e.textContent)")  # noqa: E731
    names = [row.write for row in trace.ledger]
    assert first() == names
    page.page.click("thead button >> nth=0")
    page.page.click("thead button >> nth=0")
    assert first() == names[::-1]
    assert page.page.get_attribute("thead th >> nth=0", "aria-sort") == "descending"
    page.page.select_option(".hl-filter select >> nth=0", "dropped")
    assert first() == [row.write for row in trace.ledger if row.fate == "dropped"]
    page.page.select_option(".hl-filter select >> nth=1", "lookup")
    assert page.page.inner_text("tbody") == "Nothing fits these filters."
    page.assert_clean()


def test_a_trace_without_events_is_shown_as_empty(player):
    watched = player(Trace())
    assert watched.page.inner_text(".hl-say") == "Nothing is recorded yet."
    assert watched.page.inner_text(".hl-pos") == "0 of 0"
