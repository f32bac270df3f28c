"""The broken node, streamed in every mode, and stopped early by the caller.

Where the pause shows depends on the mode: `updates` has __interrupt__ as a chunk, `values` has it before a last chunk
that shows the dropped write as if it were state, `tasks` and `checkpoints` never show the dropped write.
"""

from ._scenario import Continue, Invoke, Resume, Scenario, Stream
from .broken_node import QUESTION, abuild, build


def variant(name, title, first, then=Resume("approved"), *more, cases=("A38",)):
    return Scenario(
        name=name, title=title, build=build, abuild=abuild, story=(first, then, *more), topic="streams", cases=cases
    )


def stream(modes, **more):
    return Stream(QUESTION, modes=modes, **more)


V2 = {"version": "v2"}

MODES = ("values", "updates", "tasks", "checkpoints", "debug", "messages", "custom")

SCENARIOS = (
    *(variant(f"stream_{mode}", f"stream_mode={mode!r} at a pause", stream(mode)) for mode in MODES),
    variant("stream_all_modes", "All stream modes at once", stream(MODES)),
    variant(
        "stream_v2",
        "version='v2' of the stream: each chunk says its kind, namespace and interrupts",
        stream(("values", "updates"), options=V2),
        Resume("approved", options=V2),
    ),
    variant(
        "invoke_v2",
        "version='v2' of invoke: the value and the interrupts come apart",
        Invoke(QUESTION, options=V2),
        Resume("approved", options=V2),
    ),
    variant(
        "stream_stopped_early",
        "A caller that stops before the first node has run: nothing of it is lost",
        stream("values", stop_after=1),
        Continue(),
        Resume("approved"),
        cases=(),
    ),
    variant(
        "stream_stopped_before_apply",
        "A caller that stops at the chunk of `draft`: its write is pending, and applied later without a run",
        stream("updates", stop_after=1),
        Continue(),
        Resume("approved"),
        cases=(),
    ),
)
