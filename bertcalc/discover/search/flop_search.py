"""Record the matrix products of a forward pass on the meta device, by name and shape, in the same form as tensors.

The product of an m x k and a k x n matrix has the shape (m, k, n). Batch dimensions and the positions of a convolution
come first. The number of multiply-adds is therefore the product of the dimensions, like the number of parameters of a
tensor, and the same search finds formulas for both.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from inspect import signature
from itertools import chain, islice
from math import prod
from threading import get_ident
from time import thread_time
from typing import Any, NamedTuple

from bertcalc.discover.results.result import Computed
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.search.build import NUMBER, Folded, Shape, build_model, not_built
from bertcalc.discover.search.config_integers import Recipe, is_config
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

_WITHOUT_NUMBERS = re.compile("meta|NotImplementedError|data-dependent", re.IGNORECASE)


class Kernels:
    """Evaluates operations on meta tensors and caches the results for repeated operations, as in equal layers.

    The result of an operation depends only on shapes and dtypes. Without this cache, PyTorch spends more time on these
    operations than on the rest of a forward pass.
    """

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
    """Return a key that is equal for arguments with which an operation returns tensors of equal shapes and dtypes."""
    import torch

    if isinstance(argument, torch.Tensor):  # a new object never equals another, so tensors with data are never cached
        return (argument.shape, argument.stride(), argument.dtype) if argument.is_meta else object()
    if isinstance(argument, list | tuple):
        return tuple(_alike(entry, func) for entry in argument)
    is_any = torch.Tag.pointwise in func.tags and isinstance(argument, int | float)
    return (type(argument), None if is_any else argument)


def _recreator(func: Any, result: Any, args: Any, kwargs: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    """Return a function that creates an equal result for equal arguments; None for views and for results with data."""
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


BATCH, LENGTH, CHOICES = "batch_size", "sequence_length", "num_choices"
# Some models read the values of a mask that they are given, others the values of a mask that they create. Tensors on
# the meta device have no values.
MASKS = (("attention_mask", "decoder_attention_mask"), (), ("decoder_attention_mask",), ("attention_mask",))
_SIZES = {BATCH: 3, LENGTH: 48}
_MOST_PRODUCTS = 100_000
_LONG = (333, 1_001)
# For the check of earlier formulas: the maximum number of sizes drawn, and the number of comparisons that suffice.
_DRAWN, _ENOUGH = 30, 6
_SHORT = 5.0  # seconds of CPU time after which long inputs are skipped
_COMPARED = 4  # number of whole passes to compare; the shape of each product is also checked when it is recorded
_TOO_FEW = Problem.of(N_("too few configurations could be compared with FlopCounterMode"))


class RecordedCall(NamedTuple):
    """A forward pass: the configuration, the sizes of the input, and the names of the masks in the input."""

    config: Any
    sizes: Mapping[str, int]
    masks: tuple[str, ...]


class Calls(Recipe):
    """A recipe for forward passes; its fields are the configuration's fields and the sizes of the input."""

    def __init__(self, recipe: Recipe, cls: Any, masks: tuple[str, ...]) -> None:
        self.recipe, self.masks = recipe, masks
        self.sizes = _SIZES | ({CHOICES: 2} if cls.__name__.endswith("ForMultipleChoice") else {})
        if taken := self.sizes.keys() & recipe.fields.keys():
            raise Refused.because(N_("The configuration already has a field named {field}."), field=min(taken))
        self.fields = self.sizes | recipe.fields
        self.follows = recipe.follows

    def changed(self, values: Mapping[str, Any]) -> RecordedCall:
        """Return the call with some sizes changed. Raises any exception of the configuration class."""
        sizes = {name: values.get(name, size) for name, size in self.sizes.items()}
        others = {name: value for name, value in values.items() if name not in sizes}
        return RecordedCall(self.recipe.changed(others), sizes, self.masks)


def matrix_products(cls: Any, call: RecordedCall, until: float) -> Folded:
    """Return the shapes of a forward pass's matrix products: folded name -> numbers -> shape.

    A folded name has * in place of numbers. It consists of the module and, unless it is one of PyTorch's modules, the
    line of code. The last number counts the products with this name in one module. Attention is eager. Experts are
    computed for each token separately. This takes as many multiply-adds as sorting tokens by expert, and does not
    depend on which experts are chosen. Raises Refused, or Ended when the time limit is reached.
    """
    recorder = _Recorder(until)
    _forward(cls, call, until, recorder.watching)
    by_name: Folded = {}
    for (name, line), shapes in recorder.shapes.items():
        numbers = tuple(int(number) for number in NUMBER.findall(name))
        folded = by_name.setdefault(f"{NUMBER.sub('*', name)}{f'({line})' if line else ''}.*", {})
        folded |= {(*numbers, index): shape for index, shape in enumerate(shapes)}
    return by_name


