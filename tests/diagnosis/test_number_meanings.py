"""The meanings of a typed number, in sentences. The references are real files, real adapters and published figures."""

import re
from dataclasses import replace

import pytest
import torch

import bertcalc
from bertcalc import BertConfig, InputError
from bertcalc.families.presets import PRESETS
from tests.diagnosis.planted import planted, real_tensors
from tests.oracle import Case

BERT = bertcalc.load("bert-base-uncased")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("85,054,464", "85,054,464 is the count of all 12 layers."),
        # Sizes of the real files on the Hub: model.safetensors and pytorch_model.bin of bert-base-uncased.
        ("440,449,768 bytes", "A safetensors file of BertForPreTraining, decoder tied, in float32"),
        (
            "440473133 bytes",
            "Close to the size of a PyTorch file (.bin) of BertForPreTraining, decoder tied, in float32",
        ),
        # pytorch_model.bin of roberta-base, saved by a release in which the language model had a pooler.
        ("501,200,538 bytes", "a PyTorch file (.bin) of RobertaForMaskedLM, decoder tied, with a pooler"),
        # model.safetensors of albert-base-v2, converted from a release in which the decoder had its own bias.
        ("47,372,894 bytes", "A safetensors file of AlbertForMaskedLM, decoder tied, with a pooler"),
        ("47,372,894 bytes", "with a second decoder bias"),
        # pytorch_model.bin and model.safetensors of gpt2, with the causal masks in float32.
        ("548,118,077 bytes", "a PyTorch file (.bin) of GPT2LMHeadModel, decoder tied, with the layers' causal masks"),
        ("548,105,171 bytes", "A safetensors file of GPT2Model, with the layers' causal masks: 12,582,912"),
        # model.safetensors of all-MiniLM-L6-v2, with position_ids of eight bytes each.
        ("90,868,376 bytes", "A safetensors file of BertModel with pooler, with 512 position_ids"),
        ("1,610,612,736 bytes", "The attention scores of one layer: 1 × 12 heads × 8,192 × 8,192 × 2 bytes."),
        ("12*8192*8192*2 bytes", "The attention scores of one layer: 1 × 12 heads × 8,192 × 8,192 × 2 bytes."),
        ("109,483,009", "109,483,009 is the count of BertForSequenceClassification with one label"),
        ("220 million", "220 million is twice the count of BertModel with pooler."),
        ("109,482,752", "BertModel with pooler, with 512 position_ids, a buffer in files of older releases."),
        ("which vocabulary gives 102,267,648?", "With vocab_size = 21,128, BertModel has 102,267,648 parameters."),
        ("what hidden size gives 109,482,240?", "With hidden_size = 768, BertModel has 109,482,240 parameters."),
        ("which vocabulary gives 1e8?", "No value of vocab_size gives 1e8: with 18,175"),
        ("which hidden size gives 1e13?", "There is no simple explanation for 1e13."),
        ("what hidden size gives 1?", "No value of hidden_size gives 1: with 12"),
        ("which vocabulary gives 229,503,472?", "No value of vocab_size gives 229,503,472: with 186,800"),
        (
            "108,495,360",
            "should be 109,482,240 for BertModel with pooler: the LayerNorm of the embeddings is left out",
        ),
        ("123,456,789", "There is no simple explanation for 123,456,789."),
    ],
)
def test_a_text_is_explained_in_sentences(text: str, sentence: str) -> None:
    assert sentence in str(BERT.explain(text))


def test_macs_of_deepspeed_today_have_scores_and_context() -> None:
    # Printed by DeepSpeed's profiler for 16 sequences of 128 tokens.
    text = str(bertcalc.load("bert-base-cased").explain("178.79 GMACs"))
    assert "a batch of 16 × 128 tokens" in text
    assert "DeepSpeed" in text


def test_the_convention_of_a_cost_is_said_in_words() -> None:
    text = str(BERT.explain("22.4 GFLOPs"))
    assert "(forward; PyTorch's count with all element-wise operations): 22.45 GFLOPs" in text
    assert "by all:" not in text


def test_the_size_of_another_models_file_is_no_count() -> None:
    text = str(BERT.explain("1,340,000,000 bytes"))
    assert "another model: bert-large-uncased (bytes in float32" in text
    assert "is the count of another model: " not in text


def test_a_rounded_number_only_may_mean_a_count_and_ours_comes_first() -> None:
    first, *others = map(str, BERT.explain("110M").sentences)
    assert first == "110M may be the count of BertModel with pooler: 109,482,240."
    assert all(" may be " in other for other in others)
    assert str(BERT.explain("85M")).startswith("85M may be the count of all 12 layers: 85,054,464.")
    assert "66M may be the count of another model: distilbert-base-uncased." in str(BERT.explain("66M"))


def test_a_part_comes_before_adapters_that_have_its_count_by_chance() -> None:
    assert str(BERT.explain("4*H^2")).startswith("4*H^2 is the count of matrices of the attention of one layer.")


def test_another_model_is_no_mistake_in_ours() -> None:
    assert str(BERT.explain("335,141,888")) == "335,141,888 is the count of another model: bert-large-uncased."


