"""`python -m placet_notifier`: the notifier as a process of its own."""

import sys

from placet.process.serve import main as run
from placet_notifier.wiring import build


def main() -> int:
    """Serve until SIGTERM; the exit code."""
    return run(build)


if __name__ == "__main__":
    sys.exit(main())
