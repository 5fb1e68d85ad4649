"""The search for formulas of a transformers class. ``search`` is its only entry point."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf, prod
from time import thread_time
from typing import Any

import sympy

from bertcalc.discover.results.request import DiscoveryRequest, Progress
from bertcalc.discover.results.result import Checked, Computed, Discovered, Tensors
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.results.types import BASE, listed
from bertcalc.discover.search import build, derived, fixed_fields, flop_search, nested, refusals
from bertcalc.discover.search.changes import merge_changes
from bertcalc.discover.search.config_integers import Recipe, build_config, completions, nested_name, recipe_of
from bertcalc.discover.search.experiments import Lab
from bertcalc.discover.search.formula_search import Findings
from bertcalc.discover.search.validity import Regime, draw_sizes, regime_again
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem

_LONGEST = 60_000  # maximum length of a printed model, in characters


def search(request: DiscoveryRequest, progress: Progress) -> Discovered:
    """Infer the formulas that a request asks for. Raises the errors of ``discover``."""
    discovery = _parameters(request, progress)
    if request.flops and not discovery.compute:
        discovery = _with_flops(discovery, request.seconds, progress)
    return replace(discovery, printed=_printed(discovery)) if request.printed else discovery


def _parameters(request: DiscoveryRequest, progress: Progress) -> Discovered:
    """Return the formulas for the parameters: searched, kept or examined again, as requested.

    FLOP formulas of an earlier result are kept if they are still right.
    """
    earlier, again = request.earlier, request.again
    if earlier is None:
        return _discover(request, progress)
    if again is None:
        return earlier
    is_known = again == "examine" and not earlier.unexplained
    discovery = _reexamine(earlier, request.seconds) if is_known else _discover(request, progress)
    return _with_flops_of(discovery, earlier, request.seconds / 4)


def _discover(request: DiscoveryRequest, progress: Progress) -> Discovered:
    start = thread_time()
    until, kind, cls = start + request.seconds, request.model_type, request.cls
    with build.refusing_unexpected(cls or kind), build.quiet():
        config = build.config_class(kind)
        name = cls if cls is not None else next(iter(listed(kind, BASE)), None)
        if name is None:
            message = N_("transformers has no base model of type {kind}.")
            raise Refused.because(message, kind=shorten(kind) or '""')
        real = build.model_class(name)
        arguments = merge_changes(config, real, request.config, request.changes or {}, until)
        lab, fields = _new_lab(config, real, arguments, until, progress)
        discovery = _discover_parameters(lab, kind, name, fields, start)
        if not discovery.unexplained:
            filled = nested.filled_in(lab, discovery.fields)
            discovery = replace(
                discovery,
                filled=filled.sizes,
                reset=filled.reset,
                regime=(*(condition for condition in discovery.regime if condition not in filled.fixed), *filled.fixed),
                derived=derived.derived_fields(lab, nested_name(config, real)),
            )
        if arguments:  # otherwise the caller chose no field, although _new_lab may have filled in some
            usual = partial(recipe_of, config, real, {}, lab.until)
            discovery = replace(discovery, no_run=flop_search.forward_problem(lab.recipe, usual, real, lab.until))
    return discovery


def _with_flops(discovery: Discovered, seconds: float, progress: Progress) -> Discovered:
    """Add formulas for the matrix products of a forward pass, or set ``no_flops`` to the reason why there are none."""
    if discovery.unexplained:
        return replace(discovery, no_flops=Problem.of(N_("not all of its parameters have a formula")))
    until = thread_time() + seconds
    with build.refusing_unexpected(discovery.cls), build.quiet():
        try:
            cls = build.model_class(discovery.cls)
            recipe = recipe_of(build.config_class(discovery.model_type), cls, discovery.given, until)
            compute, why = _discover_products(recipe, cls, discovery, until, progress)
        except Ended:
            compute, why = None, Problem.of(N_("the time limit was reached"))
    return replace(discovery, compute=compute, no_flops=why)


def _reexamine(discovery: Discovered, seconds: float) -> Discovered:
    """Search again for the conditions under which an earlier result's formulas hold.

    This is faster than a new search. If some failures remain without a condition, ``unexplained`` contains the reason.
    """
    until = thread_time() + seconds
    with build.refusing_unexpected(discovery.cls), build.quiet():
        config, cls = build.config_class(discovery.model_type), build.model_class(discovery.cls)
        recipe = recipe_of(config, cls, discovery.given, until)
        lab = Lab(recipe, partial(build.tensors, cls), until=until, progress=lambda _doing, _done, _of: None)
        lab.links = {name: (leader, *share.as_integer_ratio()) for name, (leader, share) in discovery.follows.items()}
        fixed = [condition.field for condition in discovery.regime if condition.kind == "is"]
        fields = [name for name in discovery.fields if lab.sizes.get(name, 0) > 0]
        lab.free = [name for name in fields if name not in lab.links and name not in fixed]
        lab.counts = {symbol.name for tensors in discovery.tensors for symbol in tensors.copies.free_symbols}
        lab = lab.fixing(fixed)
        kinds: dict[str, list[Any]] = {}
        for tensors in discovery.tensors:
            kinds.setdefault(tensors.name, []).append(tensors)
        conditions = [condition for condition in discovery.regime if condition.kind not in ("is", "share")]
        area = regime_again(lab, Findings(kinds, {}, 0, 0), conditions)
        filled = nested.filled_in(lab, discovery.fields)
    agreed = discovery.checked.agreed + area.agreed
    return replace(
        discovery,
        regime=tuple(dict.fromkeys((*area.conditions, *filled.fixed))),
        checked=Checked(agreed, agreed, discovery.checked.all_changed),
        unexplained={"*": area.open[0]} if area.open else {},
        builds=discovery.builds + len(lab.built),
        filled=filled.sizes,
        reset=filled.reset,
    )


def _with_flops_of(discovery: Discovered, earlier: Discovered, seconds: float) -> Discovered:
    """Add an earlier result's formulas for matrix products, or set ``no_flops`` if they are now wrong.

    The formulas are compared with PyTorch at new sizes, which is much faster than a new search.
    """
    if discovery.unexplained or earlier.compute is None:
        return replace(discovery, no_flops=earlier.no_flops)
    regime = tuple(dict.fromkeys((*discovery.regime, *earlier.compute.regime)))
    compute = replace(earlier.compute, fields=discovery.fields | earlier.compute.fields, regime=regime)
    until = thread_time() + seconds
    with build.refusing_unexpected(discovery.cls), build.quiet():
        try:
            cls = build.model_class(discovery.cls)
            recipe = recipe_of(build.config_class(discovery.model_type), cls, discovery.given, until)
            lab = call_lab(recipe, cls, until, lambda _doing, _done, _of: None)
            names = [name for name in compute.fields if lab.sizes.get(name, 0) > 0]
            why = flop_search.still_agree(cls, lab, compute, draw_sizes(lab, names, regime))
        except Refused as error:
            why = error.problem
        except Ended:
            why = Problem.of(N_("the time limit was reached"))
    return replace(discovery, compute=None if why else compute, no_flops=why)


def _new_lab(
    config: Any, cls: Any, fields: dict[str, Any], until: float, progress: Progress
) -> tuple[Lab, dict[str, Any]]:
    """Return a lab and the fields with which it was built.

    If the class cannot be built without fields for which it has no default, these fields get typical sizes.
    """

    def begin(fields: dict[str, Any]) -> Lab:
        try:
            recipe = recipe_of(config, cls, fields, until)
        except (Refused, Ended):
            raise
        except Exception as error:  # transformers raises exceptions of all types
            raise build.not_built(error) from None
        return Lab(recipe, partial(build.tensors, cls), until=until, progress=progress)

    try:
        return begin(fields), fields
    except Refused as error:
        if fields:
            raise refusals.explain(error, config, cls, fields, until) from None
        inner = nested_name(config, cls)
        for sizes in completions(cls.config_class):
            with suppress(Refused):
                completed = {inner: sizes} if inner else sizes
                return begin(completed), completed
        raise


def _discover_parameters(lab: Lab, kind: str, name: str, fields: dict[str, Any], start: float) -> Discovered:
    import transformers

    lab.sort_fields()
    lab, findings, area = fixed_fields.explain(lab)
    formulas = _formulas(lab, findings, area)
    sizes = {tensor_name: sum(map(prod, shapes.values())) for tensor_name, shapes in lab.full_sample.tensors.items()}
    return Discovered(
        model_type=kind,
        cls=name,
        given=fields,
        **formulas,
        parameters=sum(sizes.values()),
        explained=sum(size for tensor_name, size in sizes.items() if tensor_name in findings.kinds),
        builds=len(lab.built),
        seconds=thread_time() - start,
        transformers=str(transformers.__version__),
    )


def _discover_products(
    recipe: Recipe, cls: Any, discovery: Discovered, until: float, progress: Progress
) -> tuple[Computed | None, Problem | None]:
    """Return formulas for the matrix products of a forward pass, or None and the reason why there are none."""
    try:
        lab = call_lab(recipe, cls, until, progress)
        lab.counts |= {symbol.name for tensors in discovery.tensors for symbol in tensors.copies.free_symbols}
        lab.sort_fields()
        lab, findings, area = fixed_fields.explain(lab, discovery.regime)
        formulas = _formulas(lab, findings, area)
        if formulas["unexplained"]:
            name, why = next(iter(formulas["unexplained"].items()))
            message = N_("no formula was found for the matrix products of {name}")
            return None, why if name == "*" else Problem.of(message, name=name)
        formulas["fields"] = discovery.fields | formulas["fields"]
        formulas["regime"] = tuple(dict.fromkeys((*discovery.regime, *formulas["regime"])))
        compute = Computed(**formulas)
        wrong = flop_search.compare_flops(cls, lab, compute, draw_sizes(lab, lab.free, compute.regime))
    except Refused as error:
        return None, error.problem
    return (None, wrong) if wrong else (compute, None)


def call_lab(recipe: Recipe, cls: Any, until: float, progress: Progress) -> Lab:
    """Return a lab for forward passes of a class, with the first entry of ``MASKS`` with which a pass runs.

    If no pass runs, the Refused of the first entry is raised.
    """
    refusals: list[Refused] = []
    for masks in flop_search.MASKS:
        try:
            calls = flop_search.Calls(recipe, cls, masks)
            return Lab(calls, partial(flop_search.matrix_products, cls), until=until, progress=progress)
        except Refused as error:
            refusals.append(error)
    raise refusals[0]


def _formulas(lab: Lab, findings: Findings, area: Regime) -> dict[str, Any]:
    unexplained = dict(findings.unexplained)
    for why in area.open:
        unexplained["*"] = why
    named = {*lab.free, *(field for condition in area.conditions for field in condition.fields())}
    agreed = findings.checked + area.agreed
    return {
        "fields": {field: value for field, value in lab.sizes.items() if field in named},
        "tensors": tuple(
            Tensors(
                kind.name,
                sympy.sympify(sympy.prod(fit.expression for fit in kind.copies)),
                tuple(fit.expression for fit in kind.shape),
            )
            for kinds in findings.kinds.values()
            for kind in kinds
        ),
        "regime": tuple(area.conditions),
        "checked": Checked(agreed, agreed, findings.all_changed),
        "unexplained": unexplained,
    }


def _printed(discovery: Discovered) -> str:
    """Return the text of print(model); "" if it is too long or the model cannot be built."""
    with suppress(Exception), build.refusing_unexpected(discovery.cls), build.quiet():
        cls = build.model_class(discovery.cls)
        config = build_config(build.config_class(discovery.model_type), cls, discovery.given)
        text = str(build.build_model(cls, config, inf))
        return text if len(text) <= _LONGEST else ""
    return ""
