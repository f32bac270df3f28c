"""What recording consists of, part by part, so that one can be left out and the rest counted: the rows `parts`.

Each name stands for what to put in the place of what. What is left out changes nothing for the graph; of the trace it
takes what its name says.
"""

from __future__ import annotations

import functools

from langgraph.pregel._loop import PregelLoop, SyncPregelLoop
from langgraph.pregel._runner import PregelRunner

import hitl_lab
from hitl_lab.tracing import channels, recorder, shapes
from hitl_lab.tracing.observer import LoopObserver
from hitl_lab.tracing.seams import loops, runner


def nothing(*_args, **_kwargs):
    """Stand for a method that is left out."""


def put_nothing(self):
    """Stand for `Recorder._choose`: nothing is put down."""
    self.put = recorder._nothing


PARTS = {
    "a node's input, looked at before and after": [
        (hitl_lab, "record", functools.partial(hitl_lab.record, mutations=False)),
    ],
    "what each channel changed by": [(channels.Channels, "changes", lambda *_: {})],
    "`commit`, what it hands on, the saver's coming back": [
        (runner.TracedRunner, "commit", PregelRunner.commit),
        (loops.Traced, "put_writes", SyncPregelLoop.put_writes),
        (loops, "watch_put_writes", lambda _loop, put_writes: put_writes),
        (loops.TracedSyncLoop, "_checkpointer_put_after_previous", SyncPregelLoop._checkpointer_put_after_previous),
    ],
    "checkpoints made": [(loops.Traced, "_put_checkpoint", PregelLoop._put_checkpoint)],
    "what is streamed": [(loops.Traced, "tap_stream", nothing)],
    "the thread, read back at the end": [(loops.TracedSyncLoop, "finish", nothing)],
    "the graph's structure, read once a graph": [(shapes, "shape_of", nothing)],
    "to put down what was seen": [(recorder.Recorder, "_choose", put_nothing)],
}
"""By what each part does: (object, attribute, stand-in) for each thing that does it."""

EMPTY = "all but the hooks"


def bare_info(_loop, task):
    """Stand for `info_of`: what the hooks themselves need of a task."""
    return task.id, task.name, "pull", (), bool(task.writes), False, None, None


def stand_ins(name):
    """Return (object, attribute, stand-in) for each thing to leave out; none for "".

    With EMPTY the hooks are all that is left: each is called with what it would be told, looks at nothing and keeps
    nothing.
    """
    if name != EMPTY:
        return PARTS[name] if name else []
    told = (method for method, found in vars(LoopObserver).items() if callable(found) and method[:1] != "_")
    return [
        *((LoopObserver, method, nothing) for method in told),
        (loops, "info_of", bare_info),
        *PARTS["the thread, read back at the end"],
        *PARTS["the graph's structure, read once a graph"],
    ]


def leave_out(name):
    """Leave a part out of recording, for the rest of this process; with "" none, in a process like the others.

    Raises AttributeError for what is not there any more: to put a stand-in for it would leave out nothing.
    """
    for holder, attribute, stand_in in stand_ins(name):
        getattr(holder, attribute)
        setattr(holder, attribute, stand_in)
