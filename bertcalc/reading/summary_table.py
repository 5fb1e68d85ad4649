"""Read the tables of Keras' ``model.summary()``, torchinfo and torchsummary: modules with counts, but without shapes.

>>> text = '''Layer (type:depth-idx)         Output Shape    Param #
... Classifier                     [1, 2]          --
... ├─Linear: 1-1                  [1, 8]          72
... ├─Linear: 1-2                  [1, 2]          18
... Total params: 90'''
>>> table = table_of(text)
>>> [(row.kind, row.depth, row.parameters) for row in table.rows], table.total
([('Classifier', 0, 0), ('Linear', 1, 72), ('Linear', 1, 18)], 90)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Literal, NamedTuple

from bertcalc.config import ConfigError
from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Embedding, Linear, Module, Norm, Tensor
from bertcalc.model.read_modules import ReadModule
from bertcalc.reading.plain_lines import is_fence, without_ansi
from bertcalc.reading.recognition import UnmatchedPart, with_ties
from bertcalc.reading.text_reading import TextReading, of_ties
from bertcalc.text import N_
from bertcalc.text.problem import Problem, wrong

SummaryKind = Literal["keras-summary", "torchinfo", "torchsummary"]
_OF_TORCHINFO = re.compile(
    r"[│|├└─ ]{0,200}(?P<kind>[A-Za-z_][\w.]*)(?: \((?P<name>[^()]{1,80})\))?"
    r": (?P<depth>[0-9]{1,3})-[0-9]{1,6}(?P<rest> .*|)"
)
_ROOT_OF_TORCHINFO = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?: \((?P<name>[^()]{1,80})\))?(?P<rest>  .*|)")
_OF_TORCHSUMMARY = re.compile(r" {0,80}(?P<kind>[A-Za-z_][\w.]*)-(?P<number>[0-9]{1,6}) (?P<rest>.*)")
_OF_KERAS = re.compile(
    r"[ │┃|├└─]{0,80}(?P<name>[A-Za-z_][\w./:-]*) {1,3}\((?P<kind>[A-Za-z_][\w.>]*)(?P<closed>\)?)(?P<rest>.*)"
)
_NUMBER = re.compile(r"(?<![\w\[(.,\-])(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,18})(?![\w,)\]]|\.[0-9])")
_FROZEN = re.compile(r"\((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,18})\)(?=\s|$)")  # torchinfo's parameters without gradient
_TOTAL = re.compile(r"Total params:? {0,20}(?P<count>[0-9,]{1,30})", re.IGNORECASE)
_QUOTE = re.compile(r"^ {0,40}(?:[>#]|//) ", re.MULTILINE)
_CELL = re.compile(r"(?P<name>[A-Za-z_][\w./:-]*) {0,3}\((?P<kind>[A-Za-z_][\w.>]*)\)?")
_REPEATED = "(recursive)"
_UNBUILT = "(unbuilt)"  # Keras 3, of a layer that has not got its first input yet
_MOST_ROWS = 20_000


class SummaryRow(NamedTuple):
    """A row: its name if the table has it, its class, how deep it is inside of others, and its own parameters.

    ``repeated`` rows are uses of a module that an earlier row counts.
    """

    name: str
    kind: str
    depth: int
    parameters: int
    repeated: bool = False


class SummaryTable(NamedTuple):
    """The rows of a summary, and the total that it writes; None if it is cut off."""

    kind: SummaryKind
    rows: tuple[SummaryRow, ...]
    total: int | None


def table_kind(text: str) -> SummaryKind | None:
    """Which program wrote a table; None if the text has none."""
    if "Param #" not in text or "Layer (type" not in text:
        return None
    if "depth-idx" in text:
        return "torchinfo"
    numbered = sum(bool(_OF_TORCHSUMMARY.match(line)) for line in text.split("\n"))
    named = sum(bool(_OF_KERAS.match(line)) for line in text.split("\n"))
    return "torchsummary" if numbered > named else "keras-summary"


def table_of(text: str) -> SummaryTable:
    """The rows and the total of a summary. Raises InputError if there is none."""
    plain = _QUOTE.sub("", without_ansi(text))
    kind = table_kind(plain)
    if kind is None:
        raise wrong(N_('This text has no summary of a model: a table with the columns "Layer (type)" and "Param #".'))
    start = plain.index("Layer (type")
    lines = [line.expandtabs(4).rstrip() for line in plain[start:].split("\n")[1:_MOST_ROWS]]
    end = next((number for number, line in enumerate(lines) if _TOTAL.search(line) or is_fence(line)), len(lines))
    total = _TOTAL.search(plain, start)
    rows = {"torchinfo": _torchinfo, "torchsummary": _torchsummary, "keras-summary": _keras}[kind](lines[:end])
    return SummaryTable(kind, tuple(rows), int(total["count"].replace(",", "")) if total else None)


def _count(rest: str) -> int:
    number = _NUMBER.search(rest) or _FROZEN.search(rest)
    return int(re.sub(r"\D", "", number[0])) if number else 0


def _torchinfo(lines: Iterable[str]) -> Iterator[SummaryRow]:
    is_first = True
    for line in lines:
        if match := _OF_TORCHINFO.match(line):
            depth, rest = int(match["depth"]), match["rest"]
        elif is_first and (match := _ROOT_OF_TORCHINFO.match(line)):
            depth, rest = 0, match["rest"]
        else:
            continue
        is_first = False
        yield SummaryRow(match["name"] or "", match["kind"], depth, _count(rest), _REPEATED in rest)


def _torchsummary(lines: Iterable[str]) -> Iterator[SummaryRow]:
    for line in lines:
        if match := _OF_TORCHSUMMARY.match(line):
            yield SummaryRow(f"{match['kind']}-{match['number']}", match["kind"], 1, _count(match["rest"]))


def _keras(lines: Sequence[str]) -> Iterator[SummaryRow]:
    """The rows of Keras 2, or those of Keras 3, which are in boxes.

    A class or a shape that does not fit into its column goes on in the next line, which has no number.
    """
    if any(line.lstrip().startswith("│") and line.count("│") > 2 for line in lines):
        yield from _boxes(lines)
        return
    for number, line in enumerate(lines):
        if not (match := _OF_KERAS.match(line)):
            continue
        kind = match["kind"]
        if not match["closed"] and number + 1 < len(lines):
            kind += re.split(r"[ )│]", lines[number + 1].lstrip(" │┃|"), maxsplit=1)[0]
        depth = 2 if line.startswith("|") else 1
        yield SummaryRow(match["name"], kind, depth, _count(match["rest"]))


def _boxes(lines: Sequence[str]) -> Iterator[SummaryRow]:
    """The rows of a table in boxes: a line with a number begins a row, the others continue its first cell."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("│┃").split("│")]
        if len(cells) < _FEWEST_CELLS or not line.lstrip().startswith("│"):
            continue
        if cells[2]:
            rows.append((cells[0], cells[2]))
        elif rows:
            rows[-1] = (rows[-1][0] + cells[0], rows[-1][1])
    for layer, count in rows:
        if match := _CELL.match(layer.lstrip("└ ")):
            yield SummaryRow(match["name"], match["kind"], 2 if layer.startswith("└") else 1, _count(count))


