"""Bearer tokens of an issuer (JWT): verified with its keys, then read for whom they name."""

import hashlib
import math
import warnings
from collections.abc import Mapping
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry

from placet.clock import Clock
from placet.domain.digest import strict_json
from placet.errors import Invalid, Unauthenticated
from placet.process.auth.identity import ClaimRules, Identity, identified
from placet.process.auth.issuer import Issuer
from placet.process.auth.jwks import FITTING, KeyRing

LONGEST = 16 * 1024
"""Characters of a token."""
LEEWAY = 60.0
"""Seconds by which two clocks may differ."""
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})


class _Registry(JWSRegistry):
    """The whole token is bounded already, and issuers write certificates into headers."""

    max_header_length = LONGEST


_REGISTRY = _Registry(algorithms=list(FITTING), strict_check_header=False)


class Tokens:
    """Verifies the tokens of one issuer that are made for one of these audiences."""

    def __init__(
        self, issuer: Issuer, audience: tuple[str, ...], rules: ClaimRules, clock: Clock
    ) -> None:
        self.issuer = issuer
        self._audience = audience
        self._rules = rules
        self._clock = clock
        self._ring = KeyRing(issuer.keys, clock)

    async def read(
        self, token: str, *, client: str | None = None, nonce: str | None = None
    ) -> Identity:
        """Whom a token names.

        With `client` it is the id token of a login: made for that client, with that nonce.

        Raises:
            Unauthenticated: not one of this issuer's, not for us, not valid now, or it names
                nobody; says why.
            Unavailable: the issuer's keys can't be had.
        """
        claims = await self._verified(token)
        self._check_times(claims)
        audience = self._audience if client is None else (client,)
        _check_audience(claims, self.issuer.name, audience)
        if client is not None:
            _check_login(claims, client, nonce or "")
        credential = "token:" + hashlib.sha256(token.encode()).hexdigest()[:12]
        now = self._clock.now().timestamp()
        return identified({"iat": now, **claims}, self._rules, credential)

    async def close(self) -> None:
        """Stop fetching keys."""
        await self._ring.close()

    async def _verified(self, token: str) -> Mapping[str, Any]:
        if len(token) > LONGEST or not token.isascii() or token.count(".") != 2:
            raise Unauthenticated(
                "the credential is no API key, and no signed token of at most 16 KiB"
            )
        try:
            header = jws.extract_compact(token.encode(), registry=_REGISTRY).headers()
        except (JoseError, ValueError, TypeError) as error:
            raise Unauthenticated("the token can't be read") from error
        algorithm, kid = _checked_header(header)
        key = await self._ring.key_for(algorithm, kid)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the name EdDSA is old, and what issuers write
                found = jws.deserialize_compact(token, key, [algorithm], _REGISTRY)
            claims = strict_json(found.payload or b"")
        except (JoseError, Invalid, ValueError, TypeError) as error:
            raise Unauthenticated("the token's signature or content is not valid") from error
        if not isinstance(claims, dict):
            raise Unauthenticated("the token holds no claims")
        return claims

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now = self._clock.now().timestamp()
        if _moment(claims, "exp", needed=True) + LEEWAY <= now:
            raise Unauthenticated("the token has expired; get a new one")
        if _moment(claims, "nbf") - LEEWAY > now:
            raise Unauthenticated("the token is not valid yet")
        if _moment(claims, "iat") - LEEWAY > now:
            raise Unauthenticated("the token was made in the future")


def _checked_header(header: Mapping[str, Any]) -> tuple[str, str | None]:
    """Algorithm and name of the key; what else a header says of keys is not gone by."""
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in FITTING:
        raise Unauthenticated(f"a token is signed with one of {', '.join(FITTING)}")
    if "crit" in header or "b64" in header:
        raise Unauthenticated("the token asks for what is not understood here (`crit`)")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise Unauthenticated("the token is of another kind than JWT and at+jwt")
    if kid is not None and not isinstance(kid, str):
        raise Unauthenticated("the token's `kid` is no text")
    return algorithm, kid


def _check_audience(claims: Mapping[str, Any], issuer: str, audience: tuple[str, ...]) -> None:
    if claims.get("iss") != issuer:
        raise Unauthenticated("the token is another issuer's")
    told = claims.get("aud")
    listed = [told] if isinstance(told, str) else told
    if not isinstance(listed, list) or not any(name in audience for name in listed):
        raise Unauthenticated(f"the token is not made for {' or '.join(audience)} (`aud`)")


def _check_login(claims: Mapping[str, Any], client: str, nonce: str) -> None:
    told = claims.get("nonce")
    if not nonce or not isinstance(told, str):
        raise Unauthenticated("the token belongs to no login; log in again")
    if told != nonce:
        raise Unauthenticated("the token belongs to another login; log in again")
    several = isinstance(claims.get("aud"), list) and len(claims["aud"]) > 1
    if claims.get("azp", client) != client or (several and "azp" not in claims):
        raise Unauthenticated("the token was made for another client (`azp`)")


def _moment(claims: Mapping[str, Any], name: str, *, needed: bool = False) -> float:
    """Seconds since 1970, or 0 where nothing is said."""
    told = claims.get(name)
    if told is None and not needed:
        return 0.0
    if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told):
        raise Unauthenticated(f"the token's {name!r} is no time")
    if not 0 <= told < _LATEST:
        raise Unauthenticated(f"the token's {name!r} is no time")
    return float(told)


_LATEST = 253_402_300_800
"""The year 10000."""
