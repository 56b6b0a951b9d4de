"""What a run proposes to write for the calls and the points that need people or other runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from placet.agents.agent import Agent
from placet.agents.delegating import births
from placet.domain.interaction import ApprovalRequest, InteractionRequest
from placet.gate import Level
from placet.kernel import State
from placet.kernel.asking import Asker, at_point, opened, presented
from placet.kernel.call import CallState
from placet.kernel.journal import Delegated
from placet.kernel.staging import Present
from placet_runner.rules.families import child_entry, start_entry
from placet_runner.rules.runs import request_entry, waiting_entry
from placet_runner.usecases.grip import Proposal


def asking(
    pairs: Sequence[tuple[InteractionRequest, CallState]],
    *,
    seen: Mapping[str, str | None] | None = None,
    changed_to: Mapping[str, str] | None = None,
) -> Proposal:
    """These questions of these calls.

    Args:
        pairs: each question with the call that it is about.
        seen: the fingerprints of what approvals act on, by call.
        changed_to: the digests of the schemas that reviews of changed tools are about, by call.
    """
    prints, changed = seen or {}, changed_to or {}
    return Proposal(
        entries=[
            opened(
                request,
                call,
                prints.get(call.call.id) if isinstance(request, ApprovalRequest) else None,
                changed_to=changed.get(call.call.id, ""),
            )
            for request, call in pairs
        ],
        asks=[
            waiting_entry(request, call.call.id, tainted=_for_its_data(request, call))
            for request, call in pairs
        ],
        sent=[request_entry(request) for request, _ in pairs],
    )


def _for_its_data(request: InteractionRequest, call: CallState) -> bool:
    """Whether a question is asked for the data alone that the call would carry out."""
    leaks = call.verdict is not None and call.verdict.level is Level.TAINT
    return leaks and isinstance(request, ApprovalRequest)


def presenting(asker: Asker, state: State, present: Present, now: datetime) -> Proposal:
    """The question of a point."""
    request = at_point(asker, state.stage, present, now)
    return Proposal(
        entries=presented(request, present, state),
        asks=[waiting_entry(request, "", present.point.name)],
        sent=[request_entry(request)],
    )


def delegating(agent: Agent, asker: Asker, state: State, calls: Sequence[Delegated]) -> Proposal:
    """The child runs of these calls."""
    born = [
        (child.run_id, birth)
        for entry in calls
        for child, birth in zip(entry.children, births(agent, asker, state, entry), strict=True)
    ]
    return Proposal(
        entries=calls,
        asks=[child_entry(run_id, birth) for run_id, birth in born],
        sent=[start_entry(run_id, asker.namespace, birth) for run_id, birth in born],
    )
