"""What the routes that write their replies themselves reply with: FastAPI can't tell."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from placet.domain.answer import Action
from placet.domain.person import Person
from placet.messages.export import parted
from placet.process.directory_replies import DIRECTORY

REF = "#/components/schemas/{model}"
_SENT = "#/components/schemas/{model}-Input"


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


class LinkMade(BaseModel):
    """A one-time link; the token is shown this once."""

    id: str
    person: str
    action: Action
    content: Any = None
    digest: str
    until: datetime
    token: str
    path: str
    """The page's path, below the address at which people reach Placet."""


class CodeMade(BaseModel):
    """A link's one-time code, shown this once."""

    code: str


class Webhook(BaseModel):
    """An endpoint that is told about events; without its secret."""

    id: str
    url: str
    types: list[str]
    description: str
    created_at: datetime
    created_by: str
    disabled_at: datetime | None
    disabled_reason: str | None
    old_secret_until: datetime | None


class WebhookShown(BaseModel):
    """One webhook."""

    webhook: Webhook


class WebhookMade(BaseModel):
    """A webhook whose secret is new, and shown this once."""

    webhook: Webhook
    secret: str | None
    """None where this very request had made it before."""


class WebhookPage(BaseModel):
    """The webhooks of a namespace."""

    items: list[Webhook]
    next_cursor: str | None


class WebhookDelivery(BaseModel):
    """One event on its way to one webhook."""

    id: str
    webhook_id: str
    event_id: str
    type: str
    state: str
    attempts: int
    created_at: datetime
    next_at: datetime | None
    last_at: datetime | None
    last_status: int | None
    last_error: str | None


class DeliveryPage(BaseModel):
    """Deliveries of a webhook, newest first."""

    items: list[WebhookDelivery]
    next_cursor: str | None


class DeliveryAgain(BaseModel):
    """A delivery that is sent once more."""

    delivery: WebhookDelivery


class AnswerSent(BaseModel):
    """An answer to one input."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    action: Action = Action.ACCEPT
    content: Any = None
    """What fits the input's kind."""
    named: str | Person | None = Field(default=None, alias="from")
    """Who answers; of a person only the id counts. Somebody else needs `answer:as`."""
    digest: str | None = None
    """Of what was shown; another is refused as `shown_differs`."""


class BatchedAnswerSent(AnswerSent):
    """One answer of a batch."""

    id: str
    """Which input it answers; nothing goes by position."""


class BatchSent(BaseModel):
    """Answers to several inputs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    answers: list[BatchedAnswerSent] = Field(min_length=1, max_length=100)
    mode: Literal["all", "each"] = "all"
    """`all`: all of them settle, or none does. `each`: every one for itself."""


class ExtensionSent(BaseModel):
    """More time for an input."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    expires_at: datetime
    """Later than the present deadline, at most 30 days from now."""
    named: str | Person | None = Field(default=None, alias="from")
    """Who gives it; as for an answer."""


class Signed(BaseModel):
    """Who does it; as for an answer."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    named: str | Person | None = Field(default=None, alias="from")


class AudienceSent(BaseModel):
    """Other approvers of an input."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    add: list[str] = Field(default=[], max_length=100)
    remove: list[str] = Field(default=[], max_length=100)


class LinkSent(BaseModel):
    """What a one-time link is for."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    person: str
    action: Action = Action.ACCEPT
    content: Any = None
    seconds: int = Field(default=86_400, ge=60, le=2_592_000)


class OwnCredential(BaseModel):
    """What the caller's credential is."""

    id: str
    namespace: str
    person: bool
    scopes: list[str]


@dataclass(frozen=True, slots=True)
class Reply:
    """The statuses of a route that went well, and the schema of its body; None: the one given."""

    statuses: tuple[str, ...]
    schema: dict[str, Any] | None = None


def _page_of_inputs() -> dict[str, Any]:
    items = {"type": "array", "items": {"$ref": REF.format(model="Input")}}
    cursor = {"type": ["string", "null"]}
    return {
        "type": "object",
        "required": ["items", "next_cursor"],
        "properties": {"items": items, "next_cursor": cursor},
    }


