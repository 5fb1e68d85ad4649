"""Words for the terms and letters of a parameter count's formula: the tensors by name, kind and shape."""

from collections.abc import Callable, Iterable

from bertcalc.model.modules import Shape, Tensor
from bertcalc.model.names import tensor_name
from bertcalc.model.terms import Term
from bertcalc.text import N_
from bertcalc.text.live_numbers import fill
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.numbers import unbroken
from pages.ui.widgets.tables import shape_text

# Maps a tensor's role to the meaning of its fixed size. The text for other roles is the tensor's name.
_FIXED: dict[str, str] = {"next sentence": N_("classes"), "activation": N_("activation"), "classifier": N_("score")}
_KINDS: dict[str, str] = {
    "norm": N_("γ and β"),
    "activation": N_("Learned parameters"),
    **dict.fromkeys(("word", "position", "token type", "distance"), N_("Table")),
}


def brace_of(term: Term) -> str:
    """The text under the brace of a term: its LayerNorm letters, or the meaning of a fixed size; otherwise empty."""
    if term.norm:
        return greek(term.tensors)
    place = term.tensors[0].place
    return _(_FIXED.get(place.role) or tensor_name(place)) if term.fixed else ""


def greek(norms: Iterable[Tensor]) -> str:
    """The Greek letters for the tensors of LayerNorms: "γ, β", or only "γ" if there are no biases."""
    return ", ".join(dict.fromkeys("β" if norm.name.endswith("bias") else "γ" for norm in norms))


def _name_of(tensor: Tensor) -> str:
    cross = tensor.place.block == "cross-attention"
    name = _(tensor_name(tensor.place))
    return _("{name} (cross-attention)").format(name=name) if cross else name


def lines_of(tensors: Iterable[Tensor], sizes_of: Callable[[Tensor], tuple[int, ...]]) -> list[str]:
    """Return a line for each group of tensors of the same kind and shape: "Biases: query, key, value, 3 × [768]".

    The shapes of ``tensors`` are symbolic; ``sizes_of`` returns a tensor's live shape.
    """
    alike: dict[tuple[str, Shape], list[Tensor]] = {}
    for tensor in tensors:
        alike.setdefault((_kind_of(tensor), tensor.shape), []).append(tensor)
    lines = []
    for (kind, _shape), group in alike.items():
        copies = f"{len(group)} × " if len(group) > 1 else ""
        shapes = unbroken(fill("{copies}[{shape}]", copies=copies, shape=shape_text(sizes_of(group[0]))))
        names = listed(dict.fromkeys(map(_name_of, group)))
        lines.append(fill(_("{kind}: {names}, {shapes}"), kind=_(kind), names=names, shapes=shapes))
    return lines


def _kind_of(tensor: Tensor) -> str:
    return _KINDS.get(tensor.place.role) or (N_("Biases") if tensor.name.endswith("bias") else N_("Weights"))
