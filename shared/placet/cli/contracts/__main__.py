"""`python -m placet.cli.contracts [--check] [DIR]`: write `contracts/`, or compare it with the code."""

import sys
from pathlib import Path

from placet.cli.contracts import asyncapi, openapi, rabbitmq
from placet.cli.contracts.problems import problem_examples
from placet.messages.export import examples, pretty, schemas

USAGE = "usage: python -m placet.cli.contracts [--check] [DIR]"
GENERATED = ("schemas", "examples")
"""The folders in which every file is generated."""


def contents() -> dict[str, bytes]:
    """Every generated file, by its path in `contracts/`."""
    return {
        **schemas(),
        **examples(),
        **problem_examples(),
        "asyncapi.json": pretty(asyncapi.document()),
        "openapi.json": pretty(openapi.document()),
        "rabbitmq.json": pretty(rabbitmq.definitions()),
    }


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Write every file and remove what is generated no more; what is released stays."""
    for path in _present(folder) - files.keys():
        (folder / path).unlink()
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def differences(folder: Path, files: dict[str, bytes]) -> list[str]:
    """What is not as generated, one sentence a file; empty when all is."""
    present = _present(folder)
    extra = [f"{path} is generated no more" for path in sorted(present - files.keys())]
    missing = [f"{path} is missing" for path in sorted(files.keys() - present)]
    changed = [
        f"{path} differs"
        for path in sorted(files.keys() & present)
        if (folder / path).read_bytes() != files[path]
    ]
    return extra + missing + changed


def _present(folder: Path) -> set[str]:
    found = [path for part in GENERATED for path in (folder / part).glob("*.json")]
    found += folder.glob("*.json")
    return {str(path.relative_to(folder)) for path in found}


def main(words: list[str]) -> int:
    """Write or check; the exit code."""
    check = "--check" in words
    places = [word for word in words if word != "--check"]
    if len(places) > 1 or any(word.startswith("-") for word in places):
        sys.stderr.write(USAGE + "\n")
        return 2
    folder = Path(places[0] if places else "contracts")
    files = contents()
    if not check:
        write(folder, files)
        return 0
    found = differences(folder, files)
    for line in found:
        sys.stderr.write(f"{folder}/{line}\n")
    if found:
        sys.stderr.write("write them again: python -m placet.cli.contracts\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
