"""The model that a text is about."""

import pytest
from transformers import GPT2Config

from bertcalc.families.presets import PRESETS
from bertcalc.proofreading.find_subject import read
from bertcalc.proofreading.mentions.contexts import TableRow
from bertcalc.proofreading.proofread import proofread


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("wte: 38,597,376, wpe: 786,432", "gpt2"),
        ("Each GPT2Attention has 2,362,368", "gpt2"),
        ("词表 50257，隐藏层 768，共 12 层", "gpt2"),
        ("In all 66,362,880; the tables have 23,835,648. Unlike ALBERT, it shares nothing.", "distilbert-base-uncased"),
        ("It has six layers of 768 numbers", "bert-base-uncased"),
    ],
)
def test_a_model_that_is_not_named_is_known_by_its_numbers(text: str, preset: str) -> None:
    assert read(text).preset == preset


@pytest.mark.parametrize(
    ("text", "preset", "sizes"),
    [
        ("BERT-base and its sizes", "bert-base-uncased", {"vocab_size": 30522}),
        (r"BERT$_{LARGE}$", "bert-large-uncased", {"num_hidden_layers": 24}),
        ("GPT-2 small", "gpt2", {"vocab_size": 50257}),
        ("XLM-R large", "xlm-roberta-large", {"hidden_size": 1024}),
        ('BERT-base: {"vocab_size": 21128, "hidden_size": 768}', "bert-base-uncased", {"vocab_size": 21128}),
        ("bert: V=21128, 隐藏层 1024", "bert-large-chinese", {"vocab_size": 21128, "num_hidden_layers": 24}),
        ("[vocab_size, hidden_size], [21128, 1024]", "bert-large-chinese", {"hidden_size": 1024}),
        ("bert-base: 21128*768 = 16226304", "bert-base-uncased", {"vocab_size": 21128}),
        ("hidden_size=256, num_hidden_layers=4 of BERT", "bert_uncased_L-4_H-256_A-4", {"intermediate_size": 1024}),
    ],
)
def test_names_and_sizes_are_read(text: str, preset: str, sizes: dict[str, int]) -> None:
    subject = read(text)
    assert subject.preset == preset
    assert subject.model is not None
    assert not subject.assumed
    assert {field: getattr(subject.model.config, field) for field in sizes} == sizes


def test_a_text_without_a_model_is_assumed_to_be_about_bert_base() -> None:
    assert read("It has 110M parameters.").assumed


@pytest.mark.parametrize(
    "text",
    [
        "ChatGLM-6B has 28 layers.",
        "Qwen2.5-7B with LoRA: 2.8M",
        "The cache of Qwen3-0.6B",
        "Gemma 2 27B",
        "Phi-3 and Falcon-40B",
        "OPT-175B: 350 GB",
        "Training a 7B model takes 84 GB.",
        "A 70B-parameter LLM with 80 layers and 8 KV heads",
        "一个 13B 参数的模型需要 26 GB",
        "7B模型的权重：14 GB",
        "A 70B with 80 layers and 8 KV heads",
        "Adam needs 16 bytes a parameter, for 7B and 70B.",
        "# Memory of Qwen2.5-7B\n\nUnlike BERT, it has a gate.",
    ],
)
def test_a_text_about_other_models_is_about_none(text: str) -> None:
    assert read(text).model is None


@pytest.mark.parametrize("text", ["Phi = 3 and yi = 2", "It takes 7B", "The 1B tokens of the data", "the bartender"])
def test_words_that_look_alike_name_no_model(text: str) -> None:
    assert read(text).assumed


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("GPT-2 1.5B", "gpt2-xl"),
        ("GPT-2 774M", "gpt2-large"),
        ("gpt2-medium", "gpt2-medium"),
        ("GPT-2 has 1.5B", "gpt2"),
        ("Mistral 7B", "mistral-7b"),
        ("Llama 3.3 70B", "llama-3-70b"),
        ("LLaMA-7B: 524,288 + 2,359,296, and 75,497,472; with 786,432 and 1,024", "llama-7b"),
    ],
)
def test_the_size_in_a_name_says_which_model_it_is(text: str, preset: str) -> None:
    assert read(text).preset == preset


def test_a_model_of_another_size_is_not_the_one_that_is_counted() -> None:
    mentions = read("Llama 3 8B is larger than Llama 3.2 11B, and Llama was the first.").mentions
    assert [mention.preset for mention in mentions] == ["llama-3-8b", "", "llama-3-8b"]


