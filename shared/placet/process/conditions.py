"""ETags, and the requests that are conditional on them (RFC 9110, section 13)."""

from placet.errors import Changed, Unconditional

ANY = "*"


def etag(version: str | int) -> str:
    """The strong ETag of a version; the version holds no quotation mark."""
    return f'"{version}"'


def names(header: str | None, tag: str) -> bool:
    """Whether an `If-Match` or `If-None-Match` names this strong tag; a weak one never does."""
    return header is not None and any(
        each.strip() in (ANY, tag) for each in header.split(",") if each.strip()
    )


def is_known(if_none_match: str | None, tag: str) -> bool:
    """Whether a reader has this version already: 304. A tag that a proxy made weak counts here."""
    return names(if_none_match and if_none_match.replace("W/", ""), tag)


def expect_absent(if_none_match: str | None) -> bool:
    """Whether something is to be made that must not exist yet: `If-None-Match: *`."""
    return if_none_match is not None and if_none_match.strip() == ANY


def expect(if_match: str | None, tag: str | None) -> None:
    """Refuse a change of another version than this; of None, whichever it is of.

    Raises:
        Unconditional: it does not say which.
        Changed: it is of another.
    """
    if if_match is None:
        raise Unconditional(
            "send If-Match with the ETag that a GET of it replied with, or If-None-Match: * to make it"
        )
    if tag is not None and not names(if_match, tag):
        raise Changed(f"it is {tag} by now, not {if_match[:200]}; read it again")
