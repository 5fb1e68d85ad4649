"""Searches that end their process, to test the limits of the command."""

import os
from typing import NoReturn


def forever(*_request: object, **_progress: object) -> NoReturn:
    """Run forever without checking the time."""
    while True:
        pass


def crashing(*_request: object, **_progress: object) -> NoReturn:
    os._exit(3)
