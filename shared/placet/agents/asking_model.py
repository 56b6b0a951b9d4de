"""One model call: the conversation goes out, a reply with ids of our own comes back."""

import re
from collections.abc import Mapping

import orjson

from placet.agents.agent import Agent
from placet.agents.authored import ours_to_pass_on, said
from placet.agents.models import Conversation, Model
from placet.agents.situation import situation
from placet.domain.digest import check_storable
from placet.domain.interaction import ToolCall
from placet.domain.stage import Stage
from placet.errors import Invalid, ModelError
from placet.kernel.journal import ModelReplied
from placet.kernel.staging import Region
from placet.kernel.state import State
from placet.kernel.turns import CallOutcome, CallResult, ModelReply

MAX_REPLY_BYTES = 524_288
MOST_CALLS = 32
"""Calls of one turn that are made: what each of them may ask and be answered is held until all have."""


_EDITED = " edited-by='user'"
_FENCE = re.compile(r"<(/?region)", re.IGNORECASE)


async def ask_model(agent: Agent, state: State) -> ModelReplied:
    """The model's next reply as a journal entry. Raises ModelError.

    Providers repeat or leave out call ids, so each call gets one of ours, unique in its run.
    """
    here = situation(agent, state)
    parts = (*_prompt(agent, here.stage, state), *_pinned(state.regions))
    said = "\n\n".join(part for part in parts if part)
    conversation = Conversation(said, tuple(state.turns), here.schemas)
    reply = await _reply(here.model, conversation)
    step = state.steps + 1
    ids = {call.id: f"call_{step}_{n}" for n, call in enumerate(reply.calls, 1)}
    calls = tuple(
        call.model_copy(update={"id": f"call_{step}_{n}"}, deep=True)
        for n, call in enumerate(reply.calls, 1)
    )
    bad = tuple(
        result.model_copy(update={"call_id": ids[result.call_id]}) for result in reply.bad_calls
    )
    unread = {result.call_id for result in bad}
    more = tuple(_too_many(call) for call in calls[MOST_CALLS:] if call.id not in unread)
    kept = reply.model_copy(update={"calls": calls, "bad_calls": (*bad, *more)})
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


def _too_many(call: ToolCall) -> CallResult:
    told = f"It was not made: at most {MOST_CALLS} calls are made in one turn. Make it in another."
    return CallResult(call_id=call.id, tool=call.tool, outcome=CallOutcome.ERROR, content=told)


def _prompt(agent: Agent, stage: Stage, state: State) -> tuple[str, str]:
    """The agent's words and the stage's, as they were when the run began."""
    if state.started is None:
        return agent.instructions, stage.instructions
    then = state.started.stage_instructions.get(stage.name, stage.instructions)
    return state.started.instructions, then


def _pinned(regions: Mapping[str, Region]) -> list[str]:
    """The pinned regions, each fenced under its name: a text can't end its own, or begin another."""
    return [
        f"<region name='{name}'{_EDITED if region.edited else ''}>\n{_fenced(region.text)}\n</region>"
        for name, region in regions.items()
    ]


def _fenced(text: str) -> str:
    return _FENCE.sub(r"<\\\1", text)


async def _reply(model: Model, conversation: Conversation) -> ModelReply:
    """What the model says; whatever else it raises or returns is the model's failure, not ours."""
    name = model.name
    try:
        reply = await model.reply(conversation)
    except ModelError:
        raise
    except BaseException as error:
        if ours_to_pass_on(error):
            raise
        raise ModelError(f"{name}: {type(error).__name__}: {said(error)}"[:2000]) from error
    if not isinstance(reply, ModelReply):
        raise ModelError(f"{name} replied with {type(reply).__name__}, not with a ModelReply")
    return reply
