"""The exported program that makes the steps with the real libraries."""

import json
import subprocess
import sys
from typing import Any

import pytest

import bertcalc
from bertcalc.change_steps.effects import changed_models
from bertcalc.change_steps.first_steps import first_step
from bertcalc.change_steps.recipes import RECIPES
from bertcalc.change_steps.step_texts import KINDS, read_steps
from bertcalc.export.step_code import RUNS_ON_CPU, code
from tests.changes.resized import small
from tests.examples import crossed
from tests.storage.ask_libraries import judges_python
from tests.storage.small_models import small as of_storage

BY_HAND = ("heads", "feed_forward", "embeddings")  # no library implements these steps
CLASSES = (
    *("BertModel", "AlbertModel", "AlbertForMaskedLM", "CamembertForMaskedLM", "DistilBertForQuestionAnswering"),
    *("MPNetForTokenClassification", "GPT2LMHeadModel", "DebertaForSequenceClassification", "ModernBertForMaskedLM"),
    "EuroBertForMaskedLM",
)


@pytest.mark.filterwarnings("ignore")  # warnings of peft and transformers
@pytest.mark.parametrize(
    ("kind", "architecture"), crossed(3, [kind for kind in KINDS if KINDS[kind] not in RUNS_ON_CPU], CLASSES)
)
def test_the_program_of_every_kind_of_step_runs(kind: str, architecture: str) -> None:
    model = small(architecture, num_key_value_heads=2).model
    steps = [first_step(kind, model)]
    models, problem = changed_models(model, steps)
    if problem:
        pytest.skip(str(problem))
    program, names = code(model, steps), dict[str, Any]()
    exec(compile(program, "program", "exec"), names)
    made = models[0 if kind in BY_HAND else -1].model
    real = names["model"]
    assert sum(tensor.numel() for tensor in real.parameters()) == made.num_parameters()
    trained = made.num_parameters(only_trainable=True)
    assert names["trained"] == trained
    for count in (made.num_parameters(), trained):
        assert f" == {count:_}\n" in program
    assert ("no library" in program) == (kind in BY_HAND)


def test_what_follows_a_step_that_no_library_makes_is_a_comment() -> None:
    model = small("BertModel").model
    steps = read_steps("vocabulary,pad_to_multiple_of=8;heads,heads=1;lora,r=3")
    program = code(model, steps)
    exec(compile(program, "program", "exec"), {})
    models, _problem = changed_models(model, steps)
    assert f"\nassert trained == {models[1].model.num_parameters():_}\n" in program
    assert "\n# model = get_peft_model(model, LoraConfig(r=3))\n" in program
    assert f"\n# assert trained == {models[-1].model.num_parameters(only_trainable=True):_}\n" in program


QUANTIZED = [
    ("BertForSequenceClassification", "bitsandbytes,load_in_8bit=true,llm_int8_skip_modules=classifier+"),
    ("BertModel", "layers,layers=1+;bitsandbytes,load_in_4bit=true,bnb_4bit_quant_type=nf4;lora,r=3"),
    ("AlbertForMaskedLM", "bitsandbytes,load_in_4bit=true,bnb_4bit_use_double_quant=true;bitfit,head=false"),
    ("RobertaForMaskedLM", "vocabulary,pad_to_multiple_of=64;torchao_int8"),
    ("GPT2LMHeadModel", "torchao_intx,weight_dtype=int4,granularity=32"),
    ("DistilBertForSequenceClassification", "torchao_int8;lora,r=2,target_modules=q_lin+"),
    ("ElectraForMaskedLM", "torch_dynamic"),
    ("BertForMultipleChoice", "onnx_dynamic,per_channel=true"),
    ("AlbertModel", "onnx_dynamic,exporter=torchscript,weight_type=QUInt8"),
]
# Runs each program of a list in a separate folder, and prints its error.
RUNNER = """
import contextlib, json, os, sys, tempfile
for program in json.load(sys.stdin):
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(sys.stderr):
            try:
                exec(compile(program, "program", "exec"), {})
                said = ""
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
    print(json.dumps(said))
"""


def judged(programs: list[str], python: str) -> list[str]:
    """The error of each program with the real libraries, or "" if it runs to its end."""
    command = [python, "-W", "ignore", "-c", RUNNER]
    done = subprocess.run(command, input=json.dumps(programs), stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_program_quantizes_with_the_real_library_and_its_file_has_our_size() -> None:
    programs = [code(of_storage(name), read_steps(steps)) for name, steps in QUANTIZED]
    of_other_sizes = [program.replace("stat().st_size", "stat().st_size + 10**7") for program in programs[::3]]
    stopped = judged([*programs, *of_other_sizes], str(judges_python()))
    assert stopped == [""] * len(programs) + ["AssertionError: "] * len(of_other_sizes)
    assert all("size = Path(" in program for program in programs)


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ("gguf,type=Q4_K_M", "# llama-quantize float16.gguf quantized.gguf Q4_K_M"),
        ("gguf,type=Q4_0,pure=true", "# llama-quantize --pure float16.gguf quantized.gguf Q4_0"),
        ("gptq,bits=8", "# GPTQ needs a GPU, and texts to calibrate it: transformers.GPTQConfig(bits=8)"),
        ("gptq;lora,r=3", "# model = get_peft_model(model, LoraConfig(r=3))"),
    ],
)
def test_what_needs_more_than_python_on_a_cpu_is_a_comment(steps: str, line: str) -> None:
    program, names = code(of_storage("BertModel"), read_steps(steps)), dict[str, Any]()
    exec(compile(program, "program", "exec"), names)
    assert f"\n{line}\n" in program
    assert names["model"].device.type == "meta"


RUN = [recipe for recipe in RECIPES if recipe.steps.startswith(("lora", "vocabulary", "layers"))]


def test_the_program_makes_the_steps_and_agrees() -> None:
    """All programs run in one process, which imports the libraries once."""
    programs = []
    for recipe in RUN:
        start = bertcalc.load(recipe.preset or "bert-base-uncased", recipe.architecture or "BertModel")
        programs.append(code(start, read_steps(recipe.steps_for(start))))
    wrong = programs[0].replace("assert trained == ", "assert trained == 1 + ")
    assert judged([*programs, wrong], sys.executable) == ["", "", "", "AssertionError: "]
