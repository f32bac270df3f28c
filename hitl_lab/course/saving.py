"""What JupyterLab runs before it saves a notebook of the course: the views of widgets are left out of the file.

A view needs the kernel that made it. On another day JupyterLab would show "Error displaying widget: model not found" in
its place. Without the view it shows the text that is stored beside it, as in the notebooks that come with the course.
"""

from __future__ import annotations

from typing import Any

VIEW = "application/vnd.jupyter.widget-view+json"


def drop_views(*, model: dict[str, Any], **_: Any) -> None:
    """Take the widget views that have a text beside them out of a notebook that is about to be saved.

    Args:
        model: what Jupyter saves, as its `pre_save_hook` gets it; changed in place.
    """
    content = model.get("content")
    if model.get("type") != "notebook" or not isinstance(content, dict):
        return
    for cell in content.get("cells", ()):
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/plain" in data:
                data.pop(VIEW, None)
