"""Run a coroutine in a test."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

R = TypeVar("R")


def finished(coroutine: Coroutine[Any, Any, R]) -> R:
    """Return the coroutine's result.

    It runs in a separate thread, since Playwright leaves an event loop in the main thread.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
