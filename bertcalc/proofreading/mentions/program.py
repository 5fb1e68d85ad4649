"""Read the counts that programs in a text compute: d_model = 768; per_layer = 4 * d_model ** 2.

The programs are parsed, never executed.

>>> text = "h = 768\\nffn_params = 2 * h * 4 * h + 5 * h  # one layer\\nprint(ffn_params)\\n"
>>> [(entry.before, int(entry.value), entry.after) for entry in counted_lines(text)]
[('ffn params', 4722432, 'one layer')]
"""

import ast
import re
from bisect import bisect_left
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from math import prod
from typing import NamedTuple

from bertcalc.config.fields import is_int
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.calculations import ChainSide, Operand, WrittenNumber
from bertcalc.proofreading.mentions.plain_text import without_prompts

_ASSIGNMENT = re.compile(
    r"^[ \t]*(?P<self>self\.)?(?P<name>[A-Za-z_]\w{0,60})[ \t]*(?:: ?(?:int|float) ?)?(?P<add>(?://|[-+*/])?)=[ \t]*"
    r"(?P<sum>[^=\s#][^#\n]{0,800}?)[ \t]*;?[ \t]*(?:#(?P<comment>[^\n]{0,200}))?$",
    re.M,
)
# print("embeddings:", V * H) or print(f"embeddings: {V * H:,}")
_PRINT = re.compile(r"^[ \t]*print\((?P<arguments>[^\n]{1,400})\)[ \t]*;?[ \t]*(?:#[^\n]*)?$")
_RETURN = re.compile(r"^[ \t]+return[ \t]+(?P<sum>[^#\n]{1,800}?)[ \t]*;?[ \t]*(?:#(?P<comment>[^\n]{0,200}))?$")
_IN_STRING = re.compile(r"\{(?P<sum>[^{}:!\n]{1,300})(?:[:!][^{}\n]{0,20})?\}")
_FUNCTION = re.compile(r"^[ \t]*def (?P<name>[A-Za-z_]\w{0,60})\((?P<parameters>[^()]{1,600})\)", re.M)
_MORE_NAMES = r"(?:[ \t]*,[ \t]*[A-Za-z_]\w{0,60}){0,9}"
_SEVERAL = re.compile(
    rf"^[ \t]*(?P<names>[A-Za-z_]\w{{0,60}}{_MORE_NAMES})[ \t]*=(?!=)[ \t]*(?P<values>[^=#\n]{{1,300}}?)[ \t]*(?:#.*)?$"
)
_CODE = re.compile(
    rf"[ \t]*(?:(?:self\.)?[A-Za-z_][\w.]{{0,60}}{_MORE_NAMES}[ \t]*[-+*]?=(?!=)"
    r"|print\(|return\b|import |from |def |class |for |if |#|[)\]}])"
)
_OPENS, _LONGEST = re.compile(r"^[ \t]*[A-Za-z_]\w{0,60}[ \t]*=[ \t]*(?P<sum>\([^\n]*)$", re.M), 800
_CONTINUED = re.compile(r"\\[ \t]*\n[ \t]*")
_LOOP = re.compile(r"[ \t]*for\s+\w+\s+in\s+range\((?P<times>[^:\n]{1,60})\)\s*:")
_HEADER = re.compile(r"[ \t]*(?:for|while|if|elif|else|try|except|finally|with)\b[^:\n]*:")
_JUMP = re.compile(r"(?:^|:)[ \t]*(?:break|continue)\b", re.M)  # with these, it is unknown how often a loop runs
_GLOBAL = re.compile(r"^[ \t]+(?:global|nonlocal)[ \t]+(?P<names>[\w, \t]{1,200})$", re.M)
_TEXT = re.compile(r"(\"{3}|'{3})(?:(?!\1)[\s\S]){0,20000}\1")
_OBJECT = re.compile(r"^[ \t]*\w+[ \t]*=[ \t]*(?P<object>\{[^{}]{1,4000}\})", re.M)
_ENTRY = re.compile(r"^[ \t]*\w+\[[\"'](?P<key>\w+)[\"']\][ \t]*[-+*]?=(?!=)", re.M)
_FEWEST = 2  # minimum number of computing lines in a program; a single line may be a formula in a sentence
_LEAST = 1000  # smaller values are sizes, not counts
_MOST_BITS, _MOST_LINES, _MOST_FUNCTIONS, _DEEPEST = 256, 3000, 20, 40
_SEPARATOR = re.compile(r"[_\W]+")
# Names for the count of a whole model: all_parameters, total, bert_params, para.
_OF_WHOLE = re.compile(
    r"(?:(?:all|total|sum|num|n|bert|model|whole|base|large)_?){0,3}(?:para\w*|total\w*|sum|count|model|bert|all)", re.I
)
OF_PROGRAM = "total parameters of the model"  # the words beside a total that a program computes


