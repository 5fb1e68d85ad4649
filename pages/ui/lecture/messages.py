"""Texts of a lecture for the translation catalogue: what ``make messages`` asks about a TOML file."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import BinaryIO


def extract(
    file: BinaryIO, keywords: Collection[str], comment_tags: Collection[str], options: Mapping[str, str]
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Every text that people read, as Babel's extraction methods give it: line, function, message, comments."""
    lecture = tomllib.load(file)
    yield 1, None, lecture["title"], []
    for screen in lecture["screen"]:
        for key in ("title", "text", "notes"):
            if key in screen:
                yield 1, None, screen[key], []
