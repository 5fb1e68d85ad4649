"""Read a printed model and compare it with the model of its class and sizes.

>>> from bertcalc.families import build
>>> reading = read_printed(str(build("bert-base-uncased")))
>>> reading.model == build("bert-base-uncased"), reading.num_parameters
(True, 109482240)
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from math import prod
from typing import Any

from bertcalc.config import Config, ConfigError
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Shape
from bertcalc.reading.leaf_modules import arguments_of
from bertcalc.reading.printed_tree import PrintedTree, printed_models
from bertcalc.reading.recognition import (
    TELLING,
    Recognition,
    is_hidden,
    own_names,
    recognized,
    starred,
    stored,
    without_adapters,
)
from bertcalc.reading.text_reading import PossibleCount, TextReading, of_ties
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem, wrong
from bertcalc.transformers4.version import RELATIVE

_MOST_MODULES = 100_000


def read_printed(text: str) -> TextReading:
    """Read the printed model in a text. Raises InputError if there is none.

    Of several models, the longest complete model is read. If none is complete, the longest model is read.
    """
    trees = printed_models(text)
    if not trees:
        raise wrong(N_("This text contains no printed PyTorch model, which begins with a line such as BertModel(."))
    tree = max(trees, key=lambda tree: (tree.is_complete, tree.lines))
    if sum(copies for _path, _module, copies in tree.root.modules()) > _MOST_MODULES:
        raise wrong(N_("This printed model has too many modules: at most {most} are allowed."), most=_MOST_MODULES)
    reading = _reading(tree, trees)
    if inside := _SENTENCE_TRANSFORMER.search(text):
        note = Problem.of(_NO_SIZES, architecture=inside[1] or inside[2])
        reading = replace(reading, notes=(note, *reading.notes))
    return reading


# The module of sentence-transformers that contains a model of transformers. It does not print the model's modules.
_SENTENCE_TRANSFORMER = re.compile(
    r"\(0\): Transformer\(\{[^\n]{0,2000}?(?:'architecture': '(\w{1,80})'|\}\) with Transformer model: (\w{1,80}))"
)
_NO_SIZES = N_(
    "This printout does not show the modules of {architecture} inside the Transformer. Use "
    "print(model[0].auto_model) to show them."
)


def _reading(tree: PrintedTree, trees: Sequence[PrintedTree]) -> TextReading:
    printed = dict(_tensors(tree.root))
    recognition = _recognized(tree, printed)
    notes = [*_notes(tree, trees)]
    sentence = _sentence(tree)
    if recognition is None:
        return _of_unknown_class(tree, sentence, notes)
    recognition = _completed(tree, recognition)
    parts = {name: getattr(recognition, name) for name in ("missing", "additional", "reshaped", "guessed", "preset")}
    unknown = bool(set(tree.unknown()) - _known_by(recognition.model, tree))
    twins = () if recognition.preset else _of_twins(tree, recognition.num_parameters)
    if _is_inside_other(tree):
        notes.append(Problem.of(_NOT_PRINTED, name=shorten(tree.root.class_name)))
    return TextReading(
        "printed-model",
        sentence,
        recognition.model,
        tree.root,
        tuple(tree.root.tensors()),
        min(twins).parameters if twins else recognition.num_parameters,
        bool(twins) or unknown or bool(recognition.missing and not tree.is_complete),
        twins or tuple(_possible(tree, recognition)),
        notes=tuple(notes),
        **parts,
    )


def _is_inside_other(tree: PrintedTree) -> bool:
    """Whether a known class is inside a class of an unknown program, which may have parameters of its own."""
    kinds = [(path, module.class_name) for path, module, _copies in tree.root.modules(folded=False)]
    place = next((path for path, kind in kinds if kind in CLASSES), "")
    outside = (kind for path, kind in kinds if not path or place.startswith(f"{path}."))
    return any(kind not in CLASSES and not _WRAPPER.search(kind) for kind in outside)


# Classes of PyTorch, peft and other libraries around a model, which have no parameters of their own.
_WRAPPER = re.compile(
    r"^(?:Peft\w*|Lora\w*|AdaLora\w*|IA3\w*|LNTuning\w*|\w*DataParallel|OptimizedModule|Module|ModuleList|ModuleDict|Sequential"
    r"|SentenceTransformer|CrossEncoder|Transformer|DeepSpeedEngine|FullyShardedDataParallel|ModulesToSaveWrapper)$"
)


def _of_twins(tree: PrintedTree, count: int) -> tuple[PossibleCount, ...]:
    """Return the possible counts if a class has two equal modules with children, which may be one shared module."""
    twins: dict[str, list[tuple[str, Module]]] = {}
    for name, child, _copies in tree.root.named_children(folded=True):
        if child.children and child.num_parameters():
            twins.setdefault(str(child), []).append((name, child))
    equal = max(twins.values(), key=len, default=[])
    if len(equal) < 2 or not _is_inside_other(tree) or tree.root.class_name in ("ModuleList", "Sequential"):
        return ()
    names = ", ".join(shorten(name) for name, _child in equal)
    less = (len(equal) - 1) * equal[0][1].num_parameters()
    return (
        PossibleCount(count, Problem.of(N_("if {names} are separate modules"), names=names)),
        PossibleCount(count - less, Problem.of(N_("if {names} are one shared module"), names=names)),
    )


def _of_unknown_class(tree: PrintedTree, sentence: Problem, notes: Sequence[Problem]) -> TextReading:
    """Count the modules of a class that bertcalc does not know, and list the counts that print() leaves open."""
    count = tree.root.num_parameters() - sum(_shared_always(tree).values())
    open_part = bool(tree.unknown()) or not tree.is_complete
    layers, shared = _layers_without_bias(tree), _of_shared(tree, count)
    biases = () if open_part and not layers else _of_unsure(tree, tree.unsure(), count)
    # The model has at least the smallest of the possible counts.
    least = count - sum(count - min(possible).parameters for possible in (biases, shared) if possible)
    number = (least or None) if open_part else count
    if not open_part and len(layers) > 1:  # each of them may or may not have a bias
        number = None
    return TextReading(
        "printed-model",
        sentence,
        None,
        tree.root,
        tuple(tree.root.tensors()),
        number,
        open_part,
        biases if layers else (*biases, *shared),
        notes=(*notes, Problem.of(_NOT_SHOWN), _of_known_class(tree) or UNKNOWN_CLASS),
    )


def _of_known_class(tree: PrintedTree) -> Problem | None:
    """Return a note on the class if bertcalc knows it, but not with the printed modules; else None."""
    kinds = (module.class_name for _path, module, _copies in tree.root.modules())
    name = next((kind for kind in kinds if kind in CLASSES), None)
    return Problem.of(_OTHER_MODULES, name=name) if name else None


_OTHER_MODULES = N_("{name} has other modules: lines of the printed model are missing, or a program changed it.")


def _layers_without_bias(tree: PrintedTree) -> list[str]:
    """Return the names of biases of layers, except norms, whose lines do not show whether they exist."""
    kinds = {path: module.class_name for path, module, _copies in tree.root.modules()}
    return [name for name in tree.unsure() if not kinds[name.rpartition(".")[0]].endswith("Norm")]


def _completed(tree: PrintedTree, recognition: Recognition) -> Recognition:
    """Complete a shortened printout from a preset with the same sizes, if there is one."""
    if tree.is_complete or recognition.additional or recognition.reshaped:
        return recognition
    model = recognition.model
    stated = _stated_layers(tree)
    if recognition.preset:
        return recognition._replace(model=_with_layers(model, stated), missing=())
    for name, preset in PRESETS.items():
        same = type(preset.config) is type(model.config) and all(
            getattr(preset.config, field) == getattr(model.config, field)
            for field in (*TELLING, "intermediate_size")
            if field != "num_hidden_layers"
        )
        if same and preset.config.num_hidden_layers >= model.config.num_hidden_layers:
            whole = _with_layers(model.changed(add_pooling_layer=True), stated or preset.config.num_hidden_layers)
            return Recognition(whole, recognition.guessed, preset=name)
    return recognition


def _stated_layers(tree: PrintedTree) -> int:
    """Return the number of layers in a line such as (0-11): 12 x BertLayer; 0 if there is none."""
    layers = (copies for _path, module, copies in tree.root.modules() if module.class_name.endswith(_OF_LAYERS))
    return max((copies for copies in layers if copies > 1), default=0)


def _with_layers(model: Model, layers: int) -> Model:
    """Return the model with another number of layers; the same model if the number is 0."""
    field = type(model.config).own_name("num_hidden_layers")
    changed: dict[str, Any] = {field: layers}
    return model.changed(config=replace(model.config, **changed)) if layers else model


def _tensors(root: Module) -> Iterator[tuple[str, Shape]]:
    return ((tensor.name, tensor.shape) for tensor in root.tensors(folded=False))


def _sentence(tree: PrintedTree) -> Problem:
    stacks = Counter[str]()
    for path, module, copies in tree.root.modules():
        stacks[path.rpartition(".")[0]] += copies if _is_layer(module) else 0
    layers = max(stacks.values(), default=0)
    if layers:
        one_layer, several_layers = (
            N_("Read as: a printed PyTorch model ({name}), one layer."),
            N_("Read as: a printed PyTorch model ({name}), {layers} layers."),
        )
        return Problem.of(
            one_layer if layers == 1 else several_layers, name=shorten(tree.root.class_name), layers=layers
        )
    one, several = (
        N_("Read as: a printed PyTorch model ({name}), one line."),
        N_("Read as: a printed PyTorch model ({name}), {lines} lines."),
    )
    return Problem.of(one if tree.lines == 1 else several, name=shorten(tree.root.class_name), lines=tree.lines)


_LAYERS = re.compile(r"(?<=\.)[0-9]+(?:-[0-9]+)?(?=\.|$)")


def _is_layer(module: Module) -> bool:
    return module.class_name.endswith(_OF_LAYERS) and any(module.named_children(folded=True))


_OF_LAYERS = ("Layer", "Block")


_MOST_NAMED = 8
_SEVERAL = N_(
    "The text contains {count} printed models: {names}. Only number {number}, with {lines} lines, is counted: paste "
    "the others one by one."
)


def _notes(tree: PrintedTree, trees: Sequence[PrintedTree]) -> Iterator[Problem]:
    if len(trees) > 1:
        names = ", ".join(shorten(other.root.class_name) for other in trees[:_MOST_NAMED])
        yield Problem.of(_SEVERAL, count=len(trees), names=names, number=trees.index(tree) + 1, lines=tree.lines)
    if tree.headless:
        yield Problem.of(N_("The first lines of the printed model are missing."))
    for path in tree.left_out:
        yield Problem.of(N_("Some lines inside {path} are missing."), path=shorten(path or tree.root.class_name))
    for path in tree.filled:
        yield Problem.of(
            N_(
                "Layers are missing in {path}. The layer numbers show how many; each missing layer is assumed to "
                "equal the layer before it."
            ),
            path=shorten(path or tree.root.class_name),
        )
    for path in tree.cut:
        yield Problem.of(N_("The printed model ends inside {path}."), path=shorten(path or tree.root.class_name))
    cut = {_LAYERS.sub("*", path) for path in (*tree.cut, *tree.left_out)}  # their modules may be in the missing lines
    kinds = dict.fromkeys(kind for path, kind in tree.unknown().items() if _LAYERS.sub("*", path) not in cut)
    if strange := [kind for kind in kinds if not kind.endswith("LayerNorm")]:
        names = ", ".join(map(shorten, strange[:8]))
        yield Problem.of(N_("print(model) does not show the parameters of these modules: {names}."), names=names)


def _recognized(tree: PrintedTree, printed: Mapping[str, Shape]) -> Recognition | None:
    """Compare the tree with the model of its class, adding the tensors that ``print`` does not show."""
    named = [(path, module.class_name) for path, module, _copies in tree.root.modules(folded=False)]
    place, cls = next(((path, kind) for path, kind in named if kind in CLASSES), ("", None))
    whole = cls if cls and _is_all(tree.root, place) else None
    kinds = {without_adapters(path): kind for path, kind in named}
    modules = {without_adapters(path): module for path, module, _copies in tree.root.modules(folded=False)}
    absent = _absent_biases(tree, cls)
    shapes = {without_adapters(name): shape for name, shape in printed.items() if starred(name) not in absent}
    inside = f"{place}." if whole and place else ""
    hidden = _hidden(cls, kinds, inside if whole else f"{place}." if place else "", shapes)
    prepare = partial(_with_printed_values, modules=modules, tree=tree)
    recognition = recognized([*stored((shapes | hidden).items())], whole, cls, kinds, prepare)
    if recognition and cls is None and not _is_of_family(recognition.model, kinds.values()):
        return None
    return recognition


def _is_of_family(model: Model, kinds: Iterable[str]) -> bool:
    """Whether a printed model of an unknown class has modules of the model's family.

    The tensors' names do not show this: Llama's tensors have the same names as EuroBERT's.
    """
    return any(kind.startswith(model.family.kind) for kind in kinds)


def _absent_biases(tree: PrintedTree, cls: str | None) -> set[str]:
    """Return the starred names of biases that may be absent if the family has none by default; otherwise empty."""
    default = CLASSES[cls].config.default() if cls else None
    has_none = default is not None and default.has("norm_bias") and not vars(default)["norm_bias"]
    return {starred(name) for name in tree.unsure()} if has_none else set()


def _is_all(root: Module, path: str) -> bool:
    """Whether the module at a path is the whole model, perhaps inside wrappers such as DataParallel or PEFT."""
    module = root
    for name in path.split(".") if path else ():
        children = {child_name: child for child_name, child, _copies in module.named_children(folded=True)}
        if name == "base_model":
            children.pop("prompt_encoder", None)
            children.pop("word_embeddings", None)
        if {*children} != {name}:
            return False
        module = children[name]
    return True


def _hidden(cls: str | None, kinds: Mapping[str, str], start: str, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the tensors that ``print`` does not show: in modules with children, and in DeBERTa's norms.

    Their shapes are the family's default shapes, because the search for sizes needs only their names.
    """
    if cls is None:
        return {}
    family = CLASSES[cls]
    full = Model(family.fullest(**RELATIVE), cls)
    return {
        f"{start}{name}": shape
        for path, module, _copies in full.modules(folded=False)
        if f"{start}{path}" in kinds and is_hidden(module)
        for name, shape in zip(own_names(path, module), module.parameters.values(), strict=True)
        if f"{start}{name}" not in shapes
    }


