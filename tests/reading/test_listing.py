"""Listings are read: names and shapes of the real classes, in common formats."""

import json
import re
from collections.abc import Callable, Iterable
from math import prod
from pprint import pformat
from time import process_time
from typing import Any

import peft
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

import bertcalc
from bertcalc import DebertaV2Config, ElectraConfig, EuroBertConfig, ModernBertConfig
from bertcalc.families import FAMILIES
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.reading.listing import listed, names_alone, read_listing
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.documented_formats import AwqConfig, GPTQConfig
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.storage.tensorflow_names import pytorch_tensor
from bertcalc.text.problem import InputError
from tests.adapters import with_peft
from tests.changes.resized import small
from tests.examples import examples, sampled
from tests.oracle import Case
from tests.reading.noise import coloured, in_a_shell, quoted, with_windows_line_ends
from tests.strategies import cases

Row = Callable[[str, Shape], str]
FORMATS: dict[str, Row] = {
    "name and size": lambda name, shape: f"{name} {torch.Size(shape)}",
    "arrows and counts": lambda name, shape: f"{name} -> {torch.Size(shape)} -> {prod(shape)}",
    "thousands": lambda name, shape: f"{name:60}{list(shape)!s:20}{prod(shape):,}",
    "tuples": lambda name, shape: f"{(name, tuple(shape))},",
    "a dictionary": lambda name, shape: f"'{name}': {torch.Size(shape)}",
    "a Markdown table": lambda name, shape: f"| {name} | {list(shape)} | {prod(shape):,} |",
    "words": lambda name, shape: f"Layer: {name} | Size: {torch.Size(shape)} | requires_grad: True",
    "name and shape": lambda name, shape: f"name: {name}, shape: {tuple(shape)}",
    "counts before": lambda name, shape: f"{prod(shape):>12,}  {name}  {tuple(shape)}  torch.float32",
    "without spaces": lambda name, shape: f"{name}\t{str(list(shape)).replace(' ', '')}",
    "crossed": lambda name, shape: f"{name} {'x'.join(map(str, shape))}",
    "crossed in a table": lambda name, shape: f"| `{name}` | {' × '.join(map(str, shape))} | {prod(shape):,} |",
    "crossed after counts": lambda name, shape: f"{prod(shape):>12,}  {name:70} {'×'.join(map(str, shape))}",
    "two lines": lambda name, shape: f"{name}\n    {torch.Size(shape)}",
    "size and name": lambda name, shape: f"{torch.Size(shape)} {name}",
    "tuple and name": lambda name, shape: f"{tuple(shape)}\t{name}",
    "sizes in a table before names": lambda name, shape: f"| {list(shape)} | {name} |",
    "shape, count, name": lambda name, shape: f"  0  {tuple(shape)!s:20} {prod(shape):>12}  {name}",
    "crossed and name": lambda name, shape: f"{'x'.join(map(str, shape))} {name}",
    "two lines, the size first": lambda name, shape: f"{torch.Size(shape)}\n{name}",
    "JSON lines": lambda name, shape: json.dumps({"name": name, "shape": list(shape), "dtype": "float32"}),
    "JSON lines, the size first": lambda name, shape: json.dumps({"shape": list(shape), "name": name}),
    "TorchScript": lambda name, shape: f"%{name} : Float({', '.join(map(str, shape))}, strides=[1], device=cpu)",
    "JSON lines with counts": lambda name, shape: json.dumps({"key": name, "numel": prod(shape), "shape": list(shape)}),
}


SIZES: Any = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 61, "pad_token_id": 0}
EURO: Any = SIZES | {"intermediate_size": 1, "bos_token_id": 0, "eos_token_id": 1, "mask_token_id": 2}
TOKENS: Any = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)
# Models with tensors that the default configuration of their family does not have.
RARE = [
    Case(small("CamembertForMaskedLM").config, "CamembertForMaskedLM"),
    Case(EuroBertConfig(**EURO, attention_bias=True, mlp_bias=True), "EuroBertModel"),
    Case(EuroBertConfig(**EURO, mlp_bias=True, tie_word_embeddings=True), "EuroBertForMaskedLM"),
    Case(ModernBertConfig(**SIZES | TOKENS, classifier_activation="xielu"), "ModernBertForSequenceClassification"),
    Case(ModernBertConfig(**SIZES | TOKENS, classifier_bias=True, decoder_bias=False), "ModernBertForMaskedLM"),
    Case(
        DebertaV2Config(**SIZES, max_position_embeddings=1, relative_attention=True, pos_att_type="c2p|p2c"),
        "DebertaV2ForQuestionAnswering",
    ),
    Case(ElectraConfig(**SIZES, summary_use_proj=False, summary_activation="xielu"), "ElectraForMultipleChoice"),
]


@pytest.mark.parametrize("case", RARE)
@pytest.mark.parametrize("prefix", ["", "module."])
def test_rare_parts_of_a_model_are_recognized(case: Case, prefix: str) -> None:
    check_listed(case, FORMATS["name and size"], prefix)


@given(cases(), st.sampled_from(list(FORMATS.values())), st.sampled_from(["", "module.", "model.", "0.auto_model."]))
@examples(20)
def test_what_a_real_model_lists_is_that_model(case: Case, row: Row, prefix: str) -> None:
    check_listed(case, row, prefix)


