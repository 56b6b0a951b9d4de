"""A handler for tests that approves everything, and says so each time."""

import warnings

from placet.domain.interaction import ApprovalDecision, ApprovalRequest


class AutoApprovalHandler:
    """Approves every call. For tests alone: it warns each time, and a runner refuses it."""

    for_tests_alone = True

    async def request(self, req: ApprovalRequest) -> ApprovalDecision:
        """Approved."""
        warnings.warn(
            f"AutoApprovalHandler approved {req.call.tool} without a person", stacklevel=2
        )
        return ApprovalDecision.APPROVED
