"""/v1/people, /v1/groups and /v1/delegations: who is who, and who stands in for whom."""

from dataclasses import replace
from datetime import datetime

from pydantic import BaseModel, Field

from placet.process.rest.operation import KEY, MADE, Operation, page

_LATER = "2026-04-01T08:00:00Z"


class DirectoryPerson(BaseModel):
    """A person of the directory."""

    id: str
    namespace: str
    name: str | None
    email: str | None
    identities: list[str]
    claimed_groups: list[str]
    disabled_at: datetime | None
    created_at: datetime


class PeoplePage(BaseModel):
    """People, by id."""

    items: list[DirectoryPerson]
    next_cursor: str | None


class Group(BaseModel):
    """A group that is kept here."""

    name: str
    namespace: str
    members: list[str]
    created_at: datetime


class GroupPage(BaseModel):
    """Groups, by name."""

    items: list[Group]
    next_cursor: str | None


class Delegation(BaseModel):
    """Until a moment, `to` answers in the place of `from` as well."""

    id: str
    namespace: str
    principal: str = Field(alias="from")
    to: str
    until: datetime
    by: str
    created_at: datetime
    ended_at: datetime | None


class DelegationPage(BaseModel):
    """Delegations, newest first."""

    items: list[Delegation]
    next_cursor: str | None


def operations() -> dict[str, Operation]:
    """By operation id."""
    return {**_people(), **_groups(), **_delegations()}


def _people() -> dict[str, Operation]:
    person = {
        "id": "bob",
        "namespace": "default",
        "name": "Bob Stone",
        "email": "bob@example.com",
        "identities": ["slack:U024BE7LH"],
        "claimed_groups": ["support"],
        "disabled_at": None,
        "created_at": MADE,
    }
    sent = {name: person[name] for name in ("name", "email", "identities")}
    one = Operation({"200": person}, shape=DirectoryPerson)
    return {
        "broker.list_people": Operation({"200": page(person)}, shape=PeoplePage),
        "broker.get_person": one,
        "broker.put_person": replace(one, body=sent),
        "broker.disable_person": replace(one, replies={"200": person | {"disabled_at": _LATER}}),
        "broker.link_identity": one,
        "broker.unlink_identity": replace(one, replies={"200": person | {"identities": []}}),
    }


def _groups() -> dict[str, Operation]:
    group = {"name": "dba", "namespace": "default", "members": ["ann", "bob"], "created_at": MADE}
    one = Operation({"200": group}, shape=Group)
    return {
        "broker.list_groups": Operation({"200": page(group)}, shape=GroupPage),
        "broker.get_group": one,
        "broker.put_group": replace(one, body={"members": ["ann", "bob"]}),
        "broker.delete_group": one,
        "broker.add_member": one,
        "broker.remove_member": replace(one, replies={"200": group | {"members": ["ann"]}}),
    }


def _delegations() -> dict[str, Operation]:
    delegation = {
        "id": "dlg_" + KEY * 2,
        "namespace": "default",
        "from": "ann",
        "to": "bob",
        "until": "2026-03-28T09:00:00Z",
        "by": "ann",
        "created_at": MADE,
        "ended_at": None,
    }
    sent = {"to": "bob", "until": delegation["until"]}
    one = Operation({"200": delegation}, shape=Delegation)
    return {
        "broker.list_delegations": Operation({"200": page(delegation)}, shape=DelegationPage),
        "broker.get_delegation": one,
        "broker.delegate": replace(one, replies={"200": delegation, "201": delegation}, body=sent),
        "broker.end_delegation": replace(one, replies={"200": delegation | {"ended_at": _LATER}}),
    }
