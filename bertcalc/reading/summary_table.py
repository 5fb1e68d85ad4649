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
from itertools import islice, zip_longest
from typing import NamedTuple

from bertcalc.model.modules import Module, Tensor
from bertcalc.model.read_modules import ReadModule
from bertcalc.reading.plain_lines import is_fence, plain_table, without_ansi
from bertcalc.reading.summary_models import SummaryKind, SummaryRow, count_of_tied, model_of_rows, tied_class
from bertcalc.reading.text_reading import PossibleCount, TextReading, of_ties
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem, wrong

_OF_TORCHINFO = re.compile(
    r"(?P<bars>[│|├└─+ ]{0,200})(?P<kind>[A-Za-z_][\w.]*)(?: \((?P<name>[^()]{1,80})\))?"
    r"(?:: (?P<depth>[0-9]{1,3})-[0-9]{1,6})?(?P<rest> .*|)"
)
_BRANCH = re.compile(r"^(?:[│|] {4})*(?:[├└]─|\+ )[A-Za-z_]", re.MULTILINE)  # a row in a table without depth-idx
_ROOT_OF_TORCHINFO = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?: \((?P<name>[^()]{1,80})\))?(?P<rest>  .*|)")
_OF_TORCHSUMMARY = re.compile(r" {0,80}(?P<kind>[A-Za-z_][\w.]*)-(?P<number>[0-9]{1,6}) (?P<rest>.*)")
_OF_KERAS = re.compile(
    r"[ │┃|├└─]{0,80}(?P<name>[A-Za-z_][\w./:-]*) {1,3}\((?P<kind>[A-Za-z_][\w.>]*)(?P<closed>\)?)(?P<rest>.*)"
)
_NUMBER = re.compile(r"(?<![\w\[(.,\-])(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,18})(?![\w,)\]]|\.[0-9])")
_FROZEN = re.compile(r"\((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,18})\)(?=\s|$)")  # frozen parameters in torchinfo
_TOTAL = re.compile(r"Total params:? {0,20}(?P<count>[0-9][0-9,_]{0,29})", re.IGNORECASE)
_PARTS = re.compile(r"(?P<part>Non-trainable|Trainable|Optimizer) params:? {0,20}(?P<count>[0-9][0-9,_]{0,29})")
_HEAD = re.compile(re.escape("Layer (type"))
_CELL = re.compile(r"(?P<name>[A-Za-z_][\w./:-]*…?) {0,3}\((?P<kind>[A-Za-z_][\w.>]*…?)\)?")
_CUT = "…"  # Keras 3 ends a text with this if it does not fit into its cell
_REPEATED = "(recursive)"
_UNBUILT = "(unbuilt)"  # Keras 3 prints this for a layer before its first input
_MOST_ROWS = 20_000


class SummaryTable(NamedTuple):
    """The rows of a summary, and its total without the optimizer; ``total`` is None if the text does not show it."""

    kind: SummaryKind
    rows: tuple[SummaryRow, ...]
    total: int | None
    optimizer: int = 0  # number of the optimizer's parameters, which Keras adds to the printed total


def table_kind(text: str) -> SummaryKind | None:
    """Return the kind of a summary, by the program that printed it; None if the text has no summary."""
    text = without_ansi(text)
    if "Param #" not in text or "Layer (type" not in text:
        return "keras-summary" if _is_headless(text) else None
    if "depth-idx" in text or _BRANCH.search(text):
        return "torchinfo"
    numbered = sum(bool(_OF_TORCHSUMMARY.match(line)) for line in text.split("\n"))
    named = sum(bool(_OF_KERAS.match(line)) for line in text.split("\n"))
    return "torchsummary" if numbered > named else "keras-summary"


def _is_headless(text: str) -> bool:
    """Whether a text is a Keras summary without its first lines: rows between a rule and the total."""
    rule, total = None if _BRANCH.search(text) else _RULE.search(text), _TOTAL.search(text)
    rows = text[rule.end() : total.start()].split("\n") if rule and total else []
    return any((match := _OF_KERAS.match(line)) and _count(match["rest"]) for line in rows)


_RULE = re.compile(r"^ {0,20}={20}", re.MULTILINE)


def table_of(text: str) -> SummaryTable:
    """Parse the rows and the total of a summary. Raises InputError if the text has no summary."""
    plain = plain_table(text)
    kind = table_kind(plain)
    if kind is None:
        raise wrong(
            N_('This text contains no model summary, which is a table with the columns "Layer (type)" and "Param #".')
        )
    head = _HEAD.search(plain) or _RULE.search(plain)
    start = head.start() if head else 0
    lines = [line.expandtabs(4).rstrip() for line in plain[start:].split("\n")[1:_MOST_ROWS]]
    end = next((number for number, line in enumerate(lines) if _TOTAL.search(line) or is_fence(line)), len(lines))
    total = _TOTAL.search(plain, start)
    columns = _columns_of_counts(plain[plain.rfind("\n", 0, start) + 1 :].split("\n", 1)[0].expandtabs(4))
    readers = {"torchsummary": _torchsummary, "keras-summary": _keras}
    rows = tuple(readers[kind](lines[:end]) if kind in readers else _torchinfo(lines[:end], columns))
    if total is None:
        return SummaryTable(kind, rows, None)
    count = _whole(total["count"])
    optimizer = _of_optimizer(plain[total.end() :], count) if kind == "keras-summary" else 0
    return SummaryTable(kind, _completed(rows, count - optimizer), count - optimizer, optimizer)


