"""Generate exercises. A seed and a level determine the sheet, and the right answers are computed from the model.

>>> [exercise.kind for exercise in sheet(7, "easy")][:4]
['tensor', 'shape', 'layer', 'model']
>>> sheet(7, "hard") == sheet(7, "hard")
True
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from random import Random

from bertcalc.compute.flops import PYTORCH, Convention, by_name, part_of
from bertcalc.diagnosis.miscounts import MISCOUNTS, counted, total
from bertcalc.explore.field_effects import effect
from bertcalc.families import FAMILIES
from bertcalc.memory.optimizers import PRECISIONS, Optimizer, Precision
from bertcalc.model.batch import Batch
from bertcalc.model.family import Family, Task
from bertcalc.model.model import Model
from bertcalc.model.modules import split_layer
from bertcalc.model.totals import submodule
from bertcalc.model.trace import Step
from bertcalc.teach import exercise_models
from bertcalc.teach.exercise_models import Level
from bertcalc.teach.questions import Exercise, Kind, Mistake, Sentence, TrainingMemory, asked, by_place, shown
from bertcalc.text import N_
from bertcalc.text.amounts import Unit
from bertcalc.text.arguments import checked, unknown

# Increase this with every change that alters the sheets of existing links. Every sheet shows its version.
VERSION = 1
LARGEST_SEED = 999_999
BERT = next(iter(FAMILIES))  # the default family, for links without a family
_EVERYWHERE = Sentence(N_("all layers are counted, but the question is about one"))
_WITH_BIAS = Sentence(N_("the bias is counted as well, but it is a separate tensor"))
_WEIGHT_PRECISIONS: tuple[Precision, ...] = ("fp32", "mixed-18")  # their dtypes are float32 and bfloat16


@checked
def sheet(seed: int, level: Level, family: str = BERT) -> tuple[Exercise, ...]:
    """Draw one exercise of each kind about models of a family. Raises InputError if there is no such family.

    Each exercise is drawn independently.
    """
    if family not in FAMILIES:
        raise unknown(_NO_FAMILY, family, FAMILIES)
    return tuple(exercise(seed, level, kind, family) for kind in KINDS)


_NO_FAMILY = (
    N_("There is no family {name}: did you mean {nearest}?"),
    N_("There is no family {name}: it must be one of {options}."),
)


@lru_cache(maxsize=1024)
def exercise(seed: int, level: Level, kind: Kind, family: str = BERT) -> Exercise:
    """Return the exercise of one kind in a sheet. The same arguments always give the same exercise."""
    # With a string as seed, every machine and every version of Python draws the same numbers.
    return _KINDS[kind](Random(f"{VERSION} {level} {seed} {kind}"), level, FAMILIES[family])


_TASKS: Mapping[Level, tuple[Task, ...]] = {
    "easy": ("sequence-classification", "token-classification", "next-sentence"),
    "medium": ("sequence-classification", "token-classification", "masked-lm"),
    "hard": ("masked-lm", "pretraining", "multiple-choice", "token-classification"),
}
# The modules and steps of exercises, named by their meaning. Meanings that a family lacks are skipped.
_PARTS: Mapping[Level, tuple[str, ...]] = {
    "easy": ("layer", "layer attention", "embeddings", "pooler"),
    "medium": ("layer", "layer attention", "embeddings"),
    "hard": ("layer",),
}
_STEPS: Mapping[str, str] = {
    "embeddings.word": N_("the rows looked up in the word embeddings"),
    "attention.query": N_("the queries, before they are cut into heads"),
    "attention.query_heads": N_("the queries, cut into heads"),
    "attention.scores": N_("the attention scores, queries times keys"),
    "attention.context": N_("the context, attention weights times values, still in heads"),
    "attention.merge_heads": N_("the context, with the heads side by side again"),
    "feed-forward.up": N_("the output of the first dense layer of the feed-forward network"),
    "feed-forward.down": N_("the output of the second dense layer of the feed-forward network"),
    "pooler.dense": N_("the output of the pooler's dense layer"),
}
_PRODUCTS: Mapping[Level, Mapping[str, str]] = {
    "easy": {
        "attention.query": N_("the queries of one layer"),
        "attention.scores": N_("the attention scores of one layer, queries times keys"),
        "feed-forward.up": N_("the first dense layer of the feed-forward network, in one layer"),
    },
    "medium": {
        "layer attention": N_("the attention of one layer, with its four dense layers"),
        "attention.context": N_("the context of one layer, attention weights times values"),
        "feed-forward.down": N_("the second dense layer of the feed-forward network, in one layer"),
        "pooler.dense": N_("the dense layer of the pooler"),
    },
    "hard": {"layer": N_("one layer"), "": N_("the whole model")},
}
_OPTIMIZERS: Mapping[Optimizer, str] = {"sgd": "SGD", "momentum": N_("SGD with momentum"), "adamw": "AdamW"}
# Fields that can change the number of parameters or FLOPs, and fields that students may wrongly believe to do so.
_FIELDS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
    "num_labels",
    "hidden_dropout_prob",
    "layer_norm_eps",
    "initializer_range",
    "is_decoder",
    "pad_token_id",
)
_OPTIONS = 5


def _drawn_model(random: Random, level: Level, family: Family, architecture: str = "") -> Model:
    return Model(exercise_models.config(random, level, family), architecture or family.base.name)


def _classes(level: Level, family: Family) -> tuple[str, ...]:
    return tuple(cls.name for task in _TASKS[level] for cls in family.classes if cls.task == task)


def _paths(model: Model, meanings: Iterable[str]) -> dict[str, str]:
    """Return the paths of the model's modules and steps, keyed by meaning; one layer stands for all layers."""
    names = {step.key: step.name for step in model.steps(Batch())}
    layer, inside = split_layer(names["attention.scores"])
    tops = {key.split(".")[0]: name.split(".")[0] for key, name in names.items() if "." in name}
    paths = {**tops, **names, "layer": layer, "layer attention": f"{layer}.{inside.split('.')[0]}", "": ""}
    return {meaning: paths[meaning] for meaning in meanings if meaning in paths}


