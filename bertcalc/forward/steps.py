"""The forward pass: which part runs when, what it takes and what it gives (modeling_bert.py's forward methods).

Sizes are whatever the tree was built with: integers give shapes, SymPy symbols give shapes in letters, NumPy
arrays give whole columns of them.
"""

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Literal, NamedTuple

from bertcalc.config import BertConfig, Problem, check_whole_number
from bertcalc.text import N_
from bertcalc.tree.nn import Attention, Dropout, Embedding, LayerNorm, Linear, Module, ModuleList, Shape, Tensor
from bertcalc.tree.totals import bare

# What goes through the model at once, if nobody says otherwise; and the most that is counted.
BATCH = {"batch_size": 1, "sequence_length": 128}
LARGEST = 1_000_000

Operation = Literal[
    "input",
    "lookup",
    "unused",
    "linear",
    "matmul",
    "norm",
    "dropout",
    "activation",
    "add",
    "scale",
    "softmax",
    "view",
    "copy",
]


def batch_problems(config: BertConfig, values: Mapping[str, object]) -> Iterator[Problem]:
    """What is wrong with a batch_size and a sequence_length, for a model of that configuration."""
    for field, default in BATCH.items():
        if problem := check_whole_number(field, values[field], 1, LARGEST, default):
            yield problem
            return
    longest = config.max_position_embeddings
    if isinstance(length := values["sequence_length"], int) and length > longest:
        yield Problem(
            "sequence_length",
            length,
            N_(
                "Sequence length {value} is longer than max_position_embeddings {longest}: at most "
                "{longest} is possible."
            ),
            {"value": f"{length:,}", "longest": f"{longest:,}"},
            ({"sequence_length": longest}, {"max_position_embeddings": length}),
        )


class Value(NamedTuple):
    """What flows between two steps: named after the step that gives it; ids are int64, everything else float."""

    name: str
    shape: Shape
    ids: bool = False


class Step(NamedTuple):
    """One operation, or all its copies if it is in a repeated layer.

    ``name`` is the module's name without "bert.", or for what is no module the name of the module whose
    forward method does it and a word of ours: ``encoder.layer.*.attention.self.scores``.
    """

    name: str
    operation: Operation
    takes: tuple[Value, ...]
    gives: Value
    tensors: tuple[Tensor, ...]
    copies: int
    module: Module | None = None  # that is called, if it is one

    def num_parameters(self) -> int:
        """Elements of the tensors that the step learns, in one copy."""
        count = 0
        for tensor in self.tensors:
            count = count + prod(tensor.shape)
        return count

    def multiply_adds(self) -> int:
        """Multiply-adds of its matrix product, in one copy; 0 if it is none."""
        return prod(self.gives.shape) * self.takes[0].shape[-1] if self.operation in ("linear", "matmul") else 0


def forward(
    model: Module,
    batch_size: int,
    sequence_length: int,
    *,
    encoder_sequence_length: int | None = None,
    num_choices: int = 1,
) -> list[Step]:
    """Every step from the token ids to the outputs, in order; the steps of a layer once, with their copies.

    ``encoder_sequence_length`` is that of ``encoder_hidden_states``: without them a decoder leaves its cross
    attention out, as transformers does. ``num_choices`` is read by BertForMultipleChoice alone.
    """
    steps: list[Step] = []
    run = _Run(model, "", 1, steps)
    body = run["bert"] if "bert" in model.children else run
    shape: Shape = (batch_size, sequence_length)
    choices = (num_choices,) if model.kind == "BertForMultipleChoice" else ()
    ids, types = (body.ids(name, (batch_size, *choices, sequence_length)) for name in ("input_ids", "token_type_ids"))
    if choices:
        shape = (batch_size * num_choices, sequence_length)
        ids, types = (run.step(f"flatten_{value.name}", "view", value, shape=shape, ids=True) for value in (ids, types))
    memory = None
    if encoder_sequence_length is not None:
        memory = Value("encoder_hidden_states", (*shape[:-1], encoder_sequence_length, _hidden_size(body)))
    relative = "distance_embedding" in body["encoder"]["layer"]["attention"]["self"].module.children
    hidden = _embeddings(body["embeddings"], ids, types, relative)
    hidden = _encoder(body["encoder"], hidden, memory)
    pooled = _pooler(body["pooler"], hidden) if "pooler" in body.module.children else hidden
    _HEADS.get(model.kind, _no_head)(run, hidden, pooled)
    return steps


