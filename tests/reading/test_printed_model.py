"""Printed models are read. The texts are prints of the real classes of transformers 5 and 4."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import escape
from math import prod
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
import transformers
from hypothesis import assume, given
from hypothesis import strategies as st

import bertcalc
from bertcalc.families import FAMILIES
from bertcalc.model.model import Model
from bertcalc.reading.printed_model import read_printed
from bertcalc.reading.printed_tree import printed_models
from bertcalc.text.problem import InputError
from tests.adapters import with_peft
from tests.examples import examples
from tests.oracle import Case, ask_transformers4
from tests.reading.noise import (
    NOISES,
    Noise,
    from_a_rank,
    in_markdown,
    logged,
    on_one_line,
    on_one_line_without_spaces,
    wrapped,
)
from tests.strategies import cases

TINY = bertcalc.BertConfig(50, 8, 3, 1, 12, max_position_embeddings=16)
# transformers 4 lacks the other families, or builds them differently.
IN_TRANSFORMERS_4 = ("bert", "roberta", "camembert", "distilbert", "albert", "electra", "mpnet", "deberta-v2", "gpt2")


def counts(text: str) -> set[int]:
    reading = bertcalc.read(text)
    assert reading.kind == "printed-model"
    return {reading.num_parameters or 0, *(possible.parameters for possible in reading.possible_counts)}


def printed_again(text: str) -> str:
    [tree] = printed_models(text)
    assert tree.is_complete
    return str(tree.root)


@given(cases())
@examples(12)
def test_the_model_is_the_one_that_was_printed(case: Case) -> None:
    """The reading prints the same text again, and its count is possible. Heads and ties are not printed."""
    real = case.real()
    text = str(real)
    assert printed_again(text) == text
    reading = bertcalc.read(text)
    assert isinstance(reading.model, bertcalc.Model)
    assert reading.agrees
    assert not reading.is_at_least
    assert reading.model.architecture == case.architecture
    # A configuration has the summary's dropout, which the reading does not need.
    summary = re.compile(r"(first_dropout|last_dropout)\): .*")
    assert summary.sub("", str(reading.model)) == summary.sub("", text)
    assert real.num_parameters() in counts(text)


@given(cases(), st.sampled_from(NOISES))
@examples(12)
def test_noise_changes_nothing(case: Case, noise: Noise) -> None:
    text = str(case.real())
    reading, noisy = bertcalc.read(text), bertcalc.read(noise(text), "printed-model")
    assert str(noisy.modules) == text
    assert (noisy.model, noisy.num_parameters) == (reading.model, reading.num_parameters)
    assert noisy.possible_counts == reading.possible_counts


@given(cases(), st.integers(60, 100))
@examples(8)
def test_lines_that_a_terminal_broke_are_joined(case: Case, width: int) -> None:
    text = str(case.ours())
    noisy, plain = read_printed(wrapped(width)(text)), read_printed(text)
    assert noisy.num_parameters == plain.num_parameters
    assert noisy.agrees == plain.agrees


def one_by_one(text: str) -> str:
    """The print of PyTorch 1, which writes out every layer and shows no bias in a LayerNorm."""
    pattern = re.compile(r"^( *)\((\d+)-(\d+)\): \d+ x ", re.M)
    while match := pattern.search(text):
        end = text.index(f"\n{match[1]})", match.end()) + len(f"\n{match[1]})")
        layer = text[match.end() : end]
        text = (
            text[: match.start()]
            + "\n".join(f"{match[1]}({number}): {layer}" for number in range(int(match[2]), int(match[3]) + 1))
            + text[end:]
        )
    return re.sub(r"(elementwise_affine=True), bias=True", r"\1", text)


@given(cases())
@examples(8)
def test_layers_that_are_written_out_are_the_same_layers(case: Case) -> None:
    assume(not case.config.has("norm_bias"))
    text = str(case.ours())
    old = read_printed(one_by_one(text))
    assert (old.model, old.num_parameters) == (read_printed(text).model, read_printed(text).num_parameters)


@pytest.mark.parametrize("name", IN_TRANSFORMERS_4)
def test_what_transformers_4_prints_is_read(name: str) -> None:
    family = FAMILIES[name]
    classes = [cls.name for cls in family.classes]
    config = {family.config.own_name("num_hidden_layers"): 3}
    questions = [
        {"model_type": name, "architecture": architecture, "config": config, "options": {}} for architecture in classes
    ]
    for architecture, real in zip(classes, ask_transformers4(questions), strict=True):
        reading = bertcalc.read(real["text"])
        assert reading.agrees
        assert reading.model is not None
        assert reading.model.architecture == architecture
        assert real["total"] in counts(real["text"])


class Heads(torch.nn.Module):  # type: ignore[misc]
    """A user's own model: RoBERTa with two Linear layers after it."""

    def __init__(self) -> None:
        super().__init__()
        self.roberta = transformers.RobertaModel(transformers.RobertaConfig(vocab_size=50265))
        self.dense = torch.nn.Linear(768, 256)
        self.norm = torch.nn.BatchNorm1d(256)
        self.out = torch.nn.Linear(256, 2)


