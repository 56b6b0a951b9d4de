"""Ids: a type prefix and 32 hex digits, random or derived from what they name."""

import hashlib
import os
from threading import Lock

_SIZE = 16
_POOL = 256
_lock = Lock()
_pool: list[bytes] = []


def new_id(prefix: str) -> str:
    """A fresh random id, `PREFIX_` + 32 hex digits.

    Randomness is drawn for many ids at once: the system call costs more than the rest. Ids are
    names, not secrets; secrets come from `secrets`.
    """
    with _lock:
        if not _pool:
            drawn = os.urandom(_SIZE * _POOL)
            _pool.extend(drawn[at : at + _SIZE] for at in range(0, len(drawn), _SIZE))
        chosen = _pool.pop()
    return f"{prefix}_{chosen.hex()}"


def _forget() -> None:
    _pool.clear()


os.register_at_fork(after_in_child=_forget)


def derived_id(prefix: str, *parts: str) -> str:
    """The same id for the same parts, so that asking again is the same question.

    Parts are length-prefixed: ("a", "bc") and ("ab", "c") differ.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return f"{prefix}_{digest.hexdigest()[:32]}"
