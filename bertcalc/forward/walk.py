"""A walk through the forward pass, stop by stop: one layer in full, the layers before and after it as one stop each."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple, TypeGuard

from bertcalc.model.modules import Attention, Conv1D, Linear, Module, ModuleList, Shape, Tensor, split_layer
from bertcalc.model.stack import Layers, Stack, numbered, stack
from bertcalc.model.trace import Step, Value
from bertcalc.text.arguments import checked
from bertcalc.text.live_choices import either, largest, smallest
from bertcalc.text.live_numbers import fill

BEFORE, AFTER = "layers.before", "layers.after"
_LAYERS_IN_KERAS = "Transformer"
# Maps the roles of steps that share a stop to the role of the stop. Each stop is one idea, such as splitting query, key
# and value into heads, flattening the choices, splitting the answer span or a fused projection, computing the angles of
# global and local layers, or rotating query and key.
_TOGETHER = {
    **dict.fromkeys(("query_heads", "key_heads", "value_heads"), "heads"),
    **dict.fromkeys(("key_cached", "value_cached"), "cached"),
    **dict.fromkeys(("pos_query_heads", "pos_key_heads"), "position heads"),
    **dict.fromkeys(("query bias", "value bias"), "biases"),
    **dict.fromkeys(("start_logits", "end_logits"), "split"),
    **dict.fromkeys(("query_rotated", "key_rotated"), "rotate"),
    **dict.fromkeys(("key_repeated", "value_repeated"), "repeated"),
    **{role: role for role in ("cut", "flatten", "angles", "laid out")},
}
# The layer names of bert4keras (models.py), which many tutorials use, keyed by a step's key or block.
_KERAS = {
    "embeddings.input_ids": "Input-Token",
    "embeddings.token_type_ids": "Input-Segment",
    "embeddings.word": "Embedding-Token",
    "embeddings.token type": "Embedding-Segment",
    "embeddings.add_token_type": "Embedding-Token-Segment",
    "embeddings.position": "Embedding-Position",
    "embeddings.add_position": "Embedding-Position",
    "embeddings.norm": "Embedding-Norm",
    "embeddings.dropout": "Embedding-Dropout",
    "pooler.first_token": "Pooler",
    "pooler": "Pooler-Dense",
    "language model.norm": "MLM-Norm",
    "language model.decoder": "MLM-Bias",
    "language model": "MLM-Dense",
    "head.next sentence": "NSP-Proba",
}
for _block, _name in (
    ("attention", "MultiHeadSelfAttention"),
    ("cross-attention", "MultiHeadCrossAttention"),
    ("feed-forward", "FeedForward"),
):
    _KERAS[_block] = f"{_LAYERS_IN_KERAS}-{{n}}-{_name}"
    _KERAS |= {f"{_block}.{role}": f"{_KERAS[_block]}-{role.title()}" for role in ("dropout", "add", "norm")}
_FUSED = "query, key, value"  # the role of a single matrix for query, key and value


class Stop(NamedTuple):
    """A stop of the walk: one step, a few steps that form one idea, or several layers."""

    name: str  # the step's name; encoder.layer.before or .after for layers that are not opened
    key: str  # the step's key, such as attention.query; BEFORE or AFTER for layers that are not opened
    keras: str
    steps: tuple[Step, ...]  # the steps of one layer if the stop stands for several
    layers: int  # the number of layers that the stop stands for; 0 for single steps
    parameters: int
    so_far: int = 0  # parameters up to and including this stop
    alike: bool = True  # whether the layers that the stop stands for have the structure of the opened layer
    between: bool = False  # whether a step outside of layers runs between the layers that the stop stands for

    @property
    def inside(self) -> str:
        """The name relative to the layer, such as attention.self.query; outside of layers, the name itself."""
        return split_layer(self.name)[1]

    @property
    def in_layer(self) -> bool:
        """Whether the stop is in the opened layer."""
        return self.inside != self.name

    @property
    def shares(self) -> bool:
        """Whether all layers share the same tensors, as in ALBERT."""
        return any(step.shared for step in self.steps)

    @property
    def takes(self) -> tuple[Value, ...]:
        return self.steps[0].takes[:1] if self.layers else tuple(value for step in self.steps for value in step.takes)

    @property
    def gives(self) -> tuple[Value, ...]:
        if self.layers:
            return (self.steps[-1].gives,)
        return tuple(step.gives for step in self.steps if step.operation != "unused")

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors of the stop; none for layers that are not opened."""
        return () if self.layers else tuple(tensor for step in self.steps for tensor in step.tensors)


class KerasRow(NamedTuple):
    """The stops that belong to one Keras layer."""

    number: int
    keras: str
    stops: tuple[Stop, ...]
    parameters: int

    @property
    def shape(self) -> Shape:
        """The shape of the last output; empty if no step runs, as in cross-attention without an encoder's output."""
        values = [value for stop in self.stops for value in stop.gives]
        return values[-1].shape if values else ()


class InLayer(NamedTuple):
    """The progress in the opened layer: its parameters so far, and in total."""

    so_far: int
    total: int


