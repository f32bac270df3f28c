// What the site adds: players as tall as what they show, and predictions that are committed before they are answered.

// Search results come with excerpts by fetch(), which a page opened as a file may not use.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS === "object") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

function fit(frame) {
  const page = frame.contentDocument;
  if (!page || !page.body) return;
  // Only ever taller: a page that shrinks at a step would move under the reader's hand.
  let tallest = 0;
  const grow = () => {
    const wanted = Math.ceil(page.body.scrollHeight) + 2;
    if (wanted > tallest) frame.style.height = `${(tallest = wanted)}px`;
  };
  new frame.contentWindow.ResizeObserver(grow).observe(page.body);
  let width = frame.clientWidth;
  new ResizeObserver(() => {
    if (frame.clientWidth !== width) { width = frame.clientWidth; tallest = 0; frame.style.height = "0"; grow(); }
  }).observe(frame);
  grow();
}

// A player takes light or dark from the system; in a page it takes them from the switch of the page, as in JupyterLab.
function paint(frame) {
  const page = frame.contentDocument, theme = document.documentElement.dataset.theme === "dark" ? "dark" : "light";
  if (!page || !page.body) return;
  page.body.classList.remove("hl-page");
  const root = page.documentElement;
  root.dataset.jpThemeLight = String(theme === "light");
  root.style.colorScheme = theme;
  root.style.setProperty("--jp-layout-color1", theme === "dark" ? "#171c22" : "#fff");
  root.style.setProperty("--jp-layout-color2", theme === "dark" ? "#1f262e" : "#f5f7f9");
  root.style.setProperty("--jp-border-color2", theme === "dark" ? "#36414c" : "#d9dfe6");
}

function ask(box) {
  const commit = box.querySelector("button"), verdict = box.querySelector(".hitl-verdict"), answer = box.querySelector("details");
  box.addEventListener("change", () => { commit.disabled = !box.querySelector("input:checked"); });
  commit.addEventListener("click", () => {
    const chosen = box.querySelector("input:checked");
    box.querySelectorAll("input").forEach((input) => { input.disabled = true; });
    commit.hidden = true;
    verdict.textContent = chosen.dataset.verdict;
    verdict.hidden = false;
    answer.hidden = false;
    answer.open = true;
  });
  // Without scripts the answer is a fold; with them it comes after the commit.
  commit.hidden = false;
  answer.hidden = true;
}

document.addEventListener("DOMContentLoaded", () => {
  const frames = [...document.querySelectorAll("iframe.hitl-player")];
  const ready = (frame) => { paint(frame); fit(frame); };
  for (const frame of frames) {
    frame.addEventListener("load", () => ready(frame));
    if (frame.contentDocument?.getElementById("hitl-lab")) ready(frame);
  }
  new MutationObserver(() => frames.forEach(paint)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  document.querySelectorAll(".hitl-ask").forEach(ask);
  // The theme's folds in the list of pages have an arrow and no name.
  document.querySelectorAll("nav summary").forEach((one) => one.setAttribute("aria-label", "Show the pages below"));
});
