"""Compare models of any transformers class with each other and with models of the built-in families.

>>> from bertcalc.discover.results.shipped import shipped
>>> llama = shipped("llama", "LlamaForCausalLM")
>>> default = DiscoveredCase(DiscoveredModel(llama))
>>> shallow = DiscoveredCase(DiscoveredModel(llama, (("num_hidden_layers", 16),)))
>>> for part in explain(default, shallow, "parameters").parts:
...     print(*(str(change) for change in part.changes), f"{part.difference:+,}")
16 fewer layers -3,238,133,760
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from bertcalc.config import Problem
from bertcalc.discover.results.components import components, count
from bertcalc.discover.results.config_input import json_of
from bertcalc.discover.results.expressions import usual_names
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.size_steps import refused
from bertcalc.explore import quantities
from bertcalc.explore.compare import Breakdown, FieldChange, PartChange, attributed
from bertcalc.explore.compare import explain as explain_fields
from bertcalc.explore.quantities import EVERY_QUANTITY, Case
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import DEFAULT_BATCH, Batch
from bertcalc.model.modules import Component
from bertcalc.model.totals import COMPONENTS
from bertcalc.text import N_
from bertcalc.text.problem import wrong

_CONFIG = "config-"
_MOST = 2**62  # values and differences in charts must fit into 64 bits


class DiscoveredModel(NamedTuple):
    """A model with an inferred formula; ``changes`` are the (field, size) pairs that differ from the search's sizes."""

    discovery: Discovered
    changes: tuple[tuple[str, int], ...] = ()

    @property
    def architecture(self) -> str:
        return self.discovery.cls

    @property
    def kind(self) -> tuple[str, str, str]:
        """The model type, the class and the given fields: what models of different sizes have in common."""
        return self.discovery.model_type, self.discovery.cls, json_of(self.discovery.given)

    def problem(self) -> Problem | None:
        """The reason why the model's sizes are refused; None if they are valid."""
        return refused(self.discovery, dict(self.changes)) if self.changes else None

    def sizes(self) -> dict[str, int]:
        """All sizes, keyed by field name."""
        return self.discovery.completed(**dict(self.changes))

    def values(self) -> dict[str, Any]:
        """The class and the sizes, keyed by BERT's field names where these are unambiguous."""
        usual = usual_names(self.discovery)
        return {"architecture": self.architecture, **{usual[name]: size for name, size in self.sizes().items()}}


class DiscoveredCase(NamedTuple):
    """A discovered model and its batch."""

    model: DiscoveredModel
    batch: Batch = DEFAULT_BATCH

    def parameters(self) -> int:
        return sum(self.components().values())

    def components(self) -> dict[Component, int]:
        """The number of parameters of each component, as judged by tensor names.

        Parameters without a formula are added to the pooler, which stands for other parts.
        """
        discovery, sizes = self.model.discovery, self.model.sizes()
        parts = {component: count(tensors, sizes) for component, tensors in components(discovery).items()}
        rest = discovery.parameters - discovery.explained
        return {**parts, "pooler": parts.get("pooler", 0) + rest} if rest else parts

    def flops(self) -> int:
        """FLOPs of a forward pass. Raises InputError if there is no formula or the result exceeds 2**62."""
        sizes = self.model.discovery.whole(**dict(self.model.changes))
        count = self.model.discovery.count_flops(**self.batch.sizes(), **sizes)
        if count > _MOST:
            message = N_("{name} would take more than {most} FLOPs: choose a smaller batch or a shorter sequence.")
            raise wrong(message, name=self.model.architecture, most=_MOST)
        return count

    def bytes_of_weights(self) -> int:
        """Bytes of the weights in the default precision."""
        return ITEM_BYTES[PRECISIONS[Plan().precision].dtype] * self.parameters()

    def component(self, name: Component) -> int:
        """The number of parameters of one component; 0 if the model does not have it."""
        return self.components().get(name, 0)


# Computes each quantity that is available for discovered models.
_READINGS: Mapping[str, Callable[[DiscoveredCase], int]] = {
    "parameters": DiscoveredCase.parameters,
    **{name: partial(DiscoveredCase.component, name=name) for name in COMPONENTS},
    "forward": DiscoveredCase.flops,
    "weights": DiscoveredCase.bytes_of_weights,
}


def figure(measure: str, case: Case | DiscoveredCase) -> int:
    """Return the quantity with the name ``measure`` of a built-in or discovered model.

    Raises InputError if discovered models do not have this quantity.
    """
    if isinstance(case, Case):
        return EVERY_QUANTITY[measure].of(case)
    if measure not in _READINGS:
        raise wrong(
            N_("bertcalc does not compute this for {name}, because its formula was derived automatically."),
            name=case.model.architecture,
        )
    return _READINGS[measure](case)


def components_of(case: Case | DiscoveredCase) -> Mapping[Component, int]:
    """Return the number of parameters of each component of a built-in or discovered model."""
    return quantities.components(case.model) if isinstance(case, Case) else case.components()


def explain(first: Case | DiscoveredCase, second: Case | DiscoveredCase, measure: str) -> Breakdown:
    """Explain the difference in the quantity ``measure`` between two models as a sum of parts.

    For two built-in models, or two discovered models of the same class, the parts are changed fields. For other models,
    the parts are components if the quantity is the number of parameters; otherwise there is a single part. Raises
    InputError if one of the models does not have the quantity.
    """
    if isinstance(first, Case) and isinstance(second, Case):
        return explain_fields(first, second, EVERY_QUANTITY[measure])
    before, after = figure(measure, first), figure(measure, second)
    if (
        isinstance(first, DiscoveredCase)
        and isinstance(second, DiscoveredCase)
        and first.model.kind == second.model.kind
    ):
        path = _path(first.model, second.model)
        return attributed(before, ((changes, figure(measure, first._replace(model=model))) for changes, model in path))
    if measure != "parameters":
        return explain_whole(before, after)
    return explain_components(components_of(first), components_of(second))


def explain_whole(before: int, after: int) -> Breakdown:
    """Return the difference between two figures as a single part."""
    return attributed(before, [((PartChange("", before, after),), after)])


def explain_components(first: Mapping[Component, int], second: Mapping[Component, int]) -> Breakdown:
    """Return the difference between two models' parameters as a sum over their components.

    The arguments map each component to its number of parameters. The result is live if either model's numbers are live.
    """
    before = total = sum(first.values())
    counts = []
    for name in COMPONENTS:
        if name in first or name in second:
            change = PartChange(name, first.get(name, 0), second.get(name, 0))
            total += change.after - change.before
            counts.append(((change,), total))
    return attributed(before, counts)


def _path(first: DiscoveredModel, second: DiscoveredModel) -> Iterator[tuple[tuple[FieldChange, ...], DiscoveredModel]]:
    """Yield the steps from one model to another of the same class, as (changed fields, model after the change) pairs.

    A field that cannot change alone changes together with the next fields, until the model is valid.
    """
    model, target = first, second.sizes()
    waiting: tuple[FieldChange, ...] = ()
    for field in first.discovery.fields:
        if model.sizes()[field] == target[field]:
            continue
        waiting += (FieldChange(field, model.sizes()[field], target[field]),)
        changes = dict(model.changes) | {change.field: change.after for change in waiting}
        after = DiscoveredModel(first.discovery, tuple(changes.items()))
        if after.problem() is None:
            yield waiting, after
            model, waiting = after, ()
    if waiting:
        yield waiting, second
