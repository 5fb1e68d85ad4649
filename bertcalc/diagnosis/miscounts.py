"""What people do wrong when they count a BERT by hand, as changes of the tensors that they count.

A count is a list of tensors. A miscount takes a tensor and gives what is counted in its place: nothing, the same with
other sides or copies, or several. So they can be made one after the other, and with symbols one gives the formula
of what it changes.

>>> from bertcalc import BertConfig, build
>>> after = MISCOUNTS["positions"].make(counted(build(BertConfig())), MiscountSizes.of(BertConfig()))
>>> total(after) - 109482240  # 512 rows of 768
-393216
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.family import LANGUAGE_MODEL, Model
from bertcalc.text import N_
from bertcalc.tree.nn import AFTER_LAYERS, Component, Place, Shape, Tensor, split_layer

# Multiples to which libraries pad a vocabulary, for the sake of the hardware.
PADDED_TO = (8, 64, 128)


class MiscountSizes(NamedTuple):
    """The dimensions that miscounts put in wrong places: numbers or symbols."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    padded_sizes: tuple[int, ...]  # the vocabulary as a multiple of each of PADDED_TO

    @classmethod
    def of(cls, config: Config) -> "MiscountSizes":
        """The sizes of a configuration."""
        padded = tuple(-(-config.vocab_size // multiple) * multiple for multiple in PADDED_TO)
        return cls._make((*(getattr(config, field) for field in cls._fields[:-1]), padded))

    @property
    def padded(self) -> Mapping[int, int]:
        """The vocabulary as a multiple of each of PADDED_TO, by the multiple."""
        return dict(zip(PADDED_TO, self.padded_sizes, strict=True))


Change = Callable[[Tensor, MiscountSizes], Iterable[Tensor]]
Concerned = Callable[[Tensor], bool]


class Miscount(NamedTuple):
    """One mistake: what it is in words, what it makes of each tensor, and how rare it is.

    ``bits`` is the rarity: a mistake of 4 bits is made half as often as one of 3. Only what is ``drawn`` is put into
    exercises.
    """

    said: str  # an English sentence without its full stop, with places for ``values``
    change: Change
    bits: float = 6.0
    values: Mapping[str, str] = {}
    drawn: bool = True

    def make(self, tensors: Iterable[Tensor], sizes: MiscountSizes) -> tuple[Tensor, ...]:
        """What is counted after the miscount."""
        return tuple(after for tensor in tensors for after in self.change(tensor, sizes))


class Habit(NamedTuple):
    """A way of counting that is one idea and makes several miscounts: in words, and how rare it is."""

    said: str
    miscounts: tuple[str, ...]
    bits: float


def counted(model: Model) -> tuple[Tensor, ...]:
    """What a right count of a model counts: its tensors, under names without the body's prefix, and what it lacks."""
    tensors = tuple(tensor._replace(name=model.bare(tensor.name)) for tensor in model.tensors())
    return (*tensors, *_lacking(tensors, model.config))


def _lacking(tensors: Sequence[Tensor], config: Any) -> Iterator[Tensor]:
    """What people count although a model does not have it: tensors without elements, with brackets round their names.

    Their last side is 0; without that one they have the shape that is counted.
    """
    hidden, words = config.hidden_size, next(filter(role("word"), tensors)).shape
    wide = words[1:]
    lacking = [
        ("decoder.weight", Place("head", LANGUAGE_MODEL, "decoder"), words),
        ("decoder.bias", Place("head", LANGUAGE_MODEL, "decoder bias"), words[:1]),
    ]
    for concerned, name, place, *shapes in (
        (_POOLER, "pooler.dense", Place("pooler", role="dense"), (hidden, hidden), (hidden,)),
        (role("position"), "positions", Place("embeddings", role="position"), (config.max_position_embeddings, *wide)),
        (role("token type"), "token types", Place("embeddings", role="token type"), (2, *wide)),
        (both(_EMBEDDINGS, NORM), "embedding LayerNorm", Place("embeddings", role="norm"), (2, *wide)),
        (block(AFTER_LAYERS), "final LayerNorm", Place("head", AFTER_LAYERS, "norm"), (2, hidden)),
        (_NEXT, "next sentence", Place("head", role="next sentence"), (2, hidden), (2,)),
    ):
        if not any(map(concerned, tensors)):
            names = (f"{name}.weight", f"{name}.bias")
            lacking += [(last, place, shape) for last, shape in zip(names, shapes, strict=False)]
    yield from (Tensor(f"({name})", (*shape, 0), 1, place) for name, place, shape in lacking)
    there = {tensor.name for tensor in tensors}
    related = any(map(role("relative embedding"), tensors)) and not any(map(role("position query"), tensors))
    for tensor in tensors:
        if related and tensor.place.role in ("query", "key"):
            place = tensor.place._replace(role=f"position {tensor.place.role}")
            yield tensor._replace(name=f"({tensor.name} of positions)", shape=(*tensor.shape, 0), place=place)
        bias = tensor.name.removesuffix("weight") + "bias"
        if tensor.name.endswith("weight") and bias not in there and (NORM(tensor) or _IN_LAYER(tensor)):
            roles = tensor.place.role.split(", ")  # of one matrix for several, some may have a bias of their own
            own = sum(one.shape[0] for one in tensors if is_bias(one) and one.place.role in roles)
            yield tensor._replace(name=f"({bias})", shape=(tensor.shape[0] - own, 0))


def is_lacking(tensor: Tensor) -> bool:
    """Whether a model does not have a tensor."""
    return tensor.name.startswith("(")


def total(tensors: Iterable[Tensor]) -> int:
    """Elements of all tensors together."""
    return sum(tensor.num_parameters() for tensor in tensors)


def role(*roles: str) -> Concerned:
    """Tensors of some roles."""
    return lambda tensor: tensor.place.role in roles


def component(name: Component) -> Concerned:
    """Tensors of a component."""
    return lambda tensor: tensor.place.component == name


def block(*blocks: str) -> Concerned:
    """Tensors of some blocks."""
    return lambda tensor: tensor.place.block in blocks


def both(*all_of: Concerned) -> Concerned:
    """Tensors that all of some descriptions fit."""
    return lambda tensor: all(one(tensor) for one in all_of)


def is_bias(tensor: Tensor) -> bool:
    """Whether a tensor is a bias of a Linear."""
    return tensor.name.endswith(("bias", "bias)")) and tensor.place.role != "norm"


def _is_beta(tensor: Tensor) -> bool:
    return tensor.name.endswith("bias") and tensor.place.role == "norm"


def _is_matrix(tensor: Tensor) -> bool:
    return len(tensor.shape) == 2


def _is_whole(tensor: Tensor) -> bool:
    """Whether a LayerNorm that a model lacks is lacking with its gamma, and not its beta alone."""
    return len(tensor.shape) == 3


def in_layer(tensor: Tensor) -> bool:
    """Whether a tensor is in a layer, and no map to the layers or LayerNorm after them."""
    return bool(split_layer(tensor.name)[0])


def _repeats(tensor: Tensor) -> bool:
    return "*" in tensor.name


NORM = role("norm")
_EMBEDDINGS, _POOLER, _HEAD = component("embeddings"), component("pooler"), component("head")
QKV = ("query", "key", "value", "query, key, value", "key, value")  # the last two are several in one matrix
_QKV = role(*QKV)
_ATTENTION = role(*QKV, "position query", "position key", "output")
_FEED_FORWARD = role("up", "gate", "up and gate", "down")
_IN_LAYER = both(in_layer, role(*QKV, "position query", "position key", "output", "up", "gate", "up and gate", "down"))
_FIRST = role("up", "up and gate")
_NEXT = role("next sentence", "sentence order")
_CLASSIFIER = role("classifier", "answer span", "next sentence", "sentence order")
_DISTANCES = role("distance", "relative position", "relative embedding")


def _where(concerned: Concerned, change: Change) -> Change:
    """A change of the tensors of the model that are concerned; every other one stays as it is."""
    return lambda tensor, sizes: change(tensor, sizes) if concerned(tensor) and not is_lacking(tensor) else (tensor,)


def _added(*concerned: Concerned) -> Change:
    """What a model lacks is counted."""
    of_it = both(is_lacking, *concerned)
    return lambda tensor, sizes: (
        (tensor._replace(name=tensor.name[1:-1], shape=tensor.shape[:-1]),) if of_it(tensor) else (tensor,)
    )


def _without(*concerned: Concerned) -> Change:
    return _where(both(*concerned), lambda tensor, sizes: ())


def _more(concerned: Concerned, like: Callable[[Tensor], Tensor]) -> Change:
    """Beside each tensor another one like it."""
    return _where(concerned, lambda tensor, sizes: (tensor, like(tensor)))


def _with_sides(concerned: Concerned, sides: Callable[[Tensor, MiscountSizes], Sequence[Any]]) -> Change:
    return _where(concerned, lambda tensor, sizes: (tensor._replace(shape=tuple(sides(tensor, sizes))),))


def _rows(*roles: str) -> Callable[[int], Change]:
    """Changes that give tables of these roles another number of rows."""
    return lambda rows: _with_sides(role(*roles), lambda tensor, sizes: (rows, *tensor.shape[1:]))


def _twice(*concerned: Concerned) -> Change:
    return _where(both(*concerned), lambda tensor, sizes: (tensor._replace(copies=2 * tensor.copies),))


def _for_each_layer(concerned: Concerned) -> Change:
    return _where(concerned, lambda tensor, sizes: (tensor._replace(copies=sizes.num_hidden_layers * tensor.copies),))


def _once(*concerned: Concerned) -> Change:
    """One layer of those that are alike."""
    return _where(
        both(*concerned),
        lambda tensor, sizes: () if split_layer(tensor.name)[0].endswith(".0") else (tensor._replace(copies=1),),
    )


def _is_shared(tensor: Tensor, sizes: MiscountSizes) -> bool:
    """Whether a tensor of a layer is the same in all layers."""
    return tensor.copies == 1 and sizes.num_hidden_layers != 1


def _layers(layers: Callable[[Any], Any]) -> Change:
    """Another number of layers, where layers do not share their tensors; a first layer that differs stays."""

    def change(tensor: Tensor, sizes: MiscountSizes) -> Iterable[Tensor]:
        more = layers(sizes.num_hidden_layers) - sizes.num_hidden_layers
        return (tensor if _is_shared(tensor, sizes) else tensor._replace(copies=tensor.copies + more),)

    return _where(_repeats, change)


def _in_every_layer(alone: Callable[[Tensor, MiscountSizes], bool]) -> Change:
    """As many copies as there are layers of what has fewer."""
    return _where(
        _repeats,
        lambda tensor, sizes: (tensor._replace(copies=sizes.num_hidden_layers) if alone(tensor, sizes) else tensor,),
    )


def _not_in_first(tensor: Tensor, sizes: MiscountSizes) -> bool:
    """Whether a tensor is in all layers but the first, which ModernBERT's first LayerNorm is."""
    return tensor.place[1:] == ("attention", "norm") and tensor.copies == sizes.num_hidden_layers - 1


def _parted(tensor: Tensor, sizes: MiscountSizes, parts: int) -> Shape:
    """The shape of one of so many equal parts of what a projection gives.

    What it takes, the hidden size, is its last side, and of GPT-2's, which are the other way round, the first.
    """
    first, *others = tensor.shape
    return (first, others[0] // parts) if others and first == sizes.hidden_size else (first // parts, *others)


def _for_all_heads(tensor: Tensor, sizes: MiscountSizes) -> Sequence[Any]:
    """The sides of keys and values that each head has for itself."""
    return tensor.shape if tensor.shape[0] == sizes.hidden_size else (sizes.hidden_size, *tensor.shape[1:])


def _heads_times(tensor: Tensor, sizes: MiscountSizes) -> Shape:
    return (sizes.num_attention_heads, *tensor.shape)


def _for_each_position(tensor: Tensor, sizes: MiscountSizes) -> Sequence[Any]:
    return sizes.max_position_embeddings, *tensor.shape


def _hidden(tensor: Tensor, sizes: MiscountSizes) -> Shape:
    """The shape with the hidden size as its last side."""
    return (*tensor.shape[:-1], sizes.hidden_size)


def _wide(width: Callable[[MiscountSizes], Any]) -> Change:
    """Another size in place of the intermediate one."""

    def sides(tensor: Tensor, sizes: MiscountSizes) -> Sequence[Any]:
        wide = 2 * width(sizes) if tensor.place.role == "up and gate" else width(sizes)
        if len(tensor.shape) == 1:
            return tensor.shape if tensor.place.role == "down" else (wide,)
        rows = tensor.shape[0] != sizes.hidden_size  # so that GPT-2's matrices can be the other way round
        return [wide if rows == (side == 0) else tensor.shape[side] for side in (0, 1)]

    return _with_sides(_FEED_FORWARD, sides)


def _rare(said: str, change: Change, bits: float, **values: str) -> Miscount:
    return Miscount(said, change, bits, values, drawn=False)


def _taken(letter: str, said: str, change: Callable[[int], Change], bits: Mapping[int, float]) -> dict[str, Miscount]:
    """A size that people remember from another model than the one they count, and how rare that is."""
    return {f"{letter}={size}": _rare(said, change(size), rare, size=f"{size:,}") for size, rare in bits.items()}


_VOCABULARIES = {
    30_000: 4.5,
    30_522: 5.5,
    21_128: 5.5,
    28_996: 6.0,
    50_265: 6.5,
    119_547: 6.5,
    32_000: 7.0,
    50_000: 6.5,
    50_257: 6.5,
    **dict.fromkeys((18_000, 20_000, 31_000, 40_000, 50_280, 100_000, 105_879, 128_000, 250_000, 250_002), 7.0),
}
_POSITIONS = {512: 2.9, 514: 5.5, 1_024: 6.0, 128: 7.0, 256: 7.0, 2_048: 7.5}
_DISTANCES_TAKEN = {256: 4.5, 1_024: 5.0}
_TYPES = {1: 5.0, 2: 3.5, 3: 6.5}
_LABELS = {1: 5.5, 3: 5.5, 5: 6.5, 10: 6.5}
_LAYERS = {6: 6.5, 12: 6.0, 24: 6.5, **dict.fromkeys((2, 3, 4, 8, 10, 16, 18, 36), 7.0)}
_INTERMEDIATES = {1_024: 7.0, 2_048: 6.0, 3_072: 6.0, 4_096: 6.5}
_PADDED = {
    8: N_("the vocabulary is rounded up to a multiple of 8"),
    64: N_("the vocabulary is rounded up to a multiple of 64"),
    128: N_("the vocabulary is rounded up to a multiple of 128"),
}

# In the order in which they are made: what is added first, then biases, then whole parts, then sides and copies. So
# "attention for one layer" after "biases of the attention" is about the weights that are left.
MISCOUNTS: Mapping[str, Miscount] = {
    "pooler added": Miscount(N_("a pooler is counted that this model does not have"), _added(_POOLER), 3.0),
    "decoder again": Miscount(
        N_("the decoder is counted as a separate matrix, although it is the word embeddings again"),
        _added(role("decoder")),
        3.0,
    ),
    "decoder bias again": _rare(
        N_("a bias of the decoder is counted that this model does not have, or has already"),
        _added(role("decoder bias")),
        4.5,
    ),
    "positions added": _rare(
        N_("position embeddings are counted, which this model does not have"), _added(role("position")), 3.0
    ),
    "token types added": _rare(
        N_("two token types are counted, which this model does not have"), _added(role("token type")), 3.5
    ),
    "decoder of H": _rare(
        N_("the decoder is counted as a separate matrix, and as wide as the hidden size"),
        lambda tensor, sizes: (
            (tensor._replace(name="decoder.weight", shape=(tensor.shape[0], sizes.hidden_size)),)
            if tensor.name == "(decoder.weight)"
            else (tensor,)
        ),
        4.5,
    ),
    "embedding LayerNorm added": _rare(
        N_("a LayerNorm of the embeddings is counted, which this model does not have"),
        _added(_EMBEDDINGS, NORM, _is_whole),
        4.0,
    ),
    "final LayerNorm added": _rare(
        N_("a LayerNorm after the last layer is counted, which this model does not have"),
        _added(block(AFTER_LAYERS), _is_whole),
        5.5,
    ),
    "next sentence added": _rare(
        N_("a head for the next sentence is counted, which this model does not have"), _added(_NEXT), 5.0
    ),
    "layer biases added": _rare(
        N_("biases are counted in attention and feed-forward, which this model does not have"),
        _added(_IN_LAYER, is_bias),
        3.5,
    ),
    "attention biases added": _rare(
        N_("biases are counted in the attention, which this model does not have"),
        _added(_IN_LAYER, _ATTENTION, is_bias),
        4.5,
    ),
    "feed-forward biases added": _rare(
        N_("biases are counted in the feed-forward, which this model does not have"),
        _added(_IN_LAYER, _FEED_FORWARD, is_bias),
        4.5,
    ),
    "betas added": _rare(
        N_("each LayerNorm is given a beta, which this model does not have"),
        _added(NORM, lambda tensor: not _is_whole(tensor)),
        4.0,
    ),
    "position projections added": _rare(
        N_("queries and keys of positions have matrices of their own, which this model does not have"),
        _added(role("position query", "position key")),
        4.5,
    ),
    "cross attention added": _rare(
        N_("a cross attention is counted in each layer, which this model does not have"),
        _more(
            block("attention"),
            lambda tensor: tensor._replace(
                name=f"{tensor.name} (cross)", place=tensor.place._replace(block="cross-attention")
            ),
        ),
        6.0,
    ),
    "third LayerNorm": _rare(
        N_("three LayerNorms are counted in each layer"),
        _more(both(block("attention"), in_layer, NORM), lambda tensor: tensor._replace(name=f"{tensor.name} (third)")),
        6.0,
    ),
    "first layer alike": _rare(
        N_("the first layer is counted like the others, with a LayerNorm that it does not have"),
        _in_every_layer(_not_in_first),
        2.5,
    ),
    "biases": Miscount(N_("no bias of any Linear is counted"), _without(is_bias), 3.2),
    "layer biases": Miscount(
        N_("the biases of the layers are left out, in attention and feed-forward"), _without(in_layer, is_bias), 3.0
    ),
    "attention biases": Miscount(N_("the biases of the attention are left out"), _without(_ATTENTION, is_bias), 3.5),
    "qkv biases": _rare(N_("the biases of query, key and value are left out"), _without(_QKV, is_bias), 4.0),
    "output bias": _rare(
        N_("the bias of the attention's output projection is left out"), _without(role("output"), is_bias), 5.0
    ),
    "feed-forward biases": Miscount(
        N_("the biases of the feed-forward are left out"), _without(_FEED_FORWARD, is_bias), 4.0
    ),
    "up bias": _rare(N_("the first bias of the feed-forward is left out"), _without(_FIRST, is_bias), 5.5),
    "down bias": _rare(N_("the second bias of the feed-forward is left out"), _without(role("down"), is_bias), 5.5),
    "pooler bias": Miscount(N_("the bias of the pooler is left out"), _without(_POOLER, is_bias), 4.5),
    "map bias": _rare(
        N_("the bias of the projection from the embeddings to the layers is left out"),
        _without(role("map"), is_bias),
        4.5,
    ),
    "head biases": Miscount(N_("the biases of the head are left out"), _without(_HEAD, is_bias), 4.0),
    "transform bias": _rare(
        N_("the bias of the head's transform is left out"), _without(role("transform"), is_bias), 5.0
    ),
    "classifier bias": _rare(N_("the bias of the classifier is left out"), _without(_CLASSIFIER, is_bias), 4.0),
    "decoder bias": _rare(
        N_("the bias of the decoder is left out"), _without(role("decoder bias", "decoder"), is_bias), 3.5
    ),
    "LayerNorm half": Miscount(N_("of each LayerNorm only gamma is counted, not beta"), _without(_is_beta), 5.0),
    "LayerNorm": Miscount(N_("no LayerNorm is counted"), _without(NORM), 3.5),
    "embedding LayerNorm": Miscount(
        N_("the LayerNorm of the embeddings is left out"), _without(_EMBEDDINGS, NORM), 3.0
    ),
    "layer LayerNorms": Miscount(N_("the LayerNorms of the layers are left out"), _without(in_layer, NORM), 4.0),
    "layer LayerNorms half": _rare(
        N_("of each LayerNorm of the layers only gamma is counted, not beta"), _without(in_layer, _is_beta), 5.0
    ),
    "second LayerNorm": Miscount(
        N_("of the two LayerNorms of a layer only one is counted"), _without(block("feed-forward"), NORM), 4.0
    ),
    "final LayerNorm": _rare(
        N_("the LayerNorm after the last layer is left out"), _without(block(AFTER_LAYERS), NORM), 3.5
    ),
    "head LayerNorm": _rare(N_("the LayerNorm of the head is left out"), _without(_HEAD, NORM), 4.0),
    "embeddings": Miscount(N_("the embeddings are left out, with their LayerNorm"), _without(_EMBEDDINGS), 4.0),
    "words": Miscount(N_("the word embeddings are left out"), _without(role("word")), 4.0),
    "positions": Miscount(N_("the position embeddings are left out"), _without(role("position")), 3.5),
    "token types": Miscount(N_("the token type embeddings are left out"), _without(role("token type")), 3.0),
    "task types": _rare(N_("the table of tasks is left out"), _without(role("task type")), 3.0),
    "embedding map": _rare(
        N_("the projection from the embeddings to the layers is left out"), _without(role("map")), 3.5
    ),
    "distances": Miscount(N_("the embeddings of relative distances are left out"), _without(_DISTANCES), 3.0),
    "distances' LayerNorm": _rare(
        N_("the LayerNorm of the relative distances is left out"), _without(block("relative positions"), NORM), 4.0
    ),
    "cross attention": Miscount(N_("the cross attention is left out"), _without(block("cross-attention")), 4.0),
    "output projection": Miscount(
        N_("the output projection of the attention is left out"), _without(role("output")), 4.5
    ),
    "matrix of the output projection": _rare(
        N_("the output projection of the attention is left out, but not its bias"),
        _without(role("output"), _is_matrix),
        5.5,
    ),
    "matrix of the second": _rare(
        N_("the second matrix of the feed-forward is left out, but not its bias"),
        _without(role("down"), _is_matrix),
        5.5,
    ),
    "first matrix": _rare(N_("the first matrix of the feed-forward is left out, with its bias"), _without(_FIRST), 5.5),
    "second matrix": Miscount(
        N_("the second matrix of the feed-forward is left out, with its bias"), _without(role("down")), 5.0
    ),
    "pooler": Miscount(N_("the pooler is left out"), _without(_POOLER), 2.0),
    "transform": _rare(N_("the transform of the head is left out, with its bias"), _without(role("transform")), 4.0),
    "head dense": _rare(
        N_("the first matrix of the head is left out, with its bias"), _without(_HEAD, role("dense")), 3.5
    ),
    "classifier": _rare(N_("the classifier is left out, with its bias"), _without(_CLASSIFIER), 4.0),
    "next sentence": _rare(N_("the head for the order of sentences is left out"), _without(_NEXT), 3.5),
    "head": Miscount(N_("the head is left out"), _without(_HEAD), 3.0),
    "one of three": Miscount(
        N_("query, key and value are counted as one matrix"),
        _where(
            _QKV,
            lambda tensor, sizes: (
                (tensor._replace(shape=_parted(tensor, sizes, tensor.place.role.count(",") + 1)),)
                if tensor.place.role.startswith("query")
                else ()
            ),
        ),
        5.0,
    ),
    "one head": Miscount(
        N_("query, key and value are counted for one head"),
        _with_sides(_QKV, lambda tensor, sizes: _parted(tensor, sizes, sizes.num_attention_heads)),
        5.0,
    ),
    "keys for all heads": _rare(
        N_("each head is given a key and a value of its own, although several heads share them"),
        _with_sides(role("key", "value"), _for_all_heads),
        3.0,
    ),
    "small output projection": _rare(
        N_("the output projection of the attention is counted for one head"),
        _with_sides(
            both(role("output"), _is_matrix),
            lambda tensor, sizes: (tensor.shape[0], sizes.hidden_size // sizes.num_attention_heads),
        ),
        6.0,
    ),
    "heads times": Miscount(
        N_("each head is given matrices of the full hidden size"), _with_sides(_QKV, _heads_times), 5.0
    ),
    "heads times without bias": _rare(
        N_("each head is given matrices of the full hidden size, without biases"),
        _where(
            _QKV,
            lambda tensor, sizes: () if is_bias(tensor) else (tensor._replace(shape=_heads_times(tensor, sizes)),),
        ),
        5.5,
    ),
    "gated": Miscount(
        N_("the feed-forward is counted as a gated one, with a third matrix"),
        _more(
            both(role("up"), _is_matrix),
            lambda tensor: tensor._replace(name=f"{tensor.name} (gate)", place=tensor.place._replace(role="gate")),
        ),
        6.0,
    ),
    "gate": Miscount(
        N_("the gate of the feed-forward is left out"),
        _where(
            role("gate", "up and gate"),
            lambda tensor, sizes: (
                ()
                if tensor.place.role == "gate"
                else (
                    tensor._replace(
                        shape=(tensor.shape[0] // 2, *tensor.shape[1:]), place=tensor.place._replace(role="up")
                    ),
                )
            ),
        ),
        4.0,
    ),
    "four times": Miscount(
        N_("the intermediate size is assumed to be 4 times the hidden size"), _wide(lambda s: 4 * s.hidden_size), 4.0
    ),
    "three times": _rare(
        N_("the intermediate size is assumed to be 3 times the hidden size"), _wide(lambda s: 3 * s.hidden_size), 6.5
    ),
    "two times": _rare(
        N_("the intermediate size is assumed to be 2 times the hidden size"), _wide(lambda s: 2 * s.hidden_size), 6.0
    ),
    "intermediate as hidden": _rare(
        N_("the intermediate size is assumed to be the hidden size"), _wide(lambda s: s.hidden_size), 6.5
    ),
    **_taken(
        "I",
        N_("the intermediate size is taken to be {size}"),
        lambda size: _wide(lambda sizes: size),
        _INTERMEDIATES,
    ),
    "feed-forward biases of H": _rare(
        N_("both biases of the feed-forward are counted with the hidden size"),
        _with_sides(both(_FEED_FORWARD, is_bias), lambda tensor, sizes: (sizes.hidden_size,)),
        5.0,
    ),
    "feed-forward biases of I": _rare(
        N_("both biases of the feed-forward are counted with the intermediate size"),
        _with_sides(both(_FEED_FORWARD, is_bias), lambda tensor, sizes: (sizes.intermediate_size,)),
        5.5,
    ),
    **{
        f"padded to {multiple}": Miscount(
            said,
            _with_sides(
                role("word", "decoder", "decoder bias"),
                lambda tensor, sizes, multiple=multiple: (sizes.padded[multiple], *tensor.shape[1:]),  # type: ignore[misc]
            ),
            5.5,
        )
        for multiple, said in _PADDED.items()
    },
    **_taken("V", N_("the vocabulary is taken to be {size}"), _rows("word", "decoder", "decoder bias"), _VOCABULARIES),
    **_taken("P", N_("the number of positions is taken to be {size}"), _rows("position"), _POSITIONS),
    **_taken("T", N_("the number of token types is taken to be {size}"), _rows("token type"), _TYPES),
    **_taken(
        "distances",
        N_("the number of relative distances is taken to be {size}"),
        _rows("relative embedding"),
        _DISTANCES_TAKEN,
    ),
    **_taken("labels", N_("the number of labels is taken to be {size}"), _rows("classifier"), _LABELS),
    "positions of H": _rare(
        N_("the position embeddings are counted with the hidden size"), _with_sides(role("position"), _hidden), 5.5
    ),
    "positions and types of H": _rare(
        N_("positions and token types are counted with the hidden size"),
        _with_sides(role("position", "token type"), _hidden),
        5.5,
    ),
    "words of H": _rare(
        N_("the word embeddings are counted with the hidden size"), _with_sides(role("word"), _hidden), 5.0
    ),
    "tables of H": _rare(
        N_("the embeddings are counted with the hidden size, and with a projection to it"),
        _with_sides(both(_EMBEDDINGS, lambda tensor: tensor.place.role != "map"), _hidden),
        4.5,
    ),
    "embeddings of H": _rare(
        N_("the embeddings are counted with the hidden size, without a projection to it"),
        _where(
            lambda tensor: _EMBEDDINGS(tensor) or tensor.place.role == "map",
            lambda tensor, sizes: (
                () if tensor.place.role == "map" else (tensor._replace(shape=_hidden(tensor, sizes)),)
            ),
        ),
        3.5,
    ),
    "transform of H": _rare(
        N_("the transform of the head is counted with the hidden size, as in BERT"),
        _with_sides(
            both(block(LANGUAGE_MODEL), role("transform", "norm")),
            lambda tensor, sizes: (sizes.hidden_size,) * len(tensor.shape),
        ),
        5.0,
    ),
    "LayerNorm 4H": _rare(N_("each LayerNorm is counted twice, as 4 H"), _twice(NORM), 5.5),
    "layer LayerNorms 4H": _rare(
        N_("each LayerNorm of the layers is counted twice, as 4 H"), _twice(in_layer, NORM), 6.0
    ),
    "LayerNorm P x H": _rare(
        N_("each LayerNorm is given a gamma and a beta for each position"), _with_sides(NORM, _for_each_position), 5.5
    ),
    "embedding LayerNorm P x H": _rare(
        N_("the LayerNorm of the embeddings is given a gamma and a beta for each position"),
        _with_sides(both(_EMBEDDINGS, NORM), _for_each_position),
        6.0,
    ),
    "embedding LayerNorm of V": _rare(
        N_("the LayerNorm of the embeddings is counted over the vocabulary"),
        _with_sides(both(_EMBEDDINGS, NORM), lambda tensor, sizes: (sizes.vocab_size,)),
        6.5,
    ),
    "head LayerNorm of V": _rare(
        N_("the LayerNorm of the head is counted over the vocabulary"),
        _with_sides(both(_HEAD, NORM), lambda tensor, sizes: (sizes.vocab_size,)),
        6.5,
    ),
    "pooler again": _rare(N_("the pooler is counted twice"), _twice(_POOLER), 6.5),
    "pooler in every layer": _rare(N_("the pooler is counted in every layer"), _for_each_layer(_POOLER), 6.0),
    "all in every layer": _rare(
        N_("embeddings and pooler are counted in every layer"),
        _for_each_layer(lambda t: _EMBEDDINGS(t) or _POOLER(t)),
        6.0,
    ),
    **{
        f"{name} bias again": _rare(said, _twice(role(*roles), is_bias), 6.5)
        for name, said, roles in (
            ("output", N_("the bias of the attention's output projection is counted twice"), ("output",)),
            ("up", N_("the first bias of the feed-forward is counted twice"), ("up", "up and gate")),
            ("down", N_("the second bias of the feed-forward is counted twice"), ("down",)),
        )
    },
    "attention twice": _rare(N_("the attention is counted twice"), _twice(_ATTENTION), 6.5),
    "feed-forward twice": _rare(N_("the feed-forward is counted twice"), _twice(_FEED_FORWARD), 6.5),
    "layers not shared": _rare(
        N_("each layer is given tensors of its own, although all layers share them"), _in_every_layer(_is_shared), 2.5
    ),
    "attention once": Miscount(N_("the attention is counted for one layer"), _once(_ATTENTION), 5.0),
    "feed-forward once": Miscount(N_("the feed-forward is counted for one layer"), _once(_FEED_FORWARD), 5.5),
    "LayerNorms once": _rare(N_("the LayerNorms of the layers are counted for one layer"), _once(in_layer, NORM), 5.0),
    "encoder once": Miscount(N_("a single layer is counted"), _once(in_layer), 4.5),
    "layer less": Miscount(
        N_("one layer too few is counted"), _layers(lambda layers: 1 if layers == 1 else layers - 1), 5.5
    ),
    "layer more": _rare(N_("one layer too many is counted"), _layers(lambda layers: layers + 1), 5.5),
    **_taken("L", N_("the number of layers is taken to be {size}"), lambda size: _layers(lambda layers: size), _LAYERS),
}


def _habit(bits: float, said: str, miscounts: str) -> Habit:
    return Habit(said, tuple(miscounts.split(" + ")), bits)


# Ways of counting that are one idea each. What of one a model has not is left out.
HABITS: Mapping[str, Habit] = {
    "words and layers": _habit(
        4.0,
        N_("only the word embeddings and the layers are counted"),
        "positions + token types + embedding LayerNorm + pooler",
    ),
    "words, positions and layers": _habit(
        5.5, N_("only words, positions and the layers are counted"), "token types + embedding LayerNorm + pooler"
    ),
    "matrices": _habit(4.0, N_("only matrices are counted, no vector"), "biases + LayerNorm"),
    "matrices of tables and layers": _habit(
        4.5, N_("only the matrices of embeddings and layers are counted"), "biases + LayerNorm + pooler"
    ),
    "matrices of words, positions and layers": _habit(
        5.5,
        N_("only the matrices of words, positions and layers are counted"),
        "biases + LayerNorm + token types + pooler",
    ),
    "matrices of words and layers": _habit(
        5.0,
        N_("only the matrices of words and layers are counted"),
        "biases + LayerNorm + positions + token types + pooler",
    ),
    "matrices of the layers": _habit(
        4.5, N_("of the layers only the matrices are counted"), "layer biases + layer LayerNorms"
    ),
    "large parts": _habit(
        6.5,
        N_("only tables and matrices are counted, and one LayerNorm in each layer"),
        "layer biases + embedding LayerNorm + second LayerNorm + pooler",
    ),
    "three matrices of the attention": _habit(
        5.5,
        N_("of the attention only the matrices of query, key and value are counted"),
        "qkv biases + output projection",
    ),
    "head is its decoder": _habit(3.5, N_("of the head only the decoder is counted"), "head LayerNorm + transform"),
    "separate decoder": _habit(
        4.0,
        N_("the decoder is counted as a Linear of its own, with a matrix and a bias"),
        "decoder again + decoder bias again",
    ),
    "head is a Linear": _habit(
        4.5,
        N_("the head is counted as a single Linear to the vocabulary"),
        "decoder again + head LayerNorm + transform",
    ),
    "one head": _habit(5.5, N_("the attention is counted for one head"), "one head + small output projection"),
    "as BERT": _habit(4.5, N_("the sizes of BERT's tables are taken"), "P=512 + T=2"),
    "as BERT with types": _habit(5.0, N_("the sizes of BERT's tables are taken"), "token types added + P=512"),
    "tables as in BERT": _habit(
        4.5,
        N_("the embeddings are counted like BERT's, with positions and token types"),
        "positions added + token types added",
    ),
    "vectors as in BERT": _habit(
        4.0, N_("biases and LayerNorms are counted like BERT's"), "layer biases added + betas added"
    ),
    "no bias": _habit(5.0, N_("nothing has a bias, no Linear and no LayerNorm"), "biases + LayerNorm half"),
    "plain feed-forward": _habit(
        5.0, N_("the feed-forward is counted as a plain one of 4 H, without a gate"), "gate + four times"
    ),
    "usable positions": _habit(
        5.5,
        N_("only positions that a text can have are counted, no token type and no pooler"),
        "token types + pooler + P=512",
    ),
    "unshared BERT": _habit(
        3.5,
        N_("it is counted like a BERT: layers of their own, embeddings as wide as they are"),
        "embeddings of H + layers not shared",
    ),
}
