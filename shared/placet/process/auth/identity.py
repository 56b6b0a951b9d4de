"""Whom a verified token names: what is made of its claims, by rules that the operator set. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from placet.bus.topology import OWN_USERS
from placet.domain.naming import RULE, names
from placet.domain.visible import visible
from placet.errors import Unauthenticated
from placet.process.caller import OPERATOR_SCOPES, PERSON_SCOPES, Caller

MOST_GROUPS = 500


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """Which claims say who somebody is, and what that gives them."""

    subject: str = "sub"
    groups: str = "groups"
    namespace: str = "default"
    namespace_claim: str | None = None
    operator_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as a token of the issuer tells of them."""

    namespace: str
    id: str
    scopes: frozenset[str]
    groups: frozenset[str]
    issued_at: datetime
    credential: str

    def caller(self) -> Caller:
        """The caller that this token makes."""
        return Caller(
            namespace=self.namespace,
            id=self.id,
            scopes=self.scopes,
            credential=self.credential,
            claimed_groups=self.groups,
        )


def identified(claims: Mapping[str, Any], rules: ClaimRules, credential: str) -> Identity:
    """Whom these claims, which are verified, name. Raises Unauthenticated with the reason."""
    id = _named(claims, rules.subject)
    if id in OWN_USERS:
        raise Unauthenticated(f"the token names {id}, which is a service of Placet's own")
    if rules.subject == "email" and claims.get("email_verified") is not True:
        raise Unauthenticated("the token's `email` is not said to be verified; it names nobody")
    groups = _groups(claims, rules.groups)
    operates = not groups.isdisjoint(rules.operator_groups)
    claim = rules.namespace_claim
    return Identity(
        namespace=rules.namespace if claim is None else _named(claims, claim),
        id=id,
        scopes=frozenset(PERSON_SCOPES | OPERATOR_SCOPES if operates else PERSON_SCOPES),
        groups=groups,
        issued_at=datetime.fromtimestamp(int(claims["iat"]), UTC),
        credential=credential,
    )


def _named(claims: Mapping[str, Any], claim: str) -> str:
    found = claims.get(claim)
    if not isinstance(found, str):
        raise Unauthenticated(f"the token has no text in the claim {claim!r}")
    if ":" in found or not names(found) or found != found.strip():
        raise Unauthenticated(
            f"the token's {claim!r} is {visible(found)[:200]!r}: what it names {RULE}, no colon, "
            "and no space at its ends"
        )
    return found


def _groups(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    """The groups that a token tells; a name that no group can have is no group."""
    found = claims.get(claim, ())
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list | tuple) or len(listed) > MOST_GROUPS:
        raise Unauthenticated(f"the token's {claim!r} is a list of at most {MOST_GROUPS} names")
    return frozenset(
        name for name in listed if isinstance(name, str) and names(name) and ":" not in name
    )
