"""Wait for something that must come true, instead of sleeping."""

import inspect
from collections.abc import Callable
from typing import Any

import anyio


async def eventually(check: Callable[[], Any], *, within: float = 10.0, every: float = 0.02) -> Any:
    """Call `check`, asynchronous or not, until it returns something true, and return that.

    An AssertionError of `check` counts as "not yet". After `within` seconds the last one is
    raised, or an AssertionError with the last value.
    """
    deadline = anyio.current_time() + within
    while True:
        try:
            result = check()
            value = await result if inspect.isawaitable(result) else result
            if value:
                return value
            failure = AssertionError(f"still {value!r} after {within} s")
        except AssertionError as error:
            failure = error
        if anyio.current_time() >= deadline:
            raise failure
        await anyio.sleep(every)
