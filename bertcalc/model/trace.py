"""The trace: a family's program declares and runs its modules in one call, and the trace records them.

    with t.module("output", "BertSelfOutput"):
        y = t.dropout("dropout", t.linear("dense", y, c.hidden_size, role="output"), c.hidden_dropout_prob)
        x = t.norm("LayerNorm", t.add("add", y, x), c.layer_norm_eps)

The result is the module tree (for ``print(model)``), the tensors in Hugging Face's order, and the steps of the forward
pass. Sizes can be integers, SymPy symbols or NumPy columns.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from types import TracebackType
from typing import Any, Literal, NamedTuple

from bertcalc.config.activations import ACTIVATIONS
from bertcalc.model.batch import Batch
from bertcalc.model.modules import (
    NO_TENSORS,
    NOT_TIED,
    NOWHERE,
    Activation,
    Attention,
    Component,
    Conv1D,
    Convolution,
    Dropout,
    Embedding,
    Linear,
    Module,
    ModuleList,
    Norm,
    Place,
    Shape,
    Tensor,
)

Operation = Literal[
    "input",
    "lookup",
    "unused",
    "linear",
    "convolution",
    "matmul",
    "norm",
    "dropout",
    "activation",
    "add",
    "multiply",
    "angles",
    "rotate",
    "repeat",
    "mean",
    "scale",
    "divide",
    "fill",
    "gather",
    "table",
    "softmax",
    "view",
    "copy",
]


class _Roles(dict[str, Place]):
    """The places in a component and block, keyed by role and created on first use."""

    def __init__(self, component: Component = "head", block: str = "") -> None:
        self.component: Component = component
        self.block = block

    def __missing__(self, role: str) -> Place:
        self[role] = place = Place(self.component, self.block, role)
        return place


_roles = lru_cache(maxsize=1024)(_Roles)


class Value(NamedTuple):
    """A value between two steps, named after the step that produces it; it is int64 if ``ids``, otherwise float."""

    name: str
    shape: Shape
    ids: bool = False


class Step(NamedTuple):
    """One operation, or all its runs if it is in a repeated layer.

    ``name`` is the module's name without the body's prefix ("bert."). If the operation is not a module, its
    name is the name of the module that performs it in its forward method, plus a word:
    ``encoder.layer.*.attention.self.scores``.

    - ``takes``, ``gives``: the inputs and the result.
    - ``runs``: how often it runs.
    - ``place``: its component, block and role.
    - ``core``: whether it belongs to the attention core, from query, key and value to the context.
    - ``output``: the name under which the model returns its result.
    - ``variable``: (module, variable name) if the forward method of the module holds the result in a variable.
    - ``in_place``: whether the result reuses the memory of the first input.
    - ``turns``: the values of the last input, if it differs between layers. Layer n uses the value at index
      n % len(turns).
    - ``wide``: whether it is computed in float32, whatever the model's dtype.
    - ``again``: whether it is a further call of a module, which adds no parameters.
    - ``asides``: operations before this step in the body's forward method that are not steps (see ``Trace.aside``).
    - ``by_heads``: whether the heads are split before the last axis is cut (see ``Trace.cut``).
    - ``parts``: the steps that replace it after a change of the model, such as an adapter. ``Model.steps`` lists them
      instead of this step.
    """

    name: str
    operation: Operation
    takes: tuple[Value, ...]
    gives: Value
    tensors: tuple[Tensor, ...]
    runs: int
    module: Module | None = None  # the called module, if the operation is a module
    place: Place = NOWHERE
    core: bool = False
    output: str = ""
    variable: tuple[str, str] | None = None
    in_place: bool = False
    turns: tuple[Value, ...] = ()
    wide: bool = False
    again: bool = False
    asides: tuple[str, ...] = ()
    by_heads: bool = False
    parts: "tuple[Step, ...]" = ()

    @property
    def key(self) -> str:
        """The meaning of the step as text, independent of the names of modules: attention.query."""
        component, block, role = self.place
        return f"{block or component}.{role}"

    @property
    def within(self) -> str:
        """The name of the module that runs it in its forward method; "" for the body or the class itself."""
        return self.name.rpartition(".")[0]

    @property
    def shared(self) -> bool:
        """Whether all its runs share the same tensors, as in ALBERT's layers."""
        return any(_differ(tensor.copies, self.runs) for tensor in self.tensors)

    def num_parameters(self) -> int:
        """The number of parameters in one copy of its tensors; 0 for a further call of a module."""
        return 0 if self.again else sum(tensor._replace(copies=1).num_parameters() for tensor in self.tensors)

    def multiply_adds(self) -> int:
        """The multiply-adds of its matrix product in one run; 0 if it is not a matrix product."""
        if isinstance(self.module, Convolution):
            products = self.module.units * self.module.kernel_size
        elif self.operation in ("linear", "matmul"):
            products = self.takes[0].shape[-1]
        else:
            return 0
        return products * prod(self.gives.shape)


