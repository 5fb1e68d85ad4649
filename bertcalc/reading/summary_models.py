"""Recognize the model in the rows of a summary: a published model, or a model with sizes computed from the rows.

>>> rows = [SummaryRow("", "BertModel", 0, 0), SummaryRow("", "BertEncoder", 1, 109_482_240)]
>>> model_of_rows("torchinfo", rows, 109_482_240)[0].config.hidden_size
768
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Literal, NamedTuple

from bertcalc.config import ConfigError
from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Conv1D, Embedding, Linear, Norm
from bertcalc.reading.recognition import UnmatchedPart
from bertcalc.reading.text_reading import PossibleCount, of_tie
from bertcalc.text.problem import InputError

SummaryKind = Literal["keras-summary", "torchinfo", "torchsummary"]


class SummaryRow(NamedTuple):
    """A row: its name if the table has names, its class, its depth in the tree, and its own parameters.

    A ``repeated`` row is another use of a module that an earlier row counts. ``is_cut`` says whether the count is cut
    off.
    """

    name: str
    kind: str
    depth: int
    parameters: int
    repeated: bool = False
    is_cut: bool = False


def model_of_rows(
    kind: SummaryKind, counted: Sequence[SummaryRow], total: int
) -> tuple[Model, tuple[UnmatchedPart, ...]] | None:
    """Return the model of the first row with a known class, and the rows outside it; None if there is no such row.

    ``counted`` are the rows without repetitions, and ``total`` is the table's total.
    """
    for number, row in enumerate(counted):
        architecture = _class(row.kind)
        if architecture is None:
            continue
        end = next((at for at in range(number + 1, len(counted)) if counted[at].depth <= row.depth), len(counted))
        inside = counted[number:end]
        outside = [other for other in (*counted[:number], *counted[end:]) if other.parameters]
        count = sum(other.parameters for other in inside)
        if not outside and kind == "torchinfo":
            count = total
        published = _with_count(architecture, count)
        if published and not _has_rows(published, inside):
            published = None
        if model := published or _solved(architecture, inside, count):
            own_head = kind == "keras-summary" and all(other.kind == "Dense" for other in outside)
            if outside and (whole := _with_head(model, total, outside, own_head)):
                return whole, ()
            return model, tuple(
                UnmatchedPart(other.name or other.kind, other.kind, other.parameters) for other in outside
            )
    return None


def count_of_tied(
    kind: SummaryKind, rows: Sequence[SummaryRow], total: int
) -> tuple[int, tuple[PossibleCount, ...]] | None:
    """Return the likely count and the possible counts of a table with a decoder that may be tied, or None.

    The likely count leaves out the decoder's matrix if a row names a class that ties it to the word embeddings.
    Otherwise it is the table's total. The possible counts are with and without tying. The result is None if no row can
    be such a decoder.
    """
    words = next((row.parameters for row in rows if row.kind == "Embedding" and row.parameters), 0)
    matrices = [row for row in rows if row.kind == "Linear" and words and row.parameters >= words]
    biases = [row.parameters - words for row in matrices]
    fitting = [bias == 0 or (bias >= _FEWEST_WORDS and words % bias == 0) for bias in biases]
    decoder = next((row for row, fits in zip(matrices, fitting, strict=True) if fits), None)
    if kind != "torchinfo" or decoder is None:
        return None
    is_tied = bool(tied_class(rows))
    possible = of_tie(total - words, total, decoder.name or "Linear")
    return total - words if is_tied else total, possible


_FEWEST_WORDS = 100  # minimum vocabulary size that is plausible


def tied_class(rows: Sequence[SummaryRow]) -> str:
    """Return the first known class in the rows if it ties its decoder to the word embeddings; otherwise empty."""
    architecture = next(filter(None, (_class(row.kind) for row in rows)), "")
    is_tied = architecture and Model(CLASSES[architecture].config.default(), architecture).ties()
    return architecture if is_tied else ""


def _class(kind: str) -> str | None:
    """Return the known class that a row names; TensorFlow's prefix TF is removed, and MainLayer becomes Model."""
    name = kind.removeprefix("TF")
    name = f"{name.removesuffix('MainLayer')}Model" if name.endswith("MainLayer") else name
    return name if name in CLASSES else None


