"""Make .venv, install the pinned packages and hitl_lab into it, then run the rest of the command line with it.

    python scripts/bootstrap.py                  # only make the environment ready
    python scripts/bootstrap.py hitl-lab open    # and then open the course

Standard library only. `make` calls it, and so does a Windows user, who has no make.
Nothing is installed again while requirements.lock and pyproject.toml stay as they are: a start needs no network then.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = Path(os.environ.get("HITL_LAB_VENV") or ROOT / ".venv")
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
MINIMUM = (3, 11)


def stop(message):
    sys.exit("hitl_lab: " + message)


def run(step, *command):
    # A personal pip configuration may say --user, --target or --prefix: each would install beside the environment.
    environment = {key: value for key, value in os.environ.items() if key not in ("PIP_TARGET", "PIP_PREFIX")}
    environment["PIP_USER"] = "0"
    code = subprocess.run([str(part) for part in command], check=False, env=environment).returncode
    if code:
        stop(f"{step} failed (exit code {code}); the lines above say why. Run the same command again to go on.")


def make_environment():
    if not PYTHON.exists():
        if sys.version_info < MINIMUM:
            stop("needs Python 3.11 or newer, this is {}.{}: {}".format(*sys.version_info[:2], sys.executable))
        print(f"hitl_lab: making {VENV.name} with Python {sys.version.split()[0]}", flush=True)
        run("making the environment", sys.executable, "-m", "venv", VENV)
    probe = f"import sys; sys.exit(sys.version_info < {MINIMUM})"
    try:
        usable = subprocess.run([str(PYTHON), "-c", probe], check=False).returncode == 0
    except OSError:
        usable = False
    if not usable:
        # Never removed from here: it might hold somebody's own packages.
        stop(f"the environment in {VENV} does not run Python 3.11 or newer. Remove that folder and try again.")


def install_if_changed(name, step, sources, *arguments):
    stamp = VENV / f".{name}"
    # Content, not times: a checkout or a copy gives every file a new time.
    wanted = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"hitl_lab: {step}", flush=True)
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
    run(step, *pip, *arguments)
    stamp.write_text(wanted)


def main():
    make_environment()
    lock = ROOT / "requirements.lock"
    project = ROOT / "pyproject.toml"
    packages = sum("==" in line for line in lock.read_text(encoding="utf-8").splitlines())
    step = f"installing {packages} pinned packages (the first time takes a minute or two)"
    install_if_changed("lock-installed", step, [lock], "-r", lock)
    # --no-build-isolation: the build tool is in the lock, so this asks no index.
    editable = ("--no-deps", "--no-build-isolation", "-e", ROOT)
    install_if_changed("package-installed", "installing hitl_lab from this folder", [project, lock], *editable)
    if sys.argv[1:]:
        program = BIN / (sys.argv[1] + (".exe" if os.name == "nt" else ""))
        sys.exit(subprocess.run([str(program), *sys.argv[2:]], check=False).returncode)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
