"""Pasted text is recognised, or refused with one message, within a time limit."""

import json
import re
import time
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model
from safetensors.torch import save
from torch import zeros
from transformers import BertConfig, BertModel

import bertcalc
from bertcalc.__main__ import main
from bertcalc.families import hf_json
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.reading.config_text import config_in
from bertcalc.reading.explained import is_hand_count
from bertcalc.reading.published_name import presets_called
from bertcalc.reading.read_text import kind_of
from bertcalc.reading.text_reading import KIND_NAMES, KINDS
from bertcalc.text.problem import InputError
from tests.diagnosis.planted import planted
from tests.examples import crossed
from tests.oracle import Case
from tests.reading.hostile import HOSTILE

BERT = bertcalc.build("bert-base-uncased")
PRINTED, LISTED = str(BERT), "\n".join(f"{name} {list(shape)}" for name, shape in BERT.named_parameters())
ARTICLE = """# How large is BERT?

BERT-base has 12 layers with a hidden size of 768. Its vocabulary has 30,522 word pieces, so the word embeddings take
30522 × 768 = 23,440,896 parameters. Together that makes about 110M, as the paper by Devlin et al. says."""
SENTENCES = """BERT-base has 12 layers and a hidden size of 768.
The word embeddings have 30,522 x 768 = 23,440,896 parameters.
One encoder layer therefore has 7,087,872 parameters.
The whole model has 109,482,240 parameters."""
SHAPES = """**Embeddings.** The vocabulary has 30522 tokens, so the matrix has 30522 x 768 = 23,440,896 parameters.

**Self-attention.** Each head is small. The three matrices of a layer have 3 x 768 x 768 = 1,769,472 parameters."""
HEADER = json.dumps({"a.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {}})
ADAPTER = {"peft_type": "LORA", "r": 8, "target_modules": ["query", "value"], "bias": "none"}
PEFT = "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700"  # peft 0.21, LoRA on BERT-base
KIND_OF = {
    "110M": "number",
    "437.9 MB": "number",
    "109,482,240": "number",
    "12 * 7087872": "calculation",
    "12*(4*H*H + 9*H)": "calculation",
    "words = 30522*768\npooler = 768*768 + 768": "hand-count",
    "embeddings = 23837184\nlayers = 12*7087872\ntotal = 108891648": "hand-count",
    ARTICLE: "article",
    SENTENCES: "article",
    SHAPES: "article",
    "BERT-base有12层。\n词嵌入有30522×768=23440896个参数。\n12层共有85054464个参数。": "article",
    "BERT-base\n- Vocabulary: 30,522\n- Hidden size: 768\n- Pooler: 590,592\n- Total: 109,482,240": "article",
    "1. Hidden size:  768\n*  layers: 12\nPooler = 590,592": "article",
    "notes\nembeddings: 23.4M\nBERT-large: 340M\nRoBERTa: 125M\ntotal: 110M": "article",
    "| Model | Params |\n|---|---|\n| BERT-tiny | 4.4M |\n| BERT-mini | 11.2M |\n| BERT-base | 110M |": "article",
    "Num examples = 3,668\nNum epochs = 3\nNumber of trainable parameters = 109,483,778": "article",
    "词嵌入：23440896；位置嵌入：393216。每层7087872，12层：85054464；总计：109482240。": "article",
    "词嵌入 30522×768=23,440,896，位置 512×768=393,216，每层 7,087,872，共 108,890,112。": "article",
    "words 30522*768=23,440,896, positions 512*768=393,216, layers 85,054,464": "article",
    "W1 = 768*3072, b1 = 3072": "hand-count",
    "h = 768\nattn = 4 * h * h + 4 * h\ntotal = 12 * attn\nprint(total)": "program",
    "H = 768\nattention = 4 * H * H + 4 * H": "hand-count",
    "mBERT has 178M parameters, of which 91.8M are word embeddings; XLM-R has 278M.": "article",
    "笔记\n12层：85054464\n总计：109482240\n大小：438MB": "article",
    PEFT: "peft-line",
    f">>> model.print_trainable_parameters()\n{PEFT}\n": "peft-line",
    f"We train LoRA adapters on BERT-base.\n{PEFT}": "article",
    hf_json.write(BERT): "config",
    PRINTED: "printed-model",
    f"Here is my model:\n\n{PRINTED}\n\nHow many parameters does it have?": "printed-model",
    LISTED: "listing",
    HEADER: "safetensors-header",
    '{"weight_map": {"a": "model-00001-of-00002.safetensors"}, "metadata": {"total_size": 16}}': "safetensors-index",
    json.dumps(ADAPTER): "adapter-config",
    '{"tokenizer_class": "BertTokenizer", "do_lower_case": true}': "other-file",
    '{"_from_model_config": true, "transformers_version": "5.23.0"}': "other-file",
    '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]': "other-file",
    '{"nbformat": 4, "cells": []}': "article",
}


@pytest.mark.parametrize("sign", ["×", "∗", "✕", "✖", "⨯"])
def test_every_sign_for_a_product_is_read(sign: str) -> None:
    assert bertcalc.read(f"30522 {sign} 768").kind == "calculation"
    assert bertcalc.read(f"pooler = 768 {sign} 768 + 768\ntokens = 30522{sign}768").detail.typed == 590_592 + 23_440_896
    assert f"30522 {sign} 768" in bertcalc.read(ARTICLE.replace("×", sign)).detail.text


@pytest.mark.parametrize(("text", "kind"), KIND_OF.items(), ids=range(len(KIND_OF)))
def test_the_kind_of_a_text_is_recognized(text: str, kind: str) -> None:
    reading = bertcalc.read(text)
    assert reading.kind == kind
    assert str(reading).startswith("Read as: ")


@pytest.mark.parametrize("text", [*KIND_OF, "1e+5", "1.1·10^8", "V", "which vocabulary gives 1e+8?"])
def test_a_text_is_read_as_the_kind_that_is_recognized(text: str) -> None:
    assert kind_of(text, BERT) == bertcalc.read(text).kind


def test_lines_of_spaces_take_no_time() -> None:
    times = []
    for text in ("word " * 96 + "b 2\n", " " * 480 + "b 2\n"):
        before = time.perf_counter()
        with suppress(InputError):
            kind_of(text * 8, BERT)
        times.append(time.perf_counter() - before)
    assert times[1] < 100 * times[0] + 1  # backtracking over the spaces took a minute


def test_the_line_that_peft_prints_names_the_adapter() -> None:
    reading = bertcalc.read(PEFT)
    assert "BertForSequenceClassification with Lora(r=8" in str(reading)
    assert "0.2700 %" in str(bertcalc.read(PEFT.replace("0.2700", "0.3700")))
    with pytest.raises(InputError, match="not a line printed by peft"):
        bertcalc.read(ARTICLE, "peft-line")


def test_every_kind_has_a_name() -> None:
    assert tuple(KIND_NAMES) == KINDS


def test_the_kind_can_be_chosen() -> None:
    text = f"{ARTICLE}\n\n```\n{PRINTED}\n```"
    for kind in ("article", "printed-model"):
        assert bertcalc.read(text, kind).kind == kind
    with pytest.raises(InputError, match="no printed PyTorch model"):
        bertcalc.read("110M", "printed-model")
    with pytest.raises(InputError, match="kind"):
        bertcalc.read("110M", "prints")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "architecture"),
    [
        ("bert-base-uncased", "BertModel"),
        ("google-bert/bert-base-uncased", "BertModel"),
        ("https://huggingface.co/google-bert/bert-base-uncased", "BertModel"),
        ("huggingface.co/bert-base-uncased/tree/main", "BertModel"),
        ("AutoModel.from_pretrained('bert-base-uncased')", "BertModel"),
        ('model = BertForMaskedLM.from_pretrained("bert-base-uncased", num_labels=2)', "BertForMaskedLM"),
    ],
)
def test_the_name_of_a_published_model_is_that_model(text: str, architecture: str) -> None:
    reading = bertcalc.read(text)
    assert reading.model == bertcalc.load("bert-base-uncased", architecture)
    assert reading.num_parameters == Case.of(reading.model).real().num_parameters()
    assert str(reading.sentence) == "Read as: the name of a published model, bert-base-uncased."


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("bert base uncased", "bert-base-uncased"),
        ("RoBERTa large", "roberta-large"),
        ("gpt-2", "gpt2"),
        ("the ALBERT base v2 model", "albert-base-v2"),
        ("bert base chinese模型", "bert-base-chinese"),
        ("mBERT", "bert-base-multilingual-cased"),
    ],
)
def test_a_name_in_another_spelling_is_that_model(text: str, preset: str) -> None:
    reading = bertcalc.read(text)
    assert reading.model == bertcalc.load(preset)
    assert reading.num_parameters == Case.of(reading.model).real().num_parameters()