def _known_by(model: Model, tree: PrintedTree) -> set[str]:
    """Return the paths of the modules with tensors that ``print`` does not show but the model has."""
    paths = tuple({_DIGITS.sub("*", path) for path, module, _copies in model.modules() if is_hidden(module) and path})
    return {path for path in tree.unknown() if paths and _DIGITS.sub("*", path).endswith(paths)}


_DIGITS = re.compile(r"(?<![^.])[0-9]+(?![^.])")  # a layer number in a path


def _possible(tree: PrintedTree, recognition: Recognition) -> Iterator[PossibleCount]:
    model, count = recognition.model, recognition.num_parameters
    if recognition.preset:
        yield PossibleCount(
            model.num_parameters(), Problem.of(N_("if the rest is like {preset}"), preset=recognition.preset)
        )
        yield PossibleCount(tree.root.num_parameters(), Problem.of(N_("if the model has only the printed modules")))
        return
    yield from of_ties(model, count)
    if _absent_biases(tree, model.architecture):
        with_biases = model.changed(config=replace(model.config, **_BIASES))
        yield PossibleCount(count, Problem.of(_WITHOUT_BIASES))
        yield PossibleCount(with_biases.num_parameters() - model.num_parameters() + count, Problem.of(_WITH_BIASES))


UNKNOWN_CLASS = Problem.of(N_("bertcalc does not know this class, so its real count may differ."))
_NOT_PRINTED = N_(
    "print(model) does not show parameters that {name} has outside its modules, and prints a shared module under each "
    "of its names, so the real count may differ."
)
_NOT_SHOWN = N_("print(model) shows neither which modules share a tensor nor tensors of modules that have children.")


