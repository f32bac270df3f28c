"""The broken node, streamed in every mode, and stopped early by the caller.

Where the pause shows depends on the mode: `updates` has __interrupt__ as a chunk, `values` has it before a last chunk
that shows the dropped write as if it were state, `tasks` and `checkpoints` never show the dropped write.
"""

from ._scenario import Continue, Events, Invoke, Resume, Scenario, Stream
from .broken_node import QUESTION, abuild, build

ANSWER = Resume("approved")


def variant(name, title, *story, cases=("A38",), **more):
    return Scenario(
        name=name, title=title, build=build, abuild=abuild, story=story, topic="streams", cases=cases, **more
    )


def stream(modes, **more):
    return Stream(QUESTION, modes=modes, **more)


V2 = {"version": "v2"}

MODES = ("values", "updates", "tasks", "checkpoints", "debug", "messages", "custom")

SCENARIOS = (
    *(variant(f"stream_{mode}", f"stream_mode={mode!r} at a pause", stream(mode), ANSWER) for mode in MODES),
    variant("stream_all_modes", "All stream modes at once", stream(MODES), ANSWER),
    variant(
        "stream_v2",
        "version='v2' of the stream: each chunk says its kind, namespace and interrupts",
        stream(("values", "updates"), options=V2),
        Resume("approved", options=V2),
        needs=("langgraph>=1.1",),
    ),
    variant(
        "invoke_v2",
        "version='v2' of invoke: the value and the interrupts come apart",
        Invoke(QUESTION, options=V2),
        Resume("approved", options=V2),
        needs=("langgraph>=1.1",),
    ),
    variant(
        "stream_events_v1",
        "astream_events(version='v1'): the last event of the graph has the question, and no state",
        Events(QUESTION, version="v1"),
        ANSWER,
        only="async",
    ),
    variant(
        "stream_events",
        "astream_events(version='v2'): the last event of the graph shows the dropped write as its output",
        Events(QUESTION),
        ANSWER,
        only="async",
    ),
    variant(
        "stream_events_v3",
        "stream_events(version='v3'): the run says at the end whether it was interrupted",
        Events(QUESTION, version="v3"),
        ANSWER,
        needs=("langgraph>=1.2.24",),
    ),
    variant(
        "stream_stopped_early",
        "A caller that stops before the first node has run: nothing of it is lost",
        stream("values", stop_after=1),
        Continue(),
        ANSWER,
        cases=(),
    ),
    variant(
        "stream_stopped_at_question",
        "A caller that stops at the chunk of the question: it is saved all the same, and takes its answer",
        stream("updates", stop_after=2),
        ANSWER,
        cases=(),
    ),
    variant(
        "stream_stopped_before_apply",
        "A caller that stops at the chunk of `draft`: its write is pending, and applied later without a run",
        stream("updates", stop_after=1),
        Continue(),
        ANSWER,
        cases=(),
    ),
)