@pytest.mark.parametrize(
    ("text", "presets"),
    [
        ("BERT large", ["bert-large-uncased", "bert-large-cased", "bert-large-chinese"]),
        ("DistilBERT", [f"distilbert-base-{kind}" for kind in ("uncased", "cased", "multilingual-cased")]),
        ("XLM-R", ["xlm-roberta-base", "xlm-roberta-large"]),
        ("RoBERTa?", ["roberta-base", "roberta-large"]),
        ("MiniLM的参数量", ["all-MiniLM-L6-v2", "all-MiniLM-L12-v2"]),
    ],
)
def test_a_name_that_fits_several_models_asks_which(text: str, presets: list[str]) -> None:
    reading = bertcalc.read(text)
    assert (reading.kind, reading.num_parameters) == ("config", None)
    counts = [Case.of(bertcalc.load(preset)).real().num_parameters() for preset in presets]
    assert [possible.parameters for possible in reading.possible_counts] == counts
    assert all(f"if {preset} is meant" in str(reading) for preset in presets)
    assert presets_called(text) == tuple(presets)


@pytest.mark.parametrize("text", ["T5-base", "Llama-2-7b", "TinyBERT"])
def test_the_name_of_a_model_without_sizes_asks_for_its_config(text: str) -> None:
    with pytest.raises(InputError, match=f"bertcalc does not have the sizes of {text}: paste its"):
        bertcalc.read(text)