class _Block(NamedTuple):
    """A function, loop or branch.

    ``times`` has the arguments of a loop's ``range``. It is 1 for ``with``, and empty if it is unknown how often the
    block runs.
    """

    indent: int
    start: int
    times: str = ""
    is_function: bool = False


class _ProgramLine(NamedTuple):
    start: int
    end: int
    number: int
    name: str
    sign: str  # + for +=, empty for =
    expression: str
    comment: str
    blocks: tuple[_Block, ...] = ()
    is_assignment: bool = True
    is_attribute: bool = False  # whether it assigns an attribute: self.hidden = 768

    @property
    def function(self) -> int:
        """The position where the function around the line begins; -1 outside functions."""
        return next((block.start for block in reversed(self.blocks) if block.is_function), -1)

    @property
    def loops(self) -> tuple[_Block, ...]:
        return tuple(block for block in self.blocks if not block.is_function)


class _ValuedLine(NamedTuple):
    line: _ProgramLine
    parsed: ast.expr | None
    value: Fraction | None  # None if it uses names with unknown values
    scope: Mapping[str, Fraction | int]
    is_accumulated: bool  # whether it prints or returns a name that other lines add to


def sizes_by_field(model: Model) -> dict[str, int]:
    """The sizes of a model, keyed by field name, for programs that read them from a configuration."""
    config = model.config
    sizes = {field: value for field, value in config.shared().items() if is_int(value)}
    return {**sizes, "d_model": config.hidden_size, "d_ff": config.intermediate_size}


def counted_lines(text: str, sizes: Mapping[str, int] | None = None) -> list[WrittenNumber]:
    """The lines of a program that compute a count from variables, each with the value that the program computes.

    ``sizes`` are the values of names that the text does not assign.
    """
    return [
        _entry(valued.line, valued.parsed, valued.value, valued.scope)
        for valued in _valued_lines(text, sizes or {})
        if valued.parsed is not None and valued.value is not None
        if (_computes(valued.parsed) or valued.is_accumulated)
        and valued.value >= _LEAST
        and valued.value.denominator == 1
    ]


def unread_lines(text: str, sizes: Mapping[str, int] | None = None) -> list[int]:
    """The line numbers, from 1, of assignments that compute with names of unknown value.

    >>> unread_lines("h = 768\\nffn = 8 * h * h\\nlayers = sum(parts.values()) + 12 * ffn")
    [3]
    """
    return [
        valued.line.number + 1
        for valued in _valued_lines(text, sizes or {})
        if valued.value is None and valued.line.is_assignment and isinstance(valued.parsed, ast.BinOp)
        if valued.line.sign in ("", "+")
    ]


