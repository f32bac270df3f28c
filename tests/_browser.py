"""Chromium and a real JupyterLab for tests. Every request that is not for this machine is refused and told."""

import json
import os
import re
import secrets
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress

import pytest

from hitl_lab.course import jupyter

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def system_chromium():
    """Return the path of an installed Chromium, None to let Playwright look for its own."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


_running = []  # a second Playwright in one process fails, so all who ask for the fixture share this one


@pytest.fixture(scope="session")
def chromium():
    """A running Chromium: the system's, else the one Playwright brought. Without either the test is skipped."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if not _running:
        playwright = sync_api.sync_playwright().start()
        try:
            _running.append(playwright.chromium.launch(executable_path=system_chromium(), args=FLAGS))
        except sync_api.Error as exc:
            playwright.stop()
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"no Chromium here: {exc.message.splitlines()[0]}")
        _running.append(playwright)
    yield _running[0]
    if _running:
        _running[0].close()
        _running[1].stop()
        _running.clear()


class Watched:
    """A page, with all it said on the console and every request it made to another machine."""

    def __init__(self, page):
        self.page, self.said, self.asked = page, [], []
        page.on(
            "console", lambda m: self.said.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda e: self.said.append(f"exception: {e}"))
        page.on("request", self._asked)

    def _asked(self, request):
        if not re.match(r"(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:|file:|about:", request.url):
            self.asked.append(request.url)

    def assert_clean(self):
        assert self.asked == [], "asked another machine"
        assert self.errors() == []

    def errors(self):
        return [s for s in self.said if not s.startswith("warning")]


@contextmanager
def new_page(browser, **options):
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
    try:
        yield Watched(context.new_page())
    finally:
        context.close()


@pytest.fixture
def page(chromium):
    """A fresh page, 1200 px wide, light."""
    with new_page(chromium) as watched:
        yield watched


def open_file(watched, path):
    """Open an HTML player with the network switched off and wait until it shows its first step."""
    watched.page.context.set_offline(True)
    watched.page.goto(path.as_uri())
    watched.page.wait_for_selector("#hitl-lab[data-ready]", timeout=15_000)


class Lab:
    """A JupyterLab server on 127.0.0.1 over a folder of its own."""

    def __init__(self, folder, url, token):
        self.folder, self.url, self.token = folder, url, token

    def notebook(self, name, *cells):
        """Write a notebook with a kernelspec: without one a dialog would wait for somebody."""
        told = [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": cell}
            for i, cell in enumerate(cells)
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        data = {"cells": told, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        (self.folder / name).write_text(json.dumps(data))

    def open(self, page, name):
        """Open a notebook in a workspace of its own and wait for its kernel."""
        page.goto(f"{self.url}/lab/workspaces/{secrets.token_hex(4)}/tree/{name}?token={self.token}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=60_000)

    def run_all(self, page):
        """Run all cells once the notebook is ready for it: before, the command is lost without a word."""
        page.evaluate(
            """async () => { const panel = window.jupyterapp.shell.currentWidget;
                await Promise.all([panel.context.ready, panel.revealed, panel.sessionContext.ready]);
                await panel.sessionContext.session.kernel.info;
                window.jupyterapp.commands.execute('notebook:run-all-cells'); }"""
        )


def command(page, id):
    """Run one of JupyterLab's commands, as its menu would (--expose-app-in-browser)."""
    page.evaluate("id => { window.jupyterapp.commands.execute(id); }", id)


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """JupyterLab as `hitl-lab open` starts it, with a token and settings of its own."""
    folder, home = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("home")
    token = secrets.token_hex(8)
    env = jupyter.environment() | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_TOKEN": token,
    }
    args = [*jupyter.command(folder, port=8950, browser=False), "--LabApp.expose_app_in_browser=True"]
    # All cells in the page, not only those that are scrolled to.
    tracker = home / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text('{"windowingMode": "none"}')
    log = (home / "log").open("w+")
    server = subprocess.Popen(args, env=env, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield Lab(folder, _address(home / "runtime", server, log), token)
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def _address(runtime, server, log):
    for _ in range(300):
        for file in runtime.glob("jpserver-*.json"):
            told = json.loads(file.read_text() or "{}")
            if told.get("port"):
                url = f"http://127.0.0.1:{told['port']}"
                # The file is there a moment before the server listens.
                with (
                    suppress(urllib.error.URLError),
                    urllib.request.urlopen(f"{url}/api/status?token={told['token']}", timeout=30),
                ):
                    return url
        assert server.poll() is None, log.seek(0) or log.read()
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not start in 30 s")
