"""Every public function with every argument wrong: a message names the argument, and no Python error is raised."""

# mypy: disable-error-code="arg-type, call-arg, call-overload, index, list-item, misc, type-var, union-attr"
# mypy also refuses the arguments that are wrong on purpose.

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, get_type_hints
from unittest.mock import patch

import numpy
import pytest
import torch
import transformers

import bertcalc
from bertcalc.compute.conventions import RULES
from bertcalc.compute.flops import PYTORCH, forward_flops, total, training_flops
from bertcalc.controls.stops import Locks
from bertcalc.diagnosis import count_lines
from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.explain import combinations, explain
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.miscounts import MiscountSizes
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.search_errors import Ended
from bertcalc.discover.results.shipped import shipped
from bertcalc.explore.design import Budget, Constraints, search
from bertcalc.explore.model_values import values_of
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.explore.sweep import Sweep
from bertcalc.families import CLASSES, FAMILIES, build
from bertcalc.forward.call import Call
from bertcalc.forward.outputs import outputs
from bertcalc.forward.walk import walk
from bertcalc.memory.devices import Device
from bertcalc.memory.fit import Polynomial
from bertcalc.memory.optimizers import StateSizes
from bertcalc.memory.peak import changes_in, inference_peak_bytes, training_peak_bytes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.saved import saved_activation_bytes, saved_activations
from bertcalc.model.batch import Batch
from bertcalc.model.formula import formula
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text.amounts import typed
from bertcalc.text.arguments import CHECKED, ArgumentError, UnknownNameError, check_of
from bertcalc.text.problem import InputError
from tests.memory import live
from tests.oracle import real_config

SMALL = bertcalc.BertConfig(
    vocab_size=50, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12
)
MODEL = build(SMALL, "BertForMaskedLM")
SUBJECT = Model(SMALL, "BertForMaskedLM")
STEPS = MODEL.steps(Batch(2, 3))
STORED = [StoredTensor(name, "F32", shape) for name, shape in MODEL.named_parameters()]


def end(*_steps: object) -> None:
    """End a search when it first reports its progress. All arguments have been read by then."""
    raise Ended


