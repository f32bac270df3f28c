/* The stepper, the comparison and the tables: one plain module for the Jupyter widget and the HTML player.

No build step, no network, no eval; text reaches the page by textContent alone. All words come from Python.

The contract with Python
  document   {"schema": "hitl_lab.frames"}: see hitl_lab/schema/frames.schema.json. `viewAt(index, k)` computes the
             view of step k; its twin in Python is hitl_lab.frame_view.frame_at, and tests hold them together.
             {"schema": "hitl_lab.comparison"}: {title, panes: [{title, document}], rows: [[k or null, ...]],
             differences: [[row, text]]}.
             {"schema": "hitl_lab.table"}: {title, columns, filters, below, rows: [[[text, tone, whole text, [groups]], ...]]}.
  traits     document (bytes, UTF-8 JSON), position (int from 1; two-way), controls (list, see below).
  live       Python sends {"type": "append", "patch": {list name: {"from": i, "items": [...]}}}: each list of the
             document is cut at `from` and goes on with `items` (hitl_lab.frames.patch makes it). A view that stands
             on the last step follows. controls: [{"name", "label", "title", "disabled"}] makes a bar of buttons; a
             click sends {"type": "control", "name": name} to Python. {"type": "status", "text"} is told beside them.
  no kernel  Nothing here waits for Python: after a kernel restart the page still steps.
*/

// ---------------------------------------------------------------- twin of hitl_lab/frame_view.py

const TASKS_SHOWN = 8, WRITES_SHOWN = 40, POINTS_SHOWN = 6, ROWS_SHOWN = 40, LEDGER_SHOWN = 10, LIST_LIMIT = 60;

function bisect(list, n, key = (x) => x) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (key(list[mid]) <= n) lo = mid + 1; else hi = mid;
  }
  return lo;
}
const first = (pair) => pair[0];
const push = (map, key, item) => { const list = map.get(key); if (list) list.push(item); else map.set(key, [item]); };

export class Index {
  constructor(doc) {
    this.doc = doc;
    const lists = (of) => Array.from(of, () => []);
    this.marks = lists(doc.writes);
    this.written = []; this.writtenAt = []; this.madeAt = new Array(doc.writes.length).fill(0);
    this.bad = []; this.badAt = [];
    this.scenes = new Map();
    this.taskWrites = lists(doc.tasks); this.taskStates = lists(doc.tasks); this.nodeStates = lists(doc.nodes);
    this.heads = new Map(); this.points = new Map(); this.pointsAt = new Map(); this.pointMade = new Map(); this.pointSaved = new Map();
    this.batches = new Map(); this.channels = new Map(); this.returned = new Map(); this.reads = new Map();
    this.known = new Map(); // space -> channel values after each 8th change, filled when asked for
    this.graphNodes = lists(doc.graphs);
    doc.nodes.forEach((node, i) => this.graphNodes[node.graph].push(i));
    doc.events.forEach((event, n) => this.enter(n, event));
  }

  enter(n, event) {
    const doc = this.doc, run = doc.spaces[event.space].run;
    for (const write of event.wrote !== undefined ? [event.wrote] : event.mutated || []) {
      const entry = doc.writes[write];
      this.madeAt[write] = n;
      if (entry.task >= 0) this.taskWrites[entry.task].push(write);
      if (!entry.control) { this.written.push(write); this.writtenAt.push(n); }
    }
    for (const mark of event.marks || []) {
      this.marks[mark[0]].push([n, mark]);
      if (mark[1] === 0 && mark[3] === "drop") { this.bad.push(mark[0]); this.badAt.push(n); }
    }
    if (event.scene) push(this.scenes, event.space, [n, false, event.scene]);
    if (event.scene_add !== undefined) push(this.scenes, event.space, [n, true, event.scene_add]);
    for (const [task, state] of event.states || []) this.taskStates[task].push([n, state]);
    for (const [node, state] of event.nodes || []) this.nodeStates[node].push([n, state]);
    if (event.checkpoint !== undefined) {
      const thread = doc.checkpoints[event.checkpoint].thread;
      push(this.points, thread, event.checkpoint);
      push(this.pointsAt, thread, n);
      this.pointMade.set(event.checkpoint, n);
      push(this.heads, `${doc.spaces[doc.checkpoints[event.checkpoint].space].path}\n${thread}`, event.checkpoint);
    }
    if (event.saved !== undefined && !this.pointSaved.has(event.saved)) this.pointSaved.set(event.saved, n);
    for (const batch of event.rows || []) push(this.batches, batch.checkpoint, [n, batch]);
    if (event.load) push(this.channels, event.space, [n, "load", event.load]);
    if (event.change) push(this.channels, event.space, [n, "change", event.change]);
    if (event.returned) push(this.returned, run, n);
    if (event.read) push(this.reads, run, n);
  }
}

export function viewAt(index, k) {
  const doc = index.doc, n = doc.steps[k], since = k ? doc.steps[k - 1] + 1 : 0;
  const event = doc.events[n], space = doc.spaces[event.space], run = doc.runs[space.run];
  const [tasks, more] = tasksAt(index, event, n, since);
  const or = (value, other) => (value === undefined ? other : value);
  return {
    position: k + 1, of: doc.steps.length, events: [since + 1, n + 1], kind: event.kind, phase: event.phase, superstep: or(event.superstep, null),
    run: space.run, status: n >= run.last ? run.status : "running", path: space.path, task: or(event.task, null),
    say: or(event.say, ""), place: or(event.place, ""), tasks, more_tasks: more,
    persisted: persistedAt(index, event, run, tasks, n, since),
    channels: channelsAt(index, event, n),
    diff: or(event.diff, []), only_returned: or(event.only_returned, false),
    returned: returnedAt(index, space.run, n),
    nodes: nodesAt(index, run.graph, n),
    source: or(event.source, null),
    ledger: ledgerAt(index, n, since),
  };
}

export function droppedSteps(index) {
  const out = [];
  for (const n of index.badAt) {
    const k = bisect(index.doc.steps, n - 1);
    if (k < index.doc.steps.length && out[out.length - 1] !== k) out.push(k);
  }
  return out;
}

function last(pairs, n, other) {
  const i = bisect(pairs, n, first);
  return i ? pairs[i - 1][1] : other;
}

function cellsOf(index, write, n) {
  const found = new Map();
  for (const [at, mark] of index.marks[write]) {
    if (at > n) break;
    found.set(mark[1], mark.slice(2));
  }
  return found;
}

function tasksAt(index, event, n, since) {
  const entries = index.scenes.get(event.space) || [];
  let scene = [];
  for (let i = bisect(entries, n, first) - 1; i >= 0; i--) {
    const [, add, tasks] = entries[i];
    if (!add) { scene = [...scene, ...[...tasks].reverse()]; break; }
    scene.push(tasks);
  }
  scene.reverse();
  const current = event.task;
  if (scene.length > TASKS_SHOWN && scene.includes(current)) scene = [current, ...scene.filter((t) => t !== current)];
  return [scene.slice(0, TASKS_SHOWN).map((t) => taskAt(index, t, n, since)), Math.max(0, scene.length - TASKS_SHOWN)];
}

