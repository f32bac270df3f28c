"""create_agent with the human-in-the-loop middleware: a person approves, edits or rejects a tool call.

The model is a script, so it needs no key and no network. The question is asked in a node of the middleware's own,
between the model and the tools: the model does not run again, and a rejected call is not executed.
"""

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from ._scenario import Invoke, Resume, Scenario, Stream


class ScriptedModel(BaseChatModel):
    """Calls the tool in answer to a person, and ends the talk in answer to anything else."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):  # noqa: D102 - LangChain's own method
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if messages[-1].type == "human":
            asked = {"name": "send_mail", "args": {"to": "Ada"}, "id": "call1", "type": "tool_call"}
            message = AIMessage("", id="a1", tool_calls=[asked])
        else:
            message = AIMessage(f"Done: {messages[-1].content}", id="a2")
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"mail sent to {to}"


def build(saver):
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    approval = HumanInTheLoopMiddleware(interrupt_on={"send_mail": True})
    return create_agent(ScriptedModel(), [send_mail], middleware=[approval], checkpointer=saver)


ASK = {"messages": [HumanMessage("Write to Ada.", id="h1")]}


def variant(name, title, decision, first=None):
    return Scenario(
        name=name,
        title=title,
        build=build,
        story=(first or Invoke(ASK), Resume({"decisions": [decision]})),
        topic="agents",
        cases=("A32",),
        needs=("import langchain.agents",),
    )


EDITED = {"name": "send_mail", "args": {"to": "Grace"}}

SCENARIOS = (
    variant("agent_approved", "An agent's tool call, approved", {"type": "approve"}),
    variant("agent_edited", "An agent's tool call, edited", {"type": "edit", "edited_action": EDITED}),
    variant(
        "agent_rejected", "An agent's tool call, rejected: it is not executed", {"type": "reject", "message": "No."}
    ),
    variant(
        "agent_streamed",
        "An agent's tool call, streamed message by message, then approved",
        {"type": "approve"},
        Stream(ASK, modes=("messages", "updates")),
    ),
)
