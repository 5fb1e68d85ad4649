"""Programs that count in a text: d_model = 768, then per_layer = 4 * d_model ** 2; parsed, never executed.

>>> text = "h = 768\\nffn_params = 2 * h * 4 * h + 5 * h  # one layer\\nprint(ffn_params)\\n"
>>> [(entry.before, int(entry.value), entry.after) for entry in counted_lines(text)]
[('ffn params', 4722432, 'one layer')]
"""

import ast
import re
from bisect import bisect_left
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from bertcalc.config.fields import is_int
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.calculations import ChainSide, Operand, WrittenNumber

_ASSIGNMENT = re.compile(
    r"^[ \t]*(?:self\.)?(?P<name>[A-Za-z_]\w{0,60})[ \t]*(?P<add>\+?)=[ \t]*"
    r"(?P<sum>[^=\s#][^#\n]{0,800}?)[ \t]*;?[ \t]*(?:#(?P<comment>[^\n]{0,200}))?$",
    re.M,
)
# print("embeddings:", V * H), print(f"embeddings: {V * H:,}") and the result of a function.
_PRINT = re.compile(r"^[ \t]*print\((?P<arguments>[^\n]{1,400})\)[ \t]*;?[ \t]*(?:#[^\n]*)?$")
_RETURN = re.compile(r"^[ \t]+return[ \t]+(?P<sum>[^#\n]{1,800}?)[ \t]*;?[ \t]*(?:#(?P<comment>[^\n]{0,200}))?$")
_IN_STRING = re.compile(r"\{(?P<sum>[^{}:!\n]{1,300})(?:[:!][^{}\n]{0,20})?\}")
_FUNCTION = re.compile(r"^[ \t]*def (?P<name>[A-Za-z_]\w{0,60})\((?P<parameters>[^()]{1,600})\)", re.M)
_MORE_NAMES = r"(?:[ \t]*,[ \t]*[A-Za-z_]\w{0,60}){0,9}"
_SEVERAL = re.compile(
    rf"^[ \t]*(?P<names>[A-Za-z_]\w{{0,60}}{_MORE_NAMES})[ \t]*=(?!=)[ \t]*(?P<values>[^=#\n]{{1,300}}?)[ \t]*(?:#.*)?$"
)
_CODE = re.compile(
    rf"[ \t]*(?:(?:self\.)?[A-Za-z_][\w.]{{0,60}}{_MORE_NAMES}[ \t]*\+?=(?!=)"
    r"|print\(|return\b|import |from |def |class |for |if |#|[)\]}])"
)
_OPENS, _LONGEST = re.compile(r"^[ \t]*[A-Za-z_]\w{0,60}[ \t]*=[ \t]*(?P<sum>\([^\n]*)$", re.M), 800
_CONTINUED = re.compile(r"\\[ \t]*\n[ \t]*")
_LOOP = re.compile(r"[ \t]*for\s+\w+\s+in\s+range\((?P<times>[^:\n]{1,60})\)\s*:")
_BRANCHES = re.compile(r"^(?P<indent>[ \t]*)(?:for|while|if|elif|else|try|except)\b.*:[ \t]*(?:#.*)?$")
_FEWEST = 2  # assignments of a program: one may be a formula in a sentence
_LEAST = 1000  # smaller values are sizes
_MOST_BITS, _MOST_LINES, _MOST_FUNCTIONS, _DEEPEST = 256, 3000, 20, 40
_SEPARATOR = re.compile(r"[_\W]+")
# Names of a whole model's count: all_parameters, total, bert_params, para.
_OF_WHOLE = re.compile(
    r"(?:(?:all|total|sum|num|n|bert|model|whole|base|large)_?){0,3}(?:para\w*|total\w*|sum|count|model|bert|all)", re.I
)
OF_PROGRAM = "total parameters of the model"  # the words beside a total that a program computes


