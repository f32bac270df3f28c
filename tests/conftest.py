"""Fixtures that need something outside Python, shared by all tests."""

import os
import signal
import subprocess
import tempfile
import threading
import uuid
from pathlib import Path

import pytest
from _browser import chromium, lab, page  # noqa: F401 - one Chromium and one JupyterLab for all test files

# A shell that starts this in the background lets it ignore Ctrl-C, and each process it starts, too: the tests that send
# one would wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
_POSTGRES = ROOT / "scripts" / "postgres.sh"


def pytest_collection_modifyitems(items):
    for item in items:
        if "postgres_dsn" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")
            # One worker runs them all, so that one server is started, not one for each worker.
            item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture(scope="session")
def postgres_dsn():
    """The address of an empty PostgreSQL database, on a server that lives as long as the test session.

    HITL_LAB_POSTGRES_DSN names another server to use. Without one, and without PostgreSQL's programs, the test is
    skipped; on CI (CI=true) it fails.
    """
    if given := os.environ.get("HITL_LAB_POSTGRES_DSN"):
        yield given
        return
    if subprocess.run([_POSTGRES, "available"], check=False).returncode != 0:
        reason = "no PostgreSQL server programs here (Debian, Ubuntu: apt-get install postgresql)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    # Not in tmp_path: as root the server runs as another user, who may not look into pytest's folders.
    folder = Path(tempfile.gettempdir()) / f"hitl-lab-postgres.{uuid.uuid4().hex}"
    try:
        started = subprocess.run([_POSTGRES, "start", folder], check=False, capture_output=True, text=True, timeout=120)
        assert started.returncode == 0, started.stderr
        yield started.stdout.strip()
    finally:
        subprocess.run([_POSTGRES, "stop", folder], check=True, timeout=60)