function taskAt(index, task, n, since) {
  const writes = index.taskWrites[task].filter((w) => index.madeAt[w] <= n);
  const told = writes.slice(-WRITES_SHOWN).map((write) => {
    const status = cellsOf(index, write, n).get(0) || ["written", ""];
    const fresh = index.madeAt[write] >= since
      || index.marks[write].some(([at, m]) => since <= at && at <= n && m[1] === 0);
    return { write, status: status[0], tone: status[1], reason: status[2] || "", new: fresh };
  });
  return { task, state: last(index.taskStates[task], n, ""), writes: told, more: Math.max(0, writes.length - WRITES_SHOWN) };
}

function persistedAt(index, event, run, tasks, n, since) {
  const points = index.points.get(run.thread) || [];
  const count = bisect(index.pointsAt.get(run.thread) || [], n);
  const doc = index.doc, absent = new Map(), heads = new Set();
  for (const task of tasks) {
    const path = doc.tasks[task.task].path;
    for (const w of task.writes) if (w.tone === "drop" && !doc.writes[w.write].control) push(absent, path, w.write);
  }
  const shown = points.slice(Math.max(0, count - POINTS_SHOWN), count).reverse();
  const place = doc.spaces[event.space].path.split("/");
  for (let depth = place.length; depth >= 0; depth--) { // the head of each graph at work, even if it is an older one
    const there = index.heads.get(`${place.slice(0, depth).join("/")}\n${run.thread}`) || [];
    const known = bisect(there, n, (p) => index.pointMade.get(p));
    if (known && !shown.includes(there[known - 1])) shown.push(there[known - 1]);
  }
  const told = shown.map((point) => {
    const entry = pointAt(index, point, n, since), path = doc.spaces[doc.checkpoints[point].space].path;
    entry.head = !heads.has(path);
    if (entry.head) { heads.add(path); entry.absent = absent.get(path) || []; }
    return entry;
  });
  return { saver: run.saver, thread: run.thread, checkpoints: told, older: count - told.length };
}

function pointAt(index, point, n, since) {
  const made = index.pointMade.get(point), saved = index.pointSaved.get(point), rows = new Map();
  for (const [at, batch] of index.batches.get(point) || []) {
    if (at > n) break;
    batch.rows.forEach(([channel, write, value], place) => {
      const special = channel.startsWith("__") && write < 0;
      const key = batch.task + " " + (special ? channel : write >= 0 ? `${channel}#${write}` : `${channel}@${place}`);
      const row = rows.get(key);
      if (!row || (special && row.value !== value))
        rows.set(key, { task: batch.task, channel, write, value, saved: batch.saver, new: at >= since });
      else if (batch.saver && !row.saved) { row.saved = true; row.new = at >= since; }
    });
  }
  const told = [...rows.values()];
  return {
    checkpoint: point, saved: saved !== undefined && saved <= n,
    new: made >= since || (saved !== undefined && since <= saved && saved <= n),
    values: valuesAt(index, index.doc.checkpoints[point].space, made),
    rows: told.slice(-ROWS_SHOWN), more: Math.max(0, told.length - ROWS_SHOWN), absent: [],
  };
}

export function apply(before, delta) {
  if ("set" in delta) return delta.set;
  const items = Array.isArray(before) ? [...before] : [];
  let gap = items.findIndex((v) => v < 0);
  const missing = gap >= 0 ? -items[gap] - 1 : 0;
  for (const [key, value] of Object.entries(delta.items || {})) {
    const i = Number(key);
    if (gap >= 0 && gap <= i && i <= gap + missing) continue;
    const at = gap < 0 || i < gap ? i : i - missing;
    if (at >= 0 && at < items.length) items[at] = value;
  }
  items.push(...(delta.append || []));
  if (items.length <= LIST_LIMIT + 1) return items;
  gap = items.findIndex((v) => v < 0);
  const half = LIST_LIMIT / 2, inner = items.length - 2 * half;
  const n = half <= gap && gap < items.length - half ? inner - 1 - items[gap] : inner;
  return [...items.slice(0, half), -n, ...items.slice(items.length - half)];
}

const KEEP_EVERY = 8;

function valuesAt(index, space, n) {
  const entries = index.channels.get(space) || [], count = bisect(entries, n, first);
  let known = index.known.get(space);
  if (!known) index.known.set(space, (known = new Map()));
  let start = count, out = {};
  for (; start > 0; start--) {
    if (known.has(start)) { out = { ...known.get(start) }; break; }
    if (entries[start - 1][1] === "load") { out = { ...entries[start - 1][2] }; break; }
  }
  for (let i = start; i < count; i++) {
    for (const [channel, delta] of Object.entries(entries[i][2])) out[channel] = apply(out[channel], delta);
    if ((i + 1) % KEEP_EVERY === 0) known.set(i + 1, { ...out });
  }
  return out;
}

function channelsAt(index, event, n) {
  const changed = event.change || {};
  return Object.entries(valuesAt(index, event.space, n))
    .map(([name, value]) => ({ name, value, changed: Object.hasOwn(changed, name) }));
}

function returnedAt(index, run, n) {
  const at = (list) => { const i = bisect(list || [], n); return i ? list[i - 1] : null; };
  const given = at(index.returned.get(run)), read = at(index.reads.get(run));
  if (given === null && read === null) return null;
  const events = index.doc.events;
  return { returned: given === null ? null : events[given].returned, read: read === null ? null : events[read].read };
}

function nodesAt(index, graph, n) {
  const drawn = new Set(index.doc.graphs[graph].nodes);
  return index.graphNodes[graph]
    .filter((i) => drawn.has(index.doc.nodes[i].key) || (index.nodeStates[i].length && index.nodeStates[i][0][0] <= n))
    .map((i) => [i, last(index.nodeStates[i], n, "idle")]);
}

function ledgerAt(index, n, since) {
  const count = bisect(index.writtenAt, n), doc = index.doc;
  const shown = new Set(index.written.slice(Math.max(0, count - LEDGER_SHOWN), count));
  for (const w of index.bad.slice(0, bisect(index.badAt, n)).slice(-LEDGER_SHOWN)) if (!doc.writes[w].control) shown.add(w);
  const rows = [...shown].sort((a, b) => a - b).map((write) => {
    const cells = cellsOf(index, write, n);
    return {
      write,
      cells: Array.from({ length: doc.columns.length + 1 }, (_, c) => (cells.get(c) || ["", ""]).slice(0, 2)),
      new: index.marks[write].some(([at]) => since <= at && at <= n),
    };
  });
  return { rows, more: Math.max(0, count - rows.length) };
}

// ---------------------------------------------------------------- making elements

const SVG = "http://www.w3.org/2000/svg";
let serial = 0;

function make(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  // Else JupyterLab takes the keys of whoever clicked it: "x" cuts the cell. It looks at the element with the focus first.
  if (FOCUSABLE.has(tag) || node.hasAttribute("tabindex")) node.dataset.lmSuppressShortcuts = "true";
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return node;
}

const FOCUSABLE = new Set(["button", "input", "select", "summary"]);

function svg(tag, props, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props || {})) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** Text with `code` in backticks, as Python's sentences have it. */
function words(text) {
  return text.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part)).filter((p) => p !== "");
}

/** 594, 596–600. */
function ranges(numbers) {
  const out = [];
  for (const n of numbers) {
    const end = out[out.length - 1];
    if (end && end[1] === n - 1) end[1] = n; else out.push([n, n]);
  }
  return out.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ");
}

const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard API on some pages and without permission: the old way still works there.
    const area = make("textarea", { class: "hl-offscreen", "aria-hidden": "true" });
    area.value = text;
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.classList.add("hl-copied");
  button.dataset.said = "copied";
  setTimeout(() => { button.classList.remove("hl-copied"); delete button.dataset.said; }, 1200);
}

