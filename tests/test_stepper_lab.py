"""The stepper in a real JupyterLab with a real kernel, by mouse and keyboard; nothing leaves 127.0.0.1."""

import pytest
from _browser import command, new_page
from _reading import READ, expected
from _traces import LESSONS, traced

from hitl_lab.frame_view import dropped_steps
from hitl_lab.views.stepper import trace_frames

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

IMPORTS = """\
from langgraph.checkpoint.memory import InMemorySaver
import hitl_lab
from hitl_lab import scenarios
from hitl_lab.scenarios._scenario import run
"""
RECORD = """\
with hitl_lab.record() as {name}:
    run(scenarios.get("{name}"), InMemorySaver())
{name}"""


def shown(watched, n=0):
    watched.page.wait_for_selector(f".hitl >> nth={n} >> .hl-pos", timeout=60_000)
    return watched.page.locator(".hitl").nth(n)


def execute(watched, code):
    """Run a cell at the end of the notebook and return what it printed."""
    return watched.page.evaluate(
        """async code => {
            const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            const out = [];
            const future = kernel.requestExecute({ code, store_history: false });
            future.onIOPub = m => { if (m.header.msg_type === 'stream') out.push(m.content.text);
                if (m.header.msg_type === 'error') out.push(m.content.ename + ': ' + m.content.evalue); };
            await future.done;
            return out.join('').trim(); }""",
        code,
    )


def start(lab, watched, name, *cells):
    lab.notebook(name, *cells)
    lab.open(watched.page, name)
    lab.run_all(watched.page)


def test_the_lessons_step_by_step_in_jupyterlab(chromium, lab):
    with new_page(chromium, viewport={"width": 1400, "height": 1000}) as watched:
        start(lab, watched, "lessons.ipynb", IMPORTS, *[RECORD.format(name=n) for n in LESSONS])
        shown(watched, len(LESSONS) - 1)
        for n, name in enumerate(LESSONS):
            frames = trace_frames(traced(name))
            stepper = shown(watched, n)
            stepper.scroll_into_view_if_needed()
            stepper.locator(".hl-next").focus()
            for k in range(len(frames)):
                got, wanted = stepper.evaluate(READ), expected(frames, k)
                # A call site's line is the notebook's here, the test's there; all else must be the same.
                assert got == wanted, f"{name}, step {k + 1}"
                if k % 2:
                    watched.page.keyboard.press("ArrowRight")
                elif k + 1 < len(frames):
                    stepper.locator(".hl-next").click()
            drops = dropped_steps(frames._index)
            stepper.locator(".hl-first").click()
            if drops:
                watched.page.keyboard.press("d")
                assert stepper.locator(".hl-pos").inner_text() == f"{drops[0] + 1} of {len(frames)}"
        cells = watched.page.locator(".jp-Cell").count()
        shown(watched, 0).locator(".hl-next").focus()
        for _ in range(4):
            watched.page.keyboard.press("d")  # JupyterLab's own "d d" would delete the cell
        assert watched.page.locator(".jp-Cell").count() == cells
        watched.assert_clean()


LINKED = """\
import traitlets
a = broken_node.stepper(title="one")
b = broken_node.stepper(title="two", position=9)
link = traitlets.link((a, "position"), (b, "position"))
a"""


def test_position_is_shared_with_python_and_linked_and_outlives_the_kernel(chromium, lab):
    cells = (IMPORTS + RECORD.format(name="broken_node").rsplit("\n", 1)[0], LINKED, "b")
    frames = trace_frames(traced("broken_node"))
    with new_page(chromium, viewport={"width": 1300, "height": 1000}) as watched:
        start(lab, watched, "linked.ipynb", *cells)
        second = shown(watched, 1)
        first = shown(watched, 0)
        first.locator(".hl-jump").click()
        (drop,) = dropped_steps(frames._index)
        at = f"{drop + 1} of {len(frames)}"
        second.locator(f".hl-pos >> text='{at}'").wait_for(timeout=10_000)
        assert (
            execute(watched, "print(a.position, a.frame['tasks'][0]['writes'][0]['status'])") == f"{drop + 1} dropped"
        )
        execute(watched, "b.position = 3")
        first.locator(f".hl-pos >> text='3 of {len(frames)}'").wait_for(timeout=10_000)
        # The cell run twice: each output steps for itself.
        watched.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1")
        command(watched.page, "notebook:run-cell")
        watched.page.wait_for_function("document.querySelectorAll('.hitl').length === 2")
        # The kernel restarted: the page needs none to step.
        watched.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        watched.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=60_000)
        second.locator(".hl-first").click()
        for k in range(4):
            assert second.evaluate(READ) == expected(frames, k)
            second.locator(".hl-next").click()
        assert watched.asked == []
        assert watched.errors() == []


def test_two_notebooks_do_not_mix_and_dark_shows_the_same(chromium, lab):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with new_page(chromium, viewport={"width": 1300, "height": 1000}) as one, new_page(chromium) as two:
        start(lab, one, "one.ipynb", IMPORTS + RECORD.format(name="broken_node"))
        start(lab, two, "two.ipynb", IMPORTS + RECORD.format(name="fix_a_split_node"))
        for watched, name in ((one, "broken_node"), (two, "fix_a_split_node")):
            frames = trace_frames(traced(name))
            stepper = shown(watched)
            stepper.locator(".hl-last").click()
            assert stepper.evaluate(READ) == expected(frames, len(frames) - 1)
        shown(one).locator(".hl-jump").click()
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            one.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
            light = str(theme.endswith("Light")).lower()
            one.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
            one.page.wait_for_timeout(300)
            found = axe.run(one.page, context=".hitl").response["violations"]
            assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found] == []
        one.assert_clean()
        two.assert_clean()


LIVE = """\
import contextvars
from hitl_lab.scenarios.broken_node import QUESTION
from langgraph.types import Command
graph = scenarios.get("broken_node").build(InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
block = hitl_lab.record()
trace = block.__enter__()
there = contextvars.copy_context()  # a widget's callback runs in a context of its own, with no record() open
graph.invoke(QUESTION, config)
live = trace.stepper(position=10**6)
clicked = []

def act(name):
    clicked.append(name)
    if name == "fail":
        raise ValueError("told beside the buttons")
    there.run(graph.invoke, Command(resume="approved"), config)
    live.update()

live.on_control(act)
live.controls = [{"name": "resume", "label": "Resume"}, {"name": "fail", "label": "Fail"}]
live"""


def test_a_recording_that_goes_on_is_appended_and_controls_reach_python(chromium, lab):
    with new_page(chromium, viewport={"width": 1300, "height": 1000}) as watched:
        start(lab, watched, "live.ipynb", IMPORTS, LIVE)
        stepper = shown(watched)
        before = int(stepper.locator(".hl-pos").inner_text().split()[0])
        assert before == int(stepper.locator(".hl-pos").inner_text().split()[2])
        stepper.get_by_role("button", name="Resume").click()
        frames = trace_frames(traced("broken_node"))
        stepper.locator(f".hl-pos >> text='{len(frames)} of {len(frames)}'").wait_for(timeout=20_000)
        stepper.get_by_role("button", name="Fail").click()
        stepper.locator(".hl-status >> text=/told beside/").wait_for(timeout=10_000)
        assert execute(watched, "print(clicked, live.position)") == f"['resume', 'fail'] {len(frames)}"
        watched.assert_clean()