# A valid value for each argument, keyed by function and name, by name, or by type.
BY_NAME: dict[str, Any] = {
    "batch_size": 2,
    "sequence_length": 3,
    "encoder_sequence_length": None,
    "num_choices": 1,
    "layer": 1,
    "at": 0,
    "path": "encoder.layer.*",
    "dtype": "float32",
    "attention": "eager",
    "optimizer": "adamw",
    "recompute": "none",
    "precision": "fp32",
    "autocast": None,
    "phase": "forward",
    "exporter": "dynamo",
    "component": "encoder",
    "level": "easy",
    "unit": None,
    "wrong": 1,
    "parts": ("projections",),
    "rule": next(iter(RULES.values())),
    "names": None,
    "values": values_of(SUBJECT),
    "config": SMALL,
    "adapter": bertcalc.Lora(r=2),
    "architecture": None,
    "how": Plan(),
    "model_type": "bert",
    "cls": None,
    "seconds": 0.001,
    "changes": None,
    "progress": end,
    "present": None,
    "wanted": None,
    "kind": None,
    "model": None,
    "base": None,
    "start": b"x" * 8,
    "header": b"{}",
    "index": b"{}",
    "data": b"{}",
    "text": "1",
    "name": "bert-base-uncased",
    "family": "bert",
    "where": "embeddings",
    "positions": None,
    "also": None,
    "dimensions": ("hidden_size", "vocab_size"),
    "field": "hidden_size",
    "line": count_lines.read("V*H", SMALL)[0],
}
SPECIAL: dict[tuple[str, str], Any] = {
    ("bertcalc.api.load", "source"): SMALL,
    ("bertcalc.api.compare", "quantity"): "parameters",
    ("bertcalc.api.live_model.of", "real_model"): torch.nn.Linear(2, 2),
    ("bertcalc.explore.sweep.around", "values"): [1, 2],
    ("bertcalc.checkpoints.checkpoint.plain_name", "family"): FAMILIES["bert"],
    ("bertcalc.checkpoints.checkpoint.family_of_names", "names"): ["embeddings.word_embeddings.weight"],
    ("bertcalc.checkpoints.checkpoint.model_of_shapes", "family"): FAMILIES["bert"],
    ("bertcalc.discover.discover", "request"): DiscoveryRequest("bert", "NoSuchModel"),
    ("bertcalc.explore.quantities.flops", "count"): forward_flops,
    ("bertcalc.explore.quantities.peak", "name"): "training_memory",
    ("bertcalc.explore.growth_formulas.growth", "name"): "parameters",
    ("bertcalc.memory.peak.changes_in", "batch"): Batch(2, 3),
    ("bertcalc.memory.peak.peak", "timeline"): changes_in(MODEL, Plan(), Batch(2, 3)),
    ("bertcalc.memory.peak.curve", "timeline"): changes_in(MODEL, Plan(), Batch(2, 3)),
    ("bertcalc.memory.timeline.alive", "changes"): changes_in(MODEL, Plan(), Batch(2, 3)),
    ("bertcalc.model.inventory.named", "name"): "dense",
    ("bertcalc.storage.model_file.file_bytes", "format"): "safetensors",
    ("bertcalc.storage.model_file.file_bytes", "max_shard_size"): 10**6,
    ("bertcalc.storage.model_file.quantized", "format"): bertcalc.Int8WeightOnlyConfig(),
    ("bertcalc.diagnosis.diagnose.diagnose", "present"): KnownCount(SUBJECT, MODEL.num_parameters()),
    ("bertcalc.discover.results.shipped.shipped", "cls"): "BertModel",
    ("bertcalc.discover.results.shipped.by_class", "text"): "[]",
    ("bertcalc.diagnosis.explain.combinations", "sizes"): MiscountSizes.of(SMALL),
}
EXAMPLES: tuple[Any, ...] = (
    *(
        MODEL,
        SUBJECT,
        Case(SUBJECT),
        Batch(2, 3),
        Call(2, 3),
        Plan(),
        PYTORCH,
        SMALL,
        Freezing(),
        Locks(),
        3,
        False,
        "x",
    ),
    *(QUANTITIES["parameters"], Sweep(Case(SUBJECT), ("hidden_size",)), Budget("parameters", 10**6), Constraints()),
    *(formula(SUBJECT), typed("110M"), Device("A", 10**9), StateSizes(), Fraction(1, 3), 0.5, FAMILIES["bert"]),
    shipped("bert", "BertForMaskedLM"),
)
SEQUENCES: dict[str, Any] = {
    "StoredTensor": STORED,
    "Step": tuple(STEPS),
    "Entry": outputs(SUBJECT, Call(2, 3), STEPS),
    "Tensor": list(MODEL.tensors()),
    "TypedLine": count_lines.read("V*H", SMALL),
    "Stop": walk(STEPS),
    "Polynomial": [Polynomial(1, 1, 1, 0)],
    "SavedActivation": saved_activations(MODEL, Batch(2, 3), Plan()),
    "Model": [SUBJECT],
}
WRONG: tuple[Any, ...] = (
    *(None, -1, 0, True, 1.5, float("nan"), 10**30, "", "nope", b"", [], [None], {}, {"a": None}, (), object()),
    *(SMALL, bertcalc.GPT2Config(), MODEL, SUBJECT, bertcalc.BertConfig, torch.float64, torch.nn.Linear(2, 2)),
    *(numpy.array([1.5]), numpy.array(["x"]), transformers.BertConfig(), lambda: None, Plan(precision="fp99")),
)


def import_all() -> None:
    for module in pkgutil.walk_packages(bertcalc.__path__, "bertcalc."):
        if not module.name.endswith("__main__") and ".server" not in module.name:
            importlib.import_module(module.name)


import_all()


def named(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__name__}"


@cache
def example(function: Callable[..., Any], name: str) -> Any:
    """A valid value of an argument."""
    if (key := (named(function), name)) in SPECIAL:
        return SPECIAL[key]
    hint = get_type_hints(inspect.unwrap(function)).get(name)
    for kind, sequence in SEQUENCES.items():
        if f".{kind}" in str(hint) and "[" in str(hint):
            return (sequence,) if "[tuple" in str(hint) else sequence
    if isinstance(hint, type):
        for one in EXAMPLES:
            if isinstance(one, hint) and (hint is not int or not isinstance(one, bool)):
                return BY_NAME.get(name, one) if isinstance(BY_NAME.get(name, one), hint) else one
    assert name in BY_NAME, f"{named(function)} needs an example of {name}"
    return BY_NAME[name]


