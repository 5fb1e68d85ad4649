"""Check a hand count term by term: the part that each line counts, whether it is right, and what is missing.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.diagnosis.count_lines import read
>>> report = check(build(BertConfig()), BertConfig(), read("pooler = H*H", BertConfig()))
>>> [[cause.miscount for cause in verdict.explanation or ()] for verdict in report.verdicts]
[['pooler bias']]
>>> judge(read("Softmax: 0", BertConfig())[0], build(BertConfig()), BertConfig()).kind
'no parameters'
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Literal, NamedTuple

from bertcalc.config import Config, letters
from bertcalc.diagnosis.count_lines import TypedLine, shape_in
from bertcalc.diagnosis.explain import (
    MOST_MISCOUNTS,
    Explanation,
    causes,
    is_chance,
    is_ruled_out,
    likeliest,
    search,
)
from bertcalc.diagnosis.layer_parts import (
    PARTS,
    SPECIFIC,
    USUAL,
    WHOLE_MODEL,
    WHOLE_OR_BODY,
    Counted,
    Layers,
    of_layers,
    parts_of,
    table_called,
)
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from bertcalc.diagnosis.tensor_filter import in_layer, is_bias
from bertcalc.diagnosis.tensor_names import LAYER_NUMBER, no_tensor, other_shape, tensors_called
from bertcalc.model.inventory import inventory, named
from bertcalc.model.model import Model
from bertcalc.model.modules import Component, Tensor
from bertcalc.model.totals import COMPONENTS
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.text.problem import Problem

# What a line counts: parameters; modules, such as 37 for Dropout; a size, such as H = 768; an operation without
# parameters; a total of the lines above it; or, as a step, one layer or head that a later line multiplies.
Kind = Literal["parameters", "modules", "size", "no parameters", "total", "step"]


class LineVerdict(NamedTuple):
    """A line of a hand count, the part that it probably counts, and its miscounts.

    ``counted`` is None if no part of the model fits. ``explanation`` is empty if the line is right, and None if no
    miscounts explain it. ``also`` are other parts with the same count that the line may mean.

    A total is not a term. It claims to be the sum of the lines above it. In the first line, it claims to be the sum of
    all lines. ``above`` is the actual sum of these lines.
    """

    line: TypedLine
    counted: Counted | None
    explanation: Explanation | None
    kind: Kind = "parameters"
    also: tuple[Counted, ...] = ()
    above: Fraction | None = None

    @property
    def is_right(self) -> bool:
        """Whether the calculation of the line is right. Its written result may still be wrong: see ``line.problem``."""
        return self.explanation == ()

    @property
    def is_sum(self) -> bool:
        """Whether the line is the sum of the lines above it."""
        return self.above is not None and self.line.means(int(self.above))

    @property
    def is_term(self) -> bool:
        """Whether the line is a term of the sum."""
        return self.kind == "parameters"


class Gap(NamedTuple):
    """Tensors of a component that no line counts. If ``parameters`` is negative, lines count these tensors twice."""

    component: Component
    names: tuple[str, ...]
    parameters: int

    def in_words(self) -> Problem:
        """Return a sentence with the first three tensors' names and the parameters of all tensors."""
        names = ", ".join(self.names[:3]) + (" ..." if len(self.names) > 3 else "")
        message = N_("Not counted: {names} ({count} parameters).")
        if self.parameters < 0:
            message = N_("Counted twice: {names} ({count} parameters).")
        return Problem.of(message, names=names, count=abs(self.parameters))


class TermsReport(NamedTuple):
    """The verdicts on all lines, the gaps, the sum of the typed terms, and the right sum.

    The right sum is the model's parameter count: the right counts of the terms plus the gaps. If no line is a term,
    both sums are 0 and there are no gaps. If the total is computed from other lines, it is the typed sum.
    """

    verdicts: tuple[LineVerdict, ...]
    gaps: tuple[Gap, ...]
    typed: Fraction
    right: int


class _CountedModel(NamedTuple):
    model: Model
    tensors: tuple[Tensor, ...]
    sizes: MiscountSizes

    @classmethod
    def of(cls, model: Model, config: Config) -> "_CountedModel":
        return cls(model, counted(model), MiscountSizes.of(config))


@checked
def judge(line: TypedLine, model: Model, config: Config) -> LineVerdict:
    """Return the verdict on a single line of a hand count."""
    return _judged([line], _CountedModel.of(model, config))[0]


