"""A log that clients cannot flood: it has at most one entry per minute for each kind of event."""

import logging
import time

_QUIET = 60.0  # seconds between two entries of the same kind


class LimitedLog:
    """A log with at most one entry per minute for each kind of event. Further events of the kind are only counted.

    All entries begin with ``text``.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        # Maps each kind to the time of its last entry, and to the number of entries omitted since then.
        self._last: dict[object, tuple[float, int]] = {}

    def note(self, reason: object) -> None:
        """Write a line with a reason. All lines that this method writes are of the same kind."""
        self._write(logging.WARNING, None, reason)

    def trace(self, error: Exception) -> None:
        """Write an exception's traceback. Exceptions are of the same kind if their type and source line agree."""
        place = error.__traceback__
        while place and place.tb_next:
            place = place.tb_next
        kind = type(error), place and (place.tb_frame.f_code.co_filename, place.tb_lineno)
        self._write(logging.ERROR, kind, type(error).__name__, error)

    def _write(self, level: int, kind: object, reason: object, error: Exception | None = None) -> None:
        moment = time.monotonic()
        since, omitted = self._last.get(kind, (-_QUIET, 0))
        if moment - since < _QUIET:
            self._last[kind] = since, omitted + 1
            return
        counted = f" ({omitted:,} more since the last one)" if omitted else ""
        logging.getLogger("bertcalc").log(level, "%s: %s%s", self._text, reason, counted, exc_info=error)
        self._last[kind] = moment, 0