def check_listed(case: Case, row: Row, prefix: str) -> None:
    real = case.real()
    text = "\n".join(row(prefix + name, tuple(tensor.shape)) for name, tensor in real.named_parameters())
    reading = bertcalc.read(text, "listing")
    assert sum(tensor.num_parameters() for tensor in reading.tensors) == real.num_parameters()
    # With a size of 1, or with equal sizes, most fields look alike.
    sizes = case.config.hidden_size, case.config.vocab_size
    if min(sizes) > 1 and len({*sizes}) > 1:
        assert reading.agrees
        counts = {reading.num_parameters, *(possible.parameters for possible in reading.possible_counts)}
        assert real.num_parameters() in counts


@pytest.mark.parametrize("name", ["Deberta", "DebertaV2"])
def test_debertas_own_masked_lm_head_is_recognized_by_its_tensors(name: str) -> None:
    config = getattr(transformers, f"{name}Config")(legacy=False, position_biased_input=False)
    with torch.device("meta"):
        real = getattr(transformers, f"{name}ForMaskedLM")(config)
    text = "\n".join(f"{name} {tensor.shape}" for name, tensor in real.named_parameters())
    for written in (text, str(real)):
        reading = bertcalc.read(written)
        assert reading.agrees
        assert reading.model is not None
        assert (reading.model.architecture, reading.num_parameters) == (f"{name}ForMaskedLM", real.num_parameters())


@pytest.mark.parametrize("name", FAMILIES)
def test_every_class_of_every_family_is_recognized_by_its_tensors(name: str) -> None:
    """`make test` checks every third class of each family, by turns."""
    family: Any = FAMILIES[name]
    for cls in sampled(family.classes, 3, begin=[*FAMILIES].index(name)):
        model = Model(
            family.config.default() if not cls.builds_with else family.config(**dict(cls.builds_with)), cls.name
        )
        text = "\n".join(f"{name} {torch.Size(shape)}" for name, shape in model.named_parameters())
        reading = bertcalc.read(text)
        assert reading.kind == "listing"
        assert reading.agrees
        assert reading.num_parameters == model.num_parameters()


@pytest.mark.parametrize("noise", [coloured, in_a_shell, quoted, with_windows_line_ends])
def test_noise_changes_nothing(noise: Callable[[str], str]) -> None:
    model = bertcalc.build("roberta-base", "RobertaForSequenceClassification")
    text = "\n".join(f"{name} {torch.Size(shape)}" for name, shape in model.named_parameters())
    reading = bertcalc.read(noise(text))
    assert reading.model == model


def test_the_family_of_a_published_model_is_told_by_its_sizes() -> None:
    for name in ("roberta-base", "xlm-roberta-base", "ernie-3.0-base-zh"):
        model = bertcalc.build(name)
        reading = bertcalc.read("\n".join(f"{name} {list(shape)}" for name, shape in model.named_parameters()))
        assert reading.model == model


@pytest.mark.parametrize("row", [name for name in FORMATS if name.startswith("crossed")])
def test_shapes_of_one_size_are_read_in_listings_that_join_sizes_by_x(row: str) -> None:
    with torch.device("meta"):
        real = transformers.BertForSequenceClassification(transformers.BertConfig())
    reading = bertcalc.read("\n".join(FORMATS[row](name, tuple(p.shape)) for name, p in real.named_parameters()))
    assert (reading.kind, len(reading.tensors)) == ("listing", len([*real.parameters()]))
    assert reading.agrees
    assert reading.num_parameters == real.num_parameters()


@pytest.mark.parametrize("row", FORMATS)
def test_every_format_shows_the_same_tensors(row: str) -> None:
    with torch.device("meta"):
        real = transformers.BertForTokenClassification(transformers.BertConfig(num_hidden_layers=2))
    shapes = {name: tuple(parameter.shape) for name, parameter in real.named_parameters()}
    reading = bertcalc.read("\n".join(FORMATS[row](name, shape) for name, shape in shapes.items()))
    assert {tensor.name: tensor.shape for tensor in reading.tensors} == shapes
    assert (reading.num_parameters, reading.agrees) == (real.num_parameters(), True)


def test_a_state_dict_has_tied_matrices_twice_and_buffers() -> None:
    real = Case(bertcalc.BertConfig(vocab_size=100), "BertForMaskedLM").real()
    lines = [f"{name}\t{tensor.shape}" for name, tensor in real.state_dict().items()]
    reading = bertcalc.read("\n".join([*lines, "bert.embeddings.position_ids\ttorch.Size([1, 512])"]))
    assert len(lines) > len([*real.parameters()])
    assert reading.agrees
    assert reading.num_parameters == real.num_parameters()
    assert "buffers: bert.embeddings.position_ids" in str(reading)


def test_a_second_matrix_without_a_sign_of_a_state_dict_is_left_open() -> None:
    tied, untied = (
        Model(bertcalc.DistilBertConfig(vocab_size=100, tie_word_embeddings=tie), "DistilBertForMaskedLM")
        for tie in (True, False)
    )
    text = "\n".join(f"{name} {list(shape)}" for name, shape in untied.named_parameters())
    reading = bertcalc.read(text)
    assert [possible.parameters for possible in reading.possible_counts] == [
        tied.num_parameters(),
        untied.num_parameters(),
    ]
    told = bertcalc.read(f"{text}\ntotal: {untied.num_parameters():,}")
    assert (told.num_parameters, told.possible_counts) == (untied.num_parameters(), ())