@checked
def check(model: Model, config: Config, lines: Sequence[TypedLine]) -> TermsReport:
    """Return a report on the part and the mistakes of each line, and on the tensors that no line counts."""
    count = _CountedModel.of(model, config)
    verdicts = [_of_whole(verdict, count) for verdict in _judged(lines, count)]
    if not any(verdict.is_term for verdict in verdicts):
        return TermsReport(tuple(verdicts), (), Fraction(0), 0)
    if whole := next((verdict.line.value for verdict in verdicts if _is_computed_total(verdict)), None):
        return TermsReport(tuple(verdicts), (), whole, total(count.tensors))
    typed = sum((verdict.line.value or Fraction(0) for verdict in verdicts if verdict.is_term), Fraction(0))
    gaps = tuple(_gaps(count.tensors, _open(count.tensors, verdicts)))
    return TermsReport(tuple(verdicts), gaps, typed, total(count.tensors))


def names_part(line: TypedLine, model: Model) -> bool:
    """Whether a line has a value, and its name means a part of the model or a tensor, but not the whole model.

    >>> from bertcalc import BertConfig, build
    >>> from bertcalc.diagnosis.count_lines import read
    >>> [names_part(line, build(BertConfig())) for line in read("pooler: 590,592; total: 109,482,240", BertConfig())]
    [True, False]
    """
    name, count = _last_part(line.name), _CountedModel.of(model, model.final_config)
    is_named = bool(set(_called(name)) - set(WHOLE_OR_BODY) or _ONE_HEAD.search(name))
    is_named = is_named or bool(tensors_called(name, model, count.tensors)) or any(_of_path(name, count))
    return is_named and bool(line.value)


def _judged(lines: Sequence[TypedLine], count: _CountedModel) -> list[LineVerdict]:
    walk = any(line.times or _is_of_other_layers(line) for line in lines)
    walk = walk or _multiplies_layer(lines, count.model.config.num_hidden_layers)
    verdicts = _verdicts(lines, count, walk=walk)
    if not walk and any(map(_goes_through_one_layer, verdicts)) and not any(map(_is_of_all_layers, verdicts)):
        verdicts = _verdicts(lines, count, walk=True)
    return list(_with_sums(_with_steps(list(_with_biases_apart(verdicts, count)))))


def _of_whole(verdict: LineVerdict, count: _CountedModel) -> LineVerdict:
    """Try to explain a count of the whole model with more miscounts than a term may have.

    Verdicts that are already explained, or not about the whole model, are returned unchanged.
    """
    whole, value = verdict.counted, verdict.line.exact
    is_open = verdict.explanation is None and not verdict.is_sum
    if not is_open or value is None or whole is None or whole.part != WHOLE_MODEL:
        return verdict
    miscounts = likeliest(whole.tensors, count.sizes, value)
    return verdict._replace(explanation=causes(whole.tensors, count.sizes, miscounts)) if miscounts else verdict


def _verdicts(lines: Sequence[TypedLine], count: _CountedModel, *, walk: bool) -> list[LineVerdict]:
    """Return the verdict on each line.

    ``walk`` means that the hand count goes through one layer and then multiplies, so a line may count one layer.
    """
    open_elements = _elements(count.tensors)
    verdicts: list[LineVerdict] = []
    for line in lines:
        right = set().union(*map(_names, verdicts))
        line = _multiplied(line, verdicts) if line.times else line
        verdict = _verdict(line, count, open_elements, right, walk=walk)
        if len(lines) > 1 and _is_total(verdict, verdicts):
            verdict = verdict._replace(kind="total")
        verdicts.append(verdict)
        open_elements = _open(count.tensors, verdicts)
    return verdicts


def _multiplied(line: TypedLine, above: Sequence[LineVerdict]) -> TypedLine:
    """Set the value of a line such as "x 12 layers": 12 times the sum of the lines about layers directly above it.

    If there are no such lines, the line is returned unchanged.
    """
    layer = Fraction(0)
    for verdict in reversed(above):
        value, part = verdict.line.value, verdict.counted
        if not verdict.is_term or value is None or (part and not any("*" in tensor.name for tensor in part.tensors)):
            break
        layer += value
    return line._replace(value=line.times * layer, problem=None) if layer else line


def _elements(tensors: Sequence[Tensor]) -> dict[str, int]:
    return {tensor.name: tensor.num_parameters() for tensor in tensors}


def _open(tensors: Sequence[Tensor], verdicts: Sequence[LineVerdict]) -> dict[str, int]:
    """Map each tensor's name to the number of elements that no line counts; negative if lines count it twice."""
    left = _elements(tensors)
    for verdict in verdicts:
        for tensor in verdict.counted.tensors if verdict.counted and verdict.is_term else ():
            left[tensor.name] -= tensor.num_parameters()
    return left


