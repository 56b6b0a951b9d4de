"""Who calls the runner, and on whose behalf."""

from typing import Annotated

from fastapi import Depends

from placet.errors import Invalid, NotAllowed
from placet.process.access import caller
from placet.process.auth import Caller, Scope

Writer = Annotated[Caller, Depends(caller(Scope.RUNS_WRITE))]
Reader = Annotated[Caller, Depends(caller(Scope.RUNS_READ))]
Author = Annotated[Caller, Depends(caller(Scope.DEFINITIONS_WRITE))]


def may_go_unwatched(who: Caller, lets_go: bool) -> None:
    """Raise NotAllowed unless the caller may start a run that lets go on what would ask."""
    if not lets_go:
        raise NotAllowed(
            "unattended runs that let everything go on are not allowed here; the operator's placet.toml "
            "says so with [unattended] allow = true"
        )
    if not lets_go_on(who, lets_go):
        raise NotAllowed("letting go on what would ask needs the scope runs:unattended")


def lets_go_on(who: Caller, lets_go: bool) -> bool:
    """Whether the caller may have a run let go on what would ask."""
    return lets_go and who.may("runs:unattended")


def somebody(user: str | None) -> str:
    """The person, who must be known. Raises Invalid."""
    if user is None:
        raise Invalid("whose trust? Give user, or use a person's key")
    return user


def on_behalf(who: Caller, user: str | None) -> str | None:
    """The initiator: the credential's person, or somebody else with `runs:as`."""
    own = who.id if who.is_person else None
    if user is None or user == own:
        return own
    if not who.may("runs:as"):
        raise NotAllowed(f"starting runs as {user!r} needs the scope runs:as")
    if user.startswith(("service:", "group:")):
        raise Invalid(f"user {user!r} is no person")
    return user
