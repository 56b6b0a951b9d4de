"""What a call will act on, as it was when a person was asked: a file's hash, a row's version."""

import asyncio
import hashlib
import inspect

from placet.agents.agent import Agent
from placet.agents.authored import ours_to_pass_on, said
from placet.agents.tool import Tool
from placet.domain.visible import storable_text
from placet.kernel.call import CallState
from placet.kernel.journal import ResourceDrifted

LONGEST = 200


async def fingerprint_of(tool: Tool | None, call: CallState) -> str | None:
    """The tool's own fingerprint of what this call acts on; None where it has none.

    The author's function only reads. What it raises becomes part of the fingerprint, so that a
    resource that could be read before and can't be now has changed.
    """
    if tool is None or tool.fingerprint is None:
        return None
    args = call.call.model_copy(deep=True).args
    try:
        if inspect.iscoroutinefunction(tool.fingerprint):
            found = await tool.fingerprint(args)
        else:
            found = await asyncio.to_thread(tool.fingerprint, args)
            found = await found if inspect.isawaitable(found) else found
        return _shortened(storable_text(str(found)))
    except BaseException as error:
        if ours_to_pass_on(error):
            raise
        return f"unreadable: {said(error, LONGEST)}"


def _shortened(text: str) -> str:
    """Its beginning and the hash of all of it, so that no change is missed."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}... (sha256 {hashlib.sha256(text.encode()).hexdigest()})"


async def drift_of(agent: Agent, call: CallState) -> ResourceDrifted | None:
    """What to note if the thing that was approved is not the same any more."""
    if call.approval is None or call.approval.fingerprint is None:
        return None
    if call.approval.outcome and call.approval.outcome.args is not None:
        return None  # taken of what was proposed, and the approver chose something else
    now = await fingerprint_of(agent.toolbox.get(call.call.tool), call)
    if now is None or now == call.approval.fingerprint:
        return None
    return ResourceDrifted(call_id=call.call.id, was=call.approval.fingerprint, now=now)