def _is_total(verdict: LineVerdict, before: Sequence[LineVerdict]) -> bool:
    """Whether a line is not a term but a sum: the total, or a subtotal of the lines directly above it."""
    called = set(_called(_last_part(verdict.line.name)))
    is_counted_whole = verdict.counted is not None and verdict.counted.part == WHOLE_MODEL
    if called == {WHOLE_MODEL} or (called == set(WHOLE_OR_BODY) and is_counted_whole):
        return True
    named = _TOTAL.search(verdict.line.name)
    summed, names = Fraction(0), _names(verdict)
    for number, term in enumerate(reversed([term for term in before if term.is_term]), 1):
        summed += term.line.value or Fraction(0)
        if not named and not (_names(term) and _names(term) <= names):
            return False
        if number > 1 and verdict.line.value is not None and abs(summed - verdict.line.value) <= verdict.line.reach:
            return True
    return False


def _is_computed_total(verdict: LineVerdict) -> bool:
    """Whether a line computes the total from the lines above it: total = embeddings + 12 * layer."""
    return verdict.kind == "total" and verdict.line.uses_others


def _names(verdict: LineVerdict) -> set[str]:
    """Return the names of the tensors that a line counts; none if the line is wrong."""
    return {tensor.name for tensor in verdict.counted.tensors} if verdict.counted and verdict.is_right else set()


def _with_sums(verdicts: Sequence[LineVerdict]) -> Iterator[LineVerdict]:
    """Set the sum of the lines above each total. A wrong total that equals this sum is not an additional mistake.

    If a total is about one layer or head, the sum is taken over its steps, which a later line multiplies. A total in
    the first line is the sum of all lines.
    """
    all_terms = sum((verdict.line.value or Fraction(0) for verdict in verdicts if verdict.is_term), Fraction(0))
    terms = parts = Fraction(0)
    for number, verdict in enumerate(verdicts):
        if verdict.kind == "total":
            is_of_one = verdict.counted is not None and "one" in (verdict.counted.layers, verdict.counted.heads)
            above = parts if is_of_one and parts else terms if number else all_terms
            faithful = not verdict.is_right and verdict.line.means(int(above))
            yield verdict._replace(above=above, explanation=None if faithful else verdict.explanation)
        else:
            terms += verdict.line.value or Fraction(0) if verdict.is_term else Fraction(0)
            parts += verdict.line.value or Fraction(0) if verdict.kind == "step" else Fraction(0)
            yield verdict


_TOTAL = re.compile(r"\b(sub)?total|\bsum\b|合计|小计|加起来|总|共(?!享)", re.I)


def _with_steps(verdicts: Sequence[LineVerdict]) -> list[LineVerdict]:
    """Turn a line about one layer or head into a step if a later line counts all layers or heads."""

    def is_step(first: Counted, second: Counted) -> bool:
        wider = first.layers == "one" and second.layers == "all" and any(tensor.copies > 1 for tensor in second.tensors)
        wider = wider or (first.heads == "one" and second.heads == "all" and second.layers in (first.layers, "all"))
        return wider and {tensor.name for tensor in first.tensors} <= {tensor.name for tensor in second.tensors}

    marked = []
    for number, verdict in enumerate(verdicts):
        later = [term.counted for term in verdicts[number + 1 :] if term.counted and term.is_term]
        multiplied = verdict.is_term and verdict.counted and any(is_step(verdict.counted, part) for part in later)
        marked.append(verdict._replace(kind="step") if multiplied else verdict)
    return marked


def _with_biases_apart(verdicts: Sequence[LineVerdict], count: _CountedModel) -> Iterator[LineVerdict]:
    """Accept a line without biases as right if other lines count these biases."""
    apart = {
        (tensor.name, verdict.counted.layers)
        for verdict in verdicts
        if verdict.is_right and verdict.counted and all(map(is_bias, verdict.counted.tensors))
        for tensor in verdict.counted.tensors
    }
    for verdict in verdicts:
        if verdict.is_term and verdict.counted and verdict.explanation:
            after: Sequence[Tensor] = verdict.counted.tensors
            for cause in verdict.explanation:
                after = MISCOUNTS[cause.miscount].make(after, count.sizes)
            left_out = [tensor for tensor in verdict.counted.tensors if tensor not in after and tensor.num_parameters()]
            if set(after) <= set(verdict.counted.tensors) and all(
                (tensor.name, verdict.counted.layers) in apart for tensor in left_out
            ):
                weights = verdict.counted._replace(part=verdict.line.name, tensors=tuple(after))
                yield verdict._replace(counted=_as_part(weights, count), explanation=())
                continue
        yield verdict