def test_a_head_of_ones_own_is_named_with_its_parameters() -> None:
    with torch.device("meta"):
        real = Heads()
    reading = bertcalc.read(str(real))
    assert reading.num_parameters == sum(tensor.numel() for tensor in real.parameters())
    assert reading.model is not None
    assert reading.model.architecture == "RobertaModel"
    parts = [(part.path, part.kind, part.parameters) for part in reading.additional]
    assert parts == [("dense", "Linear", 196_864), ("norm", "BatchNorm1d", 512), ("out", "Linear", 514)]
    assert not reading.missing
    assert "dense (Linear): 196,864; norm (BatchNorm1d): 512; out (Linear): 514" in str(reading)


LEAVES = {
    "linear": torch.nn.Linear(5, 3),
    "linear without bias": torch.nn.Linear(5, 3, bias=False),
    "embedding": torch.nn.Embedding(7, 3, padding_idx=0),
    "norm": torch.nn.LayerNorm(4),
    "norm of two axes": torch.nn.LayerNorm((4, 5)),
    "norm without bias": torch.nn.LayerNorm(4, bias=False),
    "norm without anything": torch.nn.LayerNorm(4, elementwise_affine=False),
    "rms norm": torch.nn.RMSNorm(4),
    "batch norm": torch.nn.BatchNorm1d(4),
    "batch norm without weights": torch.nn.BatchNorm1d(4, affine=False),
    "group norm": torch.nn.GroupNorm(2, 4),
    "conv": torch.nn.Conv1d(4, 6, 3),
    "conv of groups without bias": torch.nn.Conv1d(4, 6, 3, groups=2, bias=False, padding=1),
    "conv of images": torch.nn.Conv2d(3, 8, (16, 8), stride=16),
    "conv of transformers": transformers.pytorch_utils.Conv1D(6, 4),
    "lstm": torch.nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True, dropout=0.1),
    "lstm with projection": torch.nn.LSTM(4, 3, proj_size=2),
    "gru without bias": torch.nn.GRU(4, 3, bias=False),
    "rnn": torch.nn.RNN(4, 3),
    "prelu": torch.nn.PReLU(4),
    "attention": torch.nn.MultiheadAttention(8, 2),
    "encoder": torch.nn.TransformerEncoderLayer(8, 2, 16),
    "parameters": torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(3, 4)), torch.nn.Parameter(torch.zeros(5))]),
    "quiet": torch.nn.Sequential(
        torch.nn.Dropout(), torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.GELU(), torch.nn.Identity()
    ),
}


@pytest.mark.parametrize("name", LEAVES)
def test_every_module_of_pytorch_has_its_tensors(name: str) -> None:
    module = torch.nn.Sequential(LEAVES[name], torch.nn.Linear(2, 2))
    [tree] = printed_models(str(module))
    shapes = sorted(shape for _name, shape in tree.root.named_parameters())
    assert shapes == sorted(tuple(tensor.shape) for tensor in module.parameters())
    assert not tree.unknown()


