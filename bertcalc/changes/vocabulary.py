"""Another vocabulary: the word table and the decoder, as transformers' ``resize_token_embeddings`` resizes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from bertcalc.changes.resizing import Resizing
from bertcalc.config import Config, unchecked
from bertcalc.config.fields import DIMENSIONS
from bertcalc.model.model import Model
from bertcalc.model.modules import Embedding, Linear, Module
from bertcalc.model.trace import Step
from bertcalc.text.arguments import record

_HIGHEST = DIMENSIONS["vocab_size"][1]


@record
@dataclass(frozen=True)
class ResizeVocabulary(Resizing):
    """A vocabulary of ``new_num_tokens``, rounded up to a multiple of ``pad_to_multiple_of``.

    The arguments are those of transformers' ``resize_token_embeddings``. Without ``new_num_tokens``, the present
    number is rounded up.

    >>> from bertcalc import load
    >>> load("bert-base-multilingual-cased").adapted(ResizeVocabulary(30000)).num_parameters()
    109081344
    """

    new_num_tokens: int | None = None
    pad_to_multiple_of: int | None = None

    def tokens(self, config: Config) -> int:
        """The number of rows of the word table."""
        tokens = config.vocab_size if self.new_num_tokens is None else self.new_num_tokens
        if self.pad_to_multiple_of is None:
            return tokens
        return -(-tokens // self.pad_to_multiple_of) * self.pad_to_multiple_of

    def configured(self, model: Model, config: Config) -> Config:
        if self.new_num_tokens is not None:
            self.check("new_num_tokens", self.new_num_tokens, 1, _HIGHEST)
        if self.pad_to_multiple_of is not None:
            self.check("pad_to_multiple_of", self.pad_to_multiple_of, 1, _HIGHEST)
        return unchecked(config, vocab_size=self.tokens(config))

    def in_letters(self, symbols: Mapping[str, Any]) -> Self:
        return type(self)(symbols["padded_vocab_size"])

    def letter_values(self, config: Config) -> dict[str, Any]:
        return {"padded_vocab_size": self.tokens(config)}
