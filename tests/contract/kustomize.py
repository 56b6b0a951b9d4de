"""`kustomize build` for what k8s/ uses: a machine without kustomize can build and check it too."""

import copy
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Resource = dict[str, Any]
KNOWN = {
    "apiVersion", "kind", "namespace", "labels", "resources", "images", "replicas", "patches",
    "configMapGenerator",
}  # fmt: skip
UNSPACED = {"Namespace"}


def build(folder: Path) -> list[Resource]:
    """Every resource, with generated names filled in where they are referred to."""
    resources, maps = _accumulate(folder)
    renamed = {name: f"{name}-{_hash(data)}" for name, data in maps.items()}
    made = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": renamed[name], **_space_of(resources)},
            "data": data,
        }
        for name, data in maps.items()
    ]
    return [_refer(resource, renamed) for resource in resources] + made


def _accumulate(folder: Path) -> tuple[list[Resource], dict[str, dict[str, str]]]:
    wanted = yaml.safe_load((folder / "kustomization.yaml").read_text())
    unknown = set(wanted) - KNOWN
    assert not unknown, f"{folder}: {unknown} is not built here"
    resources: list[Resource] = []
    maps: dict[str, dict[str, str]] = {}
    for entry in wanted.get("resources", ()):
        path = (folder / entry).resolve()
        if path.is_dir():
            below, their = _accumulate(path)
            resources += below
            maps |= their
        else:
            resources += [r for r in yaml.safe_load_all(path.read_text()) if r]
    for generator in wanted.get("configMapGenerator", ()):
        _generate(folder, generator, maps)
    for resource in resources:
        _transform(resource, wanted)
    for patch in wanted.get("patches", ()):
        _patch(resources, patch)
    return resources, maps


def _generate(folder: Path, generator: dict[str, Any], maps: dict[str, dict[str, str]]) -> None:
    data = {name: (folder / name).read_text() for name in generator.get("files", ())}
    data |= dict(literal.split("=", 1) for literal in generator.get("literals", ()))
    merged = generator.get("behavior", "create") == "merge"
    assert merged == (generator["name"] in maps), f"{generator['name']}: merge what is there"
    maps[generator["name"]] = {**maps.get(generator["name"], {}), **data}


def _transform(resource: Resource, wanted: dict[str, Any]) -> None:
    metadata = resource["metadata"]
    if "namespace" in wanted and resource["kind"] not in UNSPACED:
        metadata["namespace"] = wanted["namespace"]
    template = resource.get("spec", {}).get("template", {})
    for label in wanted.get("labels", ()):
        metadata.setdefault("labels", {}).update(label["pairs"])
        if template and label.get("includeTemplates"):
            template["metadata"]["labels"].update(label["pairs"])
    for replica in wanted.get("replicas", ()):
        if replica["name"] == metadata["name"] and resource["kind"] == "Deployment":
            resource["spec"]["replicas"] = replica["count"]
    for image in wanted.get("images", ()):
        for container in template.get("spec", {}).get("containers", ()):
            if container["image"] == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"


def _patch(resources: list[Resource], patch: dict[str, Any]) -> None:
    kind, name = patch["target"]["kind"], patch["target"]["name"]
    found = [r for r in resources if r["kind"] == kind and r["metadata"]["name"] == name]
    assert found, f"nothing to patch: {kind} {name}"
    for operation in yaml.safe_load(patch["patch"]):
        assert operation["op"] in ("add", "replace"), operation
        *parents, last = operation["path"].strip("/").split("/")
        for resource in found:
            node: Any = resource
            for part in parents:
                node = node[int(part)] if isinstance(node, list) else node[part]
            node[int(last) if isinstance(node, list) else last] = operation["value"]


def _refer(resource: Resource, renamed: dict[str, str]) -> Resource:
    made = copy.deepcopy(resource)
    for node in nodes(made):
        for key in ("configMapKeyRef", "configMapRef", "configMap"):
            if key in node:
                node[key]["name"] = renamed[node[key]["name"]]
    return made


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside, the outermost first."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from nodes(each)
    elif isinstance(value, list):
        for each in value:
            yield from nodes(each)


def _space_of(resources: list[Resource]) -> dict[str, str]:
    spaces = {r["metadata"]["namespace"] for r in resources if "namespace" in r["metadata"]}
    return {"namespace": spaces.pop()} if spaces else {}


def _hash(data: dict[str, str]) -> str:
    return hashlib.sha256(repr(sorted(data.items())).encode()).hexdigest()[:10]


def unhashed(resources: list[Resource]) -> list[str]:
    """The resources in an order and with hashes that do not depend on who built them."""
    found = []
    for resource in resources:
        made = copy.deepcopy(resource)
        if made["kind"] == "ConfigMap":
            made["metadata"].pop("labels", None)
            made["metadata"].pop("annotations", None)
        text = yaml.safe_dump(made, sort_keys=True)
        found.append(re.sub(r"(name: placet[a-z-]*)-[a-z0-9]{10}\n", r"\1-HASH\n", text))
    return sorted(found)
