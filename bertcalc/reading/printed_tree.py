"""Parse the modules that ``print(model)`` shows, from PyTorch 1 or 2, with other text around and within them.

>>> text = '''Model(
...   (0-1): 2 x Linear(in_features=3, out_features=2, bias=True)
... )'''
>>> [tree] = printed_models(text)
>>> tree.root.num_parameters(), tree.is_complete
(16, True)
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from bertcalc.model.modules import Module, Shape
from bertcalc.model.read_modules import LayerRun, ReadModule, folded
from bertcalc.reading.leaf_modules import size_of, tensors_of
from bertcalc.reading.plain_lines import is_fence, plain_lines

_NAMED = re.compile(r"\([^()\s:]{1,100}\): ?")
_MODULE = re.compile(
    r"(?:\((?P<name>[^()\s:]{1,100})\): ?)?(?:(?P<copies>[0-9]{1,9}) ?x ?)?(?P<kind>[A-Za-z_][\w.]{0,99})\((?P<rest>.*)"
)
_PARAMETER = re.compile(
    r"\((?P<name>\w{1,100})\): Parameter containing: \[(?:\w|\.){1,60} of size (?P<shape>[0-9x]{1,100})"
)
_GOES_ON = re.compile(r"\([0-9]|[0-9]+[,)]|[a-z_]{1,40}=|torch\.Size")  # arguments on the line after a module's name
_OWN_SIZES = re.compile(r"[a-z_]{1,40}=|[0-9]{1,9}, [0-9]{1,9}, kernel_size=")
_OF_LINEAR = re.compile(r"in_features=[0-9]{1,9}, out_features=[0-9]{1,9}, bias=(?:True|False)\b")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_COMMA = re.compile(r",(?=[^\s)])")  # a comma without a space, which may be lost at the end of a wrapped line
_ENDS = re.compile(r"\)+[,;.]?")
_MOST_JOINED = 6  # maximum number of lines that are joined to a wrapped line
_MOST_PROSE = 6  # maximum number of consecutive lines of prose inside a printed model
_DEEPEST = 100


class PrintedModule(ReadModule):
    """A module of a printed model.

    ``known`` says whether its tensors are known. ``unsure`` has the names of tensors that may not exist.
    """

    known = True
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrintedTree:
    """A printed model: its root, and the paths of the modules in which lines are missing.

    - ``left_out``: modules around a line that print() does not write, such as three dots.
    - ``cut``: modules that the text does not close.
    - ``filled``: lists in which the layers' numbers show how many equal layers are left out.
    """

    root: Module
    lines: int
    left_out: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    headless: bool = False  # whether the first line of the printout is missing

    @property
    def is_complete(self) -> bool:
        """Whether no line is missing."""
        return not (self.left_out or self.cut or self.headless)

    def unknown(self) -> dict[str, str]:
        """Return the classes of the modules without known tensors, keyed by path."""
        modules = ((path, module) for path, module, _copies in self.root.modules())
        return {
            path: module.class_name
            for path, module in modules
            if isinstance(module, PrintedModule) and not module.known
        }

    def unsure(self) -> list[str]:
        """Return the names of tensors that may be absent, because their modules' arguments do not show them."""
        return [
            f"{path}.{name}" if path else name
            for path, module, _copies in self.root.modules()
            if isinstance(module, PrintedModule)
            for name in module.unsure
        ]


@dataclass
class _Open:
    """A module that is not closed yet."""

    name: str
    kind: str
    copies: int
    indent: int
    path: str
    children: list[tuple[str, int, Module]] = field(default_factory=list)
    parameters: dict[str, Shape] = field(default_factory=dict)
    is_assumed: bool = False  # whether the parameters assume that an unknown class is a Linear layer


class _Line(NamedTuple):
    """A line, or several wrapped lines joined into one: its indentation, its text, and the number of the next line."""

    indent: int
    text: str
    end: int


def printed_models(text: str) -> list[PrintedTree]:
    """Return all printed models in a text, in order."""
    lines = plain_lines(text)
    return list(_Reader(lines).trees()) or _single_module(lines)


def _single_module(lines: Sequence[str]) -> list[PrintedTree]:
    """Read a text of one line, such as Linear(in_features=768, out_features=2, bias=True)."""
    written = [line.strip() for line in lines if line.strip()]
    match = _MODULE.fullmatch(written[0]) if len(written) == 1 else None
    arguments, closed = _arguments(match["rest"]) if match else ("", False)
    if not match or not closed or f"{arguments})" != match["rest"]:
        return []
    module = _leaf(match["kind"], arguments)
    return [PrintedTree(module, 1)] if module.known and module.parameters else []


