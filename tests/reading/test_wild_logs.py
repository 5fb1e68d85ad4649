"""Logs, notebooks and READMEs: prints of configurations, warnings, shapes, tables, totals.

The forms are from real texts, the wording is new, and the counts are those of the real classes.
"""

import json
from typing import Any

import pytest
import torch
import transformers
from torch import nn

import bertcalc
from bertcalc.text.problem import InputError


def parameters(architecture: str, config: Any = None) -> int:
    with torch.device("meta"):
        cls = getattr(transformers, architecture)
        model = cls(config or cls.config_class())
    return sum(tensor.numel() for tensor in model.parameters())


def log_of(config: Any) -> str:
    """A configuration as transformers logs it, between lines about files."""
    loaded = "\n".join(f"loading file {number}.json from cache at /root/.cache/huggingface" for number in range(40))
    return f"{loaded}\nModel config {type(config).__name__} {json.dumps(config.to_diff_dict(), indent=2)}\n\n{loaded}"


@pytest.mark.parametrize(
    ("config", "architecture"),
    [
        (transformers.LongformerConfig(vocab_size=50_265, type_vocab_size=1), "LongformerForMaskedLM"),
        (transformers.DistilBertConfig(hidden_dim=2048), "DistilBertModel"),
        (transformers.BertConfig(num_hidden_layers=3), "BertForMaskedLM"),
    ],
)
def test_a_log_describes_the_configuration_that_it_prints(config: Any, architecture: str) -> None:
    config.architectures = [architecture]
    reading = bertcalc.read(log_of(config))
    assert (reading.kind, reading.num_parameters) == ("config", parameters(architecture, config))


def test_a_log_of_two_configurations_or_with_counts_is_read_as_a_whole() -> None:
    first, second = (log_of(transformers.BertConfig(vocab_size=size)) for size in (30_522, 119_547))
    assert bertcalc.read(f"{first}\n{second}").kind == "article"
    assert bertcalc.read(f"{first}\nTotal params: 177,000,000 in BERT").kind == "article"


def test_an_article_with_a_printed_configuration_stays_an_article() -> None:
    prose = "\n".join(f"BERT-base has {count} parameters in a part." for count in ("590,592", "23,837,184") * 200)
    printed = f"Model config BertConfig {json.dumps(transformers.BertConfig().to_dict())}"
    assert bertcalc.read(f"{prose}\n{printed}").kind == "article"


@pytest.mark.parametrize(
    "text",
    [
        "distilbert-base-uncased: dim 768, hidden_dim 3072, 6 layers. How many?",
        "distilbert-base-uncased has n_layers = 6, dim = 768 and hidden_dim = 3072 in its configuration.",
    ],
)
def test_the_hidden_dim_of_distilbert_is_its_intermediate_size(text: str) -> None:
    subject = bertcalc.proofread(text).model
    assert subject is not None
    assert subject.num_parameters() == parameters("DistilBertModel")


WARNING = (
    "- This IS expected if you are initializing {cls} from the checkpoint of a model trained on another task or with "
    "another architecture (e.g. initializing a BertForSequenceClassification model from a BertForPreTraining model).\n"
    "The model has {count:,} trainable parameters\n"
)


@pytest.mark.parametrize("cls", ["XLNetForSequenceClassification", "BartForSequenceClassification"])
def test_the_example_in_a_warning_is_not_the_model(cls: str) -> None:
    report = bertcalc.proofread(WARNING.format(cls=cls, count=parameters(cls)))
    assert report.model is None
    assert not report.of("wrong")


@pytest.mark.parametrize(
    "cls", ["AutoModelForSequenceClassification", "class TextForSequenceClassification(nn.Module)"]
)
def test_a_class_that_may_be_berts_is_not_another_model(cls: str) -> None:
    verdicts = [claim.verdict for claim in bertcalc.proofread(f"{cls}\nPooler: 590,592\nLayers: 85,054,464").claims]
    assert verdicts == ["right", "right"]


@pytest.mark.parametrize(
    "text",
    [
        "BERT with dim 64 per head, hidden_dim 768, 12 layers: 109,482,240 parameters",
        "torch.softmax(x, dim=1)\nBERT-base: hidden_dim = 768, num_layers = 12; 109,482,240 parameters in total",
    ],
)
def test_another_dim_leaves_the_hidden_dim_of_bert(text: str) -> None:
    assert not bertcalc.proofread(text).of("wrong")
    assert [claim.verdict for claim in bertcalc.proofread(text).claims][-1] == "right"


def test_a_tokenizer_is_not_the_model() -> None:
    text = "Training of LongformerForTokenClassification.\nYou're using a BertTokenizerFast tokenizer. 41,639,438"
    assert bertcalc.proofread(text).model is None


