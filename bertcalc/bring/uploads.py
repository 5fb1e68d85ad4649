"""A config.json as a file: bytes that somebody uploads, or that the Hub sends."""

from bertcalc.config import Problem
from bertcalc.config_json import LARGEST, JsonError
from bertcalc.text import N_


def text_of(data: bytes) -> str:
    """The text of a config.json. Raises JsonError if it is too long, or not UTF-8."""
    if len(data) > LARGEST:
        message = N_("This file has {length} bytes or more: a config.json has at most {most} here.")
        raise JsonError(Problem("", None, message, {"length": f"{len(data):,}", "most": f"{LARGEST:,}"}))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = N_("This file is not UTF-8: byte {at} is {byte}.")
        values = {"at": f"{error.start + 1:,}", "byte": f"0x{data[error.start]:02x}"}
        raise JsonError(Problem("", None, message, values)) from None
