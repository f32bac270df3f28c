"""Run the tests marked `versions` on each supported LangGraph, side by side, and print the table.

    python scripts/versions.py                    # all of VERSIONS
    python scripts/versions.py 1.0.0 1.2.12       # these
    python scripts/versions.py --python python3.13

Each version gets an environment of its own below .run/versions, made once: an overlay on .venv would let modules of
the newer LangGraph show through, since `langgraph` is a namespace package.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".run" / "versions"
# The first and last of each line whose seams differ, and one between (see hitl_lab/tracing/seams).
VERSIONS = ("1.0.0", "1.0.10", "1.1.10", "1.2.0", "1.2.12")
# These go with the LangGraph that is asked for; everything else stays as locked.
_MOVING = ("langgraph", "langchain", "langsmith", "aiosqlite")
# The SQLite savers that go with LangGraph 1.0 call Connection.is_alive, which aiosqlite 0.22 took away.
_OLDER = "aiosqlite<0.22"


def locked() -> list[str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "==" in line]


def newest() -> str:
    return next(line.removeprefix("langgraph==") for line in locked() if line.startswith("langgraph=="))


def environment(version: str, python: str) -> Path:
    """The Python of the environment for this LangGraph; made, or made again when the lock changed."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        project = tomllib.load(stream)["project"]
    wanted = [spec for spec in project["dependencies"] if not spec.startswith("langgraph>")]
    wanted += ["pytest", "pytest-timeout", "hypothesis", "jsonschema", "hatchling", f"langgraph=={version}"]
    wanted += [] if version == newest() else [_OLDER]
    constraints = "\n".join(line for line in locked() if not line.startswith(_MOVING))
    mark = hashlib.sha256("\n".join([*wanted, constraints]).encode()).hexdigest()

    folder = ENVIRONMENTS / f"{Path(python).name}-{version}"
    inside, stamp = folder / "bin" / "python", folder / ".made"
    if stamp.exists() and stamp.read_text() == mark:
        return inside
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(constraints)
        file.flush()
        pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", file.name, *wanted], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", ROOT], check=True)
    stamp.write_text(mark)
    return inside


def run_tests(python: Path, files: list[str]) -> tuple[dict[str, int], str]:
    """Counts of tests, and pytest's output."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [python, "-m", "pytest", "-q", "-m", "versions", f"--junitxml={report}", *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not report.exists():
            return {"failed": 1}, done.stdout + done.stderr
        suite = ElementTree.parse(report).getroot().find("testsuite")
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    skipped = int(suite.get("skipped"))
    return {"passed": int(suite.get("tests")) - failed - skipped, "failed": failed, "skipped": skipped}, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=(*VERSIONS, newest()))
    parser.add_argument("--python", default=sys.executable, help="the Python to test with; default: this one")
    parser.add_argument("--jobs", type=int, default=2, help="versions at a time; default: 2")
    options = parser.parse_args()
    version = subprocess.run([options.python, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    files = [str(p) for p in sorted((ROOT / "tests").rglob("test_*.py")) if "mark.versions" in p.read_text("utf-8")]
    if not files:
        sys.exit("no test is marked `versions`")
    print(f"{'LangGraph':<12}{'Python':<16}{'passed':>8}{'failed':>8}{'skipped':>8}{'seconds':>9}", flush=True)

    def one(langgraph: str) -> tuple[dict[str, int], str, float]:
        python = environment(langgraph, options.python)
        began = time.monotonic()
        return *run_tests(python, files), time.monotonic() - began

    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for langgraph, (counts, output, seconds) in zip(options.versions, pool.map(one, options.versions), strict=True):
            numbers = "".join(f"{counts.get(key, 0):>8}" for key in ("passed", "failed", "skipped"))
            print(f"{langgraph:<12}{version:<16}{numbers}{seconds:>9.1f}", flush=True)
            # No test at all proves nothing.
            if counts["failed"] or not counts.get("passed"):
                bad += 1
                print(output, flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
