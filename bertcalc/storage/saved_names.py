"""The names under which save_pretrained stores tensors, if they differ from the model's."""

from collections.abc import Iterable, Mapping

from bertcalc.model.modules import Module
from bertcalc.storage.stored_tensors import StoredTensor, stored
from bertcalc.text import N_
from bertcalc.text.problem import wrong
from bertcalc.text.toml_tables import table_beside

_SCALARS = N_("transformers cannot save this model in this format, because it would have to join the scalars {name}.")


def saved(model: Module, dtype: str) -> list[StoredTensor]:
    """The tensors of the file that ``save_pretrained`` writes.

    >>> from bertcalc.model.model import build
    >>> next(tensor for tensor in saved(build("nomic-embed-text-v1.5"), "F32") if tensor.name.endswith("Wqkv.weight"))
    StoredTensor(name='encoder.layers.0.attn.Wqkv.weight', dtype='F32', shape=(2304, 768))
    """
    return renamed(model, stored(model, dtype))


def renamed(model: Module, tensors: Iterable[StoredTensor]) -> list[StoredTensor]:
    """Rename tensors of a model to the names in its file, and join tensors that the file stores as one tensor."""
    rules = table_beside(__file__).get(getattr(getattr(model, "family", None), "prefix", ""))
    if not rules:
        return list(tensors)
    joined = {part: whole for whole, parts in rules["joined"].items() for part in parts}
    together: dict[str, StoredTensor] = {}
    for tensor in tensors:
        name = _in_file(tensor.name, joined, rules["names"])
        if before := together.get(name):
            if not before.shape:
                raise wrong(_SCALARS, name=name)
            rows, *rest = before.shape
            tensor = StoredTensor(name, tensor.dtype, (rows + tensor.shape[0], *rest))
        together[name] = tensor._replace(name=name)
    return list(together.values())


def _in_file(name: str, joined: Mapping[str, str], names: Iterable[tuple[str, str]]) -> str:
    for part, whole in joined.items():
        name = name.replace(f"{part}.", f"{whole}.")
    for ours, theirs in names:
        name = name.replace(ours, theirs)
    return name