def _valued_lines(text: str, sizes: Mapping[str, int]) -> Iterator[_ValuedLine]:
    """The lines that compute, each with its value and the values of all names before it."""
    lines = list(_lines(text))
    if len(lines) < _FEWEST:
        return
    constants: dict[str, Fraction | int] = {**sizes, **_objects(text), **_constants(lines)}
    for entry in _ENTRY.finditer(text):
        constants.pop(entry["key"], None)  # changed later: config["hidden_size"] = 1024
    arguments, runs = _arguments(text), dict[int, int | None]()
    shared: dict[str, Fraction | int] = {}  # values outside functions
    inside: dict[int, dict[str, Fraction | int]] = {-1: shared}
    changed_elsewhere = {name for line in _GLOBAL.finditer(text) for name in re.findall(r"\w+", line["names"])}
    accumulated: set[str] = set()
    for line in lines:
        values = inside.setdefault(line.function, {})
        scope: ChainMap[str, Fraction | int] = ChainMap(values, arguments.get(line.function, {}), shared, constants)
        parsed, times = _parsed(line.expression), _times(line.loops, scope, runs)
        is_repeated = bool(line.loops) and not line.sign and line.name in _names(parsed)
        is_known = parsed is not None and times is not None and not is_repeated
        value = value_of(parsed, scope) if parsed is not None and is_known else None
        is_accumulated = not line.is_assignment and isinstance(parsed, ast.Name) and parsed.id in accumulated
        # In total = total + ffn, the total on the right has its previous value.
        yield _ValuedLine(line, parsed, None if line.sign not in "+" else value, dict(scope), is_accumulated)
        if not line.is_assignment:
            continue
        values = shared if line.is_attribute else values
        result = _assigned(line, value, times, values.get(line.name))
        if result is None or line.name in changed_elsewhere:
            values.pop(line.name, None)
            constants.pop(line.name, None)
        else:
            values[line.name] = result
            accumulated |= {line.name} if line.sign else set()


def _assigned(
    line: _ProgramLine, value: Fraction | None, times: int | None, before: Fraction | int | None
) -> Fraction | None:
    """The value of a name after a line; None if it is unknown."""
    if value is None or times is None or not line.sign:
        return value if times is not None else None
    if before is None:
        return None
    if line.sign in "+-":
        return before + times * value * (1 if line.sign == "+" else -1)
    return before * value if line.sign == "*" and not line.loops else None


def _times(loops: Sequence[_Block], values: Mapping[str, Fraction | int], runs: dict[int, int | None]) -> int | None:
    """How often a line runs; None if that is unknown. ``runs`` stores how often each loop runs, by its position."""
    for loop in loops:
        if loop.start not in runs:
            runs[loop.start] = _runs(loop.times, values)
    counts = [runs[loop.start] for loop in loops]
    return None if None in counts else prod(count for count in counts if count is not None)


def _runs(arguments: str, values: Mapping[str, Fraction | int]) -> int | None:
    """The length of a range with these arguments; None if they are unknown or too large."""
    call = _parsed(f"f({arguments})") if arguments else None
    ends = [value_of(argument, values) for argument in call.args] if isinstance(call, ast.Call) else []
    if not 1 <= len(ends) <= 3 or any(end is None or end.denominator != 1 for end in ends):
        return None
    whole = [int(end) for end in ends if end is not None]
    length = len(range(*whole)) if 0 not in whole[2:] and all(abs(end) <= _MOST_RUNS for end in whole) else _MOST_RUNS
    return length if length < _MOST_RUNS else None


def _objects(text: str) -> dict[str, int]:
    """The integers in a program's dictionaries, merged into one dictionary."""
    numbers: dict[str, int] = {}
    for match in islice(_OBJECT.finditer(text), _MOST_FUNCTIONS):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            written = ast.literal_eval(match["object"])
            items = written.items() if isinstance(written, dict) else ()
            numbers |= {key: value for key, value in items if isinstance(key, str) and is_int(value)}
    return numbers


def _names(node: ast.expr | None) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node is not None else set()


_MOST_RUNS = 1000


def without_unpacking(text: str) -> str:
    """Replace by spaces the values that a line assigns to several names: V,H=30522,768."""
    return _UNPACKED.sub(lambda line: line["before"] + " " * len(line["values"]), text)