def _as_part(part: Counted, count: _CountedModel) -> Counted:
    """Return the model's part with the same tensors as ``part``, or else ``part`` itself."""
    elements = {tensor for tensor in part.tensors if tensor.num_parameters()}
    same = (
        same_part
        for same_part in parts_of(count.tensors, count.sizes)
        if {tensor for tensor in same_part.tensors if tensor.num_parameters()} == elements
    )
    return next(same, part)


def _is_of_other_layers(line: TypedLine) -> bool:
    """Whether a line's name means "the other layers", which implies that the lines before it are about one layer."""
    return bool(
        re.search(r"(other|rest|remain|more|same|repeat).*(layer|block)|(其余|其他|剩余|另外).*层", line.name, re.I)
    )


def _multiplies_layer(lines: Sequence[TypedLine], layers: int) -> bool:
    """Whether a line is the number of layers times the sum of the lines directly above it.

    These lines are then about one layer.
    """
    for number, line in enumerate(lines):
        above = 0
        for term in reversed(lines[:number]):
            if term.exact is None:
                break
            above += term.exact
            if above and layers > 1 and line.exact == layers * above:
                return True
    return False


def _goes_through_one_layer(verdict: LineVerdict) -> bool:
    """Whether the explanation of a line is that it counts one layer instead of all."""
    once = ("attention once", "feed-forward once", "encoder once")
    return any(cause.miscount in once for cause in verdict.explanation or ())


def _is_of_all_layers(verdict: LineVerdict) -> bool:
    """Whether a line counts a part in all layers of a model with several layers."""
    part = verdict.counted
    return (
        part is not None
        and part.layers == "all"
        and verdict.is_term
        and verdict.explanation is not None
        and not _goes_through_one_layer(verdict)
        and any("*" in tensor.name and tensor.copies > 1 for tensor in part.tensors)
    )


def _verdict(
    line: TypedLine,
    count: _CountedModel,
    open_elements: Mapping[str, int],
    counted_right: Collection[str],
    *,
    walk: bool,
) -> LineVerdict:
    if line.value is None or (line.exact is None and not line.reach):
        return LineVerdict(line, None, None)
    name = _last_part(line.name)
    if not line.value and _has_no_parameters(name, count):
        return LineVerdict(line, None, (), "no parameters")
    tensors = tensors_called(name, count.model, count.tensors)
    if tensors == ():
        return LineVerdict(line._replace(problem=no_tensor(name, count.model)), None, None)
    called = [] if tensors and set(tensors) <= set(count.tensors) else _called(name)
    size = line.exact in _sizes_called(name, count.model.config)
    if size and (len(name) > 1 or not called):  # a letter may also name a part: V is the value matrix
        return LineVerdict(line, None, (), "size")
    candidates = _candidates(name, called, count)
    if line.value and _is_lacking(name, called, candidates):
        meant = [part for part in candidates if _is_specific(part, name)]
        return _wrong(line, count, meant, counted_right, called=True, walk=walk)
    is_named = bool(called or (candidates and candidates[0].part not in PARTS))
    if line.value and not is_named and _OPERATIONS.search(name) and not _has_modules(line, count):
        return LineVerdict(line, None, None, "no parameters")
    right = _right_parts(line, name, called, candidates, count)
    if tensors and (written := shape_in(line.text)) and (problem := other_shape(name, written, tensors)):
        right = [part for part in right or candidates if part.layers == "one"] or right or candidates
        return LineVerdict(line._replace(problem=problem), right[0] if right else None, None)
    if right:
        right = _uncounted_first(right, count, open_elements)
        return LineVerdict(line, right[0], (), also=tuple(_also(right, open_elements)) if not called else ())
    if line.times and (right := [part for part in _candidates("", [], count) if line.means(part.right) and part.right]):
        return LineVerdict(line, right[0], ())  # "x 12 layers" multiplies only the lines above it
    if size:
        return LineVerdict(line, None, (), "size")
    if _has_modules(line, count):
        return LineVerdict(line, None, (), "modules")
    if not is_named and _NO_PARAMETERS.search(name):
        return LineVerdict(line, None, None, "no parameters")
    if not line.value and not is_named:
        return LineVerdict(line, None, None)
    return _wrong(line, count, _meant(name, candidates), counted_right, called=is_named, walk=walk)


def _right_parts(
    line: TypedLine, name: str, called: Sequence[str], candidates: Sequence[Counted], count: _CountedModel
) -> list[Counted]:
    """Return the parts that a line may mean and whose count it states."""
    if summed := next((part for part in _sums(name, count) if line.means(part.right) and part.right), None):
        return [_as_part(summed, count)]
    if right := [_as_part(part, count) for part in _weights_or_biases(name, count) if line.means(part.right)]:
        return right
    is_named = called or (candidates and candidates[0].part not in PARTS)
    if right := [part for part in candidates if line.means(part.right) and (part.right or is_named)]:
        return right
    # Totals are published with fewer digits than terms: 110M, 340M.
    wholes = [part for part in candidates if part.part in WHOLE_OR_BODY and called]
    return [part for part in wholes if line.means_roughly(part.right)]


