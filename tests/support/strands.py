"""The published strands-agents in an environment of its own, beside the one that Placet is tested in."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".strands-venv"
PINS = ROOT / "requirements" / "strands.txt"
PYTHON = VENV / "bin" / "python"
INSTALL_SECONDS = 600
RUN_SECONDS = 120


def make_environment() -> None:
    """Install the pins, once for the same ones. Raises AssertionError with what the installer said."""
    mark, digest = VENV / ".installed", hashlib.sha256(PINS.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == digest and PYTHON.exists():
        return
    print(f"installing {PINS.relative_to(ROOT)} into {VENV.name} ...")
    _run([sys.executable, "-m", "venv", "--clear", VENV])
    pip: list[str | Path] = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]
    _run([*pip, "--require-hashes", "-r", PINS])
    mark.write_text(digest)


def _run(words: Sequence[str | Path]) -> None:
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
    )
    assert done.returncode == 0, f"{PINS.name} can't be installed: {done.stderr[-1000:]}"


def outcomes(program: Path, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What one process makes of these jobs: JSON lines in, JSON lines out, in the same order."""
    done = subprocess.run(
        [PYTHON, program],
        input="".join(json.dumps(job) + "\n" for job in jobs),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
        env={"OTEL_SDK_DISABLED": "true", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(jobs), done.stderr[-4000:]
    return found