@checked
def walk(steps: list[Step], layer: int = 0) -> list[Stop]:
    """The stops of a forward pass in order, with the layer number ``layer`` in full.

    The last stop's ``so_far`` is the model's total. Raises NoLayerError if the model has no such layer.
    """
    before, groups, after = layers = stack(steps)
    opened, length = layers.group(layer), layers.length
    inputs = [groups[0].entry]
    for group in groups:
        inputs += [group.last.replace("*", str(number)) for number in range(group.start, group.start + group.copies)]
    # The parameters of a layer in each group, without tensors that all layers share.
    own = [sum(step.num_parameters() for step in group.steps if not step.shared) for group in groups]
    stops = [
        *_single(before, layer),
        *_skipped(BEFORE, layers, 0, layer, opened, inputs, own),
        *_single([numbered(step, layer, {opened.entry: inputs[layer]}) for step in opened.steps], layer),
        *_skipped(AFTER, layers, layer + 1, length, opened, inputs, own),
        *_single([numbered(step, length - 1, {}) for step in after], layer),
    ]
    sums = accumulate(stop.parameters for stop in stops)
    return [stop._replace(so_far=so_far) for stop, so_far in zip(stops, sums, strict=True)]


def in_layer(stops: Sequence[Stop], position: int) -> InLayer | None:
    """The progress in the opened layer at the stop with index ``position``; None for stops outside the layer."""
    if not stops[position].in_layer:
        return None
    learned = [stop.parameters if stop.in_layer else 0 for stop in stops]
    return InLayer(sum(learned[: position + 1]), sum(learned))


@checked
def keras_rows(stops: list[Stop]) -> list[KerasRow]:
    """The stops grouped into rows, one for each Keras layer."""
    rows = []
    for number, (keras, group) in enumerate(groupby(stops, key=lambda stop: stop.keras), start=1):
        members = tuple(group)
        rows.append(KerasRow(number, keras, members, sum(stop.parameters for stop in members)))
    return rows


def per_head(attention: Attention) -> ModuleList:
    """Query, key and value as if each head had its own matrices: the same parameters, split by head."""
    size = attention.attention_head_size
    head = Module("Head")
    for name, child, _copies in attention.named_children(folded=True):
        if _is_projection(child):
            units = 3 * size if child.place.role == _FUSED else size
            inside: Linear | Conv1D = Conv1D(child.in_features, units)
            if isinstance(child, Linear):
                inside = Linear(child.in_features, units, bias="bias" in child.parameters)
            inside.place = child.place
            head.children[name] = inside
    return ModuleList(head, attention.num_attention_heads)


def _is_projection(module: Module) -> TypeGuard[Linear | Conv1D]:
    return isinstance(module, (Linear, Conv1D)) and module.place.role in ("query", "key", "value", _FUSED)


def factors(module: Module) -> dict[str, Shape]:
    """The shapes of the query, key and value parameters together: (copies, matrices, out, in) for the weights.

    All matrices must have the same shape. The shapes of biases also start with copies and matrices. Copies and matrices
    are left out if they are 1.
    """
    layers = [(child, copies) for _, child, copies in module.modules() if _is_projection(child)]
    first, copies = layers[0]
    repeats = () if copies == 1 else (copies,)
    if len(layers) > 1:
        repeats = (*repeats, len(layers))
    return {name: (*repeats, *shape) for name, shape in first.parameters.items()}


def _single(steps: list[Step], layer: int) -> Iterator[Stop]:
    """The stops of single steps; ``layer`` is the number of the opened layer."""
    for (name, key), group in groupby(steps, key=stop_of):
        members = tuple(group)
        keras = _KERAS.get(key) or _KERAS.get(key.split(".")[0]) or name
        # Shared tensors count in the first layer.
        learned = sum(step.num_parameters() for step in members if not (step.shared and layer))
        yield Stop(name, key, keras.format(n=layer), members, 0, learned)


def _skipped(
    key: str, layers: Stack, start: int, end: int, opened: Layers, inputs: list[str], own: list[int]
) -> Iterator[Stop]:
    """The layers from ``start`` to ``end`` (exclusive) as one stop; no stop for an empty range.

    The stop has the input of the first layer and the steps of the last one. ``own`` has the parameters of a layer in
    each group.
    """
    if start < end:
        learned = 0
        for group, of_layer in zip(layers.groups, own, strict=True):
            skipped = largest((0, smallest((end, group.start + group.copies)) - largest((start, group.start))))
            learned += skipped * of_layer
            learned += sum(step.num_parameters() for step in group.steps if step.shared and start == 0)
        last, keras = layers.group(end - 1), f"{_LAYERS_IN_KERAS}-{start}"
        several = fill("{first} ... {layers}-{last}", first=keras, layers=_LAYERS_IN_KERAS, last=end - 1)
        through = tuple(numbered(step, end - 1, {last.entry: inputs[start]}) for step in last.steps)
        name = f"{split_layer(last.steps[0].name)[0].rpartition('.')[0]}.{key.rpartition('.')[2]}"
        alike = layers.group(start).made == last.made == opened.made
        ends = (group.start + group.copies for group in layers.groups if len(group.steps) > len(group.made))
        between = any(start < boundary <= end for boundary in ends)
        named = either(end - start, 1, keras, several)
        yield Stop(name, key, named, through, end - start, learned, alike=alike, between=between)


def stop_of(step: Step) -> tuple[str, str]:
    """The (name, key) pair of the stop that a step belongs to."""
    together = _TOGETHER.get(step.place.role)
    if not together:
        return step.name, step.key
    path, dot, _last = step.name.rpartition(".")
    return path + dot + together, f"{step.key.rpartition('.')[0]}.{together}"