def _batch() -> dict[str, Any]:
    """`inputs` where it was all or none; a result for each otherwise."""
    shown = {"$ref": REF.format(model="Input")}
    problem = {"$ref": REF.format(model="ProblemDocument")}
    result = {
        "type": "object",
        "required": ["id", "status"],
        "properties": {
            "id": {"type": "string"},
            "status": {"type": "integer"},
            "input": shown,
            "problem": problem,
        },
    }
    return {
        "type": "object",
        "properties": {
            "inputs": {"type": "array", "items": shown},
            "results": {"type": "array", "items": result},
        },
    }


_MODELS: dict[str, tuple[str, type[BaseModel]]] = {
    "broker.audit": ("200", Audit),
    "broker.audit_key": ("200", AuditKey),
    "broker.create_link": ("201", LinkMade),
    "broker.create_code": ("201", CodeMade),
    "broker.own": ("200", OwnCredential),
    "broker.list_keys": ("200", CredentialPage),
    "broker.revoke": ("200", CredentialRevoked),
    **DIRECTORY,
    "notifier.list_all": ("200", WebhookPage),
    "notifier.get": ("200", WebhookShown),
    "notifier.rotate": ("200", WebhookMade),
    "notifier.deliveries": ("200", DeliveryPage),
    "notifier.redeliver": ("202", DeliveryAgain),
}
REPLIES: dict[str, Reply] = {
    "broker.list_inputs": Reply(("200",), _page_of_inputs()),
    "broker.list_agent_inputs": Reply(("200",), _page_of_inputs()),
    "broker.get_input": Reply(("200", "304")),
    "broker.answer": Reply(("200", "202")),
    "broker.answer_of_agent": Reply(("200", "202")),
    "broker.answer_several": Reply(("200", "202"), _batch()),
    "broker.answer_several_of_agent": Reply(("200", "202"), _batch()),
    "broker.ask": Reply(("200", "202")),
    "broker.create": Reply(("200", "201"), {"$ref": REF.format(model="CredentialMade")}),
    "notifier.create": Reply(("200", "201"), {"$ref": REF.format(model="WebhookMade")}),
    "runner.definition": Reply(("200", "304")),
    "runner.put_definition": Reply(("200", "201")),
    **{
        operation: Reply((status,), {"$ref": REF.format(model=model.__name__)})
        for operation, (status, model) in _MODELS.items()
    },
}
"""By operation."""
_ANSWER = {"$ref": REF.format(model="AnswerSent")}
_BATCH = {"$ref": REF.format(model="BatchSent")}
BODIES: dict[str, dict[str, Any]] = {
    "broker.answer": _ANSWER,
    "broker.answer_of_agent": _ANSWER,
    "broker.answer_several": _BATCH,
    "broker.answer_several_of_agent": _BATCH,
    "broker.extend": {"$ref": REF.format(model="ExtensionSent")},
    "broker.claim": {"$ref": REF.format(model="Signed")},
    "broker.release": {"$ref": REF.format(model="Signed")},
    "broker.edit_audience": {"$ref": REF.format(model="AudienceSent")},
    "broker.create_link": {"$ref": REF.format(model="LinkSent")},
    "broker.ask": {"$ref": _SENT.format(model="InteractionRequest")},
}
"""The bodies that a route reads itself and does not describe."""


_SENDS = (AnswerSent, BatchSent, ExtensionSent, Signed, AudienceSent, LinkSent)


def schemas() -> dict[str, Any]:
    """The schemas of these replies, and of a request as it is sent, where much may be left out."""
    made_once: list[type[BaseModel]] = [CredentialMade, WebhookMade]
    models = {*made_once, *(model for _, model in _MODELS.values())}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, made = models_json_schema(
        [
            *((m, "validation") for m in _SENDS),
            *((m, "serialization") for m in ordered),
        ],
        ref_template=REF,
    )
    own, parts = parted("interaction_request", _SENT)
    sent = {"InteractionRequest-Input": own, **{f"{name}-Input": s for name, s in parts.items()}}
    replies = {name: schema for name, schema in made["$defs"].items() if name != "Person"}
    return {**replies, **sent}