def _tensor(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family)
    tensor = random.choice([tensor for tensor in model.tensors() if len(tensor.shape) == 2])
    question = Sentence(N_("How many elements does the tensor `{name}` have?"), {"name": shown(tensor.name, model)})
    return _count("tensor", model, question, tensor.name)


def _shape(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family)
    matrices = [tensor for tensor in model.tensors() if len(set(tensor.shape)) == 2]
    tensor = random.choice(matrices)
    question = Sentence(N_("What is the shape of the tensor `{name}`?"), {"name": shown(tensor.name, model)})
    return Exercise("shape", model, question, tensor.shape, path=tensor.name)


def _layer(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family)
    path = random.choice(tuple(_paths(model, _PARTS[level]).values()))
    question = Sentence(
        N_("How many parameters does `{name}` have, including everything inside it?"), {"name": shown(path, model)}
    )
    return _count("layer", model, question, path)


def _model(random: Random, level: Level, family: Family) -> Exercise:
    question = Sentence(N_("How many parameters does {architecture} have?"), {"architecture": family.base.name})
    return _count("model", _drawn_model(random, level, family), question)


def _architecture(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family, random.choice(_classes(level, family)))
    base_count = model.changed(architecture=family.base.name).num_parameters()
    question = Sentence(
        N_("{base} has {parameters} parameters with these sizes. How many does {architecture} have?"),
        {"base": family.base.name, "parameters": f"{base_count:,}", "architecture": model.architecture},
    )
    return _count("architecture", model, question)


def _count(kind: Kind, model: Model, question: Sentence, path: str = "") -> Exercise:
    """Return an exercise that asks for the number of elements in the model, or in one copy of a module or tensor."""
    empty = Exercise(kind, model, question, 0, "parameters", path=path)
    tensors = tuple(asked(empty, counted(model)))
    # ``submodule`` accepts the path of a module, but not of a tensor.
    right = total(tensors) if kind == "tensor" else submodule(model, path).num_parameters()
    layers = model.config.num_hidden_layers
    mistakes = [Mistake(_EVERYWHERE, layers * right)] if "*" in path else []
    if kind == "tensor":
        mistakes.append(Mistake(_WITH_BIAS, submodule(model, path.rpartition(".")[0]).own_parameters()))
    return empty._replace(right=right, tensors=tensors, mistakes=_others(right, mistakes))