def _of_optimizer(below: str, total: int) -> int:
    """Return the optimizer's part of a total, given the lines below the total; 0 if the total does not include it."""
    parts = {match["part"]: _whole(match["count"]) for match in islice(_PARTS.finditer(below), _MOST_PARTS)}
    optimizer = parts.pop("Optimizer", 0)
    return optimizer if total > optimizer and sum(parts.values()) in (0, total - optimizer) else 0


def _whole(text: str) -> int:
    return int(re.sub(r"\D", "", text))


_MOST_PARTS = 3


def _completed(rows: tuple[SummaryRow, ...], total: int) -> tuple[SummaryRow, ...]:
    """If exactly one count is cut off, compute it from the total; otherwise return the rows unchanged."""
    if sum(row.is_cut for row in rows) != 1 or any(row.depth > 1 for row in rows):
        return rows
    rest = total - sum(row.parameters for row in rows)
    return tuple(row._replace(parameters=rest, is_cut=False) if row.is_cut and rest > 0 else row for row in rows)


def _count(rest: str) -> int:
    number = _NUMBER.search(rest) or _FROZEN.search(rest)
    return _whole(number[0]) if number else 0


def _torchinfo(lines: Sequence[str], columns: slice) -> Iterator[SummaryRow]:
    """Yield the rows of modules. ``columns`` is where the table has its counts.

    A row of a parameter, which torchinfo shows with a branch before its count, is part of the module above.
    """
    is_first = True
    for line in lines:
        if _OF_PARAMETER.search(line):
            continue
        match = _OF_TORCHINFO.match(line)
        if match and (match["depth"] or _BRANCH.match(line)):
            bars, rest = match["bars"], match["rest"]
            depth = int(match["depth"] or 1 + bars.count("│") + bars.count("|"))
        elif is_first and (match := _ROOT_OF_TORCHINFO.match(line)):
            depth, rest = 0, match["rest"]
        else:
            continue
        is_first = False
        count = _count(f" {line[columns].strip()}") if columns.start else _count(rest)
        yield SummaryRow(match["name"] or "", match["kind"], depth, count, _REPEATED in rest)


_OF_PARAMETER = re.compile(r"\w .*[├└]─[0-9(]")


def _columns_of_counts(header: str) -> slice:
    """Return where rows have their counts if other columns have numbers, too; else an empty slice."""
    start = header.find("Param #")
    following = re.search(r" {2,}\S", header[start:]) if start > 0 else None
    if following:
        return slice(start, start + following.end() - 1)
    return slice(start, None) if start > 0 and _OF_NUMBERS.search(header[:start]) else slice(0, 0)


_OF_NUMBERS = re.compile("Kernel Shape|Mult-Adds|Param %")


def _torchsummary(lines: Iterable[str]) -> Iterator[SummaryRow]:
    for line in lines:
        if match := _OF_TORCHSUMMARY.match(line):
            yield SummaryRow(f"{match['kind']}-{match['number']}", match["kind"], 1, _count(match["rest"]))


