"""One notebook in a real JupyterLab, done as a learner would: wrong first, hints, then right; kept for next time."""

import subprocess
import sys

import pytest
from _browser import new_page

from hitl_lab.course import workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

NAME = "02_the_broken_node.ipynb"
WRONG = """
def my_review(state):
    send = send_hook()
    send([("messages", [with_payload(state["messages"][-1])])])
    answer = interrupt("Review the draft")
    return {"messages": [HumanMessage(answer, id="h2")]}


def build(saver):
    return build_graph(saver, my_review)


check.exercise("no_drop", build)
"""
RIGHT = """
def my_review(state):
    answer = interrupt("Review the draft")
    return {"messages": [with_payload(state["messages"][-1]), HumanMessage(answer, id="h2")]}


def build(saver):
    return build_graph(saver, my_review)


check.exercise("no_drop", build)
"""


class Learner:
    """Clicks, types and reads in an open notebook."""

    def __init__(self, lab, page):
        self.lab, self.page = lab, page

    def open(self, path):
        self.lab.open(self.page, path)
        self.lab.run_all(self.page)
        self.page.wait_for_function(
            """() => { const cells = window.jupyterapp.shell.currentWidget.content.widgets
                .filter(c => c.model.type === 'code');
                return cells.length > 5 && cells.every(c => c.model.executionCount); }""",
            timeout=120_000,
        )

    def cell(self, call):
        return self.page.locator(".jp-Notebook .jp-CodeCell", has_text=call).first

    def run(self, call, source=None):
        """Run the cell with this call in it, after writing something else into it if given."""
        self.page.evaluate(
            """async ([call, source]) => {
                const panel = window.jupyterapp.shell.currentWidget, notebook = panel.content;
                const i = notebook.widgets.findIndex(c => c.model.type === 'code'
                    && c.model.sharedModel.getSource().includes(call));
                if (source) notebook.widgets[i].model.sharedModel.setSource(source);
                notebook.activeCellIndex = i;
                await window.jupyterapp.commands.execute('notebook:run-cell'); }""",
            [call, source],
        )

    def sees(self, call, text):
        self.cell(call).locator(".jp-OutputArea").get_by_text(text).first.wait_for(timeout=30_000)

    def errors(self):
        return self.page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']").count()


def test_a_learner_does_the_broken_node(chromium, lab):
    folder = lab.folder / "course"
    workspace.start(folder)
    with new_page(chromium, viewport={"width": 1300, "height": 1000}) as watched:
        learner = Learner(lab, watched.page)
        learner.open(f"course/{NAME}")
        assert learner.errors() == 0

        # Nothing is shown before the commit.
        show = 'check.show("result", pause)'
        learner.sees(show, "Not yet: commit your prediction")
        assert "Why:" not in watched.page.locator(".jp-Notebook").inner_text()

        # A wrong prediction, by keyboard alone: its own message, and what the run did.
        question = learner.cell('check.predict("saved"')
        question.locator("input[type=radio]").first.focus()
        watched.page.keyboard.press("Space")
        question.locator("button:enabled", has_text="Commit").wait_for(timeout=15_000)
        watched.page.keyboard.press("Tab")  # the choices are one group, so one stop
        watched.page.keyboard.press("Enter")
        learner.sees('check.predict("saved"', "Not so. You chose A, LangGraph did C.")
        learner.sees('check.predict("saved"', "[before_interrupt_is_saved]")
        assert question.locator("input[type=radio]").first.is_disabled()

        # Right ones, by code.
        learner.run('check.predict("returned"', 'check.predict("returned", "C", run=pause)')
        learner.sees('check.predict("returned"', "Right: C.")
        learner.run('check.predict("result"', 'check.predict("result", "B", run=pause)')
        learner.sees('check.predict("result"', "Right: B.")
        learner.run(show)
        learner.cell(show).locator(".hitl .hl-pos").wait_for(timeout=30_000)

        # Hints are counted.
        task = 'check.exercise("no_drop"'
        learner.cell(task).get_by_role("button", name="Hint (0 of 3 used)").click()
        learner.sees(task, "Hint 1 of 3.")
        learner.cell(task).get_by_role("button", name="Hint (1 of 3 used)").click()
        learner.sees(task, "Hint 2 of 3.")

        # A wrong fix, then the right one.
        learner.run(task, WRONG)
        learner.sees(task, "[before_interrupt_is_saved]")
        learner.sees(task, "dropped · phantom · rewritten by run 2")
        learner.run(task, RIGHT)
        learner.sees(task, "Passed: it still pauses and asks")

        # The blocks, in a wrong order and then in a right one.
        blocks = learner.cell('check.order("wire"')
        available, chosen = (blocks.get_by_label(name, exact=True) for name in ("Blocks", "Your order"))

        def select(box, letter):
            box.select_option(label=next(o for o in box.locator("option").all_inner_texts() if o[0] == letter))

        def use(letter):
            select(available, letter)
            blocks.get_by_role("button", name="Use", exact=True).click()
            chosen.locator(f"option[value^='{letter} ']").wait_for(state="attached")

        for letter in "EBD":
            use(letter)
        blocks.get_by_role("button", name="Run", exact=True).click()
        learner.sees('check.order("wire"', "1 more block is needed")
        use("A")
        for _ in range(2):  # from the end to before the edges, which stand after the misplaced compile()
            blocks.get_by_role("button", name="Up", exact=True).click()
            watched.page.wait_for_timeout(300)
        select(chosen, "B")
        for _ in range(2):
            blocks.get_by_role("button", name="Down", exact=True).click()
            watched.page.wait_for_timeout(300)
        assert [o[0] for o in chosen.locator("option").all_inner_texts()] == ["E", "A", "D", "B"]
        blocks.get_by_role("button", name="Run", exact=True).click()
        learner.sees('check.order("wire"', "Passed: it pauses with a question")

        watched.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        watched.page.wait_for_timeout(1000)
        watched.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        assert (watched.asked, watched.errors()) == ([], [])

    # Another day: the page is new, so is the kernel. What was done is still there.
    with new_page(chromium, viewport={"width": 1300, "height": 1000}) as watched:
        learner = Learner(lab, watched.page)
        # Before the cells are run again there is no kernel behind the widgets: their text stands there.
        lab.open(watched.page, f"course/{NAME}")
        learner.sees('check.predict("saved"', "A  It is in the state")
        learner.sees(show, "Trace: 1 run")
        assert "model not found" not in watched.page.locator(".jp-Notebook").inner_text()
        learner.open(f"course/{NAME}")
        assert learner.errors() == 0
        learner.sees('check.predict("saved"', "Not so. You chose A")
        learner.sees('check.predict("returned"', "Right: C.")
        learner.sees(task, "Passed:")
        learner.sees('check.order("wire"', "You solved this one before.")
        learner.cell(show).locator(".hitl .hl-pos").wait_for(timeout=30_000)
        assert (watched.asked, watched.errors()) == ([], [])

    ask = [sys.executable, "-m", "hitl_lab.cli", "progress", folder]
    told = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=120).stdout
    line = next(x for x in told.splitlines() if x.startswith("02_")).split()
    assert line == ["02_the_broken_node", "3", "of", "6", "2", "2", "of", "2", "2"]


