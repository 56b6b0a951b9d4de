"""What MongoDB's profiler saw of some work."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

Operation = dict[str, Any]
_BYTES = 64 * 1024 * 1024


async def profiled(
    databases: Sequence[Any], work: Callable[[], Awaitable[T]]
) -> tuple[T, list[Operation]]:
    """Do the work: what it returns, and every operation on these databases meanwhile."""
    for database in databases:
        database.create_collection("system.profile", capped=True, size=_BYTES)
        database.command("profile", 2)
    result, seen = await work(), list[Operation]()
    for database in databases:
        database.command("profile", 0)
        seen += database["system.profile"].find()
        database.drop_collection("system.profile")
    return result, seen
