"""What the broker serves over HTTP: REST under /v1, and the inbox page."""

from fastapi import APIRouter

from placet.process.auth import Auth
from placet_broker.api import attending, audit, batches, inputs, keys, linking, requests
from placet_broker.api.page import inbox, links, login
from placet_broker.usecases import UseCases


def routers(use_cases: UseCases, auth: Auth) -> tuple[APIRouter, ...]:
    """Every router of the broker."""
    return (
        inputs.router(use_cases),
        attending.router(use_cases),
        linking.router(use_cases),
        audit.router(use_cases),
        batches.router(use_cases),
        requests.router(use_cases),
        keys.router(auth),
        login.router(auth),
        inbox.router(use_cases),
        links.router(use_cases, auth),
    )