def _uncounted_first(parts: Sequence[Counted], count: _CountedModel, open_elements: Mapping[str, int]) -> list[Counted]:
    """Sort parts of the same size: first those that no line has counted yet, such as the second of two LayerNorms.

    Next come parts of modules that lines have begun to count, such as the bias after its weight.
    """
    whole = _elements(count.tensors)
    begun = {name.rpartition(".")[0] for name, left in open_elements.items() if left != whole[name]}

    def order(part: Counted) -> tuple[bool, bool]:
        names = [tensor.name for tensor in part.tensors]
        is_counted = any(open_elements[name] != whole[name] for name in names)
        return is_counted, not begun.issuperset(name.rpartition(".")[0] for name in names)

    return sorted(parts, key=order)


def _wrong(
    line: TypedLine,
    count: _CountedModel,
    meant: Sequence[Counted],
    counted_right: Collection[str],
    *,
    called: bool,
    walk: bool,
) -> LineVerdict:
    """Explain a line that is right for no part by the likeliest miscounts of a part that it may mean.

    Miscounts that change tensors in ``counted_right`` are less likely, because other lines count them correctly.
    """
    of_one_head = [part for part in meant if part.heads == "one" and part.layers == "one"]
    whole = [part for part in meant if part.layers == "all" and part.heads == "all"]
    whole = whole or [part for part in meant if part.part not in PARTS]
    usual = [part for part in whole if part.part in USUAL] or whole
    if of_one_head and _ONE_HEAD.search(line.name):
        usual = of_one_head
    names = {part.part for part in usual}
    single = [part for part in meant if part.layers == "one" and part.heads == "all" and part.part in names]
    if single and _ONE_LAYER.search(f"{line.name} {line.text}"):
        usual = single
    options = [[*single, *usual] if walk else usual]
    may_be_single = called or not line.name
    if may_be_single and not walk and count.sizes.hidden_size >= _TINY and usual is not of_one_head:
        # A line that is wrong for all layers may be about one layer. The word "layers" by itself means all layers.
        options.append([part for part in single if part.part != "layers" or not line.name])
    if not line.name:
        options.append([part for part in meant if part.part in _ALONE and part.heads == "all"])
    verdicts = [_likeliest(line, parts, count, counted_right, called=called) for parts in options]
    found = sorted(filter(None, verdicts), key=_has_other_layers)
    verdict = found[0] if found else None
    if called and (verdict is None or len(verdict.explanation or ()) > 1):
        # A single mistake in a part that the name seldom means is likelier than two in the usual part.
        others = [part for part in meant if not any(map(in_layer, part.tensors))]
        verdict = _likeliest(line, others, count, counted_right, called=False) or verdict
    near = [*reversed(usual), *(single if usual is not of_one_head else ())]
    return verdict or LineVerdict(line, _nearest(line, near) if called else None, None)


_ALONE = ("embeddings", "query, key and value")  # parts that users count by themselves, without a name


def _nearest(line: TypedLine, parts: Sequence[Counted]) -> Counted | None:
    """Return the part whose count has the smallest ratio to a line's value; None if there are no parts."""

    def ratio(part: Counted) -> Fraction:
        low, high = sorted((Fraction(part.right), line.value or Fraction(0)))
        return high / low if low else high

    return min(parts, key=ratio, default=None)


def single_mistakes(part: Counted, config: Config, count: int) -> list[Explanation]:
    """Return the single mistakes that lead from a part's tensors to a count, the likeliest first."""
    sizes = MiscountSizes.of(config)
    ways = search(part.tensors, sizes, _MOST_BITS).combinations(count)
    return [causes(part.tensors, sizes, way.miscounts) for way in ways if len(way.miscounts) == 1]


def _has_other_layers(verdict: LineVerdict) -> bool:
    """Whether an explanation assumes a different number of layers, which is rare in a count of one part."""
    return any(cause.miscount.startswith("L=") for cause in verdict.explanation or ())


