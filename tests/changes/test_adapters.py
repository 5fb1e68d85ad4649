"""Adapters compared with peft on the meta device: names, shapes, trained tensors, and refusals."""

import csv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from peft.utils import constants

import bertcalc
from bertcalc import IA3, BitFit, InputError, LNTuning, Lora, PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.changes import targets
from bertcalc.families import CLASSES, FAMILIES
from bertcalc.model.formula import ALL_SYMBOLS, formula
from bertcalc.model.model import Model
from tests.adapters import Adapter, adapters
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import cases

Tensors = list[tuple[str, tuple[int, ...], bool]]
IN_TRANSFORMERS = [name for name in CLASSES if hasattr(transformers, name)]
COUNTS = Path(__file__).parent / "peft_counts.csv"


def tensors_of(real: Any) -> Tensors:
    start = "base_model." if real.active_peft_config.is_prompt_learning else "base_model.model."
    return [(name.removeprefix(start), tuple(p.shape), p.requires_grad) for name, p in real.named_parameters()]


def our_tensors(model: Model) -> Tensors:
    ties = model.ties()
    return [
        (ties.get(tensor.name, tensor.name), tensor.shape, not tensor.frozen) for tensor in model.tensors(folded=False)
    ]


# Adapters that bertcalc refuses, although peft counts them: peft keeps two tensors for one of the model, or wraps a
# module twice.
REFUSED_HERE = ("shares a tensor with another module", "and modules inside it", "must be LayerNorms")


@examples(25)
@given(st.data())
def test_an_adapter_has_the_tensors_that_peft_gives_it(data: st.DataObject) -> None:
    case = data.draw(cases(classes=IN_TRANSFORMERS).filter(lambda case: case.config.num_hidden_layers < 6))
    adapter = data.draw(adapters(case.model))
    try:
        real = adapter.added(case.real())
    except (ValueError, TypeError, KeyError, StopIteration, AttributeError, RuntimeError):
        real = None
    if real is None:
        with pytest.raises(InputError):
            case.model.changed(changes=(adapter.ours(),))
        return
    try:
        model = case.model.changed(changes=(adapter.ours(),))
    except InputError as error:
        if any(reason in str(error) for reason in REFUSED_HERE):
            return
        raise
    assert sorted(our_tensors(model)) == sorted(tensors_of(real))
    assert (model.num_parameters(only_trainable=True), model.num_parameters()) == real.get_nb_trainable_parameters()
    values = model.letter_values()
    letters = {symbol: values[field] for field, symbol in ALL_SYMBOLS.items() if values.get(field)}
    assert formula(model).expression.subs(letters) == model.num_parameters()


PROMPTS = {"num_virtual_tokens": 5, "task_type": "FEATURE_EXTRACTION"}
QUERY_VALUE = ["query", "value"]
SEQ = {"task_type": "SEQ_CLS"}
# The rows of peft_counts.csv, which were counted with the real peft on real models.
ROWS: dict[str, Any] = {
    "LoRA r8 q,v, no task_type": Lora(target_modules=QUERY_VALUE),
    "LoRA r8 q,v SEQ_CLS": Lora(target_modules=QUERY_VALUE, task_type="SEQ_CLS"),
    "LoRA r8 q,v, classifier model without task_type": Lora(target_modules=QUERY_VALUE),
    "LoRA r8 default targets": Lora(task_type="SEQ_CLS"),
    "LoRA r8 q,v QUESTION_ANS": Lora(target_modules=QUERY_VALUE, task_type="QUESTION_ANS"),
    "LoRA r8 q,v MLM": Lora(target_modules=QUERY_VALUE),
    "LoRA r8 all-linear": Lora(target_modules="all-linear"),
    "LoRA r8 all-linear SEQ_CLS": Lora(target_modules="all-linear", task_type="SEQ_CLS"),
    "LoRA r8 'dense'": Lora(target_modules=["dense"]),
    "LoRA r8 q,v bias=all": Lora(target_modules=QUERY_VALUE, task_type="SEQ_CLS", bias="all"),
    "LoRA r8 q,v bias=lora_only": Lora(target_modules=QUERY_VALUE, task_type="SEQ_CLS", bias="lora_only"),
    "DoRA r8 q,v": Lora(target_modules=QUERY_VALUE, task_type="SEQ_CLS", use_dora=True),
    "LoRA r8 q,v lora_bias": Lora(target_modules=QUERY_VALUE, task_type="SEQ_CLS", lora_bias=True),
    "LoRA r8 q,v + modules_to_save pooler": Lora(
        target_modules=QUERY_VALUE, task_type="SEQ_CLS", modules_to_save=["pooler"]
    ),
    "LoRA r8 q,v roberta-base SEQ_CLS": Lora(target_modules=QUERY_VALUE, task_type="SEQ_CLS"),
    "LoRA r8 distilbert q_lin,v_lin SEQ_CLS": Lora(target_modules=["q_lin", "v_lin"], task_type="SEQ_CLS"),
    "prompt tuning 20": PromptTuning(20, "SEQ_CLS"),
    "prefix tuning 20": PrefixTuning(20, "SEQ_CLS"),
    "p-tuning 20": PromptEncoder(20, "SEQ_CLS", encoder_hidden_size=128),
}
PRESETS = {"Roberta": "roberta-base", "Distil": "distilbert-base-uncased"}