@pytest.mark.parametrize("name", ["BartModel", "LlamaForCausalLM", "ViTModel", "LongformerModel"])
def test_a_class_that_bertcalc_does_not_know_is_no_family_and_its_count_is_no_promise(name: str) -> None:
    kind = getattr(transformers, name)
    with torch.device("meta"):
        real = kind(kind.config_class())
    reading = bertcalc.read(str(real))
    assert reading.model is None
    assert real.num_parameters() in counts(str(real)) or name == "ViTModel"  # ViT's class token is not printed
    counted = name == "LlamaForCausalLM"
    assert ("exactly from its config.json" if counted else "its real count may differ") in str(reading)


class Unknown(torch.nn.Module):  # type: ignore[misc]
    def forward(self) -> None: ...


def test_a_module_that_nobody_knows_makes_the_count_a_lower_bound() -> None:
    reading = bertcalc.read(str(torch.nn.Sequential(torch.nn.Linear(2, 3), Unknown())))
    assert (reading.num_parameters, reading.is_at_least) == (9, True)
    assert "at least 9 parameters" in str(reading)
    assert "Unknown" in str(reading)


def test_the_bias_of_a_norm_in_an_old_print_is_left_open() -> None:
    norm = "(norm): LayerNorm((8,), eps=1e-05, elementwise_affine=True)"
    text = f"Model(\n  {norm}\n  (out): Linear(in_features=8, out_features=2, bias=True)\n)"
    assert counts(text) == {34, 26}


def test_the_norms_of_modernbert_have_no_bias_in_an_old_print_either() -> None:
    model, other = (bertcalc.build(bertcalc.ModernBertConfig(norm_bias=biases)) for biases in (False, True))
    old = re.sub(r"(elementwise_affine=True), bias=False", r"\1", str(model))
    assert old != str(model)
    reading = bertcalc.read(old)
    assert (reading.model, reading.num_parameters) == (model, model.num_parameters())
    assert counts(old) == {model.num_parameters(), other.num_parameters()}


def test_a_print_that_is_cut_off_says_so_and_is_completed_from_a_preset() -> None:
    text = str(bertcalc.build("bert-base-uncased"))
    cut = "\n".join(text.split("\n")[:20])
    reading = bertcalc.read(cut)
    assert reading.preset == "bert-base-uncased"
    assert reading.model == bertcalc.build("bert-base-uncased")
    assert "The printed model ends inside encoder.layer" in str(reading)
    assert {109_482_240} < counts(cut)


def test_layers_that_a_person_left_out_are_read_by_their_numbers() -> None:
    lines = one_by_one(str(Model(TINY))).split("\n")
    start, end = lines.index("      (1): BertLayer("), lines.index("      (2): BertLayer(")
    text = "\n".join([*lines[:start], "      ...", *lines[end:]])
    assert read_printed(text).num_parameters == Model(TINY).num_parameters()


def test_a_person_who_prints_one_layer_means_all_of_them() -> None:
    """The first of the texts that the project started with shortens a print in this way."""
    lines = one_by_one(str(bertcalc.build("bert-base-uncased"))).split("\n")
    start = lines.index("      (1): BertLayer(")
    end = next(number for number, line in enumerate(lines) if number > start and line == "    )")
    text = "\n".join([*lines[:start], "      # 如此重复11层,直到大厦崩塌", *lines[end:-1]])
    reading = bertcalc.read(in_markdown(text))
    assert reading.model == bertcalc.build("bert-base-uncased")
    assert counts(text) == {109_482_240, 31_515_648}


@pytest.mark.parametrize("wrapper", [torch.nn.DataParallel, torch.nn.Sequential])
def test_a_wrapped_model_is_the_same_model(wrapper: Any) -> None:
    real = wrapper(Case(TINY, "BertForTokenClassification").real())
    reading = bertcalc.read(str(real))
    assert reading.agrees
    assert str(reading.model) == str(bertcalc.build(TINY, "BertForTokenClassification"))


def test_of_several_models_the_complete_one_is_read() -> None:
    whole, part = str(Model(TINY)), "\n".join(str(bertcalc.build("bert-base-uncased")).split("\n")[:12])
    reading = bertcalc.read(f"{part}\n\n{whole}")
    assert reading.num_parameters == Model(TINY).num_parameters()
    assert "2 printed models" in str(reading)


