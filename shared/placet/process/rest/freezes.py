"""/v1/freezes: calls that are kept from starting."""

from placet.domain.freeze import Freeze
from placet.messages.examples import AT, UNTIL
from placet.process.rest.operation import KEY, REF, Operation, as_json, page


def operations() -> dict[str, Operation]:
    """By operation id."""
    made = Freeze(
        id="frz_" + KEY * 2,
        agent="ops",
        tools=("wire",),
        reason="The bank looks into a payment",
        by="alice",
        at=AT,
    )
    shown = as_json(made)
    lifted = as_json(made.model_copy(update={"lifted_by": "alice", "lifted_at": UNTIL}))
    sent = {name: shown[name] for name in ("reason", "agent", "tools")}
    of_the_route = {"$ref": REF.format(model="Freeze")}
    return {
        "broker.freeze": Operation({"200": shown, "201": shown}, sent, of_the_route),
        "broker.list_freezes": Operation({"200": page(shown)}),
        "broker.get_freeze": Operation({"200": shown}),
        "broker.lift": Operation({"200": lifted}),
    }
