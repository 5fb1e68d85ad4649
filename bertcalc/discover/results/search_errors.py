"""The errors of a search: transformers refuses the model, or a limit was reached."""

import re

from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

TOO_MANY = N_("This model has too many modules and tensors: bertcalc builds at most {most}.")
_TOO_SHORT = N_("No formula was found within the time limit: try again with a longer limit.")
_MEMORY = re.compile("MemoryError|.*DefaultCPUAllocator")


class Refused(InputError):  # noqa: N818 # not an error in this program: transformers refuses
    """transformers cannot build the class with these values, or a limit prevents it."""

    @classmethod
    def because(cls, message: str, **values: object) -> "Refused":
        return cls(Problem.of(message, **values))

    @property
    def is_limit(self) -> bool:
        """Whether a limit on modules or memory was reached. Otherwise transformers refused."""
        return self.problem.message == TOO_MANY or self.lacks_memory

    @property
    def lacks_memory(self) -> bool:
        return bool(_MEMORY.match(self.problem.values.get("reason", "")))


class Ended(InputError):  # noqa: N818
    """The search reached its time limit before it found a formula."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*(problems or [Problem.of(_TOO_SHORT)]))
