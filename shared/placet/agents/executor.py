"""One execution of one call: alike in every runtime."""

import asyncio

from pydantic_core import PydanticSerializationError, to_jsonable_python

from placet.agents.context import Asked, Context
from placet.agents.tool import Tool
from placet.kernel.asking import Asker
from placet.kernel.state import CallState
from placet.kernel.turns import CallOutcome, CallResult

MAX_RESULT_BYTES = 1_048_576


def context_for(asker: Asker, call: CallState) -> Context:
    """What the tool is given for its next attempt."""
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
    )


async def execute(tool: Tool, call: CallState, context: Context) -> CallResult | Asked:
    """Run the tool with exactly the arguments of the call, and say what came of it.

    What the tool raises becomes a result that the model reads; cancellation goes through.
    """
    args = call.call.model_copy(deep=True).args
    seconds = tool.timeout.total_seconds() if tool.timeout else None
    try:
        async with asyncio.timeout(seconds):
            value = await tool(context, args)
    except Asked as asked:
        return asked
    except TimeoutError as error:
        what = (
            f"{tool.name} took longer than {seconds:g} s" if seconds else f"TimeoutError: {error}"
        )
        return _result(call, CallOutcome.ERROR, what)
    except Exception as error:  # noqa: BLE001 - whatever a tool raises goes to the model
        return _result(call, CallOutcome.ERROR, str(error) or type(error).__name__)
    return _packed(call, value)


def _packed(call: CallState, value: object) -> CallResult:
    try:
        content = to_jsonable_python(value)
        size = len(str(content))
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        return _result(call, CallOutcome.ERROR, f"It ran; its result is no JSON: {error}")
    if size > MAX_RESULT_BYTES:
        text = f"It ran; its result of {size} characters is over the limit of {MAX_RESULT_BYTES}."
        return _result(call, CallOutcome.ERROR, text)
    return _result(call, CallOutcome.OK, content)


def _result(call: CallState, outcome: CallOutcome, content: object) -> CallResult:
    return CallResult(call_id=call.call.id, tool=call.call.tool, outcome=outcome, content=content)
