"""k8s/: it builds, it is valid, and it keeps what it promises."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from placet.process.settings import Settings
from placet_broker.settings import BrokerSettings
from placet_notifier.settings import NotifierSettings
from placet_runner.settings import RunnerSettings
from tests.contract.kustomize import Resource, build, nodes, unhashed

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "k8s/base", ROOT / "k8s/overlays/example"]
KUBERNETES = "1.37"
SETTINGS: dict[str, type[Settings]] = {
    "runner": RunnerSettings,
    "broker": BrokerSettings,
    "notifier": NotifierSettings,
}


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def built(request: pytest.FixtureRequest) -> list[Resource]:
    return build(request.param)


@pytest.fixture(scope="module")
def base() -> list[Resource]:
    return build(FOLDERS[0])


def of_kind(resources: list[Resource], *kinds: str) -> list[Resource]:
    return [resource for resource in resources if resource["kind"] in kinds]


def pods(resources: list[Resource]) -> list[Any]:
    return [r["spec"]["template"]["spec"] for r in of_kind(resources, "Deployment", "Job")]


def test_every_resource_is_valid_with_nothing_unknown_in_it(built: list[Resource]) -> None:
    for resource in built:
        kubernetes_validate.validate(resource, KUBERNETES, strict=True)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_kustomize_builds_the_same_where_it_is_installed(folder: Path) -> None:
    command = kustomize()
    if command is None:
        return  # The build of this test's own is checked all the same.
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=True)
    theirs = [resource for resource in yaml.safe_load_all(done.stdout) if resource]
    assert unhashed(theirs) == unhashed(build(folder))


def kustomize() -> list[str] | None:
    """A kustomize of version 5; older ones, such as that in kubectl 1.20, read less."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    if shutil.which("kubectl"):
        command = ["kubectl", "version", "--client"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return ["kubectl", "kustomize"] if "Kustomize Version: v5" in said else None
    return None


def test_the_base_names_no_namespace(base: list[Resource]) -> None:
    assert all("namespace" not in resource["metadata"] for resource in base)


def test_no_secret_is_in_the_files_and_each_service_refers_to_its_own(
    base: list[Resource],
) -> None:
    assert not of_kind(base, "Secret")
    for deployment in of_kind(base, "Deployment"):
        name = deployment["metadata"]["name"]
        refs = {n["secretKeyRef"]["name"] for n in nodes(deployment) if "secretKeyRef" in n}
        assert refs == (set() if name == "placet-front-door" else {name})


def test_every_pod_is_confined(built: list[Resource]) -> None:
    for pod in pods(built):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            confined = container["securityContext"]
            assert confined["allowPrivilegeEscalation"] is False
            assert confined["readOnlyRootFilesystem"] is True
            assert confined["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["requests"]
            assert container["resources"]["limits"]["memory"]


def test_every_service_account_exists_and_has_no_token(built: list[Resource]) -> None:
    accounts = {a["metadata"]["name"]: a for a in of_kind(built, "ServiceAccount")}
    assert {pod["serviceAccountName"] for pod in pods(built)} == set(accounts)
    assert all(a["automountServiceAccountToken"] is False for a in accounts.values())


def test_liveness_asks_the_process_alone_and_readiness_asks_for_all(base: list[Resource]) -> None:
    for name, container in services(base).items():
        paths = {
            probe: container[probe]["httpGet"]["path"]
            for probe in ("startupProbe", "livenessProbe", "readinessProbe")
        }
        assert paths == {
            "startupProbe": "/healthz",
            "livenessProbe": "/healthz",
            "readinessProbe": "/readyz",
        }, name


def test_a_pod_is_given_longer_to_end_than_its_service_takes(base: list[Resource]) -> None:
    config = next(c["data"] for c in of_kind(base, "ConfigMap") if "PLACET_AGENTS" in c["data"])
    for deployment in of_kind(base, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        container = pod["containers"][0]
        pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        grace = (
            float(config["PLACET_GRACE_SECONDS"])
            if deployment["metadata"]["name"] == "placet-runner"
            else 0
        )
        drain = float(config["PLACET_DRAIN_SECONDS"])
        assert pod["terminationGracePeriodSeconds"] >= pause + grace + drain + 10


def test_every_variable_is_a_setting(base: list[Resource]) -> None:
    for name, container in services(base).items():
        fields = {f"PLACET_{field.upper()}" for field in SETTINGS[name].model_fields}
        assert {variable["name"] for variable in container["env"]} <= fields


def test_every_reference_to_the_configuration_names_a_key_that_is_there(
    built: list[Resource],
) -> None:
    maps = {m["metadata"]["name"]: m["data"] for m in of_kind(built, "ConfigMap")}
    for node in nodes(built):
        if "configMapKeyRef" in node:
            assert node["configMapKeyRef"]["key"] in maps[node["configMapKeyRef"]["name"]]
        if "configMap" in node:
            assert node["configMap"]["name"] in maps


def test_services_disruption_budgets_and_policies_select_pods_that_are_there(
    built: list[Resource],
) -> None:
    labels = [r["spec"]["template"]["metadata"]["labels"] for r in of_kind(built, "Deployment")]
    selectors = [s["spec"]["selector"] for s in of_kind(built, "Service")]
    budgets = of_kind(built, "PodDisruptionBudget")
    selectors += [b["spec"]["selector"]["matchLabels"] for b in budgets]
    for selector in selectors:
        assert any(selector.items() <= one.items() for one in labels), selector
    assert len(budgets) == len(labels)


def test_nothing_goes_anywhere_that_is_not_named(base: list[Resource]) -> None:
    policies = {p["metadata"]["name"]: p["spec"] for p in of_kind(base, "NetworkPolicy")}
    deny = policies["placet-default-deny"]
    assert deny["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in deny
    assert "egress" not in deny
    covered = set(deny["podSelector"]["matchExpressions"][0]["values"])
    assert covered == {r["metadata"]["name"] for r in of_kind(base, "Deployment", "Job")}
    outside = policies["placet-outside"]["podSelector"]["matchExpressions"][0]["values"]
    assert outside == ["placet-runner", "placet-notifier"]


def test_the_overlay_changes_what_it_says(base: list[Resource]) -> None:
    example = build(FOLDERS[1])
    replicas = {
        d["metadata"]["name"]: d["spec"]["replicas"] for d in of_kind(example, "Deployment")
    }
    assert replicas["placet-runner"] == 4
    images = {container["image"] for pod in pods(example) for container in pod["containers"]}
    assert "registry.example.com/placet:0.1.0" in images
    (ingress,) = of_kind(example, "Ingress")
    assert ingress["spec"]["rules"][0]["host"] == "approvals.example.com"


def services(resources: list[Resource]) -> dict[str, Any]:
    """The container of each of the three services."""
    found = {}
    for deployment in of_kind(resources, "Deployment"):
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        if container["name"] in SETTINGS:
            found[container["name"]] = container
    assert set(found) == set(SETTINGS)
    return found
