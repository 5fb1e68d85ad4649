"""Expressions in Hugging Face's field names, written with letters, as people do: 4H² + 9H; and as Python."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from bertcalc.config.fields import EVERY_LETTER
from bertcalc.discover.results.components import Group, groups
from bertcalc.discover.results.conditions import COMPARED, Condition
from bertcalc.discover.results.result import Discovered, exact

_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# Other names of the fields that have a letter on the other pages; the last step of a path counts.
_ALSO = {
    "hidden_size": ("n_embd", "d_model", "dim", "emb_dim"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "depth", "encoder_layers", "decoder_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads"),
    "intermediate_size": ("d_ff", "n_inner", "ffn_dim", "hidden_dim", "encoder_ffn_dim", "decoder_ffn_dim"),
    "max_position_embeddings": ("n_positions",),
}
_USUAL = {other: EVERY_LETTER[field] for field, others in _ALSO.items() for other in (field, *others)} | {
    "vocab_size": "V",
    "type_vocab_size": "T",
    "num_labels": "C",
    "embedding_size": "E",
    "head_dim": "D",
    "d_kv": "D",
    "num_key_value_heads": "K",
    "moe_intermediate_size": "M",
}
# No I and O, which look like numbers, and no B and S, which are the batch size and the sequence length.
_LETTERS = "ACDEFGHJKLMNPQRTUVWXYZ" + "αβγδεζηθκλμνξπρστφχψω"


def letters(found: Discovered) -> dict[str, str]:
    """A letter for each field: that of the other pages, an initial of its name, another letter of it, or any other."""
    used = {name.name for one in found.tensors for name in one.expression.free_symbols}
    fields = sorted(found.fields, key=lambda field: field not in used)
    chosen: dict[str, str] = {}
    for field in fields:
        usual = _USUAL.get(field.rpartition(".")[2], "")
        if usual and usual not in chosen.values():
            chosen[field] = usual
    for field in fields:
        if field not in chosen:
            words = re.findall("[A-Z]+", field.rpartition(".")[2].upper())
            telling = [word for word in words if word not in ("NUM", "N", "SIZE")]
            wanted = [word[0] for word in telling] + [*"".join(telling)]
            left = [each for each in (*wanted, *_LETTERS) if each not in chosen.values() and each in _LETTERS]
            chosen[field] = left[0] if left else field
    return {field: chosen[field] for field in found.fields}


def usual_names(found: Discovered) -> dict[str, str]:
    """BERT's names for the fields, such as hidden_size for n_embd; fields that would share a name keep their own."""
    usual = {other: field for field, others in _ALSO.items() for other in others}
    said = {field: usual.get(field, field) for field in found.fields}
    times = Counter(said.values())
    return {field: name if times[name] == 1 else field for field, name in said.items()}


def names(found: Discovered) -> dict[str, str]:
    """Short names of the fields: the last step of the path, with its configuration where that is not unique."""
    last = {field: field.rpartition(".")[2] for field in found.fields}
    times = Counter(last.values())
    return {field: name if times[name] == 1 else field.replace("_config.", " ") for field, name in last.items()}


def text(expression: Any, said: Mapping[str, str], *, product: bool = False) -> str:
    """An expression with the text of each field in ``said``; ``product`` puts a dot between factors: 12 · 768²."""
    if expression.is_Add:
        written = ""
        terms = sorted(expression.as_ordered_terms(), key=_is_negative)  # L − F, not −F + L
        for term in terms:
            minus = _is_negative(term)
            one = text(-term if minus else term, said, product=product)
            written += (" − " if minus else " + " if written else "") + one
        return written.strip() if not written.startswith(" − ") else "−" + written[3:]
    if expression.is_Mul:
        return _product(expression, said, product=product)
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        return _bracketed(expression.base, said, product=product) + f"{expression.exp}".translate(_POWERS)
    if expression.is_Symbol:
        return said[expression.name]
    if expression.is_Integer:
        return f"{int(expression):,}".replace("-", "−")
    if expression.is_Rational:
        return f"{expression.p}/{expression.q}"
    inside = [text(part, said, product=product) for part in expression.args]
    if isinstance(expression, sympy.floor | sympy.ceiling):
        return ("⌊{}⌋" if isinstance(expression, sympy.floor) else "⌈{}⌉").format(inside[0])
    if isinstance(expression, sympy.Min | sympy.Max):
        return f"{type(expression).__name__.lower()}({', '.join(sorted(inside))})"
    return str(expression)


def _is_negative(term: Any) -> bool:
    return bool(term.as_coeff_Mul()[0] < 0)


def _product(expression: Any, said: Mapping[str, str], *, product: bool) -> str:
    above, below = sympy.fraction(expression)
    if below != 1:
        return f"{_bracketed(above, said, product=product)}/{_bracketed(below, said, product=product)}"
    number, rest = expression.as_coeff_Mul()
    factors = sorted(rest.as_ordered_factors(), key=lambda each: (each.is_Add, not each.is_Symbol and not each.is_Pow))
    named = [_bracketed(each, said, product=product) for each in factors]
    minus = "−" if number < 0 else ""
    digits = [] if abs(number) == 1 else [text(abs(number), said)]
    return minus + (" · " if product else "").join([*digits, *named])