@pytest.mark.parametrize(
    "text",
    [
        "input_ids torch.Size([4, 512])\nbbox torch.Size([4, 512, 4])\nxpath_tags_seq torch.Size([4, 512, 50])",
        "Encoder layer 1 output: torch.Size([3, 9, 768])\nEncoder layer 2 output: torch.Size([3, 9, 768])\n"
        "Encoder layer 3 output: torch.Size([3, 9, 768])",
        "shape of input_ids torch.Size([1, 21])\n" * 4,
        "print(outputs.image_embeds.shape)\n# torch.Size([1, 197, 768])\nprint(outputs.text_embeds_proj.shape)\n"
        "# torch.Size([1, 12, 256])",
    ],
)
def test_shapes_of_batches_and_activations_are_no_parameters(text: str) -> None:
    with pytest.raises(InputError, match="shapes of a batch or of activations"):
        bertcalc.read(text)


@pytest.mark.parametrize(
    "text",
    [
        "embeddings.position_ids torch.Size([1, 512])\npooler.dense.weight torch.Size([768, 768])",
        "query (768, 768)\nkey (768, 768)\nvalue (768, 768)\noutput (768, 768)",
        "print(model.pooler.dense.weight.shape)\n# torch.Size([768, 768])\nprint(model.pooler.dense.bias.shape)\n"
        "# torch.Size([768])",
        "[torch.Size([30522, 768]), torch.Size([512, 768]), torch.Size([2, 768])]",
        "W1.shape: torch.Size([768, 3072])\nb1.shape: torch.Size([3072])\nW2.shape: torch.Size([3072, 768])",
        "model.pooler.dense.weight.data.shape torch.Size([768, 768])",
        "intermediate: (768, 3072)\noutput: (3072, 768)",
        "positions (512, 768)\ntokens (30522, 768)",
    ],
)
def test_shapes_of_parameters_still_are(text: str) -> None:
    assert bertcalc.read(text).num_parameters


def test_tensors_of_another_shape_than_in_the_checkpoint_are_not_the_whole_model() -> None:
    found = "found shape torch.Size([1000, 768]) in the checkpoint and torch.Size([10, 768]) in the model instantiated"
    reading = bertcalc.read(f"- classifier.weight: {found}\n- classifier.dense.weight: {found}")
    assert reading.num_parameters is None
    assert "lists only some tensors" in str(reading)


@pytest.mark.parametrize(
    "text",
    [
        "Trainable params: 66,955,010\nNon-trainable params: 0\nTotal params: 66,955,010",
        " Model: tf_bert\n\n    Total params: 109,483,778\n\nwith a BERT model\n\n    Total params: 177,855,747\n",
        "  | Name | Type      | Params\n-----\n0 | bert | BertModel | 4.4 M\n1 | W    | Linear    | 258\n-----",
    ],
)
def test_the_end_of_a_summary_is_no_hand_count(text: str) -> None:
    assert bertcalc.read(text).kind != "hand-count"


@pytest.mark.parametrize(
    "line", ["Total params: {count:,}", "INFO: Total params = {count}, Trainable params = {count}"]
)
def test_what_a_tool_measured_of_a_larger_model_is_not_wrong(line: str) -> None:
    count = parameters("BertModel") + 75_000_000
    assert not bertcalc.proofread(f"A classifier around bert-base-uncased\n{line.format(count=count)}").of("wrong")
    for slip in ("108,375,552", "109,842,240", "109,482,241", "334M"):
        [wrong] = bertcalc.proofread(f"bert-base-uncased\nTotal params: {slip}").of("wrong")
        assert wrong.right_value == parameters("BertModel")


@pytest.mark.parametrize(("model_type", "key"), [("mamba", "n_layer"), ("llama", "n_layers"), ("llama", "d_model")])
def test_a_size_under_another_programs_name_is_not_replaced_by_a_default(model_type: str, key: str) -> None:
    with pytest.raises(InputError, match=f"does not know how these keys change .*: {key}"):
        bertcalc.read(json.dumps({"model_type": model_type, "vocab_size": 32_000, key: 48}))


def with_child(name: str, kind: Any, *sizes: int) -> nn.Module:
    """A layer named like another library's class, with a child.

    Because of the child, print() puts the layer's sizes on the next line.
    """
    layer: nn.Module = type(name, (kind,), {})(*sizes, bias=False)
    layer.add_module("observer", nn.Identity())
    return layer


@pytest.mark.parametrize(
    "layer",
    [with_child("CompressedLinear", nn.Linear, 40, 30), with_child("Conv2d", nn.Conv2d, 3, 64, 7)],
    ids=["linear", "convolution"],
)
def test_a_layer_with_children_prints_its_sizes_on_the_next_line(layer: nn.Module) -> None:
    model = nn.Sequential(layer, nn.Linear(30, 2))
    reading = bertcalc.read(str(model))
    assert reading.num_parameters == sum(tensor.numel() for tensor in model.parameters())
    assert "are missing" not in str(reading)


