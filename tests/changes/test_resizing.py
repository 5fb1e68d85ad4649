"""Resized models compared with real models changed in PyTorch: tensors, print, formulas, FLOPs and peaks."""

import json
import random
from contextlib import suppress
from functools import partial
from itertools import product

import pytest
import sympy
import torch
import transformers
from hypothesis import assume, example, given
from hypothesis import strategies as st
from transformers import AutoConfig

from bertcalc import BertConfig, InputError, forward_flops, load, saved_activation_bytes
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.lora import Lora
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.compute.flop_formulas import letters, name_formulas, value
from bertcalc.compute.flops import PYTORCH
from bertcalc.config import MixedError, columns
from bertcalc.families import CLASSES, hf_json
from bertcalc.forward.outputs import Call
from bertcalc.memory.peak import NotSimulatedError, changes_of, training_peak_bytes
from bertcalc.memory.peak import peak as our_peak
from bertcalc.memory.peak.peak_formulas import peak_bytes
from bertcalc.memory.plan import ATTENTIONS, Attention, Inference, Plan
from bertcalc.model.batch import Batch
from bertcalc.model.change import Change
from bertcalc.model.formula import ALL_SYMBOLS, component_formulas, formula
from bertcalc.model.model import Model
from bertcalc.model.modules import Linear
from tests.changes.resized import Changed, optional, small
from tests.compute.test_flops import real_flops
from tests.examples import examples, sampled
from tests.memory.live import inference_moments, peak
from tests.memory.test_peak import check_training, simulated
from tests.memory.test_saved import seen_bytes
from tests.oracle import Case, arguments, facts, unmasked

CASES = [small(name, **fields) for name in CLASSES for fields in optional(CLASSES[name].config)]


@st.composite
def resizings(draw: st.DrawFn, case: Case, layers: int) -> Change:
    """Draw a change that is possible for a model with ``layers`` layers."""
    config = case.config
    number = st.integers(0, layers - 1)
    choices: list[st.SearchStrategy[Change]] = [
        st.builds(ResizeVocabulary, st.integers(1, 90), st.none() | st.integers(1, 16)),
        st.builds(ResizeVocabulary, st.none(), st.integers(1, 64)),
        st.builds(NarrowFeedForward, st.integers(1, 3)),
        st.builds(DropLayers, st.lists(number, max_size=layers - 1)),
    ]
    if not config.has("embedding_size"):
        choices.append(st.builds(FactorizeEmbeddings, st.integers(1, 23)))
    if config.has("type_vocab_size") or config.has("n_embd") or config.has("sinusoidal_pos_embds"):
        shared = config.has("num_hidden_groups")
        heads = st.lists(st.integers(0, 3), max_size=3)
        by_layer = st.dictionaries(st.just(0) if shared else number, heads)
        choices += [st.builds(PruneHeads, st.integers(0, 3)), st.builds(PruneHeads, by_layer)]
    return draw(st.one_of(choices))


@st.composite
def models(draw: st.DrawFn, most: int = 1) -> Changed:
    """Draw a model with several changes. Each change is for the model that the previous changes left."""
    case, changes = draw(st.sampled_from(CASES)), list[Change]()
    layers = 4
    for _change in range(most):
        change = draw(resizings(case, layers))
        layers -= len(change.dropped)
        changes.append(change)
    return Changed.of(case, *changes)


def possible(model: Changed) -> bool:
    """Whether bertcalc accepts the changes."""
    try:
        model.ours()
    except InputError:
        return False
    return True


# The second change adds the row of the padding token again, but transformers does not set padding_idx again.
WITHOUT_PADDING = Changed.of(small("BertForMaskedLM"), ResizeVocabulary(1), ResizeVocabulary(2))


@examples(24)
@example(WITHOUT_PADDING)
@given(models() | models(2) | models(3))
def test_tensors_and_print_are_those_of_the_real_model(model: Changed) -> None:
    """Changes are combined in any order. The real model is changed in the same order."""
    assume(possible(model))
    ours, real = facts(model.ours()), facts(model.real())
    assert ours.tensors == real.tensors
    assert ours.total == real.total
    if not any(isinstance(change, PruneHeads) for change in model.changes):  # its print has groups of layers
        assert ours.text == real.text


@pytest.mark.parametrize("architecture", CLASSES)
def test_every_class_can_be_resized_or_says_why_not(architecture: str) -> None:
    changes = (ResizeVocabulary(50, 16), DropLayers([0, 2]), NarrowFeedForward(7))
    cases = product(optional(CLASSES[architecture].config), changes)
    for fields, change in sampled(cases, 3, begin=[*CLASSES].index(architecture)):
        model = Changed.of(small(architecture, **fields), change)
        assert facts(model.ours()) == facts(model.real())


@examples(16)
@given(models() | models(2))
def test_formulas_give_the_count(model: Changed) -> None:
    assume(possible(model))
    ours = model.ours()
    values = ours.letter_values()
    numbers = {symbol: values[field] for field, symbol in ALL_SYMBOLS.items() if isinstance(values.get(field), int)}
    whole = sympy.sympify(formula(ours).expression).subs(numbers)
    parts = sum(sympy.sympify(part.expression).subs(numbers) for _component, part in component_formulas(ours))
    assert whole == parts == ours.num_parameters()


