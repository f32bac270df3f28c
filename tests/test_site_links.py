"""The link check of the site finds what it is there to find, and the API page holds all that is public."""

import importlib.util
import re
from pathlib import Path

import pytest

import hitl_lab

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "check_site.py"
spec = importlib.util.spec_from_file_location("check_site", SCRIPT)
check_site = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_site)

GOOD = '<h1 id="top">One</h1><a href="two.html#there">two</a><a href="#top">up</a><a href="https://example.org/a">out</a>'
TWO = '<p id="there">Two</p><a href="index.html">one</a><img src="data:image/png;base64,AA">'


@pytest.fixture
def site(tmp_path):
    def made(added="", **files):
        (tmp_path / "index.html").write_text(GOOD + added)
        (tmp_path / "two.html").write_text(TWO)
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return [line.split(": ", 1)[1] for line in check_site.problems(tmp_path)]

    return made


def test_a_good_site_has_no_problem(site):
    assert site() == []


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ('<a href="three.html">x</a>', "leads nowhere: 'three.html'"),
        ('<a href="two.html#nowhere">x</a>', "no such place in the page: 'two.html#nowhere'"),
        ('<a href="#nowhere">x</a>', "no such place in the page: '#nowhere'"),
        ('<a href="/two.html">x</a>', "begins at the host's root, so the site cannot stand in a folder: '/two.html'"),
        ('<a href="http://example.org">x</a>', "no well-formed https address: 'http://example.org'"),
        ('<a href="https://example">x</a>', "no well-formed https address: 'https://example'"),
        ('<script src="https://cdn.example.org/x.js"></script>', "asks another host: 'https://cdn.example.org/x.js'"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "asks another host: '//example.org/x.css'"),
        ('<img src="https://example.org/x.png">', "asks another host: 'https://example.org/x.png'"),
    ],
)
def test_a_bad_link_is_told(site, added, told):
    assert site(added) == [told]


def test_a_page_without_a_link_to_it_a_style_from_elsewhere_and_a_path_are_told(site):
    assert site(three_html="<p>3</p>") == ["no page leads here"]
    (found,) = site('<a href="three.html">3</a>', x_css="@import 'https://example.org/x.css';")
    assert found.startswith("asks another host")
    (found,) = site('<a href="three.html">3</a>', x_css="", x_txt=f"made in {SCRIPT.parent.parent}/docs")
    assert found.startswith("tells a path of the machine")


def test_an_empty_folder_is_no_site(tmp_path):
    (told,) = check_site.problems(tmp_path)
    assert "Build it first: make site" in told


def test_the_page_of_the_api_names_all_that_is_public():
    page = (SCRIPT.parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
    told = set(re.findall(r"(?:autofunction|autoclass|automodule):: hitl_lab\.(\w+)", page))
    # An error stands in the module `errors`, which the page shows as a whole.
    errors = {name for name in hitl_lab.__all__ if hitl_lab._WHERE.get(name) == "hitl_lab.errors"}
    assert set(hitl_lab.__all__) - errors <= told
    assert "errors" in told
