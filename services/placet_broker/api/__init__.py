"""What the broker serves over HTTP: REST under /v1, and the inbox page."""

from fastapi import APIRouter

from placet.process.auth import Auth
from placet.process.auth.login import Login
from placet.process.freezes import StoredFreezes
from placet_broker.api import (
    attending,
    audit,
    batches,
    delegations,
    freezes,
    groups,
    inputs,
    keys,
    linking,
    people,
    requests,
)
from placet_broker.api.page import inbox, links, login, oidc
from placet_broker.usecases import UseCases


def routers(
    use_cases: UseCases, auth: Auth, frozen: StoredFreezes, at_issuer: Login | None = None
) -> tuple[APIRouter, ...]:
    """Every router of the broker."""
    return (
        inputs.answers(use_cases),
        inputs.router(use_cases),
        attending.router(use_cases),
        linking.router(use_cases),
        audit.router(use_cases),
        batches.router(use_cases),
        requests.router(use_cases),
        keys.router(auth),
        people.router(auth.directory.people),
        groups.router(auth.directory.groups),
        delegations.router(auth.directory.delegations),
        freezes.router(frozen),
        login.router(auth, at_issuer),
        *([oidc.router(auth, at_issuer)] if at_issuer else []),
        inbox.router(use_cases),
        links.router(use_cases, auth),
    )
