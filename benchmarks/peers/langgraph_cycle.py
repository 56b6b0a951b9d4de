"""LangGraph with its MongoDB checkpointer: interrupt, resume, one tool. Runs without Placet.

A job as JSON on stdin, its result on stdout. The graph has the steps of Placet's cycle: a scripted
model that calls a tool, a tool that waits for approval, the model again, the end.
"""

import asyncio
import json
import sys
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

from langgraph.checkpoint.mongodb import MongoDBSaver  # type: ignore[import-not-found]
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]
from langgraph.types import Command, interrupt  # type: ignore[import-not-found]
from pymongo import MongoClient

SETTLE = 0.5


class State(TypedDict, total=False):
    """What the graph carries."""

    run: str
    call: dict[str, str] | None
    result: str
    text: str


effects: Counter[str] = Counter()


def model(state: State) -> State:
    """The scripted model: one call, then the end."""
    if "result" in state:
        return {"text": "done", "call": None}
    return {"call": {"tool": "drop_database", "name": "staging"}}


def tool(state: State) -> State:
    """Ask, then act."""
    call = state["call"]
    if not interrupt({"question": "Run this?", "call": call}):
        return {"result": "denied"}
    effects[state["run"]] += 1
    return {"result": "database dropped"}


def following(state: State) -> str:
    """To the tool if the model called it."""
    return "tool" if state.get("call") else END


def compiled(job: dict[str, Any]) -> Any:
    """The graph on MongoDB, with the durability that Placet's writes have."""
    client: MongoClient[dict[str, Any]] = MongoClient(
        job["mongo_url"], w="majority", journal=True, maxPoolSize=max(100, job["in_flight"])
    )
    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", following, ["tool", END])
    graph.add_edge("tool", "model")
    return graph.compile(checkpointer=MongoDBSaver(client, db_name=job["database"]))


class Counted:
    """When cycles ended, and whether each was right."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.begin: float = max(job["begin"], time.monotonic() + SETTLE)
        self.until: float = self.begin + job["seconds"]
        self.ends: list[float] = []
        self.wrong = 0

    def open(self) -> bool:
        """Whether another cycle may begin."""
        return time.monotonic() < self.until

    def add(self, run: str, asked: Any, ended: Any) -> None:
        """One cycle more."""
        self.ends.append(time.monotonic())
        if "__interrupt__" not in asked or ended.get("text") != "done" or effects[run] != 1:
            self.wrong += 1


def in_threads(graph: Any, job: dict[str, Any], counted: Counted) -> None:
    """A thread for each run that is in flight."""

    def caller() -> None:
        while counted.open():
            run = uuid.uuid4().hex
            config = {"configurable": {"thread_id": run}}
            asked = graph.invoke({"run": run}, config, durability=job["durability"])
            ended = graph.invoke(Command(resume=True), config, durability=job["durability"])
            counted.add(run, asked, ended)

    with ThreadPoolExecutor(job["in_flight"]) as pool:
        for each in [pool.submit(caller) for _ in range(job["in_flight"])]:
            each.result()


async def in_loop(graph: Any, job: dict[str, Any], counted: Counted) -> None:
    """One event loop; the checkpointer does its work in threads."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(job["in_flight"]))

    async def caller() -> None:
        while counted.open():
            run = uuid.uuid4().hex
            config = {"configurable": {"thread_id": run}}
            asked = await graph.ainvoke({"run": run}, config, durability=job["durability"])
            ended = await graph.ainvoke(Command(resume=True), config, durability=job["durability"])
            counted.add(run, asked, ended)

    await asyncio.gather(*(caller() for _ in range(job["in_flight"])))


def main() -> None:
    """Do the job."""
    job: dict[str, Any] = json.load(sys.stdin)
    graph, counted = compiled(job), Counted(job)
    if job["mode"] == "threads":
        in_threads(graph, job, counted)
    else:
        asyncio.run(in_loop(graph, job, counted))
    done = sum(counted.begin <= end < counted.until for end in counted.ends)
    print(json.dumps({"rate": done / job["seconds"], "cycles": done, "wrong": counted.wrong}))


if __name__ == "__main__":
    main()