_UNPACKED = re.compile(
    r"^(?P<before>[ \t]*[A-Za-z_]\w{0,60}(?:[ \t]*,[ \t]*[A-Za-z_]\w{0,60}){1,9}[ \t]*=[ \t]*)"
    r"(?P<values>[0-9][0-9,. \t]{0,200})"
    r"(?=[ \t]*(?:#[^\n]*)?$)",
    re.MULTILINE,
)


def names_in_sums(text: str) -> set[str]:
    """The names that a program assigns and then uses to compute counts.

    >>> sorted(names_in_sums("h = 768\\nattention = 4 * h * h\\nlayers = 12 * attention"))
    ['attention', 'h']
    """
    return {
        operand.text for entry in counted_lines(text) for operand in entry.best.operands if operand.text.isidentifier()
    }


def is_program(text: str) -> bool:
    """Whether most lines of a text belong to a program that computes counts.

    >>> is_program("h = 768\\nattention = 4 * h * h"), is_program("BERT has 110M parameters")
    (True, False)
    """
    lines = [line for line in without_prompts(text).splitlines() if line.strip()]
    code = sum(bool(_CODE.match(line)) for line in lines)
    return 2 * code > len(lines) and bool(_SURELY.search(text) or counted_lines(text))


def _is_of_code(entry: WrittenNumber, text: str) -> bool:
    """Whether a number is a formula in a program's own names, or a comparison."""
    return any(side.letters for side in entry.sides) or "==" in text[entry.start : entry.end]


_SURELY = re.compile(r"^[ \t]*(?:for\s+\w+\s+in\b[^\n]*:|def\s+\w+\(|import\s+\w|from\s+\w+\s+import\b)", re.M)


def with_program(entries: Sequence[WrittenNumber], counted: Sequence[WrittenNumber], text: str) -> list[WrittenNumber]:
    """Replace the numbers on a program's counting lines by the counts that the program computes there.

    Formulas on its other lines are left out: their letters are the program's own names, not sizes of the model.
    """
    ends = [line.end for line in counted]
    lines = without_prompts(text).split("\n") if is_program(text) else []
    code = {number for number, line in enumerate(lines) if _CODE.match(line) and not line.lstrip().startswith("#")}
    entries = [entry for entry in entries if entry.line not in code or not _is_of_code(entry, text)]

    def is_in_line(entry: WrittenNumber) -> bool:
        at = bisect_left(ends, entry.end)
        return at < len(counted) and counted[at].start <= entry.start

    return sorted((*counted, *(entry for entry in entries if not is_in_line(entry))), key=lambda entry: entry.start)


def _constants(lines: Sequence[_ProgramLine]) -> dict[str, Fraction]:
    """The values of names that a program assigns only once, and to a number; earlier functions may use them, too."""
    constants: dict[str, Fraction | None] = {}
    for line in lines:
        if not line.is_assignment:
            continue
        parsed = _parsed(line.expression)
        number = value_of(parsed, {}) if parsed is not None and not (line.sign or line.blocks) else None
        constants[line.name] = number if line.name not in constants else None
    return {name: number for name, number in constants.items() if number is not None}


def _arguments(text: str) -> dict[int, dict[str, Fraction | int]]:
    """The numbers that each function receives in its first call or by default.

    They are keyed by the position of the function in the text, and then by parameter.
    """
    of_functions: dict[int, dict[str, Fraction | int]] = {}
    for function in islice(_FUNCTION.finditer(text), _MOST_FUNCTIONS):
        arguments = of_functions.setdefault(function.start(), {})
        written = [part.partition("=") for part in function["parameters"].split(",")]
        parameters = [name.partition(":")[0].strip() for name, _sign, _default in written]
        call = re.compile(rf"(?<!def )\b{function['name']}\((?P<arguments>[^()\n]{{1,200}})\)").search(
            text, function.end()
        )
        for parameter, argument in zip(parameters, call["arguments"].split(",") if call else (), strict=False):
            name, _sign, value = argument.rpartition("=")
            parsed = _parsed(value)
            number = value_of(parsed, {}) if parsed is not None else None
            if number is not None:
                arguments.setdefault(name.strip() or parameter, number)
        for parameter, (_name, _sign, default) in zip(parameters, written, strict=True):
            parsed = _parsed(default)
            number = value_of(parsed, {}) if parsed is not None else None
            if number is not None:
                arguments.setdefault(parameter, number)
    return of_functions


