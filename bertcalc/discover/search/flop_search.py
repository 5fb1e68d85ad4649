"""The matrix products of a forward pass on the meta device, recorded like tensors: names and shapes.

A product of m x k numbers by k x n has the shape (m, k, n); a batch of them, or the positions of a convolution, come
first. So the number of multiply-adds is the product of the sides, like the number of parameters of a tensor, and
formulas are found for both in the same way.
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
from bertcalc.discover.search.build import NUMBER, Ended, Folded, Refused, Shape, made, not_built
from bertcalc.discover.search.config_integers import Recipe, is_config
from bertcalc.discover.search.kernels import Kernels
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

BATCH, LENGTH, CHOICES = "batch_size", "sequence_length", "num_choices"
# Some models read the numbers of a mask, which it lacks on the meta device, and some those of the mask they make.
MASKS = (("attention_mask", "decoder_attention_mask"), (), ("decoder_attention_mask",), ("attention_mask",))
_HERE = {BATCH: 3, LENGTH: 48}
_MOST_PRODUCTS = 100_000
_LONG = (333, 1_001)
_DRAWN, _AGAIN = 30, 6  # sizes that are drawn to compare old formulas, and that are enough
_SHORT = 5.0  # seconds of a core
_COMPARED = 4  # whole passes; each product's shape is checked as well when it is recorded
_TOO_FEW = Problem.of(N_("too few configurations could be compared with FlopCounterMode"))


class RecordedCall(NamedTuple):
    """A configuration, the sizes of the input of its model, and the names of the masks in it."""

    config: Any
    sizes: Mapping[str, int]
    masks: tuple[str, ...]


class Calls(Recipe):
    """A recipe for calls: its fields are those of a configuration and the sizes of the input."""

    def __init__(self, recipe: Recipe, cls: Any, masks: tuple[str, ...]) -> None:
        self.recipe, self.masks = recipe, masks
        self.sizes = _HERE | ({CHOICES: 2} if cls.__name__.endswith("ForMultipleChoice") else {})
        if taken := self.sizes.keys() & recipe.fields.keys():
            raise Refused.because(N_("{field} is a field of the configuration, too."), field=min(taken))
        self.fields = self.sizes | recipe.fields
        self.follows = recipe.follows

    def changed(self, values: Mapping[str, Any]) -> RecordedCall:
        """Return the call with some sizes changed. Raises what the configuration's class raises."""
        sizes = {name: values.get(name, here) for name, here in self.sizes.items()}
        others = {name: each for name, each in values.items() if name not in sizes}
        return RecordedCall(self.recipe.changed(others), sizes, self.masks)


def products(cls: Any, call: RecordedCall, until: float) -> Folded:
    """Return the matrix products of a forward pass: names with * for numbers, each with its numbers and their shapes.

    A name is that of the module, with the line of code unless the module is PyTorch's own. The last number counts the
    products of that name in one module. Attention is eager; experts are computed for each token by itself, which takes
    as many multiply-adds as sorting tokens by experts, and does not depend on the experts that are chosen. Raises
    Refused, or Ended when the time is up.
    """
    recorder = _recorder(until)
    _forward(cls, call, until, recorder.watching)
    found: Folded = {}
    for (name, line), shapes in recorder.found.items():
        numbers = tuple(int(number) for number in NUMBER.findall(name))
        folded = found.setdefault(f"{NUMBER.sub('*', name)}{f'({line})' if line else ''}.*", {})
        folded |= {(*numbers, index): shape for index, shape in enumerate(shapes)}
    return found


def counted(cls: Any, call: RecordedCall, until: float) -> int:
    """The FLOPs of a forward pass as PyTorch's FlopCounterMode counts them."""
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    _forward(cls, call, until, lambda _model: counter)
    return int(counter.get_total_flops())


