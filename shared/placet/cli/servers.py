"""The services as processes of their own."""

from importlib.metadata import entry_points

from placet.errors import SettingsError
from placet.process.serve import Build, main


def builds(*names: str) -> list[Build]:
    """How to build these services, as installed. Raises SettingsError for one that is not."""
    found = {point.name: point for point in entry_points(group="placet.services")}
    missing = [name for name in names if name not in found]
    if missing:
        raise SettingsError(f"the service {missing[0]!r} is not installed; reinstall placet")
    return [found[name].load() for name in names]


def runner() -> int:
    """Run a runner: it executes runs and parks them. Settings come from PLACET_... and placet.toml."""
    return main(*builds("runner"))


def broker() -> int:
    """Run a broker: it keeps every question and decides who may answer."""
    return main(*builds("broker"))


def notifier() -> int:
    """Run a notifier: it tells people and systems."""
    return main(*builds("notifier"))
