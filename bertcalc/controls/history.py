"""Undo and redo.

>>> history = History("a")
>>> history.take("b")
>>> history.undo()
>>> history.present, history.can_redo
('a', True)
"""

from typing import Any, Generic, TypeVar

State = TypeVar("State")


class History(Generic[State]):
    """The steps of one session; ``at`` is the index of the current step.

    ``attempt`` holds invalid values, keyed by field, that the user typed after the current step. Undo removes them
    first.
    """

    LONGEST = 200  # maximum number of steps
    WRITTEN = 30  # maximum number of steps that the browser keeps on each side of the current one

    def __init__(self, state: State) -> None:
        self.steps = [state]
        self.at = 0
        self.attempt: dict[str, Any] = {}

    @property
    def present(self) -> State:
        """The state at the current step."""
        return self.steps[self.at]

    @property
    def last(self) -> int:
        return len(self.steps) - 1

    @property
    def can_undo(self) -> bool:
        return bool(self.at or self.attempt)

    @property
    def can_redo(self) -> bool:
        return self.at < self.last

    def take(self, state: State) -> None:
        """Add a step after the current one, and drop the undone steps; the current state is not added again."""
        self.attempt = {}
        if state != self.present:
            self.steps = [*self.steps[: self.at + 1], state][-self.LONGEST :]
            self.at = self.last

    def undo(self) -> None:
        """Drop the attempt if there is one; otherwise go one step back if possible."""
        self.go(max(self.at - (not self.attempt), 0))

    def redo(self) -> None:
        """Go one step forward again if possible."""
        self.go(min(self.at + 1, self.last))

    def go(self, index: int) -> None:
        """Make the step at ``index`` the current one, and drop the attempt."""
        self.attempt, self.at = {}, index

    def nearest_steps(self) -> tuple[list[State], int]:
        """The steps around the current one that the browser keeps, and the index of the current one among them."""
        first = max(0, self.at - self.WRITTEN)
        return self.steps[first : self.at + self.WRITTEN + 1], self.at - first
