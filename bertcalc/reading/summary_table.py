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
from itertools import zip_longest
from typing import NamedTuple

from bertcalc.model.modules import Module, Tensor
from bertcalc.model.read_modules import ReadModule
from bertcalc.reading.plain_lines import is_fence, without_ansi
from bertcalc.reading.summary_models import SummaryKind, SummaryRow, count_of_tied, model_of_rows, tied_class
from bertcalc.reading.text_reading import TextReading, of_ties
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
_HEAD = re.compile(re.escape("Layer (type"))
_QUOTE = re.compile(r"^ {0,40}(?:[>#]|//) ", re.MULTILINE)
_CELL = re.compile(r"(?P<name>[A-Za-z_][\w./:-]*…?) {0,3}\((?P<kind>[A-Za-z_][\w.>]*…?)\)?")
_CUT = "…"  # Keras 3 ends a text with this if it does not fit into its cell
_REPEATED = "(recursive)"
_UNBUILT = "(unbuilt)"  # Keras 3 prints this for a layer before its first input
_MOST_ROWS = 20_000


class SummaryTable(NamedTuple):
    """The rows of a summary, and its total; ``total`` is None if the text does not show it."""

    kind: SummaryKind
    rows: tuple[SummaryRow, ...]
    total: int | None


def table_kind(text: str) -> SummaryKind | None:
    """Return the kind of a summary, by the program that printed it; None if the text has no summary."""
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
    plain = _QUOTE.sub("", without_ansi(text))
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
    rows = tuple({"torchinfo": _torchinfo, "torchsummary": _torchsummary, "keras-summary": _keras}[kind](lines[:end]))
    if total is None:
        return SummaryTable(kind, rows, None)
    count = int(total["count"].replace(",", ""))
    return SummaryTable(kind, _completed(rows, count), count)


def _completed(rows: tuple[SummaryRow, ...], total: int) -> tuple[SummaryRow, ...]:
    """If exactly one count is cut off, compute it from the total; otherwise return the rows unchanged."""
    if sum(row.is_cut for row in rows) != 1 or any(row.depth > 1 for row in rows):
        return rows
    rest = total - sum(row.parameters for row in rows)
    return tuple(row._replace(parameters=rest, is_cut=False) if row.is_cut and rest > 0 else row for row in rows)


def _count(rest: str) -> int:
    number = _NUMBER.search(rest) or _FROZEN.search(rest)
    return int(re.sub(r"\D", "", number[0])) if number else 0


def _torchinfo(lines: Iterable[str]) -> Iterator[SummaryRow]:
    is_first = True
    for line in lines:
        match = _OF_TORCHINFO.match(line)
        if match and (match["depth"] or _BRANCH.match(line)):
            bars, rest = match["bars"], match["rest"]
            depth = int(match["depth"] or 1 + bars.count("│") + bars.count("|"))
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
    """Read a summary and recognize its model by its counts. Raises InputError if the text has no summary."""
    table = table_of(text)
    if not table.rows:
        raise wrong(N_("This summary has no rows: paste the lines below its header as well."))
    counted = [row for row in table.rows if not row.repeated and not (table.kind == "keras-summary" and row.depth > 1)]
    added = sum(row.parameters for row in counted)
    count = added if table.total is None else table.total
    sentence = Problem.of(_SENTENCES[table.kind], count=len(table.rows))
    notes = []
    if table.total is None:
        notes.append(Problem.of(N_("The table has no total, so it may be cut off. The count is the sum of its rows.")))
    elif any(row.is_cut for row in counted):
        notes.append(Problem.of(N_("Some numbers in the table are cut off, so its rows do not add up to its total.")))
    elif added != table.total:
        notes.append(
            Problem.of(
                N_("The rows sum to {rows}, but the total of the table is {total}."), rows=added, total=table.total
            )
        )
    is_at_least = table.total is None or _UNBUILT in text
    if _UNBUILT in text:
        notes.append(Problem.of(N_("The table shows no parameters for layers that are not built yet.")))
    tensors = tuple(Tensor(row.name or row.kind, (row.parameters,), 1) for row in counted if row.parameters)
    matched = model_of_rows(table.kind, counted, count)
    if matched is None and (empty := list(_empty_containers(table))):
        is_at_least = True
        notes.append(Problem.of(_EMPTY, names=", ".join(map(shorten, empty[:3]))))
    if matched is None and (tied := count_of_tied(table.kind, counted, count)):
        count, possible = tied
        notes += [_TIED_AGAIN] if count != table.total else []
        return TextReading(
            table.kind, sentence, None, _tree(table), tensors, count, is_at_least, possible, notes=tuple(notes)
        )
    if matched is None:
        if table.kind == "torchinfo" and (architecture := tied_class(counted)):
            notes += [_TIED_AGAIN, Problem.of(_HIDDEN_TIE, architecture=architecture)]
        return TextReading(table.kind, sentence, None, _tree(table), tensors, count, is_at_least, notes=tuple(notes))
    model, additional = matched
    possible = tuple(of_ties(model, count)) if not additional else ()
    if possible and count != model.num_parameters():
        count = model.num_parameters()
        notes.append(_TIED_AGAIN)
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


_TIED_AGAIN = Problem.of(N_("Tables of this kind count a tied matrix once for each module that uses it."))
_HIDDEN_TIE = N_(
    "{architecture} usually ties its decoder to the word embeddings. No row shows the decoder alone, so the count "
    "without it is unknown, but smaller."
)
_SENTENCES: dict[SummaryKind, str] = {
    "keras-summary": N_("Read as: a Keras summary with {count} rows."),
    "torchinfo": N_("Read as: a torchinfo table with {count} rows."),
    "torchsummary": N_("Read as: a torchsummary table with {count} rows."),
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