def test_the_size_in_millions_is_a_claim_although_it_is_part_of_a_name() -> None:
    assert [claim.verdict for claim in proofread("GPT-2 774M").claims] == ["right"]


def test_a_line_that_names_a_model_is_about_it() -> None:
    text = "BERT-base. BERT-base.\nRoBERTa-base has 124,645,632.\nIt has 109,482,240."
    subject = read(text)
    roberta, bert = (subject.model_at(text.index(count), line) for count, line in (("124", 1), ("109,", 2)))
    assert roberta is not None
    assert roberta.num_parameters() == 124_645_632
    assert bert is not None
    assert bert.num_parameters() == 109_482_240


@pytest.mark.parametrize(
    ("text", "count", "total"),
    [
        ("DistilBERT has 6 of the 12 layers of BERT-base. It has 66M.", "66M", 66_362_880),
        ("DistilBERT is small. Its layers, unlike those of BERT-base: 85M", "85M", 109_482_240),
        ("BERT-base and bert-large-uncased\n\nlarge: 335M", "335M", 335_141_888),
    ],
)
def test_a_sentence_goes_on_about_its_subject(text: str, count: str, total: int) -> None:
    start = text.index(count)
    line = text.count("\n", 0, start)
    model = read(text).model_at(start, line, [text.split("\n")[line]])
    assert model is not None
    assert model.num_parameters() == total


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("BERT-base! BERT-base!\n## GPT-2\nattention\nIt has", 124_439_808),
        ("BERT-base! BERT-base!\n\nQ2: And DistilBERT?\n\nIt has", 66_362_880),
        ("BERT-base! BERT-base!\n## GPT-2\nIt is nice.\n## Size\nIt has", 109_482_240),
        ("BERT-base!\n\nHow many parameters (Large)?\n\nIt has", 335_141_888),
        ("BERT-base!\n## Large\n### Details\nIt has", 335_141_888),
        ("BERT-base!\n## Large\n## Summary\nIt has", 109_482_240),
        ("RobertaForMaskedLM is a class.\n\nIt has", 124_645_632),
        ("A bert-large-uncased in BertForMaskedLM: it has", 335_141_888),
    ],
)
def test_a_heading_or_a_class_names_the_model(text: str, total: int) -> None:
    model = read(text).model_at(len(text), text.count("\n"), ["It has"])
    assert model is not None
    assert model.num_parameters() == total


@pytest.mark.parametrize(
    ("label", "preset"),
    [("large", "bert-large-uncased"), ("Tiny model", "bert_uncased_L-2_H-128_A-2"), ("base", "bert-base-uncased")],
)
def test_a_label_may_be_only_the_size_of_a_model(label: str, preset: str) -> None:
    model = read("\nbert-base-uncased").model_at(0, 0, [label])
    assert model is not None
    assert model.config == PRESETS[preset].config


def test_a_size_that_the_family_does_not_have_is_no_model() -> None:
    assert read("\nroberta-base").model_at(0, 0, ["tiny"]) is None


@pytest.mark.parametrize(
    ("row", "preset"),
    [
        (TableRow(("total", "66M"), ("", "DistilBERT"), "DistilBERT"), "distilbert-base-uncased"),
        (TableRow(("8", "512", "8", "41M"), ("L", "H", "A", "params"), "params"), "bert_uncased_L-8_H-512_A-8"),
        (TableRow(("total", "335M"), ("", "Large"), "Large"), "bert-large-uncased"),
        (TableRow(("total", "110M"), ("", "Parameters"), "Parameters"), "bert-base-uncased"),
    ],
)
def test_a_column_or_the_sizes_of_a_row_name_the_model(row: TableRow, preset: str) -> None:
    subject = read("bert-base-uncased and bert-base-uncased")
    model = subject.model_in_table(row, subject.model)
    assert model is not None
    assert model.config == PRESETS[preset].config


def test_sizes_that_contradict_the_named_model_are_told() -> None:
    assert read("BERT-base with hidden_size = 1024").differing() == {"hidden_size": (1024, 768)}
    assert read("BERT-base with hidden_size = 768").differing() == {}
    report = proofread("BERT-base with hidden_size = 1024")
    assert "The text gives hidden_size = 1,024, but bert-base-uncased has 768: 1,024 is used." in str(report)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BERT-base (6 layers)", "num_hidden_layers = 6, but bert-base-uncased has 12: 6 is used."),
        ("BERT-base 有 6 层", "num_hidden_layers = 6, but bert-base-uncased has 12: 6 is used."),
        ("BERT-base (10 layers): 95M", "num_hidden_layers = 10, but bert-base-uncased has 12: 10 is used."),
        ("BERT-base with 24 layers: 110M", "num_hidden_layers = 24, but bert-base-uncased has 12: 12 is used."),
        ("BERT-base, hidden size 1024: 109,482,240", "hidden_size = 1,024, but bert-base-uncased has 768: 768 is"),
    ],
)
def test_the_counted_size_is_told_where_a_text_contradicts_its_model(text: str, message: str) -> None:
    assert f"The text gives {message}" in str(proofread(text))