# Classes of other families, and whether every class with these names ties its head by default.
TYING = {
    **dict.fromkeys(("OPTForCausalLM", "BloomForCausalLM", "XLNetLMHeadModel", "CTRLLMHeadModel"), True),
    **dict.fromkeys(("T5ForConditionalGeneration", "BartForConditionalGeneration", "MarianMTModel"), True),
    **dict.fromkeys(("RoFormerForMaskedLM", "WhisperForConditionalGeneration", "EsmForMaskedLM"), True),
    **dict.fromkeys(("GemmaForCausalLM", "LlamaForCausalLM", "GPTJForCausalLM", "MambaForCausalLM"), False),
}
ROWS: dict[str, Row] = {
    "shapes": lambda name, shape: f"{name} {torch.Size(shape)}",
    "counts": lambda name, shape: f"{name}: {prod(shape):,}",
}


def _of_other_family(architecture: str) -> Any:
    cls = getattr(transformers, architecture)
    vocabulary = {} if architecture == "EsmForMaskedLM" else {"vocab_size": 5_003}
    layers = {"num_hidden_layers": 1, "encoder_layers": 1, "decoder_layers": 1, "pad_token_id": 1}
    tokens = {"eos_token_id": 2, "bos_token_id": 2, "decoder_start_token_id": 2}
    if architecture == "EsmForMaskedLM":
        vocabulary, layers = {"vocab_size": 33}, {"num_hidden_layers": 1, "pad_token_id": 1}
    with torch.device("meta"):
        return cls(cls.config_class(**vocabulary, **layers, **tokens))


@pytest.mark.parametrize("architecture", TYING)
@pytest.mark.parametrize("row", ROWS)
def test_a_shared_matrix_of_any_class_is_counted_once_or_left_open(architecture: str, row: str) -> None:
    real = _of_other_family(architecture)
    count = real.num_parameters()
    listed_twice = {name: tuple(tensor.shape) for name, tensor in real.state_dict().items()}
    reading = bertcalc.read("\n".join(ROWS[row](name, shape) for name, shape in listed_twice.items()), "listing")
    possible = [case.parameters for case in reading.possible_counts]
    if row == "shapes":
        assert count in possible
    if TYING[architecture]:
        assert reading.num_parameters == count
    elif not reading.agrees:
        assert reading.num_parameters is None or (reading.is_at_least and reading.num_parameters <= count)
    once = {name: tuple(tensor.shape) for name, tensor in real.named_parameters()}
    reading = bertcalc.read("\n".join(ROWS[row](name, shape) for name, shape in once.items()), "listing")
    assert count in {reading.num_parameters, *(case.parameters for case in reading.possible_counts)}


def test_the_tables_of_an_encoder_and_a_decoder_are_one() -> None:
    with torch.device("meta"):
        real = transformers.BartModel(transformers.BartConfig(vocab_size=500, encoder_layers=1, decoder_layers=1))
    reading = bertcalc.read("\n".join(f"{name} {tensor.shape}" for name, tensor in real.state_dict().items()))
    assert (reading.num_parameters, reading.possible_counts) == (real.num_parameters(), ())
    assert "same table: shared.weight, encoder.embed_tokens.weight, decoder.embed_tokens.weight" in str(reading)


def test_a_head_of_ones_own_is_named() -> None:
    model = bertcalc.build("roberta-base")
    lines = [f"encoder.{name} {list(shape)}" for name, shape in model.named_parameters()]
    reading = bertcalc.read(
        "\n".join([*lines, "fc1.weight [256, 768]", "fc1.bias [256]", "fc2.weight [2, 256]", "fc2.bias [2]"])
    )
    assert reading.model is not None
    assert reading.model.architecture == "RobertaModel"
    assert [(part.path, part.kind, part.parameters) for part in reading.additional] == [
        ("fc1", "Linear", 196_864),
        ("fc2", "Linear", 514),
    ]
    assert reading.num_parameters == model.num_parameters() + 196_864 + 514


def test_what_is_missing_is_named_once_for_all_layers() -> None:
    model = bertcalc.build("bert-base-uncased")
    lines = [f"{name} {list(shape)}" for name, shape in model.named_parameters() if not name.endswith("query.bias")]
    reading = bertcalc.read("\n".join(lines))
    assert [(part.path, part.modules, part.parameters) for part in reading.missing] == [
        ("encoder.layer.*.attention.self.query", 12, 12 * 768)
    ]
    assert reading.num_parameters == model.num_parameters() - 12 * 768


def test_a_count_that_contradicts_its_shape_is_named() -> None:
    text = "a.weight [3, 4] 12\nb.weight [3, 4] 144\nc.weight torch.Size([30, 40]) -> 1,200"
    assert "b.weight: the text says 144, but its shape has 12 elements" in str(read_listing(text))
    assert str(read_listing(text)).count("the text says") == 1


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a.weight torch.Size([30522, 768])", (30522, 768)),
        ("a.weight [30,522, 768]", (30522, 768)),
        ("a.weight (30522,768)", (30522, 768)),
        ("a.weight (768,)", (768,)),
        ("a.weight [768]", (768,)),
        ("a.weight 30,522 x 768", (30522, 768)),
        ("a.weight 30522×768", (30522, 768)),
        ("a.weight: TensorShape([30522, 768])", (30522, 768)),
        ("a.weight torch.Size([])", ()),
        ("a.weight torch.Size([1, 1, 3072])", (1, 1, 3072)),
    ],
)
def test_a_shape_in_every_spelling(text: str, shape: Shape) -> None:
    assert listed(text).tensors == (("a.weight", shape),)


