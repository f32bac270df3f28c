"""Sphinx configuration: a static site that needs no kernel and asks no other host for anything.

`make site` (scripts/build_site.py) puts these pages, the notebooks and the pages made from the code together and
builds them.
"""

project = "hitl_lab"
author = "the hitl_lab authors"
project_copyright = "2026, the hitl_lab authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "made"]

html_theme = "sphinx_book_theme"
html_title = "hitl_lab"
html_static_path = ["_static"]
html_extra_path = ["made/extra"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_use_index = html_domain_indices = False
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "navbar_persistent": [],  # the search field stands in the side bar
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}
# Without it the theme complains on the console of each reader's first page.
html_context = {"default_mode": "auto"}

# The notebooks come with their outputs: scripts/build_site.py has run them.
nb_execution_mode = "off"
# Its default asks a CDN for require.js and the widget manager: a request to another host, and blank without a network.
nb_ipywidgets_js = {}
nb_code_prompt_show = "Predict first, then open"
nb_code_prompt_hide = "Close"
nb_merge_streams = True

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
# Quotes stay as they are typed: many stand around code.
smartquotes = False
# A docstring's single backticks are code, as in Markdown.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True

