"""Text that people read: English here, translated by whoever shows it."""

from typing import TypeVar

Message = TypeVar("Message", bound=str)


def N_(message: Message) -> Message:
    """Mark a message for the translation catalogue where it is defined."""
    return message


def shorten(text: str) -> str:
    """Somebody else's text, cut so that it cannot fill a page."""
    return text if len(text) <= 40 else f"{text[:36]} ..."
