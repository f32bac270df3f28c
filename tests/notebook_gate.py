"""The second gate for the notebooks: run each one as a learner would, and fail on any error.

    python tests/notebook_gate.py [--jobs 2] [NOTEBOOK ...]

nbval compares outputs but passes a cell that starts with an unknown %magic and then raises. Here a cell that raises
fails, whatever its tags say, and so does an output of type error, a cell that did not run, and an empty folder.
The notebooks run in a fresh workspace, away from the checkout, with every proxy pointing nowhere: a cell that reaches
for another host fails at once.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert.filters import strip_ansi

from hitl_lab.course import workspace
from hitl_lab.course.jupyter import environment

# RFC 863's port: nothing answers there, and a refused connection fails at once.
NOWHERE = "http://127.0.0.1:9"


def faults(path: Path, timeout: int = 120) -> list[str]:
    """Run one notebook in the folder it lies in; what is wrong with it, nothing if all is well."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        # Stored results must not pass for fresh ones.
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        force_raise_errors=True,
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return [strip_ansi(f"{path.name}: {error}")]
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        found += [
            f"{path.name}: cell {number} shows an error: {output.ename}: {output.evalue}"
            for output in cell.outputs
            if output.output_type == "error"
        ]
        if cell.execution_count is None:
            found.append(f"{path.name}: cell {number} did not run")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 if every notebook passes, 1 if one fails or there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of the course, the solved ones too")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)

    os.environ.update(environment())
    os.environ.update(dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"
    with tempfile.TemporaryDirectory() as folder:
        paths = options.notebooks
        if not paths:
            workspace.start(folder)
            solved = workspace.source_folder() / "solved"
            if solved.is_dir():
                shutil.copytree(solved, Path(folder) / "solved", ignore=shutil.ignore_patterns(".*"))
            paths = sorted(Path(folder).rglob("*.ipynb"))

        def timed(path: Path) -> tuple[list[str], float]:
            began = time.monotonic()
            return faults(path), time.monotonic() - began

        failed = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            for path, (found, seconds) in zip(paths, pool.map(timed, paths), strict=True):
                failed += bool(found)
                name = path.relative_to(folder) if path.is_relative_to(folder) else path.name
                print(f"{'FAIL' if found else 'ok  '}  {name}  {seconds:.1f} s", flush=True)
                for fault in found:
                    print(fault, flush=True)
    if not paths:
        print("there is no notebook to run", file=sys.stderr)
    print(f"notebooks: {len(paths) - failed} passed, {failed} failed")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
