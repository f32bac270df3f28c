"""The live stepper in a real JupyterLab: clicks move the real run, and it tells what the recorded stepper tells."""

import pytest
from _browser import chromium, lab, new_page  # noqa: F401
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import hitl_lab
from hitl_lab import scenarios

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

SETUP = """
import hitl_lab
from hitl_lab import scenarios
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
graph = scenarios.get("broken_node").build(InMemorySaver())
given = {"messages": [HumanMessage("My parcel is broken.", id="h1")]}
ex = hitl_lab.TracedExecutor(graph, given, {"configurable": {"thread_id": "1"}}, durability="sync")
ex
"""


def recorded():
    graph = scenarios.get("broken_node").build(InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    with hitl_lab.record() as trace:
        graph.invoke({"messages": [HumanMessage("My parcel is broken.", id="h1")]}, config, durability="sync")
        graph.invoke(Command(resume="approved"), config, durability="sync")
    return [frame["say"] for frame in trace.stepper().frames]


def walk(page):
    """Go through all steps from the first and return what each one says."""
    page.locator(".hl-player [aria-label='first step']").click()
    said = []
    while True:
        said.append(page.locator(".hl-say").inner_text())
        forward = page.locator(".hl-player [aria-label='next step']")
        if forward.is_disabled():
            return said
        forward.click()


def execute(watched, code):
    """Run code in the notebook's kernel, as another cell would, and return what it printed."""
    return watched.page.evaluate(
        """async code => {
            const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            const out = [];
            const future = kernel.requestExecute({ code, store_history: false });
            future.onIOPub = m => {
                if (m.header.msg_type === 'stream') out.push(m.content.text);
                if (m.header.msg_type === 'error') out.push(m.content.ename + ': ' + m.content.evalue); };
            await future.done;
            return out.join('').trim(); }""",
        code,
    )


def plain(text):
    return text.replace("`", "")


def test_the_broken_node_is_clicked_through_live(chromium, lab):  # noqa: F811
    lab.notebook("live.ipynb", SETUP.strip())
    with new_page(chromium) as watched:
        page = watched.page
        lab.open(page, "live.ipynb")
        lab.run_all(page)
        step = page.locator(".hl-controls button", has_text="Step")
        step.wait_for(timeout=60_000)
        status = page.locator(".hl-status").first

        def click(button, stands):
            page.locator(".hl-controls button", has_text=button).click()
            status.filter(has_text=stands).wait_for(timeout=20_000)

        click("Step", "it stands after tick, superstep 0")
        click("Step", "it stands after execute of __start__")
        click("To next dropped write", "it stands after commit of review")
        assert page.locator(".hl-drop").count() > 0
        click("Finish", "it is paused")
        assert step.is_disabled()
        assert execute(watched, 'ex.resume("approved")') == ""
        page.wait_for_function("() => !document.querySelector('.hl-controls button').disabled", timeout=20_000)
        click("To commit", "run 2: it stands after commit of review")
        click("Finish", "it has ended")
        assert "it has ended" in status.inner_text()
        assert [plain(s) for s in walk(page)] == [plain(s) for s in recorded()]
        watched.assert_clean()
