"""What the routes of people, groups and delegations reply with, beside `replies`."""

from datetime import datetime

from pydantic import BaseModel, Field


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


DIRECTORY: dict[str, tuple[str, type[BaseModel]]] = {
    **{f"broker.{does}_person": ("200", DirectoryPerson) for does in ("get", "put", "disable")},
    **{f"broker.{does}_identity": ("200", DirectoryPerson) for does in ("link", "unlink")},
    "broker.list_people": ("200", PeoplePage),
    **{f"broker.{does}_group": ("200", Group) for does in ("get", "put", "delete")},
    **{f"broker.{does}_member": ("200", Group) for does in ("add", "remove")},
    "broker.list_groups": ("200", GroupPage),
    "broker.get_delegation": ("200", Delegation),
    "broker.delegate": ("201", Delegation),
    "broker.end_delegation": ("200", Delegation),
    "broker.list_delegations": ("200", DelegationPage),
}
"""By operation: the status when it went well, and the body."""