class _Reader:
    """Reads the printed models in one pass over the lines.

    Parentheses show the nesting, and so does the indentation if the text is indented.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        starts = {_indent(line) for line in lines if _NAMED.match(line.lstrip())}
        self._indented = len(starts) > 1 and not _is_reindented(lines)
        self._stack: list[_Open] = []
        self._begin("")

    def _begin(self, kind: str, indent: int = -1) -> None:
        self._stack = [_Open("", kind, 1, indent, "")] if kind else []
        self._headless = indent < 0
        self._count = 0
        self._left_out: list[str] = []
        self._prose: list[str] = []
        self._filled: list[str] = []

    def trees(self) -> Iterator[PrintedTree]:
        at = 0
        while at < len(self._lines):
            line = _joined(self._lines, at)
            at = line.end
            yield from self._take(line, at)
        yield from self._end()

    def _take(self, line: _Line, after: int) -> Iterator[PrintedTree]:
        text = line.text
        if is_fence(text):
            yield from self._end()
        elif not text:
            return
        elif self._stack and _ENDS.fullmatch(text):
            yield from self._close(text.count(")"), line.indent)
        elif parameter := _PARAMETER.match(text):
            self._own(parameter["name"], parameter["shape"])
        elif (match := _MODULE.match(text)) and (match["name"] or self._is_root(match, after)):
            if not match["name"] or not self._stack:
                yield from self._end()
                self._begin(*(("Module",) if match["name"] else (match["kind"], line.indent)))
                if not match["name"]:
                    self._count = 1
                    return
            self._add(match, line.indent)
        elif self._stack and _OWN_SIZES.match(text) and self._has_own_tensors(text):
            return
        elif self._stack:
            self._prose.append(text)
            if len(self._prose) > _MOST_PROSE:
                yield from self._end()

    def _is_root(self, match: re.Match[str], after: int) -> bool:
        rest = (line.lstrip() for line in self._lines[after : after + 3])
        following = next((line for line in rest if line), "")
        return not match["rest"] and match["kind"][:1].isupper() and bool(_NAMED.match(following))

    def _own(self, name: str, shape: str) -> None:
        if self._stack:
            self._stack[-1].parameters[name] = size_of(shape)

    def _has_own_tensors(self, arguments: str) -> bool:
        """If a line has the arguments of the open module, add its tensors and return True; otherwise return False.

        PyTorch prints the arguments of a module with children on a separate line. Examples are Linear layers with LoRA
        matrices from older releases of PEFT, and layers of other libraries. Layers of other libraries have the tensors
        of a Linear layer under any class name.
        """
        module = self._stack[-1]
        if module.children:
            return False
        tensors = tensors_of(module.kind, arguments)
        if (tensors is None or not tensors.shapes) and _OF_LINEAR.match(arguments):
            tensors = tensors_of("Linear", arguments)
            module.is_assumed = True
        if tensors is None or not tensors.shapes:
            return False
        module.parameters.update(tensors.shapes)
        return True

    def _add(self, match: re.Match[str], indent: int) -> None:
        while self._indented and len(self._stack) > 1 and self._stack[-1].indent >= indent:
            self._pop()
        parent = self._stack[-1]
        if self._prose:
            self._left_out.append(parent.path)
            self._prose = []
        self._count += 1
        name, copies = match["name"], int(match["copies"] or 1)
        path = f"{parent.path}.{name}" if parent.path else name
        arguments, closed = _arguments(match["rest"])
        if not match["rest"] and len(self._stack) < _DEEPEST:
            self._stack.append(_Open(name, match["kind"], copies, indent, path))
            return
        module = _leaf(match["kind"], arguments if closed else match["rest"])
        parent.children.append((name, copies, module))

    def _close(self, closers: int, indent: int) -> Iterator[PrintedTree]:
        if self._prose:
            self._left_out.append(self._stack[-1].path)
            self._prose = []
        while self._indented and len(self._stack) > 1 and self._stack[-1].indent > indent:
            self._pop()
        for _closer in range(min(closers, len(self._stack))):
            if len(self._stack) == 1:
                if not self._headless:
                    yield from self._end(closed=True)
                return
            self._pop()

    def _pop(self) -> None:
        closed = self._stack.pop()
        self._stack[-1].children.append((closed.name, closed.copies, self._module(closed)))

    def _end(self, *, closed: bool = False) -> Iterator[PrintedTree]:
        if not self._stack:
            return
        cut = () if closed or self._headless else (self._stack[-1].path,)
        while len(self._stack) > 1:
            self._pop()
        root = self._module(self._stack.pop())
        if self._count > 1 or self._headless:
            left_out = tuple(dict.fromkeys(self._left_out))
            yield PrintedTree(root, self._count, left_out, cut, tuple(self._filled), self._headless)
        self._begin("")

    def _module(self, closed: _Open) -> Module:
        numbered = [_RANGE.fullmatch(name) for name, _copies, _child in closed.children]
        layers = [
            (int(number[1]), int(number[2] or number[1]) - int(number[1]) + 1, child)
            for number, (_name, _copies, child) in zip(numbered, closed.children, strict=True)
            if number
        ]
        if layers and len(layers) == len(closed.children):
            return folded(closed.kind, self._without_gaps(layers, closed.path))
        module = PrintedModule(closed.kind, "")
        module.children = {}
        for name, _copies, child in closed.children:
            module.children.setdefault(name, child)
        _set_magnitudes(module.children)
        if module.children.keys() >= _OF_PROMPTS:
            module.children["word_embeddings"].parameters = {}  # PEFT repeats the base model's table
        weights = [child.parameters.get("weight") for child in module.children.values()]
        if closed.is_assumed and closed.parameters.get("weight") in weights:
            closed.parameters = {}  # a wrapper prints the sizes of its inner layer, but has no tensors itself
        module.parameters = {**closed.parameters, **_of_attention(closed.kind, module.children)}
        module.known = bool(closed.children or closed.parameters) or closed.kind in ("ModuleList", "Sequential")
        return module

    def _without_gaps(self, layers: Sequence[LayerRun], path: str) -> Iterator[LayerRun]:
        """Yield the layers. Fill each gap in their numbers with copies of the layer before the gap."""
        end = 0
        before: Module | None = None
        for start, copies, layer in layers:
            if start < end or copies < 1:
                continue
            if start > end and before is not None:
                self._filled.append(path)
                yield end, start - end, before
            yield start, copies, layer
            end, before = start + copies, layer


def _set_magnitudes(children: Mapping[str, Module]) -> None:
    """Set the sizes of PEFT's DoRA vectors, which ``print`` does not show: one entry per row of the wrapped matrix."""
    base, magnitudes = children.get("base_layer"), children.get("lora_magnitude_vector")
    if base is None or magnitudes is None or base.class_name != "Linear" or "weight" not in base.parameters:
        return
    for magnitude in magnitudes.children.values():
        if isinstance(magnitude, PrintedModule) and magnitude.class_name.endswith("DoraLinearLayer"):
            magnitude.parameters, magnitude.known = {"weight": base.parameters["weight"][:1]}, True


