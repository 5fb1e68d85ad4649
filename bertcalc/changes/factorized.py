"""Factorized embeddings (Lan et al. 2020, arXiv:1909.11942, section 3.1): a narrow table and a projection."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from bertcalc.changes.resizing import Resizing
from bertcalc.changes.rewriting import Rewriting, Spot
from bertcalc.config import Config, unchecked
from bertcalc.model.change import Limit
from bertcalc.model.model import Model
from bertcalc.model.modules import Embedding, Linear, Module, Place, Tensor
from bertcalc.model.trace import Step, Value
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.records import dataclass

_PRODUCT = N_(
    "The head of {architecture} uses the word embeddings as its output matrix. After factorization, their "
    "rows would be narrower than the head's vectors: set legacy to True, or choose another class."
)


@dataclass(frozen=True)
class FactorizeEmbeddings(Resizing):
    """Narrow the word embeddings to ``embedding_size`` columns, and add a linear projection to the hidden size.

    V x H becomes V x E + E x H, as in the paper, with a bias as in ALBERT's embedding_hidden_mapping_in. A decoder that
    is tied to the word embeddings gets another layer in front of it. This layer projects to E, like the dense layer of
    ALBERT's head. The table and its projection become a ``Sequential``, and so do the decoder and its projection. In
    ALBERT and ELECTRA, ``embedding_size`` is a field, which also sets the width of position and token type embeddings.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(FactorizeEmbeddings(128)).num_parameters()
    90047232
    """

    title = N_("Factorized embeddings")
    once = True
    letters: ClassVar[Mapping[str, str]] = {"embedding_size": "factorized_embedding_size"}

    embedding_size: int

    def limits(self, config: Config) -> Iterator[Limit]:
        yield Limit("embedding_size", self.embedding_size, 1, config.hidden_size - 1)

    def configured(self, model: Model, config: Config) -> Config:
        self.check(config)
        return unchecked(config, embedding_size=self.embedding_size)  # families without the field ignore it

    def unsimulated(self, model: Model) -> Problem | None:
        """Return a problem if the table becomes a ``Sequential``, which the simulation does not support."""
        return None if model.config.has("embedding_size") else self.not_simulated(model)

    def rewrite(self, model: Model, root: Module, steps: list[Step] | None) -> None:
        if model.config.has("embedding_size"):
            return
        rewriting = Rewriting(model, root, steps)
        spots = list(rewriting.spots())
        words = next(spot for spot in spots if spot.module.is_embedding and spot.module.place.role == "word")
        table = f"{words.path}.weight"
        decoders = [spot for spot in spots if spot.module.tied.get("weight") == table]
        if not decoders and "lm_predictions" in root.children:
            raise InputError(Problem.of(_PRODUCT, "legacy", False, architecture=model.architecture))
        self._factorize(rewriting, words)
        for decoder in decoders:
            self._project(rewriting, decoder)

    def _factorize(self, rewriting: Rewriting, words: Spot) -> None:
        """Put the table into a Sequential, followed by the projection."""
        table, width = words.module, self.embedding_size
        assert isinstance(table, Embedding)
        rows, hidden_size = table.parameters["weight"]
        narrow, project = Embedding(rows, width, table.padding_idx), Linear(width, hidden_size)
        narrow.place = table.place
        project.place = place = Place("embeddings", "projection", "map")

        def projected(step: Step) -> list[Step]:
            x = Value(f"{step.name}.0", (*step.gives.shape[:-1], width))
            return [_call(rewriting, f"{words.path}.1", project, x, step.gives.shape, place)]

        def narrowed(step: Step) -> Step:
            gives = step.gives._replace(shape=(*step.gives.shape[:-1], width))
            tensors = tuple(tensor._replace(shape=(rows, width)) for tensor in step.tensors)
            return step._replace(gives=gives, tensors=tensors, module=narrow)

        wrapper = Module("Sequential", **{"0": narrow, "1": project})
        rewriting.wrap(words, wrapper, "0", projected, resize=narrowed)

    def _project(self, rewriting: Rewriting, decoder: Spot) -> None:
        """Put a decoder that is tied to the table into a Sequential, after a projection."""
        wide, width = decoder.module, self.embedding_size
        assert isinstance(wide, Linear)
        project = Linear(wide.in_features, width)
        project.place = place = wide.place._replace(block="projection", role="map")
        narrow = Linear(width, wide.out_features, wide.tied, wide.biased)
        narrow.place = wide.place

        def projected(step: Step) -> list[Step]:
            x = step.takes[0]
            return [_call(rewriting, f"{decoder.path}.0", project, x, (*x.shape[:-1], width), place)]

        def narrowed(step: Step) -> Step:
            return step._replace(module=narrow)

        wrapper = Module("Sequential", **{"0": project, "1": narrow})
        rewriting.wrap(decoder, wrapper, "1", projected, resize=narrowed, in_front=True)


def _call(rewriting: Rewriting, path: str, module: Linear, x: Value, shape: tuple[int, ...], place: Place) -> Step:
    tensors = tuple(Tensor(f"{path}.{last}", sides, 1, place) for last, sides in module.parameters.items())
    name = rewriting.model.without_prefix(path)
    return Step(name, "linear", (x,), Value(name, shape), tensors, 1, module, place)
