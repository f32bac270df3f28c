"""Advice: which fix fits, and a sketch of it in the graph's own names."""

from __future__ import annotations

import re

from hitl_lab.findings import Advice
from hitl_lab.rules._case import Case

START = "__start__"


def ident(name: str) -> str:
    """Return a node's name as a Python name."""
    made = re.sub(r"\W+", "_", name).strip("_") or "node"
    return f"n_{made}" if made[0].isdigit() else made


def leaf(path: str) -> str:
    """Return the node's own name of a path "outer/inner"."""
    return path.rsplit("/", 1)[-1]


def inside(path: str) -> str:
    """Return a comment that says which subgraph the code belongs to, "" at the top."""
    place = path.rpartition("/")[0]
    return f"# in the graph inside {place}\n" if place else ""


def split(case: Case, path: str, channel: str) -> Advice:
    """Fix A for a write before interrupt()."""
    name, new = leaf(path), case.new_node(path, f"before_{ident(leaf(path))}")
    edges = [f'builder.add_edge({_quoted(p)}, "{new}")   # was: to "{name}"' for p in case.predecessors(path)]
    edges = edges or [f'# let every edge that led to "{name}" lead to "{new}"']
    sketch = "\n".join([
        f"{inside(path)}def {new}(state):                # all that stood above interrupt()",
        f'    return {{"{channel}": ...}}             # applied and saved before the pause',
        "",
        f"def {ident(name)}(state):                # only asks: nothing above interrupt()",
        "    answer = interrupt(...)",
        "    ...",
        "",
        f'builder.add_node("{new}", {new})',
        *edges,
        f'builder.add_edge("{new}", "{name}")',
    ])  # fmt: skip
    text = (
        f"Split the node: return `{channel}` from a node of its own before `{name}`, so that `after_tick` applies "
        "it and a checkpoint holds it before the pause. If only the person who answers needs the value, put it into "
        f'the question: `interrupt({{..., "{channel}": ...}})`.'
    )
    return Advice(text, "A", sketch)


def finish_failed(path: str, returned: bool) -> Advice:
    """How to go on after a node that failed between its first write and its end, or in an edge out of it."""
    name = leaf(path)
    values, why = ("None", "its writes are saved") if returned else ("{...}", "what it had not written yet")
    sketch = "\n".join([
        f"{inside(path)}# {why}; its edges are taken now",
        f"graph.update_state(config, {values}, as_node={_quoted(name)})",
        "graph.invoke(None, config)",
    ])  # fmt: skip
    text = (
        "Let nothing that can fail come between a node's first write and its end: return once, and let its edges only "
        f"read what a node before looked up. To go on now, write in the place of `{name}`:"
    )
    return Advice(text, "", sketch)


def router_out(case: Case, path: str) -> Advice:
    """Fix A for an interrupt() in a conditional edge."""
    name, ask = leaf(path), case.new_node(path, f"ask_after_{ident(leaf(path))}")
    sketch = "\n".join([
        f"{inside(path)}def {ask}(state):                # the question, in a node of its own",
        '    return {"decision": interrupt(...)}',
        "",
        f'builder.add_edge({_quoted(name)}, "{ask}")',
        f'builder.add_conditional_edges("{ask}", lambda state: state["decision"])',
    ])  # fmt: skip
    gone = "took from the input" if name == START else "returned"
    text = (
        f"Move interrupt() out of the conditional edge after `{name}` into a node of its own: the router runs inside "
        f"the task of `{name}`, so its pause drops what `{name}` {gone}."
    )
    return Advice(text, "A", sketch)


def effect_after(path: str, label: str) -> Advice:
    """What to do about a side effect before interrupt()."""
    name, act = leaf(path), f"{ident(leaf(path))}_act"
    sketch = "\n".join([
        f"{inside(path)}def {ident(name)}(state):                # asks, does nothing else",
        '    return {"approved": interrupt(...)}',
        "",
        f"def {act}(state):                # {label}: runs once, after the answer is saved",
        "    ...",
        "",
        f'builder.add_edge("{name}", "{act}")',
    ])  # fmt: skip
    text = (
        f"Move it below interrupt() or, safer, into a node of its own after `{name}`; if it must come first, put it in "
        "a node before, or give it a key that makes the second call harmless. If nobody needs to be asked anything, "
        f'`compile(interrupt_before=["{name}"])` (fix B) pauses before it.'
    )
    return Advice(text, "A", sketch)


def ask_from_state(path: str) -> Advice:
    """Fix A for a question that is made anew on each run of the node."""
    name = ident(leaf(path))
    sketch = "\n".join([
        f"{inside(path)}def prepare_{name}(state):     # makes it once; saved before the pause",
        '    return {"draft": make_draft()}',
        "",
        f"def {name}(state):",
        '    answer = interrupt(state["draft"])',
    ])  # fmt: skip
    text = (
        "Make what is asked in a node before, so that it is read from the state and stays the same; ask one question a "
        "node, in an order that does not depend on time, chance or threads."
    )
    return Advice(text, "A", sketch)


def update_with_answer(channel: str) -> Advice:
    """Give the correction together with the answer: it stays on the paused checkpoint."""
    key = channel or "key"
    sketch = "\n".join([
        "graph.invoke(",
        f'    Command(resume=answer, update={{"{key}": ...}}),',
        "    config,",
        ")",
    ])  # fmt: skip
    text = (
        "Give the update together with the answer: its writes stay on the paused checkpoint (null task), so what "
        "finished tasks have saved stays pending. Or let the join of the parallel nodes come before the node that asks."
    )
    return Advice(text, "", sketch)


def update_beside(name: str) -> Advice:
    """Fix C done so that the paused node still runs."""
    sketch = "\n".join([
        "graph.update_state(config, {...})            # without as_node, or as the node before",
        f"graph.invoke(Command(resume=answer), config)   # {name} runs and takes the answer",
    ])  # fmt: skip
    text = (
        f"Update without `as_node`, or as the node before: as `{name}` LangGraph takes `{name}` for done. Then resume. "
        "To skip it on purpose, say so with a Command(goto=...) that you can read later."
    )
    return Advice(text, "C", sketch)


def _quoted(name: str) -> str:
    return "START" if name in ("START", START) else f'"{name}"'