function copyButton(text, what) {
  const button = make("button", { class: "hl-copy", type: "button", "aria-label": `copy ${what}`, title: `copy ${what}` });
  button.append(svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: "M5.5 5.5h7a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1zM11 5V3.5a1 1 0 0 0-1-1H3.5a1 1 0 0 0-1 1V10a1 1 0 0 0 1 1H4" })));
  button.addEventListener("click", (e) => { e.stopPropagation(); copy(text, button); });
  return button;
}

const STATES = {
  idle: "○", planned: "◌", running: "▶", "re-running": "↻", paused: "‖", finished: "✓", skipped: "⇥", failed: "✕", cancelled: "⊘",
};
const TONES = { keep: "✓ ", drop: "✕ ", wait: "… ", ghost: "◊ " };
const PHASES = ["tick", "execute", "commit", "after_tick"];

// ---------------------------------------------------------------- one pane: everything that a step shows

class Pane {
  constructor(doc, { compact = false, title = null } = {}) {
    this.compact = compact;
    this.id = `hl${++serial}`;
    this.opened = new Set();
    this.title = title;
    const section = (name, heading) => {
      const id = `${this.id}-${name}`;
      this[`${name}Head`] = make(compact ? "h4" : "h3", { id, class: "hl-h" }, heading);
      this[name] = make("div", { class: "hl-body" });
      // In a comparison each name stands several times, so there they are groups, not landmarks.
      return make(compact ? "div" : "section", { class: `hl-sec hl-${name}`, "aria-labelledby": id, role: compact && "group" }, this[`${name}Head`], this[name]);
    };
    this.sub = make("p", { class: "hl-sub" });
    this.ribbon = make("ol", { class: "hl-ribbon", "aria-label": "phases of a superstep" });
    this.where = make("p", { class: "hl-where" });
    this.say = make("p", { class: "hl-say", "aria-live": "polite", "aria-atomic": "true" });
    this.place = make("p", { class: "hl-place" });
    this.graphBox = section("graph", "Graph");
    this.writesBox = section("writes", "In memory · task.writes");
    this.savedBox = section("saved", "Persisted");
    this.changedBox = section("changed", "Channels");
    this.returnedBox = section("returned", "Returned against saved");
    this.sourceBox = section("source", "Installed source");
    this.ledgerBox = section("ledger", "Ledger so far · where each write got to");
    this.el = make("div", { class: `hl-pane${compact ? " hl-compact" : ""}`, role: "group", "aria-label": title || doc.title },
      title && make("h3", { class: "hl-panetitle" }, title), compact && this.sub,
      make("div", { class: "hl-ribbonrow" }, this.ribbon, this.where),
      make("div", { class: "hl-sayrow" }, this.say, this.place),
      make("div", { class: "hl-cols" }, this.graphBox, this.writesBox, this.savedBox),
      this.changedBox, this.returnedBox, this.sourceBox, this.ledgerBox);
    this.setDocument(doc);
  }

  setDocument(doc) {
    this.doc = doc;
    this.index = new Index(doc);
    this.drawn = null;
    this.sourceShown = null;
  }

  /** Show step k, from 0; null: nothing here at this place of a comparison. */
  show(k, { differs = false, waits = false } = {}) {
    this.el.classList.toggle("hl-absent", waits);
    if (k === null || !this.doc.steps.length) {
      this.ribbon.replaceChildren();
      for (const part of [this.where, this.place, this.graph, this.writes, this.saved]) part.replaceChildren();
      this.say.replaceChildren(k === null ? "Not begun." : "Nothing is recorded yet.");
      this.sourceShown = null;
      for (const box of [this.changedBox, this.returnedBox, this.sourceBox, this.ledgerBox]) box.hidden = true;
      return;
    }
    const view = (this.view = viewAt(this.index, k));
    const run = this.doc.runs[view.run];
    this.sub.replaceChildren(...this.runWords(run, view));
    this.showRibbon(view, run);
    const say = words(view.say);
    this.say.replaceChildren(...say);
    this.say.classList.toggle("hl-bad", view.tasks.some((t) => t.writes.some((w) => w.new && w.tone === "drop")));
    const [from, to] = view.events;
    this.place.textContent = [from === to ? `event ${to}` : `events ${from}–${to}`, view.place].filter(Boolean).join(" · ");
    this.showGraph(view, run);
    this.showWrites(view, run);
    this.showSaved(view, run);
    this.showChanged(view);
    this.showReturned(view, run);
    this.showSource(view);
    this.showLedger(view);
    if (waits) this.say.prepend(make("span", { class: "hl-tag" }, "no such step here: waits at"), " ");
    else if (differs) this.say.prepend(make("span", { class: "hl-tag hl-differs" }, "≠ differs"), " ");
  }

  runWords(run, view) {
    const number = run.label.replace(/ (\d+)$/, ` $1 of ${run.of}`);
    const status = view.status === "running" ? "" : view.status;
    return [make("b", {}, number), ...[run.name, run.thread, run.durability && `durability=${run.durability}`, status]
      .filter(Boolean).map((t) => ` · ${t}`)];
  }

  showRibbon(view, run) {
    const at = PHASES.indexOf(view.phase);
    const names = run.update ? ["update_state"] : ["input", ...PHASES, "exit"];
    const phase = run.update ? "update_state" : view.phase;
    this.ribbon.replaceChildren(...names.map((name) => {
      const end = name === "input" || name === "exit", on = name === phase;
      const done = at >= 0 && PHASES.indexOf(name) >= 0 && PHASES.indexOf(name) < at;
      return make("li", { class: `hl-ph${on ? " hl-on" : ""}${done ? " hl-done" : ""}${end ? " hl-end" : ""}`, "aria-current": on && "step" },
        { input: "start", exit: "end of run" }[name] || name);
    }));
    const task = view.task === null ? null : this.doc.tasks[view.task];
    const parts = [];
    if (view.superstep !== null) parts.push(`superstep ${view.superstep}`);
    if (view.path) parts.push(`in ${view.path}`);
    if (task && task.node) parts.push(`task ${[task.name, task.node].filter(Boolean).join(" ")}`);
    this.where.textContent = parts.join(" · ");
  }

  // ---- graph

  showGraph(view, run) {
    const graph = this.doc.graphs[run.graph];
    this.graphHead.textContent = graph.name && graph.name !== "LangGraph" ? `Graph · ${graph.name}` : "Graph";
    const states = new Map(view.nodes.map(([i, state]) => [this.doc.nodes[i].key, state]));
    if (this.drawn !== run.graph) { this.draw(graph); this.drawn = run.graph; }
    const said = [];
    for (const [key, state] of states) {
      said.push(`${key.replaceAll(":", "/")} ${state}`);
      const shape = this.shapes.get(key);
      if (!shape) continue;
      shape.box.setAttribute("class", `${shape.kind} hl-st-${state}`);
      shape.text.textContent = state === "idle" ? "" : `${STATES[state] || ""} ${state}`;
    }
    if (this.picture) this.picture.setAttribute("aria-label", `graph: ${said.join(", ")}`);
    const rest = [...states].filter(([key]) => !this.shapes.has(key));
    this.chips.replaceChildren(...rest.map(([key, state]) =>
      make("li", { class: `hl-node hl-st-${state}` }, make("span", {}, key.replaceAll(":", "/")), make("span", { class: "hl-state" }, `${STATES[state] || ""} ${state}`))));
    this.chips.hidden = !rest.length;
  }