def arguments(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {one.name: example(function, one.name) for one in parameters if one.kind not in kinds}


def run(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Call a function. If it returns an iterator, exhaust it."""
    result = function(**given)
    if isinstance(result, Iterator):
        list(result)


FUNCTIONS = {named(function): function for function in CHECKED if "." not in function.__qualname__}


@pytest.mark.usefixtures("discovering_here")
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_wrong_argument_is_refused_in_a_sentence(name: str) -> None:
    function = FUNCTIONS[name]
    right = arguments(function)
    for argument in right.keys() - ({"count"} if name.endswith(".flops") else set()):  # count may be any function
        for value in WRONG:
            try:
                run(function, {**right, argument: value})
            except InputError as error:
                sentence = str(error)
                assert sentence[-1] in ".?", sentence
                assert len(sentence) < 1_500, sentence
                assert "object at 0x" not in sentence, sentence
            except Ended:  # raised by infer, which has a time limit of a millisecond
                pass
    with pytest.raises(ArgumentError, match=r"nope"):
        function(**right, nope="nope")


LOADED = bertcalc.load(SMALL, "BertForMaskedLM")
METHODS: dict[str, dict[str, Any]] = {  # valid arguments for each method of a model
    "num_parameters": {"only_trainable": False, "exclude_embeddings": True},
    "named_children": {"folded": True},
    "modules": {"path": "", "copies": 1, "folded": True},
    "tensors": {"folded": True},
    "printed_lines": {"path": "", "copies": 1, "label": "", "indent": ""},
    **{name: {} for name in ("own_parameters", "named_parameters", "ties")},
    "formula": {"path": "encoder"},
    "explain": {"number": 3},
    "interactive_page": {"url": "https://example.org"},
    "widget": {},
    "adapted": {"adapter": bertcalc.Lora(r=2)},
    "trainable_formula": {},
    "compare": {"other": LOADED, "quantity": "forward", "batch_size": 2, "sequence_length": 3},
    "replace": {"architecture": "BertModel", "add_pooling_layer": False, "vocab_size": 60, "hidden_act": "relu"},
}


@pytest.mark.parametrize("method", METHODS)
def test_a_wrong_argument_of_a_method_is_refused_in_a_sentence(method: str) -> None:
    right = METHODS[method]
    getattr(LOADED, method)(**right)
    for argument in right:
        for value in WRONG:
            try:
                getattr(LOADED, method)(**{**right, argument: value})
            except InputError as error:
                sentence = str(error)
                assert sentence[-1] in ".?", sentence
                assert "object at 0x" not in sentence, sentence
    with pytest.raises(InputError, match=r"nope"):
        getattr(LOADED, method)(**right, nope="nope")
    with pytest.raises(InputError):
        getattr(LOADED, method)(*[None] * 9)


def test_every_method_of_a_model_checks_its_arguments() -> None:
    """Each method is in METHODS, or is also a public function."""
    methods = {name: value for name, value in vars(bertcalc.Model).items() if inspect.isfunction(value)}
    public = {name for name in methods if not name.startswith("_")}
    originals = {*map(inspect.unwrap, FUNCTIONS.values())}
    functions = {name for name in public if inspect.unwrap(methods[name]) in originals}
    assert functions | METHODS.keys() == public
    of_module = {name: getattr(bertcalc, "forward_flops" if name == "flops" else name) for name in functions}
    assert {name: inspect.unwrap(methods[name]) for name in functions} == {
        name: inspect.unwrap(function) for name, function in of_module.items()
    }


PUBLIC = {
    f"{function.__module__}.{function.__qualname__}": function
    for owner in (bertcalc, bertcalc.Model)
    for name, function in vars(owner).items()
    if inspect.isfunction(function) and not name.startswith("_")
}


@pytest.mark.parametrize("name", PUBLIC)
def test_an_argument_of_a_class_of_bertcalc_is_wanted_with_an_example(name: str) -> None:
    hints = get_type_hints(inspect.unwrap(PUBLIC[name]))
    kinds = {argument: hint for argument, hint in hints.items() if inspect.isclass(hint) and argument != "return"}
    for argument, kind in kinds.items():
        if kind.__module__.startswith("bertcalc."):
            with pytest.raises(ArgumentError, match=rf"^{argument} must be .*such as .*\(.*, not a numpy"):
                check_of(kind)(argument, numpy.array([1]))


LLAMA = "llama-7b"
TORCH = torch.nn.Linear(2, 2)
BLOOM = shipped("bloom", "BloomForCausalLM")
TWO = numpy.array([1, 2])
WIDER = Sweep(Case(SUBJECT), ("hidden_size",))  # heads of size 4, and intermediate_size is 3/2 of hidden_size
MORE_HEADS = Sweep(Case(SUBJECT), ("num_attention_heads",))
ODD_HEADS = build(bertcalc.ModernBertConfig(hidden_size=12, num_attention_heads=4))
GPT2 = build(bertcalc.GPT2Config())
assert BLOOM
# Wrong calls, and words of the message that says what would be right.
CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: forward_flops(bertcalc.BertConfig(), 1, 128), 'model must be a model, such as load("bert-base-uncased")'),
    (lambda: forward_flops(transformers.BertConfig(), 1, 128), "not a transformers BertConfig"),
    (lambda: forward_flops("bert-base-uncased", 1, 128), "model must be a model"),
    (lambda: forward_flops(MODEL, -1, 128), "batch_size -1 is invalid: it must be a whole number from 1"),
    (lambda: forward_flops(MODEL, True, 128), "batch_size True is invalid"),
    (lambda: forward_flops(MODEL, 1.0, 128), "batch_size 1.0 is invalid"),
    (lambda: forward_flops(MODEL, "1", 128), "batch_size '1' is invalid"),
    (lambda: forward_flops(MODEL, 1, 513), "positions for 512 tokens (max_position_embeddings 512)."),
    (lambda: forward_flops(MODEL, 1, numpy.array([8, 513])), "positions for 512 tokens"),
    (lambda: forward_flops(GPT2, 1, 1025), "positions for 1,024 tokens (n_positions 1,024)."),
    (
        lambda: forward_flops(build(bertcalc.RobertaConfig()), 1, 511),
        "positions for 510 tokens (max_position_embeddings 512).",
    ),
    (lambda: forward_flops(MODEL, 1), "forward_flops() needs sequence_length"),
    (lambda: forward_flops(MODEL, 1, 2, 3), "forward_flops() takes only these arguments"),
    (lambda: forward_flops(MODEL, batchsize=1, sequence_length=2), "did you mean batch_size?"),
    (lambda: training_flops(MODEL, 1, 8, recompute="checkpoint"), "must be none, selective or full"),
    (
        lambda: training_flops(MODEL, 1, 8, freezing=3),
        "the parts to freeze, such as Freezing(layers=6)",
    ),
    (lambda: training_flops(MODEL, 1, 8, freezing=Freezing(layers=-1)), "layers -1 is invalid"),
    (lambda: training_flops(MODEL, 1, 8, freezing=Freezing(train="heads")), "did you mean head?"),
    (lambda: training_peak_bytes(MODEL, 1, 8, dtype="float64"), "must be float32, bfloat16 or float16"),
    (lambda: training_peak_bytes(MODEL, 1, 8, dtype=torch.float64), "must be float32, bfloat16 or float16"),
    (lambda: training_peak_bytes(MODEL, 1, 8, dtype="int8"), "must be float32, bfloat16 or float16"),
    (lambda: training_peak_bytes(MODEL, 1, 8, attention="flash_attention_2"), "creates no masks"),
    (lambda: training_peak_bytes(MODEL, 1, 8, attention="flex_attention"), "must be eager or fused"),
    (lambda: training_peak_bytes(MODEL, 1, 8, optimizer="adamw_torch_fused"), "temporary tensors"),
    (lambda: training_peak_bytes(MODEL, 1, 8, optimizer="lion"), "must be sgd, momentum"),
    (lambda: training_peak_bytes(MODEL, 1, 8, optimizer="adamwt"), "did you mean adamw?"),
    (lambda: training_peak_bytes(MODEL, 1, 8, labels=False), "there is no loss"),
    (lambda: training_peak_bytes(MODEL, 1, 8, keep_outputs=1), "keep_outputs must be True or False"),
    (lambda: training_peak_bytes(MODEL, 1, 8, padded="yes"), "padded must be True or False"),
    (lambda: inference_peak_bytes(MODEL, 1, 8, dtype=None), "must be float32, bfloat16 or float16"),
    (lambda: inference_peak_bytes(MODEL, 1, 8, num_choices=0), "num_choices 0 is invalid"),
    (lambda: saved_activation_bytes(MODEL, 1, 8, "float8"), "must be float32, bfloat16 or float16"),
    (lambda: saved_activation_bytes(MODEL, 0, 8), "batch_size 0 is invalid"),
    (lambda: changes_in(MODEL, "train", Batch(1, 2)), "how must be Plan or Inference"),
    (lambda: changes_in(MODEL, Plan(optimizer="adagrad"), Batch(1, 2)), "optimizer 'adagrad'"),
    (lambda: changes_in(MODEL, Inference("float64"), Batch(1, 2)), "dtype 'float64'"),
    (lambda: changes_in(MODEL, Plan(), Batch(0, 2)), "batch_size 0"),
    (lambda: changes_in(MODEL, Plan(), Batch(1, 513)), "positions for 512 tokens"),
    (lambda: LOADED.flops(1), "flops() needs sequence_length."),
    (lambda: LOADED.flops(batch=1, sequence_length=2), "flops() has no argument batch: did you mean batch_size?"),
    (lambda: LOADED.flops(1, 2, 3), "flops() takes only these arguments: batch_size, sequence_length."),
    (lambda: LOADED.flops(1, 2, model=LOADED), "flops() has no argument model"),
    (lambda: LOADED.adapted(3), "adapter must be a change, such as Lora(r=8), not 3."),
    (lambda: LOADED.explain(-5), "number -5 is invalid: it must be a whole number from 0."),
    (lambda: explain(MODEL, SMALL, -5), "wrong -5 is invalid: it must be a whole number from 0."),
    (lambda: LOADED.training_peak_bytes(1, 8, optimizer="lion"), "must be sgd, momentum"),
    (lambda: LOADED.explain("many"), '"many" is not a valid amount'),
    (lambda: LOADED.formula("encoder.layer.2"), "There is no module '2' in encoder.layer"),
    (lambda: LOADED.replace(hiden_size=8), "did you mean hidden_size?"),
    (lambda: LOADED.replace(hidden_size=9), "hidden_size 9 is not a multiple of num_attention_heads 2"),
    (lambda: LOADED.replace(architecture="BertForMasked"), "did you mean BertForMaskedLM?"),
    (lambda: LOADED.replace(add_pooling_layer=False), "only BertModel does"),
    (lambda: LOADED.compare(SMALL), "other must be a model"),
    (lambda: bertcalc.load("bert-base"), "did you mean bert-base-uncased?"),
    (lambda: bertcalc.load("bert-base-uncased", "GPT2Model"), "For BertConfig it must be one of BertModel"),
    (lambda: bertcalc.load(SMALL, 3), "architecture must be a string"),
    (lambda: bertcalc.infer("bloom", 3), "cls must be a string"),
    (lambda: build(MODEL), "config must be a configuration"),
    (lambda: build(LLAMA), "There is no preset 'llama-7b'"),
    (lambda: build("bert-base"), "did you mean bert-base-uncased?"),
    (lambda: build("bert-base-uncased", "GPT2Model"), "BertModel"),
    (lambda: build(SMALL, "bertformaskedlm"), "did you mean BertForMaskedLM?"),
    (lambda: build(SMALL, 3), "architecture must be a string"),
    (lambda: build(SMALL, "BertForMaskedLM", add_pooling_layer=False), "only BertModel does"),
    (lambda: build(SMALL, add_pooling_layer="no"), "add_pooling_layer must be True or False"),
    (lambda: MODEL.get_submodule("foo"), "It contains: bert, cls."),
    (lambda: MODEL.get_submodule("bert.encoder.layer.2"), "It contains: *, 0, 1."),
    (lambda: MODEL.get_submodule("bert.encodr"), "did you mean encoder?"),
    (lambda: MODEL.get_submodule(3), "path must be a string"),
    (lambda: formula(SUBJECT, path="encoder.layer.2"), "There is no module '2' in encoder.layer"),
    (lambda: formula(SMALL), 'model must be a model, such as load("bert-base-uncased")'),
    (lambda: formula(Model(SMALL, "BertForMasked"), path="0"), "did you mean BertForMaskedLM?"),
    (lambda: formula(SUBJECT).latex(MODEL), "config must be a configuration"),
    (lambda: explain(MODEL, bertcalc.GPT2Config(), 5), "config must be the model's configuration"),
    (lambda: explain(MODEL, bertcalc.BertConfig(), 5), "config must be the model's configuration"),
    (lambda: explain(MODEL, SMALL, "110M"), "wrong '110M' is invalid: it must be a whole number"),
    (lambda: explain(MODEL, SMALL, 1.1e8), "must be a whole number"),
    (lambda: bertcalc.columns(SMALL, num_layers=[1, 2]), "num_layers is not a dimension"),
    (lambda: bertcalc.columns(SMALL, num_hidden_layers=[1, 2.5]), "num_hidden_layers 1.0 is invalid"),
    (lambda: bertcalc.columns(SMALL, num_hidden_layers=[[1], [1, 2]]), "must be an array or a list"),
    (lambda: bertcalc.columns(SMALL, num_hidden_layers=3), "num_hidden_layers 3 is not a column: it must be an array"),
    (lambda: bertcalc.columns(SMALL, num_hidden_layers=numpy.array(3)), "num_hidden_layers array(3) is not a column"),
    (
        lambda: bertcalc.columns(SMALL, num_hidden_layers=numpy.int64(3)),
        "num_hidden_layers np.int64(3) is not a column",
    ),
    (lambda: bertcalc.columns(SMALL, num_hidden_layers=[1, 2], vocab_size=[1, 2, 3]), "have incompatible shapes"),
    (lambda: bertcalc.columns(MODEL, num_hidden_layers=[1]), "config must be a configuration"),
    (lambda: bertcalc.BertConfig(hiden_size=8), "did you mean hidden_size?"),
    (lambda: bertcalc.BertConfig(n_embd=8), "did you mean hidden_size?"),
    (lambda: bertcalc.GPT2Config(dim=8), "did you mean n_embd?"),
    (lambda: bertcalc.BertConfig(nope=8), "its fields are"),
    (lambda: bertcalc.BertConfig(5, vocab_size=5), "vocab_size is given twice"),
    (lambda: bertcalc.BertConfig(*range(99)), "has 22 fields, not 99"),
    (lambda: total(MODEL), "steps must be a list"),
    (lambda: total([MODEL]), "steps must be a step"),
    (lambda: total(STEPS, "macs"), "convention must be Convention"),
    (lambda: total(STEPS, PYTORCH._replace(unit="mults")), "must be FLOPs or MACs"),
    (lambda: walk(STEPS, 2), "layer 2 is out of range: it must be from 0 to 1"),
    (lambda: Model(SMALL, "bertmodel").cls, "did you mean BertModel?"),
    (lambda: BLOOM.count(n_layers=3), "n_layers is not one of the sizes"),
    (lambda: BLOOM.count(n_layer=-1), "n_layer must be a whole number"),
    (lambda: BLOOM.count(n_layer="3"), "n_layer must be a whole number"),
    (lambda: shipped("bloom", None), "cls must be a string"),
    (lambda: forward_flops(MODEL, 1, 8, num_choices=4), "does not take choices"),
    (lambda: training_flops(MODEL, 1, 8, encoder_sequence_length=4), "does not read encoder_hidden_states"),
    (lambda: training_peak_bytes(MODEL, 1, 8, num_choices=4), "does not take choices"),
    (lambda: inference_peak_bytes(MODEL, 1, 8, encoder_sequence_length=4), "does not read encoder_hidden_states"),
    (lambda: training_peak_bytes(MODEL, TWO, 8), "batch_size must be a single whole number, not a numpy ndarray"),
    (lambda: inference_peak_bytes(MODEL, 1, TWO), "sequence_length must be a single whole number"),
    (lambda: forward_flops(ODD_HEADS, 1, 8), "a head of size 3 cannot be split into pairs"),
    (lambda: training_flops(ODD_HEADS, 1, 8), "a head of size 3 cannot be split into pairs"),
    (lambda: bertcalc.BertConfig.own_name([1]), "field must be a string"),
    (lambda: list(MODEL.tensors(folded=TWO)), "folded must be True or False"),
    (lambda: list(MODEL.modules(folded=TWO)), "folded must be True or False"),
    (lambda: list(MODEL.modules(TWO)), "path must be a string"),
    (lambda: FAMILIES["bert"].for_task(TWO), "task a numpy ndarray is invalid"),
    (lambda: FAMILIES["bert"].for_task(torch.tensor([1, 2])), "task a torch Tensor is invalid"),
    (lambda: search(Case(SUBJECT), Budget("parameters", TWO), Constraints()), "amount must be a single whole"),
    (lambda: diagnose(KnownCount(None, 1), typed("1")), 'model must be a model, such as load("bert-base-uncased")'),
    (lambda: diagnose(KnownCount(SUBJECT, TWO), typed("1")), "parameters must be a single whole number"),
    (lambda: combinations(MODEL, MiscountSizes.of(SMALL), 5), "tensors must be a list"),
    (lambda: combinations(list(MODEL.tensors()), SMALL, 5), "sizes must be MiscountSizes"),
    (
        lambda: Freezing(layers=99).split(MODEL),
        "freeze_layers 99 is invalid: it must be a whole number from 0 to 2",
    ),
    (lambda: Freezing(layers=99).names(MODEL), "freeze_layers 99 is invalid"),
    (lambda: Freezing(layers=TWO).split(MODEL), "layers must be a single whole number"),
    (lambda: WIDER.row("parameters", [3], numpy.array), "it must be a multiple of 4, from 4 to"),
    (lambda: WIDER.row("parameters", [8, 9], numpy.array), "hidden_size 9 is invalid in this sweep"),
    (lambda: WIDER.row("parameters", [TWO], numpy.array), "hidden_size a numpy ndarray is invalid in this sweep"),
    (lambda: WIDER.row("parameters", torch.tensor(8), numpy.array), "values must be a list"),
    (lambda: WIDER.values("hidden_size", TWO, 100), "low must be a single whole number"),
    (lambda: WIDER.values("hidden_size", 4, 100, 0), "most 0 is invalid: it must be a whole number from 1"),
    (lambda: WIDER.has("hidden_size", TWO), "value must be a single whole number"),
    (lambda: WIDER.at(hidden_size="12"), "hidden_size '12' is invalid: it must be a whole number"),
    (lambda: WIDER.present("embedding_size"), "not a dimension of a sweep"),
    (lambda: WIDER.table("parameters", [8], [8], numpy.array), "dimensions must be two sizes"),
    (
        lambda: MORE_HEADS.row("parameters", [3], numpy.array),
        "does not divide hidden_size 8",
    ),
    (lambda: Sweep(Case(SUBJECT), TWO).limits("hidden_size"), "dimensions must be a string"),
]


@pytest.mark.parametrize(("call", "words"), CALLS, ids=[str(number) for number in range(len(CALLS))])
def test_a_wrong_call_says_what_would_be_right(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert words in str(caught.value)


def test_arrays_of_numpy_and_pytorch_are_columns_and_values() -> None:
    """Arrays give the same rows as a list."""
    like = build(bertcalc.columns(SMALL, num_hidden_layers=[1, 2])).num_parameters()
    for some in (TWO, torch.tensor([1, 2])):
        counts = build(bertcalc.columns(SMALL, num_hidden_layers=some)).num_parameters()
        assert numpy.array_equal(counts, like)
        assert WIDER.row("parameters", 8 * some, numpy.array) == WIDER.row("parameters", [8, 16], numpy.array)


SYNONYMS: list[tuple[str, Any, str]] = [
    *(("dtype", name, "float32") for name in ("fp32", "FP32", "float", torch.float32, torch.float)),
    *(("dtype", name, "bfloat16") for name in ("bf16", torch.bfloat16, "torch.bfloat16")),
    *(("dtype", name, "float16") for name in ("fp16", "half", torch.float16, torch.half)),
    *(("attention", name, "fused") for name in ("sdpa", "SDPA", "Fused")),
    *(("optimizer", name, "adamw") for name in ("adam", "Adam", "AdamW", "adamw_torch")),
    *(("optimizer", kind, "adamw") for kind in (torch.optim.Adam, torch.optim.AdamW)),
    *(("optimizer", name, "sgd") for name in ("SGD", torch.optim.SGD)),
    *(("optimizer", name, "adafactor") for name in ("Adafactor", torch.optim.Adafactor)),
    *(("optimizer", name, "adamw-8bit") for name in ("adamw_8bit", "adamw_bnb_8bit", "AdamW8bit")),
]


@pytest.mark.parametrize(("argument", "name", "ours"), SYNONYMS, ids=str)
def test_a_name_of_pytorch_or_transformers_means_the_same(argument: str, name: Any, ours: str) -> None:
    named, plain = {argument: name}, {argument: ours}
    assert training_peak_bytes(MODEL, 2, 8, **named) == training_peak_bytes(MODEL, 2, 8, **plain)
    if argument != "optimizer":
        assert inference_peak_bytes(MODEL, 2, 8, **named) == inference_peak_bytes(MODEL, 2, 8, **plain)
        assert saved_activation_bytes(MODEL, 2, 8, **named) == saved_activation_bytes(MODEL, 2, 8, **plain)
    else:
        assert changes_in(MODEL, Plan(**named), Batch(2, 8)) == changes_in(MODEL, Plan(**plain), Batch(2, 8))


def test_each_name_says_something_of_its_own() -> None:
    """Otherwise, the tests above would hold for a function that ignores its arguments."""
    assert len({training_peak_bytes(MODEL, 2, 8, optimizer=name) for name in ("sgd", "adam", "Adafactor")}) == 3
    assert len({training_peak_bytes(MODEL, 2, 8, dtype=dtype) for dtype in (torch.float32, torch.bfloat16)}) == 2
    assert len({saved_activation_bytes(MODEL, 2, 8, attention=name) for name in ("eager", "sdpa")}) == 2


def test_adam_takes_the_memory_of_adamw() -> None:
    """bertcalc treats torch.optim.Adam as AdamW, so a real step must take the same memory with both."""
    moments = []
    for kind in (torch.optim.Adam, torch.optim.AdamW):
        with torch.device("meta"):
            real = transformers.BertForMaskedLM(real_config(SMALL))
        ids = torch.zeros(2, 8, dtype=torch.int64, device="meta")
        with patch.dict(live._OPTIMIZERS, {"adamw": kind}):
            moments.append(live.training_moments(real, {"input_ids": ids, "labels": ids}, Plan(keep_outputs=True)))
    assert live.tops(moment.live for moment in moments[0]) == live.tops(moment.live for moment in moments[1])


@pytest.mark.parametrize("number", [numpy.int64(2), numpy.int32(2), numpy.uint8(2)], ids=repr)
def test_numpys_integers_are_whole_numbers(number: Any) -> None:
    assert forward_flops(MODEL, number, number) == forward_flops(MODEL, 2, 2)
    assert type(forward_flops(MODEL, number, number)) is int
    assert training_peak_bytes(MODEL, number, number) == training_peak_bytes(MODEL, 2, 2)
    assert bertcalc.BertConfig(num_hidden_layers=number) == bertcalc.BertConfig(num_hidden_layers=2)
    assert type(bertcalc.BertConfig(num_hidden_layers=number).num_hidden_layers) is int


def test_lists_are_columns() -> None:
    counts = build(bertcalc.columns(SMALL, num_hidden_layers=[1, 2])).num_parameters()
    assert list(counts) == [build(replace(SMALL, num_hidden_layers=layers)).num_parameters() for layers in (1, 2)]
    assert counts[1] == build(SMALL).num_parameters()


def test_a_preset_is_built_by_its_name() -> None:
    assert build("bert-base-uncased").num_parameters() == 109_482_240
    assert build("google-bert/BERT-base-uncased", "BertForMaskedLM").num_parameters() == 109_514_298


def test_a_layer_has_the_formula_of_all() -> None:
    assert formula(SUBJECT, path="encoder.layer.1") == formula(SUBJECT, path="encoder.layer.*")
    modern = Model(bertcalc.ModernBertConfig(), "ModernBertModel")
    first, other = (formula(modern, path=f"layers.{number}").latex() for number in (0, 21))
    assert first == formula(modern, path="layers.0").latex() != other == formula(modern, path="layers.*").latex()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
@pytest.mark.parametrize("architecture", CLASSES)
def test_a_model_is_copied_and_pickled(architecture: str, copied: Callable[[Any], Any]) -> None:
    model = build(CLASSES[architecture].fullest(), architecture)
    twin = copied(model)
    assert twin is not model
    assert twin.family is model.family
    assert twin.cls is model.cls
    assert twin.config == model.config == copied(model.config)
    assert str(twin) == str(model)
    assert list(twin.named_parameters()) == list(model.named_parameters())
    assert twin.steps(Batch(1, 2)) is not None
    assert forward_flops(twin, 1, 2) == forward_flops(model, 1, 2)


@pytest.mark.parametrize("dtype", ["float64", torch.float64, "double", float])
def test_double_precision_is_refused_without_a_suggestion(dtype: Any) -> None:
    """PyTorch accepts Python's float as float64. float16 has half of float32's bytes, not twice as many."""
    with pytest.raises(ArgumentError, match="invalid: it must be float32, bfloat16 or float16"):
        training_peak_bytes(MODEL, 1, 8, dtype=dtype)


def test_an_unknown_argument_is_not_taken_for_one_that_is_given() -> None:
    with pytest.raises(ArgumentError, match=r"formula\(\) has no argument config: it takes path\."):
        LOADED.formula(config=SMALL)
    with pytest.raises(ArgumentError, match=r"has no argument foo: it takes (?!model)"):
        LOADED.flops(1, 8, foo=3)


def test_an_unknown_size_of_a_formula_is_refused() -> None:
    bert = shipped("bert", "BertModel") or shipped("bert", "BertForMaskedLM")
    for method in (bert.count, bert.whole):
        with pytest.raises(InputError, match=r"hidden_sze is not one of the sizes.*did you mean hidden_size"):
            method(hidden_sze=3)


def test_a_changed_deep_copy_leaves_the_model_as_it_was() -> None:
    model = build(SMALL)
    twin = copy.deepcopy(model)
    del twin.children["pooler"]
    assert model.num_parameters() - twin.num_parameters() == 8 * 8 + 8


def test_errors_are_those_of_python_as_well() -> None:
    """Code that catches Python's exceptions therefore still works."""
    with pytest.raises(KeyError):
        MODEL.get_submodule("nope")
    with pytest.raises(TypeError):
        build(SMALL, "BertForMaskedLM", add_pooling_layer=False)
    with pytest.raises(ValueError, match="batch_size"):
        forward_flops(MODEL, 0, 1)
    assert issubclass(ArgumentError, InputError)
    assert issubclass(UnknownNameError, InputError)
