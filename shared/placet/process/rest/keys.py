"""/v1/keys: credentials."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from placet.process.rest.operation import KEY, MADE, Operation, page


class Credential(BaseModel):
    """A key, or what an AMQP user stands for; without its secret."""

    id: str
    kind: Literal["key", "amqp"]
    name: str
    namespace: str
    person: str | None
    service: str | None
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None


class CredentialMade(BaseModel):
    """A new credential; the key is shown this once."""

    record: Credential
    key: str | None = None


class CredentialPage(BaseModel):
    """The credentials of a namespace, newest first."""

    items: list[Credential]
    next_cursor: str | None


class CredentialRevoked(BaseModel):
    """A credential that is worthless from now on."""

    record: Credential


class OwnCredential(BaseModel):
    """What the caller's credential is."""

    id: str
    namespace: str
    person: bool
    scopes: list[str]


def operations() -> dict[str, Operation]:
    """By operation id."""
    record = {
        "id": KEY,
        "kind": "key",
        "name": "ci",
        "namespace": "default",
        "person": None,
        "service": "ci",
        "scopes": ["runs:read", "runs:write"],
        "created_at": MADE,
        "revoked_at": None,
    }
    sent = {"name": "ci", "service": "ci", "scopes": ["runs:read", "runs:write"]}
    own = {"id": "service:ci", "namespace": "default", "person": False, "scopes": ["runs:read"]}
    made = {
        "200": {"key": None, "record": record},
        "201": {"key": f"plc_{KEY}_...", "record": record},
    }
    revoked = {"record": record | {"revoked_at": "2026-04-01T08:00:00Z"}}
    return {
        "broker.create": Operation(made, sent, CredentialMade),
        "broker.list_keys": Operation({"200": page(record)}, shape=CredentialPage),
        "broker.own": Operation({"200": own}, shape=OwnCredential),
        "broker.revoke": Operation({"200": revoked}, shape=CredentialRevoked),
    }