def test_a_text_without_names_has_no_tensors() -> None:
    assert listed("维度为[vocab_size, hidden_size], [21128, 1024], trainable = 21128*1024").tensors == ()
    assert listed("In [2]:\nmodel\n\n(109482240, 109482240)").tensors == ()
    with pytest.raises(InputError, match="lists no tensors"):
        read_listing("1 [1, 2]")


def google(name: str) -> str:
    """Convert PyTorch's name of a tensor of BERT to Google's (modeling.py of google-research/bert)."""
    path = name.replace(".layer.", "/layer_").replace(".", "/")
    path = re.sub(r"LayerNorm/weight$", "LayerNorm/gamma", path)
    path = re.sub(r"LayerNorm/bias$", "LayerNorm/beta", path)
    path = re.sub(r"_embeddings/weight$", "_embeddings", path)
    path = path.replace("cls/predictions/bias", "cls/predictions/output_bias")
    path = path.replace("cls/seq_relationship/weight", "cls/seq_relationship/output_weights")
    path = path.replace("cls/seq_relationship/bias", "cls/seq_relationship/output_bias")
    return re.sub(r"(dense|query|key|value)/weight$", r"\1/kernel", path)


@pytest.mark.parametrize("row", ["{name}, shape = {shape}", "name: {name}:0, shape: {shape}", "('{name}', {list})"])
def test_a_checkpoint_of_google_is_read(row: str) -> None:
    real = Case(bertcalc.BertConfig(vocab_size=100), "BertForPreTraining").real()
    lines: list[str] = []
    for name, tensor in real.named_parameters():
        path, shape = google(name), tuple(tensor.shape)
        shape = shape[::-1] if path.endswith("kernel") else shape
        variables = (path, f"{path}/adam_m", f"{path}/adam_v")
        lines += [row.format(name=variable, shape=shape, list=list(shape)) for variable in variables]
    reading = bertcalc.read("\n".join([*lines, "global_step, shape = ()"]))
    assert reading.agrees
    assert reading.model == bertcalc.build(bertcalc.BertConfig(vocab_size=100), "BertForPreTraining")
    assert "Variables of the optimizer, which are left out:" in str(reading)


def test_variables_of_keras_are_read() -> None:
    name = "tf_bert_model/bert/encoder/layer_._11/attention/self/query/kernel:0"
    assert pytorch_tensor(name, (3, 4)) == ("bert.encoder.layer.11.attention.self.query.weight", (4, 3))


# The variables of one layer of google/albert_base_v2, which all layers share.
ALBERT = """
bert/embeddings/LayerNorm/beta (128,)
bert/embeddings/LayerNorm/gamma (128,)
bert/embeddings/position_embeddings (512, 128)
bert/embeddings/token_type_embeddings (2, 128)
bert/embeddings/word_embeddings (30000, 128)
bert/encoder/embedding_hidden_mapping_in/bias (768,)
bert/encoder/embedding_hidden_mapping_in/kernel (128, 768)
bert/encoder/transformer/group_0/inner_group_0/LayerNorm/beta (768,)
bert/encoder/transformer/group_0/inner_group_0/LayerNorm/gamma (768,)
bert/encoder/transformer/group_0/inner_group_0/LayerNorm_1/beta (768,)
bert/encoder/transformer/group_0/inner_group_0/LayerNorm_1/gamma (768,)
bert/encoder/transformer/group_0/inner_group_0/attention_1/output/dense/bias (768,)
bert/encoder/transformer/group_0/inner_group_0/attention_1/output/dense/kernel (768, 768)
bert/encoder/transformer/group_0/inner_group_0/attention_1/self/key/bias (768,)
bert/encoder/transformer/group_0/inner_group_0/attention_1/self/key/kernel (768, 768)
bert/encoder/transformer/group_0/inner_group_0/attention_1/self/query/bias (768,)
bert/encoder/transformer/group_0/inner_group_0/attention_1/self/query/kernel (768, 768)
bert/encoder/transformer/group_0/inner_group_0/attention_1/self/value/bias (768,)
bert/encoder/transformer/group_0/inner_group_0/attention_1/self/value/kernel (768, 768)
bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/dense/bias (3072,)
bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/dense/kernel (768, 3072)
bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/output/dense/bias (768,)
bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/output/dense/kernel (3072, 768)
bert/pooler/dense/bias (768,)
bert/pooler/dense/kernel (768, 768)
"""