ROWS_OF_FILE = list(csv.DictReader(COUNTS.read_text("utf-8").splitlines()))


@pytest.mark.parametrize("row", ROWS_OF_FILE, ids=lambda row: row["what"])
def test_a_published_count(row: dict[str, str]) -> None:
    preset = next(
        (preset for start, preset in PRESETS.items() if row["hf_class"].startswith(start)), "bert-base-uncased"
    )
    model = bertcalc.load(preset, row["hf_class"])
    assert model.num_parameters() == int(row["base_parameters"])
    model = model.adapted(ROWS[row["what"]])
    assert (model.trainable_parameters, model.num_parameters()) == (int(row["trainable"]), int(row["all_params"]))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (targets.LORA_TARGETS, constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING),
        (targets.IA3_TARGETS, constants.TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING),
        (targets.IA3_FEED_FORWARD, constants.TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING),
        (targets.LAYER_NORMS, constants.TRANSFORMERS_MODELS_TO_LNTUNING_TARGET_MODULES_MAPPING),
    ],
    ids=["lora", "ia3", "feed-forward", "layer norms"],
)
def test_defaults_are_those_of_peft(ours: Any, theirs: Any) -> None:
    assert {name: list(names) for name, names in ours.items()} == {
        name: theirs[name] for name in FAMILIES if name in theirs
    }


def test_a_family_without_default_targets_is_told_so() -> None:
    for preset in ("distilbert-base-uncased", "albert-base-v2", "ModernBERT-base", "mpnet-base"):
        with pytest.raises(InputError, match="peft has no default target_modules for"):
            bertcalc.load(preset).adapted(Lora())


