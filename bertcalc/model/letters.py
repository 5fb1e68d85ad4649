"""Letters for sizes in formulas: fill numbers into texts with letters, and build models with symbols as sizes."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bertcalc.config import Config, MixedError, sizes_of, unchecked
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.model.change import CHANGE_SIZES, SEVERAL_DEPTHS
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.live_numbers import fill
from bertcalc.text.problem import Problem

# The letters of a call's sizes; EVERY_LETTER has the letters of the model's own sizes.
CALL_LETTERS: dict[str, str] = {
    "batch_size": "B",
    "sequence_length": "S",
    "encoder_sequence_length": "X",
    "num_choices": "N",
}
LETTER_OF = {
    **EVERY_LETTER,
    **CALL_LETTERS,
    "masked_positions": "M",
    **{name: size.letter for name, size in CHANGE_SIZES.items()},
}
FIELD_OF = {letter: field for field, letter in LETTER_OF.items()}
LETTER = "|".join(sorted(FIELD_OF, reverse=True))  # a regular expression, in which E' comes before E
# The cache has room for all combinations of class, positions, ties, cross attention and activation. Unknown activations
# do not get here, because configurations validate hidden_act.
_model = lru_cache(maxsize=1024)(Model)
# Maps a letter's config field to a text with the letter's value and meaning.
COUNTED: dict[str, str] = {
    "vocab_size": N_("{value} word pieces"),
    "hidden_size": N_("{value} hidden size"),
    "num_hidden_layers": N_("{value} layers"),
    "num_attention_heads": N_("{value} heads"),
    "num_key_value_heads": N_("{value} key-value heads"),
    "intermediate_size": N_("{value} feed-forward"),
    "max_position_embeddings": N_("{value} positions"),
    "type_vocab_size": N_("{value} token types"),
    "num_labels": N_("{value} labels"),
    "relative_attention_num_buckets": N_("{value} distances"),
    "task_type_vocab_size": N_("{value} task types"),
    "position_buckets": N_("{value} distances in each direction"),
    "embedding_size": N_("{value} embedding size"),
}


def model_in_symbols(model: Model, symbols: Mapping[str, Any]) -> Model:
    """The model with symbols as sizes; models with the same structure share one object.

    ``symbols`` is keyed by field. Raises MixedError for columns with several numbers of layers if a change
    selects layers by number.
    """
    config = _structure(model.config, symbols)
    if any(change.by_layer for change in model.changes):
        layers = model.config.num_hidden_layers
        if hasattr(layers, "max"):
            raise MixedError(Problem.of(SEVERAL_DEPTHS))
        config = unchecked(config, num_hidden_layers=layers)
    changes = tuple(change.in_letters(symbols) for change in model.changes)
    return _model(config, model.architecture, model.add_pooling_layer, changes)


def _structure(config: Config, symbols: Mapping[str, Any]) -> Config:
    """A configuration reduced to its structure, as a cache key: symbols as sizes, and values that shape the model."""
    kind: Any = type(config)
    letters = config.letters_of_sizes()
    # Sizes without a letter: each value gives the model a different structure.
    numbers = [field for field in sizes_of(kind) if field not in letters]
    shaping = {field: getattr(config, field) for field in (*config.shaping, *numbers) if field not in letters}
    return _with_symbols(kind, tuple((field, symbols[of]) for field, of in letters.items()), **shaping)


@lru_cache(maxsize=1024)
def _with_symbols(kind: type[Config], sizes: tuple[tuple[str, Any], ...], **shaping: Any) -> Config:
    return unchecked(kind.default(), **dict(sizes), **shaping)


def filled(text: str, values: Mapping[str, int]) -> str:
    """Replace the letters in a term or bracket by ``values``, keyed by field; the text is live if a value is.

    >>> filled("L (4H² + I)", {"num_hidden_layers": 12, "hidden_size": 768, "intermediate_size": 3072})
    '12 · (4 · 768² + 3,072)'
    """
    message, fields = _with_fields(text)
    return fill(message, **{field: values[field] for field in fields})


@lru_cache(maxsize=1024)
def _with_fields(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with placeholders for fields in place of letters, and these fields."""
    dotted = re.sub(rf"(?<=[\w²')])( (?=\d)| ?(?=\(|{LETTER}))", " · ", text)
    fields = tuple(FIELD_OF[letter] for letter in dict.fromkeys(re.findall(LETTER, text)))
    return re.sub(LETTER, lambda letter: f"{{{FIELD_OF[letter[0]]}:,}}", dotted), fields
