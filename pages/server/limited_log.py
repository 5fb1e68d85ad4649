"""A log that a sender without pause cannot fill: one entry a minute for each kind of event."""

import logging
import time

_QUIET = 60.0  # seconds between two entries of a kind


class LimitedLog:
    """Entries of the logger ``bertcalc`` that begin with ``text``; those of the same minute are counted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last: dict[object, tuple[float, int]] = {}  # of each kind: the time of an entry, and those after it

    def note(self, reason: object) -> None:
        """Write a line with the reason; all reasons are one kind."""
        self._write(logging.WARNING, None, reason)

    def trace(self, error: Exception) -> None:
        """Write the traceback of an exception; those that were raised at the same place are one kind."""
        place = error.__traceback__
        while place and place.tb_next:
            place = place.tb_next
        kind = type(error), place and (place.tb_frame.f_code.co_filename, place.tb_lineno)
        self._write(logging.ERROR, kind, type(error).__name__, error)

    def _write(self, level: int, kind: object, reason: object, error: Exception | None = None) -> None:
        now = time.monotonic()
        since, more = self._last.get(kind, (-_QUIET, 0))
        if now - since < _QUIET:
            self._last[kind] = since, more + 1
            return
        counted = f" ({more:,} more since the last one)" if more else ""
        logging.getLogger("bertcalc").log(level, "%s: %s%s", self._text, reason, counted, exc_info=error)
        self._last[kind] = now, 0
