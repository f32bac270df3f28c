"""The rules behind `trace.findings`: each takes a `Case` and yields findings of one code."""

from collections.abc import Callable, Iterator

from hitl_lab.findings import Finding
from hitl_lab.rules import answers, pauses, storage, writes
from hitl_lab.rules._case import Case

RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    writes.dropped,
    writes.phantom,
    writes.discarded,
    writes.failed_attempt,
    writes.taken_for_finished,
    writes.mutated,
    pauses.sibling_again,
    pauses.skipped,
    pauses.swallowed,
    pauses.new_input,
    pauses.stuck_breakpoint,
    pauses.repeated_effect,
    pauses.outside_context,
    pauses.endless,
    answers.lost,
    answers.before_question,
    answers.other_question,
    answers.several_questions,
    storage.no_checkpointer,
    storage.not_stored,
)
