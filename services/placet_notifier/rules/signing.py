"""Signatures as the Standard Webhooks specification defines them, with every secret that is valid."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

PREFIX = "whsec_"
SECRET_BYTES = 32


def secret_of(random: bytes) -> str:
    """A secret as receivers get it."""
    return PREFIX + base64.b64encode(random).decode()


def sign(secrets: Sequence[str], id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers of one try: `id` stays the same over all tries, `at` is when this one is made."""
    seconds = str(int(at.timestamp()))
    signed = f"{id}.{seconds}.".encode() + body
    return {
        "webhook-id": id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(_signature(secret, signed) for secret in secrets),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
