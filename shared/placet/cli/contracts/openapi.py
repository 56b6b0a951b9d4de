"""The OpenAPI document of REST: the three services as the one origin that people see."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from fastapi import FastAPI

from placet.process.http import create_app
from placet.process.platform import from_settings
from placet.process.settings import Settings, load

SERVICES = ("runner", "broker", "notifier")


def document() -> dict[str, Any]:
    """The whole document: what each service says of itself, in one."""
    merged: dict[str, Any] = {}
    for _, app in apps():
        _merge(merged, app.openapi())
    return merged


def apps() -> Iterator[tuple[str, FastAPI]]:
    """Each service's name, and the app that it serves alone."""
    settings = load(Settings, data=":memory:", mongo_url=None, amqp_url=None)
    points = {point.name: point for point in entry_points(group="placet.services")}
    for name in SERVICES:
        platform = from_settings(settings)
        yield name, create_app([points[name].load()(platform)], platform)


def _merge(merged: dict[str, Any], found: dict[str, Any]) -> None:
    for name, value in found.items():
        if name in ("paths", "components", "schemas", "responses", "securitySchemes"):
            _merge(merged.setdefault(name, {}), value)
        elif name.startswith("/"):
            merged.setdefault(name, {}).update(value)
        elif merged.setdefault(name, value) != value:
            msg = f"two services describe {name} differently"
            raise ValueError(msg)
