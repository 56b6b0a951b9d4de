"""What a person trusts outlives the run in which it was said: read at its start, kept once written."""

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from placet.agents.agent import Agent
from placet.agents.situation import started
from placet.errors import Unavailable
from placet.gate.names import same_tool
from placet.kernel.journal import TrustGiven
from placet.messages import EventType
from placet.process import logs
from placet.process.backoff import waits
from placet_runner.rules.families import heritage_of
from placet_runner.usecases.grip import FIRST_WAIT, LONGEST_WAIT, Grip

P = ParamSpec("P")
T = TypeVar("T")

_log = logs.get(__name__)


async def begin(agent: Agent, grip: Grip) -> None:
    """The first holder writes down what the run goes on with: prompt, tools, and what is trusted."""
    if grip.state.started is not None:
        return
    trusted = await _trusted_before(agent, grip)
    grip.note(started(agent, heritage_of(grip.image.document)))
    for entry in trusted:
        grip.note(entry)
    grip.event(EventType.RUN_STARTED)


async def keep_trust(grip: Grip) -> None:
    """Trust that a write of this run has stored is kept for the runs after it; once, however often."""
    document = grip.image.document
    keep = grip.hand.agents.keep_trust
    while grip.given:
        await _patiently(grip, keep, document["namespace"], document["agent_id"], grip.given[0])
        grip.given = grip.given[1:]


async def _trusted_before(agent: Agent, grip: Grip) -> list[TrustGiven]:
    """What the initiator trusts by now; for a tool that has changed since, it ends."""
    document, agents = grip.image.document, grip.hand.agents
    who = (document["namespace"], document["agent_id"], document["initiator"])
    if not agent.policy.trusts or document["initiator"] is None:
        return []
    known = await _patiently(grip, agents.trusted, *who)
    now = {same_tool(name): tool.facts.schema_digest for name, tool in agent.toolbox.items()}
    for tool, digest in known.items():
        if now.get(tool, digest) != digest:
            await _patiently(grip, agents.end_trust, *who, tool, digest)
    return [
        TrustGiven(tool=tool, schema_digest=digest, person=document["initiator"])
        for tool, digest in known.items()
        if now.get(tool) == digest
    ]


async def _patiently(
    grip: Grip, step: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs
) -> T:
    """Wait while the database is away, as a write does; the lease runs out meanwhile if it must."""
    for wait in waits(FIRST_WAIT, LONGEST_WAIT):
        try:
            return await step(*args, **named)
        except Unavailable as error:
            _log.warning("trust_waits", run_id=grip.image.id, reason=str(error))
            await grip.hand.clock.sleep(wait)
    raise AssertionError