def test_a_copy_count_of_nine_digits_is_refused_in_time() -> None:
    text = "Model(\n  (0-999999998): 999999999 x Linear(in_features=2, out_features=2, bias=True)\n)"
    with pytest.raises(InputError, match="at most 100,000 are allowed"):
        read_printed(text)


def test_the_sizes_of_a_printed_tensor_multiply_to_its_count() -> None:
    reading = read_printed(str(Model(TINY, "BertForMaskedLM")))
    assert all(tensor.num_parameters() == tensor.copies * prod(tensor.shape) for tensor in reading.tensors)
    other = replace(TINY, tie_word_embeddings=False)
    assert Model(other, "BertForMaskedLM").num_parameters() in {
        possible.parameters for possible in reading.possible_counts
    }


@pytest.mark.parametrize(
    ("name", "possible"),
    [("T5ForConditionalGeneration", 2), ("T5Model", 0), ("T5EncoderModel", 0), ("MobileBertForMaskedLM", 2)],
)
def test_a_lower_bound_is_below_the_real_count_if_matrices_may_be_shared(name: str, possible: int) -> None:
    """The print omits the sizes of T5LayerNorm and NoNorm, and all ties. T5's stacks are always tied."""
    cls: Any = getattr(transformers, name)
    with torch.device("meta"):
        real = cls(cls.config_class())
    real.tie_weights()
    reading = bertcalc.read(str(real))
    assert reading.is_at_least
    assert reading.num_parameters is not None
    assert 0.99 * real.num_parameters() < reading.num_parameters <= real.num_parameters()
    assert len(reading.possible_counts) == possible
    assert f"at least {reading.num_parameters:,}" in str(reading)


def test_a_class_that_is_counted_from_its_config_is_not_called_unknown() -> None:
    with torch.device("meta"):
        real = transformers.T5ForConditionalGeneration(transformers.T5Config())
    assert "does not know this class" not in str(bertcalc.read(str(real)))
    assert bertcalc.read(real.config.to_json_string()).num_parameters == real.num_parameters()


def adapted(architecture: str, config: Any) -> Any:
    small = transformers.AutoConfig.for_model("gpt2", n_embd=24, n_layer=2, n_head=2)
    if architecture.startswith("Bert"):
        small = transformers.BertConfig(vocab_size=90, hidden_size=24, num_hidden_layers=2, num_attention_heads=2)
    with torch.device("meta"):
        return with_peft(getattr(transformers, architecture)(small), config)


ADAPTERS = [
    ("BertForSequenceClassification", peft.LoraConfig(r=2, target_modules=["query"], task_type="SEQ_CLS")),
    ("BertForSequenceClassification", peft.PromptTuningConfig(num_virtual_tokens=5, task_type="SEQ_CLS")),
    ("BertForSequenceClassification", peft.PromptEncoderConfig(num_virtual_tokens=5, task_type="SEQ_CLS")),
    (
        "BertForSequenceClassification",
        peft.PrefixTuningConfig(
            num_virtual_tokens=5, prefix_projection=True, encoder_hidden_size=7, task_type="SEQ_CLS"
        ),
    ),
    ("GPT2LMHeadModel", peft.PromptTuningConfig(num_virtual_tokens=5, task_type="CAUSAL_LM")),
    (
        "BertForSequenceClassification",
        peft.IA3Config(
            target_modules=["key", "output.dense"], feedforward_modules=["output.dense"], task_type="SEQ_CLS"
        ),
    ),
    ("BertModel", peft.LoraConfig(r=2, target_modules=["word_embeddings"])),
    ("BertModel", peft.LoraConfig(r=2, target_modules=["query", "intermediate.dense"], use_dora=True)),
    ("BertModel", peft.AdaLoraConfig(init_r=3, target_modules=["query"], total_step=9)),
    ("BertModel", peft.VeraConfig(r=2, target_modules=["query"])),
]


