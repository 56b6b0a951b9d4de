"""docker-compose.yml, the Dockerfile and deploy/: valid, without secrets, and true to the code."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from placet.bus.topology import TOPOLOGY
from placet.cli.contracts import openapi
from placet.messages.users import BROKER_USER, NOTIFIER_USER, RUNNER_USER
from placet.process.settings import Settings
from placet_broker.settings import BrokerSettings
from placet_notifier.settings import NotifierSettings
from placet_runner.settings import RunnerSettings
from tests.contract import front_door

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
SETTINGS: dict[str, type[Settings]] = {
    "runner": RunnerSettings,
    "broker": BrokerSettings,
    "notifier": NotifierSettings,
    "topology": Settings,
}
VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z_]+)(:[?-][^}]*)?\}")


def test_the_compose_file_is_valid() -> None:
    command = ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"]
    tool = Path(sys.executable).parent / command[0]
    done = subprocess.run(
        [tool, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_runners_two_brokers_and_a_notifier_start() -> None:
    replicas = {name: SERVICES[name].get("deploy", {}).get("replicas", 1) for name in SETTINGS}
    assert replicas == {"runner": 2, "broker": 2, "notifier": 1, "topology": 1}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_variable_of_a_service_is_a_setting(name: str) -> None:
    given = {v for v in SERVICES[name]["environment"] if v.startswith("PLACET_")}
    assert given <= {f"PLACET_{field.upper()}" for field in SETTINGS[name].model_fields}


def test_a_password_has_no_default_and_its_absence_stops_compose() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    secret = [m for m in VARIABLE.finditer(text) if m[1].endswith(("PASSWORD", "KEY"))]
    assert len(secret) > 10
    for match in secret:
        assert (match[2] or "").startswith(":?"), f"{match[1]} must be required"


def test_every_variable_is_explained_in_the_example_and_no_secret_has_a_value() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    example = dict(
        line.lstrip("#").split("=", 1)
        for line in (ROOT / ".env.example").read_text().splitlines()
        if re.match(r"#?[A-Z_]+=", line)
    )
    assert {match[1] for match in VARIABLE.finditer(text)} <= set(example)
    for name, value in example.items():
        assert not (value and name.endswith(("PASSWORD", "KEY"))), name


def test_the_made_environment_is_whole_and_not_made_twice(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    script = tmp_path / "deploy/make-env"
    script.write_bytes((ROOT / "deploy/make-env").read_bytes())
    (tmp_path / ".env.example").write_bytes((ROOT / ".env.example").read_bytes())
    subprocess.run(["bash", script], check=True, capture_output=True)
    made = dict(
        line.split("=", 1)
        for line in (tmp_path / ".env").read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )
    assert all(made.values())
    passwords = [value for name, value in made.items() if name.endswith(("PASSWORD", "KEY"))]
    assert len(set(passwords)) == len(passwords)
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
    assert subprocess.run(["bash", script], check=False, capture_output=True).returncode == 1


def test_only_the_front_door_is_reached_and_only_from_this_machine() -> None:
    published = {name: s["ports"] for name, s in SERVICES.items() if "ports" in s}
    assert set(published) == {"front-door"}
    assert all(port.startswith("127.0.0.1:") for port in published["front-door"])
    assert COMPOSE["networks"]["inside"]["internal"] is True


def test_what_is_waited_for_has_a_health_check_or_an_end() -> None:
    for service in SERVICES.values():
        for name, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                check = SERVICES[name]["healthcheck"]
                assert {"start_period", "start_interval"} <= set(check)
            else:
                assert how["condition"] == "service_completed_successfully"
                assert "restart" not in SERVICES[name]


def test_every_file_that_is_mounted_is_there() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / source).exists(), source


def test_a_service_is_stopped_later_than_it_needs() -> None:
    runner = RunnerSettings.model_fields
    needs = runner["grace_seconds"].default + runner["drain_seconds"].default
    for name in ("runner", "broker", "notifier"):
        assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) >= needs + 10


def test_the_image_is_pinned_small_and_not_root() -> None:
    text = (ROOT / "Dockerfile").read_text()
    build, final = re.split(r"^FROM ", text, flags=re.M)[1:]
    assert build.startswith("python:3.11-slim-bookworm AS build")
    assert final.startswith("python:3.11-slim-bookworm\n")
    installs = re.findall(r"install .*-r .*", build)
    assert len(installs) == 2
    assert all("--require-hashes" in line for line in installs)
    assert re.search(r"^USER 10001:10001$", final, re.M)
    assert re.search(r"^HEALTHCHECK ", final, re.M)
    assert 'ENTRYPOINT ["placet"]' in final
    assert "apt-get" not in text


def test_the_builder_is_given_what_the_image_copies_and_nothing_else() -> None:
    kept = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {
        word
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert kept == copied
    assert all((ROOT / path).exists() for path in kept)


def test_each_service_has_a_user_of_its_own_on_rabbitmq_and_on_mongodb() -> None:
    rabbit = json.loads((ROOT / "deploy/rabbitmq/users.json").read_text())
    mongo = json.loads((ROOT / "deploy/mongodb/users.json").read_text())
    own = {RUNNER_USER, BROKER_USER, NOTIFIER_USER}
    assert {user["name"] for user in rabbit["users"]} == own | {"placet-operator"}
    assert {user["createUser"] for user in mongo["users"]} == own
    written = [
        role["db"]
        for user in mongo["users"]
        for role in user["roles"]
        if isinstance(role, dict) and role["role"] == "readWrite"
    ]
    assert sorted(written) == [
        "placet_auth",
        "placet_deliveries",
        "placet_interactions",
        "placet_runs",
    ]


def may(user: str, right: str, name: str) -> bool:
    rabbit = json.loads((ROOT / "deploy/rabbitmq/users.json").read_text())
    (found,) = [p for p in rabbit["permissions"] if p["user"] == user]
    return re.search(found[right], name) is not None


def test_the_runner_can_publish_neither_answers_nor_resolutions() -> None:
    assert not may(RUNNER_USER, "write", "placet.answers")
    assert not may(RUNNER_USER, "write", "placet.resolutions")
    writers = [
        u
        for u in (RUNNER_USER, BROKER_USER, NOTIFIER_USER)
        if may(u, "write", "placet.resolutions")
    ]
    assert writers == [BROKER_USER]


def test_a_service_reads_its_own_queues_alone() -> None:
    owners = {"runner": RUNNER_USER, "broker": BROKER_USER, "notifier": NOTIFIER_USER}
    for row in TOPOLOGY.queues:
        for part, user in owners.items():
            assert may(user, "read", row.name) == row.name.startswith(f"placet.{part}."), row.name


def test_the_front_door_sends_every_path_to_the_service_that_has_it(
    generated: dict[str, bytes],
) -> None:
    routes = front_door.routes((ROOT / "deploy/front-door/nginx.conf").read_text())
    for path, methods in json.loads(generated["openapi.json"])["paths"].items():
        (service,) = {operation["x-service"] for operation in methods.values()}
        concrete = re.sub(r"\{[^}]+\}", "some-id_1", path)
        assert routes.upstream(concrete) == service, path


def test_the_front_door_sends_every_page_to_the_service_that_has_it() -> None:
    routes = front_door.routes((ROOT / "deploy/front-door/nginx.conf").read_text())
    pages = {(service, path) for service, path in served() if not path.startswith("/v1/")}
    assert {("broker", "/l/{token}"), ("broker", "/inbox/{id}")} <= pages
    for service, path in pages:
        assert routes.upstream(re.sub(r"\{[^}]+\}", "some-id_1", path)) == service, path


def served() -> Iterator[tuple[str, str]]:
    """Every path of every service."""
    for name, app in openapi.apps():
        for service in app.state.services:
            for router in service.routers:
                yield from ((name, getattr(route, "path", "")) for route in router.routes)


@pytest.mark.parametrize(
    ("path", "service"),
    [
        ("/", "broker"),
        ("/inbox", "broker"),
        ("/inbox/inp_1", "broker"),
        ("/login", "broker"),
        ("/login/oidc", "broker"),
        ("/login/oidc/callback", "broker"),
        ("/l/0123.secret", "broker"),
        ("/channels/slack", "notifier"),
        ("/v1/agents/ops/inputsother", "runner"),
        ("/v1/agents/inputs/runs", "runner"),
        ("/v1/inputsother", "runner"),
        ("/metrics", None),
        ("/readyz", None),
        ("/healthz", None),
    ],
)
def test_the_front_door_keeps_the_pages_and_hides_the_probes(
    path: str, service: str | None
) -> None:
    routes = front_door.routes((ROOT / "deploy/front-door/nginx.conf").read_text())
    assert routes.upstream(path) == service


@pytest.mark.parametrize(
    "upstreams", ["deploy/front-door/compose.upstreams.conf", "k8s/base/upstreams.conf"]
)
def test_the_front_door_knows_where_each_service_is(upstreams: str) -> None:
    text = (ROOT / upstreams).read_text()
    assert set(re.findall(r"^upstream (\w+)", text, re.M)) == {"runner", "broker", "notifier"}
    ports = set(re.findall(r"server [\w-]+:(\d+)", text))
    assert ports == {str(Settings.model_fields["port"].default)}