_FEWEST_CELLS = 3  # the layer, its shape, its number


def read_table(text: str) -> TextReading:
    """Read a summary and compare its counts with models. Raises InputError if there is none."""
    table = table_of(text)
    if not table.rows:
        raise wrong(N_("This summary has no rows: paste the lines below its header as well."))
    counted = [row for row in table.rows if not row.repeated and not (table.kind == "keras-summary" and row.depth > 1)]
    added = sum(row.parameters for row in counted)
    count = added if table.total is None else table.total
    sentence = Problem.of(_SENTENCES[table.kind], count=len(table.rows))
    notes = []
    if table.total is None:
        notes.append(Problem.of(N_("The table has no total, so it may be cut off: its rows are added up.")))
    elif added != table.total:
        notes.append(Problem.of(N_("The rows sum to {rows}, the table says {total}."), rows=added, total=table.total))
    is_at_least = table.total is None or _UNBUILT in text
    if _UNBUILT in text:
        notes.append(Problem.of(N_("Layers that are not built yet have no parameters in the table.")))
    tensors = tuple(Tensor(row.name or row.kind, (row.parameters,), 1) for row in counted if row.parameters)
    known = _known(table, counted, count)
    if known is None:
        return TextReading(table.kind, sentence, None, _tree(table), tensors, count, is_at_least, notes=tuple(notes))
    model, additional = known
    possible = tuple(of_ties(model, count)) if not additional else ()
    if possible and count != model.num_parameters():
        count = model.num_parameters()
        notes.append(Problem.of(N_("Such tables count a tied matrix with each module that uses it.")))
        possible = tuple(of_ties(model, count))
    return TextReading(
        table.kind,
        sentence,
        model,
        _tree(table),
        tensors,
        count,
        is_at_least,
        possible,
        (),
        additional,
        notes=tuple(notes),
    )


_SENTENCES: dict[SummaryKind, str] = {
    "keras-summary": N_("Read as: a Keras summary with {count} rows."),
    "torchinfo": N_("Read as: a torchinfo table with {count} rows."),
    "torchsummary": N_("Read as: a torchsummary table with {count} rows."),
}


def _tree(table: SummaryTable) -> Module:
    """The rows as modules, each with the parameters that its row counts."""
    first = table.rows[0] if table.rows and not table.rows[0].depth else SummaryRow("", "Model", 0, 0)
    root = ReadModule(first.kind, "")
    stack: list[tuple[int, Module]] = [(0, root)]
    for number, row in enumerate(table.rows):
        if row is first:
            continue
        while len(stack) > 1 and stack[-1][0] >= row.depth:
            stack.pop()
        module = ReadModule(row.kind, "")
        nested = table.kind == "keras-summary" and row.depth > 1
        if row.parameters and not row.repeated and not nested:
            module.parameters = {"parameters": (row.parameters,)}
        stack[-1][1].children[row.name or f"{row.kind}-{number}"] = module
        stack.append((row.depth, module))
    return root


