"""The buttons of a check, made of plain ipywidgets: no `interact`, no Output widget, which stored outputs cannot hold.

A front end drops what a callback raises or prints, so every callback shows its own failure in the panel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets as w
import traitlets

from hitl_lab.course._said import Said, as_html
from hitl_lab.course.lesson import Exercise, Ordering, Prediction, letter
from hitl_lab.values import error_text

if TYPE_CHECKING:
    from hitl_lab.course.check import Check, Panel


class _Keys(anywidget.AnyWidget):
    """Makes the panel it lies in usable by keyboard; shows nothing.

    Without it JupyterLab takes the keys for its own: an arrow in a list goes to the next cell, the letter b inserts
    one, Enter on a button edits the cell. And ipywidgets' choices are no group: each is a tab stop, and the arrows do
    nothing.

    label: what the choices are called, for a screen reader.
    """

    _esm = """
    function render({ model, el }) {
      el.style.display = "none";
      const group = (panel) => {
        // On each element that can have the focus: JupyterLab looks there before it looks further up.
        for (const one of panel.querySelectorAll("input, select, button, [tabindex]")) {
          one.dataset.lmSuppressShortcuts = "true";
        }
        for (const box of panel.querySelectorAll(".widget-radio-box")) {
          box.setAttribute("role", "radiogroup");
          box.setAttribute("aria-label", model.get("label"));
          for (const input of box.querySelectorAll("input")) input.name = model.model_id || "hitl-choices";
        }
      };
      let tries = 100, observer = null;
      const find = () => {
        const panel = el.closest(".hitl-panel");
        if (!panel) { if (tries-- > 0) setTimeout(find, 50); return; }
        group(panel);
        observer = new MutationObserver(() => group(panel));
        observer.observe(panel, { childList: true, subtree: true });
      };
      find();
      return () => { tries = 0; if (observer) observer.disconnect(); };
    }
    export default { render };
    """
    _css = ".hitl-panel .widget-select > label { text-align: left; width: 100%; }"
    label = traitlets.Unicode("").tag(sync=True)


def _panel(*parts: Any, label: str = "") -> Any:
    box = w.VBox([_Keys(label=_plain(label)), *parts])
    box.add_class("hitl-panel")
    return box


def _plain(text: str) -> str:
    # ipywidgets shows the text of a choice as it is.
    return text.replace("`", "")


def prediction(panel: Panel, check: Check, question: Prediction) -> Any:
    """Choices and a commit button; after the commit, the comparison and the trace."""
    # A radio button shows its text as it is: no backticks there.
    options = [(f"{letter(i)}  {choice.text.replace('`', '')}", letter(i)) for i, choice in enumerate(question.choices)]
    choose = w.RadioButtons(options=options, value=None, layout=w.Layout(width="auto"))
    commit = w.Button(description="Commit", tooltip="Commit this choice, then run the graph", disabled=True)
    result = _status()
    title = w.HTML(as_html([Said(question.question, "title")]))
    box = _panel(title, choose, commit, result, label=question.question)

    def chosen(change: Any) -> None:
        commit.disabled = change["new"] is None

    @_shown(result)
    def committed(button: Any) -> None:  # noqa: ARG001
        # Before anything is shown, so that a second click cannot change it.
        choose.disabled = commit.disabled = True
        answer = check.predict(question.name, choose.value)
        panel.said = answer.said
        more = Said("The cells below that waited for this can be run now.", "quiet")
        result.value = _alive(as_html([*answer.said[1 + len(question.choices) :], more]))
        box.children = [part for part in box.children if part is not commit]

    choose.observe(chosen, "value")
    commit.on_click(committed)
    return box


def ordering(panel: Panel, check: Check, task: Ordering) -> Any:
    """Two lists to move blocks between and within: a listbox and buttons, so that the keyboard is enough."""
    shown = task.shuffled()
    name = {letter(i): f"{letter(i)}  {_first_line(block)}" for i, block in enumerate(shown)}
    text = w.HTML(as_html(panel.said))
    # Stretched: an empty list would else be two pixels wide, and a full one as wide as its longest line.
    tall = w.Layout(
        width="auto", height=f"{max(6, len(shown) + 1) * 1.5:g}em", flex_flow="column", align_items="stretch"
    )
    # A description is a <label> of the list, which a screen reader reads with it.
    wide = {"description_width": "auto"}
    left = w.Select(description="Blocks", options=[(t, x) for x, t in name.items()], layout=tall, style=wide)
    right = w.Select(description="Your order", options=[], layout=tall, style=wide)
    result = _status()
    buttons = {
        label: w.Button(description=label, tooltip=tip, layout=w.Layout(width="6.5em"))
        for label, tip in (
            ("Use", "Put the selected block at the end of your order"),
            ("Take out", "Take the selected block out of your order"),
            ("Up", "Move the selected block of your order up"),
            ("Down", "Move the selected block of your order down"),
            ("Run", "Run your order"),
        )
    }
    help_box = w.VBox([])

    def fill(used: list[str], select: str | None) -> None:
        rest = [x for x in name if x not in used]
        left.options = [(name[x], x) for x in rest]
        right.options = [(name[x], x) for x in used]
        left.value = rest[0] if rest else None
        right.value = select if select in used else (used[-1] if used else None)

    def used() -> list[str]:
        return [x for _, x in right.options]

    @_shown(result)
    def use(_: Any) -> None:
        if left.value is not None:
            fill([*used(), left.value], left.value)

    @_shown(result)
    def take_out(_: Any) -> None:
        fill([x for x in used() if x != right.value], None)

    def move(by: int) -> Callable[[Any], None]:
        @_shown(result)
        def moved(_: Any) -> None:
            now, at = used(), right.value
            if at is None:
                return
            i = now.index(at)
            j = min(max(i + by, 0), len(now) - 1)
            now[i], now[j] = now[j], now[i]
            fill(now, at)

        return moved

    @_shown(result)
    def run(_: Any) -> None:
        answer = check.order(task.name, " ".join(used()))
        passed = not answer.open
        result.value = _alive(as_html(answer.said[1:] if passed else answer.said[1:-1]))
        help_box.children = [] if passed else [_help(check, task)]

    for label, do in {"Use": use, "Take out": take_out, "Up": move(-1), "Down": move(1), "Run": run}.items():
        buttons[label].on_click(do)
    # In the order of use, which is that of the tab key: choose a block, use it, move it, run.
    half = w.Layout(flex="1 1 0%", min_width="0")
    under = w.Layout(flex_flow="row wrap")
    columns = w.HBox(
        [
            w.VBox([left, w.HBox([buttons["Use"]])], layout=half),
            w.VBox([right, w.HBox([buttons[x] for x in ("Up", "Down", "Take out", "Run")], layout=under)], layout=half),
        ],
        layout=w.Layout(max_width="60em"),
    )
    return _panel(text, columns, result, help_box)


def helped(panel: Panel, check: Check, task: Exercise | Ordering) -> Any:
    """The result of a try that is not there yet, with a hint button."""
    return _panel(w.HTML(_alive(as_html(panel.said[:-1]))), _help(check, task))


def _help(check: Check, task: Exercise | Ordering) -> Any:
    button = w.Button(layout=w.Layout(width="16em"))
    shown = _status()

    def label() -> None:
        used, total = check.progress.task(task.name)["hints"], len(task.hints)
        button.description = f"Hint ({used} of {total} used)" if used < total else "Show a solution"

    @_shown(shown)
    def more(_: Any) -> None:
        used = check.progress.task(task.name)["hints"]
        given = check.hint(task.name) if used < len(task.hints) else check.solution(task.name)
        shown.value = _alive(as_html([one for one in given.said if one.role != "quiet"]))
        label()

    button.on_click(more)
    label()
    return w.VBox([button, shown])


def _status() -> Any:
    return w.HTML("")


def _alive(html: str) -> str:
    # role=status: a screen reader reads the answer when it appears.
    return f'<div role="status">{html}</div>'


def _shown(result: Any) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    def wrap(callback: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(callback)
        def call(sender: Any) -> None:
            try:
                callback(sender)
            except Exception as error:  # noqa: BLE001 - shown, since the front end would drop it
                result.value = _alive(as_html([Said(f"This did not work: {error_text(error)}", "verdict")]))

        return call

    return wrap


def _first_line(block: str) -> str:
    lines = [line for line in block.splitlines() if line.strip()]
    return lines[0] + (" …" if len(lines) > 1 else "")