def count_flops(cls: Any, call: RecordedCall, until: float) -> int:
    """Return the FLOPs of a forward pass, as counted by PyTorch's FlopCounterMode."""
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    _forward(cls, call, until, lambda _model: counter)
    return int(counter.get_total_flops())


def forward_problem(recipe: Recipe, usual: Callable[[], Recipe], cls: Any, until: float) -> Problem | None:
    """Return the reason why a class can be built with these fields but not run.

    Returns None if the class runs, or if the reason is not known. Many classes never run on the meta device. A failure
    therefore counts only if the class runs with its ``usual`` fields, and if the meta device is not the cause.
    """
    lengths = (_SIZES[LENGTH], 8, 1)  # a model may have a maximum or a minimum length
    try:
        default = usual()
        masks = next((masks for masks in MASKS if _fails(default, cls, masks, lengths, until) is None), None)
        why = None if masks is None else _fails(recipe, cls, masks, lengths, until)
    except Ended:
        return None
    reason = why.values.get("reason", "") if why else ""
    return None if not reason or _WITHOUT_NUMBERS.search(reason) else why


def _fails(recipe: Recipe, cls: Any, masks: tuple[str, ...], lengths: Iterable[int], until: float) -> Problem | None:
    """Return the reason why a forward pass fails at each of these lengths; None if it runs at one of them."""
    why = None
    for length in lengths:
        try:
            _forward(cls, Calls(recipe, cls, masks).changed({LENGTH: length}), until, lambda _model: nullcontext())
        except Refused as error:
            why = why or error.problem
        else:
            return None
    return why


def compare_flops(cls: Any, lab: Any, compute: Computed, drawn: Iterable[Mapping[str, int]]) -> Problem | None:
    """Compare formulas with PyTorch's FlopCounterMode at ``drawn`` sizes. Return the problem, or None if they agree."""
    compared = 0
    for values in drawn:
        try:
            wrong = _difference(cls, lab, compute, lab.build(values).values)
        except Ended:
            raise
        except InputError:
            continue
        compared += 1
        if wrong or compared == _COMPARED:
            return wrong
    return _TOO_FEW


def still_agree(cls: Any, lab: Any, compute: Computed, drawn: Iterable[Mapping[str, int]]) -> Problem | None:
    """Compare earlier formulas with PyTorch's FlopCounterMode. Return the problem, or None if they agree.

    Long inputs come after the ``drawn`` sizes. They are skipped if time is short, as for recurrent models, which run
    one step per token.
    """
    start, compared = thread_time(), 0
    for values in chain(islice(drawn, _DRAWN), ({LENGTH: length} for length in _LONG)):
        if compared >= _ENOUGH and (len(values) > 1 or thread_time() - start > _SHORT):
            continue
        try:
            wrong = _difference(cls, lab, compute, compute.completed(**values))
        except Ended:
            if compared < _COMPARED:
                raise
            break
        except InputError:
            continue
        if wrong:
            return wrong
        compared += 1
        if thread_time() > lab.until:
            break
    return None if compared >= _COMPARED else _TOO_FEW


def _difference(cls: Any, lab: Any, compute: Computed, sizes: Mapping[str, int]) -> Problem | None:
    """Return the difference between the formulas and FlopCounterMode at these sizes; None if they agree.

    Raises InputError outside the regime, or if transformers does not build the model.
    """
    changes = {name: size for name, size in sizes.items() if size != lab.sizes.get(name, size)}
    predicted = 2 * compute.count(**{name: sizes[name] for name in compute.fields})
    measured = count_flops(cls, lab.config(changes), lab.until)
    if measured == predicted:
        return None
    return Problem.of(
        N_("FlopCounterMode counts {there}, but the formula gives {here}"), there=measured, here=predicted
    )


def _forward(
    cls: Any, call: RecordedCall, until: float, watching: Callable[[Any], AbstractContextManager[Any]]
) -> None:
    """Build the model and run a forward pass inside the context manager that ``watching`` returns."""
    import torch

    _plain(call.config)
    model = build_model(cls, call.config, until).eval()
    inputs = _inputs(cls, call)
    try:
        with torch.no_grad(), torch.device("meta"), watching(model):
            model(**inputs)
    except (Refused, Ended):
        raise
    except Exception as error:  # transformers raises exceptions of all types
        values = not_built(error).problem.values
        raise Refused.because(N_("its forward pass cannot run on the meta device: {reason}"), **values) from None


