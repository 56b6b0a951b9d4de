"""/v1/inputs/{id}/links: one-time links."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from placet.domain.answer import Action
from placet.messages.examples import INPUT
from placet.process.rest.operation import KEY, Operation


class LinkMade(BaseModel):
    """A one-time link; the token is shown this once."""

    id: str
    person: str
    action: Action
    content: Any = None
    digest: str
    until: datetime
    token: str | None
    """None where this very request had made it before."""
    path: str | None
    """The page's path, below the address at which people reach Placet; None with the token."""


class CodeMade(BaseModel):
    """A link's one-time code, shown this once."""

    code: str


class LinkSent(BaseModel):
    """What a one-time link is for."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    person: str
    """Whose answer it is."""
    action: Action = Action.ACCEPT
    content: Any = None
    """What fits the input's kind; the link gives this answer and no other."""
    seconds: int = Field(default=86_400, ge=60, le=2_592_000)
    """How long it is good for."""


def operations() -> dict[str, Operation]:
    """By operation id."""
    token = f"{INPUT.removeprefix('inp_')}.w5Zs..."
    made = {
        "id": "lnk_" + KEY * 2,
        "person": "bob",
        "action": "accept",
        "content": True,
        "digest": f"sha256:{KEY * 4}",
        "until": "2026-03-15T09:26:53Z",
    }
    again = made | {"token": None, "path": None}
    fresh = made | {"token": token, "path": f"/l/{token}"}
    sent = {"person": "bob", "action": "accept", "content": True, "seconds": 86_400}
    return {
        "broker.create_link": Operation({"200": again, "201": fresh}, sent, LinkMade, LinkSent),
        "broker.create_code": Operation({"201": {"code": "40318275"}}, shape=CodeMade),
    }
