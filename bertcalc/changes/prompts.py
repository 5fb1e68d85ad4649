"""Prompt tuning (Lester et al. 2021, arXiv:2104.08691), prefix tuning (Li and Liang 2021, arXiv:2101.00190) and
p-tuning (Liu et al. 2021, arXiv:2103.10385), as peft 0.21 adds them."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from bertcalc.changes.adapter import PeftChange, freeze, set_places
from bertcalc.changes.rewriting import Rewriting, Steps
from bertcalc.changes.targets import TASK_TYPES, TaskType
from bertcalc.config import Config
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.model.change import ADAPTER, WRAPPER
from bertcalc.model.model import Model
from bertcalc.model.modules import Activation, Embedding, Linear, Module, Place, Shape, Tensor
from bertcalc.model.trace import Operation, Step, Trace, Value
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.records import dataclass
from bertcalc.transformers4.version import version_of

NAMES_OF_WIDTH = ("hidden_size", "n_embd", "d_model")  # the fields from which peft reads the width
Encoder = Literal["MLP", "LSTM"]
_NO_TASK = N_("peft adds virtual tokens to a model only for a task: set task_type, such as {task_type}.")
_NO_WIDTH = N_("peft finds no hidden size in the configuration of {family}: give token_dim, such as {hidden_size}.")
_NO_CACHE = N_(
    "{architecture} cannot run with prefix tuning: peft passes keys and values as past_key_values, which models of "
    "this family do not accept."
)
_PASSES_CACHE = N_("For {architecture}, bertcalc counts the parameters of {change}, but not its FLOPs or memory.")
_OTHER_TASK = N_(
    "{architecture} cannot run with prefix tuning for {task_type}: peft looks for the head of that task. Choose "
    "{possible}."
)
_CACHE_AS_POOLED = N_(
    "{architecture} cannot run with prefix tuning for SEQ_CLS as a decoder with a cache: peft mistakes the cache for "
    "the pooled vector. Set use_cache or is_decoder to False."
)
_OTHER_KEYS = N_(
    "{architecture} cannot run with prefixes of {width} units, because its keys have {needed}: "
    "set token_dim to {needed}."
)
_READS_ENCODER = N_(
    "With encoder_hidden_states, bertcalc counts the parameters of {change}, but not its FLOPs or memory."
)
_CHOICES = N_(
    "{architecture} cannot run with virtual tokens: peft creates them for each sequence, but not for each choice."
)
_FACTORIZED = N_("With factorized embeddings, bertcalc counts the parameters of {change}, but not its FLOPs or memory.")
_LSTM = N_(
    "The memory of {architecture} with an LSTM is not simulated, because an LSTM has its own kernel: set "
    "encoder_reparameterization_type to MLP."
)
_TOO_LONG = N_(
    "{sequence_length} tokens and {num_virtual_tokens} virtual tokens do not fit into the {longest} positions of this "
    "model."
)
_OTHER_WIDTH = N_(
    "{architecture} cannot run with virtual tokens of {width} units, because word embeddings have {needed}: set "
    "token_dim to {needed}."
)
_NO_LABELS = N_(
    "{architecture} cannot be trained with {change} and task_type {task_type}: peft assigns labels to the virtual "
    "tokens only for CAUSAL_LM."
)


@dataclass(frozen=True)
class Prompts(PeftChange):
    """The base class of prompt tuning, prefix tuning and p-tuning: an encoder of virtual tokens for a frozen model."""

    letters: ClassVar[Mapping[str, str]] = {"num_virtual_tokens": "num_virtual_tokens"}
    width_message = ""

    num_virtual_tokens: int = 20
    task_type: TaskType | None = None
    modules_to_save: Collection[str] | None = None
    token_dim: int | None = None

    def adapt(self, rewriting: Rewriting) -> None:
        if self.task_type is None:
            raise InputError(Problem.of(_NO_TASK, "task_type", None, task_type="FEATURE_EXTRACTION"))
        freeze(rewriting.root)
        encoders = Module("ModuleDict", default=self.encoder(rewriting))
        rewriting.root.children["prompt_encoder"] = set_places(encoders, _place(ADAPTER))
        if rewriting.steps is not None:
            self.run(rewriting.model, encoders.children["default"], rewriting.steps)

    def encoder(self, rewriting: Rewriting) -> Module:
        raise NotImplementedError

    def run(self, model: Model, encoder: Module, steps: Steps) -> None:
        """Add the steps of the encoder. Raises InputError if peft cannot run the model."""
        raise NotImplementedError

    def unsimulated(self, model: Model) -> Problem | None:
        """Also return a problem for models with tables of relative distances, because their forward methods differ."""
        if version_of(model.config).distances:
            return self.not_simulated(model)
        return super().unsimulated(model)

    def check_length(self, config: Config, length: int) -> None:
        """Raise InputError if a sequence and the virtual tokens need more positions than the model has."""
        count, longest = self.num_virtual_tokens, config.longest
        known = all(isinstance(size, int) for size in (count, length, longest))
        if known and length + count > longest:
            values = {"sequence_length": length, "num_virtual_tokens": count, "longest": longest}
            raise InputError(Problem.of(_TOO_LONG, "num_virtual_tokens", count, **values))

    def needed_width(self, config: Config) -> int:
        """Return the width that virtual tokens need to have for the model to run."""
        return config.hidden_size

    def check_width(self, model: Model) -> None:
        """Raise InputError if the model needs a different width. Symbols are not checked."""
        config = model.final_config
        width, needed = config.hidden_size if self.token_dim is None else self.token_dim, self.needed_width(config)
        if isinstance(width, int) and isinstance(needed, int) and width != needed:
            values = {"architecture": model.architecture, "width": width, "needed": needed}
            raise InputError(Problem.of(self.width_message, "token_dim", width, **values))

    def sized_by(self, model: Model, config: Config) -> Self:
        self.check_width(model)
        values: Any = {} if self.token_dim is None else {"token_dim": self.needed_width(config)}
        return replace(self, **values)

    def width(self, rewriting: Rewriting) -> int:
        """Return the width of a virtual token: token_dim, or else the size that peft reads from the configuration.

        Raises InputError if peft finds no size.
        """
        config, family = rewriting.model.config, rewriting.model.family.name
        if self.token_dim is not None:
            return self.token_dim
        if config.own_name("hidden_size") not in NAMES_OF_WIDTH:
            values = {"family": family, "hidden_size": config.hidden_size}
            raise InputError(Problem.of(_NO_WIDTH, "token_dim", None, **values))
        return config.hidden_size


class _Encoding:
    """The steps of an encoder of virtual tokens.

    ``x`` is the value of the last step, and ``within`` is the name of the encoder.
    """

    within = "prompt_encoder.default"

    def __init__(self, encoder: Module, count: int, batch: int = 1) -> None:
        self.steps: Steps = []
        self._encoder = encoder
        self.x = Value("prompt_tokens", (batch, count), ids=True)

    def call(self, name: str, operation: Operation, units: int, role: str = ADAPTER) -> None:
        """Add the step of a module in the encoder that outputs ``units`` activations per virtual token."""
        module = self._encoder.get_submodule(name)
        place, path = _place(role), f"{self.within}.{name}"
        tensors = tuple(Tensor(f"{path}.{last}", shape, 1, place) for last, shape in module.parameters.items())
        x, self.x = self.x, Value(path, (*self.x.shape[:2], units))
        self.steps.append(Step(path, operation, (x,), self.x, tensors, 1, module, place))

    def look_up(self, role: str) -> None:
        _count, width = self._encoder.children["embedding"].parameters["weight"]
        self.call("embedding", "lookup", width, role)

    def network(self, name: str) -> None:
        for number, module in self._encoder.children[name].children.items():
            if isinstance(module, Linear):
                self.call(f"{name}.{number}", "linear", module.out_features)
            else:
                self.call(f"{name}.{number}", "activation", self.x.shape[-1])

    def lstm(self, name: str, layers: int) -> None:
        """Add the steps of a bidirectional LSTM: products with every token's input and with every previous output.

        For the first token, the previous output is a vector of zeros, which gets no gradient.
        """
        shapes, count = self._encoder.children[name].parameters, self.x.shape[1]
        for layer in range(layers):
            x, outputs = self.x, list[Value]()
            for end in (f"l{layer}", f"l{layer}_reverse"):
                gates, units = shapes[f"weight_hh_{end}"]
                gates_of = Value(f"{self.within}.{name}.ih_{end}", (1, count, gates))
                zeros = Value(f"{self.within}.{name}.zeros", (1, 1, units))
                earlier = gates_of._replace(shape=(1, count - 1, units))
                self._product(gates_of, x, shapes, f"ih_{end}")
                self._product(Value(f"{self.within}.{name}.first_{end}", (1, 1, gates)), zeros, shapes, f"hh_{end}")
                last = Value(f"{self.within}.{name}.hh_{end}", (1, count - 1, gates))
                self._product(last, earlier, shapes, f"hh_{end}", again=True)
                outputs += [gates_of, last]
            self.x = Value(f"{self.within}.{name}.output_l{layer}", (1, count, 2 * units))
            self.steps.append(Step(self.x.name, "copy", tuple(outputs), self.x, (), 1, place=_place(ADAPTER)))

    def _product(self, gives: Value, x: Value, shapes: Mapping[str, Shape], end: str, *, again: bool = False) -> None:
        place, within = _place(ADAPTER), gives.name.rpartition(".")[0]
        names = f"weight_{end}", f"bias_{end}"
        tensors = tuple(Tensor(f"{within}.{name}", shapes[name], 1, place) for name in names)
        self.steps.append(Step(gives.name, "linear", (x,), gives, tensors, 1, place=place, again=again))

    def held_as(self, name: str, frame: str = WRAPPER) -> None:
        """Record that the variable ``name`` in the forward method of ``frame`` refers to the last step's value."""
        self.steps[-1] = self.steps[-1]._replace(variable=(frame, name))