def test_a_checkpoint_of_albert_is_read() -> None:
    reading = bertcalc.read(ALBERT)
    with torch.device("meta"):
        real = transformers.AlbertModel(
            transformers.AlbertConfig.from_dict(
                {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
            )
        )
    assert reading.agrees
    assert reading.model is not None
    assert reading.num_parameters == reading.model.num_parameters() == real.num_parameters() == 11_683_584


def test_two_switches_of_one_module_are_found() -> None:
    """The decoder agrees only if it is tied and has no bias."""
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = transformers.ModernBertConfig(**sizes, decoder_bias=False)
    with torch.device("meta"):
        real = transformers.ModernBertForMaskedLM(config)
    reading = bertcalc.read("\n".join(f"{name} {tuple(tensor.shape)}" for name, tensor in real.named_parameters()))
    assert reading.agrees
    assert reading.num_parameters == real.num_parameters()


@pytest.mark.parametrize("write", [lambda tensor: tensor.shape, torch.Tensor.numel])
def test_a_separate_decoder_may_share_its_bias_as_in_transformers_4(write: Callable[[Any], Any]) -> None:
    config = transformers.BertConfig(hidden_size=24, num_attention_heads=3, tie_word_embeddings=False)
    with torch.device("meta"):
        real = transformers.BertForMaskedLM(config)
    real.cls.predictions.decoder.bias = real.cls.predictions.bias  # as transformers 4 does
    reading = bertcalc.read("\n".join(f"{name}: {write(tensor)}" for name, tensor in real.named_parameters()))
    assert real.num_parameters() in {possible.parameters for possible in reading.possible_counts}


@pytest.mark.parametrize(
    "name", ["BertForMaskedLM", "DistilBertModel", "RobertaForTokenClassification", "ElectraModel"]
)
def test_a_part_of_a_listing_is_not_a_model(name: str) -> None:
    kind = re.split("For|Model", name)[0]
    with torch.device("meta"):
        real = getattr(transformers, name)(getattr(transformers, f"{kind}Config")())
    rows = [f"{name} {tensor.shape}" for name, tensor in real.named_parameters()]
    for part in (rows[:-3], rows[4:], rows[20:60]):
        reading = bertcalc.read("\n".join(part))
        is_said = "some of its tensors are not in the text" in str(reading)
        assert is_said or (reading.model is not None and not reading.agrees)


@pytest.mark.parametrize("name", ["XLMRoberta", "Camembert"])
def test_the_head_is_what_may_be_tied(name: str) -> None:
    with torch.device("meta"):
        real = getattr(transformers, f"{name}ForMaskedLM")(getattr(transformers, f"{name}Config")())
    assert "if lm_head.decoder.weight is tied to the word embeddings" in str(bertcalc.read(str(real)))


COUNTS: dict[str, Callable[[str, int], str]] = {
    "a colon": lambda name, count: f"{name}: {count:,}",
    "columns": lambda name, count: f"{name:60} {count:>12}",
    "a Markdown table": lambda name, count: f"| `{name}` | {count:,} |",
    "prettytable": lambda name, count: f"| {name:^60} | {count:^10} |",
}


@pytest.mark.parametrize("around", ["{}", "FrozenDict({})", "{{'params': {}}}"])
@pytest.mark.parametrize("is_flax", [True, False], ids=["flax", "torch"])
@pytest.mark.parametrize("write", [str, pformat, json.dumps])
def test_nested_shapes_are_a_listing(write: Callable[[Any], str], is_flax: bool, around: str) -> None:
    config = transformers.BertConfig(hidden_size=60, num_attention_heads=4, num_hidden_layers=2, intermediate_size=77)
    with torch.device("meta"):
        real = transformers.BertModel(config)
    tree: dict[str, Any] = {}
    for name, tensor in real.named_parameters():
        *path, last = name.split(".")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        shape = tuple(tensor.shape)
        if is_flax and last == "weight":  # the names and shapes of Flax
            last = "embedding" if len(path) == 2 and tensor.dim() == 2 and path[0] == "embeddings" else "kernel"
            last = last if tensor.dim() == 2 else "scale"
            shape = shape[::-1] if last == "kernel" else shape
        branch[last] = shape
    reading = bertcalc.read(around.format(write(tree)))
    assert reading.agrees
    assert reading.num_parameters == real.num_parameters()


@pytest.mark.parametrize("indent", [None, 1])
def test_pairs_of_names_and_shapes_are_read(indent: int | None) -> None:
    with torch.device("meta"):
        real = transformers.BertModel(transformers.BertConfig())
    pairs = [(name, tuple(tensor.shape)) for name, tensor in real.named_parameters()]
    assert bertcalc.read(json.dumps(pairs, indent=indent)).num_parameters == real.num_parameters()


@pytest.mark.parametrize("write", [list, dict])
def test_a_printed_list_of_counts_is_read(write: Callable[[Any], Any]) -> None:
    with torch.device("meta"):
        real = transformers.BertModel(transformers.BertConfig())
    text = str(write((name, tensor.numel()) for name, tensor in real.named_parameters()))
    assert bertcalc.read(text).num_parameters == real.num_parameters()


def _listed_counts(real: Any, row: Callable[[str, int], str]) -> str:
    return "\n".join(row(name, tensor.numel()) for name, tensor in real.named_parameters())


@given(cases(), st.sampled_from(list(COUNTS.values())), st.sampled_from(["", "module.", "0.auto_model."]))
@examples(20)
def test_a_list_of_counts_has_the_sum_of_the_real_model(
    case: Case, row: Callable[[str, int], str], prefix: str
) -> None:
    real = case.real()
    text = _listed_counts(real, lambda name, count: row(prefix + name, count))
    reading = bertcalc.read(text, "listing")
    assert (reading.kind, sum(tensor.num_parameters() for tensor in reading.tensors)) == (
        "listing",
        real.num_parameters(),
    )
    counts = {reading.num_parameters, *(possible.parameters for possible in reading.possible_counts)}
    assert real.num_parameters() in counts


@pytest.mark.parametrize("row", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("name", ["Bert", "DistilBert", "Electra", "Albert", "MPNet", "ModernBert", "DebertaV2"])
def test_names_and_counts_determine_the_sizes(name: str, row: Callable[[str, int], str]) -> None:
    sizes: Any = {"vocab_size": 1000, "hidden_size": 24, "intermediate_size": 72, "num_hidden_layers": 1}
    if name == "DistilBert":
        sizes = {"vocab_size": 1000, "dim": 24, "hidden_dim": 72, "n_layers": 1, "n_heads": 4}
    config = getattr(transformers, f"{name}Config")(
        **sizes, **({} if name == "DistilBert" else {"num_attention_heads": 4, "pad_token_id": 0})
    )
    with torch.device("meta"):
        real = getattr(transformers, f"{name}ForMaskedLM")(config)
    text = f"{_listed_counts(real, row)}\nTotal Trainable Params: {real.num_parameters()}"
    reading = bertcalc.read(text)
    assert reading.agrees
    assert reading.model is not None
    config = reading.model.config
    assert (config.vocab_size, config.hidden_size, config.intermediate_size) == (1000, 24, 72)
    assert real.num_parameters() in {reading.num_parameters, *(count.parameters for count in reading.possible_counts)}
    assert "wrong" not in str(reading)


def test_a_list_of_counts_of_another_model_has_only_its_sum() -> None:
    with torch.device("meta"):
        real = transformers.T5ForConditionalGeneration(transformers.T5Config())
    reading = bertcalc.read(_listed_counts(real, COUNTS["a colon"]))
    assert (reading.kind, reading.model, reading.num_parameters) == ("listing", None, real.num_parameters())


def test_a_hand_count_with_an_error_stays_a_hand_count() -> None:
    text = "embeddings.word_embeddings.weight: 23,440,896\npooler.dense.weight: 589,824\npooler.dense.bias: 769"
    assert bertcalc.read(text).kind == "hand-count"


@pytest.mark.parametrize("written", [str, "\n".join, list], ids=["odict_keys", "lines", "a list"])
@pytest.mark.parametrize("name", ["BertForSequenceClassification", "BertForMaskedLM", "DistilBertModel"])
def test_names_without_shapes_show_the_class_and_the_layers(name: str, written: Callable[[Any], Any]) -> None:
    cls: Any = getattr(transformers, name)
    with torch.device("meta"):
        real = cls(cls.config_class())
    reading = bertcalc.read(str(written(real.state_dict().keys())))
    assert (reading.kind, reading.model, reading.num_parameters) == ("listing", None, None)
    layers = real.config.num_hidden_layers
    assert f"The names belong to {name} with {layers} layers." in str(reading)
    assert "Names alone show no sizes" in str(reading)


def test_parameters_of_a_model_with_lora_are_those_of_its_base_and_the_adapter() -> None:
    small = transformers.BertConfig(vocab_size=90, hidden_size=24, num_hidden_layers=2, num_attention_heads=2)
    lora = peft.LoraConfig(r=2, target_modules=["query"], task_type="SEQ_CLS")
    with torch.device("meta"):
        real = with_peft(transformers.BertForSequenceClassification(small), lora)
    reading = bertcalc.read("\n".join(f"{name} {tuple(tensor.shape)}" for name, tensor in real.named_parameters()))
    assert reading.num_parameters == sum(tensor.numel() for tensor in real.parameters())
    assert not reading.missing
    assert reading.model is not None
    assert reading.model.architecture == "BertForSequenceClassification"
    assert reading.model.num_parameters() == bertcalc.load(small, "BertForSequenceClassification").num_parameters()
    assert {part.path.split(".")[-2] for part in reading.additional} == {"lora_A", "lora_B", "modules_to_save"}


def safetensors_header(tensors: Iterable[StoredTensor]) -> str:
    entries, end = {}, 0
    for tensor in tensors:
        start, end = end, end + tensor.num_bytes()
        entries[tensor.name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, end]}
    return json.dumps(entries)


QUANTIZED = [
    BitsAndBytesConfig(load_in_8bit=True),
    BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"),
    BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True),
    GPTQConfig(),
    AwqConfig(),
]


