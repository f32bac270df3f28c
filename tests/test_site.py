"""The built site in Chromium, as files and with the network off: search, steppers, predictions, light and dark.

`make site-check` names the site to test in HITL_LAB_SITE: one that happens to lie here may be of yesterday.
"""

import os
import re
from pathlib import Path

import pytest
from _browser import chromium, new_page  # noqa: F401

SITE = Path(os.environ.get("HITL_LAB_SITE", ".")).resolve()
pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif("HITL_LAB_SITE" not in os.environ, reason="tested by make site, then make site-check"),
]
BROKEN = "notebooks/02_the_broken_node.html"
PLAYER = "iframe.hitl-player >> nth=0"


@pytest.fixture(params=["light", "dark"])
def site(chromium, request):  # noqa: F811
    """A page in a system that is light or dark, without a network; afterwards nothing was asked or complained of."""
    with new_page(chromium, color_scheme=request.param, viewport={"width": 1280, "height": 900}) as watched:
        watched.page.context.set_offline(True)
        failed = []
        watched.page.on("requestfailed", lambda r: failed.append(r.url))
        watched.theme = request.param
        yield watched
        watched.assert_clean()
        assert failed == []


def visit(watched, path):
    watched.page.goto((SITE / path).as_uri())
    return watched.page


def brightness(page, script):
    """How light a colour is, from 0 to 255, by the page's own account of it."""
    red, green, blue = map(int, re.findall(r"\d+", page.evaluate(script))[:3])
    return (red + green + blue) / 3


def open_first_player(page):
    """Open the fold of the first run, as a reader does after the prediction, and wait for its stepper."""
    page.locator("details:has(iframe.hitl-player) > summary").first.click()
    page.locator("iframe.hitl-player").first.scroll_into_view_if_needed()
    frame = page.frame_locator(PLAYER)
    frame.locator("#hitl-lab[data-ready]").wait_for(timeout=15_000)
    return frame


def test_a_stepper_steps_to_the_dropped_write(site):
    page = visit(site, BROKEN)
    frame = open_first_player(page)
    assert frame.locator(".hl-pos").inner_text().startswith("1 of ")
    frame.locator(".hl-next").click()
    assert frame.locator(".hl-pos").inner_text().startswith("2 of ")
    frame.locator(".hl-jump").click()
    assert "dropped" in frame.locator(".hl-w.hl-drop").inner_text()
    assert "commit" in frame.locator(".hl-say").inner_text()
    assert "hitl_payload" in frame.locator(".hl-w.hl-drop").inner_text()
    # As tall as what it shows: no bar to scroll inside a bar to scroll.
    page.wait_for_function(
        "() => { const f = document.querySelector('iframe.hitl-player'); "
        "return f.contentDocument.documentElement.scrollHeight <= f.clientHeight + 1 }"
    )


def test_a_stepper_follows_the_light_of_its_page(site):
    page = visit(site, BROKEN)
    open_first_player(page)
    player = "document.querySelector('iframe.hitl-player').contentDocument.querySelector('.hitl')"
    inside = f"getComputedStyle({player}).backgroundColor"
    page_itself = "getComputedStyle(document.body).backgroundColor"
    dark = site.theme == "dark"
    assert (brightness(page, inside) < 100) is dark
    assert (brightness(page, page_itself) < 100) is dark
    page.locator(".theme-switch-button:visible").click()
    page.locator(f".theme-change-button[data-mode={'light' if dark else 'dark'}]").click()
    assert (brightness(page, inside) < 100) is not dark


def test_a_prediction_answers_after_the_commit(site):
    page = visit(site, BROKEN)
    box = page.locator(".hitl-ask").first
    assert not box.locator("details").is_visible()
    assert box.locator("button").is_disabled()
    box.locator("input[value=A]").check()
    box.locator("button").click()
    assert box.locator(".hitl-verdict").inner_text().startswith("Not so: LangGraph did C.")
    assert "pending writes of `review`: __interrupt__" in box.locator("details").inner_text()


def test_a_word_is_found(site):
    page = visit(site, "index.html")
    page.locator(".search-button-field:visible").first.click()
    page.locator("input[name=q]:visible").fill("phantom")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=phantom*")
    for title in ("02 The broken node and the phantom", "The words"):
        page.locator("#search-results li a", has_text=title).first.wait_for(timeout=15_000)


def test_a_scenario_opens_in_its_player(site):
    page = visit(site, "scenarios.html")
    page.get_by_role("link", name="fix_c_update_state").click()
    page.wait_for_selector("#hitl-lab[data-ready]")
    assert page.locator(".hl-title").inner_text().startswith("Fix C")


def test_the_pages_can_be_read_by_everybody(site):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for name in (BROKEN, "scenarios.html"):
        page = visit(site, name)
        page.wait_for_function("document.documentElement.dataset.theme")
        # preload: axe would fetch the style sheets, which a page opened as a file may not.
        found = axe.run(page, options={"preload": False}).response
        told = [(v["id"], [n["html"][:160] for n in v["nodes"]][:3]) for v in found["violations"]]
        # The theme's title stands in no landmark.
        assert [one for one in told if one[0] != "region"] == [], name


def test_no_page_complains_or_asks_another_host(site):
    apart = {"_static", "players"}
    pages = [path for path in sorted(SITE.rglob("*.html")) if apart.isdisjoint(path.relative_to(SITE).parts)]
    assert len(pages) > 10
    # Half of them light, half dark: each once.
    for path in pages[site.theme == "dark" :: 2]:
        site.page.goto(path.as_uri())
        site.page.wait_for_function("document.documentElement.dataset.theme")
        assert site.page.locator("h1:visible").count() == 1 or path.name == "search.html", path.name
        wide = site.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path.name} is {wide} px wider than the window"