def _shared_always(tree: PrintedTree) -> dict[str, int]:
    """Return the sizes of tables that print() repeats in the stacks of a model such as T5, keyed by path.

    All of them are the same shared table.
    """
    tables = {
        path: weight
        for path, module, _copies in tree.root.modules()
        if _EMBEDDING.search(module.class_name) and (weight := module.parameters.get("weight"))
    }
    return {
        path: prod(weight)
        for path, weight in tables.items()
        if (stack := _STACK_TABLE.search(path)) and tables.get(f"{path[: stack.start()]}shared") == weight
    }


_STACK_TABLE = re.compile(r"(?<![^.])(?:encoder|decoder)\.embed_tokens$")


def _of_shared(tree: PrintedTree, count: int) -> tuple[PossibleCount, ...]:
    """Return the counts of an unknown class if its vocabulary-shaped matrices are separate, and if they are shared.

    The result is empty if no other matrix has the shape of an embedding table.
    """
    weights: dict[Shape, list[str]] = {}
    again = _shared_always(tree)
    for path, module, copies in tree.root.modules():
        if path in again:
            continue
        if copies == 1 and (weight := module.parameters.get("weight")) and len(weight) == 2:
            weights.setdefault(weight, []).append(f"{path} {module.class_name}")
    tables = [shape for shape, users in weights.items() if len(users) > 1 and any(map(_EMBEDDING.search, users))]
    if not tables:
        return ()
    vocabulary = max(tables, key=prod)  # smaller tables, such as position embeddings, are hardly ever shared
    if again and not any(user.partition(" ")[0].endswith("shared") for user in weights[vocabulary]):
        return ()
    less = prod(vocabulary) * (len(weights[vocabulary]) - 1)
    names = ", ".join(shorten(user.partition(" ")[0]) for user in weights[vocabulary][:8])
    apart, together = N_("if {names} are separate matrices"), N_("if {names} of the same shape are shared")
    return (
        PossibleCount(count, Problem.of(apart, names=names)),
        PossibleCount(count - less, Problem.of(together, names=names)),
    )