@pytest.mark.parametrize("quantization", QUANTIZED, ids=str)
def test_a_quantized_file_has_the_parameters_of_its_model(quantization: QuantizationFormat) -> None:
    """tests/storage compares these layouts with files that the libraries wrote."""
    model = bertcalc.load("bert-base-uncased", "BertForSequenceClassification")
    stored = [piece.tensor for piece in quantization.pieces(model, "F16") if piece.in_file]
    listing = "\n".join(f"{tensor.name} {torch.Size(tensor.shape)}" for tensor in stored)
    for text, kind in ((safetensors_header(stored), "safetensors-header"), (listing, "listing")):
        reading = bertcalc.read(text)
        assert reading.kind == kind
        assert reading.num_parameters == Case.of(model).real().num_parameters()
        assert reading.agrees
        assert "Quantized weights: 7" in str(reading)


def test_packed_weights_without_a_bias_keep_their_count() -> None:
    """The shapes are those that bitsandbytes 0.50 stores. The order of GPTQ's columns may be missing."""
    nf4 = "q.weight torch.Size([294912, 1])\nq.weight.absmax torch.Size([9216])\nq.weight.quant_map torch.Size([16])"
    gptq = "a.qweight [512, 4096]\na.qzeros [32, 512]\na.scales [32, 4096]"
    assert bertcalc.read(nf4, "listing").num_parameters == 768 * 768
    assert bertcalc.read(gptq, "listing").num_parameters == 4096 * 4096


