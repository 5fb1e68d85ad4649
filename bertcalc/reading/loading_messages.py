"""Read the messages that PyTorch and transformers print when the weights of a file do not fit a model.

>>> print(read_loading("size mismatch for fc.bias: copying a param with shape torch.Size([2]) from checkpoint, the "
...     "shape in current model is torch.Size([3])."))
Read as: a message about loading weights. It lists only some tensors, so it does not show how many parameters there are.
fc.bias: (2,) in the checkpoint, (3,) in the model.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bertcalc.reading.plain_lines import without_ansi
from bertcalc.reading.text_reading import TextReading
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem, wrong

_SIZES = r"[\[(](?P<{}>[0-9, ]{{0,90}})[\])]"
_FILE, _MODEL = _SIZES.format("file"), _SIZES.format("model")
# The tensors with two shapes: in load_state_dict of PyTorch, in a warning of transformers, and in its table.
_MISMATCHES = (
    rf"size mismatch for (?P<name>[\w.]{{1,200}}): copying a param with shape torch\.Size\({_FILE}\) from checkpoint, "
    rf"the shape in current model is torch\.Size\({_MODEL}\)",
    rf"(?P<name>[\w.]{{1,200}}): found shape torch\.Size\({_FILE}\) in the checkpoint and torch\.Size\({_MODEL}\)",
    rf"(?P<name>[\w.{{}}]{{1,200}}) {{0,200}}\| {{0,9}}MISMATCH {{0,9}}\|[^\n]{{0,80}}ckpt: ?"
    rf"(?:torch\.Size\()?{_FILE}\)? vs model: ?(?:torch\.Size\()?{_MODEL}",
)
_NAMES = r"(?P<names>(?:[\s,]{0,9}[\"'][\w.]{1,200}[\"'])+)"
_MISSING = (
    rf"Missing key\(s\) in state_dict:{_NAMES}",
    rf"not initialized from the (?:\w+ )?model checkpoint at [^\[\]]{{1,400}}newly initialized: \[{_NAMES}",
    rf"missing_keys=\[{_NAMES}",
)
_UNEXPECTED = (
    rf"Unexpected key\(s\) in state_dict:{_NAMES}",
    rf"were not used when initializing [^\[\]]{{1,200}}\[{_NAMES}",
    rf"unexpected_keys=\[{_NAMES}",
)
_ROW = r"^ {{0,9}}(?P<names>[\w.{{}}]{{1,200}}(?:[0-9, ]{{1,90}}\}}[\w.]{{1,200}})?) {{0,200}}\| {{0,9}}{} {{0,9}}\|"
_MISMATCH, _OF_MODEL, _OF_FILE = (
    tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)
    for patterns in (
        _MISMATCHES,
        (*_MISSING, _ROW.format("MISSING")),
        (*_UNEXPECTED, _ROW.format("UNEXPECTED")),
    )
)
_CLASS = re.compile(
    r"loading state_dict for (\w{1,80})|Some weights of (?!the )(\w{1,80}) were|when initializing (\w{1,80})"
    r"|(\w{1,80}) LOAD REPORT"
)
_NAME = re.compile(r"[\w.]+(?:\{[0-9., ]+\}[\w.]+)*")
_MOST_SHOWN = 6
_READ = 100_000  # maximum number of characters that are searched
_SIGNS = (
    *("size mismatch for", "found shape", "key(s) in state_dict", "newly initialized", "when initializing"),
    *("missing_keys=", "unexpected_keys=", "MISMATCH", "MISSING", "UNEXPECTED"),
)


class _Message(NamedTuple):
    """What a message says: tensors with two shapes (name, in the file, in the model), and those of one side only."""

    mismatches: tuple[tuple[str, str, str], ...] = ()
    of_model: tuple[str, ...] = ()
    of_file: tuple[str, ...] = ()


def is_loading_message(text: str) -> bool:
    """Whether a text has a message about weights that do not fit a model.

    >>> is_loading_message("_IncompatibleKeys(missing_keys=['pooler.dense.bias'], unexpected_keys=[])")
    True
    """
    return any(_message(text))


def without_messages(text: str) -> str:
    """Return a text without its messages about loading weights."""
    for pattern in (*_MISMATCH, *_OF_MODEL, *_OF_FILE):
        text = pattern.sub(" ", text)
    return text


def _message(text: str) -> _Message:
    plain = without_ansi(text[:_READ])
    if not any(sign in plain for sign in _SIGNS):
        return _Message()
    mismatches = (match for pattern in _MISMATCH for match in pattern.finditer(plain))
    return _Message(
        tuple(dict.fromkeys((match["name"], _shape(match["file"]), _shape(match["model"])) for match in mismatches)),
        *(
            tuple(
                dict.fromkeys(
                    name
                    for pattern in patterns
                    for match in pattern.finditer(plain)
                    for name in _NAME.findall(match["names"])
                )
            )
            for patterns in (_OF_MODEL, _OF_FILE)
        ),
    )


def _shape(sizes: str) -> str:
    """Write a shape as Python does.

    >>> _shape("2, 768"), _shape("2")
    ('(2, 768)', '(2,)')
    """
    return f"{tuple(map(int, re.findall('[0-9]+', sizes)))}"


def read_loading(text: str) -> TextReading:
    """Read a message about loading weights: the tensors in which file and model differ. The result has no count.

    Raises InputError if there is no such message.
    """
    message = _message(text)
    if not any(message):
        raise wrong(N_("This text contains no message about loading weights, such as a size mismatch."))
    cls = next((name for match in _CLASS.finditer(text) for name in match.groups() if name), "")
    sentence = Problem.of(_OF_CLASS, architecture=cls) if cls else Problem.of(_OF_NO_CLASS)
    return TextReading("loading-message", sentence, notes=tuple(_notes(message)))


_OF_NO_CLASS = N_(
    "Read as: a message about loading weights. It lists only some tensors, so it does not show how many parameters "
    "there are."
)
_OF_CLASS = N_(
    "Read as: a message about loading weights into {architecture}. It lists only some tensors, so it does not show how "
    "many parameters there are."
)


def _notes(message: _Message) -> Iterator[Problem]:
    for name, file, model in message.mismatches[:_MOST_SHOWN]:
        yield Problem.of(_TWO_SHAPES, name=shorten(name), file=file, model=model)
    if more := len(message.mismatches[_MOST_SHOWN:]):
        yield Problem.of(N_("Further tensors with different shapes: {count}."), count=more)
    if prefix := _prefix(message.of_file, message.of_model):
        yield Problem.of(_PREFIX_OF_FILE, prefix=prefix)
    elif prefix := _prefix(message.of_model, message.of_file):
        yield Problem.of(_PREFIX_OF_MODEL, prefix=prefix)
    for sentence, names in ((_ONLY_MODEL, message.of_model), (_ONLY_FILE, message.of_file)):
        if names:
            yield Problem.of(sentence, count=sum(map(_tensors, names)), names=_listed(names))


def _tensors(name: str) -> int:
    """The number of tensors that a name stands for; transformers 5 joins the numbers of layers.

    >>> _tensors("layer.{0...11}.bias"), _tensors("layer.{0, 2}.bias"), _tensors("pooler.bias")
    (12, 2, 1)
    """
    count = 1
    for group in _GROUP.finditer(name):
        first, last = group["first"], group["last"]
        count *= int(last) - int(first) + 1 if last else group[0].count(",") + 1
    return count


_GROUP = re.compile(r"\{(?P<first>[0-9]{1,4})(?:\.\.\.(?P<last>[0-9]{1,4})|(?:, ?[0-9]{1,4}){1,500})\}")
_TWO_SHAPES = N_("{name}: {file} in the checkpoint, {model} in the model.")
_ONLY_MODEL = N_("Tensors that only the model has, which are not loaded: {count} ({names}).")
_ONLY_FILE = N_("Tensors that only the checkpoint has, which are ignored: {count} ({names}).")
_PREFIX_OF_FILE = N_('The names differ by a prefix: those of the checkpoint begin with "{prefix}".')
_PREFIX_OF_MODEL = N_('The names differ by a prefix: those of the model begin with "{prefix}".')


def _prefix(longer: Iterable[str], shorter: Iterable[str]) -> str:
    """Return the prefix that most of ``longer`` have before names in ``shorter``; empty if there is none.

    >>> _prefix(["bert.pooler.dense.weight", "bert.pooler.dense.bias"], ["pooler.dense.weight", "pooler.dense.bias"])
    'bert.'
    """
    names, others = list(longer), set(shorter)
    first = names[0].partition(".")[0] + "." if names else ""
    alike = sum(name.startswith(first) and name.removeprefix(first) in others for name in names)
    return first if others and 2 * alike > len(names) else ""


def _listed(names: tuple[str, ...]) -> str:
    listed = ", ".join(map(shorten, names[:_MOST_SHOWN]))
    return f"{listed}, ..." if names[_MOST_SHOWN:] else listed
