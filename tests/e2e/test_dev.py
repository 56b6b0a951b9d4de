"""`placet dev` and `placet demo`, as one person on one machine meets them."""

import json
import signal
import sys
import time
from pathlib import Path

import httpx2
import pytest

from placet.cli.dev import second_terminal
from placet.client import Client
from tests.support.commands import ROOT, Dev, clean, placet, running


def post_login(dev: Dev, token: str) -> httpx2.Response:
    """What the button of the login page does."""
    return httpx2.post(f"{dev.url}/login", data={"token": token}, headers={"Origin": dev.url})


def test_the_link_logs_in_once_and_only_when_it_is_posted(dev: Dev, tmp_path: Path) -> None:
    with running(tmp_path / "own") as own:
        token = own.link.partition("token=")[2]
        for _ in range(3):  # a mail scanner follows links
            offered = httpx2.get(own.link)
            assert offered.status_code == 200
            assert "set-cookie" not in offered.headers
        first = post_login(own, token)
        assert (first.status_code, first.headers["location"]) == (303, "/inbox")
        assert "HttpOnly" in first.headers["set-cookie"]
        assert "SameSite=strict" in first.headers["set-cookie"]
        second = post_login(own, token)
        assert second.status_code == 401
        assert "set-cookie" not in second.headers
        cookie = first.headers["set-cookie"].partition(";")[0]
        inbox = httpx2.get(f"{own.url}/inbox", headers={"Cookie": cookie})
        assert (inbox.status_code, "alice" in inbox.text) == (200, True)


def test_nothing_is_open_without_a_credential(dev: Dev) -> None:
    for path in ("/v1/inputs", "/v1/runs", "/v1/definitions", "/v1/keys", "/v1/webhooks"):
        assert httpx2.get(dev.url + path).status_code == 401
    assert httpx2.post(f"{dev.url}/v1/agents/ops/runs", json={"input": "x"}).status_code == 401


def test_an_input_keeps_its_id_over_a_kill_and_its_call_runs_once(tmp_path: Path) -> None:
    with running(tmp_path / "dev") as dev:
        run = dev.asks()
        key, waiting = dev.settings["PLACET_KEY"], run["inputs"][0]["id"]
        dev.end(signal.SIGKILL)
        dev.start()
        assert dev.settings["PLACET_KEY"] == key
        (found,) = dev.placet("respond", "--json").json
        assert found["id"] == waiting
        with Client(dev.url, key) as client:
            assert client.input(waiting).answer(True, from_="alice").status == "completed"
        assert [effect["name"] for effect in dev.effects()] == ["staging"]


def test_it_ends_in_good_order_and_starts_again_quickly(tmp_path: Path) -> None:
    with running(tmp_path / "dev") as dev:
        assert dev.end() == 0
        began = time.monotonic()
        dev.start()
        assert time.monotonic() - began < 30  # seconds; it takes about one


def test_a_file_that_does_not_import_is_named_and_the_rest_is_there(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("from placet import Agent\n\nbot = Agent('bot', model=)\n")
    words = ("--agents", "placet.agents.ops", "--agents", str(broken))
    with running(tmp_path / "dev", "--user", "alice", *words) as dev:
        assert f"not loaded: {broken}:3: SyntaxError" in dev.log().split("Placet is ready")[0]
        assert "{" not in dev.log(), "no JSON for the person at the terminal"
        told = httpx2.get(f"{dev.url}/v1/definitions", headers=dev.headers).json()
        assert [item["name"] for item in told["items"]] == ["ops"]
        assert f"{broken}:3" in told["problems"][0]
        assert dev.asks()["status"] == "input_required"
        unknown = dev.placet("run", "bot", "hello")
        assert (unknown.code, "ops" in unknown.err) == (3, True)


def test_it_says_what_to_type_with_an_agent_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    lines = second_terminal("http://h", "plc_x", "an na", ["releases"])
    assert lines[-2] == 'placet run releases "What needs to be done?"'
    assert lines[-1] == "placet respond"
    assert "PLACET_USER='an na'" in lines[-3]
    monkeypatch.setenv("PATH", "/nowhere")
    first = second_terminal("http://h", "plc_x", "anna", ["ops"])[0]
    assert first == f". {Path(sys.prefix) / 'bin' / 'activate'}" or first.startswith(". .venv")


def test_what_it_serves_is_what_the_contract_says(dev: Dev) -> None:
    written = json.loads((ROOT / "contracts" / "openapi.json").read_text())
    assert httpx2.get(f"{dev.url}/openapi.json").json() == written


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104 - to be refused
def test_another_address_than_loopback_is_refused(tmp_path: Path, host: str) -> None:
    done = placet("dev", "--host", host, "--port", "0", cwd=tmp_path, env=clean())
    assert done.code == 2
    assert host in done.err


def test_a_port_that_is_taken_is_named(dev: Dev, tmp_path: Path) -> None:
    port = dev.url.rpartition(":")[2]
    done = placet("dev", "--port", port, cwd=tmp_path, env=clean())
    assert done.code == 2
    assert done.err.startswith(f"placet: port {port} on 127.0.0.1 is taken")
    assert "another port" in done.err
    assert done.err.count("\n") == 1
    by_setting = placet("dev", cwd=tmp_path, env=clean(PLACET_PORT=port))
    assert (by_setting.code, by_setting.err) == (2, done.err)
    by_host = placet("dev", cwd=tmp_path, env=clean(PLACET_HOST="0.0.0.0"))  # noqa: S104 - refused
    assert (by_host.code, "0.0.0.0" in by_host.err) == (2, True)  # noqa: S104 - refused


def test_a_wrong_setting_is_named_at_the_start(tmp_path: Path) -> None:
    done = placet("dev", "--port", "0", cwd=tmp_path, env=clean(PLACET_LEASE_SECONDS="soon"))
    assert done.code == 2
    assert "PLACET_LEASE_SECONDS" in done.err


def test_another_host_name_is_not_answered(dev: Dev) -> None:
    """A page elsewhere that points its name at this machine gets nothing."""
    refused = httpx2.get(f"{dev.url}/v1/inputs", headers=dev.headers | {"Host": "evil.example"})
    assert refused.status_code == 421


def test_probes_and_metrics_tell_the_truth(dev: Dev) -> None:
    assert httpx2.get(f"{dev.url}/healthz").json() == {"status": "ok"}
    assert httpx2.get(f"{dev.url}/readyz").json() == {"ready": True, "reasons": []}
    assert "placet_runs" in httpx2.get(f"{dev.url}/metrics").text


def test_the_key_is_for_its_owners_eyes(dev: Dev) -> None:
    key = dev.folder / "data" / "key"
    assert key.read_text().strip() == dev.settings["PLACET_KEY"]
    assert key.stat().st_mode & 0o077 == 0


def test_the_demo_tells_the_whole_story(tmp_path: Path) -> None:
    done = placet("demo", cwd=tmp_path, env=clean())
    assert done.code == 0, done.err
    for words in (
        "http://127.0.0.1:",
        "is input_required and holds nothing",
        '"name": "staging"',
        "kill -9",
        "is the same id",
        "is completed",
        'The tool ran 1 time(s), with exactly these arguments:\n   drop_database name="staging"',
    ):
        assert words in done.out
    assert list(tmp_path.iterdir()) == []
