"""Factorized embeddings (Lan et al. 2020, arXiv:1909.11942, section 3.1): narrow rows, projected to the hidden size."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from bertcalc.changes.resizing import Resizing
from bertcalc.config import Config, unchecked
from bertcalc.model.model import Model
from bertcalc.text.arguments import record


@record
@dataclass(frozen=True)
class FactorizeEmbeddings(Resizing):
    """The word table has rows of ``embedding_size`` units, which a linear layer projects to the hidden size.

    V x H becomes V x E + E x H, as in the paper, with a bias as in ALBERT's embedding_hidden_mapping_in. ALBERT and
    ELECTRA have a field for it: there, position and token type embeddings get the same width.
    """

    embedding_size: int
