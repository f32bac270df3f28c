"""Sphinx configuration: a static site that needs no kernel and asks no other host for anything."""

import shutil
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "hitl_lab"
author = "the hitl_lab authors"
project_copyright = "2026, the hitl_lab authors"
extensions = ["myst_nb"]
exclude_patterns = ["_build"]

html_theme = "sphinx_book_theme"
html_title = "hitl_lab"
html_show_sourcelink = False
html_theme_options = {"use_download_button": False, "use_fullscreen_button": False}

# The outputs stored in the notebooks are the ones the tests compare with the installed LangGraph.
nb_execution_mode = "off"
# Its default loads require.js and the widget manager from a CDN: blank without a network, and a request to another host.
nb_ipywidgets_js = {}
myst_heading_anchors = 3
# A notebook's output has its own types; a type unknown here falls back to text.
suppress_warnings = ["mystnb.unknown_mime_type"]

# Sphinx reads below its own folder only.
_copies = HERE / "notebooks"
shutil.rmtree(_copies, ignore_errors=True)
_copies.mkdir()
for _notebook in (ROOT / "notebooks").glob("*.ipynb"):
    shutil.copy(_notebook, _copies)