_EMBEDDING = re.compile(r"Embedding$")


def _of_unsure(tree: PrintedTree, names: Sequence[str], count: int) -> tuple[PossibleCount, ...]:
    """Return the counts with and without the biases that older PyTorch releases do not print."""
    copies = {path: copies for path, _module, copies in tree.root.modules()}
    shapes = {tensor.name: tensor.shape for tensor in tree.root.tensors()}
    less = sum(copies[name.rpartition(".")[0]] * prod(shapes[name]) for name in names)
    if not less:
        return ()
    of_layers = len(_layers_without_bias(tree))
    with_biases, without = (_BIASED, _UNBIASED) if of_layers else (_WITH_BIASES, _WITHOUT_BIASES)
    if of_layers > 1:
        with_biases, without = _ALL_BIASED, _NONE_BIASED
    return PossibleCount(count, Problem.of(with_biases)), PossibleCount(count - less, Problem.of(without))


_BIASES: dict[str, Any] = {"norm_bias": True}
_WITH_BIASES = N_("if its LayerNorms have a bias, which old releases of PyTorch do not print")
_WITHOUT_BIASES = N_("if its LayerNorms have no bias")
_ALL_BIASED = N_("if every layer whose line does not show a bias has one")
_NONE_BIASED = N_("if none of the layers whose lines do not show a bias has one")
_BIASED, _UNBIASED = N_("if its layers have a bias (not shown in the text)"), N_("if its layers have no bias")


