"""Reads a stepper in the page, and says what a frame should look like there."""

READ = """root => {
  const text = (el, s) => { const x = el && el.querySelector(s); return x ? x.textContent : null; };
  const all = (el, s) => [...el.querySelectorAll(s)];
  return {
    position: text(root, '.hl-pos'),
    say: text(root, '.hl-say'),
    phase: text(root, '.hl-ph.hl-on'),
    tasks: all(root, '.hl-task').map(task => ({
      name: text(task, '.hl-node-name'), state: text(task, '.hl-taskstate'),
      writes: all(task, '.hl-w').map(w => ({
        name: w.dataset.write || null, channel: text(w, '.hl-ch'), status: text(w, '.hl-tag'),
        value: text(w, '.hl-wval code'), reason: text(w, '.hl-reason'), struck: !!w.querySelector('s.hl-ch'),
        fresh: w.classList.contains('hl-new'),
      })),
    })),
    checkpoints: all(root, '.hl-cp').map(cp => ({
      name: cp.dataset.checkpoint, stored: text(cp, '.hl-cphead .hl-tag'),
      rows: all(cp, '.hl-row[data-row]').map(r => ({
        channel: r.dataset.row, stored: text(r, '.hl-tag'), value: text(r, '.hl-wval code') })),
      gone: all(cp, '.hl-gone .hl-id').map(x => x.textContent),
    })),
    channels: all(root, '.hl-changed .hl-chan dd').map(dd => all(dd, 'code, .hl-more').map(c => c.textContent)),
    phantom: all(root, '.hl-ghostcell code').map(c => c.textContent),
    ledger: all(root, '.hl-ledger tbody tr').map(tr => all(tr, 'td').map(td => td.textContent)),
    nodes: all(root, '.hl-box').map(g => [text(g, '.hl-label'), text(g, '.hl-state')]),
  };
}"""

SIGN = {"keep": "✓ ", "drop": "✕ ", "wait": "… ", "ghost": "◊ "}
STATE = {
    "idle": "○", "planned": "◌", "running": "▶", "re-running": "↻", "paused": "‖", "finished": "✓", "skipped": "⇥",
    "failed": "✕", "cancelled": "⊘",
}  # fmt: skip
PHASE = {"input": "start", "exit": "end of run"}


def expected(frames, k):
    """What READ should find at step k, from the Python frame alone."""
    frame, doc = frames[k], frames.document
    return {
        "position": f"{frame['position']} of {frame['of']}",
        "say": frame["say"].replace("`", ""),
        "phase": PHASE.get(frame["phase"], frame["phase"]) or None,
        "tasks": [_task(doc, t) for t in frame["tasks"]],
        "checkpoints": [_point(doc, p) for p in frame["persisted"]["checkpoints"]],
        "channels": [_channel(doc, c["value"]) for c in frame["channels"]],
        "phantom": _phantom(doc, frame),
        "ledger": [
            [SIGN.get(r["cells"][0][1], "") + r["cells"][0][0], *(c[0] or "·" for c in r["cells"][1:])]
            for r in frame["ledger"]["rows"]
        ],
        "nodes": _nodes(doc, frame),
    }


def _text(doc, value):
    return doc["values"][value][0]


def _plain(doc, write):
    return write.get("control") and _text(doc, write["value"]) == "None"


def _task(doc, task):
    known = doc["tasks"][task["task"]]
    name = f"{known['path']}/{known['node']}" if known["path"] and known["name"] else known["node"]
    writes = []
    for w in task["writes"]:
        entry = doc["writes"][w["write"]]
        shown = "value" in entry and not _plain(doc, entry)
        writes.append({
            "name": entry["name"] or None, "channel": entry["channel"], "status": SIGN.get(w["tone"], "") + w["status"],
            "value": _text(doc, entry["value"]) if shown else None, "reason": w["reason"] or None,
            "struck": w["tone"] == "drop", "fresh": w["new"],
        })  # fmt: skip
    state = f"{STATE[task['state']]} {task['state']}" if task["state"] else None
    return {"name": name or "null task", "state": state, "writes": writes}


def _stored(saved, new):
    return f"✓ stored{' now' if new else ''}" if saved else "… in memory only"


def _point(doc, point):
    rows = []
    for row in point["rows"]:
        entry = doc["writes"][row["write"]] if row["write"] >= 0 else None
        number = entry["value"] if entry else row["value"]
        hidden = number < 0 or (entry is not None and _plain(doc, entry))
        rows.append({
            "channel": row["channel"], "stored": _stored(row["saved"], row["new"]),
            "value": None if hidden else _text(doc, number),
        })  # fmt: skip
    return {
        "name": doc["checkpoints"][point["checkpoint"]]["name"],
        "stored": _stored(point["saved"], point["new"]),
        "rows": rows,
        "gone": [doc["writes"][w]["name"] for w in point["absent"]],
    }


def _channel(doc, value):
    if not isinstance(value, list):
        return [_text(doc, value)]
    if not value:
        return ["[]"]
    if len(value) > 6:
        n = sum(-v if v < 0 else 1 for v in value[2:-3])
        value = [*value[:2], -n, *value[-3:]]
    return [f"… {-v} more" if v < 0 else _text(doc, v) for v in value]


def _phantom(doc, frame):
    read = (frame["returned"] or {}).get("read") or {}
    out = []
    for path, returned, _ in read.get("lines", ()):
        if path.replace("[", ".").split(".", 1)[0] in read["phantom"] and returned >= 0:
            out.append(_text(doc, returned))
    return out


def _nodes(doc, frame):
    graph = doc["graphs"][doc["runs"][frame["run"]]["graph"]]
    states = {doc["nodes"][n]["key"]: state for n, state in frame["nodes"]}
    told = []
    for node in graph.get("layout", {}).get("nodes", ()):
        state = states[node["key"]]
        told.append([node["label"], "" if state == "idle" else f"{STATE[state]} {state}"])
    return told