_OF_PROMPTS = {"base_model", "prompt_encoder", "word_embeddings"}  # children of PEFT's model with virtual tokens


def _is_reindented(lines: Sequence[str]) -> bool:
    """Whether an editor gave modules the same indentation as the modules around them.

    Only parentheses then show the nesting. A printed model that is cut off can also have equal indentations, but it has
    fewer closing than opening parentheses.
    """
    printed = [line for line in lines if _MODULE.match(line.lstrip()) or _ENDS.fullmatch(line.strip())]
    is_flat = any(
        line.endswith("(") and _NAMED.match(following.lstrip()) and _indent(line) == _indent(following)
        for line, following in pairwise(printed)
    )
    return is_flat and sum(line.count("(") for line in printed) == sum(line.count(")") for line in printed)


def _of_attention(kind: str, children: Mapping[str, Module]) -> dict[str, Shape]:
    """Return the tensors of PyTorch's MultiheadAttention that ``print`` does not show: fused query, key and value."""
    output = children.get("out_proj") if kind == "MultiheadAttention" else None
    if output is None or "weight" not in output.parameters:
        return {}
    width = output.parameters["weight"][0]
    return {"in_proj_weight": (3 * width, width), "in_proj_bias": (3 * width,)}


def _leaf(kind: str, arguments: str) -> PrintedModule:
    module = PrintedModule(kind, arguments)
    tensors = tensors_of(kind, arguments)
    module.known = tensors is not None
    if tensors:
        module.parameters, module.unsure = tensors.shapes, tensors.unsure
    return module


def _arguments(rest: str) -> tuple[str, bool]:
    """Return the arguments before a module's closing parenthesis, and whether this parenthesis is present."""
    depth = 1
    for at, sign in enumerate(rest):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return rest[:at], True
    return rest, False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: Sequence[str], at: int) -> _Line:
    """Return the line with this number, joined with the next lines if it was wrapped."""
    first = lines[at]
    text, end = first.strip(), at + 1
    if not (text.startswith("(") or _MODULE.match(text)) or _is_prose(text):
        return _Line(_indent(first), text, end)
    whole, joined = text, end
    for number in range(end, min(end + _MOST_JOINED, len(lines))):
        following = lines[number].strip()
        if not following or _NAMED.match(following) or is_fence(following) or _is_whole(whole, following):
            break
        whole, joined = whole + following, number + 1
        if _is_balanced(whole):
            return _Line(_indent(first), _COMMA.sub(", ", whole), number + 1)
    match = _MODULE.match(whole)
    if whole != text and match and not match["rest"]:  # the line was wrapped between a name and its parenthesis
        return _Line(_indent(first), whole, joined)
    return _Line(_indent(first), text, end)


def _is_prose(text: str) -> bool:
    """Whether a text begins with a parenthesis but is not a module."""
    return text.startswith("(") and ")" in text and not _NAMED.match(text)


def _is_balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and bool(_MODULE.match(text))


def _is_whole(text: str, following: str) -> bool:
    """Whether a text is the whole line of a module and does not continue on the following line."""
    if _is_balanced(text):
        return True
    match = _MODULE.match(text)
    return bool(match and not match["rest"] and not _GOES_ON.match(following))
