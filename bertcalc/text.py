"""Text that people read: English here, translated by whoever shows it."""

from typing import TypeVar

Message = TypeVar("Message", bound=str)


def N_(message: Message) -> Message:
    """Mark a message for the translation catalogue where it is defined."""
    return message
