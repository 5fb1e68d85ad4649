"""A cache of operations on the meta device: PyTorch is asked once for those that are alike, as in equal layers.

The result of an operation on tensors without numbers follows from their shapes. PyTorch works it out in Python, which
takes longer than the rest of a forward pass.
"""

from collections.abc import Callable, Mapping
from typing import Any


class Kernels:
    """Returns what PyTorch returns for operations, as far as tensors without numbers can tell."""

    def __init__(self) -> None:
        self._known: dict[Any, Callable[[Any], Any]] = {}

    def __call__(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Return new tensors, or the first argument where the operation changes that in place."""
        key = (func, _alike(args, func), _alike(tuple(sorted(kwargs.items())), func))
        if key in self._known:
            return self._known[key](args)
        result = func(*args, **kwargs)
        if again := _again(func, result, args, kwargs):
            self._known[key] = again
        return result


def _alike(given: Any, func: Any) -> Any:
    """A key that is equal for arguments with which an operation gives tensors of the same shapes and types."""
    import torch

    if isinstance(given, torch.Tensor):  # a tensor with numbers equals no other
        return (given.shape, given.stride(), given.dtype) if given.is_meta else object()
    if isinstance(given, list | tuple):
        return tuple(_alike(each, func) for each in given)
    is_any = torch.Tag.pointwise in func.tags and isinstance(given, int | float)
    return (type(given), None if is_any else given)


def _again(func: Any, result: Any, args: Any, kwargs: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    """A function that makes such a result again; None for a view, and for a result with numbers."""
    import torch
    from torch.utils._pytree import tree_leaves

    if torch.Tag.inplace_view in func.tags:
        return None
    if args and result is args[0]:
        return lambda given: given[0]
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(each, torch.Tensor) and each.is_meta for each in results):
        return None
    kinds = [(each.shape, each.stride(), each.dtype) for each in results]
    several = isinstance(result, tuple)

    def again(_given: Any) -> Any:
        new = [torch.empty_strided(*sizes, dtype=dtype, device="meta") for *sizes, dtype in kinds]
        return tuple(new) if several else new[0]

    def storages(tensors: Any) -> list[Any]:
        return [each.untyped_storage() for each in tensors if isinstance(each, torch.Tensor)]

    taken = {each._cdata for each in storages(tree_leaves((args, dict(kwargs))))}
    here, there = storages(results), storages(again(args) if several else [again(args)])
    is_new = len({each._cdata for each in here} - taken) == len(here)
    same = [each.nbytes() for each in here] == [each.nbytes() for each in there]
    return again if is_new and same else None
