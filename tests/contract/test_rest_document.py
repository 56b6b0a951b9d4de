"""The description of REST is whole: words, examples that fit, and every code that it replies with."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from placet.cli.contracts import openapi
from placet.errors import PlacetError
from placet.process import problems
from placet.process.codes import CODES, table
from placet.process.openapi import TAGS
from tests.unit.architecture.sources import sources

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = openapi.document()
OPERATIONS = {
    operation["operationId"]: (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
NEVER_ON_REST = {
    "refused": "the root of refusals, which is never raised itself",
    "bad_setting": "a process with one does not start",
    "bad_statement": "a bug, which is `internal`",
    "lost_lease": "stops a holder; nobody waits for it",
    "model_failed": "is a run's end, in its `error`",
    "tool_error": "is told to the model",
    "address_refused": "is a delivery's `last_error`",
    "call_failed": "is a delivery's `last_error`",
    "not_retryable": "is told by `placet dead`",
    "grant_refused": "is shown on the page that the issuer sends the browser back to",
    "voted": "is a reply on the bus to a yes that is not the last",
}
"""Codes of errors that no request ends with, and why."""
NO_CREATION = {
    **{
        f"broker.{name}": "the same outcome again is 200"
        for name in ("answer", "answer_of_agent", "answer_several", "answer_several_of_agent")
    },
    "broker.ask": "the request's own id, or its run's and call's, makes it one",
    "broker.withdraw": "once it is withdrawn, again changes nothing",
    "broker.extend": "the same deadline again changes nothing",
    "broker.claim": "the same claim again is the same",
    "broker.release": "once it is released, again changes nothing",
    "broker.edit_audience": "the same change again changes nothing",
    "broker.create_code": "a code is shown once and kept nowhere: whoever lost the reply needs another, "
    "which ends the one before",
    "broker.lift": "once it is lifted, again changes nothing",
    "runner.abort": "once it has ended, again changes nothing",
    "runner.abort_run": "once it has ended, again changes nothing",
    "notifier.rotate": "a secret is shown once: whoever lost the reply rotates again",
    "notifier.redeliver": "a delivery is at least once anyway, under one id",
}
"""What is posted without an `Idempotency-Key`, and why."""
_RAISING = {"Conflict", "NotAllowed", "Gap", "problem"}


def fits(schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    jsonschema_rs.validator_for(whole).validate(value)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_one_prefix_a_summary_and_a_tag(name: str) -> None:
    path, _, operation = OPERATIONS[name]
    assert path.startswith("/v1/")
    words = operation["summary"]
    made_by_the_framework = name.partition(".")[2].replace("_", " ").title()
    assert words != made_by_the_framework
    assert len(operation["tags"]) == 1
    assert operation["tags"][0] in TAGS
    assert "deprecated" not in operation


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_body_and_reply_has_an_example_that_fits_its_schema(name: str) -> None:
    _, _, operation = OPERATIONS[name]
    contents = {"body": operation.get("requestBody", {}).get("content", {})}
    contents |= {s: r.get("content", {}) for s, r in operation["responses"].items() if s < "400"}
    for where, content in contents.items():
        for shown in content.values():
            assert "example" in shown, f"{name} {where}: add it to placet.process.rest"
            fits(shown["schema"], shown["example"])


@pytest.mark.parametrize("name", sorted(DOCUMENT["components"]["responses"]))
def test_every_refusal_has_an_example_that_fits_its_schema(name: str) -> None:
    for shown in DOCUMENT["components"]["responses"][name]["content"].values():
        fits(shown["schema"], shown["example"])
        assert shown["example"]["code"] in CODES


def test_every_list_comes_in_pages() -> None:
    for path, method, operation in OPERATIONS.values():
        if method != "get" or "application/json" not in operation["responses"]["200"]["content"]:
            continue
        shown = operation["responses"]["200"]["content"]["application/json"]["example"]
        if "items" not in shown:
            continue
        names = {each["name"] for each in operation["parameters"]}
        assert {"cursor", "limit"} <= names, path
        assert "next_cursor" in shown, path


def test_every_creation_takes_an_idempotency_key() -> None:
    posts = {name: found for name, (_, method, found) in OPERATIONS.items() if method == "post"}
    takes = {
        name
        for name, found in posts.items()
        if "Idempotency-Key" in {each["name"] for each in found.get("parameters", ())}
    }
    assert set(posts) == takes | set(NO_CREATION)
    assert not takes & set(NO_CREATION)


def test_the_page_of_the_documentation_has_every_operation() -> None:
    rows = re.findall(r"^\| (`[A-Z].*?`) \|", (DOCS / "rest.md").read_text(), re.M)
    shown = set()
    for row in rows:
        methods: list[str] = []
        for words in re.findall(r"`([^`]+)`", row):
            method, _, path = words.partition(" ")
            methods = [*methods, method]
            if path:
                plain = _nameless(path.partition("?")[0])
                shown |= {(each, plain) for each in methods}
                methods = []
    assert shown == {(m.upper(), _nameless(path)) for path, m, _ in OPERATIONS.values()}


def test_every_code_in_the_source_is_in_the_table_or_never_on_rest() -> None:
    found = set(codes_in_the_source())
    assert found == set(CODES) | set(NEVER_ON_REST)
    assert not set(CODES) & set(NEVER_ON_REST)


def test_the_table_has_the_status_that_each_error_is_replied_with() -> None:
    for error in descendants(PlacetError):
        if error.code in CODES and "code" in vars(error):
            made = error.__new__(error)
            assert problems.status_of(made) == CODES[error.code].status, error.__name__


def test_the_page_of_the_documentation_has_the_table() -> None:
    assert table() in (DOCS / "rest.md").read_text()


def codes_in_the_source() -> Iterator[str]:
    """What an error class says, what is given where one is raised, and the framework's own."""
    yield from problems._CODES.values()
    yield "error"
    for source in sources():
        if not source.name.startswith(("shared/", "services/")):
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                yield from _of_class(node)
            elif isinstance(node, ast.Call) and _name(node.func) in _RAISING:
                yield from (_text(each.value) for each in node.keywords if _is_code(each))


def _nameless(path: str) -> str:
    return re.sub(r"\{[^}]+\}", "{}", path)


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if isinstance(part, ast.Assign) and _name(part.targets[0]) == "code":
            yield _text(part.value)


def _is_code(word: ast.keyword) -> bool:
    return word.arg == "code" and isinstance(word.value, ast.Constant)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _text(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, str)
    return node.value


def descendants(cls: type[PlacetError]) -> Iterator[type[PlacetError]]:
    for each in cls.__subclasses__():
        yield each
        yield from descendants(each)
