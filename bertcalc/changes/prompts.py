"""Prompt tuning (Lester et al. 2021, arXiv:2104.08691), prefix tuning (Li and Liang 2021, arXiv:2101.00190) and
p-tuning (Liu et al. 2021, arXiv:2103.10385), as peft 0.21 adds them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from bertcalc.changes.adapter import PeftChange, freeze, set_places
from bertcalc.changes.rewriting import Rewriting
from bertcalc.changes.targets import TaskType
from bertcalc.model.change import ADAPTER
from bertcalc.model.modules import Embedding, Linear, Module, Place, Shape
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

NAMES_OF_WIDTH = ("hidden_size", "n_embd", "d_model")  # the fields in which peft looks for the width
Encoder = Literal["MLP", "LSTM"]
_NO_TASK = N_("peft adds virtual tokens to a model only for a task: give task_type, such as {task_type}.")
_NO_WIDTH = N_("peft finds no hidden size in the configuration of {family}: give token_dim, such as {hidden_size}.")


@dataclass(frozen=True)
class Prompts(PeftChange):
    """What the three have in common: an encoder of virtual tokens beside the frozen model."""

    in_steps = False
    letters: ClassVar[Mapping[str, str]] = {"num_virtual_tokens": "num_virtual_tokens"}

    num_virtual_tokens: int = 20
    task_type: TaskType | None = None
    modules_to_save: Collection[str] | None = None
    token_dim: int | None = None

    def adapt(self, rewriting: Rewriting) -> None:
        if self.task_type is None:
            raise InputError(Problem.of(_NO_TASK, "task_type", None, task_type="FEATURE_EXTRACTION"))
        freeze(rewriting.root)
        encoders = Module("ModuleDict", default=self.encoder(rewriting))
        rewriting.root.children["prompt_encoder"] = set_places(encoders, Place("embeddings", ADAPTER, ADAPTER))

    def encoder(self, rewriting: Rewriting) -> Module:
        raise NotImplementedError

    def width(self, rewriting: Rewriting) -> int:
        """The width of a virtual token. peft looks for hidden_size and n_embd in the configuration."""
        config, family = rewriting.model.config, rewriting.model.family.name
        if self.token_dim is not None:
            return self.token_dim
        if config.own_name("hidden_size") not in NAMES_OF_WIDTH:
            values = {"family": family, "hidden_size": config.hidden_size}
            raise InputError(Problem.of(_NO_WIDTH, "token_dim", None, **values))
        return config.hidden_size


@dataclass(frozen=True)
class PromptTuning(Prompts):
    """Prompt tuning: vectors in front of the embeddings are trained. The arguments are those of ``PromptTuningConfig``.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(PromptTuning(20, "FEATURE_EXTRACTION")).trainable_parameters
    15360
    """

    title = N_("Prompt tuning")
    peft_config, peft_type = "PromptTuningConfig", "PROMPT_TUNING"

    def encoder(self, rewriting: Rewriting) -> Module:
        return Module("PromptEmbedding", embedding=Embedding(self.num_virtual_tokens, self.width(rewriting)))


@dataclass(frozen=True)
class PrefixTuning(Prompts):
    """Prefix tuning: keys and values of virtual tokens are trained, in each layer.

    The arguments are those of ``peft.PrefixTuningConfig``. With ``prefix_projection``, a network makes them.
    """

    title = N_("Prefix tuning")
    peft_config, peft_type = "PrefixTuningConfig", "PREFIX_TUNING"

    prefix_projection: bool = False
    encoder_hidden_size: int | None = None

    def encoder(self, rewriting: Rewriting) -> Module:
        config: Any = rewriting.model.config
        width = self.width(rewriting)
        if config.has("num_key_value_heads"):  # peft needs as many units as there are in the keys of a token
            heads = config.num_attention_heads if config.num_key_value_heads is None else config.num_key_value_heads
            width = heads * config.attention_head_size
        in_layers = 2 * config.num_hidden_layers * width
        if not self.prefix_projection:
            return Module("PrefixEncoder", embedding=Embedding(self.num_virtual_tokens, in_layers))
        hidden = width if self.encoder_hidden_size is None else self.encoder_hidden_size
        layers = {"0": Linear(width, hidden), "1": Module("Tanh"), "2": Linear(hidden, in_layers)}
        network = Module("Sequential", **layers)
        return Module("PrefixEncoder", embedding=Embedding(self.num_virtual_tokens, width), transform=network)


@dataclass(frozen=True)
class PromptEncoder(Prompts):
    """P-tuning: a network makes the virtual tokens. The arguments are those of ``peft.PromptEncoderConfig``.

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

    def _lstm(self, width: int, hidden: int) -> Module:
        """torch.nn.LSTM in both directions: four gates, each with weights for the input and for its own output."""
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
    """Linear modules with a ReLU between two."""
    layers: dict[str, Module] = {}
    for number, (inputs, outputs) in enumerate(sides):
        layers[str(2 * number)] = Linear(inputs, outputs)
        if number + 1 < len(sides):
            layers[str(2 * number + 1)] = Module("ReLU")
    return Module("Sequential", **layers)