def _with_count(architecture: str, count: int) -> Model | None:
    """Return a preset that has this count with this class, with or without the pooler; None if there is none."""
    return next((model for model in published_models(architecture) if _has(model, count)), None)


def published_models(architecture: str) -> Iterator[Model]:
    """Yield the presets of a class's family as models of this class, with and without the pooler.

    >>> [model.config.hidden_size for model in published_models("BertModel")][:2]
    [768, 768]
    """
    family = CLASSES[architecture]
    configs = [preset.config for preset in PRESETS.values() if type(preset.config) is family.config]
    for config, pooler in product(configs, (True, False)):
        with suppress(ConfigError):
            yield Model(config, architecture, pooler)


def _has(model: Model, count: int) -> bool:
    """Whether a model has this count, possibly with tied tensors counted in each module that uses them."""
    return any(count - model.num_parameters() == again for again in _counted_again(model))


def _counted_again(model: Model) -> Iterator[int]:
    """Yield numbers of parameters that a table may count twice: tied matrices, tied matrices and biases, or none.

    torchinfo counts tied matrices twice.
    """
    tied = [module for _path, module, _copies in model.modules() if isinstance(module, Linear) and module.tied]
    for names in ({"weight"}, {"weight", "bias"}):
        yield sum(prod(module.shapes[name]) for module in tied for name in names & module.tied.keys())
    yield 0


def _has_rows(model: Model, rows: Sequence[SummaryRow]) -> bool:
    """Whether each row for an embedding, a matrix or a LayerNorm corresponds to a module with the same count."""
    counts: Counter[tuple[str, int]] = Counter()
    for _path, module, copies in model.modules():
        if isinstance(module, Linear | Conv1D | Embedding | Norm):
            shapes = module.shapes if isinstance(module, Linear) else module.parameters
            counts[module.class_name, sum(map(prod, shapes.values()))] += copies
    kinds = {kind for kind, _count in counts}
    row_counts = Counter((row.kind, row.parameters) for row in rows if row.kind in kinds and row.parameters)
    return not row_counts - counts


def _with_head(body: Model, total: int, outside: Sequence[SummaryRow], own_head: bool) -> Model | None:
    """Return the body with a head of its family for which the model has this total; None if there is none.

    The last row outside the body shows the number of labels. If several classes fit, the class with the most modules
    named like rows is chosen. ``own_head`` means that the rows may be a custom head. In this case, at least one name
    has to match.
    """
    labels = outside[-1].parameters // (body.config.hidden_size + 1)
    names = {row.name for row in outside}
    models: list[Model] = []
    for cls in body.family.classes:
        with suppress(ConfigError):
            model = Model(replace(body.config, num_labels=labels), cls.name)
            models += [model] if model.num_parameters() == total else []
    nearest = max(models, key=lambda model: len(names & model.children.keys()), default=None)
    return None if own_head and nearest and not names & nearest.children.keys() else nearest


_FIELDS = {"word": "vocab_size", "position": "max_position_embeddings", "token type": "type_vocab_size"}
_MOST_LABELS = 1000


