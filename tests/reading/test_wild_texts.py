"""Texts in published forms: prints within prose, excerpts, configurations with words around them.

The wording is new. The counts are those of the real classes, or added up by hand.
"""

import json
import re
from typing import Any

import pytest
import torch
import transformers

import bertcalc
from bertcalc.text.problem import InputError
from tests.reading.tables import keras_table

BERT = transformers.BertConfig()


def real(config: Any, architecture: str = "BertForSequenceClassification") -> torch.nn.Module:
    with torch.device("meta"):
        model: torch.nn.Module = getattr(transformers, architecture)(config)
    return model


CLASSIFIER = real(BERT)
COUNT = sum(parameter.numel() for parameter in CLASSIFIER.parameters())
HALF = re.compile("(?m)^ +")


def flattened(text: str) -> str:
    """Re-indent a print as an editor might: pairs of nesting levels get the same indentation."""
    return HALF.sub(lambda spaces: "  " * (len(spaces[0]) // 4), text)


@pytest.mark.parametrize(
    "text",
    [
        re.sub("(?m)$", "<br>", str(CLASSIFIER)),
        str(CLASSIFIER).replace("(\n", "(<br>\n"),
        "<br/>".join(str(CLASSIFIER).split("\n")),
        flattened(str(CLASSIFIER)),
        f"```\n{flattened(str(CLASSIFIER))}\n```",
        json.dumps([f"{line}\n" for line in str(CLASSIFIER).split("\n")]).replace('", "', ""),
    ],
    ids=["breaks", "some breaks", "breaks alone", "indented again", "indented again in a fence", "escaped"],
)
def test_a_print_is_read_however_it_was_laid_out(text: str) -> None:
    reading = bertcalc.read(text)
    assert (reading.agrees, reading.num_parameters) == (True, COUNT)


def test_no_count_is_called_possible_where_lines_are_left_out() -> None:
    text = """GitModel(
  (embeddings): GitEmbeddings(
    (word_embeddings): Embedding(100, 8, padding_idx=0)
    (LayerNorm): LayerNorm((8,), eps=1e-12, elementwise_affine=True)
  )
  (encoder): GitEncoder(
    ...
  )
)"""
    reading = bertcalc.read(text)
    assert (reading.num_parameters, reading.is_at_least, reading.possible_counts) == (816, True, ())


TENSORS = [(name, tuple(parameter.shape)) for name, parameter in real(BERT, "BertModel").named_parameters()]
FIRST = [(name, shape) for name, shape in TENSORS if ".layer." not in name or ".layer.0." in name]


def test_a_listing_of_one_layer_may_be_an_excerpt() -> None:
    text = "\n".join(f"{name:<55} {shape!s:>12}" for name, shape in FIRST)
    possible = {count.parameters for count in bertcalc.read(text).possible_counts}
    excerpt = sum(torch.Size(shape).numel() for _name, shape in FIRST)
    assert possible == {excerpt, sum(torch.Size(shape).numel() for _name, shape in TENSORS)}


@pytest.mark.parametrize("mark", ["...", " ...,", "……", "  ...  "])
def test_a_listing_with_dots_has_at_least_its_count(mark: str) -> None:
    listing = [f"{name} {list(shape)}" for name, shape in TENSORS]
    reading = bertcalc.read("\n".join([*listing[:30], mark, *listing[-2:]]))
    assert reading.is_at_least
    assert "are missing" in str(reading)
    assert not bertcalc.read("\n".join(listing)).is_at_least


def test_shapes_without_names_are_counted() -> None:
    shapes = [parameter.shape for parameter in real(BERT, "BertModel").parameters()]
    for text in (
        "\n".join(f"Shape of tensor {number}: {shape}" for number, shape in enumerate(shapes)),
        str(shapes),
        "\n".join(map(str, shapes)),
    ):
        reading = bertcalc.read(text)
        assert (reading.kind, reading.num_parameters) == ("listing", sum(shape.numel() for shape in shapes))
        assert "no names" in str(reading)


def test_the_variables_of_a_log_have_names_without_a_path() -> None:
    text = """  name = bert/pooler/dense/kernel:0, shape = (8, 8), *INIT_FROM_CKPT*
  name = bert/pooler/dense/bias:0, shape = (8,), *INIT_FROM_CKPT*
  name = output_weights:0, shape = (2, 8)
  name = output_bias:0, shape = (2,)"""
    assert bertcalc.read(text).num_parameters == 64 + 8 + 16 + 2


def bertconfig_call(fields: dict[str, object]) -> str:
    return f"BertConfig({', '.join(f'{key}={value!r}' for key, value in fields.items() if key != 'model_type')})"


CHINESE = BERT.to_diff_dict() | {"model_type": "bert", "vocab_size": 21128, "hidden_size": 384, "num_hidden_layers": 6}
SMALL = real(transformers.BertConfig(vocab_size=21128, hidden_size=384, num_hidden_layers=6), "BertModel")
WRITTEN = json.dumps(CHINESE, indent=2)


@pytest.mark.parametrize(
    "text",
    [
        f"* **config**\n\n    ```\n{WRITTEN}\n    ```",
        f"11/25/2020 10:12 - INFO - configuration_utils - Model config BertConfig {WRITTEN}\n\n11/25/2020 loading",
        re.sub(r"(?m),$", ",   隐藏层的大小，这里是384。", WRITTEN),
        f"import transformers\n\nconfig = transformers.{bertconfig_call(CHINESE)}\nmodel = BertModel(config)",
        "\n".join(f"{key}: {value}" for key, value in CHINESE.items() if not isinstance(value, dict)),
        "\n".join(f"- {key} = {value!r}," for key, value in CHINESE.items() if not isinstance(value, dict)),
        f"模型配置如下：\n{re.sub(r'(?m),$', ',  # 说明', WRITTEN)}",
    ],
    ids=["homework", "log", "Chinese comments", "code", "YAML", "list", "comments"],
)
def test_a_configuration_among_words_is_read(text: str) -> None:
    reading = bertcalc.read(text)
    assert (reading.kind, reading.num_parameters) == ("config", sum(p.numel() for p in SMALL.parameters()))


def test_an_article_with_a_configuration_stays_an_article() -> None:
    text = "BERT-base has twelve layers and 109,482,240 parameters in all, as everybody can count by hand. " * 30
    assert bertcalc.read(f"{text}\n{WRITTEN}\n{text}").kind == "article"


@pytest.mark.parametrize("key", ["layers_num", "heads_num", "feedforward_size"])
def test_sizes_under_the_names_of_another_program_are_asked_about(key: str) -> None:
    with pytest.raises(InputError, match=f"{key} is unknown: did you mean"):
        bertcalc.read(json.dumps({"model_type": "bert", "hidden_size": 768, key: 48}))


def test_a_head_of_ones_own_in_keras_is_no_class_of_transformers() -> None:
    body = ("tf_bert_model (TFBertModel)", 109_482_240)
    own = bertcalc.read(keras_table(body, ("logits (Dense)", 768 * 19 + 19)))
    assert own.num_parameters == 109_482_240 + 14_611
    assert [(part.path, part.parameters) for part in own.additional] == [("logits", 14_611)]
    assert bertcalc.read(keras_table(body, ("classifier (Dense)", 768 * 19 + 19))).agrees


def test_a_table_without_rows_or_with_layers_that_are_not_built_has_no_count() -> None:
    with pytest.raises(InputError, match="no rows"):
        bertcalc.read("Layer (type)   Output Shape   Param #\n=====", "keras-summary")
    text = "┃ Layer (type) ┃ Output Shape ┃ Param # ┃\n│ dense_1 (Dense) │ ? │ 0 (unbuilt) │\n│ dense (Dense) │ ? │ 8 │"
    reading = bertcalc.read(text)
    assert (reading.num_parameters, reading.is_at_least) == (8, True)


def test_frozen_parameters_in_torchinfo_are_counted() -> None:
    text = """Layer (type:depth-idx)                   Output Shape              Param #
Classifier                               [16, 5]                   --
├─BertModel: 1-1                         [16, 768]                 --
│    └─BertEmbeddings: 2-1               [16, 128, 768]            (23,837,184)
│    └─BertEncoder: 2-2                  [16, 128, 768]            (85,054,464)
│    └─BertPooler: 2-3                   [16, 768]                 (590,592)
├─Linear: 1-2                            [16, 5]                   3,845
Total params: 109,486,085"""
    reading = bertcalc.read(text)
    assert reading.num_parameters == 109_486_085
    assert "rows sum" not in str(reading)


def test_a_model_card_of_sentence_transformers_shows_its_dense_layer() -> None:
    text = """SentenceTransformer(
  (0): Transformer({'max_seq_length': 256, 'do_lower_case': False}) with Transformer model: DistilBertModel
  (1): Pooling({'word_embedding_dimension': 768, 'pooling_mode_cls_token': False})
  (2): Dense({'in_features': 768, 'out_features': 512, 'bias': True, 'activation_function': 'torch.nn.Tanh'})
)"""
    reading = bertcalc.read(text)
    assert (reading.num_parameters, reading.is_at_least) == (768 * 512 + 512, True)
    without = bertcalc.read(text.replace("Dense(", "Normalize("))
    assert "0 parameters" not in str(without)


BERTS_FILE = "Close to the size of a PyTorch file (.bin) of BertForPreTraining"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("my pytorch_model.bin is 440,473,133 bytes, why?", BERTS_FILE),
        ("Why does my pytorch_model.bin have 440473133 bytes", BERTS_FILE),
        ("440,473,133 B", BERTS_FILE),
        ("why is my file 440,473,133 B and not 438 M", BERTS_FILE),
        ("pytorch_model.bin: 440473133 bytes", BERTS_FILE),
        ("-rw-r--r-- 1 me me 440473133 Nov 26 00:12 pytorch_model.bin", BERTS_FILE),
        ("440473133 pytorch_model-00001-of-00001.bin", BERTS_FILE),
        ("pytorch_model.bin 的大小是 440473133 字节，为什么？", BERTS_FILE),
        ("model.safetensors 440,449,768 bytes", "A safetensors file of BertForPreTraining"),
        ("why is my file 420 MB?", "MB means MiB"),
        ("The pooler of BERT-base has 590,592 parameters. Why is model.safetensors 100 MB or 438 MB?", "an article"),
        ("85,054,464", "all 12 layers"),
        ("440,473,133", "PyTorch file (.bin) of BertForPreTraining"),
        ("440449768 bytes", "A safetensors file of BertForPreTraining"),
        ("887042", "Lora(r=8, target_modules=['query', 'value'], task_type='SEQ_CLS', modules_to_save=['pooler'])"),
        ("220 million", "twice the count of BertModel"),
        ("1,340,000,000 bytes", "another model: bert-large-uncased (bytes in float32"),
        ("which vocabulary gives 102,267,648?", "With vocab_size = 21,128"),
        ("66,975,004", "distilbert-base-uncased as DistilBertForSequenceClassification, with 28 labels."),
        ("355,362,819", "roberta-large as RobertaForSequenceClassification, with 3 labels."),
        ("roberta-base 有多少参数？", "RobertaModel has 124,645,632 parameters."),
        ("哪个词表大小给出 102,267,648？", "With vocab_size = 21,128"),
        ("How many parameters has google/bert_uncased_L-4_H-256_A-4?", "parameters."),
        ("deberta-v3-base 为什么有 1.84 亿参数？", "183,831,552"),
        ("1亿1千万", "1亿1千万 may be the count of BertModel with pooler: 109,482,240."),
        ("为什么我的是1亿1千万？", "1亿1千万 may be the count of BertModel with pooler: 109,482,240."),
        ("BERT-base 有 1亿1千万 个参数。", "Right: 1"),
        ("6,738,415,616", "the count of another model: llama-7b"),
        ("8.03B", "8.03B may be the count of another model: llama-3-8b (8,030,261,248 parameters)."),
        ("How many parameters does bert-base have?", "BertModel has 109,482,240 parameters."),
        ("123,456,789", "There is no simple explanation for 123,456,789."),
        ("QKV+O = L*4*(H*H+H)", "right: 28,348,416"),
        ("Number of parameters: 109,482,240", "109,482,240 is the count of BertModel with pooler."),
        ("#params = 110M", "110M may be the count of BertModel with pooler"),
        ("Total params: 109482240", "109482240 is the count of BertModel"),
        ("My program gives 108853248", "no LayerNorm is counted; the pooler is left out"),
        ("我算出来是 108,853,248,为什么?", "no LayerNorm is counted; the pooler is left out"),
        ("My model has 85,054,464 parameters. Why not 110M?", "85,054,464 is the count of all 12 layers"),
        ("Why is mine 110M?", "110M may be the count of BertModel with pooler"),
        ("The encoder has 85,054,464 parameters", "right: 85,054,464"),
        ("a = 30522*768\nb = 512*768\nprint(a+b)", "a program"),
        ("模型参数量：102267648", "another model: bert-base-chinese"),
        ("model size: 417.64MB", "MB means MiB"),
        ("Linear(768, 3072)", "2,359,296 parameters, if its layers have no bias"),
        ("trainable params: 296,450 || all params: 109,780,228", "an article"),
        ("这个模型有1.1亿参数", "an article"),
    ],
)
def test_all_that_a_number_may_mean_is_read(text: str, words: str) -> None:
    assert words in str(bertcalc.read(text))