def test_integer_tensors_of_a_header_are_no_parameters() -> None:
    ids, table = StoredTensor("text_model.embeddings.numbers", "I64", (1, 77)), StoredTensor("table", "F32", (100, 8))
    reading = bertcalc.read(safetensors_header([ids, table]))
    assert reading.num_parameters == 800
    assert "Not counted, because they are buffers: text_model.embeddings.numbers." in str(reading)


@pytest.mark.parametrize("place", ["optimizer.", "optimizer_state_dict.", ""])
@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD, torch.optim.Adadelta, torch.optim.Adamax])
def test_the_states_of_an_optimizer_are_no_parameters(place: str, optimizer: Any) -> None:
    """The listing is a checkpoint with the states that PyTorch keeps after a step."""
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 9}
    real = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=50, **size))
    steps = optimizer(real.parameters(), **({"momentum": 0.9} if optimizer is torch.optim.SGD else {}))
    real(torch.ones(1, 4, dtype=torch.long)).logits.sum().backward()
    steps.step()
    lines = [f"model.{name} {tuple(tensor.shape)}" for name, tensor in real.state_dict().items()]
    for number, states in steps.state_dict()["state"].items():
        for name, state in states.items():
            if name != "step" or place:
                lines.append(f"{place}state.{number}.{name} {tuple(state.shape)}")
    reading = bertcalc.read("\n".join(lines))
    assert reading.kind == "listing"
    assert reading.num_parameters == real.num_parameters()
    assert reading.agrees


def _batch() -> dict[str, torch.Tensor]:
    """Return the inputs and outputs of a real forward pass on the meta device."""
    with torch.device("meta"):
        real = transformers.BertForSequenceClassification(transformers.BertConfig(num_hidden_layers=2))
        inputs = {name: torch.zeros(5, 128, dtype=torch.long) for name in ("input_ids", "attention_mask")}
        outputs = real(inputs["input_ids"], output_hidden_states=True)
    return {**inputs, "sequence_output": outputs.hidden_states[-1], "logits": outputs.logits, "loss": torch.zeros(())}


@pytest.mark.parametrize(
    "row", ["{name} shape: {shape}", "{name}.shape: {shape}", "{name} size = {shape}", "{name} {shape}"]
)
def test_the_shapes_of_a_batch_are_refused(row: str) -> None:
    batch = _batch()
    with pytest.raises(InputError, match="which have no parameters"):
        bertcalc.read("\n".join(row.format(name=name, shape=tensor.shape) for name, tensor in batch.items()), "listing")
    bare = "\n".join(str(batch[name].shape) for name in ("input_ids", "attention_mask", "sequence_output"))
    for text in (bare, bare.replace("\n", " ")):
        with pytest.raises(InputError, match="shapes have no names, and nothing shows"):
            bertcalc.read(text, "listing")


def test_the_shapes_of_parameters_need_no_names() -> None:
    with torch.device("meta"):
        real = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1))
    shapes = [parameter.shape for parameter in real.parameters()]
    for text in (
        str(shapes),
        "\n".join(map(str, shapes)),
        "\n".join(f"Shape of tensor {at}: {shape}" for at, shape in enumerate(shapes)),
    ):
        assert bertcalc.read(text, "listing").num_parameters == real.num_parameters()


@pytest.mark.parametrize("architecture", ["XLNetModel", "Wav2Vec2Model", "LayoutLMv3Model", "ViTMAEModel"])
@pytest.mark.parametrize("row", ["{name} {count}", "{name}: {count:,}", "| `{name}` | {count:,} |"])
def test_names_without_a_dot_are_counted(architecture: str, row: str) -> None:
    cls = getattr(transformers, architecture)
    with torch.device("meta"):
        real = cls(cls.config_class(num_hidden_layers=1))
    counts = {name: tensor.numel() for name, tensor in real.named_parameters()}
    assert any("." not in name for name in counts) or architecture == "ViTMAEModel"
    lines = [row.format(name=name, count=count) for name, count in counts.items()]
    for text in ("\n".join(lines), "\n".join([*lines, f"Total: {sum(counts.values()):,}"])):
        assert bertcalc.read(text, "listing").num_parameters == sum(counts.values())


def test_scalars_are_counted_in_every_spelling() -> None:
    with torch.device("meta"):
        real = transformers.CLIPModel(transformers.CLIPConfig())
    for spelled in (torch.Size, tuple, list):
        text = "\n".join(f"{name} {spelled([*tensor.shape])}" for name, tensor in real.named_parameters())
        assert bertcalc.read(text).num_parameters == real.num_parameters()


