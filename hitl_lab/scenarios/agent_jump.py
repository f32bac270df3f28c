"""Beside the human-in-the-loop middleware stands another one that jumps to the tools by itself.

after_model hooks run in reverse order, so the jumping one, listed first, runs last: after the person's "no" it sends
the rejected call to the tools, and the mail goes out.
"""

from langchain_core.messages import ToolMessage

from ._scenario import Invoke, Resume, Scenario
from .agent_approval import ASK, ScriptedModel, send_mail


def build(saver):
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware, after_model

    @after_model(can_jump_to=["tools"])
    def jump(state, runtime):
        return {"jump_to": "tools"} if asks_for_tool(state) else None

    approval = HumanInTheLoopMiddleware(interrupt_on={"send_mail": True})
    return create_agent(ScriptedModel(), [send_mail], middleware=[jump, approval], checkpointer=saver)


def asks_for_tool(state):
    last = state["messages"][-1]
    return isinstance(last, ToolMessage) or bool(getattr(last, "tool_calls", None))


SCENARIO = Scenario(
    name="agent_jump",
    title="A rejected tool call is executed after all, by another middleware's jump",
    build=build,
    story=(Invoke(ASK), Resume({"decisions": [{"type": "reject", "message": "No."}]})),
    topic="agents",
    cases=("A33",),
    needs=("import langchain.agents",),
)
