"""Build the documentation as a static site.

    python scripts/build_site.py [--jobs N] [--only 02] [--again]

The pages of docs/, README, CHANGELOG and CONTRIBUTING are put together in build/site with what is made from the code:
the course, run with HTML players in place of widgets, the scenarios, and the help of the commands. Sphinx makes site/
of it. A warning is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Before hitl_lab is imported, and for the kernels too.
os.environ["HITL_LAB_VIEW"] = "html"

from site_notebooks import reader
from site_pages import command_help, first_stepper, scenario_table

from hitl_lab.course.jupyter import environment

ROOT = Path(__file__).resolve().parent.parent
TREE, SITE = ROOT / "build" / "site", ROOT / "site"
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def assemble(jobs: int, only: tuple[str, ...], again: bool) -> None:
    """Write everything Sphinx reads into build/site."""
    docs = TREE / "docs"
    if not (again and (docs / "made").is_dir()):
        shutil.rmtree(TREE, ignore_errors=True)
        run_everything(docs, jobs, only)
    shutil.copytree(ROOT / "docs", docs, dirs_exist_ok=True)
    shutil.copytree(ROOT / "notebooks" / "assets", docs / "notebooks" / "assets", dirs_exist_ok=True)
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, TREE)
    index = docs / "index.md"
    index.write_text(_without_empty_globs(index.read_text(encoding="utf-8"), docs), encoding="utf-8")
    for page in [*TREE.glob("*.md"), *docs.glob("*.md"), *docs.glob("[!m]*/**/*.md")]:  # not those of made/
        text = page.read_text(encoding="utf-8")
        page.write_text(_LINK.sub(lambda found, page=page: _link(found, page), text), encoding="utf-8")


def run_everything(docs: Path, jobs: int, only: tuple[str, ...]) -> None:
    """Make the pages that come from the code: notebooks, scenarios, commands."""
    made, notebooks = docs / "made", docs / "notebooks"
    made.mkdir(parents=True)
    notebooks.mkdir()
    sources = [p for p in sorted((ROOT / "notebooks" / "src").glob("*.py")) if p.name.startswith(only or ("",))]
    with ThreadPoolExecutor(jobs) as pool:
        pages = pool.map(reader, sources)
        (made / "first.md").write_text(first_stepper(), encoding="utf-8")
        (made / "command-help.md").write_text(command_help(), encoding="utf-8")
        (made / "scenarios.md").write_text(scenario_table(made / "extra" / "players"), encoding="utf-8")
        for source, page in zip(sources, pages, strict=True):
            (notebooks / f"{source.stem}.ipynb").write_text(page, encoding="utf-8")


def _without_empty_globs(index: str, docs: Path) -> str:
    """The index without the patterns that no page fits (yet), of which Sphinx warns."""
    kept = [line for line in index.splitlines() if not line.endswith("*") or any(docs.glob(line + ".*"))]
    return "\n".join(kept) + "\n"


def _link(found: re.Match[str], page: Path) -> str:
    """A link to a page of the site as it is, one to a notebook to its page; of one to other files only the words."""
    text, target, anchor = found.groups()
    there = (page.parent / target).resolve()
    inside = there.relative_to(TREE) if there.is_relative_to(TREE) else Path()
    if inside.parts[:1] == ("notebooks",):
        there = TREE / "docs" / inside
        if there.is_file():
            return f"[{text}]({os.path.relpath(there, page.parent).replace(os.sep, '/')}{anchor or ''})"
    if there.is_file() and (TREE / "docs" in there.parents or there.parent == TREE):
        return found[0]
    if (ROOT / inside).exists() and inside.parts and inside.parts[0] != "docs":
        return text
    return found[0]  # Sphinx complains


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", default=[], help="only notebooks whose name begins so, for a look")
    parser.add_argument("--again", action="store_true", help="run nothing: only the pages of docs/ are new")
    options = parser.parse_args()
    os.environ.update(environment())
    began = time.monotonic()
    assemble(options.jobs, tuple(options.only), options.again)
    ran = time.monotonic()
    shutil.rmtree(SITE, ignore_errors=True)
    strict = [] if options.only else ["-W", "--keep-going"]
    told = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-E", *strict, "-j", str(options.jobs), "-d", str(TREE / "doctrees"),
         "-b", "html", str(TREE / "docs"), str(SITE)],
        check=False,
    )  # fmt: skip
    shutil.rmtree(SITE / ".doctrees", ignore_errors=True)
    print(f"ran everything in {ran - began:.0f} s, built in {time.monotonic() - ran:.0f} s: {SITE.name}/index.html")
    return told.returncode


if __name__ == "__main__":
    sys.exit(main())
