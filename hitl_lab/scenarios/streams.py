"""The broken node beside a finished sibling, streamed in every mode, and stopped early by the caller.

Where the pause shows depends on the mode: `updates` has __interrupt__ as a chunk, `values` has it before a last chunk
that shows the dropped write as if it were state, `tasks` and `checkpoints` never show the dropped write.
"""

from . import broken_node, parallel_sibling
from ._scenario import Continue, Invoke, Resume, Scenario, Stream


# one task at a time: two would make the order of the chunks a matter of luck
def build(saver):
    return parallel_sibling.build(saver).with_config(max_concurrency=1)


def abuild(saver):
    return parallel_sibling.abuild(saver).with_config(max_concurrency=1)


def variant(name, title, first, *then, cases=()):
    return Scenario(
        name=name, title=title, build=build, abuild=abuild, story=(first, *then), topic="streams", cases=cases
    )


def stream(modes, **more):
    return Stream({"log": ["order"]}, modes=modes, **more)


MODES = ("values", "updates", "tasks", "checkpoints", "debug", "messages", "custom")

SCENARIOS = (
    *(
        variant(f"stream_{mode}", f"stream_mode={mode!r} at a pause", stream(mode), Resume("2"), cases=("A38",))
        for mode in MODES
    ),
    variant("stream_all_modes", "All stream modes at once", stream(MODES), Resume("2"), cases=("A38",)),
    variant(
        "stream_v2",
        "version='v2' of the stream: each chunk says its kind, namespace and interrupts",
        stream(("values", "updates"), options={"version": "v2"}),
        Resume("2", options={"version": "v2"}),
        cases=("A38",),
    ),
    variant(
        "invoke_v2",
        "version='v2' of invoke: the value and the interrupts come apart",
        Invoke({"log": ["order"]}, options={"version": "v2"}),
        Resume("2", options={"version": "v2"}),
        cases=("A38",),
    ),
    variant(
        "stream_stopped_early",
        "A caller that stops reading after the first chunk leaves the run unfinished",
        stream("values", stop_after=1),
        Continue(),
        Resume("2"),
    ),
    Scenario(
        name="stream_stopped_before_apply",
        title="A caller that stops at the chunk of `draft`: its write is saved as pending and applied later, without a run",
        build=broken_node.build,
        abuild=broken_node.abuild,
        story=(Stream(broken_node.QUESTION, stop_after=1), Continue(), Resume("approved")),
        topic="streams",
    ),
)
