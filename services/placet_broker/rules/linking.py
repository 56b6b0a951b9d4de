"""One-time links: what a token opens, and when it is good for nothing any more."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from placet.errors import Conflict, NotAllowed, NotFound
from placet_broker.rules.record import Link, Record

CODE_LIFE = timedelta(minutes=10)
LONGEST_LIFE = timedelta(days=30)
MOST_LINKS = 20
MOST_TRIES = 5
"""Wrong codes, after which a link is dead."""
_PREFIX = "inp_"


def token(input_id: str, secret: str) -> str:
    """What the link's address holds: which input, and a secret."""
    return f"{input_id.removeprefix(_PREFIX)}.{secret}"


def input_of(token: str) -> str:
    """The input that a token is for. Raises NotFound for what is no token."""
    id, dot, secret = token.partition(".")
    if not dot or not secret or not id.isascii() or not id.isalnum():
        raise unknown()
    return _PREFIX + id


def unknown() -> NotFound:
    """What somebody hears whose link is none."""
    return NotFound("this link is unknown; look whether all of its address was copied")


def hashed(token: str) -> str:
    """What is kept of a token, or of a code together with its link."""
    return hashlib.sha256(token.encode()).hexdigest()


def found(record: Record, token: str) -> Link:
    """The link that a token opens, used or not. Raises NotFound."""
    given = hashed(token)
    for link in record.links:
        if hmac.compare_digest(link.hash, given):
            return link
    raise unknown()


def named(record: Record, id: str) -> Link:
    """The link of this id. Raises NotFound."""
    for link in record.links:
        if link.id == id:
            return link
    raise NotFound(f"{record.id} has no link {id}")


def why_dead(record: Record, link: Link, now: datetime) -> str:
    """Why a link decides nothing any more; empty while it does."""
    if link.used_at is not None:
        return "this link was used already"
    if not record.pending:
        return "this was settled already"
    if link.until < now:
        return "this link has expired"
    if link.tries >= MOST_TRIES:
        return "too many wrong codes were typed"
    if link.digest != record.shown_digest:
        return "what is asked has changed since this link was sent"
    return ""


def check_alive(record: Record, link: Link, now: datetime) -> None:
    """Raise Conflict, with why, for a link that decides nothing any more."""
    if why := why_dead(record, link, now):
        raise Conflict(why, code="link_dead", body={"input": record.as_fragment()})


def check_code(link: Link, code: str, now: datetime) -> None:
    """Raise NotAllowed unless this is the code that was sent, in time."""
    good = link.code_until is not None and now <= link.code_until
    same = hmac.compare_digest(link.code_hash, hashed(f"{link.id} {code}"))
    if not good or not same:
        raise NotAllowed("the code is wrong or too old; ask for another", code="wrong_code")


def changed(links: Sequence[Link], link: Link) -> tuple[Link, ...]:
    """The links with this one as it is now."""
    return tuple(link if each.id == link.id else each for each in links)


def used(links: Sequence[Link], id: str | None, at: datetime) -> tuple[Link, ...]:
    """The links after one of them was used up."""
    return tuple(replace(each, used_at=at) if each.id == id else each for each in links)
