"""Where a person is sent: the host that a browser would go to, and what is odd about it."""

import re
from urllib.parse import urlsplit

from placet.domain.visible import hidden, visible

HTTPS = r"^https://[^\s/?#@\\%]+([/?#][^\s\\]*)?$"
"""https only; no credentials, no backslash, no escapes in the host."""
_NAME = re.compile(r"^(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?$")
_NUMBER = re.compile(r"(^|\.)(0x[0-9a-f]*|[0-9]+)\.?$")


def origin_of(url: str) -> str:
    """`https://host[:port]`, in lower case.

    Raises ValueError for an address that browsers and people may read as different ones: characters
    that can't be seen, no host, a host beyond ASCII, a port that is none.
    """
    if any(hidden(char) for char in url):
        msg = "the address holds characters that can't be seen"
        raise ValueError(msg)
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = "" if parts.port in (None, 443) else f":{parts.port}"
    if ":" in host:
        return f"https://[{host}]{port}"
    if not _NAME.match(host):
        msg = "the address names no host in letters a to z, digits and -; write others in punycode (xn--...)"
        raise ValueError(msg)
    return f"https://{host}{port}"


def warning_of(url: str) -> str:
    """What to look at twice before going there; empty for nothing."""
    host = urlsplit(url).hostname or ""
    if ":" in host or _NUMBER.search(host):
        return f"the host {host} is a number and no name: go there only if you know it"
    labels = host.split(".")
    if any(label.startswith("xn--") for label in labels):
        name = visible(".".join(map(_decoded, labels)))
        return f"the host {host} reads {name} and may only look like one that you know: check it"
    return ""


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode().decode("punycode")
    except UnicodeError:
        return label