def test_a_pickle_without_its_unit_is_the_last_resort() -> None:
    assert "PyTorch file (.bin) of BertForPreTraining" in str(BERT.explain("440,473,133"))
    assert "PyTorch file" not in str(BERT.explain("109,482,240"))
    assert "PyTorch file" not in str(BERT.explain("108,891,648"))


def test_a_text_without_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="not a valid amount"):
        BERT.explain("hello")


def test_an_integer_is_explained_by_its_mistakes() -> None:
    assert [cause.miscount for [cause] in [BERT.explain(108_891_648)[0]]] == ["pooler"]


@pytest.mark.parametrize(
    ("architecture", "number", "cause"),
    [
        # ELECTRA's masked language model of this size has the same count with an untied decoder.
        (
            "BertForMaskedLM",
            "132,955,194",
            "a separate decoder matrix is counted, although the decoder is tied to the word embeddings",
        ),
        # 12 H² for each layer, and the embedding tables: also the count of all matrices of electra-base.
        (
            "BertModel",
            "108,770,304",
            "no LayerNorm is counted; the pooler is left out",
        ),
    ],
)
def test_a_usual_mistake_comes_before_a_part_or_another_class_of_another_model(
    architecture: str, number: str, cause: str
) -> None:
    first, *_more = str(bertcalc.load("bert-base-uncased", architecture).explain(number)).splitlines()
    assert first.endswith(f"{cause}.")


def test_nothing_is_called_missing_that_a_model_has() -> None:
    """DeBERTa has matrices for queries and keys of positions. Only the keys' matrices have no bias."""
    model = bertcalc.load("microsoft/deberta-base")
    text = str(model.explain(f"{model.num_parameters() + 12 * 768:,}"))
    assert "biases of query, key and value are counted, but this model has none there" in text
    assert "positions" not in text


@pytest.mark.parametrize(
    ("number", "causes"),
    [
        # The matrices of the layers with all embedding tables, and with the word embeddings alone.
        (30522 * 768 + 512 * 768 + 12 * (4 * 768**2 + 2 * 768 * 3072), ("token type embeddings", "the pooler")),
        (30522 * 768 + 12 * 12 * 768**2, ("the position embeddings", "token type embeddings", "the pooler")),
    ],
)
def test_all_causes_are_named(number: int, causes: tuple[str, ...]) -> None:
    explained = str(BERT.explain(number))
    assert all(cause in str(bertcalc.read(f"{number:,}")) for cause in causes), explained


def test_the_class_of_another_model_is_named() -> None:
    assert "another model: gpt2." in str(bertcalc.read("124,439,808"))
    assert "another model: gpt2 as GPT2LMHeadModel, decoder untied." in str(bertcalc.read("163,037,184"))
    assert "distilbert-base-uncased as DistilBertForSequenceClassification." in str(bertcalc.read("66,955,010"))
    # torchinfo counts BertForMaskedLM's tied decoder twice. This is likelier than an ELECTRA with an untied decoder.
    first, *_others, last = str(bertcalc.read("132,955,194")).split("\n")[1:]
    assert first.startswith("132,955,194 should be 109,514,298 for BertForMaskedLM, decoder tied: a separate decoder")
    assert last.endswith("another model: electra-base-discriminator as ElectraForMaskedLM, decoder untied.")


@pytest.mark.parametrize("line", ["=" * 40, ""])
def test_the_totals_below_a_summary_are_one_number(line: str) -> None:
    """The totals are in torchinfo's format, for a classifier with a frozen base model."""
    totals = ("Total params: 109,483,778", "Trainable params: 1,538", "Non-trainable params: 109,482,240")
    sizes = ("Input size (MB): 0.00", "Forward/backward pass size (MB): 104.00", "Params size (MB): 437.94")
    reading = bertcalc.read("\n".join((line, *totals, line, *sizes, line)))
    assert reading.kind == "number"
    assert "BertForSequenceClassification" in str(reading)


def test_a_size_in_a_question_is_no_count() -> None:
    real = Case(BertConfig(hidden_size=1024, num_attention_heads=16), "BertModel").real().num_parameters()
    for text in ("If hidden size = 1024, how many parameters?", "how many parameters with a hidden size of 1,024?"):
        assert str(BERT.explain(text)) == f"With hidden_size = 1,024, BertModel has {real:,} parameters."
    words = planted("bert-base-uncased", "BertModel", "- word_embeddings, + 50000*768")
    assert f"With vocab_size = 50,000, BertModel has {words:,}" in str(bertcalc.read("词表大小是50,000，有多少参数？"))


@pytest.mark.parametrize("preset", ["bert-base-uncased", "distilbert-base-uncased"])
def test_labels_are_solved_for_in_the_class_that_has_them(preset: str) -> None:
    name = bertcalc.load(preset).architecture.removesuffix("Model") + "ForSequenceClassification"
    real = Case(replace(PRESETS[preset].config, num_labels=9), name).real().num_parameters()
    text = str(bertcalc.load(preset).explain(f"how many labels give {real:,}?"))
    assert text == f"With num_labels = 9, {name} has {real:,} parameters."
    assert "does not depend on num_attention_heads" in str(BERT.explain("how many heads give 110,000,000?"))


