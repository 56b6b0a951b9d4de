"""What a call will act on, as it was when a person was asked: a file's hash, a row's version."""

import asyncio
import inspect

from placet.agents.agent import Agent
from placet.agents.authored import ours_to_pass_on, said
from placet.agents.tool import Tool
from placet.kernel.journal import ResourceDrifted
from placet.kernel.state import CallState

LONGEST = 500


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
    except BaseException as error:
        if ours_to_pass_on(error):
            raise
        return f"unreadable: {said(error, LONGEST)}"
    return str(found)[:LONGEST]


async def drift_of(agent: Agent, call: CallState) -> ResourceDrifted | None:
    """What to note if the thing that was approved is not the same any more."""
    if call.approval is None or call.approval.fingerprint is None:
        return None
    now = await fingerprint_of(agent.toolbox.get(call.call.tool), call)
    if now is None or now == call.approval.fingerprint:
        return None
    return ResourceDrifted(call_id=call.call.id, was=call.approval.fingerprint, now=now)
