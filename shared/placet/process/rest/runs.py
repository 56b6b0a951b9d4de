"""/v1/agents and /v1/runs."""

from typing import Any

from placet.domain.resolution import Input
from placet.domain.run import Run, RunStatus, WaitReason
from placet.messages.examples import AT, INPUT, RUN, approvals
from placet.process.rest.operation import Operation, as_json, page

AGENT = RUN.replace("run_", "agt_")


def operations() -> dict[str, Operation]:
    """By operation id."""
    queued, waiting = _run(RunStatus.QUEUED), _run(RunStatus.INPUT_REQUIRED)
    ended = _run(RunStatus.CANCELLED)
    told = {"text": "Use the replica instead", "mode": "queue"}
    return {
        "runner.start": Operation({"202": queued}, {"input": "Delete the staging database"}),
        "runner.runs": Operation({"200": page(waiting)}),
        "runner.run": Operation({"200": waiting}),
        "runner.tell": Operation({"202": waiting}, told),
        "runner.tell_run": Operation({"202": waiting}, told),
        "runner.abort": Operation({"200": ended}),
        "runner.abort_run": Operation({"200": ended}),
    }


def _run(status: RunStatus) -> Any:
    waits = status is RunStatus.INPUT_REQUIRED
    asked = Input(id=INPUT, request=approvals()["full"])
    return as_json(
        Run(
            id=RUN,
            agent_id=AGENT,
            agent="ops",
            status=status,
            wait_reasons=(WaitReason.TOOL_APPROVAL,) if waits else (),
            wait_reason=WaitReason.TOOL_APPROVAL if waits else None,
            inputs=(asked,) if waits else (),
            initiator="alice",
            root_run_id=RUN,
            path=("ops",),
            steps=1 if waits else 0,
            created_at=AT,
        )
    )
