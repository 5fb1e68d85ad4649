"""The inputs and outputs of a model: the forward methods of Hugging Face's classes.

Every shape comes from the steps of a forward pass, which have integers or symbols as sizes. The forward methods are
from the version of transformers that builds the configuration.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from bertcalc.config import Problem, check_whole_number
from bertcalc.families import family_of, output_names
from bertcalc.forward import between_versions
from bertcalc.forward.call import Call as Call
from bertcalc.forward.call import Entry as Entry
from bertcalc.forward.call import TensorCopies as TensorCopies
from bertcalc.forward.call import attends as attends
from bertcalc.forward.call import caches as caches
from bertcalc.forward.meanings import UNUSED
from bertcalc.model.batch import LARGEST
from bertcalc.model.family import Class
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.model.runnable import in_pairs, unpadded, wrong_labels
from bertcalc.model.stack import stack
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.transformers4.version import Container, version_of

IGNORED = -100  # the label that PyTorch's cross entropy ignores
_DECIMAL = ("head_mask", "inputs_embeds", "encoder_hidden_states")
_OF_BODY = ("past_key_values", "cross_attentions")  # further outputs of a decoder's body


@checked
def run(model: Model, call: Call) -> list[Step]:
    """The steps of a call; they use encoder_hidden_states only if the class accepts them and the layers read them."""
    return model.steps(call.batch if attends(model, call) else call.batch._replace(encoder_sequence_length=None))


@checked
def taking_all(model: Model) -> Model:
    """The model as a decoder with cross-attention; the same model if its family has no cross-attention.

    The steps of the result use every input, so ``inputs`` derives shapes from them.
    """
    if not model.config.has("add_cross_attention"):
        return model
    return model.changed(config=replace(model.config, is_decoder=True, add_cross_attention=True))


@checked
def inputs(model: Model, call: Call, steps: Sequence[Step]) -> list[Entry]:
    """An entry for each parameter of the forward method, in order; ``steps`` are the steps of ``taking_all(model)``."""
    config, cls, by_key = model.config, model.cls, _by_key(steps)
    ids = by_key["embeddings.input_ids"].gives.shape
    passed = {"input_ids", *(cls.targets if call.labels else ())}
    if call.encoder_sequence_length is not None:
        passed.add("encoder_hidden_states")
    if needs_mask(model):
        passed.add("attention_mask")
    flags = {
        "use_cache": call.use_cache is not None,
        "output_attentions": call.output_attentions,
        "output_hidden_states": call.output_hidden_states,
        "return_dict": not call.return_dict,
    }
    shapes = _input_shapes(cls, ids, by_key)
    regression = cls.task == "sequence-classification" and config.num_labels == 1
    entries = []
    for name in between_versions.inputs(version_of(config), cls.inputs):
        if name in flags:
            entries.append(Entry(name, "bool", (), given=flags[name]))
        elif name == "logits_to_keep":
            entries.append(Entry(name, "int", (), given=False))
        elif name == "past_key_values":
            entries.append(_cache(steps, attends(model, call), _container(model))._replace(given=False))
        else:
            shape = shapes.get(name, ids)
            decimal = name in _DECIMAL or (regression and name in cls.targets)
            tensors = (TensorCopies(1, shape),) if shape else ()
            entries.append(Entry(name, "float32" if decimal else "int64", tensors, given=name in passed))
    meanings = {**{name: UNUSED[name] for name in UNUSED.keys() - _used(model)}, **family_of(config).meanings}
    return [entry._replace(note=meanings.get(entry.name, "")) for entry in entries]


def _used(model: Model) -> set[str]:
    """The names of the inputs that a step uses, with "use_cache" if a cache can be returned."""
    config, steps = model.config, model.steps(model.batch_of(1, 1))
    used = {value.name for step in steps for value in step.takes}
    roles = {step.place.role for step in steps}
    if "angles" in roles:
        used.add("position_ids")
    if "chosen_token" in roles:
        used.add("mc_token_ids")
    if config.is_decoder and "past_key_values" not in model.cls.withholds:
        used.add("use_cache")
    return used


@checked
def needs_mask(model: Model) -> bool:
    """Whether a call fails without an attention_mask, as in ModernBERT's mean over the tokens of each choice."""
    config = model.config
    means = config.has("classifier_pooling") and vars(config)["classifier_pooling"] == "mean"
    return means and model.cls.task == "multiple-choice"


def _input_shapes(cls: Class, ids: Shape, by_key: Mapping[str, Step]) -> dict[str, Shape]:
    """The shapes of inputs that can have a different shape from input_ids."""
    heads = by_key["attention.key_heads"]
    seen = [value.shape for step in by_key.values() for value in step.takes if value.name == "encoder_hidden_states"]
    memory: Shape = seen[0] if seen else ()
    laid_out = dict.fromkeys(cls.laid_out, (prod(ids[:-1]), ids[-1]))
    return {
        **laid_out,
        "head_mask": (heads.runs, heads.gives.shape[1]),
        "inputs_embeds": (*laid_out.get("inputs_embeds", ids), by_key["embeddings.word"].gives.shape[-1]),
        "encoder_hidden_states": memory,
        "encoder_attention_mask": memory[:-1],
        "cache_position": ids[-1:],
        "mc_token_ids": ids[:-1],
        **{name: ids if cls.per_token and name == "labels" else ids[:1] for name in cls.targets},
    }


