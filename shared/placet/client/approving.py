"""Approvals of a run in one process, put to people through a Placet that runs elsewhere."""

from placet.client.asynchronous import AsyncClient
from placet.domain.interaction import ApprovalDecision, ApprovalRequest, InputState
from placet.domain.outcome import Outcome
from placet.domain.resolution import Input

WAIT = 25
"""Seconds that one request waits for the decision; then it is asked for again."""


class WebApprovalHandler:
    """An `ApprovalHandler`: people answer in the inbox, the command, or whatever else Placet has.

    The credential asks as a service, with the scope `runs:write`; the question names the run's own user
    as its initiator. The call waits in this process, and with it is lost; for what is to outlive the
    process, run the agent on a runner.
    """

    honours_policy = True
    """A quorum and four eyes are kept: the broker counts."""

    def __init__(self, client: AsyncClient) -> None:
        """Ask through this client."""
        self._client = client

    async def request(self, req: ApprovalRequest) -> ApprovalDecision | Outcome:
        """How people settled it; where nobody did, that says so. Raises the errors of `placet.errors`."""
        asked = _as_asked(req).model_dump(mode="json")
        while True:
            found = await self._client.transport.post(f"/v1/requests?wait={WAIT}", asked)
            settled = Input.model_validate(found)
            if settled.state is not InputState.PENDING:
                break
        return settled.resolution.outcome if settled.resolution else ApprovalDecision.DENIED


def _as_asked(req: ApprovalRequest) -> ApprovalRequest:
    """The request with names that are not Placet's own, and no offer that a decision can't carry."""
    return ApprovalRequest(
        id=req.id,
        call=req.call,
        risk=req.risk,
        schema_digest=req.schema_digest,
        message=req.message,
        agent_id=req.path[-1] if req.path else req.agent_id,
        run_id=f"in-process:{req.run_id}",
        path=req.path,
        stage=req.stage,
        context=req.context,
        audience=req.audience,
        requested_at=req.requested_at,
        expires_at=req.expires_at,
        on_expiry=req.on_expiry,
        policy=req.policy,
        priority=req.priority,
        labels=req.labels,
    )