def _lines(text: str) -> Iterator[_ProgramLine]:
    plain = without_prompts(text)
    joined = _with_long_lines(_TEXT.sub(lambda quoted: re.sub(r"[^\n]", " ", quoted[0]), plain))
    may_jump = bool(_JUMP.search(joined))
    blocks: list[_Block] = []
    number = counted_to = 0
    function = ""
    for match in islice(re.finditer(r"[^\n]+", joined), _MOST_LINES):
        statement, start = match[0], match.start()
        if statement.lstrip().startswith((")", "]", "}")):
            continue  # the end of a list of parameters
        indent = len(statement) - len(statement.lstrip())
        while statement.strip() and blocks and indent <= blocks[-1].indent:
            blocks.pop()
        number, counted_to = number + text.count("\n", counted_to, start), start
        if defined := _DEFINITION.match(statement):
            function = defined["name"]
            blocks.append(_Block(indent, start, is_function=True))
            continue
        if header := _HEADER.match(statement):
            loop = _LOOP.match(statement)
            times = loop["times"] if loop and not may_jump else "1" if header[0].lstrip().startswith("with") else ""
            blocks.append(_Block(indent, start, times))
            statement, start = statement[header.end() :], start + header.end()
        for line in _statements(statement, function):
            yield line._replace(
                start=line.start + start, end=line.end + start, number=number, blocks=tuple(blocks)
            )  # fmt: skip


_DEFINITION = re.compile(r"[ \t]*(?:async[ \t]+)?def[ \t]+(?P<name>[A-Za-z_]\w{0,60})")


def _statements(text: str, function: str) -> Iterator[_ProgramLine]:
    """The assignments of a statement, or what it prints or returns; positions are relative to the statement."""
    if assigned := _ASSIGNMENT.match(text):
        start, end = assigned.span("sum")
        comment = (assigned["comment"] or "").strip()
        line = _ProgramLine(start, end, 0, assigned["name"], assigned["add"], assigned["sum"], comment)
        yield line._replace(is_attribute=bool(assigned["self"]))
    elif several := _SEVERAL.match(text):
        names, values = (several[part].split(",") for part in ("names", "values"))
        start = several.start("values")
        for name, value in zip(names, values, strict=False) if len(names) == len(values) else ():
            yield _ProgramLine(start, start, 0, name.strip(), "", value.strip(), "")
    elif result := _result(text, function):
        yield result


def _result(line: str, function: str) -> _ProgramLine | None:
    """The calculation that a line prints or returns, with the printed label or the function's name as its name."""
    if returned := _RETURN.match(line):
        start, end = returned.span("sum")
        comment = (returned["comment"] or "").strip()
        return _ProgramLine(start, end, 0, function, "", returned["sum"], comment, is_assignment=False)
    if not (printed := _PRINT.match(line)):
        return None
    start = printed.start("arguments")
    call = _parsed(f"f({printed['arguments']})")
    last = call.args[-1] if isinstance(call, ast.Call) and call.args else None
    if isinstance(last, ast.JoinedStr):
        quoted = printed["arguments"].lstrip("fFrR").strip("\"'")
        field = _IN_STRING.search(line, start)
        if not field:
            return None
        start, end, label = *field.span("sum"), quoted.partition("{")[0]
    elif isinstance(last, ast.BinOp | ast.Name):
        call_text = f"f({printed['arguments']})".encode()  # ast gives columns in bytes
        start += len(call_text[: last.col_offset].decode()) - len("f(")
        end = start + len(call_text[last.col_offset : last.end_col_offset].decode())
        first = call.args[0] if isinstance(call, ast.Call) else None
        label = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    else:
        return None
    return _ProgramLine(start, end, 0, label.strip(" :=："), "", line[start:end], "", is_assignment=False)