class Adapted(torch.nn.Linear):  # type: ignore[misc]
    """A Linear layer as older releases of PEFT adapted it, with the matrices inside."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(columns, rows)
        self.lora_A = torch.nn.ModuleDict({"default": torch.nn.Linear(columns, 8, bias=False)})
        self.lora_B = torch.nn.ModuleDict({"default": torch.nn.Linear(8, rows, bias=False)})
        self.lora_embedding_A = torch.nn.ParameterDict()

    def _get_name(self) -> str:
        return "Linear"


class Wrapped(torch.nn.Module):  # type: ignore[misc]
    """A Linear layer as PEFT wraps the modules that it saves whole."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.original_module = layer
        self.modules_to_save = torch.nn.ModuleDict({"default": torch.nn.Linear(768, 2)})


def test_modules_with_arguments_and_children_are_read() -> None:
    """PEFT printed 109,780,228 as the number of all parameters of this model."""
    model: Any = real(BERT)
    with torch.device("meta"):
        for layer in model.bert.encoder.layer:
            attention = layer.attention.self
            attention.query, attention.value = Adapted(768, 768), Adapted(768, 768)
        model.classifier = Wrapped(model.classifier)
    assert sum(parameter.numel() for parameter in model.parameters()) == 109_780_228
    reading = bertcalc.read(str(model))
    assert (reading.num_parameters, reading.is_at_least, reading.missing) == (109_780_228, False, ())