def _plain(config: Any) -> None:
    """Select eager attention, experts per token, and no key/value cache, also in nested configurations."""
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"
    for configuration in (config, *filter(is_config, vars(config).values())):
        if getattr(configuration, "use_cache", False):
            configuration.use_cache = False


def _inputs(cls: Any, call: RecordedCall) -> dict[str, Any]:
    """Return the inputs of a call, without padding; a decoder gets as many tokens as its encoder."""
    import torch

    sizes = (BATCH, CHOICES, LENGTH) if CHOICES in call.sizes else (BATCH, LENGTH)
    shape = tuple(call.sizes[name] for name in sizes)
    taken = signature(cls.forward).parameters
    wanted = ["input_ids", *call.masks]
    if getattr(call.config, "is_encoder_decoder", False):
        wanted.append("decoder_input_ids")
    names = [name for name in wanted if name in taken]
    if "input_ids" not in names:
        raise Refused.because(N_("its forward pass takes no token ids"))
    return {name: torch.ones(shape, dtype=torch.long, device="meta") for name in names}


class _Recorder:
    """Records matrix products and the modules in which they run."""

    def __init__(self, until: float) -> None:
        from torch.utils.flop_counter import flop_registry

        self.shapes: dict[tuple[str, int], list[Shape]] = {}
        self._until, self._counted = until, flop_registry
        self._names: dict[int, str] = {}
        self._inside: list[Any] = []
        self._seen = 0
        self._kernels = Kernels()

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        from torch.nn.modules import module as hooks

        self._names = {id(module): name for name, module in model.named_modules()}
        thread = get_ident()

        def enter(module: Any, _inputs: Any) -> None:
            if get_ident() == thread:  # hooks are global and run in all threads
                self._inside.append(module)

        def leave(_module: Any, _inputs: Any, _result: Any) -> None:
            if get_ident() == thread:
                self._inside.pop()

        with ExitStack() as watched, _dispatching(self._run):
            watched.callback(hooks.register_module_forward_pre_hook(enter).remove)
            watched.callback(hooks.register_module_forward_hook(leave).remove)
            yield

    def _run(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        result = self._kernels(func, args, kwargs)
        self._seen += 1
        if not self._seen % 64 and thread_time() > self._until:
            raise Ended
        packet = func._overloadpacket
        if packet in self._counted:
            flops = self._counted[packet](*args, **kwargs, out_val=result)
            self._add(_product_shape(packet, args, result), flops, str(packet))
        elif "scaled_dot_product" in str(packet):
            raise Refused.because(N_("it uses fused attention, whose FLOPs PyTorch does not count on the meta device"))
        return result

    def _add(self, shape: Shape | None, flops: int, operation: str) -> None:
        if shape is None or 2 * prod(shape) != flops:
            raise Refused.because(N_("it uses {operation}, whose matrix sizes are unknown"), operation=operation)
        module = self._inside[-1] if self._inside else None
        line = 0 if module is None or type(module).__module__.startswith("torch.") else _line()
        shapes = self.shapes.setdefault((self._names.get(id(module), ""), line), [])
        shapes.append(shape)
        if self._seen > 50 * _MOST_PRODUCTS or len(shapes) > _MOST_PRODUCTS:
            raise Refused.because(N_("it has more than {most} matrix products"), most=_MOST_PRODUCTS)


def _dispatching(run: Callable[[Any, Any, Mapping[str, Any]], Any]) -> Any:
    """Return a context manager in which PyTorch runs each operation with ``run``.

    Its class is defined in this function so that the module can be imported without PyTorch.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatching(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # nothing is compiled; the default method is slow, because it runs for each operation

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            return run(func, args, kwargs or {})

    return Dispatching()


def _product_shape(packet: Any, args: Any, result: Any) -> Shape | None:
    """Return the dimensions of a product; None for an unknown operation."""
    import torch

    aten = torch.ops.aten
    if packet in (aten.addmm, aten.baddbmm):
        args = args[1:]
    if packet in (aten.mm, aten.addmm):
        return (*args[0].shape, args[1].shape[1])
    if packet in (aten.bmm, aten.baddbmm):
        return (*args[0].shape, args[1].shape[2])
    if packet == aten.convolution:
        weight, transposed = args[1], args[6]
        places = (args[0] if transposed else result).shape
        return (places[0], *places[2:], *weight.shape)
    return None


def _line() -> int:
    """Return the current line number in transformers' code; 0 if there is none."""
    frame = sys._getframe(1)
    while frame.f_back:
        frame = frame.f_back
        if "transformers" in frame.f_globals.get("__name__", ""):
            return frame.f_lineno
    return 0