  draw(graph) {
    this.shapes = new Map();
    this.picture = null;
    this.chips = make("ul", { class: "hl-nodes" });
    this.graph.replaceChildren(this.chips);
    const layout = graph.layout;
    if (!layout) {
      if (graph.hint) this.graph.append(make("p", { class: "hl-note" }, graph.hint));
      return;
    }
    const picture = svg("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, role: "img", class: "hl-svg" });
    picture.setAttribute("width", layout.width);
    picture.setAttribute("height", layout.height);
    for (const box of layout.clusters) {
      const state = svg("text", { x: box.x + box.w - 8, y: box.y + 15, class: "hl-state", "text-anchor": "end" });
      const g = svg("g", { class: "hl-cluster hl-st-idle" },
        svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 10 }),
        svg("text", { x: box.x + 9, y: box.y + 15, class: "hl-label" }, box.label), state);
      picture.append(g);
      this.shapes.set(box.key, { box: g, text: state, kind: "hl-cluster" });
    }
    for (const edge of layout.edges) {
      const g = svg("g", { class: `hl-edge${edge.dashed ? " hl-dashed" : ""}` }, svg("path", { d: edge.path }));
      if (edge.arrow) g.append(svg("path", { d: edge.arrow, class: "hl-arrow" }));
      if (edge.label) g.append(svg("text", { x: edge.lx, y: edge.ly, "text-anchor": "middle" }, edge.label));
      picture.append(g);
    }
    for (const node of layout.nodes) {
      const end = node.key === "__start__" || node.key === "__end__" || node.label.startsWith("__");
      const state = svg("text", { x: node.x, y: node.y + 9, class: "hl-state", "text-anchor": "middle" });
      const kind = `hl-box${end ? " hl-terminal" : ""}`;
      const g = svg("g", { class: `${kind} hl-st-idle` },
        svg("rect", { x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h, rx: end ? node.h / 2 : 8 }),
        svg("text", { x: node.x, y: node.y - 7, class: "hl-label", "text-anchor": "middle" }, node.label), state);
      picture.append(g);
      this.shapes.set(node.key, { box: g, text: state, kind });
    }
    this.picture = picture;
    this.graph.prepend(picture);
  }

  // ---- values

  /** A value by its number: short ones as they are, long ones fold open. */
  value(number, key, what) {
    if (number < 0) return make("span", { class: "hl-none" }, "not there");
    const [short, full] = this.doc.values[number];
    if (full === undefined) return make("code", { class: "hl-v" }, short);
    const box = make("details", { class: "hl-long" });
    box.append(make("summary", {}, make("code", { class: "hl-v" }, short)));
    const fill = () => {
      if (box.childElementCount === 1)
        box.append(make("div", { class: "hl-full" }, copyButton(full, what), make("pre", { class: "hl-v", tabindex: 0, "aria-label": what }, full)));
    };
    if (this.opened.has(key)) { fill(); box.open = true; }
    box.addEventListener("toggle", () => { if (box.open) { fill(); this.opened.add(key); } else this.opened.delete(key); });
    return box;
  }

  fullText(number) {
    const entry = this.doc.values[number];
    return entry[entry.length - 1];
  }

  channelValue(value, key, what) {
    if (!Array.isArray(value)) return this.value(value, key, what);
    if (!value.length) return make("code", { class: "hl-v" }, "[]");
    const some = value.length > 6 ? [...value.slice(0, 2), value.length - 5, ...value.slice(-3)] : value;
    let at = 0;
    return make("ol", { class: "hl-items" }, ...some.map((v, i) => {
      const folded = value.length > 6 && i === 2;
      if (folded || v < 0) {
        const n = folded ? value.slice(2, -3).reduce((sum, x) => sum + (x < 0 ? -x : 1), 0) : -v;
        at += n;
        return make("li", { class: "hl-more" }, `… ${n} more`);
      }
      const number = at++;
      return make("li", {}, make("span", { class: "hl-at" }, `[${number}]`), this.value(v, `${key}.${number}`, `${what}[${number}]`));
    }));
  }

  tag(text, tone, title) {
    return make("span", { class: `hl-tag${tone ? ` hl-${tone}` : ""}`, title }, (TONES[tone] || "") + text);
  }

  // ---- task.writes

  showWrites(view, run) {
    this.writesHead.textContent = run.update ? `In memory · writes of ${run.name}` : "In memory · task.writes";
    const parts = view.tasks.map((task) => this.taskCard(task, view));
    if (view.more_tasks) parts.push(make("p", { class: "hl-note" }, `… ${plural(view.more_tasks, "more task")} in this superstep`));
    if (!parts.length) parts.push(make("p", { class: "hl-empty" }, view.kind === "tick" ? "tick found no task." : "No task now."));
    this.writes.replaceChildren(...parts);
  }

  taskCard(task, view) {
    const known = this.doc.tasks[task.task];
    const name = known.path && known.name ? `${known.path}/${known.node}` : known.node;
    const head = make("div", { class: "hl-taskhead" },
      known.name && make("span", { class: "hl-id" }, known.name),
      make("span", { class: "hl-node-name" }, name || "null task"),
      task.state && make("span", { class: `hl-taskstate hl-st-${task.state}` }, `${STATES[task.state] || ""} ${task.state}`));
    const list = make("ul", { class: "hl-list" }, ...task.writes.map((w) => this.writeCard(w)));
    const empty = !task.writes.length && make("p", { class: "hl-empty" }, "task.writes is empty");
    return make("div", { class: `hl-task${view.task === task.task ? " hl-atwork" : ""}${known.hidden ? " hl-hidden" : ""}` },
      head, task.writes.length ? list : empty, task.more ? make("p", { class: "hl-note" }, `… ${task.more} earlier`) : null);
  }

  writeCard(w) {
    const entry = this.doc.writes[w.write];
    const struck = w.tone === "drop";
    const what = `${entry.name ? `${entry.name} ` : ""}${entry.channel}`;
    const via = entry.via === "return" || entry.control ? null : make("span", { class: "hl-via" }, `by ${entry.via}`);
    const value = entry.value === undefined ? null : this.value(entry.value, `w${w.write}`, what);
    return make("li", { class: `hl-w${w.tone ? ` hl-${w.tone}` : ""}${w.new ? " hl-new" : ""}${entry.control ? " hl-control" : ""}`, "data-write": entry.name || null },
      make("div", { class: "hl-wline" },
        entry.name && make("span", { class: "hl-id" }, entry.name),
        make(struck ? "s" : "span", { class: "hl-ch" }, entry.channel), via,
        this.tag(w.status, w.tone),
        entry.value !== undefined && !entry.control && copyButton(this.fullText(entry.value), what)),
      value && !(entry.control && this.doc.values[entry.value][0] === "None") && make(struck ? "s" : "div", { class: "hl-wval" }, value),
      w.reason && make("p", { class: "hl-reason" }, w.reason));
  }

  // ---- persisted

  showSaved(view, run) {
    const p = view.persisted;
    this.savedHead.textContent = `Persisted · ${p.saver || "no checkpointer"}`;
    if (!p.saver) {
      this.saved.replaceChildren(make("p", { class: "hl-empty" }, "No checkpointer: nothing is persisted, nothing can be resumed."));
      return;
    }
    const parts = p.checkpoints.map((point) => this.pointCard(point));
    if (!parts.length) parts.push(make("p", { class: "hl-empty" }, "Nothing is stored yet."));
    if (p.older) parts.push(make("p", { class: "hl-note" }, `… ${plural(p.older, "older checkpoint")}`));
    this.saved.replaceChildren(...parts);
  }

  pointCard(point) {
    const cp = this.doc.checkpoints[point.checkpoint], space = this.doc.spaces[cp.space];
    const about = [space.path && `in ${space.path}`, cp.superstep !== undefined && cp.superstep !== null && `superstep ${cp.superstep}`, cp.source].filter(Boolean).join(" · ");
    const line = make("div", { class: "hl-cphead" }, make("span", { class: "hl-id" }, cp.name), make("span", { class: "hl-about" }, about),
      point.saved ? this.tag(point.new ? "stored now" : "stored", "keep") : this.tag("in memory only", "wait"));
    const values = Object.entries(point.values).map(([name, value]) => make("div", { class: "hl-cpv" }, make("span", { class: "hl-ch" }, name), this.summary(value, `c${point.checkpoint}${name}`, `${name} in ${cp.name}`)));
    const rows = point.rows.map((row) => this.rowCard(row, cp));
    const gone = point.absent.map((w) => {
      const entry = this.doc.writes[w];
      return make("li", { class: "hl-row hl-gone" }, make("span", { class: "hl-id" }, entry.name), make("s", { class: "hl-ch" }, entry.channel), make("span", { class: "hl-tag hl-drop" }, "✕ not here"));
    });
    const stored = rows.length ? make("ul", { class: "hl-list hl-rows", "aria-label": `pending writes of ${cp.name}` }, ...rows, ...gone) : gone.length ? make("ul", { class: "hl-list hl-rows", "aria-label": `not stored at ${cp.name}` }, ...gone) : null;
    if (point.head) return make("div", { class: `hl-cp hl-headcp${point.new ? " hl-new" : ""}`, "data-checkpoint": cp.name }, line, ...values, stored);
    const key = `cp${point.checkpoint}`;
    const fresh = point.new || point.rows.some((r) => r.new);
    const box = make("details", { class: `hl-cp${fresh ? " hl-new" : ""}`, "data-checkpoint": cp.name }, make("summary", {}, line, rows.length ? make("span", { class: "hl-count" }, this.countWords(point)) : null), ...values, stored);
    box.open = this.opened.has(key) || fresh;
    box.addEventListener("toggle", () => (box.open ? this.opened.add(key) : this.opened.delete(key)));
    return box;
  }

  countWords(point) {
    const n = this.doc.steps[this.view.position - 1];
    const applied = point.rows.every((r) => r.write >= 0 && (cellsOf(this.index, r.write, n).get(0) || [])[0] === "applied");
    return applied ? `${plural(point.rows.length, "write")}, since applied` : `${plural(point.rows.length, "pending write")}, left behind`;
  }

  rowCard(row, cp) {
    const entry = row.write >= 0 ? this.doc.writes[row.write] : null;
    const task = row.task >= 0 ? this.doc.tasks[row.task] : null;
    const number = entry ? entry.value : row.value;
    const what = `${row.channel} at ${cp.name}`;
    const plain = entry && entry.control && this.doc.values[number][0] === "None";
    return make("li", { class: `hl-row${row.saved ? "" : " hl-wait"}${row.new ? " hl-new" : ""}${entry && entry.control ? " hl-control" : ""}`, "data-row": row.channel },
      make("div", { class: "hl-wline" },
        entry && entry.name && make("span", { class: "hl-id" }, entry.name), make("span", { class: "hl-ch" }, row.channel),
        make("span", { class: "hl-via" }, task ? `pending write of ${[task.name, task.node].filter(Boolean).join(" ")}` : "pending write of no task"),
        row.saved ? this.tag(row.new ? "stored now" : "stored", "keep") : this.tag("in memory only", "wait")),
      number >= 0 && !plain && make("div", { class: "hl-wval" }, this.value(number, `r${cp.name}${row.channel}${row.write}`, what)));
  }

  /** A channel value in one line: of a list its size and its last item. */
  summary(value, key, what) {
    if (!Array.isArray(value)) return this.value(value, key, what);
    if (!value.length) return make("code", { class: "hl-v" }, "[]");
    const n = value.reduce((sum, v) => sum + (v < 0 ? -v : 1), 0);
    return make("span", { class: "hl-sum" }, n > 1 ? make("span", { class: "hl-via" }, `${n} items, last `) : null, this.value(value[value.length - 1], key, what));
  }

  // ---- channels: what changed, and what they hold

  showChanged(view) {
    this.changedBox.hidden = !view.channels.length && !view.diff.length;
    if (this.changedBox.hidden) { this.changed.replaceChildren(); return; }
    this.changedHead.textContent = view.only_returned ? "Channels · shown in the return only" : `Channels${view.path ? ` · ${view.path}` : ""}`;
    const lines = view.diff.map(([path, before, after], i) => make("li", {},
      make("span", { class: "hl-path" }, path),
      before >= 0 && make("div", { class: "hl-minus" }, make("span", { class: "hl-sign" }, "− before "), this.value(before, `d${view.position}-${i}`, `${path} before`)),
      after >= 0 ? make("div", { class: view.only_returned ? "hl-plus hl-ghostline" : "hl-plus" }, make("span", { class: "hl-sign" }, view.only_returned ? "◊ returned only " : "+ after "), this.value(after, `e${view.position}-${i}`, `${path} after`))
        : make("div", { class: "hl-minus" }, make("span", { class: "hl-sign" }, "− gone"))));
    const left = make("div", { class: "hl-half" }, make("h4", { class: "hl-h2" }, "Changed by this step"),
      lines.length ? make("ul", { class: "hl-list hl-diff" }, ...lines) : make("p", { class: "hl-empty" }, "no channel"));
    const right = make("div", { class: "hl-half" }, make("h4", { class: "hl-h2" }, "Values now"),
      view.channels.length ? make("dl", { class: "hl-chan" }, ...view.channels.flatMap((c) => [
        make("dt", {}, make("span", { class: "hl-ch" }, c.name), c.changed && make("span", { class: "hl-tag hl-hot" }, "changed")),
        make("dd", {}, this.channelValue(c.value, `ch${c.name}`, c.name))])) : make("p", { class: "hl-empty" }, "nothing yet"));
    this.changed.replaceChildren(make("div", { class: "hl-two" }, right, left));
  }

  // ---- returned against saved

  showReturned(view) {
    const r = view.returned;
    this.returnedBox.hidden = !r || !r.returned;
    if (this.returnedBox.hidden) { this.returned.replaceChildren(); return; }
    const call = r.returned.call;
    this.returnedHead.textContent = `${call} returned · get_state() reads (live view)`;
    if (!r.read || !r.read.lines) {
      const rows = Object.entries(r.returned.values).flatMap(([name, value]) => [make("dt", {}, make("span", { class: "hl-ch" }, name)), make("dd", {}, this.channelValue(value, `ret${name}`, name))]);
      this.returned.replaceChildren(make("dl", { class: "hl-chan" }, ...rows));
      return;
    }
    const differing = new Set(r.read.lines.map(([path]) => path.split(/[.[]/, 1)[0]));
    const rows = r.read.lines.map(([path, given, read], i) => {
      const phantom = r.read.phantom.includes(path.split(/[.[]/, 1)[0]);
      return make("tr", { class: "hl-differ" }, make("th", { scope: "row" }, path),
        make("td", { class: phantom && given >= 0 ? "hl-ghostcell" : "" }, this.value(given, `x${i}`, `${path} returned`), phantom && given >= 0 && make("span", { class: "hl-tag hl-ghost" }, "◊ phantom: in no checkpoint")),
        make("td", {}, this.value(read, `y${i}`, `${path} saved`)));
    });
    const same = Object.entries(r.read.values).filter(([name]) => !differing.has(name));
    for (const [name, value] of same)
      rows.push(make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, "the same"), make("td", {}, this.summary(value, `z${name}`, name))));
    if (!rows.length) rows.push(make("tr", {}, make("td", { colspan: 3 }, "Both are empty.")));
    this.returned.replaceChildren(scroller(make("table", { class: "hl-table" },
      make("thead", {}, make("tr", {}, ...["where", `${call} returned`, "get_state() reads (live view)"].map((t) => make("th", { scope: "col" }, t)))),
      make("tbody", {}, ...rows)), "returned against saved", this.title));
  }

  // ---- source

  showSource(view) {
    const source = view.source === null ? null : this.doc.sources[view.source];
    this.sourceBox.hidden = !this.doc.sources.length;
    if (this.sourceBox.hidden) { this.sourceShown = null; this.source.replaceChildren(); return; }
    if (!source) {
      this.sourceShown = null;
      this.sourceHead.textContent = "Installed source";
      this.source.replaceChildren(make("p", { class: "hl-empty" }, "No function of LangGraph to show for this step."));
      return;
    }
    if (this.sourceShown === source) return; // most steps go on in the same function, and scrolling costs a layout
    this.sourceShown = source;
    this.sourceHead.replaceChildren("Installed source · ", make("code", {}, source.function));
    const marked = new Set(source.deciding);
    let previous = null;
    const lines = source.lines.flatMap(([number, text]) => {
      const gap = previous !== null && number !== previous + 1;
      previous = number;
      const line = make("span", { class: `hl-line${marked.has(number) ? " hl-hit" : ""}` },
        make("span", { class: "hl-no" }, `${marked.has(number) ? "▸" : " "}${String(number).padStart(5)} `), text + "\n");
      return gap ? [make("span", { class: "hl-line hl-gap" }, "      ⋮\n"), line] : [line];
    });
    const about = `langgraph ${this.doc.facts.langgraph || ""} · ${source.file}${marked.size ? ` · ▸ ${source.label}: ${ranges(source.deciding)}` : ""}`;
    const code = make("pre", { class: "hl-code", tabindex: 0, role: "region", "aria-label": `source of ${source.function}` }, ...lines);
    this.source.replaceChildren(make("p", { class: "hl-file" }, about), code);
    const hit = code.querySelector(".hl-hit");
    // In the next frame: reading a position here would lay the page out once more in each step.
    if (hit) requestAnimationFrame(() => { code.scrollTop = Math.max(0, hit.offsetTop - code.offsetTop - 66); });
  }

  // ---- ledger

  showLedger(view) {
    this.ledgerBox.hidden = !view.ledger.rows.length;
    if (this.ledgerBox.hidden) { this.ledger.replaceChildren(); return; }
    const rows = view.ledger.rows.map((row) => {
      const entry = this.doc.writes[row.write], task = entry.task >= 0 ? this.doc.tasks[entry.task] : null;
      const node = task ? (task.path ? `${task.path}/${task.node}` : task.node) : "";
      const [fate, ...cells] = row.cells;
      return make("tr", { class: `${row.new ? "hl-new" : ""}${fate[1] === "drop" ? " hl-dropped" : ""}`, "data-write": entry.name },
        make("th", { scope: "row" }, make("span", { class: "hl-id" }, entry.name), ` ${node || entry.via} → `, make("span", { class: "hl-ch" }, entry.channel)),
        make("td", {}, this.tag(fate[0], fate[1])),
        ...cells.map(([text, tone]) => make("td", { class: tone ? `hl-t-${tone}` : "" }, text || "·")));
    });
    const head = ["write", "fate", ...this.doc.columns].map((t) => make("th", { scope: "col" }, t));
    this.ledger.replaceChildren(scroller(make("table", { class: "hl-table" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)), "ledger so far", this.title),
      view.ledger.more ? make("p", { class: "hl-note" }, `… ${plural(view.ledger.more, "earlier write")} not shown here: see trace.ledger`) : "");
  }
}