@pytest.mark.parametrize(
    "adapter",
    [
        Lora(),
        Lora(use_dora=True, lora_dropout=0.1),
        Lora(target_modules=["word_embeddings"]),
        LNTuning(["LayerNorm"]),
        IA3(),
    ],
)
def test_it_prints_as_the_real_one(adapter: Any) -> None:
    ours = bertcalc.build(bertcalc.BertConfig(num_hidden_layers=2), "BertForSequenceClassification").adapted(adapter)
    arguments = {name: value for name, value in vars(adapter).items() if value is not None and name != "layers_pattern"}
    kind = {Lora: peft.LoraConfig, LNTuning: peft.LNTuningConfig, IA3: peft.IA3Config}[type(adapter)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = peft.get_peft_model(Case(ours.config, ours.architecture).real(), kind(**arguments))
    assert str(ours) == str(real.get_base_model()).replace("torch.meta.FloatTensor", "torch.FloatTensor")


@pytest.mark.parametrize("fields", [{}, {"num_key_value_heads": 2}, {"num_key_value_heads": 4}])
@pytest.mark.parametrize("options", [{}, {"prefix_projection": True}, {"token_dim": 12}])
def test_a_prefix_has_as_many_heads_as_the_keys(fields: dict[str, Any], options: dict[str, Any]) -> None:
    config = bertcalc.EuroBertConfig(hidden_size=32, num_attention_heads=4, num_hidden_layers=2, **fields)
    case, adapter = Case(config, "EuroBertModel"), Adapter(PrefixTuning, {**PROMPTS, **options})
    assert sorted(our_tensors(case.model.changed(changes=(adapter.ours(),)))) == sorted(
        tensors_of(adapter.added(case.real()))
    )


def test_with_lora_only_the_bias_that_a_decoder_shares_is_trained() -> None:
    case = Case(bertcalc.BertConfig(hidden_size=24, num_attention_heads=2, num_hidden_layers=2), "BertForMaskedLM")
    adapter = Adapter(Lora, {"target_modules": ["decoder"], "bias": "lora_only"})
    assert sorted(our_tensors(case.model.changed(changes=(adapter.ours(),)))) == sorted(
        tensors_of(adapter.added(case.real()))
    )


def test_a_layer_is_trained_as_a_whole_where_nothing_else_tells_it_apart() -> None:
    case = Case(bertcalc.BertConfig(hidden_size=24, num_attention_heads=2, num_hidden_layers=3), "BertModel")
    arguments = {"target_modules": ["embeddings.LayerNorm"], "modules_to_save": ["encoder.layer.1"]}
    adapter = Adapter(LNTuning, arguments)
    trained, _every = adapter.added(case.real()).get_nb_trainable_parameters()
    assert case.ours().changed(changes=(adapter.ours(),)).num_parameters(only_trainable=True) == trained


def test_a_list_of_modules_is_not_trained_as_a_whole() -> None:
    config = bertcalc.GPT2Config(vocab_size=11, n_embd=1, n_layer=2, n_head=1, pad_token_id=0)
    case = Case(config, "GPT2ForSequenceClassification")
    for kind, names in ((Lora, "(.*\\.)?wte"), (LNTuning, ["ln_f"])):
        adapter = Adapter(kind, {"target_modules": names, "modules_to_save": ["transformer.h"]})
        with pytest.raises(TypeError, match="cannot be applied to modules of type"):
            adapter.added(case.real())
        with pytest.raises(InputError, match="h is a list of modules, which peft cannot train as a whole"):
            case.model.changed(changes=(adapter.ours(),))


def test_bitfit_trains_biases_alone() -> None:
    case = Case(bertcalc.BertConfig(), "BertForSequenceClassification")
    real = case.real()
    trained = sum(
        p.numel() for name, p in real.named_parameters() if name.endswith("bias") or name == "classifier.weight"
    )
    model = case.model.changed(changes=(BitFit(),))
    assert model.num_parameters(only_trainable=True) == trained
    assert model.num_parameters() == real.num_parameters()


@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        (lambda: Lora(r=0), "r 0 is invalid: it must be a whole number from 1 to 65,536."),
        (lambda: Lora(r=np.array([4, 8])), "r must be a single whole number"),  # type: ignore[arg-type]
        (lambda: Lora(target_modules=["qurey"]), "No module of BertModel matches target_modules qurey"),
        (lambda: Lora(target_modules=["LayerNorm"]), "and peft does not add LoRA to it"),
        (lambda: Lora(use_dora=True, lora_bias=True), "peft does not combine lora_bias with use_dora"),
        (lambda: Lora(target_modules="all-linear", layers_to_transform=[0]), "give target_modules as a list"),
        (lambda: Lora(layers_pattern="layer"), "layers_pattern names the list of layers for layers_to_transform"),
        (
            lambda: Lora(target_modules="all-linear", layers_pattern="layer"),
            "layers_pattern only with a list of names",
        ),
        (lambda: Lora(layers_to_transform=[12, 99]), "the layers of BertModel are encoder.layer.0 to encoder.layer.11"),
        (lambda: Lora(layers_to_transform=0, layers_pattern="layers"), "0 of the layers_pattern layers have none"),
        (
            lambda: Lora(target_modules="query"),
            "a regular expression for a module's full name, and no module of BertModel matches query",
        ),
        (lambda: Lora(target_modules=[]), "target_modules is an empty list"),
        (
            lambda: Lora(modules_to_save=["encoder"]),
            "value) are in modules_to_save (encoder), which",
        ),
        (lambda: Lora(task_type="CAUSAL_LM"), "only for a class that generates text"),
        (lambda: LNTuning(["layernorm"]), "matches target_modules layernorm: use, for instance, LayerNorm"),
        (
            lambda: IA3(["query"], ["key"]),
            "feedforward_modules must be a subset of target_modules: key is not one of query",
        ),
        (lambda: PromptTuning(20), "peft adds virtual tokens to a model only for a task"),
        (
            lambda: Lora(bias="every"),  # type: ignore[arg-type]  # the invalid value is under test
            "bias 'every' is invalid: it must be none, all or lora_only.",
        ),
    ],
)
def test_a_wrong_argument_is_refused_with_a_sentence(adapter: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        bertcalc.load("bert-base-uncased").adapted(adapter())
    assert message in str(error.value)


def test_models_with_adapters_are_values() -> None:
    bert = bertcalc.load("bert-base-uncased")
    one, same, other = (bert.adapted(Lora(r=r)) for r in (8, 8, 4))
    assert one == same != other != bert
    assert hash(one) == hash(same)
    assert one.replace(num_hidden_layers=6).trainable_parameters * 2 == one.trainable_parameters


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rank": 8}, r"Lora() has no argument rank: did you mean r?"),
        ({"target_modules": (1,)}, "Each item of target_modules must be a string, not 1."),
        ({"modules_to_save": ["pooler", 1]}, "Each item of modules_to_save must be a string, not 1."),
    ],
)
def test_a_wrong_argument_is_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Lora(**arguments)
    assert str(error.value) == message
