"""`placet definitions`, as people run it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Dev, running

TEXT = """
name = "helper"
model = "openai:gpt-5"
builtins = ["ask_user_text"]
"""


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with running(tmp_path_factory.mktemp("definitions"), "--user", "alice") as made:
        yield made


def test_a_file_is_put_shown_replaced_and_deleted(dev: Dev, tmp_path: Path) -> None:
    file = tmp_path / "helper.toml"
    file.write_text(TEXT)
    put = dev.placet("definitions", "put", str(file), "--json")
    assert put.code == 0, put.err
    assert put.json["version"] == 1
    assert dev.placet("definitions", "put", str(file)).code == 5, "there is one already"
    assert dev.placet("definitions", "put", str(file), "--replace", "--json").json["version"] == 2
    shown = dev.placet("definitions", "show", "helper")
    assert json.loads(shown.out)["builtins"] == ["ask_user_text"]
    listed = dev.placet("definitions", "list", "--json").json["items"]
    assert ("helper", "api") in [(each["name"], each["source"]) for each in listed]
    assert "helper" in dev.placet("definitions", "list").out
    assert dev.placet("definitions", "delete", "helper").code == 0
    assert dev.placet("definitions", "show", "helper").code == 3


def test_what_does_not_fit_is_refused_with_its_place(dev: Dev, tmp_path: Path) -> None:
    file = tmp_path / "shell.json"
    file.write_text(json.dumps({"model": "openai:gpt-5", "builtins": ["bash"]}))
    refused = dev.placet("definitions", "put", str(file))
    assert refused.code == 1
    assert "/builtins/0" in refused.err
    assert dev.placet("definitions", "put", str(tmp_path / "x.py")).code == 1


def test_a_definition_of_a_file_is_shown_and_not_changed(dev: Dev) -> None:
    assert "file" in dev.placet("definitions", "show", "ops").out
    assert dev.placet("definitions", "delete", "ops").code == 5