def _differ(copies: int, runs: int) -> bool:
    """Whether two counts differ. Equal columns or symbols are the same object."""
    return copies is not runs and not (isinstance(copies, int) and isinstance(runs, int) and copies == runs)


def any_is_one(*sides: int) -> bool:
    """Whether any of the sizes is the integer 1; columns and symbols count as larger."""
    return any(isinstance(side, int) and side == 1 for side in sides)


class AttentionOptions(NamedTuple):
    """How an attention computes its weights.

    - ``dropout``: the dropout probability of the attention weights; None for no dropout.
    - ``dropout_name``: the name of the dropout module; "" if it is not a module.
    - ``distances``: a function of scores, query and key that adds position-dependent scores.
    - ``bias``: a bias that is added to the scores after the division.
    - ``angles``: the rotary angles for query and key.
    - ``wide``, ``wide_angles``: whether the softmax and the rotation are computed in float32, whatever the model's
      dtype.
    - ``cached``: whether keys and values are copied into the cache and read from it. BERT's programs leave this out
      because their keys and values are in memory only once, with or without a cache.
    - ``mask``: the name of the attention mask.
    - ``written_out``: whether scores and weights are variables of the module's own forward method.
    - ``shared_by``: the number of key/value heads, each shared by several query heads (Ainslie et al. 2023,
      arXiv:2305.13245); None if every query head has its own.
    """

    dropout: float | None
    dropout_name: str = "dropout"
    distances: Callable[[Value, Value, Value], Value] | None = None
    bias: Value | None = None
    angles: Sequence[Value] = ()
    wide: bool = False
    wide_angles: bool = False
    cached: bool = False
    mask: str = "attention_mask"
    written_out: bool = False
    shared_by: int | None = None