def _others(right: int, mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes that lead to a number other than the right number and 0."""
    return tuple(mistake for mistake in mistakes if mistake.amount not in (0, right))


def _step(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family)
    batch = exercise_models.batch(random, level, model.config)
    steps = {step.name: step for step in model.steps(batch)}
    meaning, path = random.choice(tuple(_paths(model, _STEPS).items()))
    question = Sentence(
        N_("What is the shape of {what} (`{name}`)?"), {"what": _STEPS[meaning], "name": shown(path, model)}
    )
    return Exercise("step", model, question, steps[path].gives.shape, batch=batch, path=path)


def _flops(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family)
    batch = exercise_models.batch(random, level, model.config)
    meaning, path = random.choice(tuple(_paths(model, _PRODUCTS[level]).items()))
    question = Sentence(
        N_("How many FLOPs does a forward pass take for {what}? Count only matrix products, 2 FLOPs per multiply-add."),
        {"what": _PRODUCTS[level][meaning]},
    )
    right = _cost(model.steps(batch), path)
    mistakes = _others(right, _flops_mistakes(model, batch, path))
    return Exercise("flops", model, question, right, "FLOPs", batch, path, mistakes=mistakes)


def _flops_mistakes(model: Model, batch: Batch, path: str) -> Iterator[Mistake]:
    steps = model.steps(batch)
    layers = model.config.num_hidden_layers
    no_square = [step for step in steps if part_of(step) != "scores and context"]
    single = model.changed(config=replace(model.config, num_hidden_layers=1))
    yield Mistake(
        Sentence(N_("each multiply-add is counted once, but it is two operations: a multiplication and an addition")),
        _cost(steps, path, Convention("MACs")),
    )
    yield Mistake(
        Sentence(N_("one sequence is counted, but there are {batch_size}"), {"batch_size": f"{batch.batch_size:,}"}),
        _cost(model.steps(Batch(1, batch.sequence_length)), path),
    )
    yield Mistake(Sentence(N_("one token is counted")), _cost(model.steps(Batch(1, 1)), path))
    yield Mistake(Sentence(N_("scores and context are left out")), _cost(no_square, path))
    if "*" in path:
        yield Mistake(_EVERYWHERE, layers * _cost(steps, path))
    elif not path:
        yield Mistake(Sentence(N_("a single layer is counted")), _cost(single.steps(batch), path))


def _cost(steps: Iterable[Step], path: str, convention: Convention = PYTORCH) -> int:
    """Return the cost of one copy of a module or step; 0 if none of the steps belongs to it."""
    return next((row.cost for row in by_name(steps, convention) if row.name == path), 0)


def _memory(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family)
    count = model.num_parameters()
    values = {"base": family.base.name, "parameters": f"{count:,}"}
    if random.choice((True, False)):
        precision = random.choice(_WEIGHT_PRECISIONS)
        memory = TrainingMemory(count, precision, "sgd", ("weights",))
        question = Sentence(
            N_("{base} has {parameters} parameters with these sizes. How many bytes do its weights take in {dtype}?"),
            values | {"dtype": PRECISIONS[precision].dtype},
        )
    else:
        optimizer = random.choice(tuple(_OPTIMIZERS))
        memory = TrainingMemory(count, "fp32", optimizer, ("weights", "gradients", "optimizer states"))
        question = Sentence(
            N_(
                "{base} has {parameters} parameters with these sizes. How many bytes do its weights, its gradients "
                "and the {optimizer} states take in float32?"
            ),
            values | {"optimizer": _OPTIMIZERS[optimizer]},
        )
    right = sum(memory.num_bytes().values())
    mistakes = _others(right, _memory_mistakes(memory))
    return Exercise("memory", model, question, right, "bytes", mistakes=mistakes, memory=memory)


def _memory_mistakes(memory: TrainingMemory) -> Iterator[Mistake]:
    sizes = memory.num_bytes()
    right = sum(sizes.values())
    yield Mistake(Sentence(N_("the parameters are counted, not their bytes")), memory.parameters)
    yield Mistake(Sentence(N_("bits are counted, not bytes")), 8 * right)
    if len(sizes) > 1:
        yield Mistake(Sentence(N_("only the weights are counted")), sizes["weights"])
        for part, size in sizes.items():
            yield Mistake(Sentence(N_("the {part} are left out"), {"part": part}), right - size)
        for optimizer, name in _OPTIMIZERS.items():
            others = memory._replace(optimizer=optimizer).num_bytes()
            yield Mistake(
                Sentence(N_("the optimizer is assumed to be {optimizer}"), {"optimizer": name}), sum(others.values())
            )
    else:
        for precision in _WEIGHT_PRECISIONS:
            other = memory._replace(precision=precision).num_bytes()
            dtype = PRECISIONS[precision].dtype
            yield Mistake(
                Sentence(N_("the parameters are assumed to be in {dtype}"), {"dtype": dtype}), sum(other.values())
            )


def _field(random: Random, level: Level, family: Family) -> Exercise:
    architecture = random.choice((family.base.name, *_classes(level, family)))
    model = _drawn_model(random, level, family, architecture)
    batch = exercise_models.batch(random, level, model.config)
    of = random.choice(tuple(_ASKED))
    fields = [model.config.own_name(field) for field in _FIELDS if model.config.has(field)]
    changing = {field for field in fields if change(of, field, model, batch)}
    number = random.randrange(1, min(_OPTIONS, len(changing) + 1))
    chosen = random.sample(sorted(changing), number)
    others = random.sample(sorted(set(fields) - changing), _OPTIONS - number)
    options = tuple(field for field in fields if field in {*chosen, *others})
    question = Sentence(_ASKED[of], {"architecture": architecture})
    return Exercise("field", model, question, frozenset(chosen), of, batch, options=options)


_ASKED: Mapping[Unit, str] = {
    "parameters": N_("Which of these fields change the number of parameters of {architecture}?"),
    "FLOPs": N_("Which of these fields change the FLOPs of a forward pass of {architecture}?"),
}


def change(of: Unit, field: str, model: Model, batch: Batch) -> int:
    """Return the change in ``of`` (the number of parameters, or the FLOPs of a forward pass) if a field changes.

    The field changes as little as possible, but enough to make a difference if it can make one.
    """
    field_effect = effect(field, model, *batch.shape)
    return field_effect.parameters if of == "parameters" else field_effect.flops


def _error(random: Random, level: Level, family: Family) -> Exercise:
    model = _drawn_model(random, level, family)
    question = Sentence(
        N_("One line in this count of {architecture} is wrong. What should that number be?"),
        {"architecture": family.base.name},
    )
    flawless = Exercise("error", model, question, 0, "parameters", tensors=counted(model))
    drawn = [name for name, miscount in MISCOUNTS.items() if miscount.drawn]
    places = {name: _wrong_places(flawless._replace(miscount=name)) for name in drawn}
    miscount = random.choice([name for name in drawn if len(places[name]) == 1])
    [place] = places[miscount]
    flawed = flawless._replace(miscount=miscount, place=place)
    right = by_place(flawed.tensors, model)
    mistakes = [
        Mistake(Sentence(N_("the line is left unchanged")), by_place(flawed.miscounted(), model)[place]),
        *(Mistake(Sentence(N_("you chose a different line, which is correct")), amount) for amount in right.values()),
    ]
    return flawed._replace(right=right[place], mistakes=_others(right[place], mistakes))


def _wrong_places(exercise: Exercise) -> list[tuple[str, str]]:
    """Return the wrong lines of a worked count; empty if the miscount removes a line or adds tensors."""
    right = by_place(exercise.tensors, exercise.model)
    wrong = by_place(exercise.miscounted(), exercise.model)
    if set(wrong) != set(right) or len(exercise.miscounted()) > len(exercise.tensors):
        return []
    return [place for place in right if wrong[place] != right[place]]


_KINDS: Mapping[Kind, Callable[[Random, Level, Family], Exercise]] = {
    "tensor": _tensor,
    "shape": _shape,
    "layer": _layer,
    "model": _model,
    "architecture": _architecture,
    "step": _step,
    "flops": _flops,
    "memory": _memory,
    "field": _field,
    "error": _error,
}
KINDS = tuple(_KINDS)
