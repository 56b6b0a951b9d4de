"""Start a run, look at what it wants, and answer: first async, then sync.

Wants PLACET_URL and PLACET_KEY, as `placet dev` prints them. The key of a service may act for others
(`runs:as`, `answer:as`), which is why a `user` and a `from_` are given here.
"""

import asyncio

from placet.client import AsyncClient, Client


async def approve() -> None:
    """Run, and say yes to everything that is asked."""
    async with AsyncClient() as client:
        run = await client.agent("ops").run("Delete the staging database", user="alice")
        while run.status == "input_required":
            print(run.inputs[0].kind, run.inputs[0].message)
            run = await run.inputs[0].answer(True, from_="alice")
        print(run.status, run.text)


def decline() -> None:
    """The same without `await`, and a no."""
    with Client() as client:
        run = client.agent("ops").run("Delete the production database", user="alice")
        waiting = client.inbox("pending")
        print(len(waiting), "waits in the inbox")
        run = run.inputs[0].decline("not on a Friday", from_="alice")
        print(run.status, run.text)


if __name__ == "__main__":
    asyncio.run(approve())
    decline()