class Trace:
    """The API with which a family's program declares and runs its modules.

    ``steps`` is None if only the modules are needed, which is faster.

    Parameters mean the same in all methods, unless a method describes them: ``name`` is the name of a module or
    operation, ``kind`` the class name of a module, ``role`` the last part of its place, and ``x`` its input. ``using``
    are tensors that a step uses but another module owns. Methods for modules without children and for operations
    return the output.
    """

    def __init__(self, root: Module, base: str, batch: Batch, steps: list[Step] | None, *, choices: bool) -> None:
        """Start at ``root``; ``base`` is the prefix of the body's names, such as "bert.".

        With ``choices``, the inputs have an axis of choices (batch.num_choices).
        """
        self._module = root
        self._path = ""
        self._base = base
        self._roles = _roles()
        self._copies = self._runs = 1
        self._core = False
        self._choices = choices
        self._outer: list[tuple[Module, str, _Roles, int, int]] = []
        self.batch = batch
        self.steps = steps
        self.pruned_heads = 0  # the number of pruned heads in each self-attention
        self.drops: list[Collection[int]] = []  # numbers of dropped layers, one collection per change in order
        self.prefix: Value | None = None  # keys and values of earlier tokens, in all layers: (..., tokens, size)

    def former_number(self, layer: int) -> int:
        """The number that a layer had before layers were dropped."""
        for dropped in reversed(self.drops):
            for number in sorted(dropped):
                layer += number <= layer
        return layer

    # Modules with children: each method returns a context manager. The children are declared inside it.

    def module(
        self, name: str, kind: str, *, component: Component | None = None, block: str = "", order: Iterable[str] = ()
    ) -> "Trace":
        """Declare a module of class ``kind`` with children; ``component`` and ``block`` apply to all of them.

        ``order`` has the names of the children in Hugging Face's registration order, if that is not the running order.
        """
        self._module.children[name] = module = Module(kind)
        if order:
            module.registration_order = order
        if component or block:
            return self._enter(name, module, _roles(component or self._roles.component, block))
        return self._enter(name, module, self._roles)

    def attention(
        self, name: str, kind: str, heads: int, head_size: int, *, block: str = "", order: Iterable[str] = ()
    ) -> "Trace":
        """Declare an attention module, the parent of query, key and value; pruned heads are left out."""
        own_block = block or self._roles.block
        left = heads - self.pruned_heads if own_block == "attention" else heads
        self._module.children[name] = module = Attention(kind, left, head_size)
        module.registration_order = order
        return self._enter(name, module, _roles(self._roles.component, block) if block else self._roles)

    def _units(self, role: str, out_features: int) -> int:
        """The number of output units of a dense layer; query, key and value have no units for pruned heads."""
        attention = self._module
        if not (self.pruned_heads and isinstance(attention, Attention) and self._roles.block == "attention"):
            return out_features
        parts = role.split(", ")
        if not {"query", "key", "value"}.issuperset(parts):
            return out_features
        # In this order, SymPy does not multiply the number of parts into the number of heads.
        return attention.num_attention_heads * attention.attention_head_size * len(parts)

    def repeat(
        self,
        name: str,
        copies: int,
        kind: str,
        *,
        runs: int | None = None,
        start: int | None = None,
        alike: bool = False,
    ) -> "Trace":
        """Declare a ModuleList with ``copies`` of the layer declared within, run ``runs`` times in total.

        By default, there are as many runs as copies; ALBERT runs a single layer many times. If the first layer differs
        from the others, declare it with ``start=0`` (its name is then 0) and the others with ``start=1`` (named *).
        With ``alike``, the layers do not differ, but a different module runs after the first layer. In the tree, all
        layers are then named *.
        """
        layers = self._module.children.setdefault(name, ModuleList())
        assert isinstance(layers, ModuleList)
        layers.place = self._roles[""]
        group = "0" if start == 0 else "*"
        if alike:
            del layers.children["0"]
            layer = layers.add(group, Module(kind), 0, copies + 1)
        else:
            layer = layers.add(group, Module(kind), start or 0, copies)
        return self._enter(f"{name}.{group}", layer, self._roles, copies, copies if runs is None else runs)

    def block(self, block: str, *, component: Component | None = None) -> "Trace":
        """Put the modules declared within into a block or component that is not a module itself."""
        return self._enter("", self._module, _roles(component or self._roles.component, block))

    def ordered(self, *order: str) -> "Trace":
        """Register these children of the current module first and in this order."""
        self._module.registration_order = order
        return self._enter("", self._module, self._roles)

    def _enter(self, name: str, module: Module, roles: _Roles, copies: int = 1, runs: int = 1) -> "Trace":
        self._outer.append((self._module, self._path, self._roles, self._copies, self._runs))
        self._module = module
        self._roles = roles
        if name:
            module.place = roles[""]
        if self.steps is not None:
            if name:
                self._path = f"{self._path}.{name}" if self._path else name
            same = copies is runs and self._copies is self._runs
            self._copies = self._copies * copies
            self._runs = self._copies if same else self._runs * runs
        return self

    def __enter__(self) -> None:
        """Do nothing: the method that returned the trace has already entered the module."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._module, self._path, self._roles, self._copies, self._runs = self._outer.pop()

    @contextmanager
    def core(self) -> Iterator[None]:
        """Mark the steps within as part of the attention core, from query, key and value to the context."""
        self._core = True
        yield
        self._core = False

    @contextmanager
    def not_run(self) -> Iterator[None]:
        """Declare modules that are never called; each module with parameters gets an "unused" step."""
        steps, self.steps = self.steps, None
        before = set(self._module.children)
        yield
        self.steps = steps
        if steps is None:
            return
        for name, module in self._module.children.items():
            path = f"{self._path}.{name}"
            tensors = tuple(
                tensor._replace(name=f"{path}.{tensor.name}", copies=self._copies) for tensor in module.tensors()
            )
            if tensors and name not in before:
                gives = Value(path.removeprefix(self._base), ())
                place = module.place._replace(role=module.place.role or "unused")
                steps.append(Step(gives.name, "unused", (), gives, tensors, self._runs, place=place))

    # Modules without children: declared and called.

    def linear(
        self,
        name: str,
        x: Value,
        out_features: int,
        *,
        role: str,
        bias: bool = True,
        tied: Mapping[str, str] = NOT_TIED,
        using: tuple[Tensor, ...] = (),
    ) -> Value:
        """Declare and call torch.nn.Linear: y = x W^T + b.

        ``tied`` maps the last part of a tied tensor's name to the full name of its owner.
        """
        shape = x.shape
        out_features = self._units(role, out_features)
        module = Linear(shape[-1], out_features, tied, bias)
        if out_features is not shape[-1]:
            shape = (*shape[:-1], out_features)
        return self._call(name, module, "linear", x, shape, role, using)

    def conv1d(self, name: str, x: Value, out_features: int, *, role: str) -> Value:
        """Declare and call GPT-2's Conv1D (transformers.pytorch_utils): y = x W + b; W is (in, out)."""
        shape = x.shape
        out_features = self._units(role, out_features)
        return self._call(name, Conv1D(shape[-1], out_features), "linear", x, (*shape[:-1], out_features), role)

    def convolution(self, name: str, x: Value, kernel_size: int, *, role: str) -> Value:
        """Declare and call torch.nn.Conv1d over the tokens, the last axis of input and output."""
        module = Convolution(x.shape[1], kernel_size)
        return self._call(name, module, "convolution", x, x.shape, role)

    def embedding(
        self, name: str, ids: Value, rows: int, width: int, *, role: str, padding_idx: int | None = None
    ) -> Value:
        """Declare and call torch.nn.Embedding: look up the row of each id."""
        return self._call(name, Embedding(rows, width, padding_idx), "lookup", ids, (*ids.shape, width), role)

    def table(self, name: str, rows: int, width: int, *, role: str) -> Value:
        """Declare an embedding and return all its rows: the weight is read directly, without calling the module."""
        self._module.children[name] = module = Embedding(rows, width)
        module.place = place = self._roles[role]
        weight = Tensor(f"{self._path}.{name}.weight", (rows, width), self._copies, place)
        return self.step(name, "table", shape=weight.shape, role=role, tensors=(weight,))

    def product(
        self, name: str, x: Value, out_features: int, *, role: str, table: str, using: tuple[Tensor, ...] = ()
    ) -> Value:
        """Record a matrix product with the tensor named ``table``, which another module owns; it is not a module."""
        shape = (*x.shape[:-1], out_features)
        module = Linear(x.shape[-1], out_features, {"weight": table}, bias=False)
        return self.step(name, "linear", x, shape=shape, role=role, module=module, tensors=using)

    def norm(self, name: str, x: Value, eps: float, *, kind: str = "LayerNorm", bias: bool = True) -> Value:
        """Declare and call a normalization over the last axis; an RMSNorm has no bias."""
        shape = x.shape
        return self._call(name, Norm(kind, shape[-1], eps, bias), "norm", x, shape, "norm")

    def dropout(self, name: str, x: Value, p: float, *, role: str = "dropout") -> Value:
        """Declare and call torch.nn.Dropout; the same module can be called several times."""
        return self._call(name, Dropout(p), "dropout", x, x.shape, role)

    def dropout_or_identity(self, name: str, x: Value, p: float) -> Value:
        """Declare and call torch.nn.Dropout, or declare an Identity if the probability is 0."""
        if p > 0:
            return self.dropout(name, x, p)
        self.idle(name, "Identity")
        return x

    def activation(self, name: str, x: Value, kind: str, *, role: str = "activation") -> Value:
        """Declare and call the module of an activation; ``kind`` is its name in transformers' ACT2FN."""
        facts = ACTIVATIONS[kind]
        learned = dict(facts.parameters) if facts.parameters else NO_TENSORS
        module = Activation(facts.kind, facts.kept, facts.extra, learned)
        return self._call(name, module, "activation", x, x.shape, role)

    def gelu(self, name: str, x: Value) -> Value:
        """Declare and call torch.nn.GELU, for activations that no field of the configuration sets."""
        module = Activation("GELU", ACTIVATIONS["gelu"].kept, "approximate='none'")
        return self._call(name, module, "activation", x, x.shape, "gelu")

    def idle(self, name: str, kind: str) -> None:
        """Declare a module that is only printed and not a step, such as Identity."""
        children = self._module.children
        children[name] = module = Module(kind)
        module.place = self._roles[""]

    def parameter(self, name: str, shape: Shape, *, role: str) -> tuple[Tensor, ...]:
        """Declare a tensor that the current module itself owns; return it in a tuple, for ``using``."""
        module, place = self._module, self._roles[role]
        module.parameters = {**module.parameters, name: shape}
        module.tensor_places = {**module.tensor_places, name: place}
        return (Tensor(f"{self._path}.{name}", shape, self._copies, place),)

    # Operations that are not modules.

    def inputs(self, *names: str) -> tuple[Value, ...]:
        """Declare the model's id inputs; the choices of a sequence are flattened into the batch axis."""
        batch, length, _encoder, choices, *_flags = self.batch
        if self.steps is None:
            return (Value("ids", (batch, length), ids=True),) * len(names)
        shape = (batch, choices, length) if self._choices else (batch, length)
        values = [Value(name, shape, ids=True) for name in names]
        # The inputs belong to no module, so their names have no path.
        path, self._path = self._path, ""
        self.steps += [Step(value.name, "input", (), value, (), 1, place=self._roles[value.name]) for value in values]
        if self._choices:
            flat = (batch * choices, length)
            values = [
                self.step(f"flatten_{value.name}", "view", value, shape=flat, ids=True, role="flatten")
                for value in values
            ]
        self._path = path
        return tuple(values)

    def encoder_hidden_states(self, width: int) -> Value | None:
        """The encoder output that cross attention attends to; None if the batch has none."""
        batch, _length, seen, choices, *_flags = self.batch
        if seen is None:
            return None
        return Value("encoder_hidden_states", (batch * choices if self._choices else batch, seen, width))

    def step(
        self,
        name: str,
        operation: Operation,
        *takes: Value,
        shape: Shape,
        ids: bool = False,
        role: str = "",
        tensors: tuple[Tensor, ...] = (),
        **fields: Any,
    ) -> Value:
        """Record an operation that is not a module; its role is its name unless ``role`` is given.

        ``fields`` are further fields of the step.
        """
        if self.steps is None:
            return takes[0] if takes and shape is takes[0].shape else Value(name, shape, ids)
        path = self._path.removeprefix(self._base)
        gives = Value(f"{path}.{name}" if path and f"{path}." != self._base else name, shape, ids)
        place = self._roles[role or name]
        step = Step(gives.name, operation, takes, gives, tensors, self._runs, place=place, core=self._core, **fields)
        self.steps.append(step)
        return gives

    def add(
        self, name: str, *takes: Value, role: str = "", in_place: bool = False, using: tuple[Tensor, ...] = ()
    ) -> Value:
        """Record a sum with the shape of its first term.

        ``in_place``: whether it is computed with Python's +=. ``using``: a bias that is added.
        """
        if self.steps is None:
            return takes[0]
        return self.step(name, "add", *takes, shape=takes[0].shape, role=role, in_place=in_place, tensors=using)

    def divide(self, name: str, x: Value, *, wide: bool = False) -> Value:
        """Record a division by a tensor with one element.

        With ``wide``, this tensor is float32, whatever the model's dtype.
        """
        return self.step(name, "divide", x, shape=x.shape, wide=wide)

    def multiply(self, name: str, *takes: Value) -> Value:
        """Record an elementwise product, as in a gated feed-forward network."""
        return self.step(name, "multiply", *takes, shape=takes[0].shape)

    def angles(self, name: str, kind: str, x: Value, head_size: int) -> Value:
        """Declare and call the module that computes cosines and sines for each position.

        A second call computes different angles.
        """
        module = self._module.children.get(name)
        called = f"{name}_again" if module else name
        if not module:
            self.idle(name, kind)
            module = self._module.children[name]
        # The frequencies of all pairs of entries, and a copy of the frequencies, together have head_size elements.
        module.buffers = {**module.buffers, f"{called}.inv_freq": ((head_size,), False)}
        if self.steps is None:
            return x
        _batch, length, _width = x.shape
        return self.step(called, "angles", x, shape=(2, 1, length, head_size), role="angles", module=module)

    def rotate(self, name: str, x: Value, angles: Sequence[Value], *, wide: bool = False) -> Value:
        """Record a rotation of pairs of entries by the angle of their position (Su et al. 2021, arXiv:2104.09864).

        With several ``angles``, the layers use them in turn. ``wide``: whether the rotation is computed in float32,
        whatever the model's dtype.
        """
        turns = tuple(angles) if len(angles) > 1 else ()
        return self.step(name, "rotate", x, *angles[:1], shape=x.shape, turns=turns, wide=wide)

    def mean(self, name: str, x: Value, mask: Value, *, in_place: bool = False) -> Value:
        """Record the mean over the unmasked tokens; with ``in_place``, the sum is divided in place (/=)."""
        batch, _length, width = x.shape
        return self.step(name, "mean", x, mask, shape=(batch, width), in_place=in_place)

    def function(self, name: str, x: Value, kind: str, *, role: str = "activation") -> Value:
        """Call an activation as a function, without a module in the tree; ``kind`` is as in ``activation``."""
        module = Activation(ACTIVATIONS[kind].kind, ACTIVATIONS[kind].kept)
        return self.step(name, "activation", x, shape=x.shape, role=role, module=module)

    def first_token(self, x: Value, name: str = "first_token", *, role: str = "") -> Value:
        batch, _length, width = x.shape
        return self.step(name, "view", x, shape=(batch, width), role=role)

    def cut(self, x: Value, *names: str, by_heads: bool = False) -> tuple[Value, ...]:
        """Split the last axis into equal pieces, such as a fused projection into query, key and value.

        ``by_heads``: whether the axis is first split into heads.
        """
        shape = (*x.shape[:-1], x.shape[-1] // len(names))
        return tuple(self.step(name, "view", x, shape=shape, role="cut", by_heads=by_heads) for name in names)

    def attend(self, query: Value, key: Value, value: Value, how: AttentionOptions) -> Value:
        """Compute softmax(Q K^T / sqrt(d)) V in the heads of the current Attention module, and merge the heads."""
        if self.steps is None:  # only declare the modules
            if how.distances:
                how.distances(query, query, key)
            if how.dropout is None or not how.dropout_name:
                return query
            return self.dropout(how.dropout_name, query, how.dropout, role="weights_dropout")
        attention = self._module
        assert isinstance(attention, Attention)
        heads, size = attention.num_attention_heads, attention.attention_head_size
        batch, length, width = query.shape
        groups = heads if how.shared_by is None else how.shared_by
        self._core = True
        query = self.step("query_heads", "view", query, shape=(batch, heads, length, size))
        key = self.step("key_heads", "view", key, shape=(batch, groups, key.shape[1], size))
        value = self.step("value_heads", "view", value, shape=key.shape)
        if how.angles:
            self._core = False
            query = self.rotate("query_rotated", query, how.angles, wide=how.wide_angles)
            key = self.rotate("key_rotated", key, how.angles, wide=how.wide_angles)
            self._core = True
        key, value = self._with_earlier(key, value, cached=how.cached)
        if how.shared_by is not None:
            key = self.step("key_repeated", "repeat", key, shape=(batch, heads, *key.shape[2:]))
            value = self.step("value_repeated", "repeat", value, shape=key.shape)
        weights = self._weights(query, key, how)
        context = self.step("context", "matmul", weights, value, shape=query.shape)
        merged = self.step("merge_heads", "copy", context, shape=(batch, length, width))
        self._core = False
        return merged

    def _with_earlier(self, key: Value, value: Value, *, cached: bool) -> tuple[Value, Value]:
        """Add the keys and values of earlier tokens, or copy keys and values into the cache."""
        if self.prefix and self._roles.block == "attention":
            shape = (*key.shape[:2], self.prefix.shape[-2] + key.shape[2], key.shape[3])
            key = self.step("key_prefixed", "copy", self.prefix, key, shape=shape)
            value = self.step("value_prefixed", "copy", self.prefix, value, shape=shape)
        elif cached:
            key = self.step("key_cached", "copy", key, shape=key.shape)
            value = self.step("value_cached", "copy", value, shape=value.shape)
        return key, value

    def _weights(self, query: Value, key: Value, how: AttentionOptions) -> Value:
        """Compute the attention weights: the softmax of the scores, with dropout."""
        batch, heads, length, _size = query.shape
        square = (batch, heads, length, key.shape[2])
        scores = self.step("scores", "matmul", query, key, shape=square)
        if how.distances:
            scores = how.distances(scores, query, key)
        scores = self.step("scale", "scale", scores, shape=square)
        if how.bias:
            scores = self.add("add_bias", scores, how.bias, in_place=True)
        scores = self.add("mask", scores, Value(how.mask, (batch, 1, *square[2:])))
        weights = self.step("softmax", "softmax", scores, shape=square, wide=how.wide)
        if how.dropout is not None and how.dropout_name:
            weights = self.dropout(how.dropout_name, weights, how.dropout, role="weights_dropout")
        elif how.dropout is not None:
            weights = self.step("weights_dropout", "dropout", weights, shape=square, module=Dropout(how.dropout))
        if how.written_out:
            self.variable("attention_scores", scores)
            self.variable("attention_probs", weights)
        return weights

    def output(self, name: str, value: Value | None) -> None:
        """Declare a value as an output of the model; None is ignored (the model does not have this output)."""
        if value is not None:
            self._set_fields(value, output=name)

    def variable(self, name: str, value: Value) -> Value:
        """Record that a variable in the current module's forward method holds the value from now on.

        The value stays alive until the variable is reassigned or the method returns. A value without a variable is
        alive until its last use. Variables that all families share are in memory/simulator/lifetimes.py.
        """
        self._set_fields(value, variable=(f"{self._path}.".removeprefix(self._base).removesuffix("."), name))
        return value

    def aside(self, value: Value, *done: str) -> Value:
        """Record operations of the body's forward method before the step of ``value``, for the memory simulation.

        ``done`` names the operations: "padding" (checks for padding, to warn), "positions" (creates position ids),
        "positions for layers" (also passes them to all layers), "masks" (creates attention masks), or a word that only
        the family's overrides use. By default, position ids are in a buffer of the embeddings, and masks are
        created before the encoder.
        """
        self._set_fields(value, asides=done)
        return value

    def buffer(self, name: str, shape: Shape, *, ids: bool = False) -> None:
        """Declare a buffer in the current module: integers with ``ids``, otherwise values in the model's dtype."""
        self._module.buffers = {**self._module.buffers, name: (shape, ids)}

    def _set_fields(self, value: Value, **fields: Any) -> None:
        """Set fields of the step that produces a value. Raises ValueError if no step does."""
        if self.steps is None:
            return
        for index in range(len(self.steps) - 1, -1, -1):
            if self.steps[index].gives == value:
                self.steps[index] = self.steps[index]._replace(**fields)
                return
        raise ValueError(f"{fields}: no step gives {value.name}")

    def _call(
        self,
        name: str,
        module: Module,
        operation: Operation,
        x: Value,
        shape: Shape,
        role: str,
        using: tuple[Tensor, ...] = (),
    ) -> Value:
        """Declare a module without children, if it is new, and call it."""
        module.place = place = self._roles[role]
        children = self._module.children
        again = name in children
        if again and children[name].parameters != module.parameters:
            raise ValueError(f"{name} is declared twice, with other tensors.")
        children[name] = module
        if self.steps is None:
            return x if shape is x.shape else Value(name, shape)
        path = f"{self._path}.{name}" if self._path else name
        tensors = tuple(
            Tensor(f"{path}.{last}", sides, self._copies, place) for last, sides in module.parameters.items()
        )
        gives = Value(path.removeprefix(self._base) + ("_again" if again else ""), shape)
        step = Step(gives.name, operation, (x,), gives, tensors + using, self._runs, module, place, self._core)
        self.steps.append(step._replace(again=True) if again else step)
        return gives
