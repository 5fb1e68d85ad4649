"""Problems with wrong input, and the exception that carries them."""

from typing import Any, NamedTuple

from bertcalc.text import written


class Problem(NamedTuple):
    """A problem with an input.

    ``message`` is an English sentence with placeholders in braces, which ``values`` fill, so that a user interface can
    translate the sentence before it is filled; values can also be sentences to translate. Each of ``remedies`` maps
    fields to valid values, the nearest first.
    """

    field: str
    value: object
    message: str
    values: dict[str, Any]
    remedies: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(
        cls, message: str, field: str = "", value: object = None, /, *remedies: dict[str, Any], **values: object
    ) -> "Problem":
        """Make a problem with values as text; integers get thousands separators. A problem as a value stays one."""
        words = {name: word if isinstance(word, Problem) else written(word) for name, word in values.items()}
        return cls(field, value, message, words, remedies)

    def __str__(self) -> str:
        return self.message.format(**self.values)


class InputError(ValueError):
    """The exception for wrong input of any kind, with all its problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return " ".join(map(str, self.problems))

    @property
    def problem(self) -> Problem:
        return self.problems[0]


def wrong(message: str, field: str = "", value: object = None, /, **values: object) -> InputError:
    return InputError(Problem.of(message, field, value, **values))