@pytest.mark.parametrize("text", ["nobody/has-this", "https://huggingface.co/nobody/has-this"])
def test_a_repository_without_sizes_asks_for_its_config(text: str) -> None:
    with pytest.raises(InputError, match=re.escape("bertcalc does not have the sizes of nobody/has-this: paste its")):
        bertcalc.read(text)


@pytest.mark.parametrize(
    "text", ["", "   \n", "?", "hello", "(((", "a.b", "AutoTokenizer.from_pretrained('bert-base-uncased')"]
)
def test_what_is_nothing_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="cannot recognize this"):
        bertcalc.read(text)


@pytest.mark.parametrize(
    "text",
    [
        "hidden_size: [64, 128]\nnum_attention_heads: [2, 4]\ndropout: [1, 2]",
        "stacks.0.hidden_size: [512, 1024, 2048]\nstacks.0.num_blocks: [2, 4, 8]",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x768 and 512x2)",
        "flattened_patches torch.Size([1, 1024, 770])\nattention_mask torch.Size([1, 1024])\nlabels torch.Size([1])",
        "input_ids: torch.Size([8, 128])\nextra: torch.Size([8, 128])",
        "input_ids torch.Size([4, 512])\nbbox torch.Size([4, 512, 4])\nstart_positions torch.Size([4])",
    ],
)
def test_numbers_in_brackets_are_not_always_shapes_of_parameters(text: str) -> None:
    with pytest.raises(InputError, match=r"cannot recognize this|shapes of a batch"):
        bertcalc.read(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fc.weight torch.Size([2, 768])", "Read as: a listing of one tensor."),
        ("Embedding(2, 768)", "Read as: a printed PyTorch model (Embedding), one line."),
    ],
)
def test_one_of_a_kind_is_in_the_singular(text: str, sentence: str) -> None:
    assert str(bertcalc.read(text).sentence) == sentence


