"""Credentials and people: API keys, sessions, AMQP users, tokens, and the directory."""

from placet.domain.person import Person
from placet.process.auth.directory import Directory
from placet.process.auth.facade import Auth
from placet.process.auth.identity import ClaimRules, Identity
from placet.process.auth.records import Place
from placet.process.auth.sessions import SESSION_LIFE, check_nonce, nonce_of
from placet.process.caller import (
    ALL_SCOPES,
    OPERATOR_SCOPES,
    PERSON_SCOPES,
    SERVICE_SCOPES,
    Caller,
    Scope,
)

__all__ = [
    "ALL_SCOPES", "OPERATOR_SCOPES", "PERSON_SCOPES", "SERVICE_SCOPES", "SESSION_LIFE", "Auth",
    "Caller", "ClaimRules", "Directory", "Identity", "Place", "Scope", "check_nonce", "nonce_of",
    "person_of",
]  # fmt: skip


def person_of(caller: Caller) -> Person:
    """The caller as who acted."""
    return Person(id=caller.id)
