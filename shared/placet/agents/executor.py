"""One execution of one call: alike in every runtime."""

import asyncio

import orjson
from pydantic_core import PydanticSerializationError, to_jsonable_python

from placet.agents.authored import ours_to_pass_on, said
from placet.agents.context import Asked, Context
from placet.agents.tool import Tool
from placet.domain.digest import check_storable
from placet.domain.label import highest
from placet.errors import Invalid
from placet.kernel.asking import Asker
from placet.kernel.call import CallState
from placet.kernel.turns import CallOutcome, CallResult
from placet.sealing import Sealer

MAX_RESULT_BYTES = 262_144
SWALLOWED = (
    "The tool asked a person and went on without an answer: an ask ends the call, so it must not be "
    "caught, nor raised in a task or thread of the tool's own. What it did meanwhile is unknown."
)


def context_for(
    asker: Asker, call: CallState, *, sealer: Sealer | None = None, attended: bool = True
) -> Context:
    """What the tool is given for its next attempt.

    Args:
        asker: the run.
        call: the call, with the answers to what it asked so far.
        sealer: opens sealed answers. A runtime whose runs outlive the process brings its own, with a
            key that does too; without one, what is sealed can be opened in this process alone.
        attended: whether anybody is to be asked; if not, asks return False or None at once.
    """
    approval = call.approval.resolution if call.approval else None
    return Context(
        agent_id=asker.agent_id,
        agent=asker.agent,
        run_id=asker.run_id,
        namespace=asker.namespace,
        call_id=call.call.id,
        user=asker.initiator,
        idempotency_key=asker.key(call.call.id),
        attempt=call.attempt,
        approval=approval,
        _answers=tuple(call.asks),
        _in_run=True,
        _attended=attended,
        _sealer=sealer,
    )


async def execute(tool: Tool, call: CallState, context: Context) -> CallResult | Asked:
    """Run the tool with exactly the arguments of the call, and say what came of it.

    What the tool raises becomes a result that the model reads; cancellation goes through.
    """
    result = await _executed(tool, call, context)
    if isinstance(result, Asked):
        return result
    # Also what it raised, which may quote what it read.
    return result.model_copy(update={"label": highest(tool.label, context.taint)})


async def _executed(tool: Tool, call: CallState, context: Context) -> CallResult | Asked:
    args = call.call.model_copy(deep=True).args
    seconds = tool.timeout.total_seconds() if tool.timeout else None
    try:
        async with asyncio.timeout(seconds):
            value = await tool(context, args)
    except Asked as asked:
        return asked
    except BaseException as error:
        if ours_to_pass_on(error):
            raise  # the run is lost or was aborted
        late = isinstance(error, TimeoutError) and seconds is not None and not str(error)
        what = f"{tool.name} took longer than {seconds:g} s" if late else said(error)
        return _result(call, CallOutcome.ERROR, SWALLOWED if context.raised else what)
    if context.raised:
        return _result(call, CallOutcome.ERROR, SWALLOWED)
    return _packed(call, _told(call, value))


def cut_off(call: CallState) -> CallResult:
    """What is told of a call whose tool cancelled the very task that ran it."""
    return _result(call, CallOutcome.ERROR, "The tool cancelled itself.")


def _told(call: CallState, value: object) -> object:
    """The result, with what really ran where a person changed what the model wanted."""
    if call.proposed is None:
        return value
    return {
        "note": "A person changed the arguments before it ran.",
        "ran_with": call.call.args,
        "result": value,
    }


def _packed(call: CallState, value: object) -> CallResult:
    try:
        content = to_jsonable_python(value)
        check_storable(content)
        size = len(orjson.dumps(content))
    except (PydanticSerializationError, Invalid, ValueError, TypeError, RecursionError) as error:
        return _result(call, CallOutcome.ERROR, f"It ran; its result can't be kept: {error}"[:1000])
    if size > MAX_RESULT_BYTES:
        text = f"It ran; its result of {size} bytes is over the limit of {MAX_RESULT_BYTES}."
        return _result(call, CallOutcome.ERROR, text)
    return _result(call, CallOutcome.OK, content)


def _result(call: CallState, outcome: CallOutcome, content: object) -> CallResult:
    return CallResult(call_id=call.call.id, tool=call.call.tool, outcome=outcome, content=content)
