"""What the broker serves over HTTP: REST under /v1, and the inbox page."""

from fastapi import APIRouter

from placet.process.auth import Auth
from placet.process.freezes import StoredFreezes
from placet_broker.api import batches, freezes, inputs, keys, requests
from placet_broker.api.page import inbox, login
from placet_broker.usecases import UseCases


def routers(use_cases: UseCases, auth: Auth, frozen: StoredFreezes) -> tuple[APIRouter, ...]:
    """Every router of the broker."""
    return (
        inputs.router(use_cases),
        batches.router(use_cases),
        requests.router(use_cases),
        keys.router(auth),
        freezes.router(frozen),
        login.router(auth),
        inbox.router(use_cases),
    )