@pytest.mark.parametrize(("architecture", "config"), ADAPTERS, ids=lambda value: getattr(value, "peft_type", value))
def test_a_print_of_peft_has_the_parameters_of_its_model(architecture: str, config: Any) -> None:
    """PEFT prints the word embeddings a second time, and vectors in a ParameterDict."""
    real = adapted(architecture, config)
    text = str(real)
    reading = bertcalc.read(text)
    assert reading.num_parameters == sum(parameter.numel() for parameter in real.parameters())
    assert not reading.is_at_least
    assert reading.model is not None
    assert reading.model.num_parameters() == sum(
        parameter.numel() for name, parameter in real.base_model.named_parameters() if is_of_base(name)
    )
    assert printed_again(text) == text


def is_of_base(name: str) -> bool:
    return not re.search("lora_|ia3_|vera_|ranknum|modules_to_save|prompt_encoder", name)


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "profiles").iterdir()), ids=lambda path: path.stem)
def test_what_profilers_print_is_read_like_the_model(path: Path) -> None:
    """These programs printed the files: figures are before each module's arguments, or on separate lines."""
    config = transformers.BertConfig(
        vocab_size=100,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=40,
        max_position_embeddings=30,
    )
    with torch.device("meta"):
        real = transformers.BertModel(config)
    reading = bertcalc.read(path.read_text())
    assert reading.agrees
    assert not reading.is_at_least
    assert reading.num_parameters == real.num_parameters()
    [tree] = printed_models(path.read_text())
    assert str(tree.root) == str(real)


def test_the_figures_of_deepspeed_are_left_out() -> None:
    """The layout is from DeepSpeed's documentation."""
    figures = "1.05 M, 0.31% Params, 8.39 MMACs, 0.00% MACs, 20.7 us, 0.27% latency, 81.06 GFLOPS, "
    text = f"""
BertPooler(
  {figures}
  (dense): Linear({figures}in_features=1024, out_features=1024, bias=True)
  (activation): Tanh(0, 0.00% Params, 0 MACs, 0.00% MACs, 37.1 us, 0.05% latency, 0.0 FLOPS, )
)
"""
    linear = torch.nn.Linear(1024, 1024)
    assert bertcalc.read(text).num_parameters == sum(tensor.numel() for tensor in linear.parameters())


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.Bilinear(7, 5, 3),
        torch.nn.Bilinear(7, 5, 3, bias=False),
        torch.nn.ConvTranspose1d(8, 12, 3, groups=2),
        torch.nn.ConvTranspose2d(8, 12, (3, 2), bias=False),
        torch.nn.LSTMCell(5, 7),
        torch.nn.GRUCell(5, 7, bias=False),
        torch.nn.RNNCell(5, 7, nonlinearity="relu"),
    ],
    ids=str,
)
def test_a_module_that_prints_its_sizes_is_counted(module: torch.nn.Module) -> None:
    reading = bertcalc.read(str(torch.nn.Sequential(module, torch.nn.ReLU())))
    assert reading.num_parameters == sum(tensor.numel() for tensor in module.parameters())
    assert [tensor.shape for tensor in reading.tensors] == [tuple(tensor.shape) for tensor in module.parameters()]
    assert not reading.is_at_least


def test_the_crf_of_pytorch_crf_is_counted() -> None:
    """The CRF has start_transitions, end_transitions and transitions (pytorch-crf 0.7.2, torchcrf/__init__.py)."""
    reading = bertcalc.read(
        "Tagger(\n  (classifier): Linear(in_features=8, out_features=9)\n  (crf): CRF(num_tags=9)\n)"
    )
    assert {possible.parameters for possible in reading.possible_counts} == {8 * 9 + 9 + 99, 8 * 9 + 99}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_model_with_dynamic_int8_layers_is_the_model() -> None:
    config = transformers.BertConfig(vocab_size=90, hidden_size=24, num_hidden_layers=2, num_attention_heads=2)
    real = transformers.BertForSequenceClassification(config)
    quantized = torch.ao.quantization.quantize_dynamic(real, {torch.nn.Linear}, dtype=torch.qint8)
    text = str(quantized)
    assert "DynamicQuantizedLinear" in text
    # PyTorch 1 also printed the module with the packed weight.
    line = re.compile(r"^( *)(.*DynamicQuantizedLinear)\((.*), qscheme=.*\)$", re.MULTILINE)
    old = line.sub(r"\1\2(\n\1  \3\n\1  (_packed_params): LinearPackedParams()\n\1)", text)
    for printed in (text, old):
        reading = bertcalc.read(printed)
        assert reading.agrees
        assert not reading.is_at_least
        assert reading.num_parameters == real.num_parameters()


