"""Parameter counts of models with common changes: an adapter, a resized vocabulary, or fewer layers.

The changes are classes of ``bertcalc.changes``. A count is a linear function of the change's argument, such as the rank
of LoRA. So two models determine the counts for all arguments.

>>> from bertcalc.model.model import build
>>> likeliest, *others = adapter_counts(build("bert-base-uncased"), 294_912)
>>> print(likeliest.in_words("294,912"))
294,912 is the number of parameters that BertModel trains with Lora(r=8, target_modules=['query', 'value']).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

from bertcalc.changes.bitfit import BitFit
from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.changes.targets import ALL_LINEAR, NAMED_TARGETS, TASK_TYPES, Names, TaskType
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.diagnosis.tensor_filter import selector
from bertcalc.families import family_of
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.model.modules import split_layer
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

Amount = Literal["trained", "all"]
Others = Literal["all", "trained", "nothing"]
# Common ranks of LoRA.
_RANKS = (4, 8, 16, 32, 64, 128, 256)
_RARER_RANKS = (1, 2, 6, 12, 24, 48, 96)  # only for query and value, as more targets would match too many numbers
# Common numbers of virtual tokens.
_TOKENS = (5, 8, 10, 16, 20, 30, 32, 50, 64, 100, 128)
# The usual targets of adapters, as selectors for tensor_filter.py. NAMED_TARGETS are tried as well.
_TARGETS = (
    "query and value, matrix",
    "qkv, matrix",
    "attention block, attention, matrix",
    "query, matrix",
    "query + key, matrix",
    "feed-forward, matrix",
    "attention + feed-forward, matrix",
)
_MOST_ADDED = 16  # maximum number of tokens that a user is likely to add to a vocabulary
_MULTIPLES = (8, 16, 32, 64, 128)  # multiples to which a vocabulary is padded
_LEAST, _MOST = 1000, 3  # the minimum count, as smaller ones have too many meanings; the maximum number of results

_TRAINED = N_("{number} is the number of parameters that {model}.")
_ALL = N_("{number} is the total parameter count of {model}.")


class ChangedCount(NamedTuple):
    """A changed model, and whether all of its parameters are counted or only the trained ones."""

    model: Model
    amount: Amount

    @property
    def rank(self) -> int:
        """The rank of the LoRA adapter; 0 if there is none."""
        return next((change.r for change in self.model.changes if isinstance(change, Lora)), 0)

    def in_words(self, number: str) -> Problem:
        """Return a sentence stating that ``number`` is this count."""
        message = _TRAINED if self.amount == "trained" else _ALL
        return Problem.of(message, number=number, model=changed_in_words(self.model, self.amount))


def changed_in_words(model: Model, amount: Amount = "all") -> Problem:
    """Return a phrase for a model with its changes, such as "BertModel with 6 of its 12 layers"."""
    words, config = Problem.of("{architecture}", architecture=model.architecture), model.config
    for change in model.changes:
        values: dict[str, object] = {"change": str(change)}
        message = (
            N_("{model} trains with {change}")
            if amount == "trained" and not change.resizes
            else N_("{model} with {change}")
        )
        if isinstance(change, ResizeVocabulary):
            message = N_("{model} with a vocabulary of {tokens} tokens instead of {before}")
            values = {"tokens": change.tokens(config), "before": config.vocab_size}
        elif isinstance(change, DropLayers):
            message, layers = N_("{model} with {kept} of its {layers} layers"), config.num_hidden_layers
            values = {"kept": layers - len(change.layers), "layers": layers}
        words, config = Problem.of(message, model=words, **values), change.configured(model, config)
    return words


class UsualChange(NamedTuple):
    """A common change, and a predicate for the usual values of its argument, such as the rank.

    ``is_usual`` is None if the change has no argument.
    """

    with_number: Callable[[int], Change]
    is_usual: Callable[[int], bool] | None = None


class CountLine(NamedTuple):
    """The counts of a changed model as a linear function of the change's argument.

    The count is ``first`` if the argument is 1. It grows by ``step`` for each increment of the argument.
    """

    base: Model
    usual: UsualChange
    amount: Amount
    first: int
    step: int

    def changed(self, number: int) -> Model:
        """Return the base model with the change, whose argument is ``number``."""
        return self.base.changed(changes=(*self.base.changes, self.usual.with_number(number)))

    def numbers(self, low: int, high: int) -> Iterator[int]:
        """Yield the usual arguments, such as ranks, for which the count is between ``low`` and ``high``.

        A change without an argument yields 1 if its count is in this range.
        """
        if self.step <= 0 or not self.usual.is_usual:
            yield from (1,) if low <= self.first <= high else ()
        else:
            start, end = -((self.first - low) // self.step), (high - self.first) // self.step
            yield from filter(self.usual.is_usual, range(max(1, 1 + start), 2 + end))


def own_count(model: Model, count: int) -> tuple[ChangedCount, ...]:
    """Return the model as the only item if it trains exactly ``count`` parameters and freezes others; otherwise ()."""
    is_own = count == model.num_parameters(only_trainable=True) != model.num_parameters()
    return (ChangedCount(model, "trained"),) if is_own else ()


@lru_cache(maxsize=64)
def adapter_counts(model: Model, count: int, *, others: Others = "all") -> tuple[ChangedCount, ...]:
    """Return up to three models with a usual adapter that train ``count`` parameters, or have ``count`` in total.

    If the model's own class has none, the other classes of its family are tried. For them, ``others`` selects the
    counts to compare: "all" counts, only the numbers of "trained" parameters, or "nothing". Counts below ``_LEAST`` are
    not searched, because too many models would match.
    """
    for base in bases(model, others=others != "nothing"):
        if _is_possible(base.num_parameters(), count):
            whole = others == "all" or base.architecture == model.architecture
            lines = [line for line in adapter_lines(base) if whole or line.amount == "trained"]
            if counts := _having(lines, count):
                return counts
    return ()


def _is_possible(parameters: int, count: int) -> bool:
    """Whether a count may be the size of an adapter, or of the model including an adapter.

    An adapter is assumed to have less than a tenth of the model's parameters.
    """
    return 10 * count < parameters or 10 * parameters < 10 * count < 11 * parameters


@lru_cache(maxsize=64)
def resized_counts(model: Model, count: int, *, others: bool) -> tuple[ChangedCount, ...]:
    """Return up to three models with this count that have another vocabulary size or fewer layers.

    With ``others``, other classes of the family are tried if the model's own class never has this count. Counts below
    ``_LEAST`` are not searched, because too many models would match.
    """
    return next(filter(None, (_having(resized_lines(base), count) for base in bases(model, others=others))), ())


def _having(lines: Sequence[CountLine], count: int) -> tuple[ChangedCount, ...]:
    numbered = ((line, number) for line in lines if count >= _LEAST for number in line.numbers(count, count))
    return tuple(ChangedCount(line.changed(number), line.amount) for line, number in islice(numbered, _MOST))


def bases(model: Model, *, others: bool = True) -> Iterator[Model]:
    """Yield the model without adapters and, with ``others``, as other classes of its family.

    Classes with a task type in peft come first, followed by base models and masked language models. Other classes, and
    classes that cannot be built with the model's configuration, are left out.
    """
    changes = tuple(change for change in model.changes if change.resizes)
    yield model.changed(changes=changes)
    for cls in sorted(family_of(model.config).classes if others else (), key=lambda cls: cls.task not in TASK_TYPES):
        if cls.name != model.architecture and cls.task in (*TASK_TYPES, "base", "masked-lm"):
            try:
                yield model.changed(architecture=cls.name, changes=changes)
            except InputError:  # transformers does not build this class with this configuration
                continue


@lru_cache(maxsize=64)
def adapter_lines(base: Model) -> tuple[CountLine, ...]:
    """Return the count lines of the model with each usual adapter: for its trained parameters, and for all of them."""
    return tuple(chain.from_iterable(_lines(base, usual, ("trained", "all")) for usual in _adapters(base)))


@lru_cache(maxsize=64)
def resized_lines(base: Model) -> tuple[CountLine, ...]:
    """Return the count lines of the model with other vocabulary sizes and with fewer layers."""
    tokens, layers = base.final_config.vocab_size, base.final_config.num_hidden_layers
    padded = {-(-tokens // multiple) * multiple for multiple in _MULTIPLES}

    def is_usual(number: int) -> bool:
        return number != tokens and (number % 1000 == 0 or number in padded or 0 < number - tokens <= _MOST_ADDED)

    resized = (
        UsualChange(ResizeVocabulary, is_usual),
        UsualChange(lambda kept: DropLayers(range(kept, layers)), range(1, layers).__contains__),
    )
    return tuple(chain.from_iterable(_lines(base, usual, ("all",)) for usual in resized))


def _adapters(base: Model) -> Iterator[UsualChange]:
    task = TASK_TYPES.get(base.cls.task)
    of_prompts: TaskType = task or "FEATURE_EXTRACTION"
    lora = Lora(1, _named(base, _TARGETS[0]), task_type=task)
    usual, rarer = _RANKS.__contains__, _RARER_RANKS.__contains__
    targets = dict.fromkeys((*(_named(base, chosen) for chosen in _TARGETS), *NAMED_TARGETS))
    options: tuple[dict[str, Any], ...] = (
        *({"target_modules": names} for names in sorted(targets, key=_is_pattern)),
        {"bias": "all"},
        {"bias": "lora_only"},
        {"use_dora": True},
        *([{"modules_to_save": ("pooler",)}] if base.cls.pooler and base.add_pooling_layer else []),
    )
    for task_type in dict.fromkeys((task, None)):
        for values in options:
            yield UsualChange(partial(_with_rank, replace(lora, task_type=task_type, **values)), usual)
        yield UsualChange(partial(_with_rank, replace(lora, task_type=task_type)), rarer)
        yield _alone(IA3(task_type=task_type))
        yield _alone(LNTuning(_named(base, "gamma"), task_type=task_type))
    for head in (True, False):
        yield _alone(BitFit(head))
    for kind in (PromptTuning, PrefixTuning, PromptEncoder):
        yield UsualChange(partial(kind, task_type=of_prompts), _TOKENS.__contains__)


def _with_rank(lora: Lora, rank: int) -> Lora:
    return replace(lora, r=rank)


def _alone(change: Change) -> UsualChange:
    return UsualChange(lambda _number: change)


def _is_pattern(names: Names) -> bool:
    return isinstance(names, str) and names != ALL_LINEAR


def _named(base: Model, chosen: str) -> Names:
    """Return peft's ``target_modules`` for the modules of the chosen tensors.

    These are the last components of the module names, or a pattern if the components would match other modules as well.
    """
    paths = [tensor.name.rpartition(".")[0] for tensor in filter(selector(chosen), base.tensors())]
    ends = tuple(dict.fromkeys(path.rpartition(".")[2] for path in paths))
    if all(path in paths for path, _module, _copies in base.modules() if path.rpartition(".")[2] in ends):
        return ends
    inside = dict.fromkeys(re.escape(split_layer(path)[1]) for path in paths)
    return rf".*\.\d+\.({'|'.join(inside)})"


def _lines(base: Model, usual: UsualChange, amounts: Sequence[Amount]) -> Iterator[CountLine]:
    """Yield a count line for each of the ``amounts`` that the change affects; none if the change is impossible."""
    try:
        numbers = (1, 2) if usual.is_usual else (1,)
        models = [base.changed(changes=(*base.changes, usual.with_number(number))) for number in numbers]
    except InputError:
        return
    for amount in amounts:
        counts = [model.num_parameters(only_trainable=amount == "trained") for model in models]
        first, second = counts[0], counts[-1]
        if first != base.num_parameters() or second != first:
            yield CountLine(base, usual, amount, first, second - first)