def _with_printed_values(model: Model, modules: Mapping[str, Module], tree: PrintedTree) -> Model:
    """Set the fields that printed arguments show but shapes do not: dropout probabilities, epsilons, activations.

    ``print`` does not show whether the decoder is tied, so the default is assumed.
    """
    config = model.config
    if config.has("tie_word_embeddings"):
        with suppress(ConfigError):
            config = replace(config, tie_word_embeddings=type(config).default().tie_word_embeddings)
    # Use the default of num_labels if it changes no count: a class for multiple choice always has one label.
    with suppress(ConfigError):
        usual = model.changed(config=replace(config, num_labels=type(config).default().num_labels))
        config = usual.config if usual.num_parameters() == model.changed(config=config).num_parameters() else config
    for field in fields(config):
        votes = Counter(_printed_values(model.changed(config=config), field.name, modules))
        for value, _number in votes.most_common():  # use the most common valid value: a classifier may differ
            with suppress(ConfigError):
                config = replace(config, **{field.name: value})
                break
    return model.changed(config=config)


def _printed_values(model: Model, field: str, modules: Mapping[str, Module]) -> Iterator[Any]:
    """Yield the values of a field in the text, from the modules with printed arguments that depend on the field."""
    for sample in _samples(model.config, field):
        with suppress(ConfigError):
            changed = model.changed(config=replace(model.config, **{field: sample}))
            before = dict(_all_modules(model))
            for path, module in _all_modules(changed):
                old, text = before.get(path), _at(modules, path)
                if old is not None and text is not None:
                    yield from _value(field, old, module, text, is_set=getattr(model.config, field) is not None)


