"""One model call: the conversation goes out, a reply with ids of our own comes back."""

import orjson

from placet.agents.agent import Agent
from placet.agents.authored import ours_to_pass_on, said
from placet.agents.models import Conversation
from placet.domain.digest import check_storable
from placet.errors import Invalid, ModelError
from placet.kernel.journal import ModelReplied
from placet.kernel.state import State
from placet.kernel.turns import ModelReply

MAX_REPLY_BYTES = 524_288


async def ask_model(agent: Agent, state: State) -> ModelReplied:
    """The model's next reply as a journal entry. Raises ModelError.

    Providers repeat or leave out call ids, so each call gets one of ours, unique in its run.
    """
    instructions = state.started.instructions if state.started else agent.instructions
    conversation = Conversation(instructions, tuple(state.turns), agent.schemas)
    reply = await _reply(agent, conversation)
    step = state.steps + 1
    ids = {call.id: f"call_{step}_{n}" for n, call in enumerate(reply.calls, 1)}
    calls = tuple(
        call.model_copy(update={"id": f"call_{step}_{n}"}, deep=True)
        for n, call in enumerate(reply.calls, 1)
    )
    bad = tuple(
        result.model_copy(update={"call_id": ids[result.call_id]}) for result in reply.bad_calls
    )
    kept = reply.model_copy(update={"calls": calls, "bad_calls": bad})
    document = kept.model_dump(mode="python")
    try:
        check_storable(document)
        size = len(orjson.dumps(document))
    except (Invalid, TypeError) as error:
        raise ModelError(f"the model's reply can't be kept: {error}") from error
    if size > MAX_REPLY_BYTES:
        raise ModelError(
            f"the model's reply of {size} bytes is over the limit of {MAX_REPLY_BYTES}"
        )
    return ModelReplied(reply=kept)


async def _reply(agent: Agent, conversation: Conversation) -> ModelReply:
    """What the model says; whatever else it raises or returns is the model's failure, not ours."""
    name = agent.resolved_model.name
    try:
        reply = await agent.resolved_model.reply(conversation)
    except ModelError:
        raise
    except BaseException as error:
        if ours_to_pass_on(error):
            raise
        raise ModelError(f"{name}: {type(error).__name__}: {said(error)}"[:2000]) from error
    if not isinstance(reply, ModelReply):
        raise ModelError(f"{name} replied with {type(reply).__name__}, not with a ModelReply")
    return reply