class _Run:
    """A module at its path while it runs: gives its children, calls it, and writes down every step."""

    __slots__ = ("copies", "module", "path", "steps")

    def __init__(self, module: Module, path: str, copies: int, steps: list[Step]) -> None:
        self.module = module
        self.path = path
        self.copies = copies
        self.steps = steps

    def __getitem__(self, name: str) -> "_Run":
        child = self.module.children[name]
        path = f"{self.path}.{name}" if self.path else name
        if isinstance(child, ModuleList):
            return _Run(child.layer, f"{path}.*", self.copies * child.length, self.steps)
        return _Run(child, path, self.copies, self.steps)

    def ids(self, name: str, shape: Shape) -> Value:
        """Token numbers that come in from outside."""
        value = Value(name, shape, ids=True)
        self.steps.append(Step(name, "input", (), value, (), 1))
        return value

    def __call__(self, *takes: Value, owner: "_Run | None" = None) -> Value:
        """A module without children, called; ``owner`` has tensors that the call uses too."""
        tensors = (*self._tensors(), *(owner._tensors() if owner else ()))
        gives = Value(bare(self.path), _output_shape(self.module, takes[0].shape))
        self.steps.append(Step(gives.name, _operation(self.module), takes, gives, tensors, self.copies, self.module))
        return gives

    def unused(self) -> None:
        """A module that is built, but never called."""
        path = f"{self.path}."
        tensors = (tensor._replace(name=path + tensor.name, copies=self.copies) for tensor in self.module.tensors())
        name = bare(self.path)
        self.steps.append(Step(name, "unused", (), Value(name, ()), tuple(tensors), self.copies))

    def step(self, name: str, operation: Operation, *takes: Value, shape: Shape, ids: bool = False) -> Value:
        """An operation that is no module of its own."""
        gives = Value(bare(f"{self.path}.{name}" if self.path else name), shape, ids)
        self.steps.append(Step(gives.name, operation, takes, gives, (), self.copies))
        return gives

    def add(self, name: str, *takes: Value) -> Value:
        """A sum, in the shape of its first term."""
        return self.step(name, "add", *takes, shape=takes[0].shape)

    def _tensors(self) -> tuple[Tensor, ...]:
        return tuple(
            Tensor(f"{self.path}.{name}" if self.path else name, shape, self.copies)
            for name, shape in self.module.parameters.items()
        )


def _operation(module: Module) -> Operation:
    match module:
        case Linear():
            return "linear"
        case Embedding():
            return "lookup"
        case LayerNorm():
            return "norm"
        case Dropout():
            return "dropout"
    return "activation"


def _output_shape(module: Module, shape: Shape) -> Shape:
    match module:
        case Linear():
            return (*shape[:-1], module.out_features)
        case Embedding():
            return (*shape, module.embedding_dim)
    return shape


def _hidden_size(body: _Run) -> int:
    word_embeddings = body["embeddings"]["word_embeddings"].module
    assert isinstance(word_embeddings, Embedding)
    return word_embeddings.embedding_dim


def _embeddings(run: _Run, input_ids: Value, token_type_ids: Value, relative: bool) -> Value:
    words = run["word_embeddings"](input_ids)
    types = run["token_type_embeddings"](token_type_ids)
    summed = run.add("add_token_type", words, types)
    # One row of positions serves the whole batch.
    position_ids = Value("position_ids", (1, input_ids.shape[-1]), ids=True)
    if relative:  # transformers 4 builds the table all the same, and never looks into it
        run["position_embeddings"].unused()
    else:
        summed = run.add("add_position", summed, run["position_embeddings"](position_ids))
    return run["dropout"](run["LayerNorm"](summed))


def _encoder(run: _Run, hidden: Value, memory: Value | None) -> Value:
    layer = run["layer"]
    attended = _attention(layer["attention"], hidden, hidden)
    if "crossattention" in layer.module.children:
        if memory is None:
            layer["crossattention"].unused()
        else:
            attended = _attention(layer["crossattention"], attended, memory)
    inner = layer["intermediate"]
    inside = inner["intermediate_act_fn"](inner["dense"](attended))
    return _add_and_norm(layer["output"], inside, attended)