def _likeliest(
    line: TypedLine, parts: Sequence[Counted], count: _CountedModel, counted_right: Collection[str], *, called: bool
) -> LineVerdict | None:
    """Return the verdict with the likeliest miscounts that lead to a line's value; None if no miscounts do."""
    # If the name does not say which part is meant, only a single miscount is a reliable explanation.
    most = MOST_MISCOUNTS if called else 1
    tiny = count.sizes.hidden_size < _TINY
    rarest = _MOST_BITS if line.exact is not None else _MOST_OF_ROUNDED
    low, high = line.bounds
    explained = [
        (combination.bits + _RULED_OUT * ruled_out, number, part, combination)
        for number, part in enumerate(parts)
        for among in [search(part.tensors, count.sizes, _MOST_BITS)]
        for value in among.near(low, high, rarest)
        for combination in among.combinations(value)[:_MOST_ALIKE]
        for ruled_out in [is_ruled_out(part.tensors, count.sizes, combination.miscounts, counted_right)]
        if 0 < len(combination.miscounts) <= most
        and all(_is_possible(miscount, count) for miscount in combination.miscounts)
        and combination.bits <= rarest
        and ((called and not tiny) or not is_chance(value, among.right, combination.bits))
    ]
    if not explained:
        return None
    _bits, _number, part, combination = min(explained, key=lambda candidate: candidate[:2])
    return LineVerdict(line, part, causes(part.tensors, count.sizes, combination.miscounts))


def _is_possible(miscount: str, count: _CountedModel) -> bool:
    """Whether a miscount can be made in this model: only ALBERT's layers can be counted as if they were not shared.

    A part of one layer or head looks like a part that all layers or heads share.
    """
    return MISCOUNTS[miscount].make(count.tensors, count.sizes) != count.tensors


_ONE_LAYER = re.compile(
    r"\b(?:one|per|each|every|a|single)\b.?(?:encoder |decoder |transformer )?(?:layer|block)"
    r"|[单每一]个?(?:编码器|解码器|(?:encoder|transformer) ?)?层",
    re.I,
)
_ONE_HEAD = re.compile(
    r"\b(?:one|per|each|every|a|an|single)\b.?(?:(?:self-?)?attention )?head|[每一单]个?(?:注意力|自注意力)?头", re.I
)
# Maximum bits of an explanation. _MOST_BITS is less than MOST_BITS in explain.py, because one term has fewer mistakes
# than a whole count. Only a common mistake, of at most _MOST_OF_ROUNDED bits, can explain a rounded number.
_MOST_BITS, _MOST_OF_ROUNDED = 9.0, 4.0
# Maximum number of explanations that are compared for a number, and the bits that are added to an explanation if it
# contradicts other lines.
_MOST_ALIKE, _RULED_OUT = 3, 3.0
_TINY = 8  # below this hidden size, some mistake explains nearly every number
# Operations that hand counts list although they have no parameters.
_OPERATIONS = re.compile(r"softmax|dropout|\b[a-z]*elu\b|tanh|residual|\brope\b|rotary|残差", re.I)
_NO_PARAMETERS = re.compile(
    rf"{_OPERATIONS.pattern}|activation|\badd\b|\binput|scores?\b|context|non.?trainable|激活|输入|不可训练", re.I
)


def _has_no_parameters(name: str, count: _CountedModel) -> bool:
    kinds = [group for group in inventory(count.model) if group.name.lower() in name.lower()]
    if kinds:
        return all(group.parameters == 0 for group in kinds)
    trained = "activation" in name.lower() and any(tensor.place.role == "activation" for tensor in count.tensors)
    return bool(_NO_PARAMETERS.search(name)) and not trained


def _also(right: Sequence[Counted], open_elements: Mapping[str, int]) -> Iterator[Counted]:
    """Yield the other parts with the right count that share no tensors and that no line has counted yet."""
    names = {tensor.name for tensor in right[0].tensors}
    for part in right[1:]:
        uncounted = {tensor.name for tensor in part.tensors if tensor.num_parameters()}
        if not uncounted & names and all(
            open_elements[tensor.name] >= tensor.num_parameters() for tensor in part.tensors
        ):
            names |= uncounted
            yield part


def _last_part(name: str) -> str:
    """Return a line's name after its last colon, without the model or heading before it."""
    last = re.split("[:：]", name)[-1].strip(" `'\"")
    return last or name


def _called(name: str) -> list[str]:
    """Return the parts that a name can mean, specific parts first."""
    if not name:
        return []
    specific = [part for part, pattern in SPECIFIC.items() if re.search(pattern, name, re.I)]
    called = [part for part, (_of, pattern) in PARTS.items() if re.search(pattern, name, re.I)]
    if not specific and (table := table_called(name)):
        called = [part for part in called if part == table or "embeddings" not in part]
    return list(dict.fromkeys((*specific, *called)))