@checked
def outputs(model: Model, call: Call, steps: Sequence[Step]) -> list[Entry]:
    """The outputs of the forward method, in order; ``steps`` is the result of ``run``, with numbers or symbols."""
    cls, version = model.cls, version_of(model.config)
    returned = {step.output: step for step in steps if step.output}
    crossed = attends(model, call)
    whole = version.whole_tuples and not call.return_dict
    body = [name for name in _OF_BODY if cls.caches and name not in cls.withholds] if not whole else _OF_BODY
    losses = {"loss": bool(cls.targets), "mc_loss": "mc_labels" in cls.targets} if call.labels else {}
    entries = [Entry(name, "float32", (TensorCopies(1, ()),)) for name, there in losses.items() if there]
    for name in output_names(model.architecture):
        if name in returned:
            shape = returned[name].gives.shape
            flat = cls.flattens_regression and call.labels and model.config.num_labels == 1
            entries.append(Entry(name, "float32", (TensorCopies(1, shape[:-1] if flat else shape),)))
        elif whole or ("return_dict" in cls.inputs and not call.return_dict):  # the class itself builds the tuple
            entries.append(Entry(name, "float32", ()))
    cached = "past_key_values" in body and caches(model, call)
    extras = [_cache(steps, crossed, _container(model))] if cached else []
    if call.output_hidden_states:
        layers = stack(steps)
        # The output of the embeddings has the shape of a layer's output.
        shape = layers.groups[-1].steps[-1].gives.shape
        # In GPT-2, the last hidden state has an axis for the choices again.
        last = next((step.gives.shape for step in layers.after if step.place.role == "choices_apart"), None)
        states_of = (
            (TensorCopies(layers.length, shape), TensorCopies(1, last))
            if last
            else (TensorCopies(layers.length + 1, shape),)
        )
        states = Entry("hidden_states", "float32", states_of, "tuple")
        first = version.states_first and call.return_dict and cls.task == "base"
        extras = [states, *extras] if first else [*extras, states]
    entries += extras
    if call.output_attentions:
        entries.append(_attentions("attentions", steps, "attention"))
        if "cross_attentions" in body and (crossed or version.empty_cross_attentions):
            entries.append(_attentions("cross_attentions", steps, "cross-attention"))
    return entries if call.return_dict else [entry._replace(position=index) for index, entry in enumerate(entries)]


@checked
def num_tensors(entries: Iterable[Entry]) -> int:
    """The number of tensors in all outputs; last_hidden_state is also the last of hidden_states and counts once."""
    return sum(tensors.copies for entry in _distinct(entries) for tensors in entry.tensors)


@checked
def total_bytes(entries: Iterable[Entry]) -> int:
    """The bytes of all outputs; last_hidden_state is also the last of hidden_states and counts once."""
    return sum(entry.num_bytes() for entry in _distinct(entries))


def _distinct(entries: Iterable[Entry]) -> list[Entry]:
    by_name = {entry.name: entry for entry in entries}
    if "hidden_states" in by_name:
        by_name.pop("last_hidden_state", None)
    return list(by_name.values())


def _by_key(steps: Sequence[Step]) -> dict[str, Step]:
    return {step.key: step for step in steps}


def _cache(steps: Sequence[Step], cross: bool, alone: Container) -> Entry:
    by_key = _by_key(steps)
    kinds = ("attention", "cross-attention") if cross else ("attention",)
    halves = [[by_key[f"{kind}.{half}_heads"] for half in ("key", "value")] for kind in kinds]
    tensors = tuple(TensorCopies(key.runs + value.runs, key.gives.shape) for key, value in halves)
    return Entry("past_key_values", "float32", tensors, "EncoderDecoderCache" if cross else alone)


def _container(model: Model) -> Container:
    """The container of past_key_values in a call without an encoder's output."""
    crosses = family_of(model.config).cross_cache and model.config.add_cross_attention
    return "EncoderDecoderCache" if crosses else version_of(model.config).cache


def _attentions(name: str, steps: Sequence[Step], kind: str) -> Entry:
    weights = [step for step in steps if step.key == f"{kind}.weights_dropout"]
    runs = sum(step.runs for step in weights)
    return Entry(name, "float32", (TensorCopies(runs, weights[0].gives.shape),) if weights else (), "tuple")


