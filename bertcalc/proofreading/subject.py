"""The model that a text is about, and the models that its numbers are about."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache

from bertcalc.config import Config
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.diagnosis.relatives import RELATIVES, SIZE_NAMES
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.described_models import (
    fit,
    is_chosen_depth,
    is_described,
    model_of,
    preset_of,
    resized,
    with_counted_layers,
)
from bertcalc.proofreading.mentions.contexts import TableRow
from bertcalc.proofreading.mentions.model_names import (
    COMPARED_WITH,
    Mention,
    ends_with_unlisted_model,
    family_name,
    first_named,
    model_name_pattern,
    preset_at,
    preset_by_name,
)
from bertcalc.proofreading.mentions.written_sizes import PLAUSIBLE, StatedSize
from bertcalc.proofreading.size_slips import is_published
from bertcalc.text.records import dataclass

BERT_ALONE = re.compile(r"(?<![A-Za-z0-9_-])BERT(?![A-Za-z0-9_-])(?! ?(?:like|style|famil|model family|系|类))")
ONLY_SIZE = "?"  # prefix of a size that a heading names without a model: Parameters (large)
_MOST_OTHERS = 6
SIZE_WORD = re.compile(rf"(?<![a-z0-9.])(?:{SIZE_NAMES}|[0-9.]{{1,5}}b)(?![a-z])")
# A label that only names a model's size: the large model has
_SIZE_ALONE = re.compile(
    rf"\W*(?:the )?(?P<size>{SIZE_NAMES})(?:[ -]?(?:model|version|variant|one|模型|版))?"
    r"(?: (?:has|have|contains?|with|is|needs|takes))?\W*",
    re.I,
)
_NEAR_BEFORE = 300  # maximum number of characters from a model's name to a position near it
_OF_OTHER_MODEL = 2  # a row with this many differing sizes is about another model: XL, 24 | 2048
_SIZE_FIRST = re.compile(rf"(?:the )?(?P<size>{SIZE_NAMES})\b(?!-)", re.I)


@dataclass(frozen=True)
class Subject:
    """The model that a text is about, and the positions of all models that the text names.

    ``preset`` is the name of the model, and ``assumed`` is True if the text does not name it. The methods that return a
    model return None for models that bertcalc does not support.
    """

    model: Model | None  # None: the text is about models that bertcalc does not support
    preset: str
    assumed: bool
    mentions: tuple[Mention, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)  # the text's sizes that the model uses
    written: Mapping[str, int] = field(default_factory=dict)  # all sizes that the text states, used or not
    bert: bool = False  # whether the text names BERT without a size
    sentences: Sequence[int] = ()  # the start of each sentence except the first
    clauses: Sequence[int] = ()  # the start of each clause except the first
    continued: Collection[int] = ()  # indices of sentences about the previous sentence's subject
    topics: Sequence[str | None] = ()  # for each line, the preset from headings or numbers; None without one
    stated: Mapping[int, StatedSize] = field(default_factory=dict)  # maps a position in the text to its size

    def differing(self) -> dict[str, tuple[int, int]]:
        """The fields in which the text differs from the model that it names, as {field: (size in text, model's size)}.

        Empty if bertcalc does not know that model.
        """
        preset = preset_of(self.preset)
        config = PRESETS[preset].config if is_described(self.preset) else self.published
        if config is None or preset not in PRESETS:
            return {}
        sizes = {name: (size, getattr(config, name)) for name, size in self.written.items() if config.has(name)}
        return {name: pair for name, pair in sizes.items() if pair[0] != pair[1]}

    def model_in_table(self, row: TableRow, model: Model | None) -> Model | None:
        """The model that a column header names or the sizes in the row describe; otherwise ``model``.

        None if the row names a size such as "large", but several of its numbers differ from the sizes of ``model``.
        """
        if labelled := self._by_label.get(row.header.strip(" *`").lower()):
            return self.of(labelled)
        if ends_with_unlisted_model(row.header):
            return None
        if mention := model_name_pattern().search(row.header):
            return model if mention["bert"] else self.of(preset_at(mention))
        if size := _SIZE_ALONE.fullmatch(row.header):
            return self._sibling(size["size"])
        sizes = _sizes_in_row(row.headers, row.cells)
        if model is None or _names_size(row.cells):
            other = [field for field, size in sizes.items() if model and getattr(model.config, field) != size]
            return model if len(other) < _OF_OTHER_MODEL else None
        return resized(model, tuple(sizes.items())) if "num_hidden_layers" in sizes else model

    def model_in_named_row(self, row: TableRow, model: Model | None) -> Model | None:
        """The model that a row names, with the row's number of layers if its counts fit: | BERT-base | 6 | 67M |."""
        layers = _sizes_in_row(row.headers, row.cells).get("num_hidden_layers", 0)
        if model is None or layers in (0, model.config.num_hidden_layers):
            return model
        return with_counted_layers("\n".join(row.cells), model, layers)

    def model_at(self, start: int, line: int, *words: Sequence[str], owner: int = 0) -> Model | None:
        """The model that a position is about: named on its line, near it or in a heading, or else the text's model.

        ``words`` are the words around the position, the nearest first; they may name only a size, such as "large".
        ``owner`` is the position of a model name that the number belongs to: 124.4M for GPT-2.
        """
        index = bisect_right(self._starts, start)
        if owner and (named := [mention for mention in self.mentions[index : index + 2] if mention.start == owner]):
            return self.of(named[0].preset)
        before = [mention for mention in self.mentions[max(0, index - 20) : index] if mention.line == line]
        ends = bisect_right(self.clauses, start)
        end = self.clauses[ends] if ends < len(self.clauses) else None
        after = [
            mention
            for mention in self.mentions[index : index + 2]
            if mention.line == line and (end is None or mention.start < end) and not mention.until
        ]
        mention = next(iter((*self._nearest(before, start), *after[:1])), None)
        for nearest in (names[0] for names in words[:1] if names):
            if (size := _SIZE_ALONE.fullmatch(nearest)) and self.preset:
                return self._sibling(size["size"], mention.preset if mention else "")
        if mention:
            return self.of(mention.preset)
        return next(filter(None, map(self._of_size, words)), self._of_topic(line))

    def stated_at(self, start: int, size: int, row: TableRow) -> StatedSize | None:
        """The size that a number states according to the words around it; None if it states none.

        In the row of a named model, the column of the number may also say which size it states.
        ``start`` is the position of the number and ``size`` its value. With a ``size`` of 0, the column is ignored.
        """
        field = _field_of_column(row.header) if size else ""
        label = next(filter(None, row.cells), "").strip(" *`")
        if start in self.stated or not field or not (name := model_name_pattern().fullmatch(label)):
            return self.stated.get(start)
        preset = preset_at(name)
        if preset not in (*PRESETS, *RELATIVES):
            return None
        is_fact = field == "num_hidden_layers" and bool(SIZE_WORD.search(label.lower()))
        is_fact = is_fact and not is_chosen_depth("\n".join(row.cells), preset, size)
        return StatedSize(start, field, size, is_fact=is_fact)

    def named_first(self, text: str) -> Model | None:
        """The model with the name or size, such as "base", that a text begins with; None if it begins with neither."""
        if size := _SIZE_FIRST.match(text.strip(" *`")):
            return self._sibling(size["size"]) if self.preset else None
        return self.of(first_named(text) or (DEFAULT_PRESET if BERT_ALONE.match(text.strip(" *`")) else ""))

    def named_before(self, start: int) -> Iterator[str]:
        """The presets that the text names in the few lines before a position, the nearest first."""
        index = bisect_right(self._starts, start)
        near = (
            mention for mention in self.mentions[max(0, index - 20) : index] if start - mention.start < _NEAR_BEFORE
        )
        return (mention.preset for mention in reversed([*near]) if mention.preset)

    def names_another_before(self, start: int) -> bool:
        """Whether the text names a model other than its subject before a position."""
        return any(mention.start < start and mention.preset != self.preset for mention in self.mentions)

    def compared_at(self, line: int) -> tuple[Model | None, Model | None] | None:
        """The two models on the nearest line above that names models; None if it does not name exactly two."""
        above = bisect_left(self.mentions, line, key=lambda mention: mention.line)
        before = self.mentions[max(0, above - 20) : above]
        match [*dict.fromkeys(mention.preset for mention in before if mention.line == before[-1].line)]:
            case [first, second] if first and second:
                return self.of(first), self.of(second)
        return None

    def _of_topic(self, line: int) -> Model | None:
        """The model that the heading above a line names, or else the text's model."""
        topic = self.topics[line] if line < len(self.topics) else None
        if topic and topic.startswith(ONLY_SIZE):
            return self._sibling(topic.removeprefix(ONLY_SIZE)) if self.preset else self.model
        return self.model if topic is None else self.of(topic)

    def _sibling(self, size: str, preset: str = "") -> Model | None:
        """The model with another size (base, large) of a preset, or else of the text's model; None if there is none."""
        preset = preset_of(preset or self.preset)
        if size.lower() in re.split("[-_]", preset):
            return self.of(preset)
        return self.of(preset_by_name().get(f"{family_name(preset)} {re.sub('x-l', 'xl', size.lower())}", ""))

    def _nearest(self, before: Sequence[Mention], start: int) -> list[Mention]:
        """The mention that a number belongs to: the last mention in its sentence, or the subject of earlier sentences.

        The list is empty if there is no such mention.
        """
        sentence = bisect_right(self.sentences, start)
        topic: list[Mention] = []
        last = -1
        for mention in before:
            place = bisect_right(self.sentences, mention.start)
            if 0 < mention.until < start:
                continue
            if place == sentence or not topic or (place != last and place not in self.continued):
                topic = [mention]
            last = place
        return topic

    def _of_size(self, words: Sequence[str]) -> Model | None:
        """The model of the size (base, large) that the nearest words name, if the text names only one such model."""
        for name in words:
            sizes = set(SIZE_WORD.findall(COMPARED_WITH.sub(" ", name.lower())))
            if sizes:
                fitting = [
                    preset
                    for preset in self._named
                    if not is_described(preset) and sizes & set(re.split("[-_]", preset))
                ]
                return self.of(fitting[0]) if len(sizes) == len(fitting) == 1 else None
        return None

    @cached_property
    def _starts(self) -> list[int]:
        return [mention.start for mention in self.mentions]

    @cached_property
    def _by_label(self) -> dict[str, str]:
        """The presets of the described models, keyed by the names that the text gives them, in lower case."""
        described = (mention for mention in self.mentions if mention.spelling and is_described(mention.preset))
        return {mention.spelling.lower(): mention.preset for mention in described}

    @cached_property
    def _named(self) -> tuple[str, ...]:
        """The presets that the text names, in order of their first mention."""
        return tuple(dict.fromkeys(mention.preset for mention in self.mentions if mention.preset))

    @cached_property
    def _lines(self) -> frozenset[int]:
        return frozenset(mention.line for mention in self.mentions)

    @property
    def bound(self) -> frozenset[str]:
        """The formula letters of the sizes that the text states and the model has."""
        config = self.model.config if self.model else None
        return frozenset(
            EVERY_LETTER[field]
            for field, size in self.sizes.items()
            if config and field in EVERY_LETTER and getattr(config, field, None) == size
        )

    def is_named_on(self, line: int) -> bool:
        """Whether a line names a model."""
        return line in self._lines

    def for_operands(self, values: Collection[int], model: Model | None) -> Model | None:
        """``model``, or another model in the text if only that model's hidden size is an operand of the calculation."""
        if model is None or model.config.hidden_size in values:
            return model
        as_published = [model_of(self.preset)] if self.preset in self._named and self.preset in PRESETS else []
        others = [other for other in (*self.others(), *as_published) if other.config.hidden_size in values]
        return others[0] if others else model

    def is_bert_alone(self, sentence: str, model: Model) -> bool:
        """Whether a sentence says just "BERT" and the model is BERT-base or BERT-large, quoted with 110M and 340M."""
        usual = (PRESETS[name].config for name in (DEFAULT_PRESET, "bert-large-uncased"))
        return model.config in usual and bool(BERT_ALONE.search(sentence))

    def others(self) -> list[Model]:
        """The first few other models that the text names; "BERT" without a size means BERT-base."""
        names = [*self._named, *([DEFAULT_PRESET] if self.bert else [])]
        return [model_of(name) for name in dict.fromkeys(names) if name != self.preset][:_MOST_OTHERS]

    def every_model(self, but: Model | None = None) -> list[Model]:
        """The text's model and the other models that it names, without ``but``."""
        return [model for model in (self.model, *self.others()) if model is not None and model is not but]

    def fit(self, numbers: Collection[int]) -> int:
        """Count the numbers that are parameter counts of the model or of its parts."""
        return fit(self.model, numbers)

    @property
    def published(self) -> Config | None:
        """The configuration of the text's preset, or None if the text does not name it; BERT alone means BERT-base."""
        named = self.preset in self._named or (self.bert and self.preset == DEFAULT_PRESET)
        if not named or is_described(self.preset):
            return None
        return RELATIVES[self.preset].config if self.preset in RELATIVES else PRESETS[self.preset].config

    def published_of(self, model: Model | None) -> Config | None:
        """The published configuration that corresponds to a model in the text; None if there is none."""
        if model is None or model is self.model:
            return self.published
        return model.config if is_published(model) else None

    def of(self, preset: str) -> Model | None:
        """The model of a preset, with the text's sizes if it is the text's preset; None for an empty name."""
        if not preset:
            return None
        return self.model if preset == self.preset else model_of(preset)


@lru_cache(maxsize=16)  # cached, because every number in a row reads it
def _sizes_in_row(header: Sequence[str], cells: Sequence[str]) -> Mapping[str, int]:
    """The sizes in a table row, keyed by the field that the column header names (L, H, layers, hidden size, ...)."""
    sizes = {}
    for name, cell in zip(header, cells, strict=False):
        if (field := _field_of_column(name)) and re.fullmatch("[0-9]{1,3}(?:,?[0-9]{3})?", cell):
            size = int(cell.replace(",", ""))
            if PLAUSIBLE[field][0] <= size <= PLAUSIBLE[field][1]:
                sizes[field] = size
    return sizes


def _field_of_column(header: str) -> str:
    """The config field that a column header names; empty if there is none."""
    return next((field for field, pattern in _COLUMNS.items() if re.fullmatch(pattern, header.strip(" #`"), re.I)), "")


@lru_cache(maxsize=16)
def _names_size(cells: Sequence[str]) -> bool:
    return any(map(_SIZE_ALONE.fullmatch, cells))


_COLUMNS = {
    "num_hidden_layers": r"l|(?:num(?:ber)? ?(?:of )?)?(?:hidden )?layers?|n_layers?|depth|层数",
    "hidden_size": r"h|d|d_?model|n_embd|hidden(?: (?:size|dim(?:ension)?|units))?|width|dim(?:ension)?"
    r"|隐藏(?:层)?(?:维度|大小)?",
    "num_attention_heads": r"a|(?:num(?:ber)? ?(?:of )?)?(?:attention )?heads?|n_heads?|(?:注意力)?头数",
}
