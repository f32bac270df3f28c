"""How fast the stepper opens and steps in Chromium, and how large its document is.

    python bench/stepper.py [events ...]       default 10000 and 100000

Prints one line a size: events, steps, document size, time to make it in Python, time from navigation to the first
step shown, and the median and 95th percentile of single steps, of jumps to a random step, and of "next dropped
write". A step is timed from the call to the end of the layout it causes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from _browser import FLAGS, system_chromium
from _made import long_trace
from playwright.sync_api import sync_playwright

from hitl_lab.views import html
from hitl_lab.views.stepper import trace_frames

STEPS = """([count, way]) => {
  const player = document.querySelector('#hitl-lab').hitlLab, took = [];
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    if (way === 'next') player.go(player.position + 1);
    else if (way === 'jump') player.go(1 + Math.floor(random() * player.size));
    else player.next();
    document.body.getBoundingClientRect();
    took.push(performance.now() - start);
  }
  took.sort((a, b) => a - b);
  return [took[took.length >> 1], took[Math.floor(took.length * 0.95)]];
}"""


def measure(browser, events):
    """Return the figures of a trace of about `events` events; times in seconds, steps in milliseconds."""
    trace = long_trace(max(1, events // 10))
    start = time.perf_counter()
    frames = trace_frames(trace, title=f"{events} events")
    made = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        file = html.write(frames.document, Path(folder) / "player.html")
        size = file.stat().st_size
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("#hitl-lab[data-ready]", timeout=120_000)
        opened = time.perf_counter() - start
        told = {way: page.evaluate(STEPS, [200, way]) for way in ("next", "jump", "dropped")}
        page.close()
    return {
        "events": len(trace.events),
        "steps": len(frames),
        "bytes": size,
        "made": made,
        "opened": opened,
        **{way: {"median": median, "p95": p95} for way, (median, p95) in told.items()},
    }


def line(told):
    """Return the figures as one line."""
    names = ("next", "jump", "dropped")
    ways = " · ".join(f"{name} {told[name]['median']:.1f} / {told[name]['p95']:.1f} ms" for name in names)
    return (
        f"{told['events']:>7} events · {told['steps']:>6} steps · {told['bytes'] / 1e6:.1f} MB · "
        f"made in {told['made']:.2f} s · opened in {told['opened']:.2f} s · median / p95: {ways}"
    )


def figures(events):
    """Return the figures of one size, in a browser of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=system_chromium(), args=FLAGS)
        try:
            return measure(browser, events)
        finally:
            browser.close()


def main(sizes):
    """Print a line for each size."""
    for events in sizes:
        print(line(figures(events)), flush=True)


if __name__ == "__main__":
    main([int(arg) for arg in sys.argv[1:]] or [10_000, 100_000])
