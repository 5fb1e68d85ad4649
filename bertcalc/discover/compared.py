"""Models of any class of transformers in a comparison, beside those whose formulas are written down.

In a link such a model is the model type, the class, and what is changed: ``llama.LlamaForCausalLM~hidden_size-2048``;
what a config.json says of it, if there is one, stands there as ``config-`` with its JSON in base64.

>>> from bertcalc.discover.shipped import shipped
>>> llama = shipped("llama", "LlamaForCausalLM")
>>> here, there = FoundCase(FoundModel(llama)), FoundCase(FoundModel(llama, (("num_hidden_layers", 16),)))
>>> for part in explain(here, there, "parameters").parts:
...     print(*(str(change) for change in part.changes), f"{part.difference:+,}")
16 fewer layers -3,238,133,760
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

from bertcalc.config import Config, Problem
from bertcalc.discover.given import read_fields
from bertcalc.discover.parts import components, count
from bertcalc.discover.result import Discovered
from bertcalc.discover.steps import read as read_sizes
from bertcalc.discover.steps import refused
from bertcalc.discover.types import types
from bertcalc.discover.written import usual_names
from bertcalc.explore import quantities
from bertcalc.explore.compare import Explanation, FieldChange, PartChange, attributed
from bertcalc.explore.compare import explain as explain_fields
from bertcalc.explore.models import WrittenModel, Wrong, read_item, read_with
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.presets import PRESETS
from bertcalc.problem import InputError, wrong
from bertcalc.text import N_, shorten
from bertcalc.tree.nn import Component
from bertcalc.tree.totals import COMPONENTS

_CONFIG = "config-"
_MOST = 2**62  # a chart takes numbers of 64 bits, and their differences


class WrittenFound(NamedTuple):
    """A class of a model type as a link writes it: the sizes that differ, and the JSON of what a config.json says."""

    model_type: str
    cls: str
    changes: tuple[tuple[str, int], ...] = ()
    given: str = ""

    @property
    def base(self) -> str:
        return f"{self.model_type}.{self.cls}"

    def fields(self) -> dict[str, Any]:
        """What is given of its configuration."""
        found: dict[str, Any] = json.loads(self.given) if self.given else {}
        return found

    def __str__(self) -> str:
        given = [_CONFIG + urlsafe_b64encode(self.given.encode()).decode().rstrip("=")] if self.given else []
        return "~".join([self.base, *given, *(f"{field}-{value}" for field, value in self.changes)])


class FoundModel(NamedTuple):
    """A model whose formula was discovered, at these sizes; those that are not said are as they were given."""

    found: Discovered
    changes: tuple[tuple[str, int], ...] = ()

    @property
    def architecture(self) -> str:
        return self.found.cls

    @property
    def kind(self) -> tuple[str, str, str]:
        """What models of other sizes have in common with it: the class, and what is given of its configuration."""
        return self.found.model_type, self.found.cls, text_of(self.found.given)

    def problem(self) -> Problem | None:
        """Why there is no such model; None if there is one."""
        return refused(self.found, dict(self.changes)) if self.changes else None

    def sizes(self) -> dict[str, int]:
        """All its sizes, in the names of its configuration."""
        return self.found.completed(**dict(self.changes))

    def values(self) -> dict[str, Any]:
        """The class and the sizes; a size that all families have has one name, as far as the model has it once."""
        usual = usual_names(self.found)
        return {"architecture": self.architecture, **{usual[name]: size for name, size in self.sizes().items()}}


class FoundCase(NamedTuple):
    """Such a model, and what goes through it."""

    subject: FoundModel
    batch_size: int = 1
    sequence_length: int = 128

    def parameters(self) -> int:
        return sum(self.components().values())

    def components(self) -> dict[Component, int]:
        """The parameters of each component, which the names of the tensors tell; what has no formula is in no other."""
        found, sizes = self.subject.found, self.subject.sizes()
        parts = {component: count(tensors, sizes) for component, tensors in components(found).items()}
        rest = found.parameters - found.explained
        return {**parts, "pooler": parts.get("pooler", 0) + rest} if rest else parts

    def flops(self) -> int:
        """FLOPs of a forward pass. Raises InputError where there is no formula for them, or too many for a chart."""
        _subject, batch_size, length = self
        sizes = dict(self.subject.changes)
        count = self.subject.found.count_flops(batch_size=batch_size, sequence_length=length, **sizes)
        if count > _MOST:
            message = N_("{name} would take more than {most} FLOPs: choose a smaller batch or a shorter sequence.")
            raise wrong(message, name=self.subject.architecture, most=f"{_MOST:,}")
        return count

    def bytes_of_weights(self) -> int:
        """Bytes of the weights, in the type that models compute in unless something else is chosen."""
        return ITEM_BYTES[PRECISIONS[Plan().precision].dtype] * self.parameters()

    def component(self, name: Component) -> int:
        """The parameters of one component; 0 where there is none."""
        return self.components().get(name, 0)


# What is known of such models, by the name of the quantity.
_READINGS: Mapping[str, Callable[[FoundCase], int]] = {
    "parameters": FoundCase.parameters,
    **{name: partial(FoundCase.component, name=name) for name in COMPONENTS},
    "forward": FoundCase.flops,
    "weights": FoundCase.bytes_of_weights,
}


def figure(measure: str, case: Case | FoundCase) -> int:
    """A quantity of a model of either kind. Raises InputError where there is none."""
    if isinstance(case, Case):
        return QUANTITIES[measure].of(case)
    if measure not in _READINGS:
        raise wrong(N_("This is not known for {name}: its formula was discovered."), name=case.subject.architecture)
    return _READINGS[measure](case)


def known(measure: str, case: Case | FoundCase) -> int | None:
    """The same; None where there is none."""
    try:
        return figure(measure, case)
    except InputError:
        return None


def components_of(case: Case | FoundCase) -> Mapping[Component, int]:
    """The parameters of each component."""
    return quantities.components(case.subject) if isinstance(case, Case) else case.components()


def explain(here: Case | FoundCase, there: Case | FoundCase, measure: str) -> Explanation:
    """The difference between two models as a sum over their fields, or over their parts if they are of other kinds.

    Raises InputError where one of both is not known.
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
    """The way from sizes of a class to others: what changes, and the model after it, each of which is possible.

    Where a field cannot change alone, it changes with the next one with which it can.
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
    """The models of a comparison, of both kinds, and what is wrong with the rest of its text."""
    return read_with(text, partial(_read_item, present=present))


def _read_item(text: str, present: type[Config] | None) -> WrittenModel | WrittenFound:
    base = text.partition("~")[0]
    if base in PRESETS or base.rpartition(".")[0] not in types():
        return read_item(text, present)
    return _read_found(text)


def _read_found(text: str) -> WrittenFound:
    """A class with its sizes. Raises InputError; whether there are such sizes is not looked at."""
    base, *rest = text.split("~")
    model_type, _dot, cls = base.rpartition(".")
    if cls not in types()[model_type]:
        nearest = get_close_matches(cls[:100], types()[model_type], n=1, cutoff=0.0)[0]
        message = N_("there is no architecture {name}: did you mean {nearest}?")
        raise wrong(message, "architecture", cls, name=shorten(cls), nearest=nearest)
    given = next((one.removeprefix(_CONFIG) for one in rest if one.startswith(_CONFIG)), "")
    try:
        said = urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
    except ValueError:
        raise wrong(N_("its config.json cannot be read.")) from None
    fields = read_fields(said) if said else {}
    sizes = read_sizes("~".join(one for one in rest if not one.startswith(_CONFIG)))
    return WrittenFound(model_type, cls, tuple(sizes.items()), text_of(fields))


def text_of(given: Mapping[str, Any]) -> str:
    """What is given of a configuration, as a link says it."""
    return json.dumps(dict(given), separators=(",", ":"), ensure_ascii=False) if given else ""
