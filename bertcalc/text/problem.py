"""Problems with wrong input, and the exception that carries them."""

from typing import Any, NamedTuple

from bertcalc.text import written


class Problem(NamedTuple):
    """A problem with an input.

    ``message`` is an English sentence with placeholders in braces, and ``values`` fills them. A user interface can
    translate the sentence before filling it. Values can also be sentences to translate. Each of ``remedies`` maps
    fields to valid values; the nearest remedy comes first.
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
        """Make a problem and format its values: integers get thousands separators; nested problems stay unchanged."""
        words = {name: word if isinstance(word, Problem) else written(word) for name, word in values.items()}
        return cls(field, value, message, words, remedies)

    def __str__(self) -> str:
        return self.message.format(**self.values)


class InputError(ValueError):
    """The exception for any wrong input; it holds one or more problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return " ".join(map(str, self.problems))

    @property
    def problem(self) -> Problem:
        return self.problems[0]


def wrong(message: str, field: str = "", value: object = None, /, **values: object) -> InputError:
    """Return an InputError with one problem, which has no remedies; the arguments are those of ``Problem.of``."""
    return InputError(Problem.of(message, field, value, **values))
