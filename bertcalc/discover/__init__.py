"""The formula for the parameters of any model of transformers, read off the real class.

The class is built on PyTorch's meta device again and again, at other sizes. ``fit`` finds the fields that each side of
each tensor follows; a formula counts only if it is right for sizes that were not used to find it.

    >>> found = discover("roberta", "RobertaModel", {"hidden_size": 1024, "num_attention_heads": 16})
    >>> found.count(num_hidden_layers=24)
    305002496
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import prod
from time import thread_time
from typing import Any

import sympy

from bertcalc.discover.results.result import Checked, Computed, Discovered, Tensors
from bertcalc.discover.results.types import BASE, listed
from bertcalc.discover.search import build, derived, fixed_fields, flop_search, nested, refusals
from bertcalc.discover.search.build import Ended, Refused
from bertcalc.discover.search.changes import merged
from bertcalc.discover.search.config_input import completions
from bertcalc.discover.search.config_integers import Recipe, inside, recipe_of
from bertcalc.discover.search.experiments import Lab, Progress
from bertcalc.discover.search.formula_search import Findings
from bertcalc.discover.search.validity import Regime, drawn, regime_again
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked
from bertcalc.text.problem import Problem

__all__ = ["Checked", "Computed", "Discovered", "Tensors", "discover", "examined", "with_flops", "with_flops_of"]

SECONDS = 60.0


@checked
def discover(
    model: str | Mapping[str, Any],
    cls: str | None = None,
    changes: Mapping[str, Any] | None = None,
    *,
    seconds: float = SECONDS,
    flops: bool = False,
    progress: Progress = lambda _doing, _done, _of: None,
) -> Discovered:
    """Discover a class of a model type, or of a config.json as a dictionary with its model_type.

    ``cls`` defaults to the type's base model; ``changes`` are fields that differ from the type's default configuration,
    or from the config.json. They mean what ``Config(**changes)`` means to transformers: with
    ``{"text_config": {"hidden_size": 64}}``, or ``{"text_config.hidden_size": 64}``, the other fields of that nested
    configuration are the defaults of its class. A class that takes a nested configuration, as Emu3ForCausalLM takes the
    text's, also takes the fields of that one by themselves. A field that there is not is refused.

    ``progress`` is called with the present activity, the steps done, and the number of steps. No weights are made or
    loaded, no remote code is used, and the Hub is not contacted. Raises Refused if transformers has no such type or
    cannot build it, InputError for sizes beyond the limits, and Ended when it takes more than ``seconds`` of CPU time.

    With ``flops``, also look for formulas for the matrix products of a forward pass, which takes ten times as long,
    and at most another ``seconds``; if there are none, ``no_flops`` says why.
    """
    start = thread_time()
    kind = model if isinstance(model, str) else str(model.get("model_type", ""))
    with build.readable(cls or kind), build.quiet():
        config = build.config_class(kind)
        name = cls or next(iter(listed(kind, BASE)), None)
        if name is None:
            message = N_("transformers has no base model of type {kind}.")
            raise Refused.because(message, kind=shorten(kind) or '""')
        real = build.model_class(name)
        asked = merged(config, real, {} if isinstance(model, str) else model, changes or {}, start + seconds)
        lab, given = _begun(config, real, asked, start + seconds, progress)
        found = _summary(lab, kind, name, given, start)
        if not found.unexplained:
            filled, held = nested.filled_in(lab, found.fields)
            area = (*(each for each in found.regime if each not in held), *held)
            found = replace(found, filled=filled, regime=area, derived=derived.derived(lab, inside(config, real)))
        if asked:  # what _begun fills in by itself is no choice
            usual = partial(recipe_of, config, real, {}, lab.until)
            found = replace(found, no_run=flop_search.cannot_run(lab.recipe, usual, real, lab.until))
    return with_flops(found, seconds=seconds, progress=progress) if flops else found


@checked
def with_flops(
    found: Discovered, *, seconds: float = SECONDS, progress: Progress = lambda _doing, _done, _of: None
) -> Discovered:
    """Add formulas for the matrix products of a forward pass; if there are none, ``no_flops`` says why."""
    if found.unexplained:
        return replace(found, no_flops=Problem.of(N_("not all of its parameters have a formula")))
    until = thread_time() + seconds
    with build.readable(found.cls), build.quiet():
        try:
            cls = build.model_class(found.cls)
            recipe = recipe_of(build.config_class(found.model_type), cls, found.given, until)
            compute, why = _computed(recipe, cls, found, until, progress)
        except Ended:
            compute, why = None, Problem.of(N_("the time was up"))
    return replace(found, compute=compute, no_flops=why)


def examined(found: Discovered, *, seconds: float = SECONDS) -> Discovered:
    """Look again for where the formulas of an earlier discovery hold, which takes less time than finding them.

    If that does not become clear, the result says so in ``unexplained``.
    """
    until = thread_time() + seconds
    with build.readable(found.cls), build.quiet():
        config, cls = build.config_class(found.model_type), build.model_class(found.cls)
        recipe = recipe_of(config, cls, found.given, until)
        lab = Lab(recipe, partial(build.tensors, cls), until=until, progress=lambda _doing, _done, _of: None)
        lab.links = {name: (leader, *share.as_integer_ratio()) for name, (leader, share) in found.follows.items()}
        held = [each.field for each in found.regime if each.kind == "is"]
        fields = [name for name in found.fields if lab.here.get(name, 0) > 0]
        lab.free = [name for name in fields if name not in lab.links and name not in held]
        lab.counts = {each.name for tensors in found.tensors for each in tensors.copies.free_symbols}
        lab = lab.without(held)
        kinds: dict[str, list[Any]] = {}
        for tensors in found.tensors:
            kinds.setdefault(tensors.name, []).append(tensors)
        known = [each for each in found.regime if each.kind not in ("is", "share")]
        area = regime_again(lab, Findings(kinds, {}, 0, 0), known)
        filled, more = nested.filled_in(lab, found.fields)
    agreed = found.checked.agreed + area.agreed
    return replace(
        found,
        regime=tuple(dict.fromkeys((*area.conditions, *more))),
        checked=Checked(agreed, agreed, found.checked.all_changed),
        unexplained=dict.fromkeys("*", area.open[0]) if area.open else {},
        builds=found.builds + len(lab.built),
        filled=filled,
    )


def with_flops_of(found: Discovered, before: Discovered, *, seconds: float = SECONDS) -> Discovered:
    """Add an earlier discovery's formulas for matrix products; if they do not agree any more, say why there are none.

    They are compared with PyTorch at new sizes, which takes a tenth of the time that finding them takes.
    """
    if found.unexplained or before.compute is None:
        return replace(found, no_flops=before.no_flops)
    regime = tuple(dict.fromkeys((*found.regime, *before.compute.regime)))
    compute = replace(before.compute, fields=found.fields | before.compute.fields, regime=regime)
    until = thread_time() + seconds
    with build.readable(found.cls), build.quiet():
        try:
            cls = build.model_class(found.cls)
            recipe = recipe_of(build.config_class(found.model_type), cls, found.given, until)
            lab = caller(recipe, cls, until, lambda _doing, _done, _of: None)
            names = [name for name in compute.fields if lab.here.get(name, 0) > 0]
            why = flop_search.still_agree(cls, lab, compute, drawn(lab, names, regime))
        except Refused as error:
            why = error.problem
        except Ended:
            why = Problem.of(N_("the time was up"))
    return replace(found, compute=None if why else compute, no_flops=why)


def _begun(
    config: Any, cls: Any, given: dict[str, Any], until: float, progress: Progress
) -> tuple[Lab, dict[str, Any]]:
    """Return a lab and the fields given for it: usual sizes if the defaults leave open what the class needs."""

    def begin(given: dict[str, Any]) -> Lab:
        try:
            recipe = recipe_of(config, cls, given, until)
        except (Refused, Ended):
            raise
        except Exception as error:  # transformers raises exceptions of all types
            raise build.not_built(error) from None
        return Lab(recipe, partial(build.tensors, cls), until=until, progress=progress)

    try:
        return begin(given), given
    except Refused as error:
        if given:
            raise refusals.explained(error, config, cls, given, until) from None
        inner = inside(config, cls)
        for sizes in completions(cls.config_class):
            with suppress(Refused):
                more = {inner: sizes} if inner else sizes
                return begin(more), more
        raise


def _summary(lab: Lab, kind: str, name: str, given: dict[str, Any], start: float) -> Discovered:
    import transformers

    lab.look()
    lab, findings, area = fixed_fields.explain(lab)
    formulas = _formulas(lab, findings, area)
    sizes = {each: sum(map(prod, shapes.values())) for each, shapes in lab.given.tensors.items()}
    return Discovered(
        model_type=kind,
        cls=name,
        given=given,
        **formulas,
        parameters=sum(sizes.values()),
        explained=sum(size for each, size in sizes.items() if each in findings.kinds),
        builds=len(lab.built),
        seconds=thread_time() - start,
        transformers=str(transformers.__version__),
    )


def _computed(
    recipe: Recipe, cls: Any, found: Discovered, until: float, progress: Progress
) -> tuple[Computed | None, Problem | None]:
    """Return the matrix products of a forward pass, or None and why there are no formulas for them."""
    try:
        lab = caller(recipe, cls, until, progress)
        lab.counts |= {each.name for tensors in found.tensors for each in tensors.copies.free_symbols}
        lab.look()
        lab, findings, area = fixed_fields.explain(lab, found.regime)
        formulas = _formulas(lab, findings, area)
        if formulas["unexplained"]:
            name, why = next(iter(formulas["unexplained"].items()))
            message = N_("no formula was found for the matrix products of {name}")
            return None, why if name == "*" else Problem.of(message, name=name)
        formulas["fields"] = found.fields | formulas["fields"]
        formulas["regime"] = tuple(dict.fromkeys((*found.regime, *formulas["regime"])))
        compute = Computed(**formulas)
        wrong = flop_search.proven(cls, lab, compute, drawn(lab, lab.free, compute.regime))
    except Refused as error:
        return None, error.problem
    return (None, wrong) if wrong else (compute, None)


def caller(recipe: Recipe, cls: Any, until: float, progress: Progress) -> Lab:
    """Return a lab for forward calls of a class, with the first choice of masks with which it runs. Raises Refused."""
    refusals: list[Refused] = []
    for masks in flop_search.MASKS:
        try:
            calls = flop_search.Calls(recipe, cls, masks)
            return Lab(calls, partial(flop_search.products, cls), until=until, progress=progress)
        except Refused as error:
            refusals.append(error)
    raise refusals[0]


def _formulas(lab: Lab, findings: Findings, area: Regime) -> dict[str, Any]:
    """Return the fields of ``Formulas`` as keyword arguments."""
    unexplained = dict(findings.unexplained)
    for why in area.open:
        unexplained["*"] = why
    named = {*lab.free, *(field for condition in area.conditions for field in condition.fields())}
    agreed = findings.checked + area.agreed
    return {
        "fields": {field: value for field, value in lab.here.items() if field in named},
        "tensors": tuple(
            Tensors(
                each.name,
                sympy.sympify(sympy.prod(fit.expression for fit in each.copies)),
                tuple(fit.expression for fit in each.shape),
            )
            for kinds in findings.kinds.values()
            for each in kinds
        ),
        "regime": tuple(area.conditions),
        "checked": Checked(agreed, agreed, findings.all_changed),
        "unexplained": unexplained,
    }
