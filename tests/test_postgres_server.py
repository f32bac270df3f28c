"""scripts/postgres.sh: a real server, reachable from this machine only, that leaves nothing behind."""

import os
import re
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "postgres.sh"


def run(*arguments, **environment):
    return subprocess.run(
        [SCRIPT, *arguments], capture_output=True, text=True, check=False, timeout=120, env=os.environ | environment
    )


def test_the_server_answers_and_checks_the_password(postgres_dsn):
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("select 40 + 2").fetchone() == (42,)
    wrong = re.sub(r":[0-9a-f]+@", ":wrong@", postgres_dsn)
    assert wrong != postgres_dsn
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(wrong)


def test_it_listens_on_loopback_only(postgres_dsn):
    with psycopg.connect(postgres_dsn) as connection:
        shown = {name: connection.execute(f"show {name}").fetchone()[0] for name in ("listen_addresses", "port")}
    assert shown["listen_addresses"] == "127.0.0.1"
    assert f"@127.0.0.1:{shown['port']}/" in postgres_dsn


@pytest.mark.slow
def test_start_twice_is_one_server_and_stop_leaves_nothing(postgres_dsn):
    folder = Path(tempfile.gettempdir()) / f"hitl-lab-postgres.{uuid.uuid4().hex}"
    try:
        first, second = run("start", folder), run("start", folder)
        assert first.returncode == 0, first.stderr
        assert first.stdout == second.stdout != postgres_dsn + "\n"
        port = int(re.search(r":(\d+)/", first.stdout)[1])
    finally:
        assert run("stop", folder).returncode == 0
    assert not folder.exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_stop_keeps_a_folder_it_did_not_make(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    result = run("stop", tmp_path)
    assert result.returncode == 1
    assert "was not made by this script" in result.stderr
    assert (tmp_path / "mine.txt").exists()


def test_start_refuses_a_folder_somebody_else_made(postgres_dsn, tmp_path):
    result = run("start", tmp_path)
    assert result.returncode == 1
    assert "cannot make" in result.stderr


def test_bad_usage_says_how():
    result = run("restart")
    assert result.returncode == 1
    assert "usage:" in result.stderr