@examples(10)
@given(models() | models(2))
def test_flops_are_those_of_the_real_model(model: Changed) -> None:
    assume(possible(model))
    call = Call(2, 9, num_choices=2 if CLASSES[model.architecture] and "Choice" in model.architecture else 1)
    assume(model.architecture != "GPT2DoubleHeadsModel")
    _modules, forward, _both = real_flops(model, call)  # type: ignore[arg-type]
    assert forward_flops(model.ours(), 2, 9, num_choices=call.num_choices) == forward


@examples(8)
@given(models() | models(2), st.sampled_from(ATTENTIONS), st.booleans())
def test_peaks_are_those_of_the_real_model(model: Changed, attention: Attention, training: bool) -> None:
    assume(possible(model))
    assume(not any(isinstance(change, FactorizeEmbeddings) for change in model.changes))
    assume("Choice" not in model.architecture and "DoubleHeads" not in model.architecture)
    if training:
        check_training(model, Call(2, 9), Plan(attention=attention))  # type: ignore[arg-type]
        return
    real = model.real()
    real.set_attn_implementation("eager")
    moments = inference_moments(real, unmasked(model, Call(2, 9)))  # type: ignore[arg-type]
    ours = simulated(Inference(), model, Call(2, 9))  # type: ignore[arg-type]
    assert our_peak(ours).live == peak(moments).live


@examples(40)
@example(WITHOUT_PADDING)
@example(Changed.of(small("RobertaForMaskedLM", tie_word_embeddings=False), ResizeVocabulary(50)))
@given(models() | models(2))
def test_transformers_builds_the_changed_model_from_its_config_json_or_there_is_none(model: Changed) -> None:
    assume(possible(model))
    ours = model.ours()
    final = ours.final_config
    kinds = {type(change) for change in model.changes}
    apart = kinds & {PruneHeads, FactorizeEmbeddings, *((DropLayers,) if final.has("local_attention") else ())}
    has_row = final.pad_token_id in range(final.vocab_size)
    # A resize can forget the padding token, or tie the decoder's bias although the words are untied.
    if apart or not has_row or facts(Model(final, model.architecture, model.add_pooling_layer)) != facts(ours):
        with suppress(InputError):
            assert hf_json.read(hf_json.write(ours)).config == final
        return
    text = hf_json.write(ours)
    content = json.loads(text)
    config = AutoConfig.for_model(**content)
    with torch.device("meta"):
        real = getattr(transformers, content["architectures"][0])(config)
    assert facts(ours) == facts(real)


@examples(12)
@given(models(), st.booleans())
def test_formulas_of_flops_and_peaks_give_their_numbers(model: Changed, training: bool) -> None:
    assume(possible(model))
    assume(not any(isinstance(change, FactorizeEmbeddings) for change in model.changes))
    assume("Choice" not in model.architecture and "DoubleHeads" not in model.architecture)
    ours, how = model.ours(), Plan() if training else Inference()
    whole = name_formulas(letters(ours), PYTORCH)[""]
    numbers = {name: size for name, size in ours.letter_values().items() if name not in ours.config.shared()}
    flops = value(whole, ours.config, **numbers, batch_size=2, sequence_length=9, num_choices=1)
    assert flops == forward_flops(ours, 2, 9)
    assert peak_bytes(ours, how, 2, 9) == our_peak(changes_of(ours, how, 2, 9)).live


@pytest.mark.parametrize("architecture", CLASSES)
def test_steps_use_the_tensors_of_the_tree(architecture: str) -> None:
    """The test above compares the tree with the real model."""
    for fields in optional(CLASSES[architecture].config):
        case = small(architecture, **fields)
        for change in (FactorizeEmbeddings(6), ResizeVocabulary(50), NarrowFeedForward(7), DropLayers([1])):
            check_steps(Changed.of(case, change).ours())


@examples(16)
@given(models(2) | models(3))
def test_steps_of_several_changes_use_the_tensors_of_the_tree(model: Changed) -> None:
    assume(possible(model))
    check_steps(model.ours())


def check_steps(model: Model) -> None:
    """Assert that the tensors of a step, and the weight of its module, have the shapes of the tree."""
    for step in model.steps(Batch(2, 9)):
        used = [tensor.name for tensor in step.tensors]
        module = step.module
        if isinstance(module, Linear) and "weight" in module.tied:
            used.append(module.tied["weight"])
        for tensor in step.tensors:
            assert tensor.shape == shape_in_tree(model, tensor.name)
        for name in used:
            if module and name.endswith(".weight"):
                assert getattr(module, "shapes", module.parameters)["weight"] == shape_in_tree(model, name)


def shape_in_tree(model: Model, name: str) -> tuple[int, ...]:
    path, _dot, last = name.rpartition(".")
    return model.get_submodule(path).parameters[last]


