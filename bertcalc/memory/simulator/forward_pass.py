"""The forward pass and the loss on simulated tensors, with the variables of transformers' forward methods."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.saved import fuse_attention, recomputed_in
from bertcalc.memory.simulator import layer_memory as layers
from bertcalc.memory.simulator.frames import Frame, Variables, frame, operation
from bertcalc.memory.simulator.lifetimes import HEADS, held_until, sine_of, unfolded
from bertcalc.memory.simulator.packed_memory import packed_linear, unpacked_weight
from bertcalc.memory.simulator.simulated_tensor import Memory, Region, SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, FLOAT32, HALF, INT64, Autocast, Tape
from bertcalc.model.batch import Batch
from bertcalc.model.change import ADAPTER
from bertcalc.model.family import Task
from bertcalc.model.model import Model
from bertcalc.model.modules import (
    Activation,
    Conv1D,
    Convolution,
    Dropout,
    Embedding,
    Linear,
    Norm,
    PackedWeight,
    Shape,
    split_layer,
)
from bertcalc.model.trace import Step

ENCODED = "encoder_hidden_states"
# The variables that hold the ids for the tables; the word ids have the name of the input.
_IDS = {"word": "", "token type": "types", "position": "positions"}

Steps = Mapping[str, Step]  # the steps of a module, keyed by role
_NONE: Mapping[Any, Any] = {}


class Overrides(NamedTuple):
    """Functions on simulated tensors that replace the defaults of ``Pass``.

    - ``steps``: run a step; keyed by its role.
    - ``modules``: run a whole module whose steps share variables; keyed by the role of one of these steps.
    - ``ids``: return the ids that an embedding table looks up; keyed by the role of the table.
    - ``asides``: run operations that are not steps (see ``Trace.aside``); keyed by name.
    - ``losses``: compute the losses that a class returns; keyed by its task.
    - ``handed``: the names of variables that every layer gets as an argument, so that a checkpoint holds them.
    - ``adapters``: call a module with an adapter; keyed by the name of one of the adapter's parts.
    """

    steps: Mapping[str, Callable[["Pass", Step], SimulatedTensor | None]] = _NONE
    modules: Mapping[str, Callable[["Pass", Steps], SimulatedTensor]] = _NONE
    ids: Mapping[str, Callable[["Pass", Step], SimulatedTensor]] = _NONE
    asides: Mapping[str, Callable[["Pass", Step], None]] = _NONE
    losses: Mapping[Task, Callable[["Pass", list[SimulatedTensor]], list[SimulatedTensor]]] = _NONE
    handed: tuple[str, ...] = ()
    adapters: Mapping[str, Callable[["Pass", Steps, SimulatedTensor], SimulatedTensor]] = _NONE


class Pass:
    """A simulated forward pass: a model, its batch, and the variables of its forward methods."""

    def __init__(self, model: Model, how: Plan | Inference, batch: Batch, overrides: Overrides) -> None:
        self.model = model
        self.training = training = isinstance(how, Plan)
        self.plan = plan = how if isinstance(how, Plan) else Plan(attention=how.attention)
        self.width = ITEM_BYTES[PRECISIONS[how.precision].dtype if isinstance(how, Plan) else how.dtype]
        self.padded = padded = batch.padded
        self.overrides = overrides
        self.memory = Memory()
        autocast = PRECISIONS[how.precision].autocast if isinstance(how, Plan) else None
        self.tape = Tape(self.memory, grad=training, autocast=Autocast(autocast) if autocast else None)
        steps = list(map(_called, model.declared_steps(batch._replace(cached=self.caches()))))
        if plan.attention == "fused":
            steps = fuse_attention(steps)
        self._fused = not any(step.place.role == "softmax" for step in steps)
        self.steps = unfolded(steps)
        self._cached_apart = any(step.place.role in ("value_cached", "value_prefixed") for step in steps)
        self._earlier = next((step.takes[0].shape[-2] for step in steps if step.place.role == "key_prefixed"), 0)
        # The fused kernel needs no mask to be causal, except if there are earlier keys.
        is_causal = self._fused and (not self._earlier or batch.sequence_length == 1)
        self._masks = padded or (model.config.is_decoder and not is_causal)
        self.batch_size = batch.batch_size
        self.held = held_until(self.steps, pooler=model.cls.pooler)
        self._regions = [recomputed_in(step, plan.recompute if training else "none") for step in self.steps]
        self._windowed = _windowed(self.steps)
        self._whole = _whole(self.steps, overrides)
        self._window_mask = model.config.window is not None and (
            padded or model.config.masks_window(batch.sequence_length + model.virtual_tokens)
        )
        self.given_mask = padded or _averages_choices(model, self.steps)
        asides = [aside for step in self.steps for aside in step.asides]
        # Whether the body computes the position ids itself, instead of its embeddings module.
        self._own_positions = any(aside.startswith("positions") for aside in asides)
        # Arguments of each layer that a checkpoint holds, besides the values of steps.
        positions = ["positions"] if "positions for layers" in asides else []
        self._handed = {*overrides.handed, *positions} if plan.recompute == "full" else set()
        self._has_types = any(step.place.role == "token type" for step in self.steps)
        self.parameters = Variables()  # all except packed weights
        self._packed = {
            f"{path}.weight": module.packed_weight
            for path, module, _copies in model.modules(folded=False)
            if module.packed_weight
        }
        self._unnamed: list[SimulatedTensor] = []  # packed weights, and all buffers
        self.buffers = Variables()
        self.batch = Variables()  # held by the caller
        self.values = Variables()  # the variables, keyed by the names of the program's steps
        self.cache: list[SimulatedTensor] = []  # the key/value cache, which owns its tensors
        self._pieces: list[SimulatedTensor] = []  # the pieces of a split value, owned until variables hold them
        self._losses = 0  # the number of losses that the class returned

    def begin(self) -> None:
        """Allocate what exists before the first step: buffers, parameters and the batch."""
        tape = self.tape
        frozen = self.plan.freezing.owned(self.model)
        for _path, module, _copies in self.model.modules(folded=False):
            for name, (shape, whole) in module.buffers.items():
                self.buffers[name] = tape.new(shape, INT64 if whole else self.width, "buffers and batch")
                self._unnamed.append(self.buffers[name].own())  # copies of a module overwrite the name
        for name, shape, _copies, place, _frozen in self.model.tensors(folded=False):
            self.memory.where = name
            if packed := self._packed.get(name):
                self._unnamed += [tape.new((count,), 1, "weights").own() for count in packed.num_bytes]
                continue
            xielu = name.endswith((".alpha_p", ".alpha_n"))  # bfloat16, regardless of the model's dtype
            item = 2 if xielu else FLOAT32 if place.block == ADAPTER else self.width
            self.parameters[name] = tape.leaf(name, shape, item, trained=name not in frozen)
            if xielu:
                self.buffers[name] = tape.new((), 2, "buffers and batch")  # a buffer for each parameter of xielu
        self.memory.where = "batch"
        types = self.padded and self._has_types
        inputs = {"input_ids": True, "attention_mask": self.given_mask, "token_type_ids": types}
        for step in self.steps:
            if step.name == "input_ids":
                for name, there in inputs.items():
                    if there:
                        self.batch[name] = tape.new(step.gives.shape, INT64, "buffers and batch")
            for value in step.takes:
                if value.name == ENCODED and ENCODED not in self.batch:
                    self.batch[ENCODED] = tape.new(value.shape, self.width, "buffers and batch")
        if self.training:
            for name in self.model.cls.targets:
                self.batch[name] = self._label(name)

    @property
    def sides(self) -> tuple[int, int]:
        """The number of sequences that go through the layers, counting each choice, and their length."""
        *first, length = self.batch["input_ids"].shape
        return prod(first), length + self.model.virtual_tokens

    def _label(self, name: str) -> SimulatedTensor:
        cls = self.model.cls
        shape: tuple[int, ...] = (self.batch_size,)
        if cls.per_token and name == "labels":
            shape = self.batch["input_ids"].shape
        regression = cls.task == "sequence-classification" and self.model.config.num_labels == 1
        return self.tape.new(shape, FLOAT32 if regression else INT64, "buffers and batch")

    def trained(self) -> dict[str, SimulatedTensor]:
        return {name: tensor for name, tensor in self.parameters.items() if tensor.node and tensor.node.grad}

    def forward(self) -> list[SimulatedTensor]:
        """Run the forward pass and return what the model returns: the loss first, if the class has one."""
        self.memory.phase = "forward"
        in_encoder = any("masks" in step.asides for step in self.steps)  # then that step makes the masks
        if ENCODED in self.batch:
            self.values[ENCODED] = self.batch[ENCODED]
        for index, step in enumerate(self.steps):
            self.memory.where = step.name
            asides = step.asides
            if step.place.component == "encoder" and not in_encoder:
                in_encoder = True
                asides = (*asides, "masks")
            for aside in asides:
                (self.overrides.asides.get(aside) or _ASIDES[aside])(self, step)
            region = self._regions[index]
            if region and region != self._regions[index - 1]:
                self.tape.region = self._region(index)
            self._run(index)
            if self.tape.region and region not in self._regions[index + 1 : index + 2]:  # the region's last step
                self.tape.region.disown()
                self.tape.region = None
        self.memory.phase, self.memory.where = "loss", "loss"
        returned = [self.values.pop(step.gives.name).own() for step in self.steps if step.output]
        if self.training and self.model.cls.targets:
            losses = self.overrides.losses.get(self.model.cls.task)
            terms = losses(self, returned) if losses else [self._loss(returned)]
            returned = [*(term.own() for term in terms), *returned]
            self._losses = len(terms)
        if self.model.cls.caches and "past_key_values" not in self.model.cls.withholds:
            returned += [tensor.own() for tensor in self.cache]
        self.values.clear()
        while self.cache:
            self.cache.pop(0).disown()
        return [tensor.pass_on() for tensor in returned]

    def _run(self, index: int) -> None:
        step = self.steps[index]
        self.memory.where = step.name
        if step.within in self._whole:
            run, steps = self._whole[step.within]
            if step is [*steps.values()][-1]:
                self.values[step.gives.name] = run(self, steps)
        elif step.operation != "unused":
            self._do(step)
        layer = split_layer(step.name)[0]
        if layer and not any(split_layer(later.name)[0] for later in self.steps[index + 1 : index + 2]):
            self.memory.where = layer.rpartition(".")[0]  # releases after the last layer belong to no layer
        for name in self.held.after[index]:
            self.values.release(name)
        self.memory.check()

    def hold(self, module: str, variables: Mapping[str, SimulatedTensor]) -> None:
        """Assign variables of the forward method of ``module`` ("" for the body).

        They hold their values until the method returns.
        """
        self.values |= variables
        gone = self.held.after[self.held.returns[module]]
        gone += [name for name in variables if name not in gone]

    def _region(self, first: int) -> Region:
        """Create the checkpointed region that begins at step ``first`` and owns the inputs of its steps."""
        name = self._regions[first]
        steps = [index for index in range(first, len(self.steps)) if self._regions[index] == name]
        taken = {value.name for index in steps for value in self.steps[index].takes} | self._handed
        taken.add(next(self._mask_of(self.steps[index]) for index in steps if self.steps[index].core))
        taken |= {sine_of(name) for name in taken}
        # In the order of creation: the order of a set differs between processes.
        inputs = {name: value for name, value in self.values.items() if name in taken}
        for tensor in inputs.values():
            if tensor.storage.area == "temporaries":
                tensor.storage.move("kept activations")

        def again() -> None:
            self.values |= inputs
            try:
                for index in steps:
                    self._run(index)
            finally:
                self.values.clear()

        return Region([*inputs.values()], again)

    def loss(self, returned: list[SimulatedTensor]) -> SimulatedTensor:
        """The tensor to minimize: the class's loss, the sum of its losses, or the sum of all outputs if it has none."""
        tape = self.tape
        if self._losses:
            total, *others = returned[: self._losses]
            for other in others:
                total = tape.add(total, other)
            return total
        first, *others = returned[: sum(step.output != "" for step in self.steps)]
        total = tape.shift(tape.sum(first))  # Python's sum starts with 0, which is added to the first output
        for output in others:
            total = tape.add(total, tape.sum(output))
        return total

    def _do(self, step: Step) -> None:
        override = self.overrides.steps.get(step.place.role)
        result = override(self, step) if override else self.usual(step)
        if step.place.role == "word" and self.plan.input_require_grads and result:
            self.tape.require_gradient(result, step.name)
        if result is not None:
            self.values[step.gives.name] = result
        if step.place.role == "value_heads" and self.caches() and not self._cached_apart:
            self._fill_cache(step)

    def taken(self, step: Step) -> list[SimulatedTensor]:
        """The inputs of a step, except those that no variable holds: masks and ids may be missing."""
        return [self.values[value.name] for value in step.takes if value.name in self.values]

    def usual(self, step: Step) -> SimulatedTensor | None:
        """Run a step as its operation and role require; None if it needs an input that the caller has not passed.

        Raises NotImplementedError if there is no rule for the step.
        """
        tape, values, shape = self.tape, self.values, step.gives.shape
        if step.operation == "mean":
            return self._mean(step)
        taken = self.taken(step)
        match step.operation, step.place.role:
            case "input", _:
                return self.batch.get(step.name)
            case "table", _:
                return self.tensor(step, "weight")
            case "lookup", role:
                return self.call(step, self._looked_up(step, role))
            case "linear" | "norm" | "dropout" | "activation", _:
                return self.call(step, *taken)
            case "softmax", _:
                (x,) = taken
                if not step.wide:
                    return tape.softmax(x)
                return tape.to(tape.wide_softmax(x), self._query_of(step).item)
            case "multiply", _:
                return tape.multiply(*taken)
            case "angles", _:
                frequencies = self.buffers[f"{step.name.rpartition('.')[2]}.inv_freq"]
                pair = layers.angles(tape, values["positions"], frequencies, shape[-1], self.width)
                cosine, values[sine_of(step.gives.name)] = pair
                return cosine
            case "rotate", role:
                return self._rotated(step, role, *taken)
            case "repeat", _:
                return layers.repeated(tape, taken[0], shape[1])
            case "scale", _:
                return tape.scale(*taken)
            case "matmul", _ if len(taken) == 3:
                return self._attention(step, *taken)
            case "matmul", "scores":
                return tape.matmul(taken[0], tape.transpose(taken[1], 2, 3))
            case "matmul", _:
                return tape.matmul(*taken)
            case "add", "mask":
                mask = values.get(self._mask_of(step))
                return tape.add(taken[0], mask) if mask else taken[0]
            case "add", _:
                total, *others = taken
                for other in others:
                    total = tape.add(total, other, in_place=step.in_place)
                return total
            case "view", _ if not taken:
                return None
            case _, "merge_heads":  # no copy after the fused kernel, which lays out its output for this
                return tape.reshape(tape.contiguous(tape.transpose(taken[0], 1, 2)), shape)
            case "view", "cut":
                return self._piece(lambda: self._cut(step, *taken))
            case "view", "first_token":
                return tape.select(*taken)
            case "view", role if role in HEADS:
                (x,) = taken
                batch, heads, length, size = shape
                return tape.transpose(tape.view(x, (batch, length, heads, size)) if len(x.shape) == 3 else x, 1, 2)
            case "view", _:
                return tape.view(taken[0], shape)
            case "copy", "start_logits" | "end_logits":
                return tape.contiguous(tape.squeeze(self._piece(lambda: tape.split(taken[0], 2))))
            case "copy", "key_cached" | "value_cached":
                self.cache.append(tape.cat_with_nothing(*taken).own())
                return self.cache[-1]
        raise NotImplementedError(f"There is no rule for what {step.name} ({step.operation}) allocates.")

    def _query_of(self, step: Step) -> SimulatedTensor:
        (name,) = (
            other.takes[0].name for other in self.steps if other.within == step.within and other.place.role == "scores"
        )
        return self.values[name]

    def _piece(self, split: Callable[[], list[SimulatedTensor]]) -> SimulatedTensor:
        """The next piece of a split value; the first call splits it."""
        self._pieces = self._pieces or [piece.own() for piece in split()]
        return self._pieces.pop(0).pass_on()

    @operation
    def call(self, step: Step, x: SimulatedTensor) -> SimulatedTensor:
        tape, module = self.tape, step.module
        self.memory.where = step.name
        if step.parts:
            return self._adapted(step, x)
        match module:
            case Embedding():
                return tape.index(self.tensor(step, "weight"), [x])
            case Norm(centers=False):
                return layers.rms_norm(tape, x, self.tensor(step, "weight"))
            case Norm(written_out=True):
                return layers.layer_norm(tape, x, self.tensor(step, "weight"), self.tensor(step, "bias"))
            case Norm():
                return tape.layer_norm(x, self.tensor(step, "weight"), self.learned(step, "bias"))
            case Dropout():
                return tape.dropout(x, module.p if self.training else 0, fused=self.plan.fused_dropout)
            case Activation():
                learned = [self.parameters[tensor.name] for tensor in step.tensors]
                return layers.simulate_activation(tape, module, x, learned)
        bias = self.learned(step, "bias")
        if packed := self.packed(step):
            return packed_linear(tape, x, bias, packed, self.width)
        weight = self.tensor(step, "weight")
        if isinstance(module, Convolution):
            return tape.convolution(x, weight, bias)
        # The bias is a tensor of another module, so it is added in a separate operation.
        if bias and isinstance(module, Linear) and not module.biased:
            return tape.add(tape.linear(x, weight, None), bias)
        return tape.linear(x, weight, bias, transposed=not isinstance(module, Conv1D))

    def _adapted(self, step: Step, x: SimulatedTensor) -> SimulatedTensor:
        path = step.name.removesuffix("_again")
        parts = {part.name.removesuffix("_again").removeprefix(f"{path}."): part for part in step.parts}
        call = next(call for part, call in self.overrides.adapters.items() if part in parts)
        return call(self, parts, x)

    def tensor(self, step: Step, last: str) -> SimulatedTensor:
        tensor = self.learned(step, last)
        assert tensor
        return tensor

    def unpacked(self, step: Step) -> SimulatedTensor:
        """The weight of a step, unpacked if it is quantized."""
        packed = self.packed(step)
        return unpacked_weight(self.tape, packed, self.width) if packed else self.tensor(step, "weight")

    def packed(self, step: Step) -> PackedWeight | None:
        """The packed weight of a step; None if it is not quantized."""
        return next((self._packed[tensor.name] for tensor in step.tensors if tensor.name in self._packed), None)

    def learned(self, step: Step, last: str) -> SimulatedTensor | None:
        if step.module and (name := step.module.tied.get(last)):
            return self.parameters[name]
        return next(
            (self.parameters[tensor.name] for tensor in step.tensors if tensor.name.rpartition(".")[2] == last), None
        )

    def _looked_up(self, step: Step, role: str) -> SimulatedTensor:
        """The ids for an embedding table; the model creates ids other than word ids unless the caller passes them."""
        if role not in _IDS:
            return self._other_ids(step)
        if role == "word" and self.model.virtual_tokens:  # looked up before the model runs
            return self.values[step.takes[0].name]
        if self._own_positions and role == "token type":
            types = self.batch.get("token_type_ids") or self.tape.new(step.gives.shape[:2], INT64)
            self.hold(step.within, {"types": types})
        if "positions" not in self.values and not self._own_positions:
            self._number_tokens(step)
        return self.values[_IDS[role] or step.takes[0].name]

    def _other_ids(self, step: Step) -> SimulatedTensor:
        """The ids for a table that only some families have; zeros for ids that the caller could have passed."""
        name, shape, _ids = step.takes[0]
        if override := self.overrides.ids.get(step.place.role):
            return override(self, step)
        if name not in self.model.cls.inputs:
            raise NotImplementedError(f"There is no rule for the ids of {step.name}.")
        self.hold(step.within, {name: self.tape.new(shape, INT64)})
        return self.values[name]

    def _number_tokens(self, step: Step) -> None:
        ids = self.overrides.ids
        self.hold(step.within, {"positions": ids.get("position", usual_positions)(self, step)})
        if self._has_types:
            types = ids.get("token type", _types)(self, step)
            rows = SimulatedTensor(types.storage, step.takes[0].shape, types.strides, INT64, is_view=True)
            self.hold(step.within, {"types": rows})
            types.drop()

    @frame
    def _rotated(self, v: Frame, step: Step, role: str, x: SimulatedTensor, cosine: SimulatedTensor) -> SimulatedTensor:
        """The rotated query or key; after a rotation in float32, both are cast back once the key is rotated."""
        result = layers.rotated(self.tape, x, cosine, self.values[sine_of(step.takes[1].name)], wide=step.wide)
        if role == "key_rotated" and step.wide:
            query_name = step.gives.name.replace("key_rotated", "query_rotated")
            v.query = self.values[query_name]  # keeps the query alive until both are cast
            self.values[query_name] = self.tape.to(v.query, x.item)
            return self.tape.to(result, x.item)
        return result

    def _mean(self, step: Step) -> SimulatedTensor:
        """The mean of the token vectors of each sequence, without padding."""
        tape = self.tape
        x = self.values[step.takes[0].name]
        mask = self.batch.get("attention_mask")
        if mask and len(mask.shape) > 2:  # of shape (batch, choices, length)
            mask = tape.view(mask, x.shape[:2])
            counts = self.values["counts"] = tape.new((x.shape[0], 1), INT64)
            return tape.divide(tape.masked_sum(x, mask), counts)
        if mask is None and step.takes[1].ids:  # no mask: the mean of all tokens
            return tape.squeeze(tape.mean(x, 1), 1)
        if mask is None:
            mask = self.values["all_tokens"] = tape.new(x.shape[:2], BOOL)
        if not step.in_place:
            return tape.divide(tape.masked_sum(x, mask), tape.new((x.shape[0], 1), INT64))
        sums = tape.masked_sum(x, mask)
        (made,) = (maker for maker in self.steps if maker.gives == step.takes[0])
        if made.variable == step.variable:
            self.values.release(step.takes[0].name)
        return tape.divide(sums, tape.new((sums.shape[0], 1), INT64), in_place=True)

    def _attention(
        self, step: Step, query: SimulatedTensor, key: SimulatedTensor, value: SimulatedTensor
    ) -> SimulatedTensor:
        """The fused attention core, which makes an additive mask from the boolean mask."""
        tape = self.tape
        mask = None
        if step.place.block == "attention" and (allowed := self.values.get(self._mask_of(step))):
            # With a mask, the kernel does not repeat shared keys and values itself.
            if key.shape[1] != query.shape[1] and query.shape[2] != 1:
                key = layers.repeated(tape, key, query.shape[1])
                value = layers.repeated(tape, value, query.shape[1])
            item = HALF if tape.autocast else self.width
            mask = self._in_numbers((query.shape[0], *allowed.shape[1:]), item=item)
        return tape.flash_attention(query, key, value, mask)

    def _cut(self, step: Step, x: SimulatedTensor) -> list[SimulatedTensor]:
        """The pieces of the last axis; with ``by_heads``, they are already split into heads."""
        parts = x.shape[-1] // step.gives.shape[-1]
        if not step.by_heads:
            return self.tape.split(x, parts)
        heads = self.model.config.num_attention_heads
        wide = self.tape.view(x, (*x.shape[:-1], parts, heads, step.gives.shape[-1] // heads))
        return self.tape.unbind(wide, len(wide.shape) - 3)

    def caches(self) -> bool:
        """Whether the model is a decoder that fills its key/value cache.

        Most causal language models do not fill it if they get labels, and no model does with checkpointed layers.
        """
        config, cls = self.model.config, self.model.cls
        if self.training and (cls.labels_stop_caching or self.plan.recompute == "full"):
            return False
        return bool(config.is_decoder and config.use_cache)

    def _fill_cache(self, step: Step) -> None:
        path = step.name.removesuffix("value_heads")
        copies = [self.tape.cat_with_nothing(self.values[f"{path}{name}"]) for name in ("key_heads", "value_heads")]
        self.values[f"{path}key_heads"], self.values[f"{path}value_heads"] = copies
        self.cache += [copy.own() for copy in copies]

    def number_positions(self, _step: Step) -> None:
        """Create the position ids in the body, from 0; a body with a cache adds the cache's length."""
        positions = self.tape.new(self.sides[1:], INT64)
        if self.model.family.base.caches:
            positions = self.tape.shift(positions)
        self.hold("", {"positions": self.tape.unsqueeze(positions, 0)})

    def look_for_padding(self, shape: Shape) -> None:
        """Check for padding if there is no mask, as transformers does to warn about it.

        transformers checks the first and last entry along the second axis: of tokens, or of choices if the body
        flattens them.
        """
        if not self.padded and self.model.config.pad_token_id is not None:
            ends = self.tape.made((shape[0], 2, *shape[2:]), INT64, self.tape.new((2,), INT64))
            self.tape.made((), BOOL, ends, self.tape.new(ends.shape, BOOL)).drop()

    def make_masks(self, _step: Step) -> None:
        caches = self.caches() or self._earlier
        if self._own_positions and self.model.config.is_decoder and not self.padded and not caches:
            self._look_for_starts()
        if self._masks:
            self.hold("", {"attention_mask": self._mask()})
        elif self.given_mask:
            self._find_no_padding()
        if self._window_mask:
            self.hold("", {"window_mask": self._mask(window=True)})
        elif self.given_mask and self.model.config.window is not None:
            self._find_no_padding()

    def _look_for_starts(self) -> None:
        """Search for packed sequences, as transformers does if a decoder's mask gets position ids."""
        tape, (batch, length) = self.tape, self.sides
        first = tape.new((batch, 1), INT64)
        differences = tape.made((batch, length), INT64, tape.new((batch, length + 1), INT64))
        counted = tape.made((batch, length), INT64, tape.new((batch, length), BOOL))
        tape.made((), BOOL, first, differences, counted, tape.new((batch,), BOOL)).drop()

    def _find_no_padding(self) -> None:
        """Check the caller's mask for zeros, as transformers does; there are none, so it drops the mask."""
        self.tape.made((), BOOL, self.tape.new(self.sides, BOOL)).drop()

    def _mask_of(self, step: Step) -> str:
        if step.takes and step.takes[-1].name.endswith("mask") and step.takes[-1].name != "attention_mask":
            return step.takes[-1].name
        return "window_mask" if step.within in self._windowed else "attention_mask"

    @frame
    def _mask(self, v: Frame, *, window: bool = False) -> SimulatedTensor:
        """Create a mask like transformers' masking_utils: additive, or boolean with fused attention."""
        tape = self.tape
        batch, length = self.sides
        padding: list[SimulatedTensor] = []
        if self.given_mask:
            v.padding = padding = [tape.new((batch, length), BOOL)]
        if self.given_mask and not self.model.config.is_decoder:
            tape.new((), BOOL).drop()  # the result of a check for padding
        elif self.given_mask and self._fused and not window:
            for _time in range(2):  # the same check, by counting
                tape.made((), BOOL, tape.new((), INT64)).drop()
        allowed = self._allowed(batch, length, window)
        if self._fused:
            return allowed
        item = self._embedded_width()
        square = (batch, 1, length, self._earlier + length)
        return self._in_numbers(square, allowed, *padding, item=item)

    def _embedded_width(self) -> int:
        """The bytes per element of the embeddings' output: under autocast, a projection returns 16-bit elements."""
        vectors = (value.item for value in reversed(self.values.values()) if len(value.shape) == 3)
        return next(vectors, self.width)

    def _in_numbers(self, shape: Shape, *of: SimulatedTensor, item: int) -> SimulatedTensor:
        """Convert a boolean mask to an additive mask, which contains 0 or the smallest number of its dtype."""
        zero, least = self.tape.new((), item), self.tape.new((), item)
        return self.tape.made(shape, item, zero, least, *of)

    @frame
    def _allowed(self, v: Frame, batch: int, length: int, window: bool) -> SimulatedTensor:
        tape, seen = self.tape, self._earlier + length
        v.rows, v.heads = tape.new((batch,), INT64), tape.new((1,), INT64)
        v.queries = tape.like(tape.new((length,), INT64))
        v.keys = tape.like(tape.new((seen,), INT64))
        if self.given_mask:
            v.flag = tape.new((), BOOL)
        if window:
            allowed = _in_window(tape, (1, 1, length, length))
        else:
            allowed = tape.new((1, 1, length, seen if self.model.config.is_decoder else 1), BOOL)
        if self.given_mask:
            allowed = tape.like(allowed)
            del v.flag
            allowed = tape.made((batch, 1, length, length), BOOL, tape.new((batch, 1, 1, length), BOOL), allowed)
        return allowed

    @frame
    def _loss(self, v: Frame, logits: list[SimulatedTensor]) -> SimulatedTensor:
        tape, cls, batch = self.tape, self.model.cls, self.batch
        if cls.widens_scores or cls.task == "causal-lm":
            v.logits = logits = [tape.to(scores, FLOAT32) for scores in logits]
        match cls.task:
            case "sequence-classification" if self.model.config.num_labels == 1:
                scores, labels = tape.squeeze(logits[0]), batch["labels"]
                return tape.mean_squared_error(tape.squeeze(scores, 0) if scores.shape == (1,) else scores, labels)
            case "masked-lm" | "next-sentence" | "token-classification" | "sequence-classification" | "multiple-choice":
                return self.classified(logits[0], batch["labels"])
            case "causal-lm":
                labels = self.values.get("labels", batch["labels"])
                v.padded = tape.new((labels.shape[0], labels.shape[1] + 1), INT64)
                rows = SimulatedTensor(v.padded.storage, labels.shape, v.padded.strides, INT64, is_view=True)
                return self.classified(logits[0], tape.contiguous(rows))
            case "pretraining":
                v.words = self.classified(logits[0], batch["labels"])
                *_words, order = cls.targets
                v.sentences = self.classified(logits[1], batch[order])
                return tape.add(v.words, v.sentences)
            case "replaced-tokens":
                return tape.binary_cross_entropy(logits[0], tape.to(batch["labels"], FLOAT32))
            case "question-answering":
                # Clamping the positions makes copies.
                v.start, v.end = tape.like(batch["start_positions"]), tape.like(batch["end_positions"])
                v.starts = tape.cross_entropy(logits[0], v.start)
                v.ends = tape.cross_entropy(logits[1], v.end)
                return tape.scale(tape.add(v.starts, v.ends))
        raise NotImplementedError(f"There is no rule for what the loss of {cls.name} allocates.")

    def classified(self, logits: SimulatedTensor, labels: SimulatedTensor) -> SimulatedTensor:
        rows = self.tape.view(logits, (prod(logits.shape[:-1]), logits.shape[-1]))
        return self.tape.cross_entropy(rows, labels)


def _called(step: Step) -> Step:
    """Replace the wrapper of a step with its module if the wrapper only calls it."""
    return step._replace(tensors=step.parts[0].tensors, parts=()) if len(step.parts) == 1 else step


def _averages_choices(model: Model, steps: Sequence[Step]) -> bool:
    """Whether a class computes the mean over the unmasked tokens of each choice."""
    if model.cls.task != "multiple-choice":
        return False
    return any(step.operation == "mean" and step.takes[1].ids for step in steps)


def _whole(
    steps: Sequence[Step], overrides: Overrides
) -> dict[str, tuple[Callable[[Pass, Steps], SimulatedTensor], Steps]]:
    """Map each module that its family runs as a whole to a (function that runs it, its steps keyed by role) pair."""
    runs = {step.within: overrides.modules[step.place.role] for step in steps if step.place.role in overrides.modules}
    inside: dict[str, dict[str, Step]] = {module: {} for module in runs}
    for step in steps:
        if step.within in runs:
            by_role, role = inside[step.within], step.place.role
            by_role[f"{role} again" if role in by_role else role] = step
    return {module: (run, inside[module]) for module, run in runs.items()}


def usual_positions(run: Pass, step: Step) -> SimulatedTensor:
    """The position ids from the buffer of the embeddings."""
    ids = run.buffers["position_ids"]
    return SimulatedTensor(ids.storage, (1, step.takes[0].shape[1]), ids.strides, INT64, is_view=True)


def _types(run: Pass, _step: Step) -> SimulatedTensor:
    return run.batch.get("token_type_ids") or run.tape.new(run.values["positions"].shape, INT64)


def _windowed(steps: Sequence[Step]) -> set[str]:
    """The names of attention modules with a local window, which use rotary angles other than the first ones."""
    angles = [step.gives.name for step in steps if step.operation == "angles"]
    return {step.within for step in steps if step.operation == "rotate" and step.takes[1].name not in angles[:1]}


@frame
def _in_window(tape: Tape, v: Frame, square: tuple[int, ...]) -> SimulatedTensor:
    """The boolean mask of a window: pairs of nearby tokens, without positions before the first token."""
    v.flag = tape.new((), BOOL)
    v.near = tape.made(square, BOOL, tape.like(tape.new(square, INT64)))
    v.allowed = tape.like(v.near)
    del v.flag, v.near
    return tape.like(v.allowed, tape.new((*square[:3], 1), BOOL))


# Operations of a body's forward method that are not steps of the program, keyed by their names in Trace.aside.
_ASIDES: Mapping[str, Callable[[Pass, Step], None]] = {
    "padding": lambda run, _step: run.look_for_padding(run.sides),
    "positions": Pass.number_positions,
    "positions for layers": Pass.number_positions,
    "masks": Pass.make_masks,
}