def cannot_run(recipe: Recipe, usual: Callable[[], Recipe], cls: Any, until: float) -> Problem | None:
    """Why the class is built with these fields but does not run forward; None if it runs, or if that is not known.

    Many classes do not run on the meta device, whatever their fields. So a failure says something only if the class
    runs with its ``usual`` fields, and if the failure is not about the missing numbers.
    """
    lengths = (_HERE[LENGTH], 8, 1)  # a model may take few tokens, or need a few
    try:
        default = usual()
        masks = next((masks for masks in MASKS if _fails(default, cls, masks, lengths, until) is None), None)
        why = None if masks is None else _fails(recipe, cls, masks, lengths, until)
    except Ended:
        return None
    reason = why.values.get("reason", "") if why else ""
    return None if not reason or _WITHOUT_NUMBERS.search(reason) else why


_WITHOUT_NUMBERS = re.compile("meta|NotImplementedError|data-dependent", re.IGNORECASE)


def _fails(recipe: Recipe, cls: Any, masks: tuple[str, ...], lengths: Iterable[int], until: float) -> Problem | None:
    """Why a forward pass fails at every one of these lengths; None if it runs at one."""
    why = None
    for length in lengths:
        try:
            _forward(cls, Calls(recipe, cls, masks).changed({LENGTH: length}), until, lambda _model: nullcontext())
        except Refused as error:
            why = why or error.problem
        else:
            return None
    return why


def proven(cls: Any, lab: Any, compute: Computed, drawn: Iterable[Mapping[str, int]]) -> Problem | None:
    """Compare formulas with PyTorch's FlopCounterMode at drawn sizes; return the problem, or None if they agree."""
    compared = 0
    for values in drawn:
        try:
            wrong = _difference(cls, lab, compute, lab.build(values).values)
        except InputError:
            continue
        compared += 1
        if wrong or compared == _COMPARED:
            return wrong
    return _TOO_FEW


def still_agree(cls: Any, lab: Any, compute: Computed, drawn: Iterable[Mapping[str, int]]) -> Problem | None:
    """Compare formulas found before with PyTorch's FlopCounterMode; return the problem, or None if they agree.

    Long texts come last: a recurrent model takes as many steps as there are tokens, and is not run for them.
    """
    start, compared = thread_time(), 0
    for values in chain(islice(drawn, _DRAWN), ({LENGTH: length} for length in _LONG)):
        if compared >= _AGAIN and (len(values) > 1 or thread_time() - start > _SHORT):
            continue
        try:
            wrong = _difference(cls, lab, compute, compute.completed(**values))
        except InputError:
            continue
        if wrong:
            return wrong
        compared += 1
        if thread_time() > lab.until:
            break
    return None if compared >= _COMPARED else _TOO_FEW


def _difference(cls: Any, lab: Any, compute: Computed, sizes: Mapping[str, int]) -> Problem | None:
    """How the formulas and FlopCounterMode differ at these sizes; None if they agree.

    Raises InputError outside of the regime, and if transformers does not build the model.
    """
    changes = {name: size for name, size in sizes.items() if size != lab.here.get(name, size)}
    here = 2 * compute.count(**{name: sizes[name] for name in compute.fields})
    there = counted(cls, lab.config(changes), lab.until)
    if there == here:
        return None
    return Problem.of(N_("FlopCounterMode counts {there} where the formula gives {here}"), there=there, here=here)


def _forward(
    cls: Any, call: RecordedCall, until: float, watching: Callable[[Any], AbstractContextManager[Any]]
) -> None:
    """Build the model and run it forward, inside of the context manager that ``watching`` makes."""
    import torch

    _plain(call.config)
    model = made(cls, call.config, until).eval()
    given = _inputs(cls, call)
    try:
        with torch.no_grad(), torch.device("meta"), watching(model):
            model(**given)
    except (Refused, Ended):
        raise
    except Exception as error:  # transformers raises exceptions of all types
        said = not_built(error).problem.values
        raise Refused.because(N_("its forward pass does not run without numbers: {reason}"), **said) from None