function scroller(child, label, of = null) {
  return make("div", { class: "hl-scroll", tabindex: 0, role: "region", "aria-label": of ? `${label}: ${of}` : label }, child);
}

// ---------------------------------------------------------------- the player: navigation over one pane or several

const ICONS = { first: "M4 3v10M13 3l-7 5 7 5z", prev: "M12 3l-7 5 7 5z", next: "M4 3l7 5-7 5z", last: "M12 3v10M3 3l7 5-7 5z", play: "M4 3l9 5-9 5z", pause: "M5 3v10M11 3v10" };

function iconButton(name, label, onclick) {
  const button = make("button", { type: "button", class: `hl-btn hl-${name}`, "aria-label": label, title: label, onclick });
  setIcon(button, name);
  return button;
}

function setIcon(button, name) {
  button.replaceChildren(svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, svg("path", { d: ICONS[name] })));
}

export class Player {
  /** root: an empty element. doc: a frames or comparison document. position: from 1. */
  constructor(root, doc, { position = 1, onposition = () => {}, oncontrol = () => {} } = {}) {
    this.root = root;
    this.onposition = onposition;
    this.oncontrol = oncontrol;
    this.timer = null;
    this.position = position;
    root.classList.add("hitl", "hl-player");
    root.setAttribute("role", "group");
    root.tabIndex = 0;
    // Else JupyterLab takes the arrow keys, and "d" twice deletes the cell.
    root.dataset.lmSuppressShortcuts = "true";
    this.build(doc);
    root.addEventListener("keydown", (e) => this.key(e));
    this.go(position, false);
  }

