"""The crash table in a real JupyterLab: its buttons are clicked, and the traces they open are stepped through."""

import pytest
from _browser import new_page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

CELL = """\
from hitl_lab.crashes import crash_table
table = crash_table(points=("in_node:review", "put:attach"), durabilities=("sync", "exit"), times=1)
table"""


def test_a_click_on_a_cell_opens_the_trace_of_its_crash(chromium, lab):
    with new_page(chromium, viewport={"width": 1400, "height": 1000}) as watched:
        page = watched.page
        lab.notebook("crash.ipynb", CELL)
        lab.open(page, "crash.ipynb")
        lab.run_all(page)
        output = page.locator(".jp-Cell-outputArea")
        buttons = output.locator("button.widget-button, button.jupyter-button")
        buttons.nth(3).wait_for(timeout=60_000)
        assert buttons.count() == 4
        assert output.locator(".hitl").count() == 0
        titles = set()
        for n in range(4):
            button = buttons.nth(n)
            told = button.inner_text()
            assert "kept" in told or "races" in told
            button.click()
            opened = output.locator(".hitl .hl-pos")
            # The one before is closed; each has a title of its own.
            pane = output.locator(".hitl .hl-pane")
            page.wait_for_function(
                "known => { const panes = [...document.querySelectorAll('.jp-Cell-outputArea .hitl .hl-pane')];"
                " return panes.length === 1 && !known.includes(panes[0].ariaLabel); }",
                arg=sorted(titles),
                timeout=30_000,
            )
            titles.add(pane.get_attribute("aria-label"))
            assert opened.inner_text().startswith("1 of ")
            output.locator(".hitl .hl-next").click()
            assert opened.inner_text().startswith("2 of ")
        assert len(titles) == 4
        watched.assert_clean()
