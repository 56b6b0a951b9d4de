"""The chain of what happened to a question, and an export of it that shows any change.

Each entry of a chain holds the hash of the one before, and digests of what people were shown and
answered. An export is JSON lines: one interaction a line, and a last line with the number of lines,
a digest of all their bytes, and a signature by the installation that wrote it.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Entry = dict[str, str | None]
_SIGNED = b"placet audit export v1\n"


def entry(
    prev: str, what: str, at: datetime, *, by: str | None = None, **facts: str | None
) -> Entry:
    """The next entry of a chain whose last hash is `prev` ("" for the first).

    `facts` are short strings, digests rather than content.
    """
    body: Entry = {"what": what, "at": at.isoformat(), "by": by, **facts, "prev": prev}
    return {**body, "hash": _hash(body)}


def flaws(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong with a chain, in sentences; [] if every entry follows from the one before."""
    found = []
    prev = ""
    for number, item in enumerate(history):
        body = {name: value for name, value in item.items() if name != "hash"}
        if item.get("prev") != prev:
            found.append(f"entry {number} does not follow entry {number - 1}")
        if item.get("hash") != _hash(body):
            found.append(f"entry {number} was changed after it was written")
        prev = str(item.get("hash"))
    return found


def digest(text: str | bytes) -> str:
    """What an entry holds of something longer."""
    data = text.encode() if isinstance(text, str) else text
    return "sha256:" + hashlib.sha256(data).hexdigest()


def disagreements(
    history: Sequence[Mapping[str, Any]],
    request: str,
    outcome: str,
    rev: int,
    ended: Mapping[str, Any] | None = None,
) -> list[str]:
    """Where an interaction is not what its chain says: what was shown, how it ended, how much happened.

    `request` and `outcome` are the JSON texts as they are kept, "" for what is gone or not there;
    `ended` is who decided, and how, as it is kept beside the outcome.
    """
    found = list(flaws(history))
    if history and len(history) != rev + 1:
        found.append(f"{rev + 1} entries were written and {len(history)} are here")
    shown = next((e["request"] for e in reversed(history) if e.get("request")), None)
    if request and shown is not None and shown != digest(request):
        found.append("the request is not the one that people were shown")
    ends = [e for e in history if e.get("outcome") and e.get("state")]
    if outcome and history and (not ends or ends[-1]["outcome"] != digest(outcome)):
        found.append("the outcome is not the one that was settled")
    if ended and ends and _decider(ended) != {name: ends[-1].get(name) for name in _DECIDER}:
        found.append("who decided it, or how, is not what was settled")
    return found


_DECIDER = ("by", "on_behalf_of", "voters", "channel", "answer_id")


def _decider(ended: Mapping[str, Any]) -> dict[str, Any]:
    """Who decided, as an entry says it."""
    by, voters = ended.get("by"), ended.get("voters")
    told = {"by": by and by["id"], "voters": ",".join(voters or ()) or None}
    return {**{name: ended.get(name) for name in _DECIDER}, **told}


class Export:
    """Lines of an export as they are written, and the line that closes it."""

    def __init__(self, key: Ed25519PrivateKey, of: Mapping[str, str | None] | None = None) -> None:
        """`of` says what is exported, such as the namespace and from when to when."""
        self._key = key
        self._of = dict(of or {})
        self._digest = hashlib.sha256(_SIGNED)
        self._count = 0

    def line(self, value: Mapping[str, Any]) -> bytes:
        """One interaction, as a line."""
        text = _line(value)
        self._digest.update(text)
        self._count += 1
        return text

    def end(self, at: datetime) -> bytes:
        """The last line; nothing can be taken away before it, or added after it, unseen."""
        facts = {"end": True, "lines": self._count, "at": at.isoformat(), "of": self._of}
        signed = {**facts, "digest": "sha256:" + self._digest.hexdigest()}
        signature = self._key.sign(_SIGNED + _line(signed)).hex()
        return _line({**signed, "key": public_key(self._key), "signature": signature})


def signing_key(seed: str) -> Ed25519PrivateKey:
    """The key of a seed of 32 bytes in hex."""
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))


def public_key(key: Ed25519PrivateKey) -> str:
    """What others check signatures with, in hex."""
    return key.public_key().public_bytes_raw().hex()


def verified(export: bytes, key: str) -> list[str]:
    """What is wrong with an export, in sentences; [] if no byte of it was changed, removed or added.

    `key` is the public key of the installation, got in another way than with the export.
    """
    lines = export.split(b"\n")
    if len(lines) < 2 or lines.pop() != b"":
        return ["the export does not end where a line ends"]
    *written, last = (line + b"\n" for line in lines)
    found = list(_flaws_of_end(written, last, key))
    for number, line in enumerate(written, 1):
        found += [f"line {number}: {flaw}" for flaw in _flaws_of_line(line)]
    return found


def _flaws_of_end(written: Sequence[bytes], last: bytes, key: str) -> Iterator[str]:
    try:
        end = orjson.loads(last)
        signed = {name: end[name] for name in ("end", "lines", "at", "of", "digest")}
        signature = bytes.fromhex(end["signature"])
        whole = last == _line({**signed, "key": key, "signature": signature.hex()})
    except (ValueError, TypeError, KeyError):
        yield "the last line is not the end of an export: something was cut off"
        return
    if not whole:
        yield "the last line was changed, or another installation wrote it"
    try:
        known = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        known.verify(signature, _SIGNED + _line(signed))
    except (InvalidSignature, ValueError):
        yield "the signature does not fit: this installation did not write this end"
    if signed["lines"] != len(written):
        yield f"{signed['lines']} lines were written and {len(written)} are here"
    if signed["digest"] != "sha256:" + hashlib.sha256(_SIGNED + b"".join(written)).hexdigest():
        yield "some line was changed after it was written"


def _flaws_of_line(line: bytes) -> list[str]:
    try:
        value = orjson.loads(line)
        kept = value["history"], value["request"], value["outcome"], value["rev"]
        return disagreements(*kept, value.get("resolution"))
    except (ValueError, TypeError, KeyError, AttributeError):
        return ["it is no interaction"]


def _line(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _hash(body: Mapping[str, Any]) -> str:
    # Strings and nulls only: sorted keys make it canonical.
    return digest(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