def test_a_number_is_explained_against_a_model() -> None:
    assert "109,482,240 is the count of BertModel with pooler." in str(bertcalc.read("109,482,240"))
    roberta = bertcalc.build("roberta-base")
    assert "the count of RobertaModel with pooler" in str(bertcalc.read("124,645,632", model=roberta))


def test_a_model_that_was_read_has_all_methods() -> None:
    model = bertcalc.read(PRINTED).model
    assert isinstance(model, bertcalc.Model)
    assert (model.flops(1, 128), model.formula("encoder.layer.*")) == (
        BERT.flops(1, 128),
        BERT.formula("encoder.layer.*"),
    )


def test_a_config_is_the_model_that_it_describes() -> None:
    for name in ("roberta-base", "albert-base-v2", "gpt2"):
        model = bertcalc.build(name)
        assert bertcalc.read(hf_json.write(model)).model == model
    with pytest.raises(InputError, match="clip"):
        bertcalc.read('{"model_type": "clip", "hidden_size": 4096}')


def test_the_header_of_a_real_file_is_read() -> None:
    tensors = {
        name: zeros(shape) for name, shape in bertcalc.build(bertcalc.BertConfig(50, 8, 2, 1, 12)).named_parameters()
    }
    data = save(tensors)
    header = data[8 : 8 + int.from_bytes(data[:8], "little")].decode()
    reading = bertcalc.read(header)
    assert (reading.kind, reading.agrees) == ("safetensors-header", True)
    assert reading.num_parameters == sum(tensor.numel() for tensor in tensors.values())


@pytest.mark.parametrize(("dtype", "count"), [("float32", "{:,} elements of 4 bytes"), ("float16", "or {:,} of 2")])
def test_the_index_of_real_shards_says_how_many_numbers_they_have(dtype: str, count: str, tmp_path: Path) -> None:
    model = BertModel(BertConfig(vocab_size=50, hidden_size=8, num_hidden_layers=2, num_attention_heads=1))
    model.to(getattr(torch, dtype)).save_pretrained(tmp_path, max_shard_size=3000)
    index = (tmp_path / "model.safetensors.index.json").read_text()
    assert count.format(sum(tensor.numel() for tensor in model.parameters())) in str(bertcalc.read(index))


@pytest.mark.parametrize(("lines", "is_hand"), [("layers", True), ("layers\nheads of it", False)])
def test_a_hand_count_has_values_in_most_of_its_lines(lines: str, is_hand: bool) -> None:
    text = f"embeddings = 23,837,184\npooler = 590,592\n{lines}"
    assert is_hand_count(text, Model(bertcalc.BertConfig())) is is_hand


def test_two_sizes_without_braces_are_no_configuration() -> None:
    assert config_in("hidden_size: 128\nnum_hidden_layers: 2") == "hidden_size: 128\nnum_hidden_layers: 2"


def test_an_adapter_is_counted_with_its_model() -> None:
    """PEFT itself counts 12 x 2 x 8 x (768 + 768) for these targets."""
    reading = bertcalc.read(json.dumps({**ADAPTER, "base_model_name_or_path": "google-bert/bert-base-uncased"}))
    assert reading.num_parameters == 109_482_240 + 294_912
    assert bertcalc.read(json.dumps(ADAPTER)).num_parameters is None


