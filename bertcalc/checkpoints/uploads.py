"""A config.json as a file: bytes that somebody chooses, or that the Hub sends."""

from bertcalc.config import Problem
from bertcalc.config_json import LARGEST, JsonError
from bertcalc.text import N_


def text_of(data: bytes, size: int = 0) -> str:
    """The text of a config.json; ``size`` says that it has more bytes than these.

    Raises JsonError if it is too long, or not UTF-8.
    """
    size = max(size, len(data))
    if size > LARGEST:
        message = N_("This file has {length} bytes or more: a config.json has at most {most} here.")
        raise JsonError(Problem("", None, message, {"length": f"{size:,}", "most": f"{LARGEST:,}"}))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = N_("This file is not UTF-8: byte {at} is {byte}.")
        values = {"at": f"{error.start + 1:,}", "byte": f"0x{data[error.start]:02x}"}
        raise JsonError(Problem("", None, message, values)) from None