def test_the_keys_belong_to_the_panel_with_the_focus(chromium, lab):
    """JupyterLab's own keys: an arrow goes to another cell, b inserts one, x cuts one, Enter edits."""
    folder = lab.folder / "keys"
    workspace.start(folder)
    with new_page(chromium, viewport={"width": 1300, "height": 1000}) as watched:
        learner = Learner(lab, watched.page)
        learner.open(f"keys/{NAME}")
        learner.run('check.predict("result"', 'check.predict("result", "B", run=pause)')
        learner.sees('check.predict("result"', "Right: B.")
        learner.run('check.show("result", pause)')
        learner.run('check.show("result", lambda: pause().ledger)')
        learner.cell('check.show("result", lambda: pause().ledger)').locator(".hl-tableview").wait_for()
        keys = watched.page.keyboard
        blocks, question = learner.cell('check.order("wire"'), learner.cell('check.predict("returned"')
        parts = [
            blocks.get_by_label("Blocks", exact=True),
            blocks.get_by_role("button", name="Use", exact=True),
            question.locator("input[type=radio]").first,
            learner.cell('check.exercise("no_drop"').get_by_role("button", name="Hint (0 of 3 used)"),
            *(watched.page.locator(place).first for place in (".hl-next", ".hl-pace", ".hl-sort", ".hl-filter select")),
        ]
        cells = watched.page.locator(".jp-Cell").count()
        for part in parts:
            part.focus()
            for key in ("b", "x", "ArrowDown", "a"):
                keys.press(key)
            watched.page.wait_for_timeout(100)
            assert part.evaluate("e => e === document.activeElement || e.name === document.activeElement.name")
            assert watched.page.locator(".jp-Cell").count() == cells

        # The order of the tab key is that of use, and Enter presses a button.
        blocks.get_by_label("Blocks", exact=True).focus()
        reached = []
        for _ in range(6):
            keys.press("Tab")
            reached.append(watched.page.evaluate("document.activeElement.textContent.slice(0, 8)"))
        assert [name for name in reached if name] == ["Use", "Up", "Down", "Take out", "Run"]
        blocks.get_by_role("button", name="Use", exact=True).focus()
        keys.press("Enter")
        blocks.get_by_label("Your order", exact=True).locator("option").first.wait_for(state="attached")
        group = question.get_by_role("radiogroup")
        assert group.get_attribute("aria-label") == "The graph is paused. Where do you find the payload?"
        assert (watched.asked, watched.errors()) == ([], [])