def _plain(config: Any) -> None:
    """Select eager attention, experts for each token, and no key/value cache, also in nested configurations."""
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"
    for each in (config, *filter(is_config, vars(config).values())):
        if getattr(each, "use_cache", False):
            each.use_cache = False


def _inputs(cls: Any, call: RecordedCall) -> dict[str, Any]:
    """The input, without padding; a decoder gets as many tokens as its encoder."""
    import torch

    sizes = (BATCH, CHOICES, LENGTH) if CHOICES in call.sizes else (BATCH, LENGTH)
    shape = tuple(call.sizes[name] for name in sizes)
    taken = signature(cls.forward).parameters
    wanted = ["input_ids", *call.masks]
    if getattr(call.config, "is_encoder_decoder", False):
        wanted.append("decoder_input_ids")
    names = [name for name in wanted if name in taken]
    if "input_ids" not in names:
        raise Refused.because(N_("its forward pass takes no tokens"))
    return {name: torch.ones(shape, dtype=torch.long, device="meta") for name in names}


def _recorder(until: float) -> Any:
    """Return a recorder; the class is defined here so that this module can be imported without PyTorch."""
    import torch
    from torch.nn.modules import module as hooks
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    aten = torch.ops.aten

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        """Records matrix products, with the module that each is in."""

        def __init__(self) -> None:
            super().__init__()
            self.found: dict[tuple[str, int], list[Shape]] = {}
            self.names: dict[int, str] = {}
            self.inside: list[Any] = []
            self.seen = 0
            self.kernels = Kernels()

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # nothing is compiled, and finding that out for each operation takes time

        @contextmanager
        def watching(self, model: Any) -> Iterator[None]:
            """Record all operations, with the modules of this model."""
            self.names = {id(each): name for name, each in model.named_modules()}
            here = get_ident()

            def enter(module: Any, _given: Any) -> None:
                if get_ident() == here:  # hooks are called in all threads
                    self.inside.append(module)

            def leave(_module: Any, _given: Any, _result: Any) -> None:
                if get_ident() == here:
                    self.inside.pop()

            with ExitStack() as watched, self:
                watched.callback(hooks.register_module_forward_pre_hook(enter).remove)
                watched.callback(hooks.register_module_forward_hook(leave).remove)
                yield

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            result = self.kernels(func, args, kwargs or {})
            self.seen += 1
            if not self.seen % 64 and thread_time() > until:
                raise Ended
            packet = func._overloadpacket
            if packet in flop_registry:
                flops = flop_registry[packet](*args, **(kwargs or {}), out_val=result)
                self.add(_shape(packet, args, result), flops, str(packet))
            elif "scaled_dot_product" in str(packet):
                message = N_("its attention is fused, which PyTorch does not count without numbers")
                raise Refused.because(message)
            return result

        def add(self, shape: Shape | None, flops: int, what: str) -> None:
            if shape is None or 2 * prod(shape) != flops:
                raise Refused.because(N_("it uses {operation}, whose sides are not known here"), operation=what)
            module = self.inside[-1] if self.inside else None
            line = 0 if module is None or type(module).__module__.startswith("torch.") else _line()
            shapes = self.found.setdefault((self.names.get(id(module), ""), line), [])
            shapes.append(shape)
            if self.seen > 50 * _MOST_PRODUCTS or len(shapes) > _MOST_PRODUCTS:
                raise Refused.because(N_("it has more than {most} matrix products"), most=_MOST_PRODUCTS)

    def _shape(packet: Any, args: Any, result: Any) -> Shape | None:
        """The sides of a product; None for an operation that is not known here."""
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

    return Recorder()


def _line() -> int:
    """The line of code of transformers that is running."""
    frame = sys._getframe(1)
    while frame.f_back:
        frame = frame.f_back
        if "transformers" in frame.f_globals.get("__name__", ""):
            return frame.f_lineno
    return 0