def _candidates(name: str, called: Sequence[str], count: _CountedModel) -> list[Counted]:
    """Return the tensors, modules and parts that a line's name may mean. If it means none, return all parts.

    If the name is a path, such as encoder.layer.0 or c_proj, the tensors at this path come first.
    """
    paths = list(_of_path(name, count))
    parts = list(parts_of(count.tensors, count.sizes, called or (() if paths else PARTS)))
    if called and not re.search("head|头", name, re.I):
        parts = [part for part in parts if part.heads == "all" or part.layers == "one"]
    if _ONE_HEAD.search(name):
        parts = [part for part in parts if part.heads == "one"] or parts
    specific = [part for part in parts if _is_specific(part, name)]
    parts = [*specific, *(part for part in parts if part not in specific)]
    return [*paths, *parts] if re.search(r"[._]", name) else [*parts, *paths]


_WEIGHT = re.compile(
    r"(?:\b|_)(?:weights?|matri(?:x|ces)|kernels?)\b(?:\s+of\b(?:\s+the\b)?)?|权重(?:矩阵)?|矩阵", re.I
)
_BIAS = re.compile(r"(?:\b|_)bias(?:es)?\b(?:\s+of\b(?:\s+the\b)?)?|偏置", re.I)
_DETAIL = re.compile(r"out|norm|\bln|proj|dense|inter|quer|key|val|输出|归一|投影|查询|键|值|中间", re.I)


def _weights_or_biases(name: str, count: _CountedModel) -> Iterator[Counted]:
    """Yield the weights or the biases that a name such as "query bias" means."""
    kinds = [kind for kind in (_WEIGHT, _BIAS) if kind.search(name)]
    if len(kinds) != 1 or re.search(r"[.+&]|\b(?:with|and|incl|no|excl|w/o)|含|和|加", name, re.I):
        return
    biases = kinds == [_BIAS]
    rest = kinds[0].sub(" ", name).strip(" _-")
    called = _called(rest)
    specific = [part for part, pattern in SPECIFIC.items() if part not in called and re.search(pattern, name, re.I)]
    if specific and not _DETAIL.search(rest):
        return  # "attention weights" means all parameters of the attention
    for part in _candidates(rest, called, count) if rest else ():
        if part.part in PARTS and part.part not in called:
            continue
        ending = [tensor for tensor in part.tensors if tensor.name.endswith(("bias", "bias)")) == biases]
        of_linears = [tensor for tensor in ending if is_bias(tensor) or len(tensor.shape) == 2]
        for tensors in (of_linears, ending):
            if tensors:
                yield part._replace(part=name, tensors=tuple(tensors))


def _is_lacking(name: str, called: Sequence[str], candidates: Sequence[Counted]) -> bool:
    """Whether a name means specific parts that the model does not have, such as a gate in BERT."""
    if candidates and candidates[0].part not in PARTS:
        return False
    meant = [part for part in called if part in SPECIFIC and re.search(SPECIFIC[part], name, re.I)]
    meant = [part for part in meant if re.search(PARTS[part][1], name, re.I)]
    return bool(meant) and not any(part.right for part in candidates if part.part in meant)


def _is_specific(part: Counted, name: str) -> bool:
    return part.part in SPECIFIC and bool(re.search(SPECIFIC[part.part], name, re.I))


def _meant(name: str, candidates: Sequence[Counted]) -> Sequence[Counted]:
    """Return the candidates that fit a name best: tensors at its path, or else specific parts, or else all."""
    if candidates and candidates[0].part not in PARTS:
        return [part for part in candidates if part.part == candidates[0].part]
    return [part for part in candidates if _is_specific(part, name)] or candidates


_NUMBER = re.compile(rf"(?<=\w)\.{LAYER_NUMBER}(?=\.|$)")  # a letter alone is no layer: E = V*H


def _of_path(name: str, count: _CountedModel) -> Iterator[Counted]:
    """Yield the tensors at a path that PyTorch prints, or at the end of such a path: in all layers, then in one layer.

    If the path contains a layer number, only the tensors of one layer are selected.
    """
    if exact := tuple(tensor for tensor in count.tensors if tensor.name == name):
        yield Counted(name, exact)
        return
    path = name.strip("`'\" ")
    if f"{path.lower()}." == count.model.body_prefix:  # the body in a model with a head
        names = {tensor.name for tensor in count.model.body().tensors()}
        yield Counted(
            name, tuple(tensor for tensor in count.tensors if count.model.without_prefix(tensor.name) in names)
        )
        return
    if not re.fullmatch(r"[\w.*{}\[\]]+", path):
        return
    pieces = path.removeprefix(count.model.body_prefix).split(".")
    for start in range(len(pieces)):
        if parts := list(_at(".".join(pieces[start:]), path, count.tensors)):
            yield from parts
            return


