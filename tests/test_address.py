"""`make address`: a copy's own address in the badges, taken from git, and what Binder and Colab find behind them."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/binder-colab.md")

spec = importlib.util.spec_from_file_location("address", ROOT / "scripts" / "address.py")
address = importlib.util.module_from_spec(spec)
spec.loader.exec_module(address)


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path):
    """The pages in a git repository on branch `trunk`, without a remote."""
    (tmp_path / "docs").mkdir()
    for name in PAGES:
        shutil.copy(ROOT / name, tmp_path / name)
    git(tmp_path, "init", "--quiet", "--initial-branch", "trunk")
    # This checkout may be somebody's own, with an address in it.
    address.write(tmp_path, address.PLACEHOLDER, address.BRANCH)
    return tmp_path


def texts(folder):
    return [(folder / name).read_text(encoding="utf-8") for name in PAGES]


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ada/hitl-course.git",
        "https://github.com/ada/hitl-course",
        "https://github.com/ada/hitl-course/",
        "https://x-access-token:s3cret@github.com/ada/hitl-course.git",
        "git@github.com:ada/hitl-course.git",
        "ssh://git@github.com/ada/hitl-course.git",
        "ssh://git@github.com:22/ada/hitl-course.git",
    ],
)
def test_the_address_comes_from_git(clone, url):
    git(clone, "remote", "add", "origin", url)
    address.main([], clone)
    readme, page = texts(clone)
    pip = "https://github.com/ada/hitl-course"
    binder = "https://mybinder.org/v2/gh/ada/hitl-course/trunk?urlpath=lab/tree/notebooks"
    colab = "https://colab.research.google.com/github/ada/hitl-course/blob/trunk/notebooks/00_start_here.ipynb"
    for text in (readme, page):
        assert f"]({binder})" in text
        assert f"]({colab})" in text
        assert "s3cret" not in text
    assert f'"hitl_lab[agents] @ git+{pip}"' in page
    assert "OWNER" not in "".join(line for line in page.splitlines() if "://" in line)
    # Above what the site takes: a page of the site asks no other host.
    assert readme.index(binder) < readme.index("<!-- site starts here -->")


def test_again_elsewhere_and_back(clone):
    before = texts(clone)
    address.main(["ada/one"], clone)
    once = texts(clone)
    address.main(["ada/one"], clone)
    assert texts(clone) == once
    address.main(["ben/two.py"], clone)
    assert "ada/one" not in "".join(texts(clone))
    assert "ben/two.py/trunk?" in "".join(texts(clone))
    address.main(["--none"], clone)
    assert texts(clone) == before


def test_the_branch_that_origin_shows_first_is_used(clone):
    before = texts(clone)
    git(clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "first")
    git(clone, "remote", "add", "origin", "https://github.com/ada/one")
    git(clone, "update-ref", "refs/remotes/origin/feature/x", "HEAD")
    git(clone, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/feature/x")
    address.main([], clone)
    assert "/ada/one/feature/x?" in texts(clone)[1]
    assert "/ada/one/blob/feature/x/notebooks/" in texts(clone)[1]
    address.main(["--none"], clone)
    assert texts(clone) == before


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (None, "no git remote called origin"),
        ("https://example.invalid/ada/one.git", "not an address of GitHub"),
        ("https://github.com.example.invalid/ada/one", "not an address of GitHub"),
        ("/srv/git/one.git", "not an address of GitHub"),
    ],
)
def test_no_address_changes_nothing_and_says_what_to_do(clone, url, says):
    before = texts(clone)
    if url:
        git(clone, "remote", "add", "origin", url)
    with pytest.raises(SystemExit, match=says) as stopped:
        address.main([], clone)
    assert "OWNER/NAME" in str(stopped.value)
    assert texts(clone) == before


def test_a_name_that_is_no_name_is_refused(clone):
    with pytest.raises(SystemExit, match="not of the form OWNER/NAME"):
        address.main(["https://github.com/ada/one"], clone)


def test_without_an_address_the_readme_shows_no_badge(clone):
    readme, page = texts(clone)
    assert address.BADGES.search(readme)[2] == ""
    assert len(address.badges(page)) == 2
    assert page.count("://github.com/OWNER/hitl_lab") == 1


def test_what_the_badges_open_is_there(clone):
    page = texts(clone)[1]
    binder, colab = (re.search(r"\]\(([^()]+)\)$", badge)[1] for badge in address.badges(page))
    (opened,) = parse_qs(urlsplit(binder).query)["urlpath"]
    assert (ROOT / opened.removeprefix("lab/tree/")).is_dir()
    assert (ROOT / urlsplit(colab).path.split("/main/")[1]).is_file()


def test_what_colab_installs_is_what_the_notebooks_import():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = re.search(r'"hitl_lab\[(\w+)\] @ ', texts(ROOT)[1])[1]
    wanted = " ".join([*project["dependencies"], *project["optional-dependencies"][extra]])
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "notebooks" / "src").glob("*.py"))
    imported = set(re.findall(r"^(?:from|import) (\w+)", sources, re.MULTILINE)) - sys.stdlib_module_names
    # langchain_core comes with langgraph.
    assert imported - {"hitl_lab", "langchain_core"} == {"langgraph", "langchain"}
    assert "langgraph>=" in wanted
    assert "langchain>=" in wanted
