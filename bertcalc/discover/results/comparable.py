"""Compare models of any transformers class with each other and with models of the built-in families.

A link names such a model by type, class and changed sizes: ``llama.LlamaForCausalLM~hidden_size-2048``. Fields from a
config.json are written as ``config-`` followed by their JSON in base64.

>>> from bertcalc.discover.results.shipped import shipped
>>> llama = shipped("llama", "LlamaForCausalLM")
>>> default = DiscoveredCase(DiscoveredModel(llama))
>>> shallow = DiscoveredCase(DiscoveredModel(llama, (("num_hidden_layers", 16),)))
>>> for part in explain(default, shallow, "parameters").parts:
...     print(*(str(change) for change in part.changes), f"{part.difference:+,}")
16 fewer layers -3,238,133,760
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from bertcalc.config import Config, Problem
from bertcalc.discover.results.components import components, count
from bertcalc.discover.results.config_input import read_fields
from bertcalc.discover.results.expressions import usual_names
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.size_steps import read as read_sizes
from bertcalc.discover.results.size_steps import refused
from bertcalc.discover.results.size_steps import write as write_sizes
from bertcalc.discover.results.types import types
from bertcalc.explore import quantities
from bertcalc.explore.compare import Breakdown, FieldChange, PartChange, attributed
from bertcalc.explore.compare import explain as explain_fields
from bertcalc.explore.model_refs import ModelRef, Wrong, read_item, read_with
from bertcalc.explore.quantities import EVERY_QUANTITY, Case
from bertcalc.families.presets import preset_named
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import DEFAULT_BATCH, Batch
from bertcalc.model.modules import Component
from bertcalc.model.totals import COMPONENTS
from bertcalc.text import N_, shorten
from bertcalc.text.problem import wrong
from bertcalc.text.suggestions import nearest

_CONFIG = "config-"
_MOST = 2**62  # numbers in charts, and their differences, must fit into 64 bits


class DiscoveredRef(NamedTuple):
    """A model as a link names it: type, class, changed sizes, and the JSON of the fields of its config.json."""

    model_type: str
    cls: str
    changes: tuple[tuple[str, int], ...] = ()
    config: str = ""

    @property
    def base(self) -> str:
        return f"{self.model_type}.{self.cls}"

    def fields(self) -> dict[str, Any]:
        """The fields of its configuration that the link gives, by name."""
        fields: dict[str, Any] = json.loads(self.config) if self.config else {}
        return fields

    def __str__(self) -> str:
        config = _CONFIG + urlsafe_b64encode(self.config.encode()).decode().rstrip("=") if self.config else ""
        return "~".join(filter(None, (self.base, config, write_sizes(dict(self.changes)))))


class DiscoveredModel(NamedTuple):
    """A model whose formula was discovered, with some sizes changed."""

    discovery: Discovered
    changes: tuple[tuple[str, int], ...] = ()

    @property
    def architecture(self) -> str:
        return self.discovery.cls

    @property
    def kind(self) -> tuple[str, str, str]:
        """The model type, the class and the fields of its config.json, which models of different sizes share."""
        return self.discovery.model_type, self.discovery.cls, text_of(self.discovery.given)

    def problem(self) -> Problem | None:
        """The reason why these sizes are refused; None if they are valid."""
        return refused(self.discovery, dict(self.changes)) if self.changes else None

    def sizes(self) -> dict[str, int]:
        """All sizes, by their field names."""
        return self.discovery.completed(**dict(self.changes))

    def values(self) -> dict[str, Any]:
        """The class and the sizes, under BERT's field names where the meaning is unambiguous."""
        usual = usual_names(self.discovery)
        return {"architecture": self.architecture, **{usual[name]: size for name, size in self.sizes().items()}}


class DiscoveredCase(NamedTuple):
    """A discovered model and its batch."""

    model: DiscoveredModel
    batch: Batch = DEFAULT_BATCH

    def parameters(self) -> int:
        return sum(self.components().values())

    def components(self) -> dict[Component, int]:
        """The parameters of each component, by tensor names; parameters without a formula count as pooler."""
        discovery, sizes = self.model.discovery, self.model.sizes()
        parts = {component: count(tensors, sizes) for component, tensors in components(discovery).items()}
        rest = discovery.parameters - discovery.explained
        return {**parts, "pooler": parts.get("pooler", 0) + rest} if rest else parts

    def flops(self) -> int:
        """The FLOPs of a forward pass. Raises InputError if there is no formula or the number is too large."""
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
        """The parameters of one component; 0 if the model does not have it."""
        return self.components().get(name, 0)


