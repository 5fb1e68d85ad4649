"""Cache operations on the meta device, so that PyTorch evaluates repeated ones, as in equal layers, only once.

The result of an operation on meta tensors depends only on their shapes and types. PyTorch computes it in Python, which
takes longer than the rest of a forward pass.
"""

from collections.abc import Callable, Mapping
from typing import Any


class Kernels:
    """Evaluates operations on meta tensors, from the cache where possible."""

    def __init__(self) -> None:
        self._results: dict[Any, Callable[[Any], Any]] = {}

    def __call__(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Return new tensors, or the first argument if the operation changes it in place."""
        key = (func, _alike(args, func), _alike(tuple(sorted(kwargs.items())), func))
        if key in self._results:
            return self._results[key](args)
        result = func(*args, **kwargs)
        if recreate := _recreator(func, result, args, kwargs):
            self._results[key] = recreate
        return result


def _alike(argument: Any, func: Any) -> Any:
    """A key that is equal for arguments with which an operation returns tensors of equal shapes and types."""
    import torch

    if isinstance(argument, torch.Tensor):  # a tensor with data never equals another
        return (argument.shape, argument.stride(), argument.dtype) if argument.is_meta else object()
    if isinstance(argument, list | tuple):
        return tuple(_alike(entry, func) for entry in argument)
    is_any = torch.Tag.pointwise in func.tags and isinstance(argument, int | float)
    return (type(argument), None if is_any else argument)


def _recreator(func: Any, result: Any, args: Any, kwargs: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    """A function that creates such a result again; None for views and for results with data."""
    import torch
    from torch.utils._pytree import tree_leaves

    if torch.Tag.inplace_view in func.tags:
        return None
    if args and result is args[0]:
        return lambda arguments: arguments[0]
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(tensor, torch.Tensor) and tensor.is_meta for tensor in results):
        return None
    kinds = [(tensor.shape, tensor.stride(), tensor.dtype) for tensor in results]
    several = isinstance(result, tuple)

    def recreate(_arguments: Any) -> Any:
        new = [torch.empty_strided(*sizes, dtype=dtype, device="meta") for *sizes, dtype in kinds]
        return tuple(new) if several else new[0]

    def storages(tensors: Any) -> list[Any]:
        return [tensor.untyped_storage() for tensor in tensors if isinstance(tensor, torch.Tensor)]

    taken = {storage._cdata for storage in storages(tree_leaves((args, dict(kwargs))))}
    originals, copies = storages(results), storages(recreate(args) if several else [recreate(args)])
    is_new = len({storage._cdata for storage in originals} - taken) == len(originals)
    same = [storage.nbytes() for storage in originals] == [storage.nbytes() for storage in copies]
    return recreate if is_new and same else None
