"""Helper for tests that read bertcalc's files."""

from collections.abc import Iterator


def strings(value: object) -> Iterator[str]:
    """Yield all strings in a parsed TOML file, including its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(one)
