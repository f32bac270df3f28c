"""A made-up trace of any length, for tests and benchmarks of the views; needs no LangGraph."""

from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev


def long_trace(supersteps):
    """A made-up trace of one node in a loop: ten events a superstep, the list it writes grows by one each time."""
    source = ev.Source("loop.py", "node", 3)
    out = [
        ev.RunStarted(run=1, action="invoke", thread="1", saver="InMemorySaver", durability="sync", values={"log": []}),
    ]
    write = 0
    for step in range(supersteps):
        told = {"run": 1, "step": step}
        task, old, new = f"t{step}", f"c{step}", f"c{step + 1}"
        out.append(ev.Ticked(tasks=(ev.TaskInfo(task, "node"),), **told))
        out.append(ev.TaskStarted(task=task, name="node", **told))
        rows = []
        for value in ("first", "second"):
            write += 1
            out.append(
                ev.Wrote(
                    task=task, name="node", write=write, channel="log", value=[f"{value} {step}"], source=source, **told
                )
            )
            rows.append(ev.Row("log", write, task=task))
        dropped = step % 50 == 49
        kept = tuple(rows[:1] if dropped else rows)
        keys = tuple(row.write for row in kept)
        out.append(ev.TaskEnded(task=task, name="node", outcome="finished", **told))
        gone = (rows[1].write,) if dropped else ()
        out.append(ev.Committed(task=task, name="node", writes=(write - 1, write), handed=kept, dropped=gone, **told))
        out.append(ev.PutWrites(task=task, name="node", rows=kept, checkpoint=old, to_saver=True, **told))
        out.append(
            ev.Applied(
                where="after_tick", writes=keys, changes={"log": {"append": [f"first {step}"], "len": step + 1}}, **told
            )
        )
        out.append(ev.CheckpointCreated(checkpoint=new, parent=old, **told))
        out.append(ev.SaverPut(checkpoint=new, **told))
    out.append(ev.RunEnded(run=1, status="done"))
    return Trace((ev.from_plain({**ev.to_plain(e), "n": n}) for n, e in enumerate(out, 1)), facts={"langgraph": "0"})
