"""Where a browser goes after a login: to a path of ours, and nowhere else."""

from urllib.parse import quote, urlencode

from placet.domain.visible import hidden

LONGEST = 500


def is_own_path(place: str) -> bool:
    r"""Whether this is a path of this origin, however a browser reads it.

    `//host` and `/\host` are other hosts to a browser, which also drops tabs and line breaks.
    """
    return (
        place.startswith("/")
        and len(place) <= LONGEST
        and "//" not in place
        and "\\" not in place
        and not any(hidden(char) or char == " " for char in place)
    )


def own_path(place: str) -> str:
    """This path if it is one of ours, else the inbox's."""
    return place if is_own_path(place) else "/inbox"


def login_page(place: str) -> str:
    """The path of the login page that leads back to this path."""
    return "/login?" + urlencode({"return_to": own_path(place)})


def begin_path(place: str) -> str:
    """The path where a login at the issuer begins that leads back to this path."""
    return f"/login/oidc?return_to={quote(place, safe='/')}"