def test_layers_with_different_modules_are_all_layers() -> None:
    config = transformers.ModernBertConfig()
    text = str(real(config, "ModernBertForMaskedLM"))
    assert str(bertcalc.read(text).sentence).endswith("22 layers.")


def test_a_table_that_is_cut_off_has_at_least_its_count() -> None:
    table = """    # Layer (type:depth-idx)                 Param #
    # BertModel                              --
    # ├─BertEmbeddings: 1-1                  --
    # │    └─Embedding: 2-1                  21,635,072
    # │    └─Embedding: 2-2                  524,288
    # │    └─Embedding: 2-3                  2,048
    # │    └─LayerNorm: 2-4                  2,048
    # ├─BertEncoder: 1-2                     --
    # │    └─ModuleList: 2-6                 --
    # │    │    └─BertLayer: 3-1             12,596,224
    # │    │    └─BertLayer: 3-2             12,596,224"""
    reading = bertcalc.read(table)
    assert (reading.num_parameters, reading.is_at_least) == (22_163_456 + 2 * 12_596_224, True)
    assert "at least 47,355,904" in str(reading)


KERAS = """Model: "tf_bert_for_sequence_classification_4"
_________________________________________________________________
 Layer (type)                Output Shape              Param #
=================================================================
 bert (TFBertMainLayer)      multiple                  102267648
 dropout_209 (Dropout)       multiple                  0
 classifier (Dense)          multiple                  1538000
=================================================================
Total params:     103_805_648 (395.99 MB)
Trainable params: 103_805_648 (395.99 MB)
Non-trainable params: 0 (0.00 Byte)
_________________________________________________________________
"""
MISMATCH = """- c.weight: found shape torch.Size([1000, 768]) in the checkpoint and torch.Size([10, 768]) in the model
- c.bias: found shape torch.Size([1000]) in the checkpoint and torch.Size([10]) in the model instantiated
"""
CLASSIFIER_OF_GOOGLE = "\n".join(
    f"INFO:tensorflow:  name = {name}:0, shape = {shape}"
    for name, shape in (
        *(
            (
                f"bert/{tensor.name}".replace(".weight", "").replace(".", "/")
                if "_embeddings" in tensor.name
                else f"bert/{tensor.name}".replace("layer.", "layer_")
                .replace("LayerNorm.weight", "LayerNorm.gamma")
                .replace("LayerNorm.bias", "LayerNorm.beta")
                .replace(".weight", ".kernel")
                .replace(".", "/"),
                tuple(reversed(tensor.shape)) if tensor.name.endswith("dense.weight") else tensor.shape,
            )
            for tensor in bertcalc.load("bert-base-uncased").tensors(folded=False)
        ),
        ("output_weights", (2, 768)),
        ("output_bias", (2,)),
    )
)
CODE = """config = RobertaConfig(
    vocab_size=52_000, max_position_embeddings=514, num_attention_heads=12, num_hidden_layers=3*2, type_vocab_size=1,
)
model = RobertaForMaskedLM(config=config)
"""
LABELS = "PEFT Model\ntrainable params: 888,580 || all params: 125,537,288 || trainable%: 0.7078\n"
WINDOWS = """{"model_type": "longformer", "architectures": ["LongformerForMaskedLM"], "attention_window": [512, 512],
"vocab_size": 1000, "hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 12, "intermediate_size": 192,
"max_position_embeddings": 130, "type_vocab_size": 1, "pad_token_id": 1}"""


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (KERAS, "103,805,648 parameters"),
        ("In [3]: sum(p.numel() for p in model.parameters())\nOut[3]: 108311810", "Read as: a number, 108,311,810."),
        (MISMATCH, "c.weight: (1000, 768) in the checkpoint, (10, 768) in the model."),
        (CLASSIFIER_OF_GOOGLE, "This is BertForSequenceClassification"),
        ("torch.Size([30522, 768])", "30522 * 768 is the count of word embeddings."),
        ("hfl/chinese-roberta-wwm-ext | (1,128)| 102.27M | 102267648 | 22.363 |", "Right: 2, wrong: 0"),
        (
            LABELS,
            "RobertaForSequenceClassification with Lora(r=8, target_modules=['query', 'value'], task_type='SEQ_CLS')",
        ),
        (LABELS, "for 4 labels"),
        ("trainable params: 1,538 || all params: 1,538 || trainable%: 100.0", "All parameters are trained"),
        ("Total params = 197414417, Trainable params = 197414417, Non-trainable params = 0", "a number, 197,414,417"),
        ("Manual total: 85,054,464\n\nENCODER TOTAL: 85,054,464", "an article"),
        ("在bert-base-chinese这个模型中,embedding层中的参数为\n21128*768+512*768+2*768+768+768 =16622592", "Right: 1"),
        ("get_model(\n token_num=30000,\n head_num=12,\n embed_dim=768,\n seq_len=500,\n)", "an article"),
        ("36333 / 3901 = 9.313765701102282 parameters of BERT", "The calculation is right"),
        ("For BERT-Base, Multilingual Cased, it returns 177,853,440", "Right: 1, wrong: 0"),
        ("BertConfig {\n [...]\n 'hidden_size': 768,\n 'num_hidden_layers': 12,\n [...]\n}", "109,482,240"),
    ],
)
def test_outputs_of_real_notebooks_are_read_as_what_they_are(text: str, words: str) -> None:
    assert words in str(bertcalc.read(text))


