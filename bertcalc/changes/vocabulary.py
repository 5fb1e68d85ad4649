"""Another vocabulary: resize the word embeddings and the decoder like transformers' ``resize_token_embeddings``."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.resizing import Resizing
from bertcalc.changes.rewriting import Rewriting, Spot
from bertcalc.config import Config, unchecked
from bertcalc.config.fields import DIMENSIONS, is_int
from bertcalc.model.change import Limit
from bertcalc.model.model import Model
from bertcalc.model.modules import Embedding, Linear, Module
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.live_choices import rounded_up
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.records import dataclass

_BROKEN = N_(
    "If legacy is False, transformers mistakes another matrix of {architecture} for its decoder and cannot resize the "
    "vocabulary: set legacy to True."
)
_FACTORIZED = N_("transformers cannot resize factorized embeddings: change the vocabulary first.")
_HIGHEST = DIMENSIONS["vocab_size"][1]


@dataclass(frozen=True)
class ResizeVocabulary(Resizing):
    """Resize the vocabulary to ``new_num_tokens``, rounded up to a multiple of ``pad_to_multiple_of``.

    The arguments match transformers' ``resize_token_embeddings``. Without ``new_num_tokens``, the current vocabulary
    size is rounded up.

    >>> from bertcalc import load
    >>> load("bert-base-multilingual-cased").adapted(ResizeVocabulary(30000)).num_parameters()
    109081344
    """

    title = N_("A different vocabulary")
    letters: ClassVar[Mapping[str, str]] = {"new_num_tokens": "padded_vocab_size"}

    new_num_tokens: int | None = None
    pad_to_multiple_of: int | None = None

    def tokens(self, config: Config) -> int:
        """Return the number of rows in the resized word embeddings."""
        tokens = config.vocab_size if self.new_num_tokens is None else self.new_num_tokens
        if self.pad_to_multiple_of is None:
            return tokens
        return rounded_up(tokens, self.pad_to_multiple_of) * self.pad_to_multiple_of

    def limits(self, config: Config) -> Iterator[Limit]:
        numbers = {"new_num_tokens": self.new_num_tokens, "pad_to_multiple_of": self.pad_to_multiple_of}
        yield from (Limit(field, number, 1, _HIGHEST) for field, number in numbers.items() if number is not None)

    def configured(self, model: Model, config: Config) -> Config:
        if model.cls.task == "masked-lm" and not getattr(config, "legacy", True):
            raise InputError(Problem.of(_BROKEN, "legacy", False, architecture=model.architecture))
        kinds = [type(change) for change in model.changes]
        if FactorizeEmbeddings in kinds[: len(kinds) - kinds[::-1].index(ResizeVocabulary)] and not config.has(
            "embedding_size"
        ):
            raise InputError(Problem.of(_FACTORIZED, "changes", None))
        self.check(config)
        return unchecked(config, vocab_size=self.tokens(config))

    def rewrite(self, model: Model, root: Module, steps: list[Step] | None) -> None:
        rewriting = Rewriting(model, root, steps)
        for spot in list(rewriting.spots()):
            module = spot.module
            if isinstance(module, Embedding) and module.place.role == "word":
                _forget_padding(module, self.tokens(model.config))
            if isinstance(module, Linear) and module.place.role == "decoder" and "bias" in spot.parent.parameters:
                self._biases(rewriting, spot)

    def _biases(self, rewriting: Rewriting, decoder: Spot) -> None:
        """If the head and its decoder each have a bias, keep or tie these biases as transformers does.

        If transformers keeps both, the head's bias keeps its size.
        """
        module, model = decoder.module, rewriting.model
        assert isinstance(module, Linear)
        if "bias" not in module.parameters:  # the decoder has the head's bias, which transformers ties again
            return
        own = f"{decoder.path.rpartition('.')[0]}.bias"
        before = (model.config.vocab_size,)
        shared = model.config.has("num_hidden_groups")
        # In these models, set_output_embeddings replaces only the decoder, not the bias of the head.
        if model.family.keeps_bias or (shared and model.cls.task == "pretraining"):
            decoder.parent.parameters = {**decoder.parent.parameters, "bias": before}
            rewriting.change_tensors(lambda tensor: tensor._replace(shape=before) if tensor.name == own else tensor)
        else:
            weight = {"weight": module.parameters["weight"]}
            module.parameters, module.tied = weight, {**module.tied, "bias": own}
            rewriting.change_tensors(lambda tensor: None if tensor.name == f"{decoder.path}.bias" else tensor)

    def settled(self, config: Config) -> Self:
        return type(self)(self.tokens(config))

    def in_letters(self, symbols: Mapping[str, Any]) -> Self:
        return type(self)(symbols["padded_vocab_size"])

    def letter_values(self, config: Config) -> dict[str, Any]:
        return {"padded_vocab_size": self.tokens(config)}


def _forget_padding(table: Embedding, rows: Any) -> None:
    """As transformers does, set padding_idx to None if these rows do not include the padding token.

    A later change that adds rows does not set it again.
    """
    if table.padding_idx is not None and is_int(rows) and table.padding_idx >= rows:
        table.padding_idx = None
