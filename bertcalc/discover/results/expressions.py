"""Write SymPy expressions in field names as text with letters (4H² + 9H), as LaTeX, and as Python."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sympy

from bertcalc.config.fields import EVERY_LETTER
from bertcalc.discover.results.components import Group, groups
from bertcalc.discover.results.conditions import COMPARED, Condition
from bertcalc.discover.results.result import Discovered, exact
from bertcalc.model import formula_printers as printers
from bertcalc.model.formula_printers import python, quotient

# Names that other models use for BERT's fields. They are compared with the last part of a field's path, such as n_embd
# in text_config.n_embd.
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
# The letters to choose from, without I and O, which look like digits, and without B and S, which are the batch size and
# the sequence length.
_LETTERS = "ACDEFGHJKLMNPQRTUVWXYZ" + "αβγδεζηθκλμνξπρστφχψω"


def letters(discovery: Discovered) -> dict[str, str]:
    """Return a letter for each field: BERT's letter, or one from the field's name, or any unused letter.

    If no letter is left, the field's name takes its place.
    """
    used = {name.name for tensor in discovery.tensors for name in tensor.expression.free_symbols}
    fields = sorted(discovery.fields, key=lambda field: field not in used)
    chosen: dict[str, str] = {}
    for field in fields:
        usual = _USUAL.get(field.rpartition(".")[2], "")
        if usual and usual not in chosen.values():
            chosen[field] = usual
    for field in fields:
        if field not in chosen:
            words = re.findall("[A-Z]+", field.rpartition(".")[2].upper())
            meaningful = [word for word in words if word not in ("NUM", "N", "SIZE")]
            preferred = [word[0] for word in meaningful] + [*"".join(meaningful)]
            unused = [
                letter for letter in (*preferred, *_LETTERS) if letter not in chosen.values() and letter in _LETTERS
            ]
            chosen[field] = unused[0] if unused else field
    return {field: chosen[field] for field in discovery.fields}


def usual_names(discovery: Discovered) -> dict[str, str]:
    """Return BERT's name for each field, such as hidden_size for n_embd.

    Fields that would get the same name keep their own names.
    """
    usual = {other: field for field, others in _ALSO.items() for other in others}
    bert_names = {field: usual.get(field, field) for field in discovery.fields}
    times = Counter(bert_names.values())
    return {field: name if times[name] == 1 else field for field, name in bert_names.items()}


def names(discovery: Discovered) -> dict[str, str]:
    """Return a short name for each field: the last part of its path, preceded by its configuration if ambiguous."""
    last = {field: field.rpartition(".")[2] for field in discovery.fields}
    times = Counter(last.values())
    return {field: name if times[name] == 1 else field.replace("_config.", " ") for field, name in last.items()}


def text(expression: Any, texts: Mapping[str, str], *, product: bool = False) -> str:
    """Write an expression, with a letter or number from ``texts`` for each field.

    ``product`` puts dots between factors (12 · 768²).
    """
    return _text(expression, tuple(texts.items()), product)


@lru_cache(maxsize=2048)
def _text(expression: Any, texts: tuple[tuple[str, str], ...], product: bool) -> str:
    times = " · " if product else ""
    return printers.text(expression, dict(texts), times=times, minus="−", minus_last=True)


def factor_text(group: Group, texts: Mapping[str, str]) -> str:
    """Return the factor before a group's parentheses: 3L; "" for a single copy.

    ``texts`` has the letter or number of each field.
    """
    if group.copies == 1:
        return ""
    factor = text(group.copies, texts)
    return f"({factor})" if group.copies.is_Add else factor


def term_texts(group: Group, texts: Mapping[str, str]) -> list[str]:
    """Return the terms inside a group's parentheses; a negative term includes its sign.

    ``texts`` has the letter or number of each field.
    """
    return text(group.elements, texts).replace(" − ", " + −").split(" + ")


def has_brackets(group: Group, texts: Mapping[str, str]) -> bool:
    """Whether the formula for one copy needs parentheses: 3L(4H²), but 3LH."""
    terms = term_texts(group, texts)
    return bool(factor_text(group, texts)) and (len(terms) > 1 or not terms[0][0].isalpha())


def group_text(group: Group, texts: Mapping[str, str]) -> str:
    """Return the formula of a group: 3L(4H² + 9H).

    ``texts`` has the letter or number of each field.
    """
    factor, inside = factor_text(group, texts), " + ".join(term_texts(group, texts)).replace("+ −", "− ")
    return f"{factor}({inside})" if has_brackets(group, texts) else factor + inside


def latex(expression: Any, texts: Mapping[str, str]) -> str:
    """Write an expression as LaTeX; ``texts`` has the letter or name of each field."""
    named = {symbol: _name_in_latex(texts[symbol.name]) for symbol in expression.free_symbols}
    return printers.latex(expression, named)


def _name_in_latex(name: str) -> str:
    if len(name) == 1:
        return printers.latex(sympy.Symbol(name if name.isascii() else unicodedata.name(name).split()[-1].lower()))
    return rf"\mathtt{{{re.sub(r'([_&%#$])', lambda sign: chr(92) + sign[1], name)}}}"


def function(discovery: Discovered) -> str:
    """Return a Python program with a function that counts the parameters; the given sizes are the default arguments.

    The function first asserts the conditions of the regime. Its sum has one line for each number of copies.
    """
    names = {field: identifier(field) for field in discovery.fields}
    arguments = ", ".join(f"{names[field]}={value}" for field, value in discovery.fields.items())
    lines = [
        f'"""The parameters of {discovery.cls} ({discovery.model_type}), found with bertcalc and transformers '
        f'{discovery.transformers}."""',
        "",
        "",
        f"def parameters({arguments}):",
        *(
            f"    # {names[field]} is {factor} times {names.get(other, other)}"
            for field, (other, factor) in discovery.follows.items()
        ),
        *(f"    assert {_condition(condition, names)}, {str(condition)!r}" for condition in discovery.regime),
        "    return (",
        *(
            f"        {'+ ' if index else ''}{python(group.copies, names, tight=True)} * ({_elements(group, names)})"
            for index, group in enumerate(groups(discovery.tensors, discovery.fields))
        ),
        "    )",
        "",
        "",
        f"assert parameters() == {discovery.parameters}",
        "print(parameters())",
        "",
    ]
    return "\n".join(lines)


def identifier(field: str) -> str:
    """Convert a field's path to a Python identifier."""
    return re.sub(r"\W+", "_", field).strip("_")


def _condition(condition: Condition, names: Mapping[str, str]) -> str:
    name = names[condition.field]
    other = names[condition.other] if isinstance(condition.other, str) else f"{condition.other}"
    if condition.kind == "multiple":
        return f"{name} % {other} == 0"
    if condition.kind in ("is", "share"):
        above, below = condition.factor.as_integer_ratio()
        return f"{name if below == 1 else f'{below} * {name}'} == {other if above == 1 else f'{above} * {other}'}"
    return f"{name} {COMPARED[condition.kind][0]} {other}"


def _elements(group: Group, names: Mapping[str, str]) -> str:
    """Write the elements of one copy of a group.

    If they contain fractions, each dimension is divided separately, because each is a whole number.
    """
    if quotient(group.elements)[1] == 1:
        return python(group.elements, names)
    return " + ".join("*".join(python(side, names, tight=True) for side in tensor.shape) for tensor in group.tensors)


def value(expression: Any, values: Mapping[str, int]) -> int:
    """Return the value of an expression, which must be a whole number."""
    return int(exact(expression, values))


def shape_numbers(shape: Sequence[Any], values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(value(side, values) for side in shape)
