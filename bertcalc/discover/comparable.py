"""Models of any class of transformers in a comparison, beside those of the families.

A link has the model type, the class and the changed sizes of such a model: ``llama.LlamaForCausalLM~hidden_size-2048``;
the fields that a config.json gives, if any, stand there as ``config-`` with their JSON in base64.

>>> from bertcalc.discover.results.shipped import shipped
>>> llama = shipped("llama", "LlamaForCausalLM")
>>> here, there = FoundCase(FoundModel(llama)), FoundCase(FoundModel(llama, (("num_hidden_layers", 16),)))
>>> for part in explain(here, there, "parameters").parts:
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
from bertcalc.discover.results.expressions import usual_names
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.size_steps import read as read_sizes
from bertcalc.discover.results.size_steps import refused
from bertcalc.discover.results.types import types
from bertcalc.discover.search.config_input import read_fields
from bertcalc.explore import quantities
from bertcalc.explore.compare import Explanation, FieldChange, PartChange, attributed
from bertcalc.explore.compare import explain as explain_fields
from bertcalc.explore.models import WrittenModel, Wrong, read_item, read_with
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.families.presets import preset_named
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.model.modules import Component
from bertcalc.model.totals import COMPONENTS
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

_CONFIG = "config-"
_MOST = 2**62  # numbers in a chart, and their differences, have 64 bits


class WrittenFound(NamedTuple):
    """A class of a model type as a link writes it: the sizes that differ, and the JSON of the fields that are given."""

    model_type: str
    cls: str
    changes: tuple[tuple[str, int], ...] = ()
    given: str = ""

    @property
    def base(self) -> str:
        return f"{self.model_type}.{self.cls}"

    def fields(self) -> dict[str, Any]:
        """The fields of its configuration that are given."""
        found: dict[str, Any] = json.loads(self.given) if self.given else {}
        return found

    def __str__(self) -> str:
        given = [_CONFIG + urlsafe_b64encode(self.given.encode()).decode().rstrip("=")] if self.given else []
        return "~".join([self.base, *given, *(f"{field}-{value}" for field, value in self.changes)])


class FoundModel(NamedTuple):
    """A model whose formula was discovered, with some sizes changed."""

    found: Discovered
    changes: tuple[tuple[str, int], ...] = ()

    @property
    def architecture(self) -> str:
        return self.found.cls

    @property
    def kind(self) -> tuple[str, str, str]:
        """The model type, the class and the given fields, which models of other sizes have in common."""
        return self.found.model_type, self.found.cls, text_of(self.found.given)

    def problem(self) -> Problem | None:
        """Why these sizes are refused; None if they are not."""
        return refused(self.found, dict(self.changes)) if self.changes else None

    def sizes(self) -> dict[str, int]:
        """All sizes, by the names of its configuration."""
        return self.found.completed(**dict(self.changes))

    def values(self) -> dict[str, Any]:
        """The class and the sizes, under BERT's names where one field alone has that meaning."""
        usual = usual_names(self.found)
        return {"architecture": self.architecture, **{usual[name]: size for name, size in self.sizes().items()}}


class FoundCase(NamedTuple):
    """A discovered model, with a batch size and a sequence length."""

    subject: FoundModel
    batch_size: int = 1
    sequence_length: int = 128

    def parameters(self) -> int:
        return sum(self.components().values())

    def components(self) -> dict[Component, int]:
        """The parameters of each component, judged by the tensors' names; those without a formula are in the pooler."""
        found, sizes = self.subject.found, self.subject.sizes()
        parts = {component: count(tensors, sizes) for component, tensors in components(found).items()}
        rest = found.parameters - found.explained
        return {**parts, "pooler": parts.get("pooler", 0) + rest} if rest else parts

    def flops(self) -> int:
        """The FLOPs of a forward pass. Raises InputError if they have no formula, or are too many for a chart."""
        _subject, batch_size, length = self
        sizes = self.subject.found.whole(**dict(self.subject.changes))
        count = self.subject.found.count_flops(batch_size=batch_size, sequence_length=length, **sizes)
        if count > _MOST:
            message = N_("{name} would take more than {most} FLOPs: choose a smaller batch or a shorter sequence.")
            raise wrong(message, name=self.subject.architecture, most=_MOST)
        return count

    def bytes_of_weights(self) -> int:
        """The bytes of the weights, in the type of the default precision."""
        return ITEM_BYTES[PRECISIONS[Plan().precision].dtype] * self.parameters()

    def component(self, name: Component) -> int:
        """The parameters of one component; 0 where there is none."""
        return self.components().get(name, 0)


