"""Problems of wrong input, and the exception that carries them."""

from typing import Any, NamedTuple

from bertcalc.text import written


class Problem(NamedTuple):
    """A problem of an input.

    ``message`` is an English sentence with placeholders in braces that ``values`` fills, so that a user interface can
    translate the sentence alone; a value can itself be a sentence to translate. Each of ``remedies`` is a change of
    fields to a valid value, the nearest first.
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
        """A problem whose message is filled with names and numbers; integers get thousands separators."""
        return cls(field, value, message, {name: written(one) for name, one in values.items()}, remedies)

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