def _keras(lines: Sequence[str]) -> Iterator[SummaryRow]:
    """Yield the rows of Keras 2, or of Keras 3, which draws boxes.

    A class or a shape that does not fit into its column continues on the next line, which has no count.
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
    """Yield the rows of a table in boxes: a line with a number begins a row, other lines continue its first cell."""
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
            parameters = 0 if _CUT in count else _count(count)
            yield SummaryRow(
                match["name"], match["kind"], 2 if layer.startswith("└") else 1, parameters, is_cut=_CUT in count
            )


_FEWEST_CELLS = 3  # a layer, its output shape and its number of parameters


def read_table(text: str) -> TextReading:
    """Read a summary and recognize its model by its counts. Raises InputError if the text has no summary.

    If the text has several summaries with different totals, their counts are possible counts.
    """
    heads = [text.rfind("\n", 0, head.start()) + 1 for head in islice(_HEAD.finditer(text), _MOST_TABLES)]
    parts = [text[start:end] for start, end in zip_longest(heads, heads[1:])]
    totals = [_TOTAL.search(plain_table(part)) for part in parts]
    if len({total and total["count"] for total in totals}) < _SEVERAL or not all(totals):
        return _read_table(text)
    readings = [_read_table(part) for part in parts]
    sentence = Problem.of(N_("Read as: {count} tables with different totals. Paste one of them."), count=len(parts))
    possible = [
        PossibleCount(reading.num_parameters, Problem.of(_OF_TABLE, line=text.count("\n", 0, start) + 1))
        for start, reading in zip(heads, readings, strict=True)
        if reading.num_parameters is not None
    ]
    return TextReading(readings[0].kind, sentence, possible_counts=tuple(possible))


_SEVERAL, _MOST_TABLES = 2, 20
_OF_TABLE = N_("if the table that begins in line {line} is meant")


def _read_table(text: str) -> TextReading:
    table = table_of(text)
    if not table.rows:
        raise wrong(N_("This summary has no rows: paste the lines below its header as well."))
    counted = [row for row in table.rows if not row.repeated and not (table.kind == "keras-summary" and row.depth > 1)]
    count = sum(row.parameters for row in counted) if table.total is None else table.total
    notes = list(_notes(table, counted, text))
    is_at_least = table.total is None or _UNBUILT in text
    model, additional = model_of_rows(table.kind, counted, count) or (None, ())
    possible: tuple[PossibleCount, ...] = ()
    if model is None and (empty := list(_empty_containers(table))):
        is_at_least = True
        notes.append(Problem.of(_EMPTY, names=", ".join(map(shorten, empty[:3]))))
    if model is not None and not additional:
        possible = tuple(of_ties(model, count))
        if possible and count != model.num_parameters():
            count = model.num_parameters()
            notes.append(_TIED_AGAIN)
            possible = tuple(of_ties(model, count))
    elif model is None and (tied := count_of_tied(table.kind, counted, count)):
        count, possible = tied
        notes += [_TIED_AGAIN] if count != table.total else []
    elif model is None and table.kind == "torchinfo" and (architecture := tied_class(counted)):
        notes += [_TIED_AGAIN, Problem.of(_HIDDEN_TIE, architecture=architecture)]
    return TextReading(
        table.kind,
        Problem.of(_SENTENCES[table.kind], count=len(table.rows)),
        model,
        _tree(table),
        tuple(Tensor(row.name or row.kind, (row.parameters,), 1) for row in counted if row.parameters),
        count,
        is_at_least,
        possible,
        additional=additional,
        notes=tuple(notes),
    )


def _notes(table: SummaryTable, counted: Sequence[SummaryRow], text: str) -> Iterator[Problem]:
    """Yield what the table leaves open, or where its rows and its total differ."""
    added = sum(row.parameters for row in counted)
    if table.optimizer:
        message = N_("The total of the table includes {count} parameters of the optimizer, which are left out.")
        yield Problem.of(message, count=table.optimizer)
    if table.total is None:
        yield Problem.of(N_("The table has no total, so it may be cut off. The count is the sum of its rows."))
    elif any(row.is_cut for row in counted):
        yield Problem.of(N_("Some numbers in the table are cut off, so its rows do not add up to its total."))
    elif added != table.total:
        message = N_("The rows sum to {rows}, but the total of the table is {total}.")
        yield Problem.of(message, rows=added, total=table.total)
    if _UNBUILT in text:
        yield Problem.of(N_("The table shows no parameters for layers that are not built yet."))


_TIED_AGAIN = Problem.of(N_("Tables of this kind count a tied matrix once for each module that uses it."))
_HIDDEN_TIE = N_(
    "{architecture} usually ties its decoder to the word embeddings. No row shows the decoder alone, so the count "
    "without it is unknown, but smaller."
)
_SENTENCES: dict[SummaryKind, str] = {
    "keras-summary": N_("Read as: a Keras summary. Rows: {count}."),
    "torchinfo": N_("Read as: a torchinfo table. Rows: {count}."),
    "torchsummary": N_("Read as: a torchsummary table. Rows: {count}."),
}


def _empty_containers(table: SummaryTable) -> Iterator[str]:
    """Yield the classes of torchinfo's modules that should have parameters but have neither a number nor rows below."""
    rows = table.rows if table.kind == "torchinfo" else ()
    for row, following in zip_longest(rows, rows[1:]):
        is_leaf = following is None or following.depth <= row.depth
        if is_leaf and not row.parameters and not row.repeated and _CONTAINER.search(row.kind):
            yield row.kind


_CONTAINER = re.compile(
    r"^(?!.*(?:Position|Sinusoid|Rotary|Rope|Relative)).*[a-z0-9](?:Encoder|Embeddings|Model|Stack|Transformer|Layer)$"
    r"(?<!NormLayer)(?<!DropoutLayer)"
)
_EMPTY = N_("The table has neither a number nor rows for {names}, so its total may be too low.")


def _tree(table: SummaryTable) -> Module:
    """Return a tree with a module for each row. It has the row's parameters unless another row counts them."""
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
