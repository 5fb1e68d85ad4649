"""Any model of transformers: the formula of its parameters, read off the real class.

The class is built on PyTorch's meta device with other sizes, again and again; which side of which tensor follows which
field is fitted (``fit``), and a formula counts only if it is right for sizes that were not used to find it.

    >>> found = discover("roberta", "RobertaModel", {"hidden_size": 1024, "num_attention_heads": 16})
    >>> found.count(num_hidden_layers=24)
    305002496
"""

from collections.abc import Mapping
from time import monotonic
from typing import Any

from bertcalc.discover.fields import Recipe, minimal
from bertcalc.discover.lab import Lab, Progress
from bertcalc.discover.result import Checked, Discovered, Tensors

__all__ = ["Checked", "Discovered", "Tensors", "discover"]

SECONDS = 60.0


def discover(
    model: str | Mapping[str, Any],
    cls: str | None = None,
    changes: Mapping[str, Any] | None = None,
    *,
    seconds: float = SECONDS,
    progress: Progress = lambda _doing, _done, _of: None,
) -> Discovered:
    """What can be known of a class of a model type, or of a config.json as a dictionary, which says its type.

    Without a class, the type's base model is meant; ``changes`` are fields that differ from the type's default
    configuration. ``progress`` is told what is done now, how much of it is done, of how much. No weights are made or
    loaded, and no remote code is used. Raises Refused if transformers has no such type or cannot build it, and Ended
    when it takes longer than ``seconds``.
    """
    from bertcalc.discover import build

    start = monotonic()
    kind = model if isinstance(model, str) else str(model.get("model_type", ""))
    given = dict(changes or {}) if isinstance(model, str) else {**_sizes(model), **(changes or {})}
    config = build.config_class(kind)
    name = cls or (build.known()[kind].base if kind in build.known() else None)
    if name is None:
        raise build.Refused(f"transformers has no base model for {kind!r}")
    with build.quiet():
        try:
            recipe = _recipe(config, build.model_class(name), given)
        except build.Refused:
            raise
        except Exception as error:  # transformers raises whatever it likes
            raise build.Refused(f"{type(error).__name__}: {error}") from None
        lab = Lab(recipe, build.model_class(name), until=start + seconds, progress=progress)
        return _summary(lab, kind, name, given, start)


def _recipe(config: Any, cls: Any, given: Mapping[str, Any]) -> Recipe:
    """The configuration that a class takes: its type's, or as transformers' AutoModel does, the text's in it."""
    if cls.config_class is config.sub_configs.get("text_config"):
        text = Recipe(config, given).config.text_config
        return Recipe(cls.config_class, minimal(cls.config_class, text) or text.to_dict())
    return Recipe(config, given)


def _sizes(model: Mapping[str, Any]) -> dict[str, Any]:
    """A config.json without what says nothing of the model's structure, or would load code."""
    never = ("model_type", "architectures", "transformers_version", "auto_map", "dtype", "torch_dtype", "_name_or_path")
    return {name: value for name, value in model.items() if name not in (*never, "quantization_config")}


def _summary(lab: Lab, kind: str, name: str, given: dict[str, Any], start: float) -> Discovered:
    import transformers

    from bertcalc.discover.explain import explain

    lab.look()
    lab, findings, area = explain(lab)
    unexplained = dict(findings.unexplained)
    for values, reason in area.open:
        changed = ", ".join(f"{field} {value}" for field, value in values.items() if value != lab.at[field])
        unexplained["*"] = f"with {changed}, {reason}, and no condition was found that says when" if changed else reason
    formulas = tuple(
        Tensors(each.name, _product(fit.expression for fit in each.copies), tuple(fit.expression for fit in each.shape))
        for kinds in findings.kinds.values()
        for each in kinds
    )
    named = {*lab.free, *(field for condition in area.conditions for field in condition.fields())}
    sizes = {each: _elements(shapes) for each, shapes in lab.given.tensors.items()}
    return Discovered(
        model_type=kind,
        cls=name,
        given=given,
        fields={field: value for field, value in lab.here.items() if field in named},
        tensors=formulas,
        regime=tuple(area.conditions),
        checked=Checked(findings.checked + area.agreed, findings.checked + area.agreed, findings.all_changed),
        unexplained=unexplained,
        parameters=sum(sizes.values()),
        explained=sum(size for each, size in sizes.items() if each in findings.kinds),
        builds=lab.builds,
        seconds=monotonic() - start,
        transformers=str(transformers.__version__),
    )


def _product(expressions: Any) -> Any:
    from sympy import prod, sympify

    return sympify(prod(expressions))


def _elements(shapes: Mapping[tuple[int, ...], tuple[int, ...]]) -> int:
    from math import prod

    return sum(prod(shape) for shape in shapes.values())