@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "AlbertModel", "GPT2LMHeadModel", "ModernBertForMaskedLM"])
def test_a_resized_model_saves_what_the_hooks_see(architecture: str) -> None:
    case = small(architecture)
    for change in (DropLayers([1]), PruneHeads(1), NarrowFeedForward(7), ResizeVocabulary(50), FactorizeEmbeddings(6)):
        model = Changed.of(case, change)
        own_sizes = isinstance(change, FactorizeEmbeddings) and case.config.has("embedding_size")
        if not possible(model) or own_sizes:
            continue
        real = model.real().train()
        real.set_attn_implementation("eager")
        assert saved_activation_bytes(model.ours(), 2, 5) == seen_bytes(real, arguments(case, Call(2, 5)))


@pytest.mark.parametrize("how", [Plan(), Plan(optimizer="adamw-8bit"), Inference()])
@pytest.mark.parametrize("dropped", [[1, 3], [0], [11], [1, 3, 5, 7, 9, 11]])
def test_the_peak_without_some_layers_is_that_of_the_model_with_fewer(
    dropped: list[int], how: Plan | Inference
) -> None:
    bert = load("bert-base-uncased", "BertForSequenceClassification")
    fewer = bert.replace(num_hidden_layers=12 - len(dropped))
    assert peak_bytes(bert.adapted(DropLayers(dropped)), how, 2, 64) == peak_bytes(fewer, how, 2, 64)


def test_the_memory_of_factorized_embeddings_is_not_simulated() -> None:
    model = load("bert-base-uncased", "BertForMaskedLM").adapted(FactorizeEmbeddings(128))
    with pytest.raises(NotSimulatedError, match="BertForMaskedLM with Factorized embeddings is not simulated yet"):
        training_peak_bytes(model, 1, 8)


LAYERS = columns(BertConfig(), num_hidden_layers=[6, 12])
HEADS = columns(BertConfig(), num_attention_heads=[12, 24], hidden_size=[768, 1536])


@pytest.mark.parametrize("change", [DropLayers([0, 5]), DropLayers(range(5)), PruneHeads(11), NarrowFeedForward(3072)])
def test_changes_of_columns_are_those_of_each_row(change: Change) -> None:
    for many, fields in ((LAYERS, ["num_hidden_layers"]), (HEADS, ["num_attention_heads", "hidden_size"])):
        counts = load(many).adapted(change).num_parameters()
        rows = zip(*(getattr(many, field).tolist() for field in fields), strict=True)
        for count, row in zip(counts.tolist(), rows, strict=True):  # type: ignore[attr-defined]
            single = load(BertConfig(**dict(zip(fields, row, strict=True))))
            assert count == single.adapted(change).num_parameters()


@pytest.mark.parametrize(
    ("many", "change"),
    [
        (LAYERS, DropLayers(range(6))),
        (LAYERS, DropLayers([6])),
        (HEADS, PruneHeads(12)),
        (HEADS, PruneHeads({0: [12]})),
        (HEADS, PruneHeads({0: range(12)})),
        (HEADS, FactorizeEmbeddings(768)),
        (LAYERS, NarrowFeedForward(3073)),
    ],
    ids=str,
)
def test_a_change_has_to_be_possible_in_each_row_of_columns(many: BertConfig, change: Change) -> None:
    with pytest.raises(InputError):
        load(many).adapted(change)


@pytest.mark.parametrize("change", [PruneHeads({0: [1]}), Lora(layers_to_transform=[0]), Lora(modules_to_save=["0"])])
def test_layers_named_by_number_need_a_single_number_of_layers(change: Change) -> None:
    model = load(LAYERS).adapted(change)
    for read in (model.num_parameters, model.formula, partial(forward_flops, model, 1, 8)):
        with pytest.raises(MixedError, match="a fixed number of layers"):
            read()
    narrow, wide = load(columns(BertConfig(), intermediate_size=[64, 3072])).adapted(change).num_parameters().tolist()  # type: ignore[attr-defined]
    assert wide == load(BertConfig()).adapted(change).num_parameters()
    assert narrow == load(BertConfig(intermediate_size=64)).adapted(change).num_parameters()


def test_an_adapter_comes_last() -> None:
    bert = load("bert-base-uncased").adapted(Lora())
    for change in (DropLayers([0]), ResizeVocabulary(100), PruneHeads(1), FactorizeEmbeddings(9), NarrowFeedForward(9)):
        with pytest.raises(InputError, match=f"{change.title} must come before LoRA"):
            bert.adapted(change)


def test_an_adapter_counts_the_layers_that_are_left() -> None:
    rng = random.Random(1)
    for _trial in range(5):
        dropped = rng.sample(range(12), 5)
        bert = load("bert-base-uncased").adapted(DropLayers(dropped))
        adapted = bert.adapted(Lora(r=4, layers_to_transform=[0, 6], target_modules=["query"]))
        assert adapted.trainable_parameters == 2 * 4 * (768 + 768)
        with pytest.raises(InputError):
            bert.adapted(Lora(layers_to_transform=[7], target_modules=["query"]))