def _bracketed(expression: Any, said: Mapping[str, str], *, product: bool) -> str:
    written = text(expression, said, product=product)
    return f"({written})" if expression.is_Add else written


def numbers(values: Mapping[str, int]) -> dict[str, str]:
    """The values of fields as texts, to be put into an expression."""
    return {name: f"{value:,}" for name, value in values.items()}


def latex(expression: Any, said: Mapping[str, str]) -> str:
    """An expression as LaTeX, with letters, or with the names of the fields."""
    named = {each: _name_in_latex(said[each.name]) for each in expression.free_symbols}
    written: str = sympy.latex(expression, symbol_names=named)
    return written


def _name_in_latex(name: str) -> str:
    if len(name) == 1:
        return str(sympy.latex(sympy.Symbol(name if name.isascii() else unicodedata.name(name).split()[-1].lower())))
    return rf"\mathtt{{{re.sub(r'([_&%#$])', lambda sign: chr(92) + sign[1], name)}}}"


def function(found: Discovered) -> str:
    """A Python program with one function that counts the parameters, with the given sizes as defaults.

    It has one line for each number of copies, and asserts the regime first.
    """
    names = {field: identifier(field) for field in found.fields}
    arguments = ", ".join(f"{names[field]}={value}" for field, value in found.fields.items())
    lines = [
        f'"""The parameters of {found.cls} ({found.model_type}), found with bertcalc and transformers '
        f'{found.transformers}."""',
        "",
        "",
        f"def parameters({arguments}):",
        *(
            f"    # {names[field]} is {factor} times {names.get(other, other)}"
            for field, (other, factor) in found.follows.items()
        ),
        *(f"    assert {_condition(each, names)}, {str(each)!r}" for each in found.regime),
        "    return (",
        *(
            f"        {'+ ' if at else ''}{_python(group.copies, names, tight=True)} * ({_one(group, names)})"
            for at, group in enumerate(groups(found.tensors, found.fields))
        ),
        "    )",
        "",
        "",
        f"assert parameters() == {found.parameters}",
        "print(parameters())",
        "",
    ]
    return "\n".join(lines)


def identifier(field: str) -> str:
    """A field's path as a Python identifier."""
    return re.sub(r"\W+", "_", field).strip("_")


def _condition(condition: Condition, names: Mapping[str, str]) -> str:
    here = names[condition.field]
    other = names[condition.other] if isinstance(condition.other, str) else f"{condition.other}"
    if condition.kind == "multiple":
        return f"{here} % {other} == 0"
    if condition.kind in ("is", "share"):
        above, below = condition.factor.as_integer_ratio()
        return f"{here if below == 1 else f'{below} * {here}'} == {other if above == 1 else f'{above} * {other}'}"
    return f"{here} {COMPARED[condition.kind][0]} {other}"


def _python(expression: Any, names: Mapping[str, str], *, tight: bool = False) -> str:
    """An expression as Python with integers alone: rounding is a division with //."""
    if expression.is_Symbol:
        return names[expression.name]
    if expression.is_Integer:
        return f"{int(expression)}"
    if isinstance(expression, sympy.floor | sympy.ceiling):
        above, below = sympy.fraction(sympy.together(expression.args[0]))
        top, bottom = _inside(above, names), _inside(below, names)
        return f"({top} // {bottom})" if isinstance(expression, sympy.floor) else f"(-(-{top} // {bottom}))"
    if isinstance(expression, sympy.Min | sympy.Max):
        inside = ", ".join(_python(part, names) for part in expression.args)
        return f"{type(expression).__name__.lower()}({inside})"
    above, below = sympy.fraction(sympy.together(expression))
    if below != 1:  # all at once: single terms need not be whole
        return f"({_inside(above, names)} // {_inside(below, names)})"
    if expression.is_Add:
        terms = sorted(expression.as_ordered_terms(), key=_is_negative)
        written = " + ".join(_python(term, names) for term in terms).replace("+ -", "- ")
        return f"({written})" if tight else written
    if expression.is_Pow:
        return f"{_python(expression.base, names, tight=True)}**{int(expression.exp)}"
    if expression.is_Mul:
        number, rest = expression.as_coeff_Mul()
        if number == -1:
            return f"-{_python(rest, names, tight=True)}"
        return "*".join(_python(factor, names, tight=True) for factor in expression.as_ordered_factors())
    raise ValueError(f"no way to write {expression}")


def _inside(expression: Any, names: Mapping[str, str]) -> str:
    written = _python(expression, names)
    return written if expression.is_Symbol or expression.is_Integer else f"({written})"


def _one(group: Group, names: Mapping[str, str]) -> str:
    """The elements of one copy; sides with fractions are divided one by one, as each is whole by itself."""
    if sympy.fraction(sympy.together(group.one))[1] == 1:
        return _python(group.one, names)
    return " + ".join("*".join(_python(side, names, tight=True) for side in each.shape) for each in group.tensors)


def value(expression: Any, values: Mapping[str, int]) -> int:
    """The value of an expression, which is whole."""
    return int(exact(expression, values))


def shape_numbers(shape: Sequence[Any], values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(value(side, values) for side in shape)
