"""/v1/runs/{id}/grants and /v1/agents/{id}/trust: what was allowed beyond one call."""

from placet.domain.grant import GivenGrant
from placet.domain.person import Person
from placet.messages.examples import AT, INPUT, UNTIL
from placet.process.rest.operation import KEY, Operation, as_json, page


def operations() -> dict[str, Operation]:
    """By operation id."""
    given = GivenGrant(
        id="grt_" + KEY * 2,
        tool="bash",
        keys=("git status",),
        scope="run",
        by=Person(id="bob"),
        at=AT,
        input_id=INPUT,
        uses=2,
    )
    taken = given.model_copy(update={"revoked_at": UNTIL, "revoked_by": "alice"})
    return {
        "runner.list_grants": Operation({"200": page(as_json(given))}),
        "runner.revoke": Operation({"200": as_json(taken)}),
        "runner.list_trust": Operation({"200": page("search", "translate")}),
        "runner.end_trust": Operation({"200": page("search")}),
    }