# llama.cpp's names of BERT's tensors; it lists the sizes of a tensor in reverse.
GGUF = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
    "encoder.layer.": "blk.",
}
GGUF_ROWS: dict[str, Callable[[int, str, Shape], str]] = {
    "names, types and sizes": lambda _number, name, shape: f"{name} f32 {list(shape)}",
    "the loader": lambda number, name, shape: (
        f"llama_model_loader: - tensor {number:4d}: {name:>32s} f16 "
        f"[ {', '.join(f'{size:5d}' for size in (*shape, 1, 1, 1)[:4])} ]"
    ),
    "gguf_dump": lambda number, name, shape: (
        f"{number:7d}: {prod(shape):10d} | {', '.join(f'{size:5d}' for size in (*shape, 1, 1, 1)[:4])} | F16 | {name}"
    ),
}


@pytest.mark.parametrize("row", GGUF_ROWS.values(), ids=GGUF_ROWS)
def test_a_listing_of_llama_cpp_has_the_total_of_bert(row: Callable[[int, str, Shape], str]) -> None:
    with torch.device("meta"):
        model = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)
    lines = []
    for number, (name, tensor) in enumerate(model.named_parameters()):
        for part, called in GGUF.items():
            name = name.replace(f"{part}.", f"{called}.") if not part.endswith(".") else name.replace(part, called)
        lines.append(row(number, name, tuple(reversed(tensor.shape))))
    reading = bertcalc.read("\n".join(lines))
    assert (reading.kind, reading.num_parameters) == ("listing", model.num_parameters())
    one = bertcalc.read("blk.0.attn_q.weight f32 [768, 768]")
    assert (one.kind, one.num_parameters) == ("listing", model.encoder.layer[0].attention.self.query.weight.numel())


UER = {
    "embeddings.word_embeddings": "embedding.word.embedding",
    "embeddings.position_embeddings": "embedding.pos.embedding",
    "embeddings.token_type_embeddings": "embedding.seg.embedding",
    "encoder.layer.": "encoder.transformer.",
    "attention.self.query": "self_attn.linear_layers.0",
    "attention.self.key": "self_attn.linear_layers.1",
    "attention.self.value": "self_attn.linear_layers.2",
    "attention.output.dense": "self_attn.final_linear",
    "intermediate.dense": "feed_forward.linear_1",
    "output.dense": "feed_forward.linear_2",
}


def test_a_listing_of_uer_has_the_total_of_bert() -> None:
    with torch.device("meta"):
        model = transformers.BertModel(transformers.BertConfig(vocab_size=21128, type_vocab_size=3), False)
    lines = []
    for name, tensor in model.named_parameters():
        for part, called in UER.items():
            name = name.replace(part, called)
        name = name.replace("LayerNorm.weight", "layer_norm.gamma").replace("LayerNorm.bias", "layer_norm.beta")
        lines.append(f"{name} {tensor.shape}")
    reading = bertcalc.read("\n".join(lines))
    assert (reading.kind, reading.num_parameters) == ("listing", model.num_parameters())


@pytest.mark.parametrize("piece", ["a-", "a--", "'a", "a.b-"])
def test_names_in_a_text_four_times_as_long_take_about_four_times_as_long(piece: str) -> None:
    def duration(times: int) -> float:
        start = process_time()
        names_alone(piece * times)
        return process_time() - start

    # Linear growth takes 4 times as long, and quadratic growth 16 times; 50 ms is the noise of a busy machine.
    assert min(duration(20_000) for _ in range(3)) < 10 * min(duration(5_000) for _ in range(3)) + 0.05


def test_two_listings_are_not_one_model() -> None:
    with torch.device("meta"):
        models = (
            transformers.BertModel(transformers.BertConfig()),
            transformers.DistilBertModel(transformers.DistilBertConfig()),
        )
    both = "\n".join(f"{name} {tuple(value.shape)}" for model in models for name, value in model.named_parameters())
    names = [{name for name, _value in model.named_parameters()} for model in models]
    reading = bertcalc.read(both)
    assert reading.is_at_least
    assert f"{len(names[0] & names[1])} tensors are listed more than once: if" in str(reading)
    first = "\n".join(f"{name} {tuple(value.shape)}" for name, value in models[0].named_parameters())
    twice = bertcalc.read(f"{first}\n\n{first}")
    assert (twice.num_parameters, twice.is_at_least) == (models[0].num_parameters(), False)


@pytest.mark.parametrize(
    "text",
    [
        "self.emb = nn.Embedding(1000, 64)\nself.fc = nn.Linear(64, 10)",
        "import torch.nn as nn\nemb = torch.nn.Linear(784, 256)\nfc = torch.nn.Linear(256, 10)\n",
        'from transformers import pipeline\npipe = pipeline("translation", model="Helsinki-NLP/opus-mt-en-de")',
        "class Net(nn.Module):\n    def __init__(self):\n        self.emb = nn.Embedding(30522, 768)\n",
    ],
)
def test_a_program_without_a_known_model_is_neither_a_listing_nor_bert(text: str) -> None:
    """The arguments of nn.Linear are no shape: its bias would be left out."""
    with pytest.raises(InputError):
        bertcalc.read(text)
    assert not listed(text).tensors


def test_a_shape_behind_a_class_of_shapes_is_one() -> None:
    assert [shape for _name, shape in listed("word.weight = torch.Size([30522, 768])").tensors] == [(30522, 768)]
