"""Running a coroutine in a test."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

R = TypeVar("R")


def finished(coroutine: Coroutine[Any, Any, R]) -> R:
    """What the coroutine returns; in a thread of its own, as Playwright leaves a loop running in that of the tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
