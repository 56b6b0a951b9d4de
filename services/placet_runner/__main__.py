"""`python -m placet_runner`: one runner, by the settings."""

import sys

from placet.process.serve import main as serve
from placet_runner.wiring import build


def main() -> int:
    """Run until SIGTERM; returns the exit code."""
    return serve(build)


if __name__ == "__main__":
    sys.exit(main())