@pytest.mark.parametrize(
    "text",
    ["BERT-base (12 layers)", "BERT-base: the first 6 layers", "DistilBERT: 6 of the 12 layers of BERT-base"],
)
def test_other_numbers_of_layers_contradict_nothing(text: str) -> None:
    assert not read(text).differing()


def test_the_layers_of_a_model_without_a_name_are_read() -> None:
    subject = read("A BERT-like encoder has 4 layers, hidden size 256 and intermediate size 1024, vocabulary 30522.")
    assert subject.preset == "bert_uncased_L-4_H-256_A-4"


@pytest.mark.parametrize(
    "text",
    [
        "XLM-R-base: 278M, as BERT-base. The large version has 560M",
        "In total: 124.4M for GPT-2 and 109.5M for BERT-base",
        "From BERT-base to BERT-large\n\n- total: 109.5M → 335.1M",
    ],
)
def test_a_number_belongs_to_the_model_that_its_sentence_means(text: str) -> None:
    assert [claim.verdict for claim in proofread(text).claims] == ["right", "right"]


def test_a_model_with_sizes_of_no_bert_is_assumed() -> None:
    assert read("a transformer with d_model = 512, V = 37000").assumed


def test_a_line_about_a_matrix_gives_no_size() -> None:
    assert read("BERT-base 中间层：768 * 3072 + 3072").sizes == {}


def test_a_vocabulary_in_thousands_is_that_of_the_named_model() -> None:
    subject = read("BERT-base with V=30000")
    assert subject.model is not None
    assert subject.model.config.vocab_size == 30_522


def test_letters_that_the_text_gives_are_bound() -> None:
    assert read("BERT-base: H = 768, L = 12").bound == {"H", "L"}
    assert read("V = 30522 (BERT-base)").bound == {"V"}


def test_sizes_on_a_line_about_another_model_are_not_this_ones() -> None:
    subject = read("BERT-base has 12 layers. BERT-base!\nGPT-2 has a vocabulary of 50,257.")
    assert subject.model is not None
    assert subject.model.config.vocab_size == 30_522


def test_a_calculation_is_about_any_of_several_models_that_has_its_width() -> None:
    subject = read("BERT-base is compared with BERT-large, DistilBERT, and GPT-2 XL.")
    model = subject.for_operands({4, GPT2Config.from_dict({"n_embd": 1600}).hidden_size}, subject.model)
    assert model is not None
    assert (model.config.hidden_size, model.architecture) == (1600, "GPT2Model")


def test_sentences_about_other_models_give_no_size() -> None:
    subject = read(
        "BERT-large has 335M parameters. RoBERTa-large has a vocabulary of 50,265. Multilingual BERT has 178M, "
        "mostly embeddings: 119,547 x 768."
    )
    assert subject.model is not None
    assert (subject.preset, subject.model.config.vocab_size, subject.differing()) == ("bert-large-uncased", 30_522, {})


def test_other_key_and_value_heads_make_another_model() -> None:
    text = "Like LLaMA-7B:\nnum_key_value_heads = 8\nattention = 41,943,040\nmlp = 3 * 4096 * 11008 = 135,266,304\n"
    assert read(text).model is None
    assert read(text.replace("= 8", "= 32")).model is not None


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("BERT-base has 12 layers, BERT-large has a hidden size of 1024.", {"hidden_size": 768}),
        ("GPT-2 small has 12 layers and GPT-2 medium has a hidden size of 1024.", {"hidden_size": 768}),
        ("BERT has a vocabulary of 30,522 tokens and RoBERTa one of 50,265.", {"vocab_size": 50_265}),
        ("The word embeddings of bert-base-cased: 30,522 * 768 = 23,440,896", {"vocab_size": 28_996}),
    ],
)
def test_a_size_belongs_to_the_last_model_that_its_sentence_names(text: str, sizes: dict[str, int]) -> None:
    model = read(text).model
    assert model
    assert {name: getattr(model.config, name) for name in sizes} == sizes