class SoftPrompts(Prompts):
    """The base class of prompt tuning and p-tuning, which put virtual tokens in front of every sequence."""

    width_message = _OTHER_WIDTH

    def needed_width(self, config: Config) -> int:
        """Return the width of the word embeddings, which can be smaller than the hidden size."""
        width: int = config.embedding_size if config.has("embedding_size") else config.hidden_size  # type: ignore[attr-defined]
        return width

    @property
    def virtual_tokens(self) -> int:
        return self.num_virtual_tokens

    def prepare(self, trace: Trace) -> None:
        length = trace.batch.sequence_length + self.num_virtual_tokens
        trace.batch = trace.batch._replace(sequence_length=length)

    def untrained(self, model: Model) -> Problem | None:
        if not model.cls.per_token or self.task_type == "CAUSAL_LM":
            return None
        values = {"architecture": model.architecture, "change": self.title, "task_type": self.task_type}
        return Problem.of(_NO_LABELS, "task_type", self.task_type, **values)

    def run(self, model: Model, encoder: Module, steps: Steps) -> None:
        """Rewrite the steps: look up the word embeddings first, and put the virtual tokens in front of them."""
        index, words = next((index, step) for index, step in enumerate(steps) if step.place.role == "word")
        self._check(model, words)
        batch, length, width = words.gives.shape
        ids = Value("input_ids", (batch, length - self.num_virtual_tokens), ids=True)
        alone = words.gives._replace(shape=(*ids.shape, width))
        encoding = _Encoding(encoder, self.num_virtual_tokens)
        self.encode(encoding)
        encoding.held_as("prompts")
        prompts = Value("prompts", (batch, *encoding.x.shape[1:]))
        together = Value("inputs_embeds", words.gives.shape)

        def changed(step: Step) -> Step:
            if step.name == ids.name:
                return step._replace(gives=ids)
            takes = (together if value == words.gives else value for value in step.takes)
            return step._replace(takes=tuple(takes))

        first, *after = map(changed, steps[index + 1 :])
        asides = tuple(aside for aside in words.asides if aside != "padding")  # the check for padding needs token ids
        steps[:] = [
            *map(changed, steps[:index]),
            words._replace(takes=(ids,), gives=alone, variable=(WRAPPER, together.name), asides=()),
            *encoding.steps,
            _step(prompts, encoding.x),
            _step(together, prompts, alone),
            first._replace(asides=(*asides, *first.asides)),
            *after,
        ]

    def encode(self, encoding: _Encoding) -> None:
        """Add the steps of the encoder."""
        raise NotImplementedError

    def _check(self, model: Model, words: Step) -> None:
        values: dict[str, Any] = {"architecture": model.architecture, "change": self.title}
        if model.cls.takes_choices:
            raise InputError(Problem.of(_CHOICES, "changes", None, **values))
        if words.parts:
            raise InputError(Problem.of(_FACTORIZED, "changes", None, **values))
        self.check_length(model.final_config, words.gives.shape[1] - self.num_virtual_tokens)
        self.check_width(model)


