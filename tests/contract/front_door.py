"""How nginx chooses a location, for the few kinds that the front door uses."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Routes:
    """The locations of a server: exact, regular expressions in their order, prefixes."""

    exact: dict[str, str | None]
    patterns: list[tuple[re.Pattern[str], str | None]]
    prefixes: dict[str, str | None]

    def upstream(self, path: str) -> str | None:
        """Which upstream gets a path; None: it is answered here."""
        if path in self.exact:
            return self.exact[path]
        for pattern, upstream in self.patterns:
            if pattern.search(path):
                return upstream
        longest = max((p for p in self.prefixes if path.startswith(p)), key=len)
        return self.prefixes[longest]


def routes(text: str) -> Routes:
    """Read the locations of an nginx configuration."""
    found = Routes({}, [], {})
    for modifier, match, body in re.findall(
        r"location (?:(=|~) )?(\S+) \{\n(.*?)\n {8}\}", text, re.S
    ):
        proxied = re.search(r"proxy_pass http://(\w+);", body)
        upstream = proxied[1] if proxied else None
        if modifier == "=":
            found.exact[match] = upstream
        elif modifier == "~":
            found.patterns.append((re.compile(match), upstream))
        elif not match.startswith("@"):
            found.prefixes[match] = upstream
    return found