def test_a_dense_layer_of_sentence_transformers_is_counted() -> None:
    text = '{"in_features": 768, "out_features": 512, "bias": true, "activation_function": "torch.nn.Tanh"}'
    assert bertcalc.read(text).num_parameters == 768 * 512 + 512


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *product(HOSTILE, [None]),
        *crossed(4, HOSTILE, ["printed-model", "listing", "torchinfo", "keras-summary"]),
    ],
)
def test_no_text_takes_long(name: str, kind: Any) -> None:
    text = HOSTILE[name]()[:1_000_000]
    start = time.process_time()
    with suppress(InputError):
        bertcalc.read(text, kind)
    assert time.process_time() - start < 20


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(InputError, match="at most 1,000,000"):
        bertcalc.read("a" * 1_000_001)


_PIECES = [
    "BertModel(",
    "  (a): Linear(in_features=2, out_features=3, bias=True)",
    "(0-11): 12 x BertLayer(",
    ")",
    "...",
]
_PIECES += [
    "a.weight [2, 3]",
    "bert/kernel (3, 4)",
    "Layer (type)  Param #",
    "├─Linear: 1-1  [1] 5",
    "Total params: 5",
    "{",
]
_PIECES += [
    "LayerNorm((",
    "Embedding(",
    "(LayerNorm): LayerNorm((768,), eps=",
    "12*H",
    "x = 3",
    "\x1b[1m",
    "```",
    "(1)",
    "\t",
]


@given(st.lists(st.sampled_from(_PIECES) | st.text(max_size=20), max_size=12), st.sampled_from([None, *KINDS]))
def test_no_text_raises_anything_but_a_sentence(pieces: list[str], kind: Any) -> None:
    with suppress(InputError):
        reading = bertcalc.read("\n".join(pieces), kind)
        assert str(reading).startswith("Read as: ")
        assert (reading.num_parameters or 0) >= 0