def _place(role: str) -> Place:
    return Place("embeddings", ADAPTER, role)


def _step(gives: Value, *takes: Value) -> Step:
    """Return a step of peft's own forward method, which assigns the result to a variable of the same name."""
    place = _place(gives.name)
    return Step(gives.name, "copy", takes, gives, (), 1, place=place, variable=(WRAPPER, gives.name))


@dataclass(frozen=True)
class PromptTuning(SoftPrompts):
    """Prompt tuning: train vectors in front of the embeddings.

    The arguments match ``peft.PromptTuningConfig``.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(PromptTuning(20, "FEATURE_EXTRACTION")).trainable_parameters
    15360
    """

    title = N_("Prompt tuning")
    peft_config, peft_type = "PromptTuningConfig", "PROMPT_TUNING"

    def encoder(self, rewriting: Rewriting) -> Module:
        return Module("PromptEmbedding", embedding=Embedding(self.num_virtual_tokens, self.width(rewriting)))

    def encode(self, encoding: _Encoding) -> None:
        encoding.look_up("virtual tokens")


@dataclass(frozen=True)
class PrefixTuning(Prompts):
    """Prefix tuning: train the keys and values of virtual tokens in each layer.

    The arguments match ``peft.PrefixTuningConfig``. With ``prefix_projection``, a network computes the keys and values.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(PrefixTuning(20, "FEATURE_EXTRACTION")).trainable_parameters
    368640
    """

    title = N_("Prefix tuning")
    peft_config, peft_type = "PrefixTuningConfig", "PREFIX_TUNING"

    recomputes = False
    in_front_of_layers = True
    width_message = _OTHER_KEYS

    prefix_projection: bool = False
    encoder_hidden_size: int | None = None

    def encoder(self, rewriting: Rewriting) -> Module:
        config: Any = rewriting.model.config
        width = self.width(rewriting)
        if config.has("num_key_value_heads"):  # peft uses the width of a token's keys
            heads = config.num_attention_heads if config.num_key_value_heads is None else config.num_key_value_heads
            width = heads * config.attention_head_size
        in_layers = 2 * config.num_hidden_layers * width
        if not self.prefix_projection:
            return Module("PrefixEncoder", embedding=Embedding(self.num_virtual_tokens, in_layers))
        hidden = width if self.encoder_hidden_size is None else self.encoder_hidden_size
        layers = {"0": Linear(width, hidden), "1": _activation("tanh"), "2": Linear(hidden, in_layers)}
        network = Module("Sequential", **layers)
        return Module("PrefixEncoder", embedding=Embedding(self.num_virtual_tokens, width), transform=network)

    def prepare(self, trace: Trace) -> None:
        trace.prefix = Value("past_key_values", (self.num_virtual_tokens, 1))

    def run(self, model: Model, encoder: Module, steps: Steps) -> None:
        """Add steps before the model's steps that look up the keys and values of the virtual tokens for all layers."""
        index = next(index for index, step in enumerate(steps) if step.operation != "input")
        batch, *choices, length = steps[0].gives.shape
        self._check(model, length, steps)
        if any(isinstance(choice, int) and choice != 1 for choice in choices):
            raise InputError(Problem.of(_CHOICES, "changes", None, architecture=model.architecture))
        encoding = _Encoding(encoder, self.num_virtual_tokens, batch)
        encoding.look_up("prefix tokens")
        if self.prefix_projection:
            encoding.held_as("prefix_tokens", encoding.within)
            encoding.network("transform")
        encoding.held_as("past_key_values")
        past = Value("past_key_values", encoding.x.shape)
        steps[index:index] = [*encoding.steps, _step(past, encoding.x)]

    def _check(self, model: Model, length: int, steps: Steps) -> None:
        values: dict[str, Any] = {"architecture": model.architecture, "task_type": self.task_type}
        if model.family.passes_cache:
            raise InputError(Problem.of(_PASSES_CACHE, "changes", None, change=self.title, **values))
        if not model.family.base.caches:
            raise InputError(Problem.of(_NO_CACHE, "changes", None, **values))
        if any(value.name == "encoder_hidden_states" for step in steps for value in step.takes):
            raise InputError(Problem.of(_READS_ENCODER, "encoder_sequence_length", None, change=self.title))
        possible = [TASK_TYPES.get(model.cls.task), "FEATURE_EXTRACTION"]
        if not model.cls.caches and self.task_type not in possible:
            values["possible"] = " / ".join(filter(None, possible))
            raise InputError(Problem.of(_OTHER_TASK, "task_type", self.task_type, **values))
        config: Any = model.final_config
        self.check_width(model)
        second = config.is_decoder and config.use_cache and not (model.cls.caches or model.cls.pooler)
        # The second output of the body is then the cache, which peft mistakes for the pooled vector.
        if self.task_type == "SEQ_CLS" and second:
            raise InputError(Problem.of(_CACHE_AS_POOLED, "use_cache", True, **values))
        self.check_length(config, length)


