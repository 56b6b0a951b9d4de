"""What the broker serves over HTTP: REST under /v1, and the inbox page."""

from fastapi import APIRouter

from placet.process.auth import Auth
from placet_broker.api import batches, delegations, groups, inputs, keys, people, requests
from placet_broker.api.page import inbox, login
from placet_broker.usecases import UseCases


def routers(use_cases: UseCases, auth: Auth) -> tuple[APIRouter, ...]:
    """Every router of the broker."""
    return (
        inputs.router(use_cases),
        batches.router(use_cases),
        requests.router(use_cases),
        keys.router(auth),
        people.router(auth.directory.people),
        groups.router(auth.directory.groups),
        delegations.router(auth.directory.delegations),
        login.router(auth),
        inbox.router(use_cases),
    )
