"""`hitl-lab open` and `make lab`: JupyterLab on this machine only, with the address on the screen."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from hitl_lab.course import jupyter

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def no_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(jupyter.sys, "platform", "linux")


def test_without_a_display_no_browser_is_opened(tmp_path, no_display, monkeypatch):
    assert "--no-browser" in jupyter.command(tmp_path)
    assert "--no-browser" not in jupyter.command(tmp_path, browser=True)
    monkeypatch.setenv("DISPLAY", ":0")
    assert "--no-browser" not in jupyter.command(tmp_path)
    assert "--no-browser" in jupyter.command(tmp_path, browser=False)


def test_root_is_allowed_only_to_root(tmp_path, monkeypatch):
    monkeypatch.setattr(jupyter, "_is_root", lambda: True)
    assert "--allow-root" in jupyter.command(tmp_path)
    monkeypatch.setattr(jupyter, "_is_root", lambda: False)
    assert "--allow-root" not in jupyter.command(tmp_path)


def test_the_token_is_kept():
    line = " ".join(jupyter.command(Path("mine")))
    assert "token" not in line
    assert "password" not in line


def test_the_first_notebook_is_shown(tmp_path):
    assert "--LabApp.default_url=/lab" in jupyter.command(tmp_path)
    for name in ("02_second.ipynb", "00_start_here.ipynb"):
        (tmp_path / name).write_text("{}")
    assert "--LabApp.default_url=/lab/tree/00_start_here.ipynb" in jupyter.command(tmp_path)


def test_kernels_of_this_environment_come_first_and_no_trace_is_sent_anywhere():
    result = jupyter.environment({"LANGSMITH_TRACING": "true", "HOME": "/somewhere", "JUPYTER_CONFIG_PATH": "/theirs"})
    assert result["JUPYTER_CONFIG_PATH"].split(os.pathsep)[1:] == ["/theirs"]
    assert result["JUPYTER_PREFER_ENV_PATH"] == "1"
    assert result["LANGSMITH_TRACING"] == result["LANGCHAIN_TRACING_V2"] == "false"
    assert result["HOME"] == "/somewhere"


@contextmanager
def make_lab(tmp_path):
    """`make lab`, a second start, on a bare server: (seconds to the address, CPU seconds, address, port, token)."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    # The environment the tests run in is the one make is to use: it is ready, so this is a second start.
    environment |= {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "MAKEFLAGS": ""}
    subprocess.run(["make", "ready", f"VENV={sys.prefix}"], cwd=ROOT, env=environment, check=True, timeout=280)
    began = time.monotonic()
    process = subprocess.Popen(
        ["make", "lab", f"VENV={sys.prefix}", f"WORKSPACE={tmp_path / 'mine'}"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    seen = []
    try:
        for line in process.stdout:
            seen.append(line)
            if address := re.search(r"http://127\.0\.0\.1:(\d+)/\S*\?token=([0-9a-f]+)", line):
                seconds, cpu = time.monotonic() - began, cpu_seconds(process.pid)
                yield seconds, cpu, address[0], int(address[1]), address[2]
                break
        else:
            pytest.fail("no address was printed:\n" + "".join(seen))
    finally:
        # The group: make, and the server it became the parent of. KILL, since the server asks before it ends.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=20)


def cpu_seconds(pid):
    """What a process and those it started have used."""
    top = psutil.Process(pid)
    times = [process.cpu_times() for process in [top, *top.children(recursive=True)]]
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


@pytest.fixture
def server(tmp_path):
    with make_lab(tmp_path) as started:
        yield started


def get(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as reply:
        return reply.read()


def listening_addresses(port):
    """The local addresses, in the kernel's hexadecimal, on which a socket listens on `port`."""
    found = set()
    # The kernel hands these tables out in pieces: while other sockets come and go, a line can be missing once.
    for table in ("/proc/net/tcp", "/proc/net/tcp6") * 20:
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, hex_port = local.split(":")
            if state == "0A" and int(hex_port, 16) == port:
                found.add(address)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_make_lab_prints_the_address_in_under_ten_seconds(server):
    seconds, cpu, *_ = server
    # On two idle cores both are 2 to 3 s. A machine that others use too stretches the first (13 s were seen), not the
    # second, so it is the second that shows a start that became slow; the first only that nothing waits.
    assert cpu < 6, f"{cpu:.1f} s of CPU in {seconds:.1f} s"
    assert seconds < 10 * max(1, os.getloadavg()[0] / os.cpu_count()), f"{seconds:.1f} s"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_make_lab_listens_on_loopback_only_and_asks_for_the_token(server):
    *_, address, port, token = server
    assert listening_addresses(port) == {"0100007F"}

    page = get(address).decode()
    config = json.loads(re.search(r'id="jupyter-config-data"[^>]*>\s*(\{.*?\})\s*</script>', page, re.DOTALL)[1])
    assert config["news"] == {"disabled": True}

    contents = f"http://127.0.0.1:{port}/api/contents"
    assert json.loads(get(contents, Authorization=f"token {token}"))["type"] == "directory"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        get(contents)


@pytest.fixture
def page(server, chromium):
    """The address as a person opens it; the page, and the hosts it asked."""
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    asked = set()
    page.on("request", lambda request: asked.add(urllib.parse.urlsplit(request.url).hostname))
    page.goto(server[2])
    yield page, asked
    context.close()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the server fixture reads /proc")
def test_the_first_notebook_opens_without_a_dialog_and_its_kernel_answers(page, tmp_path):
    page, asked = page
    page.wait_for_selector(".jp-Notebook .jp-CodeCell:visible", timeout=60_000)
    # JupyterLab forgets a cell that is run before its kernel has answered once; the indicator says idle too early.
    page.wait_for_selector("text=Python 3 (ipykernel) | Idle", timeout=60_000)
    assert page.locator(".jp-Dialog, .Toastify__toast").all_inner_texts() == []

    page.locator(".jp-Notebook .jp-CodeCell .cm-content:visible").first.click(timeout=60_000)
    page.keyboard.press("Control+A")
    page.keyboard.type("print(6 * 7, 'answers')")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".jp-OutputArea-output:has-text('42 answers')", timeout=60_000)

    # The kernel was given keys: what it answered came over an encrypted channel.
    connections = [json.loads(file.read_text()) for file in (tmp_path / "runtime").glob("kernel-*.json")]
    assert {bool(connection.get("curve_publickey")) for connection in connections} == {jupyter._can_encrypt()}
    assert {host for host in asked if host} == {"127.0.0.1"}


def test_a_saved_notebook_keeps_the_text_of_a_widget_and_not_its_view():
    from hitl_lab.course.saving import VIEW, drop_views

    def saved(data, **model):
        cell = {"cell_type": "code", "outputs": [{"output_type": "display_data", "data": dict(data)}, {"text": "x"}]}
        whole = {"type": "notebook", "content": {"cells": [{"cell_type": "markdown"}, cell]}} | model
        drop_views(model=whole, path="a.ipynb", contents_manager=None)
        return cell["outputs"][0]["data"]

    both = {"text/plain": "Not committed yet", VIEW: {"model_id": "1"}}
    assert saved(both) == {"text/plain": "Not committed yet"}
    assert saved({VIEW: {"model_id": "1"}}) == {VIEW: {"model_id": "1"}}  # nothing would be left
    assert saved(both, type="file", content="text") == both
    assert saved(both, content=None) == both
