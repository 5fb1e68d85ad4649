"""Steps as text: written steps are read back, and faults are reported."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import (
    BitsAndBytesConfig,
    DropLayers,
    Gguf,
    GPTQConfig,
    InputError,
    IntxWeightOnlyConfig,
    Lora,
    OnnxQuantizeDynamic,
    PerGroup,
    PromptEncoder,
    PruneHeads,
    ResizeVocabulary,
    load,
)
from bertcalc.change_steps.recipes import RECIPES
from bertcalc.change_steps.step_texts import ChangeStep, argument_texts, read_steps, with_argument, written
from tests.adapters import adapters
from tests.strategies import cases


@given(st.data())
def test_an_adapter_is_read_as_it_is_written(data: st.DataObject) -> None:
    adapter = data.draw(adapters(data.draw(cases()).model)).ours()
    text = written([adapter, adapter])
    assert read_steps(text) == (adapter, adapter)
    assert not set(text) & set(" &#?\"'")


def test_a_dictionary_has_lists() -> None:
    (step,) = read_steps("heads,heads=0:0/1+11:3/")
    assert argument_texts(step) == {"heads": "0:0/1+11:3/"}
    assert read_steps("heads,heads=0:1") == read_steps("heads,heads=0:1/")
    (lora,) = read_steps("lora,rank_pattern=query:4+value:2")
    assert lora == Lora(rank_pattern={"query": 4, "value": 2})


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_is_written_as_links_are(recipe: object) -> None:
    steps: str = recipe.steps_for(load("bert-base-uncased"))  # type: ignore[attr-defined]  # a ChangeRecipe
    assert written(read_steps(steps)) == steps


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lorra", "There is no step 'lorra': did you mean lora?"),
        ("lora,R=3", "lora has no argument 'R': did you mean r?"),
        ("lora,r", "r is not an argument of a step: write a name and a value, such as r=8."),
        ("lora,,r=3", "The step lora has an extra comma: write it as lora,r=8."),
        ("lora,r=x", "r 'x' is invalid: it must be a whole number from 1 to 65,536."),
        ("layers", "The step layers needs a value: write it as layers,layers=..."),
        ("layers,layers=", "layers= is not an argument of a step: write a name and a value, such as r=8."),
        ("layers,layers=0:1", "layers '0:1' is invalid: it must be a whole number from 0."),
        ("lora,r=8,r=16", "lora has r twice: remove one of them."),
        ("lora,rank_pattern=query:x", "rank_pattern 'x' is invalid: it must be a whole number from 1 to 65,536."),
        ("lora,rank_pattern=query:0", "rank_pattern 0 is invalid: it must be a whole number from 1 to 65,536."),
        (
            "p_tuning,encoder_num_layers=200000",
            "encoder_num_layers 200000 is invalid: it must be a whole number from 1 to 1,000.",
        ),
        ("lora,lora_dropout=2", "lora_dropout must be a probability from 0 to 1, not 2.0."),
    ],
)
def test_a_wrong_text_is_told(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_steps(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "arguments", ["rank=16,alpha=32,dropout=0.1,targets=query+value", "lora_r=16,lora_alpha=32,lora_target=query+value"]
)
def test_the_names_of_other_programs_are_understood(arguments: str) -> None:
    (step,) = read_steps(f"lora,{arguments}")
    dropout = 0.1 if "dropout" in arguments else 0.0
    assert step == Lora(r=16, lora_alpha=32, lora_dropout=dropout, target_modules=["query", "value"])


def test_a_name_of_another_program_counts_as_the_argument() -> None:
    assert read_steps("vocabulary,vocab_size=20000") == (ResizeVocabulary(20000),)
    with pytest.raises(InputError, match="lora has r twice"):
        read_steps("lora,rank=16,r=8")
    with pytest.raises(InputError, match="ia3 has no argument 'rank'"):
        read_steps("ia3,rank=8")


def test_a_flag_takes_the_place_of_the_one_that_excludes_it() -> None:
    four_bits = BitsAndBytesConfig(load_in_4bit=True)
    eight_bits = with_argument(four_bits, "load_in_8bit", "true")
    assert eight_bits == BitsAndBytesConfig(load_in_8bit=True)
    assert with_argument(eight_bits, "load_in_8bit", "false") == four_bits


def test_an_empty_argument_is_the_default() -> None:
    assert with_argument(Lora(r=4, bias="all"), "bias", "") == Lora(r=4)


@pytest.mark.parametrize("text", ["query", "query+", " query ,"])
def test_a_name_that_is_typed_is_a_list_of_one(text: str) -> None:
    assert with_argument(Lora(r=4), "target_modules", text.strip()) == Lora(r=4, target_modules=["query"])


def test_an_argument_is_read_as_it_is_typed() -> None:
    assert with_argument(Lora(), "target_modules", "query, value") == Lora(target_modules=["query", "value"])
    assert with_argument(Lora(), "target_modules", "query;bitfit") == Lora(target_modules="query;bitfit")
    assert with_argument(Lora(), "target_modules", "all-linear") == Lora(target_modules="all-linear")
    assert with_argument(Lora(), "layers_to_transform", "3") == Lora(layers_to_transform=[3])
    assert with_argument(DropLayers([1, 2]), "layers", "3") == DropLayers([3])
    with pytest.raises(InputError, match="The step layers needs a value"):
        with_argument(DropLayers([1]), "layers", "")


@pytest.mark.parametrize(
    "step",
    [
        IntxWeightOnlyConfig("int4", PerGroup(64)),
        BitsAndBytesConfig(load_in_8bit=True, llm_int8_skip_modules=("classifier",)),
        GPTQConfig(bits=8),
        Lora(target_modules=["1", "true"], rank_pattern={"1": 4}, lora_dropout=1e-7),
        Lora(layers_to_transform=[], modules_to_save=["classifier"]),
        PruneHeads({0: [1]}),
    ],
)
def test_a_text_means_what_the_annotation_says(step: ChangeStep) -> None:
    assert read_steps(written([step])) == (step,)
    assert hash(step) == hash(read_steps(written([step]))[0])


def test_an_option_in_other_letters_is_the_option() -> None:
    (step,) = read_steps("p_tuning,task_type=seq_cls,encoder_reparameterization_type=lstm")
    assert step == PromptEncoder(task_type="SEQ_CLS", encoder_reparameterization_type="LSTM")
    assert read_steps("gguf,type=q4_0") == (Gguf("Q4_0"),)
    assert read_steps("onnx_dynamic,exporter=TorchScript") == (OnnxQuantizeDynamic(exporter="torchscript"),)


@given(st.text(alphabet="lora,=;+:/.0129%_ ()[]*|\n中", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        assert read_steps(written(read_steps(text))) == read_steps(text)


def test_true_and_false_are_read_as_python_writes_them_too() -> None:
    assert read_steps("bitsandbytes,load_in_8bit=True") == read_steps("bitsandbytes,load_in_8bit=true")