@pytest.mark.parametrize(
    "words",
    ["{'max_seq_length': 256}) with Transformer model: BertModel", "{'task': None, 'architecture': 'BertModel'})"],
)
def test_a_sentence_transformer_says_that_its_model_is_not_printed(words: str) -> None:
    """The texts are prints of sentence-transformers 2 and 6. None of the modules in them has a parameter."""
    reading = bertcalc.read(f"SentenceTransformer(\n  (0): Transformer({words}\n  (1): Normalize()\n)")
    assert reading.num_parameters is None
    assert "does not show the modules of BertModel inside the Transformer. Use print(model[0].auto_model)" in str(
        reading
    )


@pytest.mark.parametrize("noise", [logged, from_a_rank, on_one_line, on_one_line_without_spaces])
def test_a_print_in_a_log_or_on_one_line_is_recognized(noise: Noise) -> None:
    config = transformers.BertConfig(vocab_size=90, hidden_size=24, num_hidden_layers=2, num_attention_heads=2)
    with torch.device("meta"):
        real = transformers.BertForMaskedLM(config)
    reading = bertcalc.read(noise(str(real)))
    assert reading.kind == "printed-model"
    assert reading.num_parameters == real.num_parameters()


def test_the_dropout_of_a_classifier_is_not_that_of_the_layers() -> None:
    config = bertcalc.NomicBertConfig(hidden_dropout_prob=0.0, classifier_dropout=0.5)
    reading = bertcalc.read(str(Case(config, "NomicBertForSequenceClassification").real()))
    assert isinstance(reading.model, bertcalc.Model)
    assert (reading.model.config.hidden_dropout_prob, reading.model.config.classifier_dropout) == (0.0, 0.5)


def test_what_a_print_does_not_show_is_said() -> None:
    text = str(Case(bertcalc.DistilBertConfig(n_heads=6), "DistilBertModel").real())
    assert "does not show the number of heads: A = 12 is assumed" in str(bertcalc.read(text))
    listed = "\n".join(f"{name} {tuple(shape)}" for name, shape in bertcalc.build("gpt2").named_parameters())
    assert "A = 12 is assumed" in str(bertcalc.read(listed))


def test_layers_that_share_their_weights_do_not_show_their_number() -> None:
    config = transformers.AlbertConfig(num_hidden_layers=3, hidden_size=64, num_attention_heads=4)
    with torch.device("meta"):
        real = transformers.AlbertModel(config)
    listed = "\n".join(f"{name} {tensor.shape}" for name, tensor in real.named_parameters())
    for text in (str(real), listed):
        reading = bertcalc.read(text)
        assert reading.num_parameters == real.num_parameters()
        assert "does not show the number of layers: L = 12 is assumed" in str(reading)


@pytest.mark.parametrize("lines", [12, 20, -3])
@pytest.mark.parametrize("name", ["BertForSequenceClassification", "DistilBertForMaskedLM", "GPT2LMHeadModel"])
def test_a_cut_model_has_the_stated_number_of_layers(name: str, lines: int) -> None:
    kind = re.split("For|LM", name)[0]
    config = getattr(transformers, f"{kind}Config")()
    config.num_hidden_layers = 3
    with torch.device("meta"):
        real = getattr(transformers, name)(config)
    reading = bertcalc.read("\n".join(str(real).split("\n")[:lines]))
    assert reading.num_parameters == real.num_parameters()
    assert "does not show the parameters" not in str(reading)


def test_a_class_with_missing_lines_is_not_called_unknown() -> None:
    with torch.device("meta"):
        lines = str(transformers.RobertaForMaskedLM(transformers.RobertaConfig())).split("\n")
    reading = bertcalc.read("\n".join([*lines[:3], *lines[11:]]))
    assert "RobertaForMaskedLM has other modules: lines of the printed model are missing" in str(reading)


def test_the_source_of_a_web_page_is_read() -> None:
    with torch.device("meta"):
        real = transformers.BertModel(transformers.BertConfig())
    source = f"<pre>{escape(str(real)).replace('(', '&#40;')}</pre>"
    assert bertcalc.read(source).num_parameters == real.num_parameters()


