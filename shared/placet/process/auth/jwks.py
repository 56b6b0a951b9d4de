"""The issuer's public keys: kept, fetched again before they are old, and never older than a bound."""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import Key, import_key

from placet.clock import Clock
from placet.errors import Unauthenticated, Unavailable
from placet.process import logs

REFRESH_AFTER = 600.0
"""Seconds after which keys are fetched again, while the old ones serve."""
KEPT_FOR = 6 * 3600.0
"""Seconds that keys serve while the issuer is away."""
PAUSE = 30.0
"""Seconds between two fetches for the sake of a key that is not listed, or after a failure."""
MOST_KEYS = 100
FITTING: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The signatures that are taken, with the type and curve of their keys; nothing symmetric."""
_SHORTEST_RSA = 2048

_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One key that the issuer lists, and what it may verify."""

    kid: str | None
    algorithms: frozenset[str]
    key: Key


class KeyRing:
    """The keys of one issuer, fetched by one task at a time."""

    def __init__(self, fetch: Callable[[], Awaitable[Sequence[Any]]], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._keys: tuple[PublicKey, ...] = ()
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failure: str | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def key_for(self, algorithm: str, kid: str | None) -> Key:
        """The key that a token names.

        Raises:
            Unauthenticated: the issuer does not list it, or not for this algorithm.
            Unavailable: the keys can't be had, and those that were are too old.
        """
        await self._be_fresh()
        found = self._chosen(algorithm, kid)
        if found is None and self._may_try():
            await self._fetched()
            found = self._chosen(algorithm, kid)
        if found is None:
            raise Unauthenticated("the token is signed with a key that its issuer does not list")
        return found

    async def close(self) -> None:
        """Stop fetching."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait({self._fetching})

    async def _be_fresh(self) -> None:
        age = None if self._fetched_at is None else self._clock.monotonic() - self._fetched_at
        if age is None or age > KEPT_FOR:
            if self._failure is not None and not self._may_try():
                raise Unavailable(self._failure)
            await self._fetched()
        elif age > REFRESH_AFTER and self._may_try():
            self._begin()

    def _may_try(self) -> bool:
        """Whether it is not too soon after the last fetch; one that is under way can be joined."""
        if self._fetching is not None and not self._fetching.done():
            return True
        return self._tried_at is None or self._clock.monotonic() - self._tried_at > PAUSE

    def _begin(self) -> asyncio.Task[None]:
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._refresh())
        return self._fetching

    async def _fetched(self) -> None:
        """Wait for one fetch, whoever began it. Raises Unavailable if it failed."""
        # Who waits may be cancelled; the others still wait for the same.
        await asyncio.shield(self._begin())
        if self._failure is not None:
            raise Unavailable(self._failure)

    async def _refresh(self) -> None:
        self._tried_at = self._clock.monotonic()
        try:
            listed = await self._fetch()
        except Unavailable as error:
            self._failure = str(error)
            _log.warning("issuer_keys_failed", reason=self._failure)
            return
        self._failure = None
        self._keys = tuple(key for each in listed[:MOST_KEYS] if (key := readable(each)))
        self._fetched_at = self._clock.monotonic()

    def _chosen(self, algorithm: str, kid: str | None) -> Key | None:
        """The key of that name; without a name, the only one that there is."""
        fitting = [key for key in self._keys if algorithm in key.algorithms]
        if kid is not None:
            fitting = [key for key in fitting if key.kid == kid]
        return fitting[0].key if len(fitting) == 1 else None


def readable(listed: Any) -> PublicKey | None:
    """A key as the issuer lists it, if it is one that can verify what we take."""
    if not isinstance(listed, dict) or listed.get("use", "sig") != "sig" or "d" in listed:
        return None
    kind, curve, only = listed.get("kty"), listed.get("crv"), listed.get("alg")
    algorithms = {
        name
        for name, (kty, crv) in FITTING.items()
        if kty == kind and crv in (None, curve) and only in (None, name)
    }
    if not algorithms or (kind == "RSA" and _bits(listed.get("n")) < _SHORTEST_RSA):
        return None
    kid = listed.get("kid")
    try:
        key = import_key(listed)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return PublicKey(kid if isinstance(kid, str) else None, frozenset(algorithms), key)


def _bits(modulus: Any) -> int:
    if not isinstance(modulus, str):
        return 0
    try:
        data = base64.urlsafe_b64decode(modulus + "=" * (-len(modulus) % 4))
    except (binascii.Error, ValueError):
        return 0
    return int.from_bytes(data, "big").bit_length()
