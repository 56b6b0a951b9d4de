"""By which words an interaction is found in a list: one indexed field for all of them."""

from collections.abc import Iterable

from placet_broker.rules.record import Record

ANYBODY = "who:*"
"""Nobody is named: whoever may answer inputs finds it among theirs."""


def words(record: Record) -> list[str]:
    """Who may answer it, whose it is, what it is, and how it was labelled; each once."""
    found = [
        *(of_somebody(name) for name in record.audience.named or ("*",)),
        *(f"agent:{agent}" for agent in record.agents),
        f"kind:{record.kind}",
        f"run:{record.run_id}",
        f"run:{record.root_run_id}",
        f"priority:{record.priority}",
        *(f"label:{label}" for label in record.labels),
    ]
    return list(dict.fromkeys(found))


def of_somebody(name: str) -> str:
    """The word for those that name somebody."""
    return f"who:{name}"


def for_people(names: Iterable[str]) -> list[str]:
    """The words for what somebody who goes by these names may answer, one of which must be found."""
    return sorted({ANYBODY, *map(of_somebody, names)})