# The quantities that are known of discovered models, by name.
_READINGS: Mapping[str, Callable[[FoundCase], int]] = {
    "parameters": FoundCase.parameters,
    **{name: partial(FoundCase.component, name=name) for name in COMPONENTS},
    "forward": FoundCase.flops,
    "weights": FoundCase.bytes_of_weights,
}


def figure(measure: str, case: Case | FoundCase) -> int:
    """A quantity of a model of either kind. Raises InputError if it is not known."""
    if isinstance(case, Case):
        return QUANTITIES[measure].of(case)
    if measure not in _READINGS:
        raise wrong(N_("This is not known for {name}: its formula was discovered."), name=case.subject.architecture)
    return _READINGS[measure](case)


def known(measure: str, case: Case | FoundCase) -> int | None:
    """A quantity of a model of either kind; None if it is not known."""
    try:
        return figure(measure, case)
    except InputError:
        return None


def components_of(case: Case | FoundCase) -> Mapping[Component, int]:
    """The parameters of each component."""
    return quantities.components(case.subject) if isinstance(case, Case) else case.components()


def explain(here: Case | FoundCase, there: Case | FoundCase, measure: str) -> Explanation:
    """The difference between two models as a sum over their fields, or over their components if the kinds differ.

    Raises InputError if the quantity of one of them is not known.
    """
    if isinstance(here, Case) and isinstance(there, Case):
        return explain_fields(here, there, QUANTITIES[measure])
    before, after = figure(measure, here), figure(measure, there)
    if isinstance(here, FoundCase) and isinstance(there, FoundCase) and here.subject.kind == there.subject.kind:
        way = _path(here.subject, there.subject)
        return attributed(before, ((changes, figure(measure, here._replace(subject=one))) for changes, one in way))
    if measure != "parameters":
        return attributed(before, [((PartChange("", before, after),), after)])
    own, others = components_of(here), components_of(there)
    counts, total = [], before
    for name in COMPONENTS:
        if name in own or name in others:
            change = PartChange(name, own.get(name, 0), others.get(name, 0))
            total += change.after - change.before
            counts.append(((change,), total))
    return attributed(before, counts)


def _path(here: FoundModel, there: FoundModel) -> Iterator[tuple[tuple[FieldChange, ...], FoundModel]]:
    """Yield the steps from one model of a class to another: the fields that change, and the model after it.

    A field that cannot change alone changes with the next ones, until the model is possible.
    """
    at, target = here, there.sizes()
    waiting: tuple[FieldChange, ...] = ()
    for field in here.found.fields:
        if at.sizes()[field] == target[field]:
            continue
        waiting += (FieldChange(field, at.sizes()[field], target[field]),)
        changes = dict(at.changes) | {change.field: change.after for change in waiting}
        after = FoundModel(here.found, tuple(changes.items()))
        if after.problem() is None:
            yield waiting, after
            at, waiting = after, ()
    if waiting:
        yield waiting, there


def read(text: str, present: type[Config] | None = None) -> tuple[list[WrittenModel | WrittenFound], list[Wrong]]:
    """Return the models of a comparison, of both kinds, and what is wrong with the rest of its text."""
    return read_with(text, partial(_read_item, present=present))


def _read_item(text: str, present: type[Config] | None) -> WrittenModel | WrittenFound:
    base = text.partition("~")[0]
    if preset_named(base) or base.rpartition(".")[0] not in types():
        return read_item(text, present)
    return _read_found(text)


def _read_found(text: str) -> WrittenFound:
    """Read a class with its sizes, without checking that they are possible. Raises InputError."""
    base, *rest = text.split("~")
    model_type, _dot, cls = base.rpartition(".")
    if cls not in types()[model_type]:
        near = nearest(cls, types()[model_type], similarity=0.0)
        message = N_("there is no architecture {name}: did you mean {nearest}?")
        raise wrong(message, "architecture", cls, name=shorten(cls), nearest=near)
    given = next((one.removeprefix(_CONFIG) for one in rest if one.startswith(_CONFIG)), "")
    try:
        said = urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
    except ValueError:
        raise wrong(N_("its config.json cannot be read.")) from None
    fields = read_fields(said) if said else {}
    sizes = read_sizes("~".join(one for one in rest if not one.startswith(_CONFIG)))
    return WrittenFound(model_type, cls, tuple(sizes.items()), text_of(fields))


def text_of(given: Mapping[str, Any]) -> str:
    """The given fields of a configuration as JSON, as a link has them; "" if there are none."""
    return json.dumps(dict(given), separators=(",", ":"), ensure_ascii=False) if given else ""