  build(doc) {
    this.doc = doc;
    const several = doc.schema === "hitl_lab.comparison";
    this.panes = several ? doc.panes.map((p) => new Pane(p.document, { compact: true, title: p.title })) : [new Pane(doc)];
    this.root.setAttribute("aria-label", several ? `comparison: ${doc.title}` : `stepper: ${doc.title}`);
    const go = (to) => () => { this.stop(); this.go(to()); };
    this.where = make("span", { class: "hl-pos" });
    this.playButton = iconButton("play", "play", () => (this.timer ? this.stop() : this.play()));
    this.pace = make("select", { class: "hl-pace", "aria-label": "pace of play" }, ...[["0.5", "0.5 s"], ["1", "1 s a step"], ["2", "2 s a step"], ["4", "4 s a step"]].map(([v, t]) => make("option", { value: v, selected: v === "1" }, t)));
    this.jump = make("button", { type: "button", class: "hl-btn hl-jump", title: "key d", onclick: () => this.next() });
    this.buttons = [
      iconButton("first", "first step", go(() => 1)), iconButton("prev", "previous step", go(() => this.position - 1)),
      iconButton("next", "next step", go(() => this.position + 1)), iconButton("last", "last step", go(() => this.size)),
    ];
    const [b0, b1, b2, b3] = this.buttons;
    const title = make("h2", { class: "hl-title" }, doc.title);
    this.sub = several ? make("p", { class: "hl-sub" }) : this.panes[0].sub;
    this.slider = make("input", { type: "range", class: "hl-slider", min: 1, step: 1, "aria-label": "step" });
    this.slider.addEventListener("input", () => { this.stop(); this.go(Number(this.slider.value)); });
    this.track = make("div", { class: "hl-track", "aria-hidden": "true" });
    this.parts = make("div", { class: "hl-parts" });
    this.controls = make("div", { class: "hl-controls", role: "toolbar", "aria-label": "live run", hidden: true });
    this.status = make("span", { class: "hl-status", role: "status" });
    this.difference = make("p", { class: "hl-difference", "aria-live": "polite" });
    this.root.replaceChildren(
      make("div", { class: "hl-top" }, make("div", { class: "hl-names" }, title, this.sub),
        make("div", { class: "hl-nav", role: "toolbar", "aria-label": "steps" }, b0, b1, this.where, b2, b3, this.playButton, this.pace, this.jump)),
      make("div", { class: "hl-time" }, make("div", { class: "hl-slide" }, this.track, this.slider), this.parts),
      this.controls,
      ...(several ? [this.difference] : []),
      make("div", { class: several ? "hl-panes" : "hl-single" }, ...this.panes.map((p) => p.el)));
    this.arrange();
  }

