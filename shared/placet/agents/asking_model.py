"""One model call: the conversation goes out, a reply with ids of our own comes back."""

from placet.agents.agent import Agent
from placet.agents.models import Conversation
from placet.errors import ModelError
from placet.kernel.journal import ModelReplied
from placet.kernel.state import State

MAX_REPLY_BYTES = 524_288


async def ask_model(agent: Agent, state: State) -> ModelReplied:
    """The model's next reply as a journal entry. Raises ModelError.

    Providers repeat or leave out call ids, so each call gets one of ours, unique in its run.
    """
    instructions = state.started.instructions if state.started else agent.instructions
    conversation = Conversation(instructions, tuple(state.turns), agent.schemas)
    reply = await agent.resolved_model.reply(conversation)
    step = state.steps + 1
    ids = {call.id: f"call_{step}_{n}" for n, call in enumerate(reply.calls, 1)}
    calls = tuple(
        call.model_copy(update={"id": f"call_{step}_{n}"}) for n, call in enumerate(reply.calls, 1)
    )
    bad = tuple(
        result.model_copy(update={"call_id": ids[result.call_id]}) for result in reply.bad_calls
    )
    kept = reply.model_copy(update={"calls": calls, "bad_calls": bad})
    size = len(kept.model_dump_json())
    if size > MAX_REPLY_BYTES:
        raise ModelError(
            f"the model's reply of {size} bytes is over the limit of {MAX_REPLY_BYTES}"
        )
    return ModelReplied(reply=kept)