LINEAR = re.compile(r"Linear\(in_features=(\d+), out_features=(\d+), bias=(\w+)\)")


@pytest.mark.parametrize(
    "other",
    [
        r"WQLinear_GEMM(in_features=\1, out_features=\2, bias=\3, w_bit=4, group_size=128)",  # AutoAWQ
        r"Linear(input_dims=\1, output_dims=\2, bias=\3)",  # MLX
        r"QuantizedLinear(input_dims=\1, output_dims=\2, bias=\3, group_size=64, bits=4)",
    ],
)
def test_linear_layers_of_other_programs_are_counted(other: str) -> None:
    with torch.device("meta"):
        real = transformers.BertForSequenceClassification(transformers.BertConfig())
    reading = bertcalc.read(LINEAR.sub(other, str(real)))
    assert reading.agrees
    assert reading.num_parameters == real.num_parameters()


@pytest.mark.parametrize(
    "architecture", ["Gemma2ForCausalLM", "LlamaForCausalLM", "OPTForCausalLM", "Qwen2ForCausalLM"]
)
def test_linear_layers_that_do_not_show_their_bias_leave_the_count_open(architecture: str) -> None:
    """torchao replaces the arguments that Linear layers print, and leaves the bias out."""
    cls = getattr(transformers, architecture)
    with torch.device("meta"):
        real = cls(cls.config_class(num_hidden_layers=2, tie_word_embeddings=False))
    text = re.sub(
        r"(Linear\(in_features=.*), bias=(?:True|False)\)", r"\1, weight=AffineQuantizedTensor(a=(1,)))", str(real)
    )
    assert text != str(real)
    reading = bertcalc.read(text)
    assert reading.num_parameters is None
    without, with_biases = sorted(possible.parameters for possible in reading.possible_counts)
    assert without <= real.num_parameters() <= with_biases
    if architecture in ("Gemma2ForCausalLM", "LlamaForCausalLM"):  # no layer has a bias
        assert real.num_parameters() == without
    assert "if none of the layers whose lines do not show a bias has one" in str(reading)


class Pair(torch.nn.Module):  # type: ignore[misc]  # PyTorch has no types here
    """A class of one's own: two encoders, which may be one module, and a parameter outside the modules."""

    def __init__(self, first: torch.nn.Module, second: torch.nn.Module) -> None:
        super().__init__()
        self.query, self.document = first, second
        self.scale = torch.nn.Parameter(torch.zeros(9, 9))


def _bert() -> Any:
    with torch.device("meta"):
        return transformers.BertModel(transformers.BertConfig(num_hidden_layers=2))


def test_a_class_around_a_known_class_may_have_more_parameters_or_fewer() -> None:
    bert = _bert()
    shared, separate = Pair(bert, bert), Pair(bert, _bert())
    assert str(shared) == str(separate)
    reading = bertcalc.read(str(shared))
    possible = {case.parameters for case in reading.possible_counts}
    counts = {sum(parameter.numel() for parameter in pair.parameters()) for pair in (shared, separate)}
    assert possible == {count - shared.scale.numel() for count in counts}
    assert (reading.num_parameters, reading.is_at_least) == (min(possible), True)
    assert "does not show parameters that Pair has outside its modules" in str(reading)


@pytest.mark.parametrize("wrap", [torch.nn.DataParallel, torch.nn.Sequential, lambda real: real])
def test_known_classes_and_wrappers_have_no_remark(wrap: Callable[[Any], Any]) -> None:
    reading = bertcalc.read(str(wrap(_bert())))
    assert reading.agrees
    assert "does not show parameters" not in str(reading)


def test_all_printed_models_of_a_text_are_named() -> None:
    with torch.device("meta"):
        teacher = transformers.BertModel(transformers.BertConfig())
        student = transformers.DistilBertModel(transformers.DistilBertConfig())
    reading = bertcalc.read(f"Student:\n{student}\n\nTeacher:\n{teacher}")
    assert reading.num_parameters == teacher.num_parameters()
    assert "2 printed models: DistilBertModel, BertModel. Only number 2" in str(reading)
