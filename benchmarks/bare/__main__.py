"""`python -m benchmarks.bare`: a job as JSON on stdin, its result as JSON on stdout."""

import json
import sys

import uvloop

from benchmarks.bare.loops import LOOPS, Job


async def main() -> None:
    """Do the job."""
    job: Job = json.load(sys.stdin)
    print(json.dumps(await LOOPS[job["mode"]](job)))


if __name__ == "__main__":
    uvloop.run(main())