def test_a_wrapper_that_prints_the_sizes_of_its_layer_is_not_counted_twice() -> None:
    inside = "    (linear): Linear(in_features=40, out_features=30, bias=True)\n"
    text = f"Model(\n  (a): Holder(\n    in_features=40, out_features=30, bias=True\n{inside}  )\n  (b): ReLU()\n)"
    assert bertcalc.read(text).num_parameters == sum(tensor.numel() for tensor in nn.Linear(40, 30).parameters())


TABLE = "(shared): Embedding(256, 64)\n (encoder): Stack(\n  (embed_tokens): Embedding(256, 64)\n )\n"
EXPERT = "(shared): Linear(in_features=64, out_features=64, bias=False)\n"


@pytest.mark.parametrize(("part", "count"), [(TABLE, 2 * 256 * 64), (EXPERT, 2 * 64 * 64)])
def test_each_part_of_a_print_shares_its_own_table(part: str, count: int) -> None:
    text = "Two(\n" + "".join(f"({name}): Part(\n{part})\n" for name in "ab") + ")"
    assert bertcalc.read(text).num_parameters == count


@pytest.mark.parametrize("architecture", ["T5Model", "T5ForConditionalGeneration"])
def test_the_stacks_of_t5_share_their_table(architecture: str) -> None:
    config = transformers.T5Config(num_layers=2, vocab_size=1000, d_model=64, d_ff=128, num_heads=4, d_kv=16)
    with torch.device("meta"):
        model = getattr(transformers, architecture)(config)
        for name, module in list(model.named_modules()):
            if type(module).__name__ == "T5LayerNorm":
                parent, _dot, last = name.rpartition(".")
                setattr(model.get_submodule(parent), last, type("FusedRMSNorm", (nn.RMSNorm,), {})(64))
    real = sum(tensor.numel() for tensor in model.parameters())
    reading = bertcalc.read(str(model))
    counts = {possible.parameters for possible in reading.possible_counts} | {reading.num_parameters}
    assert real in counts
    assert reading.num_parameters in (real, real + 1000 * 64)  # a print does not show whether the head is tied


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (transformers.AlbertConfig(num_hidden_groups=12), "accepts this value, but bertcalc needs 1"),
        (transformers.BertConfig(max_position_embeddings=2**20), "accepts this value, but bertcalc counts at most"),
        (
            transformers.DebertaV2Config(relative_attention=True, pos_att_type=["c2p"]),
            "accepts this value, but bertcalc needs p2c",
        ),
    ],
)
def test_a_refusal_does_not_deny_what_transformers_builds(config: Any, sentence: str) -> None:
    with torch.device("meta"):
        transformers.AutoModel.from_config(config)
    with pytest.raises(InputError, match=sentence):
        bertcalc.read(json.dumps(config.to_dict()))


def test_a_second_stream_of_layers_is_not_googles_bert() -> None:
    """ViLBERT has visual layers besides BERT's."""
    sizes = {"v_hidden_size": 1024, "v_num_hidden_layers": 6, "v_intermediate_size": 1024}
    config = {key: value for key, value in transformers.BertConfig().to_dict().items() if key != "model_type"}
    assert bertcalc.read(json.dumps(config)).num_parameters == parameters("BertModel")
    with pytest.raises(InputError, match="bert does not have some of its keys: v_hidden_size"):
        bertcalc.read(json.dumps({**config, **sizes}))
    assert bertcalc.read(json.dumps({**config, "teacher_hidden_size": 1024})).num_parameters == parameters("BertModel")


def test_a_class_without_a_formula_leads_on() -> None:
    with pytest.raises(InputError, match=r"no formula for the config.json of T5EncoderModel. Use the Any model page"):
        bertcalc.read('{"model_type": "t5", "architectures": ["T5EncoderModel"], "d_model": 512}')


def test_a_row_of_torchinfo_without_a_number_is_missing_from_the_total() -> None:
    text = """Layer (type:depth-idx)                   Output Shape              Param #
├─BertModel: 1-1                         [-1, 15, 768]             --
|    └─BertEmbeddings: 2-1               [-1, 15, 768]             --
|    |    └─Embedding: 3-1               [-1, 15, 768]             23,440,896
|    └─BertEncoder: 2-2                  [-1, 15, 768]             --
├─Linear: 1-2                            [-1, 512]                 393,728
Total params: 23,834,624"""
    reading = bertcalc.read(text)
    assert reading.is_at_least
    assert "neither a number nor rows for BertEncoder" in str(reading)
    assert not bertcalc.read(text.replace("BertEncoder", "RotaryEmbeddings")).is_at_least


def test_the_arguments_of_a_training_are_no_log() -> None:
    arguments = {"model_name_or_path": "bert-base-uncased", "learning_rate": 2e-5, "per_device_train_batch_size": 32}
    assert "These are training arguments" in str(bertcalc.read(json.dumps(arguments)))