  /** What depends on the document's length; again after an append. */
  arrange() {
    const doc = this.doc, several = doc.schema === "hitl_lab.comparison";
    if (several) {
      // A pane without a step of its own at a place waits at its last one.
      const reached = doc.panes.map(() => null);
      this.rows = doc.rows.map((row) => row.map((k, i) => {
        if (k !== null) reached[i] = k;
        return { k: reached[i], waits: k === null };
      }));
      this.stops = doc.differences.map(([row]) => row);
      this.jump.textContent = "next difference";
    } else {
      this.rows = null;
      this.stops = droppedSteps(this.panes[0].index);
      this.jump.textContent = "next dropped write";
    }
    this.size = several ? doc.rows.length : doc.steps.length;
    this.jump.disabled = !this.stops.length;
    this.slider.max = Math.max(1, this.size);
    this.slider.disabled = this.size < 2;
    const at = (k) => (this.size > 1 ? (100 * k) / (this.size - 1) : 0);
    // At most 400 ticks: more are not to be told apart, and each is an element.
    const every = Math.max(1, Math.ceil(this.stops.length / 400));
    this.track.replaceChildren(...this.stops.filter((_, i) => i % every === 0).map((k) => {
      const tick = make("i", { class: "hl-tick" });
      tick.style.setProperty("--at", at(k) / 100);
      return tick;
    }));
    this.parts.replaceChildren(...(several ? [] : this.runParts(doc)));
    this.parts.hidden = several;
  }

  runParts(doc) {
    if (doc.runs.length > 60) return [make("span", { class: "hl-note" }, plural(doc.runs.length, "run"))];
    return doc.runs.map((run, i) => {
      const k = bisect(doc.steps, run.first - 1);
      const text = run.update ? run.name : `${run.label} · ${run.name}`;
      const button = make("button", { type: "button", class: "hl-part", onclick: () => { this.stop(); this.go(k + 1); } }, text, make("span", { class: "hl-end" }, ` ${run.status}`));
      const end = i + 1 < doc.runs.length ? bisect(doc.steps, doc.runs[i + 1].first - 1) : this.size;
      button.style.flexGrow = Math.max(1, end - k);
      return button;
    });
  }

  go(position, tell = true) {
    const next = Math.min(Math.max(1, Math.round(position) || 1), Math.max(1, this.size));
    this.position = next;
    const k = next - 1;
    if (this.rows) {
      const row = this.rows[k] || [];
      const found = this.doc.differences.find(([r]) => r === k);
      this.panes.forEach((pane, i) => pane.show(row[i] ? row[i].k : null, { differs: found && found[2].includes(i), waits: !row[i] || row[i].waits }));
      this.difference.replaceChildren(...(found ? [make("span", { class: "hl-tag hl-differs" }, `difference ${this.stops.indexOf(k) + 1} of ${this.stops.length}`), " ", ...words(found[1])] : [make("span", { class: "hl-note" }, row.some((r) => r.waits) ? "A step that not all have." : "The same in all.")]));
    } else this.panes[0].show(this.size ? k : 0);
    this.where.textContent = `${this.size ? next : 0} of ${this.size}`;
    this.slider.value = next;
    this.slider.setAttribute("aria-valuetext", `step ${next} of ${this.size}`);
    // Not `disabled`: a button that is switched off while it has the focus swallows the keys.
    this.buttons.forEach((button, i) => button.setAttribute("aria-disabled", i < 2 ? next <= 1 : next >= this.size));
    if (!this.rows) {
      const run = this.panes[0].view ? this.panes[0].view.run : 0;
      [...this.parts.children].forEach((part, i) => part.setAttribute("aria-current", i === run ? "true" : "false"));
    }
    if (tell) this.onposition(next);
  }

  next() {
    this.stop();
    const k = this.position - 1;
    const to = this.stops.find((s) => s > k);
    if (to !== undefined) this.go(to + 1);
    else if (this.stops.length) this.go(this.stops[0] + 1);
  }

  play() {
    if (this.position >= this.size) this.go(1);
    const step = () => {
      if (this.position >= this.size || !this.root.isConnected) { this.stop(); return; }
      this.go(this.position + 1);
      this.timer = setTimeout(step, 1000 * Number(this.pace.value));
    };
    this.timer = setTimeout(step, 1000 * Number(this.pace.value));
    setIcon(this.playButton, "pause");
    this.playButton.setAttribute("aria-label", "pause");
    this.playButton.title = "pause";
  }

  stop() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    setIcon(this.playButton, "play");
    this.playButton.setAttribute("aria-label", "play");
    this.playButton.title = "play";
  }

  key(e) {
    if (e.altKey || e.ctrlKey || e.metaKey || ["SELECT", "TEXTAREA"].includes(e.target.tagName)) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    // A wide table or source scrolls with the arrows when it has the focus itself.
    if (e.key in steps && e.target.scrollWidth > e.target.clientWidth + 1 && e.target !== this.root && e.target !== this.slider) return;
    if (e.key in steps) { this.stop(); this.go(this.position + steps[e.key]); }
    else if (e.key === "Home") { this.stop(); this.go(1); }
    else if (e.key === "End") { this.stop(); this.go(this.size); }
    else if (e.key === "d") this.next();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  /** Put another document in place; a view that stood on the last step stays on the last. */
  setDocument(doc) {
    const atEnd = this.position >= this.size;
    if (doc.schema === this.doc.schema && doc.schema === "hitl_lab.frames") {
      this.doc = doc;
      this.panes[0].setDocument(doc);
      this.arrange();
    } else this.build(doc);
    this.go(atEnd ? this.size : this.position, atEnd);
  }

  setControls(controls) {
    this.controls.hidden = !controls.length;
    this.controls.replaceChildren(...controls.map((c) => make("button", {
      type: "button", class: "hl-btn hl-control-btn", title: c.title || null, disabled: c.disabled || false,
      onclick: () => this.oncontrol(c.name),
    }, c.label || c.name)), this.status);
  }

  setStatus(text) { this.status.textContent = text; }
}

export function patched(doc, patch) {
  const out = { ...doc };
  for (const [name, { from, items }] of Object.entries(patch)) out[name] = [...(doc[name] || []).slice(0, from), ...items];
  return out;
}

