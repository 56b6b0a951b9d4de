"""Sealed values: what a person types for a tool alone, encrypted to the runner that runs the tool.

HPKE (RFC 9180: X25519, HKDF-SHA256, ChaCha20-Poly1305) from `cryptography`, which is imported when
something is first sealed or opened.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from placet.errors import Invalid, SettingsError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

_PURPOSE = b"placet sealed field v1\n"
_KEY_BYTES = 32


def new_key() -> str:
    """A private key as text, to be kept as a secret: 32 random bytes in URL-safe base64."""
    return _text(os.urandom(_KEY_BYTES))


def public(key: str) -> str:
    """The public key of a private one: what a request carries. Raises SettingsError for one that is none."""
    return _text(_private(key).public_key().public_bytes_raw())


def check_public(key: str) -> None:
    """Refuse what nothing can be sealed with. Raises Invalid."""
    _public(key)


def seal(public_key: str, secret: bytes, where: str) -> str:
    """`secret` as base64 that only the holder of the private key reads, and only at `where`.

    Sealing the same again gives another text. Raises Invalid for what is no public key.
    """
    sealed = _suite().encrypt(secret, _public(public_key), info=_PURPOSE + where.encode())
    return _text(sealed)


def open_sealed(keys: Sequence[str], text: str, where: str) -> bytes:
    """What was sealed with one of these keys, for this very place.

    Raises Invalid: it was sealed for another key or place, was changed, or is no sealed text.
    """
    for key in keys:
        try:
            return bytes(_suite().decrypt(_bytes(text), _private(key), _PURPOSE + where.encode()))
        except SettingsError:
            raise
        except Exception:  # noqa: BLE001, S112 - whatever is wrong with it, it is not for this key
            continue
    raise Invalid("a sealed answer can't be opened: it was sealed for another key, or was changed")


class Sealer:
    """The keys of one runner: the first seals what is asked now, all of them open.

    Keep a key until nothing waits that was asked under it. Raises SettingsError for what is no key.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise SettingsError("a sealer takes at least one key; make one with new_key()")
        self._keys = tuple(keys)
        self.public, *_ = [public(key) for key in keys]

    def open(self, text: str, where: str) -> str:
        """The text that a person typed. Raises Invalid."""
        return open_sealed(self._keys, text, where).decode()

    def __repr__(self) -> str:
        """Without the keys."""
        return f"Sealer({self.public})"


class Marks:
    """Tells whether two sealed answers are the same one, for whoever holds this key and nobody else.

    A plain hash of a short secret can be guessed; this one is keyed, and bound to its place.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or os.urandom(_KEY_BYTES)

    def mark(self, secret: bytes, where: str) -> str:
        """The same for the same secret at the same place under the same key: 32 hex digits."""
        told = hmac.new(self._key, _PURPOSE, hashlib.sha256)
        for part in (where.encode(), secret):
            told.update(len(part).to_bytes(8, "big") + part)
        return told.hexdigest()[:32]

    def __repr__(self) -> str:
        """Without the key."""
        return "Marks()"


@cache
def process_sealer() -> Sealer:
    """For a runtime that keeps nothing: a key that dies with this process."""
    return Sealer([new_key()])


PROCESS_MARKS = Marks()
"""With a key of this process: another process does not recognise an answer that this one took."""


@cache
def _suite() -> Any:
    from cryptography.hazmat.primitives import hpke  # noqa: PLC0415 - 30 ms that most never need

    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


def _private(key: str) -> "X25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric import x25519  # noqa: PLC0415

    try:
        return x25519.X25519PrivateKey.from_private_bytes(_bytes(key))
    except ValueError:
        raise SettingsError("a seal key is 32 bytes in base64; make one with new_key()") from None


def _public(key: str) -> "X25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric import x25519  # noqa: PLC0415

    try:
        return x25519.X25519PublicKey.from_public_bytes(_bytes(key))
    except ValueError:
        raise Invalid("seal_key is no X25519 public key in base64") from None


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.encode(), altchars=b"-_", validate=True)