# The quantities available for discovered models, by name.
_READINGS: Mapping[str, Callable[[DiscoveredCase], int]] = {
    "parameters": DiscoveredCase.parameters,
    **{name: partial(DiscoveredCase.component, name=name) for name in COMPONENTS},
    "forward": DiscoveredCase.flops,
    "weights": DiscoveredCase.bytes_of_weights,
}


def figure(measure: str, case: Case | DiscoveredCase) -> int:
    """Return a quantity of a built-in or discovered model. Raises InputError if discovered models do not have it."""
    if isinstance(case, Case):
        return EVERY_QUANTITY[measure].of(case)
    if measure not in _READINGS:
        raise wrong(N_("This is not available for {name}: its formula was inferred."), name=case.model.architecture)
    return _READINGS[measure](case)


def components_of(case: Case | DiscoveredCase) -> Mapping[Component, int]:
    """The parameters of each component of a built-in or discovered model."""
    return quantities.components(case.model) if isinstance(case, Case) else case.components()


def explain(first: Case | DiscoveredCase, second: Case | DiscoveredCase, measure: str) -> Breakdown:
    """Explain the difference between two models as a sum over changed fields, or over components for different classes.

    Raises InputError if one of the models does not have the quantity.
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
    """The difference of two figures as one part."""
    return attributed(before, [((PartChange("", before, after),), after)])


def explain_components(first: Mapping[Component, int], second: Mapping[Component, int]) -> Breakdown:
    """The difference of two models as a sum over their components; live if either model is live."""
    before = total = sum(first.values())
    counts = []
    for name in COMPONENTS:
        if name in first or name in second:
            change = PartChange(name, first.get(name, 0), second.get(name, 0))
            total += change.after - change.before
            counts.append(((change,), total))
    return attributed(before, counts)


def _path(first: DiscoveredModel, second: DiscoveredModel) -> Iterator[tuple[tuple[FieldChange, ...], DiscoveredModel]]:
    """Yield the steps from one model to another of the same class: the fields that change, and the model after them.

    A field that cannot change alone is changed together with the next ones, until the model is valid.
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


def read(text: str, present: type[Config] | None = None) -> tuple[list[ModelRef | DiscoveredRef], list[Wrong]]:
    """Read the models of a comparison, built-in or discovered, and the errors in its text."""
    return read_with(text, partial(_read_item, present=present))


def _read_item(text: str, present: type[Config] | None) -> ModelRef | DiscoveredRef:
    base = text.partition("~")[0]
    if preset_named(base) or base.rpartition(".")[0] not in types():
        return read_item(text, present)
    return _read_discovered(text)


def _read_discovered(text: str) -> DiscoveredRef:
    """Read a class with its sizes, without checking that the sizes are valid. Raises InputError."""
    base, *rest = text.split("~")
    model_type, _dot, cls = base.rpartition(".")
    if cls not in types()[model_type]:
        near = nearest(cls, types()[model_type], similarity=0.0)
        message = N_("there is no architecture {name}: did you mean {nearest}?")
        raise wrong(message, "architecture", cls, name=shorten(cls), nearest=near)
    encoded = next((part.removeprefix(_CONFIG) for part in rest if part.startswith(_CONFIG)), "")
    try:
        config = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        raise wrong(N_("the config.json in the link cannot be read.")) from None
    fields = read_fields(config) if config else {}
    sizes = read_sizes("~".join(part for part in rest if not part.startswith(_CONFIG)))
    return DiscoveredRef(model_type, cls, tuple(sizes.items()), text_of(fields))


def text_of(fields: Mapping[str, Any]) -> str:
    """Return fields of a configuration as JSON for a link; "" if there are none."""
    return json.dumps(dict(fields), separators=(",", ":"), ensure_ascii=False) if fields else ""
