# %% [markdown]
# # 06 Durability and crashes
#
# Fix A puts the payload into a node of its own. It is applied, it is saved, the person is asked. Safe?
#
# Servers die. In this notebook we kill the process, for real, and look into the database. A question that a person
# has seen on the screen may not be there.
#
# You need about 30 minutes. Each crash takes a second or two.

# %%
from functools import cache

import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("06")
check

# %% [markdown]
# ## What stands in the database
#
# This is fix A once more: `draft`, `attach` (writes the payload), `review` (asks). We let it pause on a real SQLite
# file. Then we read the rows over a connection of our own: what we see is committed.

# %%
from hitl_lab.scenarios.broken_node import QUESTION
from hitl_lab.scenarios.fix_a_split_node import build

CONFIG = {"configurable": {"thread_id": "1"}}


def rows_at_the_pause():
    with hitl_lab.savers.sqlite() as saver:
        build(saver).invoke(QUESTION, CONFIG, durability="sync")
        return hitl_lab.stored_rows(saver)


print(rows_at_the_pause())

# %% [markdown]
# Four checkpoints. The last one, after `attach`, holds the payload. The question is a row of the task `review` at that
# checkpoint: `__interrupt__`.
#
# ## Kill it
#
# `hitl_lab.crash` runs the graph in another process, kills it at a point, opens the database and tries a resume. It
# keeps what it found, so that we can look at it again.


# %%
@cache
def kill(at, durability):
    return hitl_lab.crash("fix_a_split_node", at=at, durability=durability)


# %% [markdown]
# ## Predict: it dies in the node
#
# `attach` has ended. `review` has begun and is about to ask. The process dies. LangGraph can save in three modes.

# %%
check.predict("in_node_sync", "A", run=lambda: kill("in_node", "sync"))

# %%
check.predict("in_node_async", "C", run=lambda: kill("in_node", "async"))

# %%
check.predict("in_node_exit", "B", run=lambda: kill("in_node", "exit"))

# %% [markdown] tags=["explain"]
# **Fact.** In "sync" each step is saved before the next one begins. In "exit" nothing is saved before the run is left.

# %%
check.show("in_node_exit", lambda: print(kill("in_node", "sync"), kill("in_node", "exit"), sep="\n\n"))

# %% [markdown]
# ## Predict: it dies when the question is on the screen
#
# The caller streams. A chunk with `__interrupt__` arrives, the person sees the question. Then the process dies.

# %%
check.predict("interrupt_chunk_sync", "A", run=lambda: kill("interrupt_chunk", "sync"))

# %%
check.predict("interrupt_chunk_async", "C", run=lambda: kill("interrupt_chunk", "async"))

# %%
check.predict("interrupt_chunk_exit", "B", run=lambda: kill("interrupt_chunk", "exit"))

# %% [markdown]
# And the question itself, which the person has seen?

# %%
check.predict("shown_sync", "C", run=lambda: kill("interrupt_chunk", "sync"))

# %% [markdown] tags=["explain"]
# **Fact.** Shown is not stored. In "exit" the person reads a question of a thread that does not exist.

# %%
check.show("interrupt_chunk_exit", lambda: kill("interrupt_chunk", "exit").rows)

# %% [markdown]
# ## Predict: it dies after invoke()

# %%
check.predict("returned", "C", run=lambda: {mode: kill("returned", mode) for mode in ("sync", "async", "exit")})

# %% [markdown]
# ## Predict: then the answer comes
#
# Back to the first crash: `review` had not asked yet. The server starts again. Somebody sends the answer.

# %%
check.predict("resume", "C", run=lambda: kill("in_node", "sync"))

# %% [markdown]
# And where nothing was saved at all?

# %%
check.predict("resume_nothing", "B", run=lambda: kill("in_node", "exit"))

# %% [markdown] tags=["explain"]
# **Fact.** LangGraph does not look whether a question was stored. The answer goes to the next `interrupt()` that runs,
# or starts an empty thread. An application must look at `get_state()` before it sends an answer.
#
# Both processes are one trace. The ledger of the second crash:

# %%
check.show("resume_nothing", lambda: kill("in_node", "exit").trace.ledger)

# %% [markdown]
# ## The table
#
# A cell that races would count several tries; here it only says so. `hitl-lab lab crash` prints the whole table, with
# all points, all modes and the counts.

# %%
POINTS = ("in_node:attach", "in_node", "interrupt_chunk", "returned")

check.show(
    "returned",
    lambda: print(hitl_lab.crash_table(points=POINTS, durabilities=("sync", "exit"), times=1).text(stable=True)),
)

# %% [markdown]
# ## A real PostgreSQL
#
# The same crash on PostgreSQL, if there is one (`make postgres` starts it). If not, SQLite stands in.


# %% tags=["nbval-ignore-output"]
def on_the_best_database():
    name = hitl_lab.savers.best()
    if name == "sqlite":
        print("No PostgreSQL server here: this is SQLite again.")
    print(hitl_lab.crash("fix_a_split_node", at="put:attach", saver=name))


check.show("in_node_sync", on_the_best_database)

# %% [markdown]
# ## Predict: two processes
#
# Nobody dies now. One process runs to the pause and ends. Another one resumes, from the file. The graph has two nodes
# in one step: `lookup` finishes, `ask` pauses. `hitl_lab.stitch` makes one trace of both.

# %%
import tempfile
from pathlib import Path

from langgraph.types import Command


@cache
def two_processes():
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "shared.sqlite")
        first = hitl_lab.in_another_process("parallel_sibling", {"log": ["order"]}, saver=file)
        second = hitl_lab.in_another_process("parallel_sibling", Command(resume="2"), saver=file)
    return hitl_lab.stitch(first, second)


check.predict("two_processes", "B", run=two_processes)

# %%
check.show("two_processes", lambda: two_processes().ledger)

# %% [markdown]
# ## Predict: a change in place
#
# Some code changes the message in the state instead of writing it. Twenty runs in each mode, to the pause.


# %%
def in_place():
    return {
        durability: hitl_lab.mutation.measure("mutate the state object", "sqlite", durability, n=20)
        for durability in ("sync", "exit")
    }


check.predict("in_place", "C", run=in_place)

# %% [markdown]
# ## Your turn
#
# The server died in `review`, before it asked. All is saved, but there is no question. Write what the server does when
# it starts again: the person must be asked first. Then answer `"approved"`.


# %% tags=["stub"]
def go_on(graph, config):
    raise NotImplementedError  # two calls, in place of this line


check.exercise("after_crash", go_on)


# %% tags=["solution"]
def go_on(graph, config):
    if not graph.get_state(config).interrupts:
        graph.invoke(None, config)  # runs `review`, which asks
    graph.invoke(Command(resume="approved"), config)


check.exercise("after_crash", go_on)

# %% [markdown]
# ## Another graph
#
# `lookup` and `ask` run in one step. The saver has stored the row of `lookup`. At that moment the process dies.

# %%
check.predict("transfer", "B", run=cache(lambda: hitl_lab.crash("parallel_sibling", at="put_writes:lookup")))

# %% [markdown]
# ## In short

# %%
check.recap()
