"""Write the address of this copy into the README's and the documentation's Binder and Colab badges.

    python scripts/address.py              # the address of `git remote get-url origin`
    python scripts/address.py me/my-copy   # this one
    python scripts/address.py --none       # take it out again

Both services open repositories of GitHub. Run again after a move: what was written before is replaced.
Standard library only.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, PAGE = ROOT / "README.md", ROOT / "docs" / "binder-colab.md"
PLACEHOLDER, BRANCH = "OWNER/hitl_lab", "main"

NAME = r"[A-Za-z0-9_.-]+"
# https, also with a user or a token before the host, which is never written anywhere; ssh; and git's short form.
GITHUB = re.compile(
    rf"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?github\.com(?::\d+)?/|(?:{NAME}@)?github\.com:)({NAME}/{NAME}?)(?:\.git)?/?"
)
BINDER = re.compile(rf"(mybinder\.org/v2/gh/){NAME}/{NAME}/[^?)\s]+")
COLAB = re.compile(rf"(colab\.research\.google\.com/github/){NAME}/{NAME}/blob/.+?(/notebooks/)")
PIP = re.compile(rf"(git\+https://github\.com/){NAME}/{NAME}")
BADGES = re.compile(r"(<!-- badges: make address -->\n)(.*?)(<!-- badges end -->\n)", re.DOTALL)


def repository(url):
    """Return owner/name of a GitHub address, None if it is none."""
    found = GITHUB.fullmatch(url.strip())
    return found[1].removesuffix(".git") if found else None


def filled(text, where, branch):
    """Return a page with all its addresses pointing to a repository and a branch."""
    text = BINDER.sub(rf"\g<1>{where}/{branch}", text)
    text = COLAB.sub(rf"\g<1>{where}/blob/{branch}\g<2>", text)
    return PIP.sub(rf"\g<1>{where}", text)


def badges(page):
    """Return the badges that a page shows as text, as they are written in Markdown."""
    return re.findall(r"^\[!\[.+$", page, re.MULTILINE)


def write(root, where, branch):
    """Write an address into the pages below `root`; the README has badges only for a real one."""
    page = root / PAGE.relative_to(ROOT)
    text = filled(page.read_text(encoding="utf-8"), where, branch)
    page.write_text(text, encoding="utf-8", newline="\n")
    shown = "" if where == PLACEHOLDER else "\n".join(badges(text)) + "\n"
    readme = root / README.relative_to(ROOT)
    old = readme.read_text(encoding="utf-8")
    if not BADGES.search(old):
        sys.exit(
            f"{readme.name} has no place for badges: the lines <!-- badges: make address --> and <!-- badges end -->."
        )
    new = BADGES.sub(lambda found: found[1] + shown + found[3], old)
    readme.write_text(new, encoding="utf-8", newline="\n")


def git(root, *arguments):
    """Return what git says, "" if it fails."""
    try:
        done = subprocess.run(["git", "-C", root, *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def branch_of(root):
    """Return the branch that origin shows first, else the one that is checked out, else main."""
    default = git(root, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    return default or git(root, "branch", "--show-current") or BRANCH


def main(arguments=None, root=ROOT):
    """Read the address and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", nargs="?", help="owner/name on GitHub; default: that of git remote origin")
    parser.add_argument("--none", action="store_true", help="put the placeholder back")
    options = parser.parse_args(arguments)
    if options.none:
        where, branch = PLACEHOLDER, BRANCH
    else:
        where = options.repository
        if where is None:
            url = git(root, "remote", "get-url", "origin")
            if not url:
                sys.exit(
                    "There is no git remote called origin. Name the repository: python scripts/address.py OWNER/NAME"
                )
            where = repository(url)
            if where is None:
                sys.exit(
                    "origin is not an address of GitHub, where Binder and Colab look. If there is a copy on GitHub, "
                    "name it: python scripts/address.py OWNER/NAME"
                )
        elif not re.fullmatch(f"{NAME}/{NAME}", where):
            sys.exit(f"{where!r} is not of the form OWNER/NAME.")
        branch = branch_of(root)
    write(root, where, branch)
    print(f"README.md and docs/binder-colab.md point to {where}, branch {branch}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