@pytest.mark.parametrize(
    "text",
    [
        "Fine-tuning BERT-base takes 4h on one V100.",
        "Our BERT model reaches an accuracy of 0.78 and a loss of 0.22 after 3 epochs.",
        "We compare LoRA, IA³ and prompt tuning on BERT-base, as AI on a PC of HP does.",
        "2023-03-12 17:48:13,964 INFO: BERT-base was loaded.",
    ],
)
def test_hours_results_words_and_times_are_no_claims(text: str) -> None:
    assert not bertcalc.proofread(text).claims


@pytest.mark.parametrize(
    "text",
    [
        "BERT was pre-trained on 109 million sentences",
        "The dataset has 590,592 images",
        "训练了 1,000,000 步",
        "I have 335M rows in my database",
    ],
)
def test_numbers_of_other_things_are_not_explained(text: str) -> None:
    with pytest.raises(InputError):
        bertcalc.read(text)


def test_a_wrong_result_in_a_hand_count_is_wrong() -> None:
    text = str(bertcalc.read("pooler = 768*768 + 768 = 600000"))
    assert "pooler: The calculation gives 590,592, not 600,000." in text


def test_the_shapes_of_a_batch_are_refused() -> None:
    with pytest.raises(InputError, match="shapes of a batch"):
        bertcalc.read("input_ids torch.Size([2, 512])\nattention_mask torch.Size([2, 512])\n")


def test_the_class_that_code_builds_is_counted() -> None:
    sizes = {"vocab_size": 52_000, "max_position_embeddings": 514, "num_hidden_layers": 6, "type_vocab_size": 1}
    model = real(transformers.RobertaConfig(**sizes), "RobertaForMaskedLM")
    assert bertcalc.read(CODE).num_parameters == parameters(model)


def test_a_null_padding_and_a_list_of_windows_change_no_count() -> None:
    roberta = real(transformers.RobertaConfig(pad_token_id=None), "RobertaForMaskedLM")
    sizes = {name: value for name, value in json.loads(WINDOWS).items() if name != "architectures"}
    longformer = real(transformers.LongformerConfig(**sizes), "LongformerForMaskedLM")
    text = (
        '{"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "pad_token_id": null, "hidden_size": 768}'
    )
    assert bertcalc.read(text).num_parameters == parameters(roberta)
    assert bertcalc.read(WINDOWS).num_parameters == parameters(longformer)