def _all_modules(model: Model) -> Iterator[tuple[str, Module]]:
    return ((path.replace("*", "0"), module) for path, module, _copies in model.modules())


def _at(modules: Mapping[str, Module], path: str) -> Module | None:
    return modules.get(path)


def _value(field: str, old: Module, new: Module, text: Module, *, is_set: bool) -> Iterator[Any]:
    """Yield the value of a field in a printed line. If the field is None, yield only a value other than the default."""
    if field.endswith(("hidden_act", "activation", "activation_function")) and old.class_name != new.class_name:
        if text.class_name != old.class_name:
            yield from (name for name, facts in ACTIVATIONS.items() if facts.kind == text.class_name)
        return
    before, after = (arguments_of(module.extra_repr()).named for module in (old, new))
    printed = arguments_of(text.extra_repr()).named
    if before.get("padding_idx") != after.get("padding_idx") and "padding_idx" not in printed:
        yield None
    for name in {**before, **after}:
        depends, differs = before.get(name) != after.get(name), before.get(name) != printed.get(name)
        if depends and (differs or is_set) and name in printed:
            with suppress(ValueError):
                yield float(printed[name]) if "." in printed[name] or "e" in printed[name] else int(printed[name])


def _samples(config: Config, field: str) -> tuple[Any, ...]:
    """Return other values of a field, to detect the printed lines that depend on it; empty for sizes."""
    value = getattr(config, field)
    if isinstance(value, float):
        return (0.123 if value != 0.123 else 0.321,)
    if field == "pad_token_id":
        return (value - 1,) if value else (1, None) if value == 0 else (0,)
    if isinstance(value, str) and value in ACTIVATIONS:
        return ("relu" if value != "relu" else "gelu",)
    if field.endswith("dropout") and value is None:
        return (0.123,)
    return ()
