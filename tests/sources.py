"""What the tests that read the program's files have in common."""

from collections.abc import Iterator


def strings(value: object) -> Iterator[str]:
    """All texts in what a TOML file says, with its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(one)