class _ProgramLine(NamedTuple):
    start: int
    end: int
    number: int
    name: str
    adds: bool
    expression: str
    comment: str
    loops: tuple[str, ...]  # how often each loop around it runs; empty for a branch, which may not run
    is_assignment: bool = True


class _ValuedLine(NamedTuple):
    line: _ProgramLine
    parsed: ast.expr | None
    value: Fraction | None  # None if it computes with names whose values are not known
    scope: Mapping[str, Fraction | int]
    is_accumulated: bool  # whether it prints or returns a name that lines add to


def sizes_of(model: Model) -> dict[str, int]:
    """The sizes of a model by the names of fields, for programs that take them from a configuration."""
    config = model.config
    sizes = {field: value for field, value in config.shared().items() if is_int(value)}
    return {**sizes, "d_model": config.hidden_size, "d_ff": config.intermediate_size}


def counted_lines(text: str, sizes: Mapping[str, int] | None = None) -> list[WrittenNumber]:
    """The assignments that compute a count from variables, each with the value that the program gives to it.

    ``sizes`` are values of names that the text does not assign.
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
    """The numbers of the lines, from 1, that compute with names whose values are not known.

    >>> unread_lines("h = 768\\nffn = 8 * h * h\\nlayers = sum(parts.values()) + 12 * ffn")
    [3]
    """
    return [
        valued.line.number + 1
        for valued in _valued_lines(text, sizes or {})
        if valued.value is None and valued.line.is_assignment and isinstance(valued.parsed, ast.BinOp)
    ]


def _valued_lines(text: str, sizes: Mapping[str, int]) -> Iterator[_ValuedLine]:
    """The lines that compute, each with its value and those of all names before it."""
    lines = list(_lines(text))
    if len(lines) < _FEWEST:
        return
    known: dict[str, Fraction | int] = {**sizes, **_constants(lines), **_arguments(text)}
    values: dict[str, Fraction | int] = {}
    scope = ChainMap(values, known)
    accumulated: set[str] = set()
    for line in lines:
        parsed, times = _parsed(line.expression), _times(line.loops, scope)
        is_repeated = bool(line.loops) and not line.adds and line.name in _names(parsed)
        value = None if parsed is None or times is None or is_repeated else _value(parsed, scope)
        is_accumulated = not line.is_assignment and isinstance(parsed, ast.Name) and parsed.id in accumulated
        # In total = total + ffn, the right total is the one before.
        yield _ValuedLine(line, parsed, value, dict(scope), is_accumulated)
        if not line.is_assignment:
            continue
        if value is None or times is None or (line.adds and line.name not in values):
            values.pop(line.name, None)
        elif line.adds:
            values[line.name] += times * value
            accumulated.add(line.name)
        else:
            values[line.name] = value


def _times(loops: Sequence[str], values: Mapping[str, Fraction | int]) -> int | None:
    """How often a line runs; None if that is not known."""
    times = 1
    for loop in loops:
        parsed = _parsed(loop) if loop else None
        value = _value(parsed, values) if parsed is not None else None
        if value is None or value.denominator != 1 or not 0 <= value <= _MOST_RUNS:
            return None
        times *= int(value)
    return times


def _names(node: ast.expr | None) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node is not None else set()


_MOST_RUNS = 1000


def without_unpacking(text: str) -> str:
    """A text of the same length without the values that a line gives to several names: V,H=30522,768."""
    return _UNPACKED.sub(lambda line: line["before"] + " " * len(line["values"]), text)


_UNPACKED = re.compile(
    r"^(?P<before>[ \t]*[A-Za-z_]\w{0,60}(?:[ \t]*,[ \t]*[A-Za-z_]\w{0,60}){1,9}[ \t]*=[ \t]*)"
    r"(?P<values>[0-9][0-9,. \t]{0,200})"
    r"(?=[ \t]*(?:#[^\n]*)?$)",
    re.MULTILINE,
)


def names_in_sums(text: str) -> set[str]:
    """The names that a program first assigns and then computes counts with.

    >>> sorted(names_in_sums("h = 768\\nattention = 4 * h * h\\nlayers = 12 * attention"))
    ['attention', 'h']
    """
    return {
        operand.text for entry in counted_lines(text) for operand in entry.best.operands if operand.text.isidentifier()
    }


def is_program(text: str) -> bool:
    """Whether most lines of a text are those of a program that computes counts.

    >>> is_program("h = 768\\nattention = 4 * h * h"), is_program("BERT has 110M parameters")
    (True, False)
    """
    lines = [line for line in text.splitlines() if line.strip()]
    code = sum(bool(_CODE.match(line)) for line in lines)
    return 2 * code > len(lines) and bool(counted_lines(text))


def with_program(entries: Sequence[WrittenNumber], counted: Sequence[WrittenNumber]) -> list[WrittenNumber]:
    """The numbers of a text, with what its program counts in place of the numbers in these lines."""
    ends = [line.end for line in counted]

    def is_in_line(entry: WrittenNumber) -> bool:
        at = bisect_left(ends, entry.end)
        return at < len(counted) and counted[at].start <= entry.start

    return sorted((*counted, *(entry for entry in entries if not is_in_line(entry))), key=lambda entry: entry.start)


def _constants(lines: Sequence[_ProgramLine]) -> dict[str, Fraction]:
    """The numbers that a program gives to names, for functions that are defined before; a name has only one number."""
    constants: dict[str, Fraction | None] = {}
    for line in lines:
        if not line.is_assignment:
            continue
        parsed = _parsed(line.expression)
        number = _value(parsed, {}) if parsed is not None and not line.adds else None
        constants[line.name] = number if line.name not in constants else None
    return {name: number for name, number in constants.items() if number is not None}


def _arguments(text: str) -> dict[str, Fraction]:
    """The numbers with which a program first calls its functions, by the names of the parameters."""
    arguments: dict[str, Fraction] = {}
    for function in islice(_FUNCTION.finditer(text), _MOST_FUNCTIONS):
        written = [part.partition("=") for part in function["parameters"].split(",")]
        parameters = [name.partition(":")[0].strip() for name, _sign, _default in written]
        call = re.compile(rf"(?<!def )\b{function['name']}\((?P<arguments>[^()\n]{{1,200}})\)").search(
            text, function.end()
        )
        for parameter, argument in zip(parameters, call["arguments"].split(",") if call else (), strict=False):
            name, _sign, value = argument.rpartition("=")
            parsed = _parsed(value)
            number = _value(parsed, {}) if parsed is not None else None
            if number is not None:
                arguments.setdefault(name.strip() or parameter, number)
        for parameter, (_name, _sign, default) in zip(parameters, written, strict=True):
            parsed = _parsed(default)
            number = _value(parsed, {}) if parsed is not None else None
            if number is not None:
                arguments.setdefault(parameter, number)
    return arguments


def _lines(text: str) -> Iterator[_ProgramLine]:
    joined = _with_long_lines(text)
    blocks: list[tuple[int, str]] = []  # the indents of loops and branches around a line, and how often they run
    number = counted_to = 0
    function = ""
    for match in islice(re.finditer(r"[^\n]+", joined), _MOST_LINES):
        indent = len(match[0]) - len(match[0].lstrip())
        while match[0].strip() and blocks and indent <= blocks[-1][0]:
            blocks.pop()
        if opening := _BRANCHES.match(match[0]):
            loop = _LOOP.match(opening[0])
            blocks.append((indent, loop["times"] if loop else ""))
            continue
        loops = tuple(times for _indent, times in blocks)
        function = defined["name"] if (defined := _FUNCTION.match(match[0])) else function
        assigned = _ASSIGNMENT.match(match[0])
        if not assigned and (several := _SEVERAL.match(match[0])):
            names, values = (several[part].split(",") for part in ("names", "values"))
            for name, value in zip(names, values, strict=False) if len(names) == len(values) else ():
                start = match.start() + several.start("values")
                yield _ProgramLine(start, start, number, name.strip(), False, value.strip(), "", loops)
        number, counted_to = number + text.count("\n", counted_to, match.start()), match.start()
        result = _result(match[0], function)
        if assigned:
            start, end = assigned.span("sum")
            comment = (assigned["comment"] or "").strip()
            line = _ProgramLine(
                start, end, number, assigned["name"], bool(assigned["add"]), assigned["sum"], comment, loops
            )  # fmt: skip
        elif result:
            line = result._replace(number=number, loops=loops)
        else:
            continue
        yield line._replace(start=line.start + match.start(), end=line.end + match.start())


def _result(line: str, function: str) -> _ProgramLine | None:
    """The calculation that a line prints or returns; its name is the printed label, or that of the function."""
    if returned := _RETURN.match(line):
        start, end = returned.span("sum")
        comment = (returned["comment"] or "").strip()
        return _ProgramLine(start, end, 0, function, False, returned["sum"], comment, (), is_assignment=False)
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
        call_text = f"f({printed['arguments']})".encode()  # ast counts bytes
        start += len(call_text[: last.col_offset].decode()) - len("f(")
        end = start + len(call_text[last.col_offset : last.end_col_offset].decode())
        first = call.args[0] if isinstance(call, ast.Call) else None
        label = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    else:
        return None
    return _ProgramLine(start, end, 0, label.strip(" :=："), False, line[start:end], "", (), is_assignment=False)


def _with_long_lines(text: str) -> str:
    """A text of the same length in which an assignment over several lines, in parentheses or with \\, is one line."""
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


def _value(node: ast.expr, values: Mapping[str, Fraction | int]) -> Fraction | None:
    """The exact value of an expression; None if it is none of numbers, known names and + - * / // **."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Fraction(f"{number}") if number == number and abs(number) < 1e15 else None
        case ast.Name(name) | ast.Attribute(attr=name):
            return Fraction(values[name]) if name in values else None
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return Fraction(values[name]) if name in values else None
        case ast.UnaryOp(ast.USub(), operand):
            value = _value(operand, values)
            return None if value is None else -value
        case ast.Call(ast.Name("int" | "round"), [argument], []):
            return _value(argument, values)
        case ast.BinOp(left, operator, right):
            first, second = _value(left, values), _value(right, values)
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
        operand = _value(leaf, values)
        if operand is not None:
            start, end = line.start + leaf.col_offset, line.start + (leaf.end_col_offset or leaf.col_offset)
            operands.append(Operand(operand, line.expression[start - line.start : end - line.start], start, end))
    text = _in_numbers(line.expression, operands, line.start)
    side = ChainSide(value, line.start, line.end, text, tuple(operands), is_calculation=True)
    is_total = isinstance(node, ast.Name) and not line.name.strip() and _OF_WHOLE.fullmatch(node.id)
    is_whole = is_total or (_OF_WHOLE.fullmatch(line.name) and not line.adds)
    label = "" if line.adds else OF_PROGRAM if is_whole else " ".join(_SEPARATOR.split(line.name)).strip()
    return WrittenNumber((side,), label, line.comment, line.number)


def _leaves(node: ast.AST) -> Iterator[ast.expr]:
    """The names and numbers of an expression; config["hidden_size"] and config.hidden_size are one name."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Constant):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _leaves(child)


def _in_numbers(expression: str, operands: list[Operand], start: int) -> str:
    """The expression with the values of its names."""
    for operand in sorted(operands, key=lambda operand: -operand.start):
        value = operand.value
        number = f"{value}" if value.denominator == 1 and value >= 0 else f"({value})"
        expression = expression[: operand.start - start] + number + expression[operand.end - start :]
    return expression
