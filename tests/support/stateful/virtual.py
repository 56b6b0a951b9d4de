"""An event loop whose time passes only when nothing is left to do, so that a test has no luck in it."""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import timedelta
from typing import Any

from placet.clock import in_ms
from placet.testing import HandClock


class VirtualLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer instead of waiting for it; what would go to a thread is done at once.

    Given the same calls it runs the same steps in the same order. Waiting for what no timer and no
    step will ever bring is an error.
    """

    def __init__(self) -> None:
        super().__init__(_Jumping(self))
        self.moment = 0.0

    def time(self) -> float:
        """Seconds since the loop was made, as the test tells them."""
        return self.moment

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Done when it returns."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except BaseException as error:  # noqa: BLE001 - as a thread hands it over
            done.set_exception(error)
        return done


class _Jumping(selectors.DefaultSelector):
    """Looks at the sockets, and never waits for them."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits for something that nobody will bring")
        self._of.moment += max(timeout, 0.0)
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        return ready


class VirtualClock(HandClock):
    """Goes with its loop, and can be turned: then as much has passed for everybody, at one stroke."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def now(self) -> Any:
        """The hand's time and the loop's."""
        return in_ms(self.at + timedelta(seconds=self._loop.moment))

    def monotonic(self) -> float:
        """The loop's time."""
        return self._loop.moment

    def turn(self, by: timedelta) -> None:
        """Let time pass, as if the machine had slept: every timer of that time is due at once."""
        self._loop.moment += by.total_seconds()