@dataclass(frozen=True)
class PromptEncoder(SoftPrompts):
    """P-tuning: train a network that computes virtual tokens.

    The arguments match ``peft.PromptEncoderConfig``.

    >>> from bertcalc import load
    >>> bert = load("bert-base-uncased", "BertForSequenceClassification")
    >>> bert.adapted(PromptEncoder(encoder_hidden_size=128, task_type="SEQ_CLS")).trainable_parameters
    230914
    """

    title = N_("P-tuning")
    peft_config, peft_type = "PromptEncoderConfig", "P_TUNING"

    encoder_reparameterization_type: Encoder = "MLP"
    encoder_hidden_size: int | None = None
    encoder_num_layers: int = 2

    def encoder(self, rewriting: Rewriting) -> Module:
        width = self.width(rewriting)
        hidden = width if self.encoder_hidden_size is None else self.encoder_hidden_size
        table = Embedding(self.num_virtual_tokens, width)
        if self.encoder_reparameterization_type == "MLP":
            sides = ((width, hidden), (hidden, hidden), (hidden, width))
            return Module("PromptEncoder", embedding=table, mlp_head=_network(*sides))
        network = _network((2 * hidden, 2 * hidden), (2 * hidden, width))
        return Module("PromptEncoder", embedding=table, lstm_head=self._lstm(width, hidden), mlp_head=network)

    def unsimulated(self, model: Model) -> Problem | None:
        if self.encoder_reparameterization_type == "LSTM":
            values = {"architecture": model.architecture}
            return Problem.of(_LSTM, "encoder_reparameterization_type", "LSTM", **values)
        return super().unsimulated(model)

    def encode(self, encoding: _Encoding) -> None:
        encoding.look_up("virtual tokens")
        encoding.held_as("input_embeds", encoding.within)
        if self.encoder_reparameterization_type == "LSTM":
            encoding.lstm("lstm_head", self.encoder_num_layers)
        encoding.network("mlp_head")

    def _lstm(self, width: int, hidden: int) -> Module:
        """Return a bidirectional torch.nn.LSTM: four gates, with weights for the input and for the previous output."""
        lstm = Module("LSTM")
        shapes: dict[str, Shape] = {}
        for layer in range(self.encoder_num_layers):
            inputs = width if layer == 0 else 2 * hidden
            for end in (f"l{layer}", f"l{layer}_reverse"):
                shapes |= {f"weight_ih_{end}": (4 * hidden, inputs), f"weight_hh_{end}": (4 * hidden, hidden)}
                shapes |= {f"bias_ih_{end}": (4 * hidden,), f"bias_hh_{end}": (4 * hidden,)}
        lstm.parameters = shapes
        return lstm


def _network(*sides: tuple[int, int]) -> Module:
    """Return linear modules with ReLUs between them; ``sides`` has an (in, out) pair for each linear module."""
    layers: dict[str, Module] = {}
    for number, (inputs, outputs) in enumerate(sides):
        layers[str(2 * number)] = Linear(inputs, outputs)
        if number + 1 < len(sides):
            layers[str(2 * number + 1)] = _activation("relu")
    return Module("Sequential", **layers)


def _activation(name: str) -> Activation:
    facts = ACTIVATIONS[name]
    return Activation(facts.kind, facts.kept)