def _known(
    table: SummaryTable, counted: Sequence[SummaryRow], total: int
) -> tuple[Model, tuple[UnmatchedPart, ...]] | None:
    """The model of the first row with a class of ours, and the rows that do not belong to it."""
    for number, row in enumerate(counted):
        architecture = _class(row.kind)
        if architecture is None:
            continue
        end = next((at for at in range(number + 1, len(counted)) if counted[at].depth <= row.depth), len(counted))
        inside = counted[number:end]
        outside = [other for other in (*counted[:number], *counted[end:]) if other.parameters]
        count = sum(other.parameters for other in inside)
        if not outside and table.kind == "torchinfo":
            count = total
        if model := _with_count(architecture, count) or _solved(architecture, inside, count):
            own_head = table.kind == "keras-summary" and all(other.kind == "Dense" for other in outside)
            if outside and (whole := _with_head(model, total, outside, own_head)):
                return whole, ()
            return model, tuple(
                UnmatchedPart(other.name or other.kind, other.kind, other.parameters) for other in outside
            )
    return None


def _class(kind: str) -> str | None:
    """The class that a row names; those of TensorFlow begin with TF, and their bodies end in MainLayer."""
    name = kind.removeprefix("TF")
    name = f"{name.removesuffix('MainLayer')}Model" if name.endswith("MainLayer") else name
    return name if name in CLASSES else None


def _with_count(architecture: str, count: int) -> Model | None:
    """The preset that has this count as this class, with or without the pooler."""
    family = CLASSES[architecture]
    configs = [preset.config for preset in PRESETS.values() if type(preset.config) is family.config]
    for config, pooler in product(configs, (True, False)):
        with suppress(ConfigError):
            model = Model(config, architecture, pooler)
            if _has(model, count):
                return model
    return None


def _has(model: Model, count: int) -> bool:
    """Whether a model has a count, or has it if tied tensors count with each module that uses them."""
    matrices = [module for _path, module, _copies in model.modules() if isinstance(module, Linear) and module.tied]
    again = [
        sum(prod(module.shapes[name]) for module in matrices for name in names & module.tied.keys()) for names in _TIED
    ]
    return count - model.num_parameters() in (0, *again)


_TIED: tuple[set[str], ...] = ({"weight"}, {"weight", "bias"})


def _with_head(body: Model, total: int, outside: Sequence[SummaryRow], own_head: bool) -> Model | None:
    """The class that has the total, with the number of labels that the last row outside of the body shows.

    Of several, the one with modules of the rows' names; one of them is needed if the rows may be somebody's
    ``own_head``.
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


def _solved(architecture: str, rows: Sequence[SummaryRow], count: int) -> Model | None:
    """Read the sizes off the rows: tables from their counts, layers from their number, the rest from the total."""
    family = CLASSES[architecture]
    default = Model(family.config.default(), architecture)
    norm = next((module for _path, module, _copies in default.modules() if isinstance(module, Norm)), None)
    shown = next((row.parameters for row in rows if row.kind.endswith("Norm") and row.parameters), 0)
    layer = next((module for path, module, _copies in default.modules() if path.endswith(".*")), None)
    tables = [module for _path, module, _copies in default.modules() if isinstance(module, Embedding)]
    embeddings = [row.parameters for row in rows if row.kind == "Embedding" and row.parameters]
    if norm is None or layer is None or not shown or len(tables) > len(embeddings):
        return None
    hidden = shown // len(norm.parameters)
    sizes = {
        _FIELDS[module.place.role]: size // hidden
        for module, size in zip(tables, embeddings, strict=False)
        if module.place.role in _FIELDS
    }
    layers = sum(row.kind == layer.kind for row in rows)
    heads = next((heads for heads in (hidden // 64, 1) if heads and hidden % heads == 0), 1)
    values = {**sizes, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads}
    for pooler, tied in product((True, False), (True, False)):
        with suppress(ConfigError, ZeroDivisionError):
            if model := _with_units(default, values | {"tie_word_embeddings": tied}, pooler, count):
                return with_ties(model, True) or model
    return None


def _with_units(default: Model, values: dict[str, Any], pooler: bool, count: int) -> Model | None:
    """The model with some sizes and the intermediate_size that gives a count, which grows by the same for each unit."""

    def model(units: int) -> Model:
        fields = default.config.under_own_names({**values, "intermediate_size": units})
        return Model(replace(default.config, **fields), default.architecture, pooler)

    smallest, larger = (model(units).num_parameters() for units in (1, 2))
    units, rest = divmod(count - smallest, larger - smallest)
    return model(units + 1) if not rest and units >= 0 else None
