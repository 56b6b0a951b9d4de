"""Fuzzed requests, brought near to what is served: else nearly all of them would name nothing.

Most of what is drawn stays as it was drawn; a request in three is left alone altogether.
"""

import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.contract.serving import CALLER
from tests.contract.supplies import HOOK, Place

Change = Callable[[dict[str, Any], Place], dict[str, Any]]


def aim(case: Any, places: Sequence[Place]) -> None:
    """Name something that exists in two of three cases, ask just now, never wait for a minute."""
    drawn = zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode())
    _wait_briefly(case, drawn)
    _spare_the_caller(case)
    if drawn % 3 == 0:
        return
    place = places[drawn // 3 % len(places)] if places else {}
    for name in case.path_parameters or {}:
        case.path_parameters[name] = place.get(name, case.path_parameters[name])
    _be_conditional(case, drawn // 7)
    change = CHANGES.get((case.method, case.path))
    if change is not None and isinstance(case.body, dict) and drawn // 11 % 4:
        case.body = change(case.body, place)


def _wait_briefly(case: Any, drawn: int) -> None:
    if (case.query or {}).get("wait") is not None:
        case.query["wait"] = case.query["wait"] if drawn % 2 and _refused(case.query["wait"]) else 0


def _spare_the_caller(case: Any) -> None:
    """Words of the source are drawn too: who is disabled would be let in no more, for all that follows."""
    if "/people/" in case.path and case.path_parameters.get("id") == CALLER:
        case.path_parameters["id"] = "somebody"


def _be_conditional(case: Any, drawn: int) -> None:
    if case.method in ("PUT", "DELETE") and "/definitions/" in case.path and drawn % 4:
        header = "If-Match" if drawn % 4 > 1 else "If-None-Match"
        case.headers = {**(case.headers or {}), header: "*"}


def _refused(wait: Any) -> bool:
    try:
        return not 0 <= float(wait) <= 60
    except (TypeError, ValueError):
        return True


def _in(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def _with(**fields: Any) -> Change:
    return lambda body, _place: {**body, **fields}


def _without(*names: str) -> Change:
    return lambda body, _place: {k: v for k, v in body.items() if k not in names}


def _decline(body: dict[str, Any], _place: Place) -> dict[str, Any]:
    kept = {name: value for name, value in body.items() if name not in ("from", "digest")}
    return {**kept, "action": "decline"}


def _decline_one(body: dict[str, Any], place: Place) -> dict[str, Any]:
    return {**body, "answers": [{"id": place["id"], "action": "decline"}]}


def _asked_now(body: dict[str, Any], _place: Place) -> dict[str, Any]:
    kept = {k: v for k, v in body.items() if k not in ("context_digest", "audience", "policy")}
    return {**kept, "requested_at": datetime.now(UTC).isoformat(), "expires_at": None}


def _later(body: dict[str, Any], _place: Place) -> dict[str, Any]:
    return {"expires_at": _in(8 + len(str(body)) % 20)}


def _to_somebody(body: dict[str, Any], _place: Place) -> dict[str, Any]:
    """Whom no other request disabled."""
    return {"to": f"deputy-{zlib.crc32(repr(body).encode())}", "until": _in(2)}


_DEFINITION = _with(model="openai:gpt-5", delegates=["ops"])
CHANGES: dict[tuple[str, str], Change] = {
    ("POST", "/v1/inputs"): _decline_one,
    ("POST", "/v1/agents/{agent}/inputs"): _decline_one,
    ("POST", "/v1/inputs/{id}"): _decline,
    ("POST", "/v1/agents/{agent}/inputs/{id}"): _decline,
    ("POST", "/v1/inputs/{id}/extend"): _later,
    ("POST", "/v1/inputs/{id}/claim"): _without("from"),
    ("POST", "/v1/inputs/{id}/release"): _without("from"),
    ("POST", "/v1/inputs/{id}/links"): _with(person=CALLER, action="accept", content=True),
    ("POST", "/v1/requests"): _asked_now,
    ("PUT", "/v1/definitions/{name}"): _DEFINITION,
    ("PUT", "/v1/people/{id}"): _without("identities", "name", "email"),
    ("PUT", "/v1/groups/{name}"): _with(members=["ann", "ben"]),
    ("POST", "/v1/delegations"): _to_somebody,
    ("POST", "/v1/freezes"): _without("agent", "tools"),
    ("POST", "/v1/keys"): lambda body, _place: {
        "name": body.get("name"),
        "service": "spare",
        "scopes": [],
    },
    ("POST", "/v1/webhooks"): lambda body, _place: {**body, "url": HOOK, "types": []},
    ("POST", "/v1/agents/{agent}/runs"): _without("user", "unattended"),
    ("POST", "/v1/agents/{agent}/messages"): _without("user"),
    ("POST", "/v1/runs/{run_id}/messages"): _without("user"),
}
"""By method and path: what a body is changed to so that it can be served."""
