"""Code shared by most families: configuration fields with BERT's defaults, class names, sizes of models.

A family declares only its differences: additional fields and different defaults.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bertcalc.config import Config
from bertcalc.model.family import Class, Hidden, Preset, Task, model_card
from bertcalc.model.trace import Trace
from bertcalc.text.records import dataclass


@dataclass(frozen=True)
class EncoderConfig(Config):
    """The fields of an encoder such as BERT."""

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    tie_word_embeddings: bool = True
    num_labels: int = 2


@dataclass(frozen=True)
class DecoderConfig(EncoderConfig):
    """The fields of an encoder with token types that can also be configured as a decoder."""

    type_vocab_size: int = 2
    use_cache: bool = True
    classifier_dropout: float | None = None
    is_decoder: bool = False
    add_cross_attention: bool = False


TOKENS = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds")
WITHOUT_TYPES = ("input_ids", "attention_mask", "position_ids", "inputs_embeds")
ENCODER = ("encoder_hidden_states", "encoder_attention_mask")
CACHE = ("past_key_values", "use_cache")
ANSWERS = ("start_positions", "end_positions")
FLAGS = ("output_attentions", "output_hidden_states", "return_dict")

_ENDS: dict[Task, str] = {
    "base": "Model",
    "pretraining": "ForPreTraining",
    "replaced-tokens": "ForPreTraining",
    "masked-lm": "ForMaskedLM",
    "causal-lm": "ForCausalLM",
    "next-sentence": "ForNextSentencePrediction",
    "sequence-classification": "ForSequenceClassification",
    "token-classification": "ForTokenClassification",
    "question-answering": "ForQuestionAnswering",
    "multiple-choice": "ForMultipleChoice",
    "double-heads": "DoubleHeadsModel",
}


class ClassFactory(NamedTuple):
    """A factory for classes that have the name prefix ``kind`` and share the inputs ``tokens`` and ``flags``."""

    kind: str
    tokens: tuple[str, ...] = TOKENS
    flags: tuple[str, ...] = ()

    def __call__(
        self,
        task: Task,
        head: Callable[[Trace, Any, Hidden], None],
        *before: str,
        after: tuple[str, ...] = (),
        **options: Any,
    ) -> Class:
        """The class for a task, with the usual label inputs and further inputs ``before`` and ``after`` the labels.

        ``options`` are further fields of ``Class``.
        """
        answers = {"base": (), "question-answering": ANSWERS}.get(task, ("labels",))
        inputs = (*self.tokens, *before, *answers, *after, *self.flags)
        return Class(f"{self.kind}{_ENDS[task]}", task, head, inputs, **options)


BASE: dict[str, Any] = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
LARGE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}


def presets(config: type[Config], published: Mapping[str, Mapping[str, Any]]) -> dict[str, Preset]:
    """The presets of published models: ``published`` maps Hub repositories to the values that differ from defaults."""
    return {
        repository.rpartition("/")[2]: Preset(config(**sizes), model_card(repository))
        for repository, sizes in published.items()
    }