def _solved(architecture: str, rows: Sequence[SummaryRow], count: int) -> Model | None:
    """Return a model with sizes computed from the rows; None if no model fits.

    The rows of embedding tables and norms show their sizes, and the number of layer rows shows the number of layers.
    The remaining size follows from the total.
    """
    default = Model(CLASSES[architecture].config.default(), architecture)
    norm = next((module for _path, module, _copies in default.modules() if isinstance(module, Norm)), None)
    norms = [row.parameters for row in rows if row.kind.endswith("Norm") and row.parameters]
    layer = next((module for path, module, _copies in default.modules() if path.endswith(".*")), None)
    if norm is None or layer is None or not norms:
        return None
    has_projection = type(default.config).has("embedding_size")
    embedding, hidden = (size // len(norm.parameters) for size in (norms[0], norms[has_projection and len(norms) > 1]))
    sizes = _tables(default, rows, embedding)
    if sizes is None or not hidden:
        return None
    heads = next(heads for heads in (hidden // 64, 4, 2, 1) if heads and hidden % heads == 0)
    values = {**_tokens_within(default, sizes), "num_attention_heads": heads, "hidden_size": hidden, **sizes}
    values |= {"embedding_size": embedding} if has_projection else {}
    matrices = [row.parameters for row in rows if row.kind == "Linear" and row.parameters]
    # The second matrix is the key projection, which shows the number of key and value heads.
    if type(default.config).has("num_key_value_heads") and len(matrices) > 1:
        values["num_key_value_heads"] = max(1, matrices[1] * heads // hidden**2)
    layers = sum(row.kind == layer.class_name for row in rows)
    if layers and not type(default.config).has("num_hidden_groups"):
        values["num_hidden_layers"] = layers
    labels = [matrix // (hidden + 1) for matrix in matrices[-1:]]
    labelled = [{}, *({"num_labels": number} for number in labels if 0 < number <= _MOST_LABELS)]
    ties = (default.config.tie_word_embeddings, not default.config.tie_word_embeddings)
    for label_values, pooler, tied in product(labelled, (True, False), ties):
        with suppress(InputError, ZeroDivisionError):
            for model in _fitting(default, {**values, **label_values, "tie_word_embeddings": tied}, pooler, count):
                if _has_rows(model, rows):
                    return model
    return None


def _tables(default: Model, rows: Sequence[SummaryRow], width: int) -> dict[str, int] | None:
    """Return the sizes that embedding tables show, matched by name or by order; None if a table is missing."""
    tables = [(path, module) for path, module, _copies in default.modules() if isinstance(module, Embedding)]
    table_rows = [row for row in rows if row.kind == "Embedding" and row.parameters]
    if len(tables) > len(table_rows) or not width:
        return None
    named = {row.name: row for row in table_rows}
    sizes = {}
    for (path, module), row in zip(tables, table_rows, strict=False):
        counted = named.get(path.rpartition(".")[2], row).parameters
        if module.place.role in _FIELDS:
            sizes[_FIELDS[module.place.role]] = counted // width
        elif module.place.role == "relative position":
            # The table has a bias for each distance and head.
            sizes["num_attention_heads"] = counted // module.parameters["weight"][0]
    positions, types = sizes.get("max_position_embeddings"), sizes.get("type_vocab_size")
    if positions and types and types > positions and not any(named):
        # Unnamed tables are in the order of the forward pass, where token types come before positions.
        sizes |= {"max_position_embeddings": types, "type_vocab_size": positions}
    return sizes


def _tokens_within(default: Model, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return 0 for special tokens beyond the vocabulary, because no count depends on them."""
    tokens = {name: token for name, token in vars(default.config).items() if name.endswith("_token_id")}
    words = sizes.get("vocab_size", default.config.vocab_size)
    return {name: 0 for name, token in tokens.items() if isinstance(token, int) and token >= words}


def _fitting(default: Model, values: dict[str, Any], pooler: bool, count: int) -> Iterator[Model]:
    """Yield the models with these sizes and this count, solving for intermediate_size or the number of layers."""

    def model(**assumed: int) -> Model:
        fields = default.config.under_own_names({**values, **assumed})
        return Model(replace(default.config, **fields), default.architecture, pooler)

    open_size, assumed = "intermediate_size", dict[str, int]()
    if "num_hidden_layers" not in values and not type(default.config).has("num_hidden_groups"):
        open_size, assumed = "num_hidden_layers", {"intermediate_size": 4 * values["hidden_size"]}
    smallest, next_model = (model(**assumed, **{open_size: size}) for size in (1, 2))
    slope = next_model.num_parameters() - smallest.num_parameters()
    for again in dict.fromkeys(_counted_again(smallest)):
        size, rest = divmod(count - again - smallest.num_parameters(), slope)
        if not rest and size >= 0:
            yield model(**assumed, **{open_size: size + 1})