def test_the_command_line_reads_a_file_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.txt"
    path.write_text(PRINTED, encoding="utf-8")
    assert main(["read", str(path)]) == 0
    assert "109,482,240 parameters" in capsys.readouterr().out
    with path.open(encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["read", "-", "--kind", "listing"]) == 2
    assert "lists no tensors" in capsys.readouterr().err
    assert main(["read", str(tmp_path / "none")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    path.write_bytes(b"\xff\xfe")
    assert main(["read", str(path)]) == 2
    assert "not UTF-8" in capsys.readouterr().err
    assert "read" not in PRESETS


def test_a_hand_count_says_what_is_wrong_and_what_is_missing() -> None:
    text = """embeddings: 23,837,184
attention: 12*4*768*768 = 28,311,552
FFN: 12*(2*768*3072 + 768 + 3072) = 56,669,184
LayerNorms of the layers: 36,864
Total: 108,854,784"""
    _read_as, counted, *corrections = str(bertcalc.read(text)).split("\n")
    assert counted.startswith("4 of 5 lines are right. They sum to 108,854,784;")  # the total equals the sum
    assert corrections == [
        "attention: 28,348,416 is right for attention of all 12 layers. "
        "The mistake: the biases of the attention are left out.",
        "Not counted: pooler.dense.weight, pooler.dense.bias (590,592 parameters).",
    ]


@pytest.mark.parametrize(
    "line",
    [
        *("{part} = {count:,}", "{part}: {count:,}", "{part}：{count}", "{part} {count:,}", "| {part} | {count:,} |"),
        *(
            "The {part} has {count:,} parameters.",
            "{part}共{count}个参数",
            "number of parameters in {part} = {count:,}",
        ),
    ],
)
@pytest.mark.parametrize(
    ("preset", "architecture", "part", "tensors"),
    [
        ("bert-large-uncased", "BertModel", "encoder", "^encoder"),
        ("roberta-base", "RobertaModel", "word embeddings", "word_embeddings"),
        ("distilbert-base-uncased", "DistilBertModel", "前馈网络", r"layer.0.ffn"),
        ("gpt2", "GPT2Model", "c_attn", r"h.0.attn.c_attn"),
        ("deberta-v3-base", "DebertaV2Model", "word embeddings", "word_embeddings"),
    ],
)
def test_one_line_about_a_part_is_judged_by_the_given_model(
    preset: str, architecture: str, part: str, tensors: str, line: str
) -> None:
    count = planted(preset, architecture, f"only {tensors}")
    model = bertcalc.load(preset, architecture)
    assert f"is right: {count:,} is the count" in str(bertcalc.read(line.format(part=part, count=count), model=model))
    wrong = str(bertcalc.read(line.format(part=part, count=count + 1037), model=model))
    assert f": {count:,} is right for" in wrong


@pytest.mark.filterwarnings("ignore")  # warnings of peft and transformers
def test_an_article_without_a_name_is_about_the_given_model() -> None:
    """peft itself trains r rows and r columns for each of the matrices."""
    large, text = bertcalc.load("bert-large-uncased"), "LoRA with r=16 on query and value trains {count:,} parameters."
    peft = get_peft_model(Case.of(large).real(), LoraConfig(r=16, target_modules=["query", "value"]))
    count, _all = peft.get_nb_trainable_parameters()
    assert [claim.verdict for claim in bertcalc.read(text.format(count=count), model=large).detail.claims] == ["right"]
    [claim] = bertcalc.read(text.format(count=count // 2), model=large).detail.claims
    assert (claim.verdict, claim.right_value) == ("wrong", count)
    about_base = bertcalc.read("The word embeddings: 23,440,896. All layers: 85,054,464. Pooler: 590,592.", model=large)
    assert about_base.model == BERT  # its numbers fit BERT-base


@pytest.mark.parametrize(
    ("calculation", "result", "words"),
    [
        ("12*768*768*12", "84934656", "matrices of all 12 layers"),
        ("12*2*8*(768+768)", "294,912", "Lora(r=8"),
        ("109482240 * 4", "437,928,960", "bytes in float32"),
        ("109,482,240 × 16 bytes", "1.75 GB", "Adam"),
        ("30522 × 768 × 2 bytes", "46.9 MB", "word embeddings (bytes in 16 bits"),
        ("32*12*512*512*4", f"{torch.empty(32, 12, 512, 512, device='meta').nbytes:,} bytes", "attention scores"),
        ("12*512*512*4 bytes", f"{torch.empty(12, 512, 512, device='meta').nbytes}", "1 × 12 heads × 512 × 512 × 4"),
        ("6*109482240*1000000", "6.57e14", "no simple explanation"),
    ],
)
def test_a_calculation_with_its_result_is_explained(calculation: str, result: str, words: str) -> None:
    for text in (f"{calculation} = {result}", calculation):
        reading = bertcalc.read(text)
        assert reading.kind == "calculation"
        assert words in str(reading) or "=" not in text
        assert "The calculation gives" not in str(reading)
    wrong = bertcalc.read(f"{calculation} = 123,456")
    assert "The calculation gives" in str(wrong.notes[0])


def test_lines_with_names_of_their_own_are_a_hand_count_of_the_given_model() -> None:
    large = bertcalc.load("bert-large-uncased")
    text = "emb = 30522*1024+512*1024+2*1024\nblock = 12*1024*1024+13*1024\ntotal = emb + 24*block"
    counted = planted("bert-large-uncased", "BertModel", "- pooler, - embeddings.LayerNorm")
    reading = str(bertcalc.read(text, model=large))
    assert f"2 of 3 lines are right. They sum to {counted:,}" in reading
    assert "the LayerNorm of the embeddings is left out; the pooler is left out" in reading
    assert "is right: " in str(bertcalc.read("c_fc: 2,362,368", model=bertcalc.load("gpt2")))


def test_titles_and_sizes_above_a_hand_count_are_not_its_lines() -> None:
    text = "My count\nvocab 30522, hidden 768, layers 12, heads 12\nembeddings: 23,837,184\nlayers: 85,054,464\n"
    assert "3 of 3 lines are right. They sum to 109,482,240;" in str(bertcalc.read(f"{text}pooler: 590,592"))
    assert "4 of 4 lines are right" in str(bertcalc.read("BERT-base: L=12, H=768, A=12, total = 110M"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("12 heads x 8192 x 8192 x 2 bytes", "1 × 12 heads × 8,192 × 8,192 × 2 bytes"),
        ("W_Q = 768 x 768 = 589,824\nW_O = 768 x 768\nW_1 = 768 x 3072", "3 of 3 lines are right"),
        ("heads: 12 x 3 x (768x64+64) = 1,771,776\nW_O: 768x768+768", "2 of 2 lines are right"),
        ("12 layers x (4 x 768 x 768 + 2 x 768 x 3072) = 85M params", "matrices of all 12 layers"),
        ("query.weight 768 x 768\nquery.bias 768", "Read as: a listing"),
    ],
)
def test_a_product_with_the_letter_x_is_no_shape(text: str, words: str) -> None:
    assert words in str(bertcalc.read(text))


LINES = "embeddings 23,837,184\nencoder 85,054,464\npooler 590,592\n"


@pytest.mark.parametrize(
    ("line", "architecture", "labels"),
    [
        ("classifier 768*3+3 = 2,307", "BertForSequenceClassification", 3),
        ("classifier = 768*2 + 2", "BertForSequenceClassification", 2),
        ("NSP head 768*2+2=1538", "BertForNextSentencePrediction", 2),
    ],
)
def test_a_hand_count_with_a_head_is_of_a_class_with_this_head(line: str, architecture: str, labels: int) -> None:
    real = Case(replace(PRESETS["bert-base-uncased"].config, num_labels=labels), architecture).real()
    total = sum(parameter.numel() for parameter in real.parameters())
    reading = str(bertcalc.read(f"{LINES}{line}\ntotal {total:,}"))
    assert f"5 of 5 lines are right. They sum to {total:,}; {architecture} has {total:,} parameters." in reading
    assert "5 of 5 lines are right" not in str(bertcalc.read(f"{LINES}{line.replace('768', '786')}\ntotal {total:,}"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-109482240", "is negative"),
        ("1/0", "divides by zero"),
        ("1/2", "not a whole number"),
        ("9" * 60, "too large"),
        ("30522*(768", "unclosed parenthesis"),
        ("9**9**9**9", "too large"),
        ("768*", "incomplete"),
    ],
)
def test_a_number_that_is_no_count_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        bertcalc.read(text)


@pytest.mark.parametrize(
    ("architecture", "has_labels"), [("BertForMaskedLM", False), ("BertForTokenClassification", True)]
)
def test_the_number_of_labels_is_written_only_for_a_class_that_has_them(architecture: str, has_labels: bool) -> None:
    sizes = str(bertcalc.read(json.dumps({"model_type": "bert", "architectures": [architecture], "num_labels": 5})))
    assert ("C = 5" in sizes) is has_labels


@pytest.mark.parametrize("names", [["BertForMaskedLM"], ["BertForPreTraining", "BertForMaskedLM"]])
def test_a_count_beside_a_class_is_of_this_class(names: list[str]) -> None:
    counts = [Case.of(bertcalc.load("bert-base-uncased", name)).real().num_parameters() for name in names]
    reading = bertcalc.read("\n".join(f"{name}: {count:,}" for name, count in zip(names, counts, strict=True)))
    assert reading.kind == "article"
    assert [claim.verdict for claim in reading.detail.claims] == ["right"] * len(names)


@pytest.mark.parametrize("text", ["{count:,} × 4 B", "{count} * 4 B = 437.9 MB", "{count}*4B"])
def test_a_width_of_parameters_is_in_bytes(text: str) -> None:
    count = Case.of(BERT).real().num_parameters()
    reading = bertcalc.read(text.format(count=count))
    assert f"{4 * count:,} bytes" in str(reading)
    assert "parameter count of BertModel with pooler" in str(reading)
