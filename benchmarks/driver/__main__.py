"""`python -m benchmarks.driver`: a job as JSON on stdin, its result as JSON on stdout."""

import json
import sys

import uvloop

from benchmarks.driver.loops import LOOPS, Job
from benchmarks.driver.person import Person


async def main() -> None:
    """Do the job."""
    job: Job = json.load(sys.stdin)
    person = Person(job["urls"], job["key"], job["learn"])
    await person.open()
    result = await LOOPS[job["mode"]](person, job)
    print(json.dumps(result))


if __name__ == "__main__":
    uvloop.run(main())
