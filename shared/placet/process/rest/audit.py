"""/v1/audit: what happened to inputs."""

from typing import Any

from pydantic import BaseModel

from placet import audit
from placet.messages.examples import AT, INPUT, UNTIL
from placet.process.rest.operation import KEY, Operation

_SIGNING = audit.signing_key(KEY * 4)


class Audit(BaseModel):
    """What happened to an input, as a chain of hashes, and what was refused."""

    input_id: str
    history: list[dict[str, Any]]
    intact: bool
    flaws: list[str]
    refused: list[dict[str, Any]]
    refused_count: int


class AuditKey(BaseModel):
    """What exports of the audit trail are signed with."""

    key: str
    """Ed25519, in hex."""


def operations() -> dict[str, Operation]:
    """By operation id."""
    opened = audit.entry("", "opened", AT, by="service:placet-runner")
    shown = {
        "input_id": INPUT,
        "history": [opened],
        "intact": True,
        "flaws": [],
        "refused": [],
        "refused_count": 0,
    }
    return {
        "broker.audit": Operation({"200": shown}, shape=Audit),
        "broker.audit_key": Operation({"200": {"key": audit.public_key(_SIGNING)}}, shape=AuditKey),
        "broker.export_audit": Operation({"200": _exported(opened)}),
    }


def _exported(opened: audit.Entry) -> str:
    """An export of one input, which `placet audit verify` finds whole."""
    export = audit.Export(_SIGNING)
    line = {
        "id": INPUT,
        "opened_at": AT,
        "history": [opened],
        "request": "",
        "outcome": "",
        "rev": 0,
    }
    return (export.line(line) + export.end(UNTIL)).decode()
