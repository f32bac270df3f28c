# %% [markdown]
# # 12 Fact check
#
# Somebody lost a payload at a pause and asked in [LangChain's
# forum](https://forum.langchain.com/t/persisting-hitl-payloads/2950). A good answer explained it, and offered the three
# fixes. Is all of it true?
#
# Here are its claims, in our words. Each is taken apart into parts that can be run. The verdict is computed from them:
# TRUE if every part holds, FALSE if none does, else HALF.
#
# You predict the verdict before the parts are run. Read the parts first: they are the keys of the dict. You need about
# 30 minutes.

# %%
import hitl_lab
from hitl_lab import counterfactual
from hitl_lab.course import open_lesson

check = open_lesson("12")
check

# %%
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from hitl_lab.answers import answers
from hitl_lab.course.attempt import traced
from hitl_lab.scenarios.broken_node import QUESTION, build

CONFIG = {"configurable": {"thread_id": "1"}}
MODES = ("sync", "async", "exit")


def pause(saver=None, durability="sync"):
    """The broken node of notebook 02, run to its pause."""
    graph = build(saver or InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke(QUESTION, CONFIG, durability=durability)
    return trace


def payload(trace):
    """The row of the payload in the ledger."""
    return trace.ledger.where(node="review", run="run 1")[0]


def last(trace, kind, run="run 1"):
    """The last event of a kind in one run or update."""
    action = next(a for a in trace.story.actions if a.label == run)
    return [e for e in action.events if e.kind == kind][-1]


# %% [markdown]
# ## Claim 1: a new list
#
# The claim is about `commit`. The trace has an event for each commit. It says what was in `task.writes`, and what was
# handed on.


# %%
def new_list():
    commit = last(pause(), "commit")
    return {
        "what commit handed on is only INTERRUPT or RESUME": {row.channel for row in commit.handed}
        <= {"__interrupt__", "__resume__"},
        "task.writes still holds the write": len(commit.writes) == 1,
    }


check.predict("new_list", "A", run=new_list)

# %% [markdown] tags=["explain"]
# **Fact.** The claim holds. The ledger also has the line of the installed LangGraph at which the write was left out.

# %%
check.show("new_list", lambda: print(payload(pause()).where))

# %% [markdown]
# ## Claim 2: replaced
#
# What stands there at the pause, and how did it come to be so? One part asks a saver directly, with a task of our own.


# %%
def saver_replaces():
    saver = InMemorySaver()
    config = last_config(saver)
    saver.put_writes(config, [("note", "first")], "a task")
    saver.put_writes(config, [("note", "second")], "a task")
    written = [value for task, _, value in saver.get_tuple(CONFIG).pending_writes if task == "a task"]
    return written == ["second"]


def last_config(saver):
    graph = build(saver)
    graph.invoke(QUESTION, CONFIG)
    return graph.get_state(CONFIG).config


def replaced():
    trace = pause()
    read = last(trace, "state_read")
    return {
        "only the question is pending at the pause": [row.channel for row in read.pending] == ["__interrupt__"],
        "the payload had been handed to put_writes before": payload(trace).handed is not None,
        "a saver replaces a write that is put a second time": saver_replaces(),
    }


check.predict("replaced", "B", run=replaced)

# %% [markdown]
# ## Claim 3: whatever the durability mode
#
# Three modes on two checkpointers: six parts.


# %%
def durability():
    parts = {}
    for mode in MODES:
        parts[f"dropped with InMemorySaver, {mode}"] = payload(pause(InMemorySaver(), mode)).fate == "dropped"
        with SqliteSaver.from_conn_string(":memory:") as saver:
            parts[f"dropped with SqliteSaver, {mode}"] = payload(pause(saver, mode)).fate == "dropped"
    return parts


check.predict("durability", "A", run=durability)

# %% [markdown]
# ## Claim 4: against duplicates
#
# Notebook 07 has measured what would happen if the write were saved. `counterfactual.measure` does it once more.


# %%
def duplicates():
    real, own, null = (counterfactual.measure(way) for way in ("real", "P1", "P2"))
    return {
        "the node runs again after the answer": real.node_runs == 2,
        "saved under the task's own id, the write is there twice": own.copies["log"] == 2,
        "saved under the null task, the write is there twice": null.copies["log"] == 2,
    }


check.predict("duplicates", "B", run=duplicates)

# %% [markdown] tags=["explain"]
# **Fact.** A write saved for its task would make the task count as finished. Then nobody would take the answer: look at
# the row P1.

# %%
check.show("duplicates", lambda: print(counterfactual.table()))

# %% [markdown]
# ## Claim 5: an artifact of timing
#
# "Artifact of timing" means: sometimes the write is saved, by luck. So we run it five times on each checkpointer.


# %%
def artifact():
    in_memory = [payload(pause(InMemorySaver(), "exit")).in_state for _ in range(5)]
    in_sqlite = []
    for _ in range(5):
        with SqliteSaver.from_conn_string(":memory:") as saver:
            in_sqlite.append(payload(pause(saver, "exit")).in_state)
    return {
        "in five runs with InMemorySaver it was saved at least once": any(in_memory),
        "InMemorySaver does what SqliteSaver does not": in_memory != in_sqlite,
    }


check.predict("artifact", "C", run=artifact)

# %% [markdown] tags=["explain"]
# **Fact.** What is sent before the question is never saved, in no run. But a message that is **changed in place** shows
# up with "exit", on both checkpointers. That is no write, and no luck: it is the object itself, saved late.


# %%
def sent_or_changed():
    for case in ("send before interrupt()", "mutate the state object"):
        for saver in ("memory", "sqlite"):
            print(f"{case:24} {saver:7} saved in", hitl_lab.mutation.measure(case, saver, "exit", n=5), "runs")


check.show("artifact", sent_or_changed)

# %% [markdown]
# ## Claim 6: fix A is safe
#
# The last part is a crash, as in notebook 06. It kills the process while `review` runs, and then looks into the
# database.


# %%
def fix_a():
    parts = {}
    for mode in MODES:
        trace = traced("fix_a_split_node", durability=mode)
        parts[f"payload kept once invoke() has returned, {mode}"] = trace.ledger.where(node="attach")[0].saved
    killed = hitl_lab.crash("fix_a_split_node", at="in_node:review", durability="exit")
    parts["payload kept if the process is killed in the next node, exit"] = any(
        one.node == "attach" and one.place != "gone" for one in killed.survivors
    )
    return parts


check.predict("fix_a", "B", run=fix_a)

# %% [markdown]
# ## Claim 7: fix B is the same
#
# Fix A asks with `interrupt()` and goes on with `Command(resume=...)`. We go on from fix B's breakpoint in the same
# way.


# %%
def fix_b():
    trace = traced("fix_b_answer_lost")
    return {
        "the payload is applied before the pause": trace.ledger.where(node="attach")[0].fate == "applied",
        "a question waits at the pause": bool(last(trace, "state_read").interrupts),
        "the answer is taken": answers(trace.story)[0].fate == "taken",
    }


check.predict("fix_b", "B", run=fix_b)

# %% [markdown]
# ## Claim 8: fix C leaves the rest alone
#
# One graph has a single paused node. The other has a finished sibling beside it, as in notebook 05.


# %%
def fix_c():
    one = traced("fix_c_update_state")
    many = traced("update_discards_sibling")
    return {
        "payload and answer are there at the end": answers(one.story)[0].fate == "taken"
        and one.ledger.where(run="update 1")[0].fate == "applied",
        "the question still shows after the update": bool(last(one, "state_read", "update 1").interrupts),
        "what a finished sibling wrote stays": many.ledger.where(node="lookup", run="run 1")[0].fate == "applied",
    }


check.predict("fix_c", "B", run=fix_c)

# %% [markdown]
# ## Put it in order
#
# Now measure a claim yourself. `build` makes the broken node's graph. One piece does not belong.

# %%
check.order("measure", "C D B")

# %% [markdown]
# ## Your turn
#
# Write a function that takes a trace and returns a list: the name of the node for each write that was dropped in the
# first run. If one node lost two writes, its name is there twice. No dropped write: an empty list.
#
# It is tried on the traces of four graphs. `trace.ledger` has what you need. For the broken node, the answer is
# `["review"]`.


# %% tags=["stub"]
def dropped(trace):
    raise NotImplementedError  # look at trace.ledger


check.exercise("dropped", dropped)


# %% tags=["solution"]
def dropped(trace):
    return [row.node for row in trace.ledger.where(run="run 1", fate="dropped")]


check.exercise("dropped", dropped)

# %% [markdown]
# ## Another claim
#
# This one is not from the forum. It is about phantoms, and about a graph in a graph.


# %%
def phantoms():
    parts = {}
    for name, where in (("broken_node", "at the top"), ("subgraph_as_node", "inside a subgraph")):
        gone = traced(name).ledger.where(run="run 1", fate="dropped")
        parts[f"{where}: the dropped write was returned"] = all(row.phantom for row in gone)
    return parts


check.predict("transfer", "B", run=phantoms)

# %% [markdown]
# ## In short

# %%
check.recap()
