"""Check the links of a built site, without a network.

    python scripts/check_site.py SITE

Each link inside the site must lead to a file of it, and each #anchor to an id there. Addresses of other hosts are only
looked at for their form, and only a reader's click may lead to one: a script, style, picture or frame from elsewhere is
a mistake. So are a page that no link leads to, and a path of the machine that built the site.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
UNLINKED = {"index.html", "search.html"}  # the second opens from the search field
_LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("object", "data")}
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+$")


class Page(HTMLParser):
    """The ids of a page, and its links as (tag, address)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value or "")
            elif name in ("href", "src") or (tag, name) in _LOADS:
                self.links.append((tag if (tag, name) in _LOADS else "a", value or ""))


def _pages(site: Path) -> list[Path]:
    # Sphinx copies two templates of its themes among the styles.
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts]


def problems(site: Path) -> list[str]:
    """Everything that is wrong with a site, one line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in _pages(site)}
    out = [] if site / "index.html" in pages else [f"{site}: there is no index.html. Build it first: make site"]
    reached = set()
    for path, page in pages.items():
        where = path.relative_to(site)
        for tag, address in page.links:
            told = _problem(site, path, pages, tag, address, reached)
            if told:
                out.append(f"{where}: {told}: {address!r}")
    lonely = [path for path in pages if path not in reached and path.name not in UNLINKED]
    out += [f"{path.relative_to(site)}: no page leads here" for path in lonely]
    for path in sorted(site.rglob("*")):
        if path.suffix in {".html", ".css", ".js", ".txt", ".inv"} and path.is_file():
            out += _in_text(path.relative_to(site), path.read_text(encoding="utf-8", errors="replace"), path.suffix)
    return list(dict.fromkeys(out))


def _problem(site: Path, path: Path, pages: dict, tag: str, address: str, reached: set[Path]) -> str | None:
    parts = urlsplit(address)
    if parts.scheme in ("data", "mailto", "javascript"):
        return None if parts.scheme != "javascript" else "a script as an address"
    if parts.scheme or parts.netloc:
        if tag != "a" and "canonical" not in address:
            return "asks another host"
        good = parts.scheme == "https" and parts.hostname and _HOST.match(parts.hostname) and " " not in address
        local = parts.scheme == "http" and parts.hostname == "127.0.0.1"
        return None if good or local else "no well-formed https address"
    if parts.path.startswith("/"):
        return "begins at the host's root, so the site cannot stand in a folder"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "leads nowhere"
    if not target.is_relative_to(site):
        return "leads out of the site"
    if target != path:
        reached.add(target)
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "no such place in the page"
    return None


def _in_text(where: Path, text: str, kind: str) -> list[str]:
    out = [f"{where}: tells a path of the machine: {found}" for found in _private() if found in text]
    if kind == ".css":
        loads = re.findall(r"(?:url\(|@import\s+)['\"]?((?:https?:)?//[^'\")]+)", text)
        out += [f"{where}: asks another host: {found!r}" for found in loads]
    return out


@cache
def _private() -> tuple[str, ...]:
    found = (str(ROOT), str(Path.home()) if len(Path.home().parts) > 2 else "", sys.prefix)
    return tuple(dict.fromkeys(one for one in found if one))


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    site = Path(sys.argv[1]).resolve()
    told = problems(site)
    print("\n".join(told) or f"{len(_pages(site))} pages, every link and anchor leads somewhere")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