@pytest.mark.parametrize(
    ("text", "r"),
    [("589,824 trainable", 16), ("1,179,648", 32), ("which rank gives 589,824?", 16), ("可训练参数 294,912", 8)],
)
def test_trained_parameters_are_those_of_an_adapter(text: str, r: int) -> None:
    """peft adds r rows and r columns to each matrix."""
    names = real_tensors("bert-base-uncased", "BertModel")
    number = sum(r * (768 + 768) for name in names if re.search("(query|value).weight", name))
    assert f"{number:,}" in text
    assert f"Lora(r={r}, target_modules=['query', 'value'])" in str(bertcalc.read(text)).split("\n")[1]


def test_bitfit_trains_all_biases() -> None:
    number = planted("bert-base-uncased", "BertModel", "only bias$")
    assert "the count of all biases and betas" in str(BERT.explain(f"{number:,}"))
    assert "trains with BitFit" in str(bertcalc.read(f"{number:,} trainable")).split("\n")[1]


@pytest.mark.parametrize(
    ("change", "part"), [("only word_embeddings", "word embeddings"), (r"only layer\.0\.", "one layer")]
)
def test_rounded_bytes_are_those_of_a_part(change: str, part: str) -> None:
    count = planted("bert-base-uncased", "BertModel", change)
    text = str(BERT.explain(f"{4 * count / 10**6:.1f} MB"))
    assert f"{part}: {count:,} (bytes in float32" in text
    assert " may be the count of " not in text  # bytes are no number of parameters


def test_rounded_bytes_may_be_those_of_a_buffer() -> None:
    scores = torch.empty(1, 12, 8192, 8192, dtype=torch.float16, device="meta").nbytes
    assert "1 × 12 heads × 8,192 × 8,192 × 2 bytes" in str(BERT.explain(f"{scores / 10**9:.2f} GB"))
    assert "bytes in 4 bits" in str(BERT.explain(f"{BERT.num_parameters() / 2 / 10**6:.1f} MB"))


@pytest.mark.parametrize(
    ("preset", "change", "part", "mistake"),
    [
        ("bert-base-uncased", "only layer, - LayerNorm.*(weight|bias)", "all 12 layers", "LayerNorms of the layers"),
        ("bert-base-uncased", r"only layer\.0\., - LayerNorm", "one layer", "LayerNorms of the layers"),
        ("bert-base-uncased", "only embeddings, - position", "embeddings", "position embeddings"),
        ("bert-base-uncased", "only encoder, 11* self.(query|key|value)", "all 12 layers", "full hidden size"),
        (
            "bert-base-uncased",
            "only self.(query|key|value).weight, 11* self",
            "query, key and value",
            "full hidden size",
        ),
        ("albert-base-v2", "only layers, 11* layers", "layers", "although all layers share them"),
    ],
)
def test_a_part_with_a_mistake_is_explained_without_its_name(preset: str, change: str, part: str, mistake: str) -> None:
    model = bertcalc.load(preset)
    text = str(model.explain(f"{planted(preset, model.architecture, change):,}"))
    assert re.search(f" for {part}.*{mistake}", text)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("768*3072", "intermediate.dense.weight of one layer"),
        ("768×768", "attention.self.query.weight of one layer"),
        ("7.09M", "one layer: 7,087,872"),
        ("1,179,648", "Lora(r=32"),
    ],
)
def test_the_likeliest_part_comes_first(text: str, first: str) -> None:
    assert first in str(BERT.explain(text)).split("\n")[0]


@pytest.mark.parametrize("text", ["我算出来是109,445,376", "我算的是109445376，哪里错了"])
def test_a_number_is_read_between_chinese_words(text: str) -> None:
    number = planted("bert-base-uncased", "BertModel", "- attention.*(query|key|value|dense).bias")
    assert number == 109_445_376
    assert "the biases of the attention are left out" in str(bertcalc.read(text))


def test_no_bias_is_missing_that_a_model_does_not_have() -> None:
    assert not any("down_proj.bias" in name for name in real_tensors("EuroBERT-210m", "EuroBertModel"))
    number = planted("EuroBERT-210m", "EuroBertModel", "- down_proj")
    text = str(bertcalc.load("EuroBERT-210m").explain(f"{number:,}"))
    assert "second matrix" in text
    assert "and its bias" not in text


def test_a_small_number_of_trained_parameters_is_read() -> None:
    distil, peft = bertcalc.load("distilbert-base-uncased"), 6 * 2 * 4 * (768 + 768)  # r = 4 for two matrices
    assert "Lora(r=4, target_modules=['q_lin', 'v_lin'])" in str(
        bertcalc.read(f"{peft:,} trainable parameters", model=distil)
    )
    large = bertcalc.load("bert-large-uncased")
    assert "Lora(r=16" in str(large.explain(f"{24 * 2 * 16 * 2048:,}")).split("\n")[0]
    euro = bertcalc.load("EuroBERT-210m")
    assert str(euro.explain("3*768*3072")).startswith("3*768*3072 is the count of feed-forward of one layer.")
