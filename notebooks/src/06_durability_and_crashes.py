# %% [markdown]
# # 06 Durability and crashes
#
# In fix A the payload is applied before the person is asked. Is it safe then?
#
# Servers die. In this notebook we really kill the process. Then we look into the database: what is there, and what does
# an answer do that comes later?
#
# You need about 40 minutes. Each crash takes a second or two.

# %%
from functools import cache

import hitl_lab
from hitl_lab.course import open_lesson

check = open_lesson("06")
check

# %% [markdown]
# ## What stands in the database
#
# This is fix A once more: `draft`, then `attach`, which writes the payload, then `review`, which asks. We let it pause
# on a real SQLite file.
#
# Then we read the file over a second connection. It sees only what is really in the database.

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
# There are four checkpoints, C1 to C4. Under each stand the writes of the task that ran from there. C4 was made after
# `attach`, so it holds the payload. T4 is the task of `review`, and its row `__interrupt__` is the question.
#
# The rows `branch:to:...` are LangGraph's own. They say which node comes next.
#
# ## Kill it
#
# `hitl_lab.crash` runs the graph in another process and kills that process at a point that we choose. Then it looks
# into the database, and tries a resume. `kill` keeps what it found, so that we can look at it again.


# %%
@cache
def kill(at, durability):
    return hitl_lab.crash("fix_a_split_node", at=at, durability=durability)


# %% [markdown]
# ## Predict: it dies in the node
#
# `attach` has ended. `review` has begun, and is about to ask. Then the process dies. What of the payload?
#
# You know the three durability modes from notebook 02. First "sync": save before the next superstep begins.

# %%
check.predict("in_node_sync", "A", run=lambda: kill("in_node", "sync"))

# %% [markdown]
# Now "async": save on another thread, while the graph goes on.

# %%
check.predict("in_node_async", "C", run=lambda: kill("in_node", "async"))

# %% [markdown]
# And "exit": save once, when the run ends or pauses.

# %%
check.predict("in_node_exit", "B", run=lambda: kill("in_node", "exit"))

# %% [markdown] tags=["explain"]
# **Fact.** In "sync" each superstep is saved before the next one begins. In "exit" nothing is saved before the run ends
# or pauses.
#
# Here is what was in the database after the two crashes.

# %%
check.show("in_node_exit", lambda: print(kill("in_node", "sync").rows, kill("in_node", "exit").rows, sep="\n\n"))

# %% [markdown]
# ## Predict: it dies when the question is on the screen
#
# An application often uses `stream()` instead of `invoke()`. The stream brings a chunk with `__interrupt__`, and the
# person sees the question. Then the process dies.

# %%
check.predict("interrupt_chunk_sync", "A", run=lambda: kill("interrupt_chunk", "sync"))

# %%
check.predict("interrupt_chunk_async", "C", run=lambda: kill("interrupt_chunk", "async"))

# %%
check.predict("interrupt_chunk_exit", "B", run=lambda: kill("interrupt_chunk", "exit"))

# %% [markdown]
# That was the payload. Now the question itself, which the person has seen.

# %%
check.predict("shown_sync", "C", run=lambda: kill("interrupt_chunk", "sync"))

# %% [markdown] tags=["explain"]
# **Fact.** Shown is not stored. In "exit" the person reads a question, and the database is empty.

# %%
check.show("interrupt_chunk_exit", lambda: kill("interrupt_chunk", "exit").rows)

# %% [markdown]
# ## Predict: it dies after invoke()
#
# Now `invoke()` has returned at the pause. Only then the process dies.

# %%
check.predict("returned", "C", run=lambda: {mode: kill("returned", mode) for mode in ("sync", "async", "exit")})

# %% [markdown]
# ## Predict: then the answer comes
#
# Back to the first crash, with "sync": the payload is saved, `review` had not asked yet. The server starts again.
# Somebody sends an answer.

# %%
check.predict("resume", "C", run=lambda: kill("in_node", "sync"))

# %% [markdown]
# The same with "exit", where nothing was saved at all.

# %%
check.predict("resume_nothing", "B", run=lambda: kill("in_node", "exit"))

# %% [markdown] tags=["explain"]
# **Fact.** LangGraph does not check that a question was stored. The answer goes to the next `interrupt()` that runs, or
# it starts an empty thread. So an application must look at `get_state()` before it sends an answer.
#
# Here is the ledger of the second crash. Run 1 is the process that died, run 2 the resume. What the customer wrote at
# the start, W1, is **lost**: no node will write it again.

# %%
check.show("resume_nothing", lambda: kill("in_node", "exit").trace.ledger)

# %% [markdown]
# ## The table
#
# Here are four points in one table. Where it is a race, it says `varies`. The end of each line tells what a resume did:
# which nodes it ran, and whether it asked or was done.
#
# `hitl-lab lab crash`, in a terminal, prints all points and all modes. There a race is run several times and counted.

# %%
POINTS = ("in_node:attach", "in_node", "interrupt_chunk", "returned")

check.show(
    "resume_nothing",
    lambda: print(hitl_lab.crash_table(points=POINTS, durabilities=("sync", "exit"), times=1).text(stable=True)),
)

# %% [markdown]
# ## A real PostgreSQL
#
# This is optional. If you have a PostgreSQL server (`make postgres` starts one), the crash happens on it. If not,
# SQLite takes its place.


# %% tags=["nbval-ignore-output"]
def on_the_best_database():
    name = hitl_lab.savers.best()
    if name == "sqlite":
        print("No PostgreSQL server here: this is SQLite again.")
    print(hitl_lab.crash("fix_a_split_node", at="put:attach", saver=name))


check.show("resume", on_the_best_database)

# %% [markdown]
# ## Predict: two processes
#
# Now no process dies. One runs to the pause and ends. Another one resumes, from the same file.
#
# The graph has two nodes in one superstep: `lookup` finishes, `ask` pauses. (Before it asks, `ask` writes `"asking"`.
# You know what becomes of that.) `hitl_lab.stitch` makes one trace of both processes.

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
# Some code does not write the payload at all. It changes the message in the state: `message.additional_kwargs[...] =
# ...`. Each mode is run twenty times, to the pause, and each time we look whether the change is in the database.


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
# The server died in `review`, before it asked. All writes are saved, but there is no question. Write `go_on`, which the
# server calls when it starts again: the person must be asked first. Then answer `"approved"`.


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
# `lookup` and `ask` run in one superstep. The saver has stored the write of `lookup`. At that moment the process dies,
# before the superstep ends. Then comes a resume.

# %%
check.predict("transfer", "B", run=cache(lambda: hitl_lab.crash("parallel_sibling", at="put_writes:lookup")))

# %% [markdown]
# ## In short

# %%
check.recap()