def _with_long_lines(text: str) -> str:
    """Join assignments over several lines, in parentheses or with \\, without changing the length of the text."""
    joined = _CONTINUED.sub(lambda match: " " * len(match[0]), text)
    signs = [*joined]
    for opening in islice(_OPENS.finditer(joined), _MOST_LINES):
        depth = 0
        for at in range(opening.start("sum"), min(len(signs), opening.start("sum") + _LONGEST)):
            depth += (signs[at] == "(") - (signs[at] == ")")
            if signs[at] == "\n":
                if depth <= 0:
                    break
                signs[at] = " "
    return "".join(signs)


def _parsed(expression: str) -> ast.expr | None:
    try:
        parsed = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    level: list[ast.AST] = [parsed]
    for _depth in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return parsed
    return None


def _computes(node: ast.expr) -> bool:
    has_name = any(not isinstance(leaf, ast.Constant) for leaf in _leaves(node))
    return has_name and any(isinstance(part, ast.BinOp) for part in ast.walk(node))


def value_of(node: ast.expr, values: Mapping[str, Fraction | int]) -> Fraction | None:
    """The exact value of an expression of numbers, known names and + - * / // **; None for other expressions."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Fraction(f"{number}") if number == number and abs(number) < 1e15 else None
        case ast.Name(name) | ast.Attribute(attr=name):
            return Fraction(values[name]) if name in values else None
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return Fraction(values[name]) if name in values else None
        case ast.UnaryOp(ast.USub(), operand):
            value = value_of(operand, values)
            return None if value is None else -value
        case ast.Call(ast.Name("int" | "round"), [argument], []):
            return value_of(argument, values)
        case ast.BinOp(left, operator, right):
            first, second = value_of(left, values), value_of(right, values)
            return None if first is None or second is None else _applied(operator, first, second)
    return None


def _applied(operator: ast.operator, first: Fraction, second: Fraction) -> Fraction | None:
    result: Fraction | None = None
    match operator:
        case ast.Add():
            result = first + second
        case ast.Sub():
            result = first - second
        case ast.Mult():
            result = first * second
        case ast.Div() if second:
            result = first / second
        case ast.FloorDiv() if second:
            result = Fraction(first // second)
        case ast.Pow() if second.denominator == 1 and 0 <= second <= 4:
            result = first ** int(second)
    return result if result is not None and result.numerator.bit_length() < _MOST_BITS else None


def _entry(line: _ProgramLine, node: ast.expr, value: Fraction, values: Mapping[str, Fraction | int]) -> WrittenNumber:
    operands: list[Operand] = []
    for leaf in _leaves(node):
        operand = value_of(leaf, values)
        if operand is not None:
            start, end = line.start + leaf.col_offset, line.start + (leaf.end_col_offset or leaf.col_offset)
            operands.append(Operand(operand, line.expression[start - line.start : end - line.start], start, end))
    text = _in_numbers(line.expression, operands, line.start)
    side = ChainSide(value, line.start, line.end, text, tuple(operands), is_calculation=True)
    is_total = isinstance(node, ast.Name) and not line.name.strip() and _OF_WHOLE.fullmatch(node.id)
    is_whole = is_total or (_OF_WHOLE.fullmatch(line.name) and not line.sign)
    label = "" if line.sign else OF_PROGRAM if is_whole else " ".join(_SEPARATOR.split(line.name)).strip()
    return WrittenNumber((side,), label, line.comment, line.number)


def _leaves(node: ast.AST) -> Iterator[ast.expr]:
    """The names and numbers of an expression; config["hidden_size"] and config.hidden_size are one name each."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Constant):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _leaves(child)


def _in_numbers(expression: str, operands: list[Operand], start: int) -> str:
    """The expression with the values in place of its names."""
    for operand in sorted(operands, key=lambda operand: -operand.start):
        value = operand.value
        number = f"{value}" if value.denominator == 1 and value >= 0 else f"({value})"
        expression = expression[: operand.start - start] + number + expression[operand.end - start :]
    return expression