// ---------------------------------------------------------------- tables of ledger and findings

export class Table {
  constructor(root, doc) {
    this.root = root;
    this.sorted = null;
    root.classList.add("hitl", "hl-tableview");
    root.dataset.lmSuppressShortcuts = "true";
    root.setAttribute("role", "group");
    this.setDocument(doc);
  }

  setDocument(doc) {
    this.doc = doc;
    this.chosen = new Map();
    this.root.setAttribute("aria-label", doc.title);
    this.count = make("span", { class: "hl-note", role: "status" });
    const filters = doc.filters.map((column) => {
      const options = [...new Set(doc.rows.flatMap((r) => groups(r[column])))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
      const select = make("select", {}, make("option", { value: "" }, "all"), ...options.map((o) => make("option", { value: o }, o || "–")));
      select.addEventListener("change", () => { if (select.selectedIndex === 0) this.chosen.delete(column); else this.chosen.set(column, select.value); this.fill(); });
      return make("label", { class: "hl-filter" }, doc.columns[column], " ", select);
    });
    // Long text stands under its row, over the whole width: as a column it would be out of sight.
    this.below = new Set(doc.below || []);
    this.beside = doc.columns.map((_, i) => i).filter((i) => !this.below.has(i));
    this.heads = this.beside.map((i) => {
      const name = doc.columns[i];
      const button = make("button", { type: "button", class: "hl-sort", onclick: () => this.sort(i) }, name, make("span", { class: "hl-dir", "aria-hidden": "true" }));
      return make("th", { scope: "col", "aria-sort": "none" }, button);
    });
    this.body = make("tbody");
    this.root.replaceChildren(
      make("div", { class: "hl-top" }, make("div", { class: "hl-names" }, make("h2", { class: "hl-title" }, doc.title), this.count), make("div", { class: "hl-nav" }, ...filters)),
      scroller(make("table", { class: "hl-table hl-big" }, make("thead", {}, make("tr", {}, ...this.heads)), this.body), doc.title));
    this.fill();
  }

  sort(column) {
    this.sorted = this.sorted && this.sorted[0] === column ? [column, -this.sorted[1]] : [column, 1];
    this.heads.forEach((th, i) => th.setAttribute("aria-sort", this.beside[i] !== column ? "none" : this.sorted[1] > 0 ? "ascending" : "descending"));
    this.fill();
  }

  fill() {
    let rows = this.doc.rows.filter((r) => [...this.chosen].every(([c, v]) => groups(r[c]).includes(v)));
    if (this.sorted) {
      const [c, way] = this.sorted;
      rows = [...rows].sort((a, b) => way * a[c][0].localeCompare(b[c][0], undefined, { numeric: true }));
    }
    this.count.textContent = `${rows.length} of ${this.doc.rows.length}`;
    const shown = rows.slice(0, 500);
    this.body.replaceChildren(...shown.flatMap((row) => {
      const under = [...this.below].filter((i) => row[i][0]);
      const beside = make("tr", { class: under.length ? "hl-open" : null }, ...this.beside.map((i) => (i ? make("td", { class: row[i][0].length > 36 ? "hl-wide" : row[i][0].length < 9 ? "hl-short" : null }, inner(row[i])) : make("th", { scope: "row" }, inner(row[i])))));
      if (!under.length) return [beside];
      return [beside, make("tr", { class: "hl-under" }, make("td"), make("td", { colspan: this.beside.length - 1 }, ...under.map((i) => make("div", {}, make("span", { class: "hl-note" }, `${this.doc.columns[i]}: `), inner(row[i], words)))))];
    }));
    if (!shown.length) this.body.append(make("tr", {}, make("td", { colspan: this.beside.length }, this.doc.rows.length ? "Nothing fits these filters." : this.doc.empty || "Nothing here.")));
    if (rows.length > shown.length) this.body.append(make("tr", {}, make("td", { colspan: this.beside.length }, `… ${rows.length - shown.length} more: filter to see them`)));
  }
}

/** What stands in a cell; `told` makes the nodes of its text, where that is a sentence and not a value. */
function inner([text, tone, full], told = (plain) => [plain]) {
  if (tone) return make("span", { class: `hl-tag hl-${tone}` }, (TONES[tone] || "") + text);
  return full ? make("details", { class: "hl-long" }, make("summary", {}, ...told(text)), make("pre", { class: "hl-v" }, full)) : make("span", {}, ...told(text));
}

/** What a cell is filtered by: its text, or the groups it names. */
function groups(cell) { return cell[3] || [cell[0]]; }

/** Show any document in an empty element. */
export function mount(root, doc, options) {
  return doc.schema === "hitl_lab.table" ? new Table(root, doc) : new Player(root, doc, options);
}

/** The HTML player: the document stands in the page, in <script type="application/json" id="hitl-lab-document">. */
export function mountPage() {
  const root = document.getElementById("hitl-lab");
  const doc = JSON.parse(document.getElementById("hitl-lab-document").textContent);
  const from = Number(new URLSearchParams(location.hash.slice(1)).get("step")) || 1;
  root.replaceChildren();
  root.hitlLab = mount(root, doc, { position: from });
  root.dataset.ready = "true";
}

// ---------------------------------------------------------------- the Jupyter widget (anywidget)

// anywidget gives each view a model object of its own, so what they share hangs on the bytes, which are the same object.
const documents = new WeakMap(); // bytes -> {doc with all that was appended, views to tell}

function shared(model) {
  const bytes = model.get("document");
  let known = documents.get(bytes);
  if (!known) {
    const plain = bytes.buffer ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    known = { doc: JSON.parse(new TextDecoder().decode(plain)), views: new Set() };
    documents.set(bytes, known);
  }
  return known;
}

function initialize({ model }) {
  model.on("msg:custom", (message) => {
    if (!message || message.type !== "append") return;
    const known = shared(model);
    known.doc = patched(known.doc, message.patch);
    for (const tell of known.views) tell();
  });
}

function render({ model, el }) {
  const root = make("div");
  el.append(root);
  let known = shared(model);
  const tell = (act) => { try { act(); } catch { /* no kernel any more: the page goes on without it */ } };
  const view = mount(root, known.doc, {
    position: model.get("position") || 1,
    onposition: (p) => tell(() => { if (model.get("position") !== p) { model.set("position", p); model.save_changes(); } }),
    oncontrol: (name) => tell(() => model.send({ type: "control", name })),
  });
  root.hitlLab = view;
  const refresh = () => view.setDocument(known.doc);
  known.views.add(refresh);
  const onDocument = () => {
    known.views.delete(refresh);
    known = shared(model);
    known.views.add(refresh);
    refresh();
  };
  const onPosition = () => { if (view.go && view.position !== model.get("position")) { view.stop(); view.go(model.get("position"), false); } };
  const onControls = () => { if (view.setControls) view.setControls(model.get("controls") || []); };
  const onMessage = (message) => { if (message && message.type === "status" && view.setStatus) view.setStatus(message.text); };
  model.on("change:document", onDocument);
  model.on("change:position", onPosition);
  model.on("change:controls", onControls);
  model.on("msg:custom", onMessage);
  onControls();
  return () => {
    if (view.stop) view.stop();
    known.views.delete(refresh);
    model.off("change:document", onDocument);
    model.off("change:position", onPosition);
    model.off("change:controls", onControls);
    model.off("msg:custom", onMessage);
  };
}

export default { initialize, render };