def _at(path: str, name: str, tensors: Sequence[Tensor]) -> Iterator[Counted]:
    """Yield the tensors whose names contain a path as whole components.

    If there are none, a path with a dot or an underscore may also match parts of components.
    """
    folded = _NUMBER.sub(".*", f".{path}")[1:]
    numbers = re.findall(r"(?<=\.)[0-9]+(?=\.|$)", f".{path}")
    for within in (path, folded):
        inside = [tensor for tensor in tensors if f".{within.lower()}." in f".{tensor.name.lower()}."]
        if inside:
            break
    if not inside and re.search(r"[._]", path):
        inside = [tensor for tensor in tensors if path.lower() in tensor.name.lower()]
    selected = tuple(inside)
    if not selected:
        return
    single = tuple(of_layers(selected, "one"))
    if numbers and within == folded and single:
        yield Counted(name, single, "one")
        return
    ends = {f".{tensor.name.lower()}.".partition(f".{within.lower()}.")[0] for tensor in selected}
    groups = [selected]
    for end in sorted(ends) if len(ends) > 1 else ():  # c_proj means attn.c_proj and mlp.c_proj
        start = f"{end}.{within.lower()}."
        groups.append(tuple(tensor for tensor in selected if f".{tensor.name.lower()}.".startswith(start)))
    layers: tuple[Layers, Layers] = ("all", "one")
    for group in groups:
        for of in layers:
            if part := group if of == "all" else tuple(of_layers(group, "one")):
                yield Counted(name, part, of)


_AND = re.compile(r"\s*(?:[+&,，、/]|\band\b|\bplus\b|和|与|及|加)\s*")
_MOST_SUMS = 1000


def _sums(name: str, count: _CountedModel) -> Iterator[Counted]:
    """Yield the sums that a name such as "QKV + O" may mean: one part for each piece, in the same layers and heads."""
    pieces = [piece for piece in _AND.split(name) if piece]
    candidates = [_candidates(piece, called, count) for piece in pieces if (called := _called(piece)) or "_" in piece]
    if len(pieces) < 2 or len(candidates) < len(pieces):
        return
    for place in dict.fromkeys((part.layers, part.heads) for part in candidates[0]):
        within = [[part for part in parts if (part.layers, part.heads) == place] for parts in candidates]
        for combination in islice(product(*within), _MOST_SUMS):
            tensors = tuple(dict.fromkeys(tensor for part in combination for tensor in part.tensors))
            yield Counted(name, tensors, *place)


# Maps names of sizes in papers and other libraries to letters. Letters and Hugging Face's field names are accepted too.
_LETTERS = {
    **dict.fromkeys(("d", "d_model", "dim", "hidden_dim", "emb_dim", "隐藏层维度", "隐藏维度"), "H"),
    **dict.fromkeys(("d_ff", "dff", "ffn_dim", "d_inner", "n_inner"), "I"),
    **dict.fromkeys(("layers", "n_layers", "n_layer", "num_layers", "depth", "层数"), "L"),
    **dict.fromkeys(("heads", "n_heads", "n_head", "num_heads", "头数", "注意力头数"), "A"),
    **dict.fromkeys(("seq_len", "max_len", "max_length", "max_seq_len", "sequence_length", "最大长度"), "P"),
    **dict.fromkeys(("vocabulary", "vocab", "n_vocab", "词表", "词表大小", "词汇表大小"), "V"),
}


def _sizes_called(name: str, config: Config) -> set[int]:
    """Return the sizes that a name means: a letter or a field's name, with or without num_ and _size."""
    key = re.sub(r"[\s-]+", "_", name.strip().lower())
    name = _LETTERS.get(key, name)
    values = {**config.shared(), **vars(config)}
    sizes = [values.get(field) for field in (key, f"num_{key}", f"{key}_size", f"num_attention_{key}")]
    if key in ("head_dim", "d_k", "d_v", "d_head", "head_size", "size_per_head"):
        sizes.append(config.attention_head_size)
    return {size for size in (*sizes, letters(config).get(name)) if isinstance(size, int)}


def _has_modules(line: TypedLine, count: _CountedModel) -> bool:
    kinds = (*inventory(count.model), named(count.model, "dense"))
    return any(kind.name.lower() in line.name.lower() and kind.modules == line.exact for kind in kinds)


def _gaps(tensors: Sequence[Tensor], open_elements: Mapping[str, int]) -> Iterator[Gap]:
    """Yield the gaps of each component: missing tensors, then tensors that are counted too often."""
    for component in COMPONENTS:
        left = {tensor.name: open_elements[tensor.name] for tensor in tensors if tensor.place.component == component}
        for missing in (True, False):
            elements = {name: number for name, number in left.items() if number and (number > 0) == missing}
            if elements:
                yield Gap(component, tuple(elements), sum(elements.values()))
