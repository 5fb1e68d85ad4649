"""Undo and redo of a session's model.

>>> history = ModelHistory(ChosenModel())
>>> history.change({"num_hidden_layers": 24})
>>> history.move("hidden_size", 1024)
>>> history.present.link()
{'hidden_size': '1024', 'num_hidden_layers': '24', 'num_attention_heads': '16'}
>>> history.undo()
>>> history.present.link()
{'num_hidden_layers': '24'}
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode

from bertcalc.config import ConfigError, Problem, problems
from bertcalc.controls.chosen_model import FIELDS, ChosenModel, in_reach, read
from bertcalc.controls.history import History
from bertcalc.controls.stops import SLIDERS, moved

_LONGEST_LINK = 10_000  # maximum length of a restored step, in characters
_LONGEST_ATTEMPT = 40  # maximum length of a restored value that was typed, in characters


class ModelHistory(History[ChosenModel]):
    """The steps of a session's model; ``unsaid`` are the steps that are not in the browser's history yet."""

    def __init__(self, model: ChosenModel) -> None:
        super().__init__(model)
        self.unsaid: list[ChosenModel] = []
        self._links: dict[int, tuple[ChosenModel, str]] = {}  # (step, link) of the written steps, keyed by id(step)

    def written(self) -> dict[str, Any]:
        """The nearest steps as links, the index of the current one, and the attempt, as JSON data.

        >>> history = ModelHistory(ChosenModel())
        >>> history.change({"num_hidden_layers": 24})
        >>> history.written()
        {'steps': ['', 'num_hidden_layers=24'], 'at': 1, 'attempt': {}}
        """
        steps, at = self.nearest_steps()
        # Most steps have a link from the previous run. The keys are ids, because hashing a step is as slow as writing
        # its link.
        self._links = {id(step): self._links.get(id(step)) or (step, urlencode(step.link())) for step in steps}
        return {"steps": [self._links[id(step)][1] for step in steps], "at": at, "attempt": self.attempt}

    @classmethod
    def restored(cls, model: ChosenModel, written: object, *, is_linked: bool = True) -> "ModelHistory":
        """Restore a history from the result of ``written``, which is untrusted.

        The history starts with only ``model`` if the data are invalid or, with ``is_linked``, if the current step of
        the data is not ``model``.
        """
        history = cls(model)
        match written:
            case {"steps": [*links], "at": int(at), "attempt": dict(attempt)} if 0 <= at < len(links) <= cls.LONGEST:
                steps = [read(dict(parse_qsl(f"{link}"[:_LONGEST_LINK])))[0] for link in links]
                if steps[at] == model or not is_linked:
                    history.steps, history.at = steps, at
                    history.attempt = {field: value for field, value in attempt.items() if _can_be_typed(field, value)}
        return history

    def take(self, model: ChosenModel) -> None:
        is_new = model != self.present
        super().take(model)
        if is_new:
            self.unsaid.append(model)

    def go(self, index: int) -> None:
        super().go(index)
        self.unsaid = []

    def change(self, values: Mapping[str, Any]) -> None:
        """Change some values in one step, together with the values of the attempt if all of them are valid together.

        If the new values are invalid, they are added to the attempt.
        """
        left = {name: value for name, value in self.attempt.items() if name not in values}
        for attempt in (left, {}):
            with suppress(ConfigError):
                self.take(self.present.changed({**attempt, **values}))
                self.attempt = {} if attempt else left
                return
        self.attempt = {**left, **values}

    def move(self, field: str, value: Any) -> None:
        """Change one size and the sizes that follow it; an invalid value is added to the attempt."""
        left = {name: attempt for name, attempt in self.attempt.items() if name != field}
        try:
            config = moved(self.present.config, field, value, self.present.locks)
        except ConfigError:
            self.attempt = {**left, field: value}
            return
        self.take(self.present._replace(config=config))
        self.attempt = left

    def go_to(self, model: ChosenModel) -> None:
        """Follow the browser's Back or Forward: go to the nearest step with this model, or add a new step.

        The step may be several steps away: the server may see only the last of several quick presses.
        """
        indices = [index for index, step in enumerate(self.steps) if step == model]
        if indices:
            self.go(min(indices, key=lambda index: abs(index - self.at)))
        else:
            self.take(model)

    def problems(self) -> list[Problem]:
        wrong_values = []
        for field in SLIDERS:
            if field in self.attempt:
                try:
                    moved(self.present.config, field, self.attempt[field], self.present.locks)
                except ConfigError as error:
                    wrong_values.append(error.problem)
        rest = {name: value for name, value in self.attempt.items() if name in FIELDS and name not in SLIDERS}
        kind = type(self.present.config)
        values = {kind.own_name(name): value for name, value in rest.items() if kind.has(name)}
        wrong_values += problems(kind, {**vars(self.present.config), **values})
        return [*map(in_reach, wrong_values)]


def _can_be_typed(field: str, value: object) -> bool:
    return field in FIELDS and isinstance(value, int | str) and len(f"{value}") <= _LONGEST_ATTEMPT