def _attention(run: _Run, hidden: Value, memory: Value) -> Value:
    self = run["self"]
    attention = self.module
    assert isinstance(attention, Attention)
    heads, size = attention.num_attention_heads, attention.attention_head_size
    batch, length, width = hidden.shape
    seen = memory.shape[1]
    query, key, value = self["query"](hidden), self["key"](memory), self["value"](memory)
    query = self.step("query_heads", "view", query, shape=(batch, heads, length, size))
    key = self.step("key_heads", "view", key, shape=(batch, heads, seen, size))
    value = self.step("value_heads", "view", value, shape=(batch, heads, seen, size))
    square = (batch, heads, length, seen)
    scores = self.step("scores", "matmul", query, key, shape=square)
    if "distance_embedding" in attention.children:
        scores = _relative_positions(self, attention.position_embedding_type, scores, query, key)
    scores = self.step("scale", "scale", scores, shape=square)
    mask = Value("attention_mask" if hidden is memory else "encoder_attention_mask", (batch, 1, length, seen))
    scores = self.add("mask", scores, mask)
    probabilities = self["dropout"](self.step("softmax", "softmax", scores, shape=square))
    context = self.step("context", "matmul", probabilities, value, shape=(batch, heads, length, size))
    merged = self.step("merge_heads", "copy", context, shape=(batch, length, width))
    return _add_and_norm(run["output"], merged, hidden)


def _relative_positions(run: _Run, kind: str, scores: Value, query: Value, key: Value) -> Value:
    """transformers 4 only: Shaw et al. 2018, and with the key's product too Huang et al. 2020."""
    distance_ids = Value("distance_ids", (query.shape[2], key.shape[2]), ids=True)
    distances = run["distance_embedding"](distance_ids)
    products = [run.step("query_distances", "matmul", query, distances, shape=scores.shape)]
    if kind == "relative_key_query":
        products.append(run.step("key_distances", "matmul", key, distances, shape=scores.shape))
    return run.add("add_distances", scores, *products)


def _add_and_norm(run: _Run, inside: Value, residual: Value) -> Value:
    outcome = run["dropout"](run["dense"](inside))
    return run["LayerNorm"](run.add("add", outcome, residual))


def _pooler(run: _Run, hidden: Value) -> Value:
    batch, _length, width = hidden.shape
    first = run.step("first_token", "view", hidden, shape=(batch, width))
    return run["activation"](run["dense"](first))


def _no_head(run: _Run, hidden: Value, pooled: Value) -> None:
    """BertModel has none."""


def _masked_lm(run: _Run, hidden: Value, pooled: Value) -> None:
    predictions = run["cls"]["predictions"]
    transform = predictions["transform"]
    transformed = transform["LayerNorm"](transform["transform_act_fn"](transform["dense"](hidden)))
    predictions["decoder"](transformed, owner=predictions)


def _next_sentence(run: _Run, hidden: Value, pooled: Value) -> None:
    run["cls"]["seq_relationship"](pooled)


def _pretraining(run: _Run, hidden: Value, pooled: Value) -> None:
    _masked_lm(run, hidden, pooled)
    _next_sentence(run, hidden, pooled)


def _classifier(run: _Run, hidden: Value, pooled: Value) -> None:
    run["classifier"](run["dropout"](pooled))


def _multiple_choice(run: _Run, hidden: Value, pooled: Value) -> None:
    scores = run["classifier"](run["dropout"](pooled))
    batch, choices, _length = run.steps[0].gives.shape
    run.step("reshape", "view", scores, shape=(batch, choices))


def _question_answering(run: _Run, hidden: Value, pooled: Value) -> None:
    logits = run["qa_outputs"](hidden)
    for name in ("start_logits", "end_logits"):
        run.step(name, "copy", logits, shape=logits.shape[:-1])


# ``pooled`` is the hidden states themselves where a class has no pooler.
_HEADS: dict[str, Callable[[_Run, Value, Value], None]] = {
    "BertForPreTraining": _pretraining,
    "BertForMaskedLM": _masked_lm,
    "BertLMHeadModel": _masked_lm,
    "BertForNextSentencePrediction": _next_sentence,
    "BertForSequenceClassification": _classifier,
    "BertForTokenClassification": _classifier,
    "BertForQuestionAnswering": _question_answering,
    "BertForMultipleChoice": _multiple_choice,
}