def problems(model: Model, call: Call) -> Iterator[Problem]:
    """The problems that make the forward method fail; ``batch_problems`` checks the sizes of the batch.

    Like ``possible``, this function is not ``checked``: both have to accept calls that cannot run.
    """
    config, cls = model.config, model.cls
    architecture = model.architecture
    sizes = {"encoder_sequence_length": cls.sees_encoder, "num_choices": cls.takes_choices}
    for field, taken in sizes.items():
        value = getattr(call, field)
        if taken and value is not None and (problem := check_whole_number(field, value, 1, LARGEST, like=2)):
            yield problem
            return
    unlabelled = {"labels": False}
    cannot_answer = wrong_labels(model)
    if cannot_answer:
        yield cannot_answer
    if problem := unpadded(cls, config, call.batch_size):
        yield problem
    if call.labels and not cannot_answer and (problem := wrong_labels(model, training=True)):
        yield problem._replace(remedies=(*problem.remedies, unlabelled))
    if call.labels and cls.task == "double-heads" and not vars(config)["summary_use_proj"] and config.hidden_size > 1:
        message = N_("{architecture} has a loss only with summary_use_proj: without it, a choice has many scores.")
        yield Problem.of(message, "labels", True, unlabelled, architecture=architecture)
    if call.labels and cls.leaves_out_tokens(config):
        message = N_("With sparse_prediction and labels, the shape of the logits depends on the labels themselves.")
        yield Problem.of(message, "labels", True, unlabelled)
    if problem := in_pairs(config):
        yield problem
    length = call.encoder_sequence_length
    if cls.sees_encoder and length is not None and config.is_decoder and not config.add_cross_attention:
        message = N_(
            "A decoder without cross-attention does not accept encoder_hidden_states: set add_cross_attention to True."
        )
        remedies: tuple[dict[str, Any], ...] = ({"add_cross_attention": True}, {"encoder_sequence_length": None})
        yield Problem.of(message, "encoder_sequence_length", length, *remedies)
    yield from between_versions.problems(model, call)
    if call.labels and _classifies(model):
        high = _answers(model, call) - 1
        if not 0 <= call.label <= high and call.label != IGNORED:
            nearest = min(max(call.label, 0), high)
            message = N_(
                "Label {value} is invalid: it must be from 0 to {high}; the nearest is {nearest}. A label of -100 "
                "is ignored."
            )
            values = {"value": call.label, "high": high, "nearest": nearest}
            yield Problem.of(message, "label", call.label, {"label": nearest}, **values)


@checked
def remarks(model: Model, call: Call) -> Iterator[Problem]:
    """Notes on valid arguments that do not have the effect that users may expect."""
    config, cls = model.config, model.cls
    if cls.caches and call.use_cache and not config.is_decoder:
        yield Problem.of(N_("use_cache has no effect without is_decoder."), "use_cache")
    elif cls.labels_stop_caching and call.use_cache and call.labels:
        yield Problem.of(N_("use_cache has no effect with labels: the class switches it off."), "use_cache")
    if cls.sees_encoder and call.encoder_sequence_length is not None and not config.is_decoder:
        message = N_("encoder_hidden_states have no effect without is_decoder and add_cross_attention.")
        yield Problem.of(message, "encoder_sequence_length")
    if config.add_cross_attention and not attends(model, call):
        not_given = N_("Without encoder_hidden_states, the cross-attention is skipped.")
        not_taken = N_("This class does not take encoder_hidden_states: its cross-attention is skipped.")
        yield Problem.of(not_given if cls.sees_encoder else not_taken, "add_cross_attention")
    if call.output_attentions and version_of(config).empty_attentions:
        message = N_(
            'These are the outputs of a model with attn_implementation="eager"; by default, transformers 5 returns '
            "empty tuples of attentions."
        )
        yield Problem.of(message, "output_attentions")
    if call.labels and cls.targets:
        yield from _label_remarks(model, call)


def _label_remarks(model: Model, call: Call) -> Iterator[Problem]:
    last = call.sequence_length - 1
    task = model.cls.task
    if task == "question-answering":
        if not 0 <= call.label <= last:
            message = N_(
                "There is no token {value}: positions after the last, {last}, are ignored, and positions below 0 count "
                "as 0."
            )
            yield Problem.of(message, "label", value=call.label, last=last)
    elif task == "replaced-tokens":
        pass
    elif not _classifies(model):
        yield Problem.of(N_("With num_labels 1, this is regression: a label can be any number."), "label")
    elif call.label == IGNORED:
        yield Problem.of(N_("Labels of -100 are ignored; if every label is -100, the loss is NaN."), "label")
    if task in ("causal-lm", "double-heads") and not last:
        yield Problem.of(N_("Each token predicts the next: with a single token, the loss is NaN."), "label")


def possible(model: Model, call: Call) -> Call:
    """The nearest call that can run; problems with the configuration remain."""
    for problem in problems(model, call):
        for remedy in problem.remedies:
            if set(remedy) <= set(Call._fields):
                return possible(model, call._replace(**remedy))
    return call


def _classifies(model: Model) -> bool:
    """Whether labels are class indices, not positions or regression values (num_labels of 1)."""
    cls = model.cls
    if cls.task == "sequence-classification":
        return model.config.num_labels > 1
    return "labels" in cls.targets and cls.task != "replaced-tokens"  # ELECTRA's labels are 0.0 or 1.0


def _answers(model: Model, call: Call) -> int:
    """The number of classes that a label chooses from: the size of the last axis of the logits."""
    return outputs(model, Call(*call[:4]), run(model, call))[0].tensors[0].shape[-1]
