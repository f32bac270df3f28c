"""What people believe about a pause, by name. Each is met by a question or an exercise of the course, see the tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Misconception:
    """id: its name. belief: what one thinks, as one would say it. truth: the answer to it, in plain words."""

    id: str
    belief: str
    truth: str


_ALL = (
    Misconception(
        "returned_is_saved",
        "invoke shows it, so it is saved",
        "What invoke() returns and what the checkpointer holds are two things. At a pause LangGraph applies "
        "the task's writes once more, only to make the returned value. Ask get_state() what is saved.",
    ),
    Misconception(
        "resumes_at_its_line",
        "interrupt resumes at its line",
        "The node runs again from its first line. interrupt() then gives the answer back instead of stopping. "
        "What stands before it happens once more.",
    ),
    Misconception(
        "empty_result",
        "`result: {}` means nothing was written",
        "The stream reports what commit handed on. The node did write: task.writes holds it. Because the node "
        "stopped at interrupt(), commit handed on only the question.",
    ),
    Misconception(
        "durability_saves",
        "another durability mode would save it",
        "The mode says when checkpoints and pending writes go to the checkpointer. commit has left the write "
        "out before that, so there is nothing to save in any mode.",
    ),
    Misconception(
        "only_duplicates",
        "the filter is there only against duplicates",
        "A task with saved writes counts as finished and does not run again. Then nobody would take the "
        "answer: that is the deeper reason.",
    ),
    Misconception(
        "update_keeps_question",
        "update_state keeps the question",
        "update_state makes a new checkpoint. The question was a pending write of the old one, so get_state() "
        "shows no interrupt any more.",
    ),
    Misconception(
        "answers_what_i_see",
        "Command(resume) answers the question I see",
        "A bare answer goes to whoever takes it first: the next interrupt() that runs, seen or not. With "
        "several questions it is refused. Answer by interrupt id.",
    ),
    Misconception(
        "history_is_live",
        "get_state and history show the same",
        "get_state(thread) is live: it applies the pending writes of finished siblings. The history shows the "
        "record: the checkpoint as it was made, and all tasks as next.",
    ),
    Misconception(
        "siblings_run_again",
        "finished siblings run again after a resume",
        "A finished sibling's writes wait as pending writes of its task. The resume takes them from there; "
        "only the interrupted node runs again.",
    ),
    Misconception(
        "except_is_harmless",
        "a try/except around my tool is harmless",
        "A pause travels as a GraphInterrupt, which is an Exception. `except Exception` swallows it: no "
        "pause, and the node goes on without an answer.",
    ),
    Misconception(
        "mutation_is_a_write",
        "mutating the state is a write",
        "Only what is returned or sent enters task.writes. A change in place goes past LangGraph: whether it "
        "shows up later is undefined.",
    ),
    Misconception(
        "shown_is_stored",
        "the person saw the question, so it is stored",
        "The stream hands the question out before its save has been waited for, and \"exit\" saves only when the run "
        "is left. Only when invoke() has returned, or the stream has ended, is it there for sure.",
    ),
    Misconception(
        "async_is_soon_enough",
        "async saves at once, so what came before is there",
        "\"async\" saves on another thread while the graph goes on. When the process dies, the saves under way die "
        "with it.",
    ),
    Misconception(
        "before_interrupt_is_saved",
        "what comes before interrupt() is done, so it is saved",
        "A node's writes are committed when the node ends, all together. At interrupt() the node has not "
        "ended.",
    ),
    Misconception(
        "returned_is_in_state",
        "the node has returned, so its write is in the state",
        "A node fills task.writes. commit makes that pending, and only after_tick applies it, when all tasks of the "
        "superstep are done.",
    ),
    Misconception(
        "siblings_see",
        "a node sees what another wrote just before it",
        "Not in the same superstep: each task gets the state as it was at tick. What is written is seen in the "
        "next superstep.",
    ),
    Misconception(
        "first_come",
        "who finishes first is applied first",
        "after_tick waits for all tasks of the superstep and applies their writes in a fixed order.",
    ),
    Misconception(
        "other_key_is_safe",
        "only messages are lost; my own key would be kept",
        "commit leaves out every write of the task, whichever channel it goes to.",
    ),
    Misconception(
        "side_effects_once",
        "a side effect before interrupt() happens once",
        "A pause takes nothing back, and the node runs again from its first line: so it happens twice. Put it in a "
        "node of its own, or after the answer.",
    ),
    Misconception(
        "key_made_in_the_node",
        "with an idempotency key nothing happens twice",
        "Only if both runs have the same key. A key that the node makes itself is another one when the node runs "
        "again. Take it from the state.",
    ),
    Misconception(
        "question_at_breakpoint",
        "interrupt_before asks a question",
        "interrupt_before stops the run before the node starts. Nobody called interrupt(): there is no "
        "question, and nothing that takes an answer.",
    ),
    Misconception(
        "resume_always_answers",
        "Command(resume=...) always brings the answer in",
        "Only interrupt() takes an answer. If no node calls it, the answer goes nowhere, and nothing says so.",
    ),
    Misconception(
        "as_paused_node_is_right",
        "as_node should name the node that is paused",
        "as_node says who made the update. Made as the paused node, it counts as that node's result: the node "
        "is done, and the answer goes nowhere.",
    ),
    Misconception(
        "subgraph_resumes_outer",
        "only the inner node runs again, not the function that calls the subgraph",
        "The subgraph goes on inside. The function that called it is a node of the parent, and runs again "
        "from its top.",
    ),
    Misconception(
        "other_tools_wait",
        "one tool asks, so only that tool runs again",
        "All tool calls of one ToolNode task are one task. It runs again as a whole, also the tools that had "
        "finished.",
    ),
    Misconception(
        "called_is_run",
        "the model has called the tool, so it has run",
        "The model only asks for a tool. The middleware's node stands between model and tools: what the person rejects "
        "there is not run.",
    ),
    Misconception(
        "reject_stops_all",
        "what the person has rejected is never run",
        "The no holds in the node that asked. A node after it that goes to the tools all the same runs the rejected "
        "call.",
    ),
)

MISCONCEPTIONS: dict[str, Misconception] = {m.id: m for m in _ALL}
